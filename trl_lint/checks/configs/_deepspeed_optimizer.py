"""A call of `deepspeed.initialize` with ZeRO 1 or 2, and no optimizer in it or its config.

`DeepSpeedEngine._configure_zero_optimizer` (runtime/engine.py, read in 0.9.0, 0.12.6, 0.14.4, 0.16.2, 0.18.3 and
0.19.8) asserts that there is one in these stages; stage 3 only shards the weights without, and stage 0 does nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.configs._deepspeed_ranks import config_of, given_config
from trl_lint.checks.configs._problems import whole_number
from trl_lint.checks.rule import Site
from trl_lint.finding import Location
from trl_lint.missing import ABSENT, Missing
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument
from trl_lint.records import NamedTuple
from trl_lint.run.runs import read_quietly
from trl_lint.sources.nodes import Mapping

_STAGES = (1, 2)
_POSITION = 2  # initialize(args, model, optimizer, …)


class Unoptimized(NamedTuple):
    """What is wrong with such a call, and where its config says the stage."""

    message: str
    stage: Location


def without_optimizer(site: Site) -> Iterator[Unoptimized]:
    """The stage of a call that certainly has no optimizer, if ZeRO asks for one there."""
    call = site.call
    optimizer = argument(call, "optimizer", _POSITION)
    is_none = isinstance(optimizer, ast.Constant) and optimizer.value is None
    config = given_config(call)
    if not (optimizer is ABSENT or is_none) or isinstance(config, Missing) or _may_fail(call, site.module):
        return
    handed = config_of(config, site.module, site.project)
    found = _in_dict(handed, site.module) if isinstance(handed, ast.Dict) else _in_file(handed, site)
    if found is None:
        return
    stage, place = found
    yield Unoptimized(
        f"DeepSpeed stops at this call: ZeRO stage {stage} wants an optimizer, and neither the call nor its config "
        f"has one; a model that is not trained takes stage 3 or 0 (AssertionError: zero stage {stage} requires an "
        "optimizer)",
        place._replace(message=f"stage = {stage}"),
    )


def _may_fail(call: ast.Call, module: PythonModule) -> bool:
    """Whether somebody catches what the call raises."""
    return any(isinstance(above, (ast.Try, ast.With)) for above in module.ancestors(call))


def _in_dict(config: ast.Dict, module: PythonModule) -> tuple[int, Location] | None:
    blocks = _entries(config)
    if blocks is None or "optimizer" in blocks:
        return None
    zero = blocks.get("zero_optimization")
    entries = _entries(zero) if isinstance(zero, ast.Dict) else None
    stage = entries.get("stage") if entries is not None else None
    number = module.value(stage)
    return (number, module.location(stage)) if stage is not None and type(number) is int and number in _STAGES else None


def _entries(node: ast.Dict) -> dict[str, ast.expr] | None:
    """The values of a dict by key; None where a key is not written out."""
    keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
    return None if None in keys else dict(zip(map(str, keys), node.values, strict=True))


def _in_file(path: str | None, site: Site) -> tuple[int, Location] | None:
    document = read_quietly(path, site.project, "deepspeed") if path is not None and path.endswith(".json") else None
    if document is None or not isinstance(document.root, Mapping) or document.root.entry("optimizer") is not None:
        return None
    zero = document.root.get("zero_optimization")
    entry = zero.entry("stage") if isinstance(zero, Mapping) else None
    number = whole_number(entry.value) if entry is not None else None
    return (number, document.place(entry)) if entry is not None and number in _STAGES else None
