"""Findings that have one cause, for people to read once.

An entry is what one line of a report stands for: findings of one code with the same message but for quoted names, files
and lines. A group is the entries that one open pin lets happen. Programs get every finding, with a key that is equal
where the cause is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from trl_lint.finding import SEVERITIES, Finding, Location, OpenPin
from trl_lint.paths import relative_to
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_QUOTED = regex(r"`[^`]*`")
_ANY = "`…`"
# What holds pins in a header, or a cell, of its own.
_SCRIPTS = (".py", ".ipynb")
# What a footer may name: more than so many lines are no short answer.
_MOST_PINS = 3


class Entry(NamedTuple):
    """Findings that say the same of several places or names; the first stands for all of them."""

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        return self.findings[0]

    @property
    def others(self) -> tuple[Finding, ...]:
        return self.findings[1:]

    def names(self) -> list[str]:
        """What the others quote where the first quotes something else, each once: `old`, or `old` → `new`.

        Parts of one whole that are repaired in several ways say how: `old`: drop it.
        """
        if len({_pattern(finding)[0] for finding in self.findings}) > 1:
            return self._parts()
        rows = [_QUOTED.findall(finding.message) for finding in self.findings]
        columns = list(zip(*rows, strict=False))
        kinds = [len(set(column)) for column in columns]
        if not kinds or max(kinds) == 1:
            return []
        main = kinds.index(max(kinds))
        # What is quoted last is what to do, which is no news where it follows from the name.
        is_remedy = main < len(kinds) - 1 and kinds[-1] > 1
        found: dict[str, None] = {}
        for row in rows:
            followed = is_remedy and row[main].strip("`+~-") not in row[-1]
            found.setdefault(f"{row[main]} → {row[-1]}" if followed else row[main])
        return list(found)[1:]

    def _parts(self) -> list[str]:
        rows = [_QUOTED.findall(finding.message) for finding in self.findings]
        shared = set.intersection(*map(set, rows))
        found: dict[str, None] = {}
        for finding, row in zip(self.findings, rows, strict=True):
            name = next((quoted for quoted in row if quoted not in shared), "")
            advice = _advice(finding.message)
            if name and advice.startswith("use ") and advice.count("`") == 2:
                found.setdefault(f"{name} → {advice.removeprefix('use ')}")
            elif name:
                found.setdefault(f"{name}: {advice}" if advice else name)
        return list(found)[1:]


def _advice(message: str) -> str:
    """What to do, of a message that says what happened, what to do and why: `it went: use `b` (pinned: trl 1.0)`."""
    told = message.rpartition(" (")[0] if message.endswith(")") else message
    return told.partition(": ")[2]


class Group(NamedTuple):
    """Entries that one open pin lets happen; `pin` is None for an entry that stands for itself."""

    pin: OpenPin | None
    entries: tuple[Entry, ...]

    @property
    def findings(self) -> list[Finding]:
        return [finding for entry in self.entries for finding in entry.findings]

    @property
    def places(self) -> list[Location]:
        """Where the pin is written, each place once: in the headers of several scripts, or in one file."""
        return list(dict.fromkeys(finding.pin.location for finding in self.findings if finding.pin is not None))

    @property
    def way_out(self) -> str:
        """The specifier under which none of the findings holds any more; "" where no bound does that."""
        pins = [finding.pin for finding in self.findings if finding.pin is not None]
        if self.pin is None or not pins or len({pin.is_floor for pin in pins}) > 1:
            return ""
        return _raised(self.pin, pins) if self.pin.is_floor else _bounded(self.pin, pins)


def _bounded(pin: OpenPin, pins: Iterable[OpenPin]) -> str:
    """The specifier below the oldest release for which something is wrong."""
    return f"{pin.specifier},<{min((each.oldest for each in pins), key=_version_key)}"


def _raised(pin: OpenPin, pins: Iterable[OpenPin]) -> str:
    """A lower bound above the newest release for which something is wrong."""
    return f">{max((each.newest for each in pins), key=_version_key)}"


def _version_key(text: str) -> tuple[int, ...]:
    from trl_lint.knowledge.releases import parse_version

    version = parse_version(text)
    return version.release if version is not None else ()


# -- entries and groups -----------------------------------------------------------------------------------------------


def entries_of(findings: Iterable[Finding]) -> list[Entry]:
    """Findings as entries: those of a higher level first, then in the order of the findings."""
    wholes: dict[object, list[Finding]] = {}
    for number, finding in enumerate(findings):
        # What one call has lost through two pins are two causes: each pin has a bound of its own.
        whole = (
            (finding.code, finding.severity, finding.part_of, _written(finding.pin))
            if finding.part_of is not None
            else number
        )
        wholes.setdefault(whole, []).append(finding)
    alike: dict[object, list[Finding]] = {}
    for parts in wholes.values():
        # Two calls with the same gone keywords are one entry, as two places of one gone keyword are.
        texts = frozenset(_pattern(finding) for finding in parts)
        alike.setdefault((parts[0].code, parts[0].severity, texts), []).extend(parts)
    found = [Entry(tuple(same)) for same in alike.values()]
    return sorted(found, key=lambda entry: -SEVERITIES.index(entry.first.severity))


def _pattern(finding: Finding) -> tuple[str, tuple[object, ...]]:
    """What the messages of one entry have in common, with the pin behind it."""
    words = _QUOTED.sub(_ANY, finding.message).split()
    text = " ".join("…" if _is_place(word) else word for word in words)
    return text, _written(finding.pin)


def _written(pin: OpenPin | None) -> tuple[object, ...]:
    """What makes two pins one: their place; in the headers of scripts, of which each has its own, their words."""
    if pin is None:
        return ()
    is_header = pin.location.path.endswith(_SCRIPTS)
    return (pin.package, pin.specifier, pin.is_floor) if is_header else (pin.location, pin.is_floor)


def _is_place(word: str) -> bool:
    """Whether a word is a file and a line: `train.py:12`, `(train.py:12:3)`."""
    path, colon, line = word.strip("(),;").partition(":")
    return bool(path and colon) and line[:1].isdigit() and ("." in path or "/" in path)


def groups_of(entries: Iterable[Entry]) -> list[Group]:
    """Entries as groups: those behind which one open pin stands together, where there are several."""
    by_pin: dict[object, list[Entry]] = {}
    for number, entry in enumerate(entries):
        key = _written(entry.first.pin) or number
        by_pin.setdefault(key, []).append(entry)
    return [Group(same[0].first.pin if len(same) > 1 else None, tuple(same)) for same in by_pin.values()]


def cause_keys(findings: Sequence[Finding], cwd: str) -> list[str]:
    """A key for each finding, in their order, equal for those that have one cause; paths count from `cwd`.

    It stays the same while lines move and other findings come and go.
    """
    keys: dict[int, str] = {}
    for entry in entries_of(findings):
        first = entry.first
        own = _digest(first.code, first.severity, *sorted({_pattern(finding)[0] for finding in entry.findings}))
        for finding in entry.findings:
            pin = finding.pin
            if pin is None:
                keys[id(finding)] = own
                continue
            path = "" if pin.location.path.endswith(_SCRIPTS) else relative_to(pin.location.path, cwd)
            floor = ["floor"] if pin.is_floor else []
            keys[id(finding)] = _digest("pin", path, pin.package, pin.specifier, *floor)
    return [keys[id(finding)] for finding in findings]


def _digest(*parts: str) -> str:
    import hashlib

    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def most_rest_on(findings: Sequence[Finding]) -> tuple[int, list[OpenPin]]:
    """The few open pins that most findings rest on, and how many rest on them; none where they are not most."""
    pins: dict[tuple[str, str], OpenPin] = {}  # one specifier in many headers is one
    counts: Counter[tuple[str, str]] = Counter()
    for finding in findings:
        if finding.pin is not None:
            asked = (finding.pin.package, finding.pin.specifier)
            pins.setdefault(asked, finding.pin)
            counts[asked] += 1
    chosen = counts.most_common(_MOST_PINS)
    total = sum(count for _, count in chosen)
    if total * 2 <= len(findings) or total < 2:
        return 0, []
    return total, [pins[asked] for asked, count in chosen if count * 10 >= total]
