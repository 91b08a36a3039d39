"""`--since REF`: only the findings that rest on what has changed since a commit, committed or not.

git is asked for names and contents alone, by commands that run nothing of the repository: no hook, monitor, filter,
external diff or converter. What differs is worked out in a folder of our own, where no attribute of the project holds.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence

from trl_lint.commands import UsageError
from trl_lint.finding import Finding, Location
from trl_lint.reports import Report, visible
from trl_lint.review.diff import FileDiff, names_in, read_patch
from trl_lint.review.plan import ABOUT_A_FILE
from trl_lint.streams import say

_SWITCHED_OFF = (
    "core.fsmonitor=false", "core.untrackedCache=false", f"core.hooksPath={os.devnull}", "protocol.allow=never",
    f"core.attributesFile={os.devnull}", "diff.external=", "core.pager=cat",
)  # fmt: skip
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "none", "LC_ALL": "C",
}  # fmt: skip
_LONGEST = 60  # seconds for one question
_WHOLE = FileDiff("", (), is_shown=False)  # of a file that is new, or that git cannot compare: all of it counts


class Changes:
    """What has changed since a commit in the repository around a folder. Raises UsageError where git cannot say."""

    def __init__(self, ref: str, folder: str) -> None:
        if not ref or ref.startswith("-"):
            raise UsageError(f"--since: `{visible(ref)}` is no commit")
        self._folder = folder
        self.root = os.path.realpath(self._line("rev-parse", "--show-toplevel"))
        commit = self._line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        base = self._ask("merge-base", commit, "HEAD", is_optional=True).decode().strip()
        self._blobs = self._tree(base or commit)
        self._diffs: dict[str, FileDiff | None] = {}
        self._missing: set[str] | None = None

    def is_touched(self, finding: Finding, report: Report) -> bool:
        """Whether a line that a finding is about, or rests on, has changed; or a file has gone that it names."""
        if finding.code in ABOUT_A_FILE and self._diff(finding.location.path, report) is not None:
            return True
        if not self._gone().isdisjoint(names_in(finding.message)):
            return True
        return any(self._touches(place, report) for place in (finding.location, *finding.related))

    def _touches(self, place: Location, report: Report) -> bool:
        diff = self._diff(place.path, report)
        if diff is None:
            return False
        start, end = report.span(place)
        # The lines of a cell are not those of the file.
        return start.cell is not None or diff.touches(start.line, end.line)

    def _diff(self, path: str, report: Report) -> FileDiff | None:
        """What has changed in a file; None for nothing."""
        if path not in self._diffs:
            self._diffs[path] = self._compared(path, report)
        return self._diffs[path]

    def _compared(self, path: str, report: Report) -> FileDiff | None:
        blob = self._blobs.get(os.path.relpath(os.path.realpath(path), self.root).replace(os.sep, "/"))
        if blob is None:
            return _WHOLE
        file = report.file(path)
        if file is None:
            return _WHOLE
        if blob == _blob_id(file.data, len(blob)):
            return None
        old = self._ask("cat-file", "blob", blob)
        if old.replace(b"\r\n", b"\n") == file.data.replace(b"\r\n", b"\n"):
            return None  # only its line ends are others, as git may have it when it checks out
        return FileDiff("", read_patch(_patch(old, file.data)))

    def _gone(self) -> set[str]:
        """The names of files of the commit that there are no more."""
        if self._missing is None:
            paths = (name for name in self._blobs if not os.path.lexists(os.path.join(self.root, name)))
            self._missing = {os.path.basename(path) for path in paths}
        return self._missing

    def _tree(self, commit: str) -> dict[str, str]:
        """The files of a commit, with the ids of their contents."""
        found = {}
        for row in self._ask("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
            facts, _, name = row.partition(b"\t")
            if name and facts.split()[1] == b"blob":
                found[os.fsdecode(name)] = facts.split()[2].decode()
        return found

    def _line(self, *arguments: str) -> str:
        return os.fsdecode(self._ask(*arguments)).rstrip("\n")

    def _ask(self, *arguments: str, is_optional: bool = False) -> bytes:
        done = _git(self._folder, arguments)
        if done.returncode and not is_optional:
            said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
            raise UsageError(f"--since: git {arguments[0]}: {visible(said or 'no such commit')}")
        return done.stdout


def _git(folder: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    switches = [word for value in _SWITCHED_OFF for word in ("-c", value)]
    kept = {name: value for name, value in os.environ.items() if name not in ("GIT_EXTERNAL_DIFF", "GIT_TRACE")}
    try:
        return subprocess.run(
            ["git", "--no-pager", *switches, *arguments],
            cwd=folder, env={**kept, **_ENVIRONMENT}, stdin=subprocess.DEVNULL, capture_output=True, timeout=_LONGEST,
        )  # fmt: skip
    except FileNotFoundError:
        raise UsageError("--since needs git") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"--since: git {arguments[0]} takes more than {_LONGEST} s") from None


def _patch(old: bytes, new: bytes) -> str:
    """The difference of two contents, compared in a folder that belongs to no repository."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in (("old", old), ("new", new)):
            with open(os.path.join(folder, name), "wb") as stream:
                stream.write(data)
        words = ("diff", "--no-index", "--text", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-cr-at-eol")
        done = _git(folder, (*words, "--unified=1", "old", "new"))
    return done.stdout.decode("utf-8", "replace").replace("\r\n", "\n")


def _blob_id(data: bytes, length: int) -> str:
    """The id that git gives to contents: by SHA-1, or by SHA-256 in repositories that use it."""
    make = hashlib.sha1 if length == 40 else hashlib.sha256
    return make(b"blob %d\0" % len(data) + data).hexdigest()


def only_touched(findings: Iterable[Finding], changes: Changes, report: Report) -> list[Finding]:
    """The findings that rest on what has changed; how many do not is said on standard error."""
    everything = list(findings)
    found = [finding for finding in everything if changes.is_touched(finding, report)]
    if report.summary and (left := len(everything) - len(found)):
        from trl_lint.words import counted

        say(f"trl-lint: {counted(left, 'finding')} in what has not changed left out")
    return found
