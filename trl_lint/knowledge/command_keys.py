"""Which keys a command of LLaMA-Factory, ms-swift or axolotl takes in a release: the fields of its argument classes.

The classes stand in `rules/api/<package>.txt`, and which of them a command has under `command NAME` there. Fields that
come from transformers' classes are those of every transformers that the release accepts: which of these is installed
is rarely said, and a key that one of them has may be right.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import lru_cache

from trl_lint.knowledge.api import facts, signature
from trl_lint.knowledge.conditions import conditions_of
from trl_lint.knowledge.histories import positions, releases
from trl_lint.knowledge.names import definition
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.records import NamedTuple

_MARKS = ("@", "!", ".")  # facts that are no fields
_MOST_CLASSES = 200  # of a command, with all their bases


class Keys(NamedTuple):
    """The keys of a command in a release: its own, and the classes of other packages whose fields are keys as well.

    `is_open`: there may be more.
    """

    own: frozenset[str]
    foreign: tuple[str, ...] = ()
    is_open: bool = False

    def takes(self, key: str, accepted: Iterable[str]) -> bool | None:
        """Whether it has a key; None if nobody knows. `accepted`: the transformers releases that may be beside it."""
        if key in self.own:
            return True
        if self.is_open:
            return None
        if not self.foreign:
            return False
        inherited = _inherited(self.foreign, tuple(accepted))
        return True if key in inherited.own else None if inherited.is_open else False

    def has_beginning(self, text: str) -> bool:
        """Whether one of its own keys begins with a text."""
        names = _in_order(self.own)
        at = bisect_left(names, text)
        return at < len(names) and names[at].startswith(text)


@lru_cache(maxsize=256)
def keys_of(package: str, command: str, version: str) -> Keys | None:
    """The keys of a command; None where the release has no such command, or is not known."""
    found = facts(package, f"command {command}", version)
    if isinstance(found, Missing):
        return None
    return joined(_keys_of_class(package, reference, version) for reference in found["@classes"].split())


@lru_cache(maxsize=256)
def keys_with(package: str, command: str, plugins: tuple[str, ...], version: str) -> Keys | None:
    """The keys of a command and of the plugins beside it; None where the release has no such command."""
    keys = keys_of(package, command, version)
    return keys and joined([keys, *(plugin_keys(package, plugin, version) for plugin in plugins)])


@lru_cache(maxsize=512)
def default_of(package: str, command: str, name: str, version: str) -> str | Missing | None:
    """The default of a key of a command as the histories spell it, of the first class that has it; ABSENT if none has.

    UNKNOWN where several of its classes have one and they differ, None where it has none.
    """
    at = positions(package).get(version, 0)
    found: set[str | None] = set()
    for reference in _references_of(package, command, version):
        known = None if reference.startswith("transformers") else definition(reference, at)
        values = {} if known is None else known.values(at)
        if name in values:
            found.add(values[name] or None)
    return found.pop() if len(found) == 1 else UNKNOWN if found else ABSENT


def classes_of(package: str, command: str, version: str) -> tuple[str, ...]:
    """The names of the package's classes whose fields are the keys of a command, with their bases; none if unknown."""
    return tuple(dict.fromkeys(name.rpartition(":")[2] for name in _references_of(package, command, version)))


@lru_cache(maxsize=256)
def _references_of(package: str, command: str, version: str) -> tuple[str, ...]:
    """The classes whose fields are the keys of a command, with their bases, as the histories name them.

    Each stands where it comes last, as Python looks for a field: a common base follows all that are derived from it.
    """
    known = facts(package, f"command {command}", version)
    waiting = [] if isinstance(known, Missing) else known["@classes"].split()
    at = positions(package).get(version, 0)
    found: list[str] = []
    while waiting and len(found) < _MOST_CLASSES:
        reference = waiting.pop(0)
        found.append(reference)
        own = None if reference.startswith("transformers") else definition(reference, at)
        waiting = [*(own.values(at).get("@bases", "").split() if own is not None else ()), *waiting]
    return tuple(dict.fromkeys(reversed(found)))[::-1]


@lru_cache(maxsize=256)
def choices_of(package: str, command: str, version: str) -> Mapping[str, frozenset[str]]:
    """By flag of a command, the texts that it takes in a release: of several classes that declare it, those of any."""
    found: dict[str, frozenset[str]] = {}
    for name in classes_of(package, command, version):
        for each in conditions_of(package, name, version):
            if each.kind == "flag":
                values = frozenset(ast.literal_eval(each.condition))
                found[each.sentence] = found.get(each.sentence, frozenset()) | values
    return found


