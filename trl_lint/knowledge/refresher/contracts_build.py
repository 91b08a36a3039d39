"""`rules/contracts/<package>.txt`: what the releases of a package import that releases of another package do not have.

Each release of a package is read as it is imported, with its tests decided for each release of the package below. What
is not decided is never told. `trl_lint/knowledge/contracts.py` tells the form of the table.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from packaging.version import InvalidVersion, Version

from trl_lint.knowledge.ranges import holds, spans
from trl_lint.knowledge.refresher.bugs_build import ROOTS, SINCE
from trl_lint.knowledge.refresher.contracts_guards import Answers, Asked, Beside, agrees
from trl_lint.knowledge.refresher.contracts_offers import Memo, Offers
from trl_lint.knowledge.refresher.contracts_uses import Code, Failure, Use, is_caught
from trl_lint.knowledge.refresher.index import Contents
from trl_lint.knowledge.refresher.tables import read_releases
from trl_lint.knowledge.releases import releases as releases_of
from trl_lint.knowledge.requirements import requirement
from trl_lint.records import NamedTuple

# The packages below, with the oldest release that is looked at.
BELOW = {"transformers": "4.30"}
# The packages on top, and what they stand on.
ON_TOP = dict.fromkeys(("autoawq", "liger-kernel", "peft", "trl"), ("transformers",))
# Modules that people import although the package itself can be imported without them.
_ENTRIES = {"liger-kernel": ("liger_kernel.transformers",)}
_NOT_READ = re.compile(r"(?:^|/)tests?/")
_HEAD = "# {}: written by `python -m trl_lint.knowledge.refresh contracts`, not by hand\n"
_NUMBERS = re.compile(rb"\.(?:major|minor|micro|release)\b")
_VERSION = re.compile(rb"[\"'](\d+(?:\.\d+)+)[\"']")


class Break(NamedTuple):
    """Why something of a package cannot be imported: what is missing (`module`, `module:name`, or `module.name` of an
    attribute), and the line that asks for it.
    """

    what: str
    path: str
    line: int


class Release(NamedTuple):
    """A release of a package on top: its files as they are imported, what it offers, the versions it names, and the
    modules of it that people import. `has_numbers`: its tests take versions apart.
    """

    version: str
    code: dict[str, Code]
    offers: Offers
    literals: list[Version]
    entries: tuple[str, ...]
    has_numbers: bool = False


class Row(NamedTuple):
    """A line of the table. `entry`: `import`, or the public names of a lazy package that cannot be imported."""

    entry: str
    what: str
    place: str
    releases: str
    below: str


def tables(packages: Sequence[str]) -> dict[str, str]:
    """The text of the table of each of these packages on top. A release below is read once for all of them.

    Raises OSError (network), zipfile.BadZipFile and tarfile.TarError (damaged archive).
    """
    parts: dict[str, list[str]] = {name: [_HEAD.format(name)] for name in packages}
    releases = {name: list(_read(name)) for name in packages}
    for below in sorted({below for name in packages for below in ON_TOP[name]}):
        on_top = [name for name in packages if below in ON_TOP[name]]
        for name, rows in rows_of({name: releases[name] for name in on_top}, below, _releases(below, BELOW[below])):
            parts[name] += [f"on {below}\n", *(f" {' | '.join(row)}\n" for row in rows)]
    return {name: "".join(text) for name, text in parts.items()}


def _root(package: str) -> str:
    """The top-level module of a package."""
    return ROOTS.get(package, package.replace("-", "_"))


def _releases(package: str, since: str) -> Iterator[tuple[str, Contents]]:
    """The recorded releases of a package with their Python files, oldest first."""
    start, known = f"{_root(package)}/", {release.version for release in releases_of(package)}

    def is_wanted(path: str) -> bool:
        return path.startswith(start) and path.endswith(".py") and not _NOT_READ.search(path)

    return (found for found in read_releases(package, since, is_wanted) if found[0] in known)


def _read(package: str) -> Iterator[Release]:
    """The releases of a package on top; a file that is the same in the next release is read once."""
    read: dict[tuple[str, int, int], tuple[Code, frozenset[Version]]] = {}
    names: Memo = {}
    held: dict[tuple[str, int, int], tuple[int, bytes]] = {}
    for version, contents in _releases(package, SINCE.get(package, "0")):
        code: dict[str, Code] = {}
        members: dict[str, tuple[int, bytes]] = {}
        literals: set[Version] = set()
        has_numbers = any(_NUMBERS.search(source) for _, source in contents.members.values())
        for path, (crc, source) in contents.members.items():
            key = path, crc, len(source)
            if key not in read:
                read[key] = Code(path, source), frozenset(_versions(source))
            members[path] = held.setdefault(key, (crc, source))
            code[read[key][0].name] = read[key][0]
            literals |= read[key][1]
        offers = Offers(_root(package), Contents(contents.names, members), names)
        yield Release(version, code, offers, sorted(literals), _entries(package, code), has_numbers)


def _entries(package: str, code: Mapping[str, Code]) -> tuple[str, ...]:
    return tuple(name for name in _ENTRIES.get(package, ()) if name in code)


def _versions(source: bytes) -> Iterator[Version]:
    for match in _VERSION.finditer(source):
        try:
            yield Version(match[1].decode())
        except InvalidVersion:
            continue


def rows_of(
    on_top: Mapping[str, Sequence[Release]], below: str, contents: Iterable[tuple[str, Contents]]
) -> Iterator[tuple[str, list[Row]]]:
    """The rows of packages on top about one below, where there are any. `contents`: its releases, oldest first."""
    root = _root(below)
    memo: Memo = {}
    order: list[str] = []
    last: dict[tuple[str, str], tuple[Answers, tuple[int, ...], dict[str, Break]]] = {}
    found: dict[str, dict[str, dict[str, dict[str, Break]]]] = {name: {} for name in on_top}
    for version, held in contents:
        order.append(version)
        offers = Offers(root, held, memo)
        for name, releases in on_top.items():
            for release in releases:
                place = _place(Version(version), release)
                known = last.get((name, release.version))
                if known is None or known[1] != place or not agrees(known[0], offers):
                    asked = Asked(offers)
                    result = breaks(release, _root(name), {root: asked}, {root: Version(version)})
                    known = last[name, release.version] = asked.answers, place, result
                if known[2] and _install_together(name, release.version, below, version):
                    found[name].setdefault(release.version, {})[version] = known[2]
    for name, of_package in found.items():
        if rows := _rows(of_package, [release.version for release in on_top[name]], order):
            yield name, rows


def _install_together(package: str, version: str, below: str, release: str) -> bool:
    """Whether an installer takes two releases together, as far as it is recorded what the first requires."""
    needed = requirement(package, Version(version), below)
    return needed is None or not needed.is_binding or holds(needed.specifier, release)


def _place(version: Version, release: Release) -> tuple[int, ...]:
    """What the tests of a release can tell of a version: where it stands among those they name, and its numbers."""
    literals = release.literals
    numbers = (version.major, version.minor) if release.has_numbers else ()
    return bisect_left(literals, version), bisect_right(literals, version), *numbers


def breaks(
    release: Release, root: str, others: Mapping[str, Asked], versions: Mapping[str, Version]
) -> dict[str, Break]:
    """What of a release cannot be imported beside others: `import`, or its public names, and why."""
    beside = Beside(release.code, release.offers, others, versions)
    imports = _Imports(beside)
    whole = imports.failure(root)
    if whole is not None:
        return {"import": whole}
    found = {}
    for name in release.offers.lazy_names(root):
        module, seen = root, {root}
        while (home := release.offers.home(module, name)) and home not in seen:
            module = home
            seen.add(home)
        failure = next((one for each in seen if (one := imports.failure(each)) is not None), None)
        if failure is not None:
            found[name] = failure
    failing = ((module, imports.failure(module)) for module in release.entries)
    return {**found, **{module: failure for module, failure in failing if failure is not None}}


_NOT_ASKED = Break("", "", 0)


class _Imports:
    """Which modules of a package cannot be imported: a statement of theirs fails for certain, and is not caught."""

    def __init__(self, beside: Beside) -> None:
        self._beside = beside
        self._failures: dict[str, Break | None] = {}
        self._statements: dict[str, tuple[Break | None, list[str]]] = {}

    def failure(self, module: str) -> Break | None:
        """Why importing a module fails, None where nothing that it imports for certain does."""
        if module in self._failures:
            return self._failures[module]
        seen = {module: ""}
        waiting = [module]
        while waiting:
            current = waiting.pop()
            failure, leads_to = self._read(current)
            failure = self._failures.get(current) or failure
            if failure is not None:
                while current:  # the way that leads there
                    self._failures[current] = failure
                    current = seen[current]
                return failure
            for other in reversed(leads_to):
                if other not in seen and self._failures.get(other, _NOT_ASKED) is not None:
                    seen[other] = current
                    waiting.append(other)
        self._failures.update(dict.fromkeys(seen))  # nothing that they import fails, in a circle or not
        return None

    def _read(self, module: str) -> tuple[Break | None, list[str]]:
        """The first statement of a module itself that fails, and the modules of the package that it imports."""
        if module not in self._statements:
            self._statements[module] = self._read_statements(module)
        return self._statements[module]

    def _read_statements(self, module: str) -> tuple[Break | None, list[str]]:
        code = self._beside.code.get(module)
        above = module.rpartition(".")[0]
        leads_to = [above] if above in self._beside.code else []
        for use in code.uses if code is not None else ():
            assert code is not None
            root = use.module.partition(".")[0]
            if root in self._beside.others:
                broken = self._broken(use)
                if broken is not None and not is_caught(use.guards, broken[0]) and self._beside.runs(use.guards, code):
                    return Break(broken[1], code.path, use.line), leads_to
            elif (
                root == self._beside.own.root
                and not use.is_attribute
                and not is_caught(use.guards, "name")
                and self._beside.runs(use.guards, code)
            ):
                leads_to += self._homes(use)
        return None, leads_to

    def _broken(self, use: Use) -> tuple[Failure, str] | None:
        """How a use fails, and what is missing."""
        offers = self._beside.others[use.module.partition(".")[0]]
        if use.is_attribute:
            module = use.module
            for part in use.name.split(".") if use.name and offers.has_module(module) else ():
                if offers.has_module(f"{module}.{part}"):
                    module = f"{module}.{part}"
                    continue
                return ("attribute", f"{module}.{part}") if offers.has(module, part) is False else None
            return None
        if offers.has_module(use.module) is False:
            return "module", use.module
        if use.name and offers.has(use.module, use.name) is False:
            return "name", f"{use.module}:{use.name}"
        return None

    def _homes(self, use: Use) -> list[str]:
        """The modules of the package that an import of its own reads."""
        code, found = self._beside.code, [use.module] if use.module in self._beside.code else []
        below = f"{use.module}.{use.name}" if use.name else ""
        if below in code:
            return [*found, below]
        home = self._beside.own.home(use.module, use.name) if use.name else ""
        return [*found, home] if home in code else found


# -- the text ---------------------------------------------------------------------------------------------------------


def _rows(
    found: Mapping[str, Mapping[str, Mapping[str, Break]]], mine: Sequence[str], order: Sequence[str]
) -> list[Row]:
    """The rows: names that break for the same reason, in the same releases of both packages, are one."""
    by_reason: dict[tuple[str, str, str], dict[str, tuple[str, Break]]] = {}
    for version, of_release in found.items():
        reasons: dict[tuple[str, str], list[str]] = {}
        lines: dict[tuple[str, str], Break] = {}
        for below, broken in of_release.items():
            for entry, one in broken.items():
                reasons.setdefault((entry, one.what), []).append(below)
                lines[entry, one.what] = one
        for (entry, what), belows in reasons.items():
            ranges = _ranges(belows, order)
            by_reason.setdefault((entry, what, ranges), {})[version] = (ranges, lines[entry, what])
    grouped: dict[tuple[str, str, str], list[str]] = {}
    places: dict[tuple[str, str, str], Break] = {}
    for (entry, what, ranges), versions in by_reason.items():
        key = what, ranges, _ranges(versions, mine)
        grouped.setdefault(key, []).append(entry)
        places[key] = versions[max(versions, key=Version)][1]
    rows = [
        Row(",".join(sorted(entries)), what, f"{places[key].path}:{places[key].line}", releases, ranges)
        for key, entries in grouped.items()
        for what, ranges, releases in (key,)
    ]
    return sorted(rows, key=lambda row: (row.entry != "import", Version(row.releases.split("-")[0].split(",")[0]), row))


def _ranges(versions: Iterable[str], among: Sequence[str]) -> str:
    """Releases as `4.47.0-4.48.3,5.0.0-5.23.0`; a range of one release is that release."""
    known = set(versions)
    stretches = spans([version for version in among if version in known], among)
    return ",".join(first if first == last else f"{first}-{last}" for first, last in stretches)
