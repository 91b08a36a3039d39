"""Candidates for rows of `rules/bugs`: what the commits of a clone repaired, with the releases that had it.

A commit counts where its subject speaks of a repair, and where the code that it changed stands in some release. What is
printed is a row to be edited: the condition and the words are those of whoever reads the commit. Commits that
somebody has judged stand in `tests/knowledge/known_bugs/PACKAGE.seen`, one in a line, and are left out.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

from trl_lint.knowledge.bugs import Bug, Code
from trl_lint.knowledge.compat import repositories
from trl_lint.knowledge.refresher.bugs_build import answers, answers_path, range_of
from trl_lint.knowledge.refresher.bugs_code import functions_of
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_REPAIR = regex(
    r"\b(?:fix(?:e[sd]|ing)?|bug|bugfix|regression|wrong|incorrect|crash|broken|prevent|avoid|hang|deadlock|leak|mismatch"
    r"|missing|properly|correct|correctly|ensure|restore|revert|error)\b",
    re.IGNORECASE,
)
_NO_CODE = regex(
    r"\b(?:typos?|docs?|ci|tests?|style|chore|readme|docstrings?|lint|typing|type hints?|bump|copyright|changelog)\b",
    re.IGNORECASE,
)
_QUIET = regex(
    r"wrong|incorrect|silent|mismatch|gradient|loss|reward|advantage|normali[sz]|mask|scal|metric|ignored|double|seed"
    r"|weight|sync|entropy|logprob|order|stale|trunc|padding|average",
    re.IGNORECASE,
)
_OPTION = regex(r"\b(?:args|config|self\.args|self\.config)\.([a-z_]\w+)")
_REQUEST = regex(r"\(#(\d+)\)")
_MOST_LINES = 3  # of a function that tell the code
_SHORTEST = 12  # letters of a line that tells anything


class Commit(NamedTuple):
    """A commit of a clone: its hash, and the first line of its message."""

    sha: str
    subject: str


class Candidate(NamedTuple):
    """What a commit repaired: the code as a row has it, and the options that are named there."""

    commit: Commit
    code: Code
    options: tuple[str, ...]

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """What is read first: silent faults, then those with an option, then those of little code."""
        silent = bool(_QUIET.search(self.commit.subject))
        return not silent, not self.options, len(self.code.stands) + len(self.code.lacks)


def mine(package: str, clone: str, span: str) -> Iterator[str]:
    """Rows to be edited, the most promising first. `clone`: a git directory; `span`: `TAG..TAG`.

    Raises OSError where git or the index cannot be used.
    """
    seen = judged(package)
    found = [
        one
        for commit in commits_of(clone, span)
        if commit.sha[:10] not in seen and is_repair(commit.subject)
        for one in candidates_of(clone, commit)
    ]
    rows = [_row(f"{number}", one.code) for number, one in enumerate(found)]
    ranges = {name: range_of(answer.states) for name, answer in answers(package, rows, {}).items()} if rows else {}
    known = [(one, ranges[f"{number}"]) for number, one in enumerate(found) if ranges[f"{number}"]]
    for one, releases in sorted(known, key=lambda pair: pair[0].rank):
        yield as_row(package, one, releases)


def is_repair(subject: str) -> bool:
    """Whether the first line of a message speaks of a repair of code."""
    return bool(_REPAIR.search(subject)) and not _NO_CODE.search(subject)


def judged(package: str) -> frozenset[str]:
    """The first ten digits of the commits that somebody has judged."""
    try:
        with open(answers_path(package).removesuffix(".txt") + ".seen", encoding="utf-8") as stream:
            return frozenset(line.split()[0][:10] for line in stream if line.strip())
    except FileNotFoundError:
        return frozenset()


def commits_of(clone: str, span: str) -> list[Commit]:
    """The commits of a clone between two tags, newest first."""
    lines = _git(clone, "log", "--no-merges", "--format=%H %s", span).splitlines()
    return [Commit(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def candidates_of(clone: str, commit: Commit) -> Iterator[Candidate]:
    """The functions that a commit repaired: the one with the fewest changed lines of each file."""
    for path in _git(clone, "diff-tree", "-r", "--no-commit-id", "--name-only", commit.sha).splitlines():
        if path.endswith(".py") and not re.search(r"(?:^|/)tests?/|^(?:examples|docs|scripts)/", path):
            before = _git(clone, "show", f"{commit.sha}^:{path}")
            after = _git(clone, "show", f"{commit.sha}:{path}")
            changed = sorted(repaired(before, after), key=lambda one: len(one[1]) + len(one[2]))
            for function, gone, come in changed[:1]:
                code = Code(path.removeprefix("src/"), function, gone[:_MOST_LINES], come[:_MOST_LINES])
                names = dict.fromkeys(name for line in (*gone, *come) for name in _OPTION.findall(line))
                yield Candidate(commit, code, tuple(names))


def repaired(before: str, after: str) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Each innermost function that two versions of a file have and that differs: its name, what went and what came."""
    old, new = functions_of(before.encode()), functions_of(after.encode())
    differing = {name for name in old.keys() & new.keys() if name and old[name] != new[name]}
    for name in differing:
        if any(other.startswith(f"{name}.") for other in differing):
            continue
        gone, come = Counter(old[name]) - Counter(new[name]), Counter(new[name]) - Counter(old[name])
        told = (
            tuple(line for line in gone if len(line) >= _SHORTEST),
            tuple(line for line in come if len(line) >= _SHORTEST),
        )
        if any(told):
            yield name, *told


