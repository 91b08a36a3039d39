"""What transformers compares between a DeepSpeed config and the training arguments.

`HfTrainerDeepSpeedConfig.trainer_config_process` (integrations/deepspeed.py, read in 4.46, 4.57, 5.23) lays a table of
pairs side by side; "auto" takes the argument's value, and any other difference is collected and raised at start:
"Please correct the following DeepSpeed config values that mismatch TrainingArguments values". The DeepSpeed part of an
accelerate config goes the same way, for the two values that it takes over.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from trl_lint import tracked
from trl_lint.checks._trainers import is_compared
from trl_lint.missing import Missing
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.records import NamedTuple
from trl_lint.run.batch import batch_of
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run, all_runs
from trl_lint.sources import SourceError

# Key of the DeepSpeed config -> field of the training arguments.
_SAME = {
    "train_micro_batch_size_per_gpu": "per_device_train_batch_size",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
    "gradient_clipping": "max_grad_norm",
    "optimizer.params.lr": "learning_rate",
    "optimizer.params.eps": "adam_epsilon",
    "optimizer.params.weight_decay": "weight_decay",
    "scheduler.params.warmup_max_lr": "learning_rate",
    "fp16.enabled": "fp16",
    "bf16.enabled": "bf16",
}
_INLINE = {"gradient_accumulation_steps": "gradient_accumulation_steps", "gradient_clipping": "max_grad_norm"}
_PRECISION = {"fp16": "fp16_full_eval", "bf16": "bf16_full_eval"}


class Pair(NamedTuple):
    """Two settings that must agree and do not: the key with its setting, and the fields that give the other value."""

    key: str
    theirs: Setting
    field: str
    ours: tuple[tuple[str, Setting], ...]
    value: object


def runs_compared_with(document: Document, project: Project) -> Iterator[Run]:
    """The runs whose trainer compares its arguments with a DeepSpeed config; unstarted scripts too."""
    from trl_lint.run.runs import bare_run

    name = os.path.basename(document.path).encode()
    started = {run.launch.script_path for run in all_runs(project)}
    scripts = [path for path in project.paths if path.endswith(".py") and path not in started]
    for path in scripts:
        with suppress(OSError, SourceError):
            if project.files.holds(path, name):
                tracked.note_use(path, by=document.path)
                yield from _using(document, [bare_run(path, project)])
    yield from _using(document, all_runs(project))


def _using(document: Document, runs: Iterable[Run]) -> Iterator[Run]:
    for run in runs:
        if run.deepspeed is not None and run.deepspeed.path == document.path and is_compared(run):
            yield run


def mismatches(run: Run, release: str) -> Iterator[Pair]:
    """The pairs of a run that differ with a release of the package of its config."""
    package = run.arguments_class.partition(".")[0]
    versions = {**run.choices.newest(("trl", "transformers")), package: release}
    config, document = run.configs.deepspeed, run.deepspeed
    if document is None and isinstance(run.config.given("deepspeed"), Setting):
        return
    for key, field in (_INLINE if document is None else _SAME).items():
        theirs = config.given(key)
        if not isinstance(theirs, Setting) or not theirs.is_known or theirs.value in ("auto", None):
            continue
        ours = _precision(run, field, versions) if field in _PRECISION else run.config.at(versions).final(field)
        if isinstance(ours, Setting) and ours.is_known and _differ(theirs, ours, document is None):
            yield Pair(key, theirs, field, ((field, ours),), ours.value)
    if document is not None and not _is_told_alone(document):
        theirs = config.given("train_batch_size")
        if isinstance(theirs, Setting) and isinstance(theirs.value, int):
            yield from _whole_batch(run, theirs, versions)


def _is_told_alone(document: Document) -> bool:
    """Whether the batch sizes of the file do not even fit each other, which is told about the file alone (TRL403)."""
    from trl_lint.checks.configs._deepspeed import is_no_multiple

    return document.mapping is not None and is_no_multiple(document.mapping)


def _precision(run: Run, field: str, versions: dict[str, str]) -> Setting | Missing:
    """fp16 or bf16 as the trainer will see it: for TRL a bf16 of None means "unless fp16" (0.19.0 on)."""
    from trl_lint.missing import ABSENT, UNKNOWN

    if run.config.given(_PRECISION[field]) is not ABSENT:
        return UNKNOWN
    said = run.config.at(versions).final(field)
    if isinstance(said, Setting) and said.value is None:
        if field != "bf16" or not run.arguments_class.startswith("trl."):
            return UNKNOWN
        other = run.config.at(versions).final("fp16")
        truth = other.truth if isinstance(other, Setting) else None
        return UNKNOWN if truth is None else Setting(not truth, "default", None)
    if isinstance(said, Setting) and said.truth is not None:
        return said._replace(value=said.truth)
    return UNKNOWN


def _whole_batch(run: Run, theirs: Setting, versions: dict[str, str]) -> Iterator[Pair]:
    batch = batch_of(run, run.config.at(versions))
    if batch is not None and batch.samples != theirs.value:
        yield Pair("train_batch_size", theirs, batch.product, batch.parts, batch.samples)


def _differ(theirs: Setting, ours: Setting, is_parsed: bool) -> bool:
    """Whether Python would find the two unequal; what is not a number on one side is left alone."""
    if isinstance(ours.value, bool) or isinstance(theirs.value, bool):
        return isinstance(ours.value, bool) and isinstance(theirs.value, bool) and ours.value is not theirs.value
    number = ours.number
    if number is None:
        return False
    if isinstance(theirs.value, str):
        # accelerate reads its values as numbers. DeepSpeed's JSON keeps text, and text equals no number.
        return theirs.number is not None and (not is_parsed or theirs.number != number)
    return theirs.number is not None and theirs.number != number


def said_about(pair: Pair) -> str:
    """The value of the training arguments, and whether it is a default."""
    is_default = all(setting.location is None for _, setting in pair.ours)
    return f"{pair.value}" + (" by default" if is_default else "")
