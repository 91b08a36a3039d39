"""The releases of each row of `rules/bugs`: those whose archive has the faulty code.

What was found is kept beside the tests (`tests/knowledge/known_bugs/PACKAGE.txt`), so that they can say without a
network whether a row still tells what its archives say.
"""

from __future__ import annotations

import os
import re
import sys
import zlib
from collections.abc import Iterable, Mapping

from packaging.version import Version

from trl_lint.knowledge import bugs as table
from trl_lint.knowledge import read_text, rules_dir
from trl_lint.knowledge.bugs import Bug
from trl_lint.knowledge.ranges import spans
from trl_lint.knowledge.refresher.bugs_code import ABSENT, FAULTY, is_asked, state_of
from trl_lint.knowledge.refresher.bugs_fields import lacking, needed_words
from trl_lint.knowledge.refresher.tables import read_releases
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

# The oldest release that is looked at; where the archives are small, all their Python files and configs are kept, so
# that a new row fetches nothing.
SINCE = {
    "accelerate": "0.20", "axolotl": "0.5", "deepspeed": "0.12", "liger-kernel": "0.3", "llamafactory": "0.7",
    "ms-swift": "2.4", "openrlhf": "0", "peft": "0.6", "transformers": "4.40", "trl": "0.7", "unsloth": "2024.10",
    "unsloth-zoo": "2024.10", "verl": "0", "vllm": "0.6",
}  # fmt: skip
_LARGE = frozenset({"deepspeed", "transformers", "vllm"})
# The top-level module of a package, where it is not its name.
ROOTS = {
    "autoawq": "awq",
    "ms-swift": "swift",
    "liger-kernel": "liger_kernel",
    "unsloth-zoo": "unsloth_zoo",
}
_LETTERS = {"absent": "-", "faulty": "!", "other": "."}
_STATES = {letter: state for state, letter in _LETTERS.items()}
_RELEASES = regex(r"(?m)^releases = .*\n")


class Answer(NamedTuple):
    """What the archives say of a row: a number for the code that was looked for, and what became of it by release."""

    digest: str
    states: dict[str, str]


def digest_of(row: Bug) -> str:
    """A number that changes with the code that is looked for."""
    return f"{zlib.crc32(repr(row.code).encode()):08x}"


def answers(package: str, rows: Iterable[Bug], known: Mapping[str, Answer]) -> dict[str, Answer]:
    """What all archives of a package say of rows; what is `known` is not looked for again.

    Raises OSError (network) and the errors of damaged archives.
    """
    asked = list(rows)
    found = {row.id: _kept(row, known.get(row.id)) for row in asked}
    root = ROOTS.get(package, package)

    def is_wanted(path: str) -> bool:
        if any(is_asked(row, path) for row in asked):
            return True
        return package not in _LARGE and path.startswith(f"{root}/") and path.endswith((".py", ".yaml", ".yml"))

    of_all = set.intersection(*(set(states) for states in found.values())) if found else set()
    for version, contents in read_releases(package, SINCE.get(package, "0"), is_wanted, of_all):
        for row in asked:
            if version not in found[row.id]:
                found[row.id][version] = state_of(row, contents.members)
    return {row.id: Answer(digest_of(row), found[row.id]) for row in asked}


def _kept(row: Bug, known: Answer | None) -> dict[str, str]:
    return dict(known.states) if known is not None and known.digest == digest_of(row) else {}


def range_of(states: dict[str, str]) -> str:
    """The releases with the faulty code as a specifier, "" where none has it."""
    known = sorted(states, key=Version)
    faulty = [version for version in known if states[version] == FAULTY]
    if not faulty:
        return ""
    first, last = faulty[0], faulty[-1]
    between = known[known.index(first) : known.index(last)]
    left_out = "".join(f",!={version}" for version in between if states[version] != FAULTY)
    after = known[known.index(last) + 1 :]
    if first == last and after:
        return f"=={first}"
    return f">={first}" + (f",<{after[0]}" if after else "") + left_out


def faults_of(package: str, row: Bug, answer: Answer) -> list[str]:
    """What is wrong with a row, by what the archives say of it and what the histories say of its condition."""
    if not (row.code.stands or row.code.lacks):
        return ["neither `stands` nor `lacks` says how the faulty code is told"]
    known = sorted(answer.states, key=Version)
    faulty = [version for version in known if answer.states[version] == FAULTY]
    if not faulty:
        where = [version for version in known if answer.states[version] != ABSENT]
        there = f"the function is there from {where[0]} to {where[-1]}" if where else "no release has the function"
        return [f"no release has the faulty code: {there}"]
    found = []
    stretches = spans(faulty, known)
    if len(stretches) > 1 and not row.twice:
        told = ", ".join(f"{first} to {last}" for first, last in stretches)
        found.append(f"it comes back: {told}; a better fingerprint, or say why in `twice`")
    lacked = lacking(package, row._replace(releases=range_of(answer.states)))
    if lacked:
        names = sorted({name for _, name in lacked})
        releases = [version for version, _ in lacked]
        found.append(
            f"{', '.join(f'`{name}`' for name in names)} of the condition is not in {releases[0]} to {releases[-1]}"
        )
    return found


