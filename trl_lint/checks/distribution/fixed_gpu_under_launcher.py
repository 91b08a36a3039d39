"""TRL106: a script that a launcher starts once for each GPU names one GPU for all of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trl_lint.checks._started import several_started
from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding
from trl_lint.missing import Missing
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument
from trl_lint.regexes import regex

_CUDA = regex(r"cuda:(\d{1,9})")
# One branch for each process, or one only for a single process: the number may be meant.
_PER_PROCESS = regex(r"rank|process|world|distribut|device_count|initialized|master|\bddp\b|debug|single", re.I)
# The process chooses what it sees by itself, so that its GPU 0 is another one in each.
_OWN_VISIBILITY = regex(rb"environ\W{1,40}CUDA_VISIBLE_DEVICES\W{1,40}?=[^=]|setdefault\(\s*.CUDA_VISIBLE_DEVICES")
_IMPORTED = frozenset({"torch.device", "torch.cuda.set_device"})


class FixedGpuUnderLauncher(Rule):
    code = "TRL106"
    triggers = ("torch.device", "torch.cuda.set_device", ".to", ".cuda", "(device=)", "(device_map=)")
    needles = (b"cuda:", b".cuda(", b"set_device(", b'"cuda",', b"'cuda',", b"device_map")

    def check_call(self, site: Site) -> Iterator[Finding]:
        gpu = read_gpu(site.call, site.module)
        if gpu is None or _OWN_VISIBILITY.search(site.module.source.file.data) or is_of_one_process(site):
            return
        started = several_started(site.module.path, site.project)
        if started:
            message = f"each of {started[0].processes} processes takes GPU {gpu} here"
            yield self.finding(site.location, message, related=started[0].related)


def read_gpu(call: ast.Call, module: PythonModule) -> int | None:
    """The number of the GPU that a call names in so many words; None where it names none."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if isinstance(call.func, ast.Name) and not module.names.origins(call.func).isdisjoint(_IMPORTED):
        name = "device" if "torch.device" in module.names.origins(call.func) else "set_device"
    if name in ("cuda", "set_device"):
        return _number(argument(call, "device", 0))
    found = []
    if name in ("to", "device"):
        found.append(_cuda(argument(call, "device" if name == "to" else "type", 0)))
    if name == "device":
        kind, index = argument(call, "type", 0), argument(call, "index", 1)
        if isinstance(kind, ast.Constant) and kind.value == "cuda":
            found.append(_number(index))
    found.extend(_cuda(keyword.value) for keyword in call.keywords if keyword.arg in ("device", "device_map"))
    return next((gpu for gpu in found if gpu is not None), None)


def _number(node: ast.expr | Missing) -> int | None:
    if not isinstance(node, ast.Constant):
        return None
    return node.value if isinstance(node.value, int) and not isinstance(node.value, bool) else _cuda(node)


def _cuda(node: ast.expr | Missing) -> int | None:
    """`"cuda:1"`, `{"": 1}`, or either before an `if torch.cuda.is_available()`."""
    if isinstance(node, ast.IfExp):
        return None if _PER_PROCESS.search(ast.unparse(node.test)) else _cuda(node.body)
    if isinstance(node, ast.Dict) and len(node.values) == 1 and isinstance(node.keys[0], ast.Constant):
        return _number(node.values[0]) if node.keys[0].value == "" else None
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        match = _CUDA.fullmatch(node.value)
        return int(match[1]) if match else None
    return None


def is_of_one_process(site: Site) -> bool:
    """Whether a test around the call, or a return before it, is about which process, or how many, this is."""
    child: ast.AST = site.call
    for parent in site.module.ancestors(site.call):
        tests: list[ast.AST] = []
        if isinstance(parent, (ast.If, ast.IfExp)) and child is not parent.test:
            tests.append(parent.test)
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if _PER_PROCESS.search(f"{parent.name} {ast.unparse(parent.args)}"):
                return True
            before = parent.body[: parent.body.index(child)] if child in parent.body else []
            tests.extend(node.test for node in before if isinstance(node, ast.If))
        if any(_PER_PROCESS.search(ast.unparse(test)) for test in tests):
            return True
        child = parent
    return False


rule = FixedGpuUnderLauncher()
