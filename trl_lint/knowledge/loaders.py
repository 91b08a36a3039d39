"""What loaders of config files make of YAML scalars: `rules/loaders.toml`.

Two things decide: the library that reads the text, and the way on which its value gets into a field. Both are compared
with what the real loaders answer (`tests/oracle/yaml_scalars.py`).
"""

from __future__ import annotations

from enum import Enum
from functools import cache
from typing import Literal

from trl_lint.knowledge.rows import Range, read_rows
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources.nodes import Scalar, Value

Library = Literal["PyYAML", "OmegaConf", "YAML 1.2"]
Filling = Literal["", "argparse", "fields", "attributes", "words", "pydantic"]
Kind = Literal["str", "int", "float", "bool"]


class Stops(Enum):
    """The loader, or the constructor that it calls, ends the run."""

    STOPS = "stops"


STOPS = Stops.STOPS


class Loader(NamedTuple):
    """Who loads a file. It is meant where the parser of the run is `parser`, the script holds one of `words`, the
    document is one of `kinds`, or the run is one of `frameworks`; `releases` of `package` alone.

    `library`  what reads the text
    `filling`  how a value gets into a field: as the default of an argument ("argparse"), through the constructor of a
               dataclass ("fields"), into an object that is made ("attributes"), as a word of a command ("words"),
               through a model of pydantic; "" where the script does that in a way of its own
    """

    name: str
    evidence: tuple[str, ...]
    library: Library
    filling: Filling = ""
    parser: str = ""
    words: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    package: str = ""
    releases: Range = ""

    def fault(self) -> str:
        """What is wrong with a row, "" if nothing is."""
        return "" if self.parser or self.words or self.kinds or self.frameworks else "nothing tells when it is meant"


class _Table(NamedTuple):
    loader: tuple[Loader, ...]


@cache
def loaders() -> tuple[Loader, ...]:
    """All rows. Raises KnowledgeError if the table is malformed."""
    return read_rows("loaders.toml", _Table).loader


# -- the library ------------------------------------------------------------------------------------------------------

# `get_yaml_loader` of omegaconf 2.3.1 (_utils.py): what it takes for a number beside what PyYAML takes for one.
_OMEGACONF_FLOAT = regex(r"[-+]?[0-9]+(?:_[0-9]+)*(?:\.[0-9_]*)?[eE][-+]?[0-9]+")
# The core schema of YAML 1.2.2 (10.3.2), with the `_` and `0b` that ruamel.yaml 0.19.1 takes as well.
_CORE_INT = regex(r"[-+]?(?:0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9_]+)")
_CORE_FLOAT = regex(r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9_]+(?:[eE][-+][0-9]+)?)")
_CORE_BOOLS = {"true": True, "false": False}


def as_read(scalar: Scalar, library: Library) -> Value:
    """What a library makes of a scalar. A date is its text."""
    if scalar.quoted or scalar.tag or library == "PyYAML":
        return scalar.value
    if library == "OmegaConf":
        text = scalar.value
        return _number(text) if isinstance(text, str) and _OMEGACONF_FLOAT.fullmatch(text) else text
    return _of_core(scalar)


def _of_core(scalar: Scalar) -> Value:
    text = scalar.value if isinstance(scalar.value, str) else scalar.raw
    if scalar.alias and not isinstance(scalar.value, str):
        return scalar.value  # its text stands elsewhere
    if isinstance(scalar.value, bool):
        return _CORE_BOOLS.get(text.lower(), text)
    if _CORE_INT.fullmatch(text):
        sign, digits = (-1 if text[0] == "-" else 1), text.lstrip("+-").replace("_", "").lower()
        base = {"0b": 2, "0o": 8, "0x": 16}.get(digits[:2], 10)
        return sign * int(digits[2:] if base != 10 else digits, base) if digits and len(digits) < 400 else text
    if _CORE_FLOAT.fullmatch(text):
        return _number(text)
    return scalar.value if isinstance(scalar.value, (str, float)) or scalar.value is None else text


def _number(text: str) -> float:
    return float(text.replace("_", ""))


# -- the field --------------------------------------------------------------------------------------------------------

# What argparse takes for a number and not for a flag has no exponent (`_negative_number_matcher`).
_NEGATIVE = regex(r"-(?:\d+|\d*\.\d+)")
# `string_to_bool` of transformers (hf_argparser.py).
_TRUE, _FALSE = frozenset({"yes", "true", "t", "y", "1"}), frozenset({"no", "false", "f", "n", "0"})


def as_filled(value: Value, kind: Kind, filling: Filling) -> Value | Stops:
    """What a field of a type holds; STOPS where the run ends. A dataclass and an attribute hold what they are given."""
    if filling == "words":
        text = str(value)
        is_flag = text.startswith("-") and len(text) > 1 and not _NEGATIVE.fullmatch(text)
        return STOPS if is_flag else _parsed(text, kind)
    if filling == "argparse":
        return _parsed(value, kind) if isinstance(value, str) else value
    return _modelled(value, kind) if filling == "pydantic" else value


def _parsed(text: str, kind: Kind) -> Value | Stops:
    """A word, as the `type` of an argument reads it."""
    if kind == "str":
        return text
    if kind == "bool":
        return _truth(text, _TRUE, _FALSE)
    try:
        return int(text) if kind == "int" else float(text)
    except ValueError:
        return STOPS


def _truth(text: str, true: frozenset[str], false: frozenset[str]) -> bool | Stops:
    lowered = text.lower()
    return True if lowered in true else False if lowered in false else STOPS


def _modelled(value: Value, kind: Kind) -> Value | Stops:
    """A value in a field of pydantic 2 that may be None as well, in its lax mode."""
    if value is None:
        return None
    if kind == "str":
        return value if isinstance(value, str) else STOPS
    if kind == "bool":
        if isinstance(value, str):
            return _truth(value, _TRUE | {"on"}, _FALSE | {"off"})
        return bool(value) if value in (0, 1) else STOPS
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return STOPS
    if kind == "float":
        return number
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return STOPS
    return int(number) if number.is_integer() else STOPS
