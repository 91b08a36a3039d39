"""What is known beside the config of a command: fields of transformers' training arguments, and the ZeRO stage."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from trl_lint import tracked
from trl_lint.checks.configs._program_refusals import Refused
from trl_lint.knowledge.api import signature
from trl_lint.knowledge.command_keys import accepted_transformers, defaults_of, keys_of, types_of
from trl_lint.knowledge.condition_answers import Answers
from trl_lint.knowledge.condition_language import CRASH, UNKNOWN, Block
from trl_lint.knowledge.condition_names import deciding
from trl_lint.knowledge.conditions_join import arguments_after
from trl_lint.knowledge.models import quantised_as
from trl_lint.knowledge.value_types import fits
from trl_lint.missing import Missing
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.launches import Launch
from trl_lint.run.effective import of_default
from trl_lint.run.runs import read_quietly

_TRANSFORMERS = "transformers"
# The settings on which a fact rests.
_DECIDED_BY = {
    "zero3()": ("deepspeed",),
    "quantised()": ("model_name_or_path",),
    "device_map()": ("NPROC_PER_NODE", "visible GPUs"),
}


class OfRelease:
    """What is known with one release of the package: the fields that its classes inherit, as they leave them."""

    def __init__(
        self, whole: Block, package: str, command: str, version: str, asked: str, facts: Mapping[str, object]
    ) -> None:
        """`asked`: the release of transformers that is beside it, "" for the newest that it accepts. `facts`: what the
        run tells, by name.
        """
        keys = keys_of(package, command, version)
        accepted = accepted_transformers(package, version)
        self._whole = whole
        self._version = asked or (accepted[0] if accepted else "")
        self._reference = keys.foreign[0] if keys is not None and len(keys.foreign) == 1 else ""
        self._after = arguments_after(self._reference.rpartition(":")[2], self._version) if self._reference else None
        self._facts = facts

    def base(self, name: str) -> object:
        """A field after the constructor of transformers."""
        if self._after is None:
            return UNKNOWN
        found = Answers().value(self._after[name], _Given(self)) if name in self._after else self.given(name)
        return UNKNOWN if found is CRASH else found

    def given(self, name: str) -> object:
        """A field as the config gives it, else its default."""
        if name in self._whole:
            return self._whole[name]
        parameter = signature(self._reference, {_TRANSFORMERS: self._version}).parameters.get(name)
        said = of_default(parameter.default) if parameter is not None else None
        return UNKNOWN if said is None or isinstance(said, Missing) or isinstance(said.value, Missing) else said.value

    def fact(self, name: str) -> object:
        return self._facts.get(name, UNKNOWN)

    def keys_of(self, name: str) -> tuple[str, ...]:
        """The keys of the config on which a field after the constructor, or a fact, rests."""
        if name.endswith("()"):
            return _DECIDED_BY.get(name, ())
        field = name.removeprefix("base.")
        rule = (self._after or {}).get(field)
        return (field,) if rule is None else tuple(sorted(deciding(rule, _Given(self))))


class _Given:
    """The world of what transformers makes of its fields."""

    def __init__(self, release: OfRelease) -> None:
        self._release = release

    def field(self, name: str) -> object:
        return self._release.given(name)

    def base(self, name: str) -> object:
        return UNKNOWN

    def arg(self, name: str) -> object:
        return UNKNOWN

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        return UNKNOWN


def is_ill_typed(package: str, command: str, version: str) -> Callable[[Refused], bool]:
    """Whether a test raises by itself for want of the type that a key declares: `image_max_pixels: x < 32`.

    A dataclass takes what a file gives; what compares it does not.
    """
    types, defaults = types_of(package, command, version), defaults_of(package, command, version)

    def is_other(refused: Refused, key: str) -> bool:
        said = of_default(defaults.get(key))
        default = None if isinstance(said, Missing) else said.value
        kind = types.get(key, type(default).__name__ if isinstance(default, (bool, int, float, str)) else "")
        kind = f"list[{kind[:-1]}]" if kind.endswith("+") else kind
        if not kind or key not in refused.world.block:
            return False
        return fits(refused.world.block[key], f"{kind}|None" if default is None else kind) is False

    return lambda refused: any(is_other(refused, key) for key in refused.keys)


def quantised_on_hub(document: Document, whole: Block, project: Project) -> object:
    """How the weights of the model that a document names are quantised on the hub; UNKNOWN where that is not known."""
    key = document.definition.holds.model
    named = whole.get(key, UNKNOWN) if key else UNKNOWN
    if not isinstance(named, str):
        return UNKNOWN
    method = quantised_as(named)
    if not method or tracked.is_folder(os.path.join(project.root, named)):
        return UNKNOWN  # a folder of that name would be taken
    return method


def is_zero3(document: Document, whole: Block, launches: Sequence[Launch], project: Project) -> object:
    """Whether the DeepSpeed config that a document names is for stage 3 of ZeRO; UNKNOWN where nobody can tell."""
    key = document.definition.holds.deepspeed
    named = whole.get(key, UNKNOWN) if key else UNKNOWN
    if not isinstance(named, str):
        return UNKNOWN
    paths = {launch.file_named(named) for launch in launches} or {None}
    found = [read_quietly(path, project, "deepspeed") for path in paths if path is not None]
    stages = [each.value("zero_optimization.stage") for each in found if each is not None]
    if not stages or len(stages) < len(paths) or not all(isinstance(stage, int) for stage in stages):
        return UNKNOWN
    return True if all(stage == 3 for stage in stages) else False if 3 not in stages else UNKNOWN
