"""What the recorded releases have: arguments, methods, attributes, names and modules, as spans of releases."""

from __future__ import annotations

import re
from functools import cache

from trl_lint.diagnose.dating import PACKAGES, Dated
from trl_lint.knowledge import api
from trl_lint.knowledge.histories import block, positions, text_of
from trl_lint.knowledge.ranges import spans
from trl_lint.knowledge.signatures import Signature, read_method


def argument(owner: str, key: str) -> Dated | None:
    return _of_a_class(owner, key, f"{owner} takes `{key}` in")


def attribute(owner: str, key: str) -> Dated | None:
    found = _of_a_class(owner, key, f"{owner} has `{key}` in")
    if found is None or not found.spans:
        found = _of_a_class(owner, f".{key}", f"{owner} has `{key}` in")
    return found if found is not None and found.spans else None


def _of_a_class(owner: str, key: str, what: str) -> Dated | None:
    """The releases in which the class of this name has something; without spans if the class never had it."""
    by_package: dict[str, list[str]] = {}
    for symbol in recorded_classes(owner):
        by_package.setdefault(symbol.partition(".")[0], []).append(symbol)
    for package, symbols in by_package.items():
        home, found = _spans_of_class(package, symbols, key)
        if found:
            return Dated(home, what, found)
    return Dated(next(iter(by_package)), what, ()) if by_package else None


