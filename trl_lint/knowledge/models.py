"""Well-known models by id: their family, kind and numbers: `rules/models/models.toml`.

What is in no row is not known. The name of a model on the hub may tell its family (`family_of`), never its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Literal

from trl_lint.knowledge.rows import read_rows
from trl_lint.records import NamedTuple

# What Unsloth and others put behind the name of a model that they quantised.
_QUANTISED = ("-unsloth-bnb-4bit", "-bnb-4bit", "-bnb-8bit", "-unsloth", "-gguf", "-awq", "-gptq")
_MIRRORS = ("unsloth/",)


class Model(NamedTuple):
    """One model; the fields are explained in the table. A number is 0 where no two sources agree on it."""

    id: str
    family: str
    kind: Literal["base", "instruct"]
    sources: tuple[str, ...]
    model_type: str = ""
    vision: bool = False
    heads: int = 0
    kv_heads: int = 0
    layers: int = 0
    hidden: int = 0
    positions: int = 0
    vocabulary: int = 0


class Habit(NamedTuple):
    """What the tokenizers of some models lack or do; "" where nothing is known."""

    ids: tuple[str, ...]
    sources: tuple[str, ...]
    pad: Literal["none", ""] = ""
    turn_end: str = ""
    template: str = ""


class Pattern(NamedTuple):
    """Names of models on the hub that tell a family."""

    ids: tuple[str, ...]
    family: str
    model_type: str = ""
    vision: bool = False


class Quantised(NamedTuple):
    """Models whose weights are quantised on the hub, by whole ids or their names, and how (`quant_method`)."""

    ids: tuple[str, ...]
    method: str
    sources: tuple[str, ...]


class Family(NamedTuple):
    """The family of a model, the `model_type` of its config, and whether it takes images."""

    name: str
    model_type: str
    vision: bool


class _Table(NamedTuple):
    sources: Mapping[str, str]
    model: tuple[Model, ...]
    habit: tuple[Habit, ...]
    pattern: tuple[Pattern, ...]
    quantised: tuple[Quantised, ...]
    native: tuple[str, ...]


_LONGEST_ID = 200  # the hub takes 96 characters


def model_of(identifier: str) -> Model | None:
    """The row of a model by its id on the hub, that of a mirror or a quantised copy too; None if there is none.

    Raises KnowledgeError if the table is malformed.
    """
    rows = _rows()
    found = rows.get(identifier)
    return rows.get(original_of(identifier)) if found is None else found


@lru_cache(maxsize=1024)
def family_of(identifier: str) -> Family | None:
    """The family of a model by its id on the hub: from its row, else from its name; None where neither tells."""
    import re

    model = model_of(identifier)
    if model is not None:
        return Family(model.family, model.model_type or model.family, model.vision)
    original = original_of(identifier)
    for pattern in _table().pattern:
        if len(original) <= _LONGEST_ID and any(re.fullmatch(text, original) for text in pattern.ids):
            return Family(pattern.family, pattern.model_type or pattern.family, pattern.vision)
    return None


def is_native(family: str) -> bool:
    """Whether the checkpoints of a family bring no code of their own, so that only a release can load them."""
    return family in _table().native


@lru_cache(maxsize=1024)
def quantised_as(identifier: str) -> str:
    """How the weights of a model are quantised on the hub, by its id; "" where that is not known."""
    import re

    if len(identifier) > _LONGEST_ID:
        return ""
    rows = _table().quantised
    return next((row.method for row in rows if any(re.fullmatch(text, identifier) for text in row.ids)), "")


@lru_cache(maxsize=1024)
def habit_of(identifier: str) -> Habit:
    """What is known of the tokenizer of a model, joined from all rows that fit its id.

    A mirror is another matter: Unsloth gives its copies a pad token.
    """
    import re

    pad: Literal["none", ""] = ""
    turn_end = template = ""
    sources: tuple[str, ...] = ()
    for habit in _table().habit:
        if len(identifier) <= _LONGEST_ID and any(re.fullmatch(text, identifier) for text in habit.ids):
            pad, turn_end = habit.pad or pad, habit.turn_end or turn_end
            template = habit.template or template
            sources += habit.sources
    return Habit((identifier,), sources, pad, turn_end, template)


@lru_cache(maxsize=1024)
def original_of(identifier: str) -> str:
    """The id of the model that a mirror copies, as `unsloth/X-bnb-4bit` does; any other id as it is."""
    mirror = next((prefix for prefix in _MIRRORS if identifier.startswith(prefix)), "")
    if not mirror:
        return identifier
    name = identifier.removeprefix(mirror)
    for suffix in _QUANTISED:
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
            break
    return _originals().get(name.lower(), identifier)


@cache
def _originals() -> dict[str, str]:
    """The ids by the name behind the organisation, in small letters; Llama 3 and 3.1 with and without `Meta-`."""
    found: dict[str, str] = {}
    for row in _table().model:
        name = row.id.partition("/")[2].lower()
        found.setdefault(name, row.id)
        found.setdefault(name.removeprefix("meta-"), row.id)
    return found


@cache
def _rows() -> dict[str, Model]:
    return {row.id: row for row in _table().model}


@cache
def _table() -> _Table:
    return read_rows("models/models.toml", _Table)