def remarks_on(row: Bug, answer: Answer) -> list[str]:
    """What somebody should look at, although it may be right."""
    known = sorted(answer.states, key=Version)
    first = next((at for at, version in enumerate(known) if answer.states[version] == FAULTY), 0)
    found = []
    if first and answer.states[known[first - 1]] == ABSENT:
        found.append(f"the function begins in {known[first]}: did the fault stand elsewhere before?")
    if first == 0:
        found.append(f"it begins with the oldest release that was read, {known[0]}")
    if answer.states[known[-1]] == FAULTY:
        found.append(f"the newest release, {known[-1]}, still has it")
    return found


# -- what was found ---------------------------------------------------------------------------------------------------


def answers_path(package: str) -> str:
    """Where the answers stand that the tests replay."""
    return os.path.join(os.path.dirname(rules_dir()), "tests", "knowledge", "known_bugs", f"{package}.txt")


def read_answers(package: str) -> dict[str, Answer]:
    """The answers as they were written; none where there are none."""
    try:
        with open(answers_path(package), encoding="utf-8") as stream:
            head, *lines = stream.read().splitlines()
    except FileNotFoundError:
        return {}
    known = head.split()[1:]
    found = {}
    for line in lines:
        name, digest, *changes = line.split()
        told = {change[1:]: _STATES[change[0]] for change in changes}
        state, states = "", {}
        for version in known:
            state = told.get(version, state)
            if state:
                states[version] = state
        found[name] = Answer(digest, states)
    return found


def answers_text(found: dict[str, Answer]) -> str:
    """The answers as text: the releases, and for each row those at which the answer changes."""
    known = sorted({version for answer in found.values() for version in answer.states}, key=Version)
    lines = [" ".join(("releases", *known))]
    for name, answer in found.items():
        changes, last = [], ""
        for version in known:
            state = answer.states.get(version, "")
            if state and state != last:
                changes.append(f"{_LETTERS[state]}{version}")
                last = state
        lines.append(" ".join((name, answer.digest, *changes)))
    return "\n".join(lines) + "\n"


# -- the command ------------------------------------------------------------------------------------------------------


def refresh(packages: Iterable[str], anew: bool) -> int:
    """Write the releases of all rows of packages, and what is read by a check; `anew`: also where they are known.

    Returns 0, or 1 where a row is wrong.
    """
    failed = 0
    for package in packages:
        rows = table.bugs(package)
        found = answers(package, rows, {} if anew else read_answers(package))
        for row in rows:
            releases = range_of(found[row.id].states)
            faults = faults_of(package, row, found[row.id])
            failed |= bool(faults)
            changed = "" if releases == row.releases else f" (was {row.releases or 'not known'})"
            print(f"{row.id}: {package}{releases}{changed}" if releases else row.id)
            for text in faults:
                print(f"  wrong: {text}", file=sys.stderr)
            for text in remarks_on(row, found[row.id]) if changed and releases else ():
                print(f"  look: {text}")
        _write(package, {row.id: range_of(found[row.id].states) for row in rows})
        path = answers_path(package)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _write_text(path, answers_text(found))
    write_index()
    return failed


def write_index() -> None:
    """Write what a check reads, from the tables as they stand."""
    table.bugs.cache_clear()
    for package in table.packages():
        path = os.path.join(rules_dir(), table.INDEX, f"{package}.txt")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _write_text(path, table.index_text(package, needed_words))
    table.entries.cache_clear()
    _write_text(words_path(), words_text())


def words_path() -> str:
    """Where the words stand without which a Python file is not looked at for calls."""
    return os.path.join(os.path.dirname(rules_dir()), "trl_lint", "checks", "configs", "_bug_words.py")


def words_text() -> str:
    """The module with these words."""
    words = "".join(f'    b"{word.decode()}",\n' for word in table.called_words())
    told = "What known bugs are about that are met where they are called. Written by `trl_lint.knowledge.refresh bugs`."
    return f'"""{told}"""\n\n# fmt: off\nWORDS: tuple[bytes, ...] = (\n{words})\n'


def _write(package: str, ranges: dict[str, str]) -> None:
    """Write the ranges into the rows of a table; all else stays as it is."""
    head, *parts = re.split(r"(?m)^(?=\[\[bug\]\]$)", read_text(f"bugs/{package}.toml"))
    written = [head]
    for part in parts:
        match = re.search(r'(?m)^id = "([^"\n]*)"\n', part)
        assert match is not None  # the table was read
        bare = _RELEASES.sub("", part)
        line = f'releases = "{ranges[match[1]]}"\n' if ranges.get(match[1]) else ""
        written.append(bare.replace(match[0], match[0] + line, 1))
    _write_text(os.path.join(rules_dir(), "bugs", f"{package}.toml"), "".join(written))


def _write_text(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