@lru_cache(maxsize=256)
def types_of(package: str, command: str, version: str) -> Mapping[str, str]:
    """By flag of a command the type of its values, as far as its default does not tell it: `int`, `float+` for several.

    "" where several classes declare it otherwise.
    """
    found: dict[str, str] = {}
    for name in classes_of(package, command, version):
        for each in conditions_of(package, name, version):
            if each.kind == "type":
                known = found.setdefault(each.condition, each.sentence)
                found[each.condition] = known if known == each.sentence else ""
    return found


@lru_cache(maxsize=64)
def defaults_of(package: str, command: str, version: str) -> Mapping[str, str | None]:
    """The keys of a command with their defaults as the histories spell them, None where there is none.

    Those of transformers are of the newest release that is accepted. Where several classes have one, that of the first
    in which Python looks.
    """
    found: dict[str, str | None] = {}
    at = positions(package).get(version, 0)
    for reference in _references_of(package, command, version):
        if reference.startswith("transformers"):
            accepted = accepted_transformers(package, version)
            parameters = signature(reference, {"transformers": accepted[0]}).parameters if accepted else {}
            values = {name: parameter.default for name, parameter in parameters.items()}
        else:
            own = definition(reference, at)
            given = own.values(at).items() if own is not None else ()
            values = {name: None if value == "*" else value for name, value in given if name[0] not in _MARKS}
        for name, value in values.items():
            found.setdefault(name, value)
    return found


@lru_cache(maxsize=64)
def plugin_keys(package: str, plugin: str, version: str) -> Keys:
    """The keys that a plugin (`axolotl.integrations.liger.LigerPlugin`) adds; open for one that is not known."""
    found = facts(package, "plugins", version)
    known = {} if isinstance(found, Missing) else found
    module = plugin
    while module and module not in known:
        module = module.rpartition(".")[0]
    if module:
        return _keys_of_class(package, known[module], version)
    # The package's own plugins that are not recorded add nothing.
    return Keys(frozenset(), is_open=not plugin.startswith(f"{package}.integrations."))


def joined(parts: Iterable[Keys]) -> Keys:
    """The keys of several classes together."""
    own: frozenset[str] = frozenset()
    foreign: dict[str, None] = {}
    is_open = False
    for part in parts:
        own |= part.own
        foreign.update(dict.fromkeys(part.foreign))
        is_open = is_open or part.is_open
    return Keys(own, tuple(foreign), is_open)


@lru_cache(maxsize=512)
def accepted_transformers(package: str, version: str) -> tuple[str, ...]:
    """The recorded releases of transformers that a release of a package declares to work with, newest first."""
    from packaging.version import Version

    from trl_lint.knowledge.ranges import holds
    from trl_lint.knowledge.requirements import declared

    found = declared(package, Version(version))
    parts = found.parts.get("transformers", ()) if found is not None else ()
    ranges = {part.specifier for part in parts if not part.extra}
    known = reversed(releases("transformers"))
    return tuple(release for release in known if not ranges or any(holds(one, release) for one in ranges))


@lru_cache(maxsize=256)
def _inherited(references: tuple[str, ...], versions: tuple[str, ...]) -> Keys:
    """What classes of transformers take in any of these releases; open where one of them may take more."""
    found = [signature(reference, {"transformers": version}) for version in versions for reference in references]
    own = frozenset(name for one in found for name in one.parameters)
    return Keys(own, is_open=not found or any(one.open for one in found))


@lru_cache(maxsize=256)
def _in_order(names: frozenset[str]) -> list[str]:
    return sorted(names)


@lru_cache(maxsize=1024)
def _keys_of_class(package: str, reference: str, version: str) -> Keys:
    """The fields of a class and of its bases."""
    if reference.startswith("transformers"):
        return Keys(frozenset(), (reference,))
    at = positions(package)[version]
    found = definition(reference, at)
    if found is None:
        return Keys(frozenset(), is_open=True)
    values = found.values(at)
    bases = values.get("@bases", "").split()
    own = Keys(frozenset(name for name in values if not name.startswith(_MARKS)), (), "@open" in values)
    return joined([own, *(_keys_of_class(package, base, version) for base in bases)])
