"""TRL112: a collective that only the main process reaches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trl_lint.checks.distribution._accelerators import constructor_of
from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding
from trl_lint.memos import per_module
from trl_lint.paths import is_test_file
from trl_lint.python.dataflow.torch_facts import ACCELERATOR_COLLECTIVES, COLLECTIVES
from trl_lint.python.guards import bindings, last_name
from trl_lint.python.module import PythonModule
from trl_lint.regexes import regex

# Those between two processes are no collectives.
_OF_TORCH = tuple(sorted((COLLECTIVES - {"irecv", "isend", "recv", "send"}) | {"all_gather_object", "barrier"}))
_OF_ACCELERATE = tuple(sorted(ACCELERATOR_COLLECTIVES | {"wait_for_everyone"}))
# Any test about processes: what stands under one may be the counterpart of what stands under another.
_ABOUT_RANKS = regex(r"rank|master|world|process|distribut|initialized|worker|leader|source|src", re.I)


class CollectiveOnOneRank(Rule):
    code = "TRL112"
    triggers = (*(f"torch.distributed.{name}" for name in _OF_TORCH), *(f".{name}" for name in _OF_ACCELERATE))
    needles = (b".is_main_process", b"get_rank()")
    skips_tests = True

    def check_call(self, site: Site) -> Iterator[Finding]:
        branch = read_branch(site)
        if branch is None:
            return
        yield self.finding(
            site.location,
            f"`{site.module.segment(site.call.func)}` hangs: it waits for all processes, and only one gets here",
            related=(site.module.location(branch.test, "the others do not pass this test"),),
        )


def read_branch(site: Site) -> ast.If | None:
    """The test for the main process around a collective of all processes that nothing on the other ways answers."""
    module, call = site.module, site.call
    if not is_of_all(module, call) or is_test_file(module.path):
        return None
    found = None
    child: ast.AST = call
    for parent in module.ancestors(call):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            break
        if isinstance(parent, (ast.If, ast.IfExp, ast.While)) and child is not parent.test:
            if isinstance(parent, ast.If) and child in parent.body and is_main(module, parent.test):
                found = parent
            elif _ABOUT_RANKS.search(ast.unparse(parent.test)):
                return None
        child = parent
    return found if found is not None and not has_counterpart(module, call, found) else None


def is_of_all(module: PythonModule, call: ast.Call) -> bool:
    """Whether a call is a collective of the default group, of torch or of an Accelerator of this module."""
    if not isinstance(call.func, (ast.Attribute, ast.Name)) or any(
        keyword.arg in (None, "group", "pg", "process_group") for keyword in call.keywords
    ):
        return False
    origins = module.names.origins(call.func)
    if any(origin.startswith("torch.distributed.") for origin in origins):
        return module.names.is_certain(call.func) and not _names_group(call)
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _OF_ACCELERATE:
        return False
    return constructor_of(module, call.func.value) is not None


def _names_group(call: ast.Call) -> bool:
    return any("group" in ast.unparse(arg).lower() for arg in call.args)


def is_main(module: PythonModule, test: ast.expr) -> bool:
    """Whether a test is passed by one process alone: the main one, alone or together with other conditions."""
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) and any(is_main(module, value) for value in test.values)
    if isinstance(test, ast.Attribute) and test.attr == "is_main_process":
        return constructor_of(module, test.value) is not None
    if isinstance(test, ast.Name):
        values = bindings(module).get(test.id, [])
        is_known = len(values) == 1 and module.names.is_literal_only(test.id)
        return is_known and not isinstance(values[0], ast.Name) and is_main(module, values[0])
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    return _is_rank(module, test.left) and ast.unparse(test.comparators[0]) == "0"


def _is_rank(module: PythonModule, node: ast.expr) -> bool:
    """`dist.get_rank()`, or a name that is only ever assigned that."""
    if isinstance(node, ast.Name):
        values = bindings(module).get(node.id, [])
        is_assigned = bool(values) and module.names.is_literal_only(node.id)
        return is_assigned and all(isinstance(value, ast.Call) and _is_rank(module, value) for value in values)
    if not isinstance(node, ast.Call) or node.args or node.keywords:
        return False
    return module.names.origins(node.func) == {"torch.distributed.get_rank"}


def has_counterpart(module: PythonModule, call: ast.Call, branch: ast.If) -> bool:
    """Whether the other processes may answer: in the `else`, after a `return`, or under another test of ranks."""
    function = module.function(call)
    around: ast.AST = function if function is not None else module.tree
    calls = _calls_of_ranks(module, around)
    if function is not None and calls is None:
        return True
    inside = {node for statement in branch.body for node in ast.walk(statement)}
    if any(isinstance(node, (ast.Return, ast.Raise, ast.Continue, ast.Break)) for node in inside):
        return True  # the processes part here, and each may have a collective of its own on its way
    if any(other not in inside for other in (calls or {}).get(last_name(call.func), ())):
        return True
    return any(isinstance(node, ast.Call) for statement in branch.orelse for node in ast.walk(statement))


@per_module
def _calls_of_ranks(module: PythonModule, around: ast.AST) -> dict[str, list[ast.Call]] | None:
    """The calls in a function, or a module, that a test of ranks decides about, by name; None for a generator."""
    found: dict[str, list[ast.Call]] = {}
    told: dict[ast.AST, bool] = {}
    is_generator = False
    for node in ast.walk(around):
        is_generator = is_generator or (around is not module.tree and isinstance(node, (ast.Yield, ast.YieldFrom)))
        if isinstance(node, ast.Call) and _is_about_ranks(module, node, told):
            found.setdefault(last_name(node.func), []).append(node)
    return None if is_generator else found


def _is_about_ranks(module: PythonModule, call: ast.Call, told: dict[ast.AST, bool]) -> bool:
    for parent in module.ancestors(call):
        if isinstance(parent, (ast.If, ast.IfExp)):
            if parent not in told:
                told[parent] = _ABOUT_RANKS.search(ast.unparse(parent.test)) is not None
            if told[parent]:
                return True
    return False


rule = CollectiveOnOneRank()
