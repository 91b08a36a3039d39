"""A call, an import or an attribute that the installed release has not: whose it is, and which releases have it.

The frame that raised tells who called: code of the project, or an installed package. An installed package that calls
another one in vain says that the two releases do not fit, and nothing about the project.
"""

from __future__ import annotations

import re
from functools import cache

from trl_lint.diagnose.dating import PACKAGES, Dated
from trl_lint.diagnose.failures import Failure
from trl_lint.knowledge import api
from trl_lint.knowledge.histories import block, positions, text_of
from trl_lint.knowledge.ranges import spans
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_INSTALLED = regex(r"(?:site|dist)-packages[/\\](?P<package>\w+)")
_CHECKOUT = regex(
    rf"(?:^|[/\\])(?P<package>{'|'.join(PACKAGES)})[/\\](?!examples?\b|recipes?\b|tests?\b|docs\b|benchmark)"
)
_UNEXPECTED = regex(r"(?<!\w)(?P<owner>\w+)\.__init__\(\) got an unexpected keyword argument '(?P<key>\w+)'")
_CANNOT_IMPORT = regex(r"cannot import name '?(?P<name>\w+)'? from '(?P<module>[\w.]+)'")
_NO_MODULE = regex(r"No module named '(?P<module>[\w.]+)'")
_NO_ATTRIBUTE = regex(r"AttributeError: '(?P<owner>\w+)' object has no attribute '(?P<key>\w+)'")
_MODULE_WITHOUT = regex(r"AttributeError: module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'")
_POSITIONAL = regex(
    r"TypeError: (?:(?P<owner>\w+)\.)?(?P<method>\w+)\(\) takes (?:from \d+ to )?(?P<takes>\d+) positional arguments?"
    r" but (?P<given>\d+) were given"
)
_FAILED_IMPORT = regex(r"Failed to import (?P<package>\w+)(?:\.[\w.]*)? because of the following error")
# Functions of libraries that hand a call on: the frame before them is the one that called.
_FORWARDING = frozenset({"wrapper", "wrapped", "wrapped_func", "wrapped_fn", "inner", "_inner_fn", "decorate_context"})
# Classes that others are derived from: without a frame nobody knows whose constructor called theirs.
_BASES = frozenset({"Trainer", "TrainingArguments", "PreTrainedModel", "PretrainedConfig"})


class Drift(NamedTuple):
    """What was missing. `dated` has no spans where no recorded release ever had it.

    `caller` is the installed package whose frame raised, "" for code of the project and "?" where no frame tells.
    """

    kind: str
    dated: Dated
    caller: str
    base: bool = False

    @property
    def is_of_a_pair(self) -> bool:
        """Whether one installed package asked another one in vain."""
        return self.caller not in ("", "?")

    @property
    def is_sure(self) -> bool:
        """Whether who asked is known, or can hardly be another than the project."""
        return bool(self.dated.spans) and (self.caller != "?" or (self.dated.package == "trl" and not self.base))


def caller_of(failure: Failure) -> str:
    """The installed package whose frame raised; "" if it was the project's, "?" if there is no frame."""
    if told := _FAILED_IMPORT.search(failure.text):
        return told["package"]
    frames = failure.main.frames or failure.frames
    frame = next((frame for frame in reversed(frames) if frame.function.rpartition(".")[2] not in _FORWARDING), None)
    if frame is None:
        return "?"
    path = frame.path
    if found := _INSTALLED.search(path):
        return found["package"]
    if found := _CHECKOUT.search(path):
        return found["package"]
    return ""


def drift_of(failure: Failure) -> Drift | None:
    """What the installed release has not, and the releases that have it; None if that is not what failed."""
    text = failure.text
    caller = caller_of(failure)
    if match := _UNEXPECTED.search(text):
        found = _argument(match["owner"], match["key"])
        return found and Drift("argument", found, caller, match["owner"] in _BASES)
    if match := _CANNOT_IMPORT.search(text):
        found = _name(match["module"], match["name"])
        return found and Drift("name", found, caller)
    if match := _NO_MODULE.search(text):
        found = _module(match["module"])
        return found and Drift("name", found, caller)
    if match := _MODULE_WITHOUT.search(text):
        found = _name(match["module"], match["name"])
        return found and Drift("name", found, caller)
    if match := _NO_ATTRIBUTE.search(text):
        found = _attribute(match["owner"], match["key"])
        return found and Drift("attribute", found, caller)
    if match := _POSITIONAL.search(text):
        found = _positional(match["owner"] or "", match["method"], int(match["takes"]), int(match["given"]), caller)
        return found and Drift("positional", found, caller)
    return None


def _argument(owner: str, key: str) -> Dated | None:
    return _of_a_class(owner, key, f"{owner} takes `{key}` in")


def _attribute(owner: str, key: str) -> Dated | None:
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


def _name(module: str, name: str) -> Dated | None:
    package = module.partition(".")[0]
    if package not in PACKAGES:
        return None
    changes = api.name_timeline(module, name)
    return (
        Dated(package, f"`{name}` can be imported from {module} in", _spans_of(package, changes)) if changes else None
    )


def _module(module: str) -> Dated | None:
    package = module.partition(".")[0]
    if package not in PACKAGES or "." not in module:
        return None
    found = block(package, f"module {module}")
    if found is None:
        return None
    known = api.releases(package)
    changes = [api.Change(known[at], None if value == "-" else "module") for at, value in found.life]
    return Dated(package, f"the module {module} exists in", _spans_of(package, changes))


def _positional(owner: str, method: str, takes: int, given: int, caller: str) -> Dated | None:
    """The releases of the calling package whose own class of trainers takes as many arguments as were given."""
    if caller not in PACKAGES or (owner and not recorded_classes(owner)):
        return None
    home = "transformers.trainer:Trainer" if caller == "transformers" else ""
    if not home or (owner and owner == "Trainer"):
        return None
    changes = [
        change._replace(value=change.value if change.value and _most(change.value) == given - 1 else None)
        for change in api.timeline(home, f".{method}")
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
