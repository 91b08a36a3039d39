"""What a release requires of other packages: its declared requirements, as the histories in `rules/requirements` have
them.

Where no history has a release, the `[[range]]` rows of `rules/compat` speak, and where those are silent too, nothing is
known. Which extras tell more than what they install is in `rules/compat/extras.toml`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Literal

from packaging.version import Version

from trl_lint.knowledge import history_names, text_names
from trl_lint.knowledge.compat import ranges, ranges_of, supports
from trl_lint.knowledge.ranges import holds
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

Force = Literal["binding", "conditional", "supported", "none"]

_FACT = regex(r"(?P<name>[^\[]+)(?:\[(?P<extra>[^\]]+)\])?")
_ASKED = regex(r"\[(?P<extras>[^\]]*)\](?P<specifier>.*)")
# A requirement on an address has no range.
_ADDRESS = "@"


class Part(NamedTuple):
    """One `Requires-Dist` line: `extra` brings it ("" for every installation), and `marker` says where it holds.

    `asks` are the extras it asks of the dependency, `specifier` is "" where any release will do.
    """

    specifier: str
    extra: str
    marker: str
    asks: frozenset[str]


class Requirement(NamedTuple):
    """What a release requires of a dependency with given extras.

    `force`: "binding" where an installer always enforces it, "conditional" where its marker may hold, "supported" where
    only an extra that nobody asked for says so, "none" where nothing is required. `extra` brought it, "" if none did.
    """

    specifier: str
    force: Force
    extra: str = ""
    asks: frozenset[str] = frozenset()

    @property
    def is_binding(self) -> bool:
        return self.force == "binding"

    @property
    def may_bind(self) -> bool:
        return self.force in ("binding", "conditional")


_NOTHING = Requirement("", "none")


@cache
def providers() -> tuple[str, ...]:
    """The packages whose requirements are known, wholly or in part."""
    return tuple(sorted({*_recorded(), *(row.package for row in ranges())}))


@cache
def judged() -> tuple[str, ...]:
    """The packages of which rules judge what they offer: their own repositories require what their releases do."""
    return tuple(sorted({*history_names("api"), *(row.package for row in ranges())}))


@cache
def _recorded() -> frozenset[str]:
    """The packages with a history of their requirements."""
    return frozenset(name.removesuffix(".txt") for name in text_names("requirements"))


def is_recorded(package: str) -> bool:
    """Whether anything is recorded of what the releases of a package require; no table is read for that."""
    return package in _recorded()


@cache
def requirements_of(package: str) -> frozenset[str]:
    """The packages that some release of `package` requires anything of, in an extra perhaps."""
    from trl_lint.knowledge.histories import block

    found = {name for row in ranges_of(package) for name in row.requires}
    recorded = block(f"requirements/{package}", "requires") if package in _recorded() else None
    if recorded is not None:
        found.update(fact.partition("[")[0] for fact in recorded.names())
    return frozenset(found - {"python"})


def dependents(package: str, among: Iterable[str]) -> tuple[str, ...]:
    """Those of some packages that require anything of `package`. Only the histories of these are read."""
    known = providers()
    return tuple(name for name in among if name in known and name != package and package in requirements_of(name))


class Declared(NamedTuple):
    """The requirements of a release by dependency (`python` is its Requires-Python); all of them where `complete`."""

    parts: dict[str, tuple[Part, ...]]
    complete: bool


@lru_cache(maxsize=8192)
def declared(package: str, version: Version) -> Declared | None:
    """What a release declares to require, None if nothing is known about it."""
    recorded = declared_facts(package, version)
    if recorded is not None:
        return Declared(_read_facts(recorded), True)
    rows = _read_rows(package, version)
    return Declared(rows, False) if rows else None


def declared_facts(package: str, version: object) -> dict[str, str] | None:
    """`name` or `name[extra]` -> what a release requires (`*` any; see refresher.metadata); None if nobody read it."""
    if package not in _recorded():
        return None
    from trl_lint.knowledge.histories import block, positions

    history = f"requirements/{package}"
    at = positions(history).get(str(version))
    found = None if at is None else block(history, "requires")
    if at is None or found is None or not found.exists(at):
        return None
    return found.values(at)


def _read_facts(recorded: dict[str, str]) -> dict[str, tuple[Part, ...]]:
    found: dict[str, tuple[Part, ...]] = {}
    for fact, text in recorded.items():
        name, parts = _read_fact(fact, text)
        if parts:
            found[name] = found[name] + parts if name in found else parts
    return found


@lru_cache(maxsize=8192)
def _read_fact(fact: str, text: str) -> tuple[str, tuple[Part, ...]]:
    # Hundreds of releases say the same.
    key = _FACT.fullmatch(fact)
    if key is None:
        return fact, ()
    parts = text.replace("¦", "|").split(" & ")
    return key["name"], tuple(_read_part(part, key["extra"] or "") for part in parts)


def _read_part(text: str, extra: str) -> Part:
    specifier, _, marker = text.partition(";")
    asked = _ASKED.fullmatch(specifier)
    asks = frozenset(asked["extras"].split(",")) if asked else frozenset[str]()
    specifier = asked["specifier"] if asked else specifier
    return Part("" if specifier == "*" else _in_order(specifier), extra, marker.strip(), asks)


def _in_order(specifier: str) -> str:
    """The clauses as people write them: the lower bound, what is left out, the upper bound."""
    return ",".join(sorted(specifier.split(","), key=lambda clause: "~=>!<".find(clause[:1])))


def _read_rows(package: str, version: Version) -> dict[str, tuple[Part, ...]]:
    found: dict[str, tuple[Part, ...]] = {}
    for row in ranges_of(package):
        if holds(row.releases, version):
            for name, specifier in row.requires.items():
                found[name] = (*found.get(name, ()), Part(specifier, row.extra, "", frozenset()))
    return found


@lru_cache(maxsize=16384)
def requirement(
    package: str, version: Version, dependency: str, extras: frozenset[str] = frozenset(), python: str = ""
) -> Requirement | None:
    """What a release requires of a dependency if some of its extras are asked for; None if unknown.

    `python` is what the project says about the Python it runs on (PEP 440). What binds goes before what is only
    supported; of a requirement that holds under a marker nobody can be sure, so it never binds.
    """
    known = declared(package, version)
    if known is None:
        return None
    mine = known.parts.get(dependency, ())
    if not mine:
        return _NOTHING if known.complete else None
    if any(part.specifier.startswith(_ADDRESS) for part in mine):
        return None
    pythons = ",".join(filter(None, (*(part.specifier for part in known.parts.get("python", ())), python)))
    asked = [(part, marker_holds(part.marker, pythons)) for part in mine if not part.extra or part.extra in extras]
    always = [part for part, verdict in asked if verdict]
    perhaps = [part for part, verdict in asked if verdict is None]
    limits = [part for part in always if part.specifier]
    if limits:
        specifier = ",".join(dict.fromkeys(part.specifier for part in limits))
        return Requirement(specifier, "binding", limits[-1].extra, _asks(always))
    if perhaps:
        same = len({part.specifier for part in perhaps}) == 1
        supported = _supported(package, dependency, mine, pythons)
        if supported is not None:
            return supported
        return Requirement(perhaps[0].specifier, "conditional", perhaps[0].extra) if same else None
    if always:
        return Requirement("", "binding", always[-1].extra, _asks(always))
    return _supported(package, dependency, mine, pythons) or _NOTHING


def _asks(parts: list[Part]) -> frozenset[str]:
    return frozenset(extra for part in parts for extra in part.asks)


def _supported(package: str, dependency: str, parts: tuple[Part, ...], pythons: str) -> Requirement | None:
    """The range that extras state for everybody, whether they ask for the extra or not."""
    found = supports().get((package, dependency))
    extras = found.extras if found is not None else ()
    possible = [part for part in parts if marker_holds(part.marker, pythons) is not False]
    told = [part for extra in extras for part in possible if part.extra == extra]
    if not told or any(not part.specifier for part in told):
        return None
    specifier = _either([part.specifier for part in told])
    return Requirement(specifier, "supported", told[0].extra) if specifier else None


def _either(specifiers: list[str]) -> str:
    """One specifier for what any of these allows, "" if there is none: `==0.8.3` and `>0.8.3` are `>=0.8.3`."""
    first, *others = dict.fromkeys(specifiers)
    if not others:
        return first
    exact = first.removeprefix("==")
    return f">={exact}" if others in ([f">{exact}"], [f">={exact}"]) else ""


# -- markers ------------------------------------------------------------------------------------------------------

_PYTHONS = tuple(f"3.{minor}" for minor in range(6, 17))
_SYSTEMS = (
    {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
    {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
)
_MACHINES = ("x86_64", "aarch64", "arm64", "AMD64", "ppc64le", "s390x")


@lru_cache(maxsize=16384)
def marker_holds(
    marker: str, pythons: str = "", systems: tuple[str, ...] = ("linux", "darwin", "win32")
) -> bool | None:
    """Whether a marker (PEP 508) holds on every machine with one of these Pythons (PEP 440), or on none; else None."""
    if not marker:
        return True
    from packaging.markers import Marker

    try:
        condition = Marker(marker)
        machines = [machine for machine in _machines(pythons) if machine["sys_platform"] in systems]
        # Of machines that do not differ in what the marker speaks of, one is enough.
        telling = {tuple(text for name, text in machine.items() if name in marker): machine for machine in machines}
        found = set(map(condition.evaluate, telling.values()))
    # No marker, a comparison of what cannot be compared, a number with thousands of digits, brackets without end.
    except (ValueError, LookupError, RecursionError):
        return None
    return found.pop() if len(found) == 1 else None


_PYTHON_CLAUSE = regex(r"""python_version\s*(<=|>=|==|!=|<|>)\s*['"](\d+\.\d+)['"]""")