def _spans_of_class(package: str, symbols: list[str], key: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """By release, what the class has that users get: the public one, and an experimental one where that is gone."""
    order = sorted(symbols, key=lambda symbol: ("experimental" in symbol, symbol))
    having: set[str] = set()
    covered: set[str] = set()
    for symbol in order:
        changes = api.timeline(symbol, key)
        home = _package_of_changes(changes, package) if changes else package
        # The message says that the base, which may take it in other releases, does not.
        own = [change._replace(value=None) if change.value == api.INHERITED else change for change in changes]
        if home != package:
            if symbol == order[0] or not covered:
                return home, _spans_of(home, own)
            continue
        alive = _alive(package, symbol)
        having |= {version for version in _within(package, own) if version in alive and version not in covered}
        covered |= alive
    known = api.releases(package)
    return package, tuple(spans([version for version in known if version in having], known))


def _alive(package: str, symbol: str) -> set[str]:
    """The releases that have a class."""
    found = block(package, f"class {symbol}")
    return {version for version, at in positions(package).items() if found is not None and found.exists(at)}


def _within(package: str, changes: list[api.Change]) -> set[str]:
    known = api.releases(package)
    at = {version: number for number, version in enumerate(known)}
    return {version for first, last in _spans_of(package, changes) for version in known[at[first] : at[last] + 1]}


def _package_of_changes(changes: list[api.Change], package: str) -> str:
    """A parameter that only the base of another package has is told in that package's releases."""
    if all(change.version in api.releases(package) for change in changes):
        return package
    return next(name for name in PACKAGES if all(change.version in api.releases(name) for change in changes))


def _spans_of(package: str, changes: list[api.Change]) -> tuple[tuple[str, str], ...]:
    known = api.releases(package)
    found: list[tuple[str, str]] = []
    for number, change in enumerate(changes):
        if change.value is None:
            continue
        end = known.index(changes[number + 1].version) - 1 if number + 1 < len(changes) else len(known) - 1
        first = change.version
        if found and known.index(found[-1][1]) + 1 == known.index(first):
            found[-1] = (found[-1][0], known[end])
        else:
            found.append((first, known[end]))
    return tuple(found)


def name_in(module: str, name: str) -> Dated | None:
    package = module.partition(".")[0]
    if package not in PACKAGES:
        return None
    changes = api.name_timeline(module, name)
    return (
        Dated(package, f"`{name}` can be imported from {module} in", _spans_of(package, changes)) if changes else None
    )


def module(module: str) -> Dated | None:
    package = module.partition(".")[0]
    if package not in PACKAGES or "." not in module:
        return None
    found = block(package, f"module {module}")
    if found is None:
        return None
    known = api.releases(package)
    changes = [api.Change(known[at], None if value == "-" else "module") for at, value in found.life]
    return Dated(package, f"the module {module} exists in", _spans_of(package, changes))


def positional(method: str, given: int, caller: str) -> Dated | None:
    """The releases of transformers whose Trainer takes as many arguments in a method as it gave; None if none does."""
    if caller != "transformers":
        return None
    changes = [
        change._replace(value=change.value if change.value and _most(change.value) == given - 1 else None)
        for change in api.timeline("transformers.trainer:Trainer", f".{method}")
    ]
    found = _spans_of(caller, changes)
    return Dated(caller, f"Trainer calls `{method}` with {given - 1} arguments in", found) if found else None


def _most(signature: str) -> int:
    """How many positional arguments a recorded signature `(a, b=1)` takes."""
    inside = signature.strip("()")
    names = [part.strip() for part in re.sub(r"\[[^\[\]]*\]|\([^()]*\)", "", inside).split(",")]
    positional = []
    for name in names:
        if name.startswith("*"):
            break
        if name:
            positional.append(name)
    return len(positional)


@cache
def recorded_classes(name: str) -> tuple[str, ...]:
    """The recorded classes of a name, as `module:Name`."""
    found = []
    for package in PACKAGES:
        found += re.findall(rf"^class ([\w.]+:{re.escape(name)})\b", text_of(package), re.MULTILINE)
    return tuple(found)


@cache
def recorded_functions(name: str) -> tuple[str, ...]:
    """The recorded functions of a name, as `module:name`."""
    found = []
    for package in PACKAGES:
        found += re.findall(rf"^def ([\w.]+:{re.escape(name)})\b", text_of(package), re.MULTILINE)
    return tuple(found)


def method_argument(owner: str, method: str, key: str) -> Dated | None:
    """The releases in which a method of the class of this name takes an argument; None if none does.

    A class that stands in several packages, or whose method every release calls so, tells nothing.
    """
    symbols = recorded_classes(owner)
    packages = {symbol.partition(".")[0] for symbol in symbols}
    if len(packages) != 1:
        return None
    package = packages.pop()
    having: set[str] = set()
    for symbol in symbols:
        having |= _taking(symbol, method, key, package)
    return _dated_by(package, f"{owner}.{method} takes `{key}` in", having)


def own_argument(path: str, method: str, key: str) -> Dated | None:
    """The releases in which a class of a package's file takes an argument in a method that the file calls itself.

    `path` is the file of the frame that called: `…/transformers/trainer.py`.
    """
    for package in PACKAGES:
        _, found, inside = path.replace("\\", "/").rpartition(f"/{package}/")
        if not found or not inside.endswith(".py"):
            continue
        home = f"{package}.{inside.removesuffix('.py').replace('/', '.')}"
        for symbol in re.findall(rf"^class ({re.escape(home)}:\w+) ", text_of(package), re.MULTILINE):
            having = _taking(symbol, method, key, package)
            if having:
                name = symbol.partition(":")[2]
                return _dated_by(package, f"{name} calls `{method}` with `{key}` in", having)
    return None


def function_argument(name: str, key: str) -> Dated | None:
    """The releases in which the function of this name takes an argument; None if several packages have one."""
    symbols = recorded_functions(name)
    packages = {symbol.partition(".")[0] for symbol in symbols}
    if len(packages) != 1:
        return None
    package = packages.pop()
    having: set[str] = set()
    for symbol in symbols:
        having |= _within(package, api.timeline(symbol, key))
    return _dated_by(package, f"{name}() takes `{key}` in", having)


def required(owner: str, key: str) -> Dated | None:
    """The releases in which the class of this name does not work without an argument; None if that never changed."""
    symbols = recorded_classes(owner)
    packages = {symbol.partition(".")[0] for symbol in symbols}
    if len(packages) != 1:
        return None
    package = packages.pop()
    needing: set[str] = set()
    alive: set[str] = set()
    for symbol in symbols:
        alive |= _alive(package, symbol)
        changes = api.timeline(symbol, key)
        needing |= _within(package, [one._replace(value="*" if one.value == "*" else None) for one in changes])
    return _dated_by(package, f"{owner} needs `{key}` in", needing) if needing & alive != alive else None


def _taking(symbol: str, method: str, key: str, package: str) -> set[str]:
    """The releases whose class has the argument in the signature of its own method."""
    taking = [
        change._replace(value=change.value if change.value and _takes(change.value, key) else None)
        for change in api.timeline(symbol, f".{method}")
    ]
    return _within(package, taking) if all(change.version in api.releases(package) for change in taking) else set()


def _takes(signature: str, key: str) -> bool:
    found = read_method(signature) if signature.startswith("(") else Signature({}, True, None)
    return key in found.parameters


def _dated_by(package: str, what: str, having: set[str]) -> Dated | None:
    known = api.releases(package)
    found = tuple(spans([version for version in known if version in having], known))
    return Dated(package, what, found) if found else None
