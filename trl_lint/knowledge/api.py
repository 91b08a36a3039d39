"""What a name is and accepts in given releases, from the histories in `rules/api`.

Three answers are possible: a value, ABSENT (proved: the release was read and has it not) and UNKNOWN. A release that
was not read, a module that was not read, a signature that takes anything: all of that is unknown and never an error.

Classes are joined across packages when asked: `signature("trl.trainer.grpo_config:GRPOConfig", {"trl": "0.18.0",
"transformers": "4.52.4"})` has trl's own fields and those of that transformers' TrainingArguments.

References are written `module:Name` (the definition), `module:` (a module); `Name` may go on: `module:Class.method`.
Versions are given as text or `packaging` versions, by package.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from trl_lint.knowledge.histories import Block, Changes, block, positions, read_changes, releases, value_at
from trl_lint.knowledge.names import absolute, definition, exports, follow, knows, resolve
from trl_lint.knowledge.signatures import OPEN, Parameter, Signature, joined, read_method, read_parameters
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.records import NamedTuple

__all__ = [
    "INHERITED", "OPEN", "Change", "MessageRecord", "Parameter", "Signature",
    "config_keys", "deprecation", "exports", "facts", "follow", "knows", "member", "messages", "name_timeline",
    "read_method", "releases", "resolve", "signature", "timeline",
]  # fmt: skip
_FIELD_KINDS = ("dataclass", "pydantic", "struct", "namedtuple")


class Change(NamedTuple):
    """From `version` on a parameter has this value (a default as in Parameter, `*` if required), or None: it is
    gone.
    """

    version: str
    value: str | None


def signature(symbol: str, versions: Mapping[str, object]) -> Signature:
    """What calling a class or function accepts; an open signature where that is not known.

    `symbol` is a definition as `resolve` gives it; a `Class.method` is looked up in the class and its bases.
    """
    module, _, name = symbol.partition(":")
    if "." in name:
        owner, _, method = name.partition(".")
        return _method_signature(f"{module}:{owner}", method, versions)
    return _signature(symbol, tuple(sorted((package, str(version)) for package, version in versions.items())))


@lru_cache(maxsize=2048)
def _signature(symbol: str, versions: tuple[tuple[str, str], ...]) -> Signature:
    found = _constructor(symbol, dict(versions), ())
    return OPEN if found is None else _one_of(found)


_signatures: dict[tuple[tuple[tuple[str, Parameter], ...], bool, int | None], Signature] = {}


def _one_of(found: Signature) -> Signature:
    """The same object for equal signatures: most releases accept what the one before accepted."""
    return _signatures.setdefault((tuple(found.parameters.items()), found.open, found.positional), found)


def _constructor(symbol: str, versions: dict[str, str], path: tuple[str, ...]) -> Signature | None:
    """The signature of a definition, None for a class that adds no constructor to `object`'s."""
    target = follow(symbol, versions)
    if isinstance(target, Missing) or target in path:
        return OPEN
    package = target.partition(":")[0].partition(".")[0]
    at = positions(package)[versions[package]]
    found = definition(target, at)
    if found is None:
        return OPEN
    facts, own = _known_of(found, found.last_change(at))
    path = (*path, target)
    kind = facts.get("@kind", "")
    bases = facts.get("@bases", "").split()
    if "@open" in facts or kind in ("enum", "typeddict"):  # a TypedDict is a dict, and never checked
        return OPEN
    init = facts.get("@init")
    if init is None:
        if kind in _FIELD_KINDS:
            return _with_fields_of(bases, own, kind, facts, versions, path)
        inherited = _inherited(bases, versions, path)
        return inherited and inherited._replace(parameters=joined(inherited.parameters, own))
    positional = None if "@args" in facts else int(facts.get("@positional", len(own)))
    if init == "closed":
        return Signature(own, False, positional)
    if init == "open":
        return Signature(own, True, positional)
    inherited = _inherited(bases, versions, path) if init == "super" else _constructor(init[3:], versions, path)
    if inherited is None:
        return Signature(own, False, positional)
    return Signature(joined(inherited.parameters, own), inherited.open, positional)


@lru_cache(maxsize=64)
def _known_of(defined: Block, at: int) -> tuple[dict[str, str], dict[str, Parameter]]:
    """The facts of a definition and its own parameters: a config is asked for beside each release of its base."""
    facts = defined.values(at)
    return facts, read_parameters(facts)


