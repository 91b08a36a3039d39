"""How many GPUs an engine of vLLM wants that a script builds in its own process: `LLM(model, tensor_parallel_size=4)`.

Where fewer are visible, vLLM stops ("World size (4) is larger than the number of available GPUs", read in 0.15.0 and
0.33.0), or asks Ray for the rest (0.6.6, 0.8.5, 0.10.2), which has none on a machine alone.
"""

from __future__ import annotations

import ast
from contextlib import suppress

from trl_lint.checks.inference._vllm import is_engine, is_made
from trl_lint.finding import Location
from trl_lint.memos import per_module
from trl_lint.python.guards import never_runs
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument
from trl_lint.run.runs import Run
from trl_lint.sources import SourceError

_ENGINE = (b"tensor_parallel_size",)
_ELSEWHERE = (b"VISIBLE_DEVICES", b"ray", b"device_count")  # the script may choose GPUs itself, or have others


def ranks_of_engine(run: Run, spread: tuple[str, ...]) -> tuple[int, Location] | None:
    """The GPUs that an engine of the script certainly needs on this machine, and where that is written; None if none
    does. `spread`: keywords with which it may have ranks elsewhere.
    """
    path = run.launch.script_path
    if run.launch.launcher != "python" or path is None or not path.endswith(".py"):
        return None
    with suppress(OSError, SourceError):
        files = run.project.files
        if files.holds(path, *_ENGINE) and not files.holds(path, *_ELSEWHERE):
            module = run.project.module_in(path)
            return _most_ranks(spread, module)
    return None


@per_module
def _most_ranks(spread: tuple[str, ...], module: PythonModule) -> tuple[int, Location] | None:
    found = (_ranks(call, module, spread) for call in module.calls if is_engine(call, module))
    return max((one for one in found if one is not None), key=lambda one: one[0], default=None)


def _ranks(call: ast.Call, module: PythonModule, spread: tuple[str, ...]) -> tuple[int, Location] | None:
    if is_made(call) or not module.names.is_certain(call.func) or never_runs(module, call):
        return None
    if any(keyword.arg is None or keyword.arg in spread for keyword in call.keywords):
        return None
    size = argument(call, "tensor_parallel_size")
    number = module.value(size) if isinstance(size, ast.expr) else None
    if not isinstance(size, ast.expr) or not isinstance(number, int) or isinstance(number, bool):
        return None
    return number, module.location(size)
