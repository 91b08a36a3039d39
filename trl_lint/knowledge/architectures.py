"""What releases state about models: `rules/models`, read from their archives (`trl_lint.knowledge.refresher.models`).

A family is a folder of `transformers/models`. Every question is put for one release, and None means that nobody knows:
the release was not read, or had no such family.
"""

from __future__ import annotations

from functools import cache, lru_cache

from trl_lint.knowledge.histories import Block, block, positions, releases, text_of
from trl_lint.regexes import regex

_TRANSFORMERS, _PEFT, _TRL, _VLLM = "models/transformers", "models/peft", "models/trl", "models/vllm"
# What the name of a class says of its task, behind the name of the model.
_TASK = regex(r"(?:For(?:CausalLM|ConditionalGeneration|ImageTextToText)|LMHeadModel|LMModel|Model)\Z")
# By which vLLM runs any model of transformers that lets it: one of text, and one that takes images.
_READING, _SEEING = ("transformers",), ("transformersformultimodallm",)
# What every model may have for its task, in a module that all families share since 4.54 (`modeling_layers.py`).
_HEADS = frozenset({"lm_head", "score", "qa_outputs", "classifier"})


def squashed(name: str) -> str:
    """A class of a model, or a `model_type`, without its task and its signs: `Qwen2_5_VLForConditionalGeneration` and
    `qwen2_5_vl` are `qwen25vl`. Classes of models and their types are named so (`tests/knowledge/test_models.py`).
    """
    return _TASK.sub("", name).replace("_", "").replace("-", "").lower()


@lru_cache(maxsize=256)
def releases_without(package: str, family: str, model_type: str, vision: bool) -> str:
    """The releases of transformers or vLLM that cannot load a type of models, as a specifier; "" where none is known.

    vLLM can where it has a class for the family, or runs that of transformers, which it does for models that take
    images (`vision`) later than for others.
    """
    if package == "transformers":
        first = _brought(_TRANSFORMERS, "types", model_type)
        return f"<{first}" if first else ""
    from packaging.version import Version

    found = [_brought(_VLLM, "architectures", name) for name in (squashed(family), *(_SEEING if vision else _READING))]
    known = [Version(first) for first in found if first]
    return f"<{min(known)}" if found[0] else ""


def _brought(table: str, symbol: str, name: str) -> str:
    """The release that brought a fact; "" where it was always there, or is not known."""
    found = block(table, symbol)
    changes = found.changes(name) if found is not None else ()
    return releases(table)[changes[0][0]] if changes and changes[0][0] > 0 else ""


def families(version: str) -> frozenset[str]:
    """The families of a release of transformers whose models generate text."""
    found = (_at(_TRANSFORMERS, f"family {name}", version) for name in _names())
    return frozenset(name for name, facts in zip(_names(), found, strict=True) if facts)


def layer_classes(family: str, version: str) -> frozenset[str] | None:
    """The classes in `_no_split_modules` of a family: decoder layers, and blocks of its other towers."""
    return _of_kind(family, version, "layer")


def adapted_names(family: str, version: str) -> frozenset[str] | None:
    """The attributes of a family that hold linear layers, convolutions or embeddings, task heads among them."""
    found = _of_kind(family, version, "adapted")
    return None if found is None else found | _HEADS


@lru_cache(maxsize=256)
def always_adapted(family: str, name: str) -> bool | None:
    """Whether a family has held such a layer under this name of its own in every release; None for one unknown."""
    found = [_of_kind(family, version, "adapted") for version in releases(_TRANSFORMERS)]
    known = [names for names in found if names is not None]
    return all(name in names for names in known) if known else None


def parameter_names(family: str, version: str) -> frozenset[str] | None:
    """The attributes of a family that hold bare parameters, such as the experts of transformers 5."""
    return _of_kind(family, version, "parameter")


def is_composed(family: str, version: str) -> bool | None:
    """Whether a family builds models of other families, whose classes and names may be any."""
    facts = _at(_TRANSFORMERS, f"family {family}", version)
    return "@open" in facts if facts else None


@lru_cache(maxsize=256)
def families_with_layer(name: str, version: str) -> frozenset[str]:
    """The families whose `_no_split_modules` names a class."""
    if name not in text_of(_TRANSFORMERS):
        return frozenset()
    return frozenset(family for family in _names() if name in (layer_classes(family, version) or ()))


def default_targets(model_type: str, version: str) -> tuple[str, ...] | None:
    """The modules that LoRA of a release of peft adapts where its config names none; () where there is no default.

    A pattern of whole paths is one text in slashes. None where the release was not read.
    """
    if version not in positions(_PEFT):
        return None
    value = _at(_PEFT, "targets", version).get(model_type, "")
    return (value,) if value.startswith("/") else tuple(filter(None, value.split(",")))


def has_training_template(name: str, version: str) -> bool | None:
    """Whether a release of trl ships a template with `{% generation %}` for the tokenizers of a template's name."""
    if version not in positions(_TRL):
        return None
    facts = _at(_TRL, "templates", version)
    return facts.get(name) == "generation" or facts.get(f"{name}_training") == "generation"


def kept_columns(trainer: str, version: str) -> frozenset[str]:
    """The columns that a trainer names where it says which ones it keeps; none where it names none."""
    facts = _at(_TRL, f"columns {trainer}", version)
    return frozenset(name for name, value in facts.items() if value == "kept")


def _of_kind(family: str, version: str, kind: str) -> frozenset[str] | None:
    facts = _at(_TRANSFORMERS, f"family {family}", version)
    return frozenset(name for name, value in facts.items() if value == kind) if facts else None


@lru_cache(maxsize=1024)
def _at(table: str, symbol: str, version: str) -> dict[str, str]:
    """The facts of a symbol in a release; none where it was not there, or the release was not read."""
    at = positions(table).get(version)
    found: Block | None = block(table, symbol) if at is not None else None
    return found.values(at) if found is not None and at is not None and found.exists(at) else {}


@cache
def _names() -> tuple[str, ...]:
    lines = text_of(_TRANSFORMERS).split("\n")
    return tuple(line.split(" ", 2)[1] for line in lines if line.startswith("family "))