def _with_fields_of(
    bases: list[str],
    own: dict[str, Parameter],
    kind: str,
    facts: dict[str, str],
    versions: dict[str, str],
    path: tuple[str, ...],
) -> Signature:
    """A dataclass: the fields of its bases, then its own. pydantic takes unknown names unless it is told to forbid
    them.
    """
    parameters: dict[str, Parameter] = {}
    is_open = kind == "pydantic" and facts.get("@extra") != "forbid"
    for base in reversed(bases):
        inherited = _fields(base, versions, path)
        if inherited is None:
            continue
        if kind == "pydantic" and "@extra" not in facts:
            is_open = inherited.open
        else:
            is_open = is_open or inherited.open
        parameters.update(inherited.parameters)
    parameters = joined(parameters, own)
    return Signature(parameters, is_open, None if is_open else len(parameters))


def _fields(base: str, versions: dict[str, str], path: tuple[str, ...]) -> Signature | None:
    """The fields a base adds to a dataclass: none if it is an ordinary class with a constructor of its own."""
    target = follow(base, versions) if base != "?" else UNKNOWN
    if isinstance(target, Missing):
        return OPEN
    package = target.partition(":")[0].partition(".")[0]
    found = definition(target, positions(package)[versions[package]])
    if found is None:
        return OPEN
    at = positions(package)[versions[package]]
    if found.value("@init", at) is not None:
        return OPEN if found.value("@kind", at) else None
    return _constructor(target, versions, path)


def _inherited(bases: list[str], versions: dict[str, str], path: tuple[str, ...]) -> Signature | None:
    """The constructor a class takes from its bases: the first one that has any."""
    for base in bases:
        if base == "?":
            return OPEN
        found = _constructor(base, versions, path)
        if found is not None:
            return found
    return None


def _method_signature(owner: str, method: str, versions: Mapping[str, object]) -> Signature:
    """The signature of a method, without `self`; open if it is not known."""
    text = member(owner, method, versions)
    if isinstance(text, Missing) or not text.startswith("("):
        return OPEN
    return read_method(text)


def member(owner: str, name: str, versions: Mapping[str, object]) -> str | Missing:
    """A method `(a, b=1, **)` or another attribute `=` of a class or its bases; ABSENT only where every base is
    known.
    """
    return _member(owner, name, versions, ())


def _member(owner: str, name: str, versions: Mapping[str, object], path: tuple[str, ...]) -> str | Missing:
    target = follow(owner, versions) if owner != "?" else UNKNOWN
    if isinstance(target, Missing) or target in path:
        return UNKNOWN
    package = target.partition(":")[0].partition(".")[0]
    at = positions(package)[str(versions[package])]
    found = definition(target, at)
    if found is None:
        return UNKNOWN
    for fact in (f".{name}", name):
        value = found.value(fact, at)
        if value is not None:
            return value if fact[0] == "." else "="
    for base in (found.value("@bases", at) or "").split():
        inherited = _member(base, name, versions, (*path, target))
        if inherited is not ABSENT:
            return inherited
    return UNKNOWN if name.startswith("_") or found.value("@open", at) is not None else ABSENT


INHERITED = "`inherited`"


def timeline(symbol: str, parameter: str) -> list[Change]:
    """When a parameter (or `Class`'s `.method`) came, changed its default and went, as its own package's releases tell.

    Bases of the same package are followed. Where the class has it only from another package's class, the value is
    INHERITED; a parameter that never was the package's own has the base's history, in the base's releases. Empty if it
    never was recorded.
    """
    package = symbol.partition(":")[0].partition(".")[0]
    points: set[int] = set()
    foreign: dict[str, None] = {}
    _collect(symbol, parameter, points, foreign, set())
    abroad = next(filter(None, (timeline(_newest(base), parameter) for base in foreign)), [])
    changes: list[Change] = []
    for at in sorted(points):
        value = _effective(symbol, parameter, at, bool(abroad), ())
        if (changes or value is not None) and (not changes or changes[-1].value != value):
            changes.append(Change(releases(package)[at], value))
    return abroad if all(change.value in (None, INHERITED) for change in changes) else changes


def _collect(symbol: str, parameter: str, points: set[int], foreign: dict[str, None], seen: set[str]) -> None:
    """The releases in which anything changed for a parameter, and the bases in other packages."""
    seen.add(symbol)
    package = symbol.partition(":")[0].partition(".")[0]
    for kind in ("class", "def"):
        found = block(package, f"{kind} {symbol}")
        if found is None:
            continue
        bases = found.changes("@bases")
        points.update(at for at, _ in (*found.life, *bases, *found.changes(parameter)))
        for base in dict.fromkeys(base for _, text in bases for base in text.split()):
            if base.partition(":")[0].partition(".")[0] != package:
                foreign.update({} if base in ("?", "-") else {base: None})
            elif base not in seen:
                _collect(base, parameter, points, foreign, seen)


