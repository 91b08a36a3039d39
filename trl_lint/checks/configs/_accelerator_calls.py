"""What `Accelerator(...)` and its `prepare` refuse, or ignore, of what the launch and its files say.

The sentences are those of accelerate 0.20.0 to 1.15.0 (accelerator.py, utils/dataclasses.py), which all have them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.configs._constructor_refusals import ACCELERATOR
from trl_lint.checks.configs._problems import entries
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level
from trl_lint.finding import Finding, Location
from trl_lint.project.documents import Document
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument
from trl_lint.records import NamedTuple
from trl_lint.run.runs import Run, read_quietly
from trl_lint.sources import SourceError
from trl_lint.sources.nodes import Entry

_DUMMIES = {"accelerate.utils.DummyOptim": "optimizer", "accelerate.utils.DummyScheduler": "scheduler"}
_PRECISIONS = ("fp16", "bf16")
_STEPS, _MICRO = "gradient_accumulation_steps", "train_micro_batch_size_per_gpu"


_PLUGINS = frozenset({None, "deepspeed_plugin", "deepspeed_plugins"})


class Part(NamedTuple):
    """Something that is prepared: "optimizer", "scheduler", "loader", "model"; whether it is a dummy, and its place."""

    kind: str
    is_dummy: bool
    location: Location


def against_files(run: Run, rule: Rule) -> Iterator[Finding]:
    """TRL404: what the script says, against the accelerate config and the DeepSpeed config of the run."""
    config, path = run.accelerate, run.launch.script_path
    if config is None or path is None or config.value("distributed_type") != "DEEPSPEED":
        return
    try:
        if not run.project.files.holds(path, b"Accelerator("):
            return
        module = run.project.module_in(path)
    except (OSError, SourceError):
        return
    calls = [call for call in module.calls if ACCELERATOR in module.names.origins(call.func)]
    if len(calls) != 1 or any(
        keyword.arg in (None, "deepspeed_plugin", "deepspeed_plugins") for keyword in calls[0].keywords
    ):
        return
    where = (run.launch.location._replace(message="the run"),)
    level = Level(rule, run.launch.is_documentation)
    for place, message, beside, stops in _against(run, config, module, calls[0]):
        yield rule.finding(place, message, severity=level._replace(stops=stops).severity, related=(*beside, *where))


_Said = tuple[Location, str, tuple[Location, ...], bool]


def _against(run: Run, config: Document, module: PythonModule, call: ast.Call) -> Iterator[_Said]:
    named = config.value("deepspeed_config.deepspeed_config_file")
    path = run.launch.file_named(named) if isinstance(named, str) else None
    json = read_quietly(path, run.project, "deepspeed") if path is not None else None
    if json is not None and named is not None:
        yield from _without_zero(json)
        yield from _precision(json, module, call)
    steps = argument(call, _STEPS)
    if isinstance(steps, ast.expr):
        yield from _steps(run, config, json, module, steps)
    prepared = [one for one in module.calls if _is_prepare(one)]
    if (
        len(prepared) != 1
        or (named is not None and json is None)
        or any(isinstance(a, ast.Starred) for a in prepared[0].args)
    ):
        return
    parts = [_part(one, module) for one in prepared[0].args]
    yield from _optimizers(json, [one for one in parts if one is not None])
    micro = "auto" if json is None else json.value(_MICRO)
    is_known = all(one is not None and one.kind != "loader" for one in parts)
    if micro == "auto" and parts and is_known and _MICRO not in module.text and "deepspeed_config" not in module.text:
        where = "is filled in from a data loader" if json is not None else "comes from a data loader"
        yield (
            module.location(prepared[0]),
            f"`prepare` stops: the batch of DeepSpeed {where}, and it gets none (ValueError): prepare the loader in "
            f"the same call, or set `{_MICRO}` in a DeepSpeed config",
            (),
            True,
        )


def _without_zero(json: Document) -> Iterator[_Said]:
    found = dict(entries(json.root))
    if found and "zero_optimization" not in found:
        yield (
            json.place(next(iter(found.values()))),
            "accelerate refuses a DeepSpeed config without `zero_optimization` (ValueError: Please specify the ZeRO "
            "optimization config in the DeepSpeed config)",
            (),
            True,
        )


def _precision(json: Document, module: PythonModule, call: ast.Call) -> Iterator[_Said]:
    node = argument(call, "mixed_precision")
    said = module.value(node) if isinstance(node, ast.expr) else None
    for other in _PRECISIONS:
        entry = dict(entries(json.root)).get(other)
        if said in _PRECISIONS and said != other and entry is not None and json.value(f"{other}.enabled") is True:
            yield (
                json.place(entry),
                f"`mixed_precision={said!r}` stops at `{other}.enabled` of the DeepSpeed config (ValueError)",
                (module.location(call, "the script asks for the other one"),),
                True,
            )


def _steps(run: Run, config: Document, json: Document | None, module: PythonModule, steps: ast.expr) -> Iterator[_Said]:
    """The steps of the script give way to those of the launcher, and DeepSpeed counts those of its own config."""
    own = module.value(steps)
    option = run.launch.options.get(f"--{_STEPS}")
    if option is not None or not isinstance(own, int) or isinstance(own, bool):
        return
    key, document = (_STEPS, json) if json is not None else (f"deepspeed_config.{_STEPS}", config)
    said = document.value(key)
    if isinstance(said, bool) or not isinstance(said, int) or said == own:
        return
    place = next((entry for name, entry in _flat(document) if name == key), None)
    yield (
        document.place(place) if place is not None else module.location(steps),
        f"this run accumulates over {said} steps (`{_STEPS}`), and the script asks for {own}: the file counts",
        (module.location(steps, "said here"),),
        False,
    )


def _flat(document: Document) -> Iterator[tuple[str, Entry]]:
    for name, entry in entries(document.root):
        yield name, entry
        for inner, one in entries(entry.value):
            yield f"{name}.{inner}", one


def _optimizers(json: Document | None, parts: list[Part]) -> Iterator[_Said]:
    """An optimizer or a scheduler in code and file, or in neither."""
    held = {name for name, _ in entries(json.root)} if json is not None else set()
    for part in parts:
        if part.kind in held and not part.is_dummy:
            dummy = "DummyOptim" if part.kind == "optimizer" else "DummyScheduler"
            yield (
                part.location,
                f"the DeepSpeed config has a block `{part.kind}`, and `prepare` gets one of torch (ValueError): take "
                f"the block out, or prepare `accelerate.utils.{dummy}`",
                (),
                True,
            )
        elif part.kind == "optimizer" and part.is_dummy and "optimizer" not in held:
            message = "`DummyOptim` stands for the block `optimizer` of a DeepSpeed config, which has none (ValueError)"
            yield part.location, message, (), True


def _is_prepare(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "prepare"


def _part(node: ast.expr, module: PythonModule) -> Part | None:
    """What an argument of `prepare` is, if it is made once, and here."""
    value: ast.expr | None = node
    if isinstance(node, ast.Name):
        made = [
            one.value
            for one in module.of(ast.Assign)
            if any(isinstance(target, ast.Name) and target.id == node.id for target in one.targets)
            and not _is_prepare(one.value)
        ]
        value = made[0] if len(made) == 1 else None
    if not isinstance(value, ast.Call):
        return None
    for origin in module.names.origins(value.func):
        place = module.location(value)
        if origin in _DUMMIES:
            return Part(_DUMMIES[origin], True, place)
        if origin.startswith("torch.optim.lr_scheduler.") or origin in _SCHEDULES:
            return Part("scheduler", False, place)
        if origin.startswith("torch.optim."):
            return Part("optimizer", False, place)
        if origin == "torch.utils.data.DataLoader":
            return Part("loader", False, place)
        if origin.startswith(("torch.nn.", "transformers.AutoModel")):
            return Part("model", False, place)
    return None


_SCHEDULES = frozenset(
    f"transformers.get_{name}"
    for name in (
        "scheduler",
        "linear_schedule_with_warmup",
        "cosine_schedule_with_warmup",
        "constant_schedule_with_warmup",
    )
)
