"""What accelerate and DeepSpeed do with the keys and values of their config files: `rules/configs` and `rules/api`.

Every question is put for one release, and None means that nobody knows: a release that was not read, a value whose
meaning is not recorded.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Literal

from trl_lint.knowledge.api import config_keys, facts, releases
from trl_lint.knowledge.histories import block
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.rows import Range, read_rows
from trl_lint.missing import Missing
from trl_lint.records import NamedTuple
from trl_lint.sources.nodes import Value

# accelerate.utils.other.str_to_bool (distutils' strtobool before), all releases.
_TRUTH = frozenset(("y", "yes", "t", "true", "on", "1", "n", "no", "f", "false", "off", "0"))


class ValueRow(NamedTuple):
    """What may stand in a key; see the head of rules/configs/accelerate.toml for the fields."""

    key: str
    kind: Literal["enum", "list", "truth", "number", "size"]
    raises: str
    allowed: tuple[str, ...] = ()
    enum: str = ""
    case: Literal["any", ""] = ""
    when: Literal["FSDP", "FSDP1", "FSDP2", "DEEPSPEED", "not XLA", ""] = ""
    releases: Range = ">=0"
    empty: bool = False
    auto: bool = False
    gone: dict[str, Range] = {}

    def values(self, version: str) -> tuple[str, ...] | None:
        """The words that are allowed in a release; None if that is not known."""
        if not self.enum:
            return self.allowed
        found = members(self.enum, version)
        gone = {word for word, specifier in self.gone.items() if holds(specifier, version)}
        return None if found is None else tuple(word for word in found if word not in gone)


class Spelling(NamedTuple):
    """What is put in front of the keys of a block to make an option of the launcher."""

    block: str
    prefix: str = ""
    releases: Range = ">=0"


class Unlisted(NamedTuple):
    """An option of the launcher that is read though its parser does not have it."""

    option: str
    releases: Range


class OfFork(NamedTuple):
    """A key at the top that only another package reads, which is installed in place of accelerate."""

    key: str
    package: str


class RenamedKey(NamedTuple):
    """An announced rename inside a block: the value means the same under the new name."""

    block: str
    old: str
    new: str
    releases: Range


class _Accelerate(NamedTuple):
    evidence: tuple[str, ...]
    backends: dict[str, str]
    spelling: tuple[Spelling, ...]
    unlisted: tuple[Unlisted, ...]
    fork: tuple[OfFork, ...]
    renamed: tuple[RenamedKey, ...]
    value: tuple[ValueRow, ...]


class Strict(NamedTuple):
    """A block that refuses unknown keys."""

    block: str
    releases: Range = ">=0"


class Removed(NamedTuple):
    """Dotted keys whose presence stops a run."""

    keys: tuple[str, ...]
    releases: Range


class Replaced(NamedTuple):
    """A deprecated key of zero_optimization and what replaces it."""

    old: str
    new: str


class _Deepspeed(NamedTuple):
    evidence: tuple[str, ...]
    unlisted: tuple[str, ...]
    strict: tuple[Strict, ...]
    removed: tuple[Removed, ...]
    value: tuple[ValueRow, ...]
    replaced: tuple[Replaced, ...]


@cache
def _accelerate() -> _Accelerate:
    return read_rows("configs/accelerate.toml", _Accelerate, "accelerate")


@cache
def _deepspeed() -> _Deepspeed:
    return read_rows("configs/deepspeed.toml", _Deepspeed, "deepspeed")


def value_rows(name: Literal["accelerate", "deepspeed"]) -> tuple[ValueRow, ...]:
    """The rows of `accelerate` or `deepspeed`. Raises KnowledgeError if the table is malformed."""
    return _accelerate().value if name == "accelerate" else _deepspeed().value


@lru_cache(maxsize=512)
def members(enum: str, version: str) -> tuple[str, ...] | None:
    """The names of an enum in a release of its package; None if the class or the release is not known."""
    found = facts(enum.partition(".")[0], f"class {enum}", version)
    if isinstance(found, Missing) or found.get("@kind") != "enum":
        return None
    return tuple(sorted(name[1:] for name, value in found.items() if name[0] == "." and value == "="))


def is_allowed(row: ValueRow, value: Value, version: str) -> bool | None:
    """Whether a release takes the value; None if that is not known."""
    if not holds(row.releases, version) or (value is None and row.empty) or (row.auto and value == "auto"):
        return True
    if row.kind == "truth":
        return str(value).lower() in _TRUTH
    if row.kind == "number":
        return _is_number(str(value)) or str(value).lower() in row.allowed
    if row.kind == "size":
        return value >= 1 if isinstance(value, int) and not isinstance(value, bool) else None
    words = row.values(version)
    if words is None or (row.kind == "enum" and not isinstance(value, str)):
        return None
    if row.case == "any":
        return str(value).upper() in {word.upper() for word in words}
    return str(value) in words


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# -- accelerate -------------------------------------------------------------------------------------------------------


def backend_blocks() -> dict[str, str]:
    """The blocks of an accelerate config that one `distributed_type` alone reads."""
    return _accelerate().backends


@lru_cache(maxsize=256)
def top_keys(name: str, version: str) -> dict[str, str] | None:
    """The keys at the top of a config in a release, with their defaults; None if the release was not read."""
    found = config_keys(name, name, version)
    return None if isinstance(found, Missing) else {key: value for key, value in found.items() if "." not in key}


def keys_of_forks() -> frozenset[str]:
    """The keys at the top of an accelerate config that only a fork of accelerate reads."""
    return frozenset(row.key for row in _accelerate().fork)


@lru_cache(maxsize=256)
def launch_options(version: str) -> dict[str, str] | None:
    """What `accelerate launch` keeps its options under (`dest`), with their defaults; None if it is not known."""
    found = facts("accelerate", "flags accelerate.launch", version)
    if isinstance(found, Missing):
        return None
    return dict(_option(name, text) for name, text in found.items())


def _option(name: str, text: str) -> tuple[str, str]:
    parts = text.split()
    dest = next((part[5:] for part in parts if part.startswith("dest=")), "")
    return dest or name.lstrip("-").replace("-", "_"), parts[0]


def option_of(block: str, key: str) -> str:
    """The option that a key of a block becomes: `offload_params` in fsdp_config -> fsdp_offload_params."""
    prefix = next((row.prefix for row in _accelerate().spelling if row.block == block), "")
    return key if key.startswith(prefix.rstrip("_")) else prefix + key


def takes_nested(block: str, key: str, version: str) -> bool | None:
    """Whether the launcher reads a key of a block in a release; None for a block whose keys nobody recorded."""
    row = next((row for row in _accelerate().spelling if row.block == block), None)
    options = launch_options(version)
    if row is None or options is None or not holds(row.releases, version):
        return None
    option = option_of(block, key)
    if option in options or (block != "fsdp_config" and key in options):
        return True
    return any(unlisted.option == option and holds(unlisted.releases, version) for unlisted in _accelerate().unlisted)


def new_name(block: str, key: str) -> tuple[str, str] | None:
    """The announced new name of a key of a block, and the releases that know only that."""
    rows = renamed_keys()
    return next(((row.new, row.releases) for row in rows if (row.block, row.old) == (block, key)), None)


def renamed_keys() -> tuple[RenamedKey, ...]:
    """Every announced rename inside a block."""
    return _accelerate().renamed


@cache
def blocks_with(key: str) -> tuple[str, ...]:
    """The blocks of an accelerate config that have a key in the newest release."""
    found = config_keys("accelerate", "accelerate", releases("accelerate")[-1])
    if isinstance(found, Missing):
        return ()
    blocks = {name.partition(".")[0] for name in found if "." in name}
    return tuple(sorted(block for block in blocks if key in _spellings(block, found)))


def _spellings(block: str, keys: dict[str, str]) -> set[str]:
    return {option_of(block, name.partition(".")[2]) for name in keys if name.startswith(f"{block}.")}


# -- DeepSpeed --------------------------------------------------------------------------------------------------------


def strict_blocks() -> dict[str, str]:
    """The blocks that refuse unknown keys, and the releases in which they do."""
    return {row.block: row.releases for row in _deepspeed().strict}


def removed_keys() -> dict[str, str]:
    """Dotted keys whose presence stops a run, and the releases in which it does."""
    return {key: row.releases for row in _deepspeed().removed for key in row.keys}


def replaced_keys() -> dict[str, str]:
    """Deprecated keys of zero_optimization and what replaces them."""
    return {row.old: row.new for row in _deepspeed().replaced}


@cache
def keys_of_any_release() -> frozenset[str]:
    """Every key at the top of a DeepSpeed config that any recorded release reads."""
    table = block("deepspeed", "config deepspeed")
    recorded = (name for name in (table.names() if table is not None else ()) if "." not in name)
    return frozenset((*_deepspeed().unlisted, *recorded))


@lru_cache(maxsize=512)
def block_keys(block: str, version: str) -> frozenset[str] | None:
    """The keys of a block of a DeepSpeed config in a release; None if nothing is recorded."""
    found = config_keys("deepspeed", "deepspeed", version)
    if isinstance(found, Missing):
        return None
    names = {key[len(block) + 1 :].partition(".")[0] for key in found if key.startswith(f"{block}.")}
    return frozenset(names) or None