def _effective(symbol: str, parameter: str, at: int, is_abroad: bool, path: tuple[str, ...]) -> str | None:
    found = definition(symbol, at)
    if found is None or symbol in path:
        return None
    value = found.value(parameter, at)
    bases = (found.value("@bases", at) or "").split()
    package = symbol.partition(":")[0].partition(".")[0]
    for base in bases:
        if value is None and base.partition(":")[0].partition(".")[0] == package:
            value = _effective(base, parameter, at, is_abroad, (*path, symbol))
        elif value is None and is_abroad and base != "?":
            value = INHERITED
    return value


def _within(found: Block, changes: Changes) -> Changes:
    """A fact's history with the gaps of its symbol: a parameter is gone when its class is."""
    points = sorted({at for at, _ in (*changes, *found.life)})
    merged: list[tuple[int, str]] = []
    for at in points:
        value = (value_at(changes, at) if found.exists(at) else None) or "-"
        if not merged or merged[-1][1] != value:
            merged.append((at, value))
    return tuple(merged[1:] if merged[0][1] == "-" else merged)


def _newest(reference: str) -> str:
    """The definition behind a reference in the newest releases known that have it."""
    package = reference.partition(":")[0].partition(".")[0]
    for version in reversed(releases(package)):
        found = follow(reference, {package: version})
        if not isinstance(found, Missing):
            return found
    return reference


def deprecation(symbol: str, version: object) -> str:
    """Where a class or function announces to have gone (`module:Name`, a name, or `?`), "" if it is not deprecated."""
    package = symbol.partition(":")[0].partition(".")[0]
    at = positions(package).get(str(version))
    found = None if at is None else definition(symbol, at)
    return (found.value("@deprecated", at) or "") if found is not None and at is not None else ""


def is_alias_of(symbol: str, other: str, version: str) -> bool:
    """Whether a class of a release is derived from another one alone, and has no fields of its own."""
    at = positions(symbol.partition(".")[0])[version]
    found = definition(symbol, at)
    facts = found.values(at) if found is not None else {}
    return facts.get("@bases") == other and all(name.startswith("@") for name in facts)


def name_timeline(module: str, name: str) -> list[Change]:
    """When a name could be imported from a module, and what it was: (release, reference or None), oldest first."""
    package = module.partition(".")[0]
    table = block(package, f"module {module}")
    if table is None:
        return []
    return (
        [
            Change(releases(package)[at], None if value == "-" else absolute(module, name, value))
            for at, value in _within(table, table.changes(name))
        ]
        if table.changes(name)
        else []
    )


def facts(package: str, symbol: str, version: object) -> dict[str, str] | Missing:
    """All facts of a symbol in a release: `flags accelerate launch`, `config ppo_trainer` …"""
    at = positions(package).get(str(version))
    found = None if at is None else block(package, symbol)
    if at is None or found is None:
        return UNKNOWN
    return found.values(at) if found.exists(at) else ABSENT


def config_keys(package: str, name: str, version: object) -> dict[str, str] | Missing:
    """The keys of a configuration (`accelerate`, `deepspeed`, `ppo_megatron_trainer`) in a release, dotted, with their
    defaults. A variant is told by its differences from another configuration; the two are put together here."""
    own = facts(package, f"config {name}", version)
    if isinstance(own, Missing) or "@like" not in own:
        return own
    base = config_keys(package, own.pop("@like"), version)
    if isinstance(base, Missing):
        return UNKNOWN
    gone = tuple(f"{key}." for key, value in own.items() if value == "none")
    kept = {key: value for key, value in base.items() if not f"{key}.".startswith(gone)} if gone else base
    return {**kept, **{key: value for key, value in own.items() if value != "none"}}


class MessageRecord(NamedTuple):
    """A message template ({} for what a run fills in), the module that has it, and the releases: [(first, last), …]."""

    kind: str
    text: str
    module: str
    releases: tuple[tuple[str, str], ...]


def messages(package: str) -> list[MessageRecord]:
    """Every message template of a package."""
    found = block(package, "messages")
    if found is None:
        return []
    records = []
    for line in found.lines:
        head, kind, text = line.split("\t")
        module, _, changes = head.partition(" ")
        known = _within(found, read_changes(package, changes, found.life[0][0]))
        records.append(
            MessageRecord(kind, text, package + module if module[0] == "." else module, _spans(package, known))
        )
    return records


def _spans(package: str, changes: Changes) -> tuple[tuple[str, str], ...]:
    known = releases(package)
    spans: list[tuple[str, str]] = []
    for number, (at, value) in enumerate(changes):
        if value != "-":
            end = changes[number + 1][0] - 1 if number + 1 < len(changes) else len(known) - 1
            spans.append((known[at], known[end]))
    return tuple(spans)