@lru_cache(maxsize=16384)
def marker_holds_on(marker: str, python: str) -> bool:
    """Whether a marker holds on Linux on x86-64 with a minor version of Python; True where it cannot be read."""
    if not marker:
        return True
    simple = _PYTHON_CLAUSE.fullmatch(marker)
    if simple is not None:
        return holds(simple[1] + simple[2], python)
    from packaging.markers import Marker

    full = f"{python}.9"
    names = {"python_version": python, "python_full_version": full, "implementation_version": full}
    try:
        return Marker(marker).evaluate({**names, **_SYSTEMS[0], "platform_machine": _MACHINES[0], "extra": ""})
    except (ValueError, LookupError, RecursionError):
        return True


@lru_cache(maxsize=256)
def _machines(pythons: str) -> tuple[dict[str, str], ...]:
    """The machines an installation may meet, as markers see them."""
    from trl_lint.knowledge.releases import parse_specifier

    is_known = parse_specifier(pythons) is not None
    machines = []
    for version in _PYTHONS:
        # Of a minor version the first and a late patch release stand for all.
        for full in (f"{version}.0", f"{version}.99"):
            if not is_known or holds(pythons, full):
                names = {"python_version": version, "python_full_version": full, "implementation_version": full}
                machines += [
                    {**names, **system, "platform_machine": m, "extra": ""} for system in _SYSTEMS for m in _MACHINES
                ]
    return tuple(machines)
