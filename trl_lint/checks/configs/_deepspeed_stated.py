"""What DeepSpeed's own classes refuse of its JSON config, read from the source of each release (`rules/conditions`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from packaging.version import Version

from trl_lint.checks.configs._command_world import block_of
from trl_lint.checks.configs._problems import Problem, fine_but_in
from trl_lint.checks.configs._program_refusals import BlockWorld
from trl_lint.knowledge.condition_language import UNKNOWN, Block, truth_of
from trl_lint.knowledge.condition_names import deciding, words_in
from trl_lint.knowledge.condition_sentences import filled_in
from trl_lint.knowledge.conditions import Condition, releases_of
from trl_lint.knowledge.configs import value_rows
from trl_lint.project.documents import Document
from trl_lint.sources.nodes import Entry, Scalar, find_entry

# The class that each block is made an object of, and what is not written there, where a condition asks for it. Read in
# runtime/zero/config.py, offload_config.py, runtime/config.py and runtime/precision_config.py, 0.9.0 to 0.19.8.
_BLOCKS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "zero_optimization": ("DeepSpeedZeroConfig", {"stage": 0}),
    "zero_optimization.offload_optimizer": ("DeepSpeedZeroOffloadOptimizerConfig", {}),
    "zero_optimization.offload_param": ("DeepSpeedZeroOffloadParamConfig", {}),
    "fp16": ("DeepSpeedFP16Config", {"loss_scale": 0}),
    "hybrid_engine": ("HybridEngineConfig", {}),
}


def stated_values(document: Document) -> Iterator[Problem]:
    """The values that a class does not take, each by itself."""
    yield from _refused(document, 1)


def stated_contradictions(document: Document) -> Iterator[Problem]:
    """The values that a class does not take together."""
    yield from _refused(document, 2)


def _refused(document: Document, least: int) -> Iterator[Problem]:
    """What is refused because of one value (`least` is 1), or of several (2)."""
    root = document.mapping
    whole = block_of(root) if root is not None and document.source.language == "json" else None
    if root is None or whole is None:
        return
    for path, (name, absent) in _BLOCKS.items():
        block = _block_at(whole, path, absent)
        if block is None:
            continue
        world = BlockWorld(block, whole)
        found: dict[tuple[str, ...], dict[str, Condition]] = {}
        for condition, versions in releases_of("deepspeed", name).items():
            if condition.kind != "refuse" or block.keys().isdisjoint(words_in(condition.condition)):
                continue
            if truth_of(condition.condition, world) is not True:
                continue
            keys = [key if "." in key else f"{path}.{key}" for key in sorted(deciding(condition.condition, world))]
            if (len(keys) > 1) is (least == 2):
                found.setdefault(tuple(keys), {}).update(dict.fromkeys(versions, condition))
        for names, said in found.items():
            if set(names) <= _rows():
                continue
            entries = [entry for key in names if (entry := find_entry(root, key)) is not None]
            if entries:
                yield _problem(document, said, world, entries)


@cache
def _rows() -> frozenset[str]:
    """The keys of which a row written by hand says more."""
    return frozenset(row.key for row in value_rows("deepspeed"))


def _block_at(whole: Block, path: str, absent: Mapping[str, object]) -> Block | None:
    """A block as its class gets it: a value of "auto" is left out there."""
    found: object = whole
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Block) else None
    if not isinstance(found, Block):
        return None
    plain = {name: _without_auto(value) for name, value in found.items()}
    return Block(path, {**absent, **plain, **dict.fromkeys((n for n, v in plain.items() if v == "auto"), UNKNOWN)})


def _without_auto(value: object) -> object:
    if not isinstance(value, Block):
        return value
    return Block(value.path, {name: UNKNOWN if each == "auto" else each for name, each in value.items()})


def _problem(document: Document, said: Mapping[str, Condition], world: BlockWorld, entries: list[Entry]) -> Problem:
    """A problem of which the releases in `said` speak, in the words of the newest."""
    entries.sort(key=lambda entry: entry.key.start)
    told = ", ".join(f"`{entry.key.value}` is {_written(entry, document)}" for entry in entries)
    kind, _, text = said[max(said, key=Version)].sentence.partition(": ")
    message = f'DeepSpeed refuses this: {told} ({kind}: "{filled_in(text, world)}")'
    related = tuple(document.place(entry, "together with this") for entry in entries[:-1])
    return Problem(entries[-1], message, "deepspeed", fine_but_in("deepspeed", said), related=related)


def _written(entry: Entry, document: Document) -> str:
    value = entry.value
    return document.source.text[value.start : value.end] if isinstance(value, Scalar) else "given"
