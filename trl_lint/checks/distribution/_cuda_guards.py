"""Which places of a module run only where there is no accelerator: the other branch of what asks for one.

Scripts ask once (`use_cuda = args.cuda and torch.cuda.is_available()`) and test the name; so a test is followed through
names, attributes, small functions and imports of the project to what is asked.
"""

from __future__ import annotations

import ast
import re

from trl_lint.memos import per_module
from trl_lint.project import Project
from trl_lint.python.guards import Assumption, Truth, bindings, evaluate, functions_named, key_of, last_name
from trl_lint.python.module import PythonModule
from trl_lint.regexes import regex

# Names that say whether there is an accelerator: `use_cuda`, `HAS_GPU`, `args.cuda`; `no_cuda`, `cpu_only`.
_ON = regex(
    r"_*(?:(?:use|uses|using|has|have|is|with|on|enable)_?)?(?:cuda|gpu|gpus)(?:_?(?:is)?_?(?:available|enabled|ok))?",
    re.I,
)
_OFF = regex(r"_*(?:(?:no|not|without|disable)_?(?:cuda|gpu|gpus)|(?:(?:use|force|is|on)_?)?cpu(?:_?only)?)", re.I)
_ASKING = frozenset({"is_available", "is_torch_cuda_available", "cuda_is_available"})
# What is not one accelerator in place of another: where MPS is missing, there may be a CUDA device.
_OTHERS = regex(r"mps|npu|xpu|mlu|hpu|tpu|xla")
_MOST_STEPS = 4  # from name to name; then a test is unknown


def runs_without_accelerator(module: PythonModule, node: ast.AST, project: Project) -> bool:
    """Whether a place can only run where there is no accelerator, by the tests around it and those of its callers."""
    return _with_accelerator(module, project).reach(node) == "excluded"


@per_module
def _with_accelerator(module: PythonModule, project: Project) -> Assumption:
    return Assumption(module, lambda test: _truth(test, module, project, _MOST_STEPS), lambda test: False)


def _truth(test: ast.expr, module: PythonModule, project: Project, steps: int) -> Truth:
    """What a test comes to where there is an accelerator; None where it is about something else."""
    if isinstance(test, ast.Call):
        return _truth_of_call(test, module, project, steps)
    if isinstance(test, ast.Compare):
        return _truth_of_comparison(test, module, project, steps)
    if isinstance(test, (ast.Name, ast.Attribute)):
        values = bindings(module).get(key_of(test), [])
        truths = {_followed(value, module, project, steps) for value in values}
        if len(truths) == 1 and None not in truths:
            return truths.pop()
        named = _named(last_name(test))
        return named if named is not None else _imported(test, module, project, steps)
    return None


def _followed(value: ast.expr, module: PythonModule, project: Project, steps: int) -> Truth:
    """The truth of a value that a name stands for; a literal is a number or a choice of somebody, no question."""
    if steps == 0 or isinstance(value, ast.Constant):
        return None
    return evaluate(value, lambda test: _truth(test, module, project, steps - 1))


def _named(name: str) -> Truth:
    if _ON.fullmatch(name):
        return True
    return False if _OFF.fullmatch(name) else None


def _imported(node: ast.expr, module: PythonModule, project: Project, steps: int) -> Truth:
    from trl_lint.project.modules import imported_name

    found = imported_name(module, node, project) if steps else None
    if found is None:
        return None
    other, name = found
    truths = {_followed(value, other, project, steps) for value in bindings(other).get(name, [])}
    return truths.pop() if len(truths) == 1 else None


def _truth_of_call(call: ast.Call, module: PythonModule, project: Project, steps: int) -> Truth:
    name = last_name(call.func)
    if name in _ASKING:
        return True if _OTHERS.search(key_of(call.func)) is None else None
    if name == "device_count":
        return True
    if name in ("startswith", "__contains__") and call.args:
        return _of_device(call.args[0])
    if not call.args and not call.keywords:
        made = functions_named(module, name)
        if steps and len(made) == 1 and len(made[0].body) == 1 and isinstance(made[0].body[0], ast.Return):
            value = made[0].body[0].value
            return _followed(value, module, project, steps) if value is not None else None
        return _named(name)
    return None


def _truth_of_comparison(test: ast.Compare, module: PythonModule, project: Project, steps: int) -> Truth:
    """`device.type == "cuda"`, `"cuda" in str(device)`, `gpu is not None`, `device_count() > 0`, `gpu >= 0`."""
    if len(test.ops) != 1:
        return None
    left, operator, right = test.left, test.ops[0], test.comparators[0]
    equal = isinstance(operator, (ast.Eq, ast.In, ast.Is))
    if equal or isinstance(operator, (ast.NotEq, ast.NotIn, ast.IsNot)):
        of_device = _of_device(left) if isinstance(operator, (ast.In, ast.NotIn)) else _of_device(right)
        if of_device is not None:
            return of_device is equal
        switch = _truth(left, module, project, steps) if isinstance(right, ast.Constant) else None
        value = right.value if isinstance(right, ast.Constant) else ...
        if switch is None or value is ...:
            return None
        return switch is (bool(value) is equal) if isinstance(value, bool) or value is None else None
    if isinstance(right, ast.Constant) and right.value in (0, -1) and isinstance(operator, (ast.Gt, ast.GtE)):
        return _truth(left, module, project, steps)
    return None


def _of_device(node: ast.expr) -> Truth:
    """Whether the name of a device is that of an accelerator: `"cuda"`, `"cuda:0"`, `torch.device("cpu")`."""
    if isinstance(node, ast.Call) and last_name(node.func) == "device" and len(node.args) == 1:
        node = node.args[0]
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return None
    kind = node.value.partition(":")[0]
    return True if kind in ("cuda", "gpu") else False if kind == "cpu" else None