def _telling(lines: Counter[str]) -> tuple[str, ...]:
    return tuple(line for line in lines if len(line) >= _SHORTEST)


def as_row(package: str, one: Candidate, releases: str) -> str:
    """A row as TOML, with what is left to whoever reads the commit in capitals."""
    request = _REQUEST.search(one.commit.subject)
    home = f"https://github.com/{repositories().get(package, ('FILL/IN',))[0]}"
    url = f"{home}/pull/{request[1]}" if request else f"{home}/commit/{one.commit.sha}"
    words = re.findall(r"[a-z0-9]+", _REQUEST.sub("", one.commit.subject).lower())[:6]
    condition = " and ".join(one.options[:3]) or "FILL IN"
    lines = [
        f"# {one.commit.sha[:10]} {one.commit.subject}",
        "[[bug]]",
        f'id = "{package}-{"-".join(words)}"',
        f'releases = "{releases}"',
        'where = ["FILL IN"]',
        f"condition = {_text(condition)}",
        f"title = {_text(_REQUEST.sub('', one.commit.subject).strip())}",
        'message = "FILL IN"',
        f'consequence = "{"silent" if _QUIET.search(one.commit.subject) else "crash-later"}"',
        f'evidence = ["{url}"]',
        'checked = "end"',
        "bad = []",
        "fine = []",
        "[bug.code]",
        f"file = {_text(one.code.file)}",
        f"function = {_text(one.code.function)}",
        f"stands = [{', '.join(map(_text, one.code.stands))}]",
        f"lacks = [{', '.join(map(_text, one.code.lacks))}]",
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, code: Code) -> Bug:
    return Bug(name, ("",), "True", "", "", "silent", (), "end", code)


def _text(text: str) -> str:
    """A text as TOML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _git(clone: str, *arguments: str) -> str:
    """What git prints of a clone; "" where it has no such file. Raises OSError where there is no git."""
    command = ["git", "--git-dir", clone, *arguments]
    done = subprocess.run(command, capture_output=True, check=False)
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def print_candidates(package: str, clone: str, span: str, most: int) -> int:
    """Print rows to be edited. Returns 0, or 1 where there are none."""
    found = 0
    for row in mine(package, clone, span):
        if found == most:
            break
        sys.stdout.write(row + "\n")
        found += 1
    return int(not found)
