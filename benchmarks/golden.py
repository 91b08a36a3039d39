"""Every finding of the fixtures and of some public trees, kept as data: `python -m benchmarks.golden --mirror DIR`.

`golden.txt` lists repositories and commits; DIR holds their clones as `owner+name`. `results/golden.txt` has a line for
each finding: what a reader said of it, the repository (`fixtures` for ours), the place, code, level, and the names that
the message is about.

    true | owner/name | train.py:12 | TRL301 | error | SFTConfig max_seq_length

Without `--write` the differences are printed, and the status is 1 where a line that is true is gone, one that is false
is back, or a new one was not read. With `--write` the new state is kept; verdicts stay with their findings. A changed
line is a decision, and its reason stands in the commit that changes it. No text of the repositories is kept.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.precision import key_of
from benchmarks.projects import read_projects
from benchmarks.trees import clone_of, findings_of, tree_of

LIST = Path(__file__).with_name("golden.txt")
RESULT = Path(__file__).parent / "results" / "golden.txt"
OURS = "fixtures"
VERDICTS = ("true", "debatable", "false", "unjudged")
_WORDS = 120  # characters of the names in a message


class Line(NamedTuple):
    """One finding, without what a reader said of it."""

    repository: str
    path: str
    line: str
    code: str
    level: str
    subject: str

    @property
    def key(self) -> tuple[str, ...]:
        """What stays the same where lines move and levels change."""
        return self.repository, self.path, self.code, self.subject

    def text(self, verdict: str) -> str:
        place = f"{self.path}:{self.line}"
        return " | ".join((verdict, self.repository, place, self.code, self.level, self.subject))


def read_lines(path: Path = RESULT) -> dict[Line, str]:
    """The kept findings and their verdicts."""
    found = {}
    for row in path.read_text("utf-8").splitlines() if path.exists() else ():
        if row and not row.startswith("#"):
            verdict, repository, place, code, level, subject = row.split(" | ", 5)
            file, _, line = place.rpartition(":")
            found[Line(repository, file, line, code, level, subject)] = verdict
    return found


def lines_of(repository: str, findings: Iterable[dict[str, Any]]) -> Iterator[Line]:
    for one in findings:
        cell = one["start"].get("cell")
        line = f"{cell}/{one['start']['line']}" if cell else str(one["start"]["line"])
        subject = re.sub(r"[|\s]+", " ", key_of(one).subject)[:_WORDS].strip()
        yield Line(repository, one["path"].replace("|", "/"), line, one["code"], one["severity"], subject)


def measure(mirror: Path, only: Sequence[str] = ()) -> set[Line]:
    """The findings of today's code."""
    found = set(_of_fixtures()) if not only or OURS in only else set()
    for repository, commit in read_projects(LIST):
        if not only or repository in only:
            with tree_of(clone_of(mirror, repository), commit) as tree:
                found.update(lines_of(repository, findings_of(tree, ["."], "")))
            print(repository, len(found), file=sys.stderr)
    return found


def _of_fixtures() -> Iterator[Line]:
    """Those of our own small projects; what `fixture.toml` asks for is left to the tests."""
    from tests.fixture_cases import cases
    from trl_lint.engine import check
    from trl_lint.reports import Report
    from trl_lint.settings import Settings

    for case in cases():
        with TemporaryDirectory(prefix="trl-lint-golden-") as folder:
            root = case.copy_to(Path(folder, "project"))
            result = check([str(root)], Settings())
            report = Report(result.findings, [], result.files, cwd=str(root))
            for one in result.findings:
                start, _ = report.span(one.location)
                path = f"{case.id}/{report.path(one.location.path)}"
                row = {"code": one.code, "path": path, "severity": one.severity, "message": one.message}
                yield from lines_of(OURS, [{**row, "start": {"line": start.line, "cell": start.cell}}])


def judged(found: Iterable[Line], known: dict[Line, str]) -> dict[Line, str]:
    """The findings with what was said of them: of the line itself, else of one that differs in its place or level."""
    by_key: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for line, verdict in known.items():
        by_key[line.key].add(verdict)
    result = {}
    for line in found:
        same = by_key.get(line.key, set())
        new = "true" if line.repository == OURS else "unjudged"
        result[line] = known.get(line) or (next(iter(same)) if len(same) == 1 else new)
    return result


def faults(known: dict[Line, str], now: dict[Line, str]) -> list[str]:
    """What may not change without a decision."""
    left = Counter(line.key for line in now)
    lost = [line for line, verdict in known.items() if verdict == "true" and not left[line.key]]
    new = [(line, verdict) for line, verdict in now.items() if line not in known]
    return [
        *(f"lost: {line.text('true')}" for line in sorted(lost)),
        *(f"new: {line.text(verdict)}" for line, verdict in sorted(new) if verdict in ("false", "unjudged")),
    ]


def changes(known: dict[Line, str], now: dict[Line, str]) -> Iterator[str]:
    for line in sorted({*known, *now}):
        if line not in now:
            yield "- " + line.text(known[line])
        elif line not in known:
            yield "+ " + line.text(now[line])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, required=True, help="the folder with the clones")
    parser.add_argument("--write", action="store_true", help="keep the new state")
    parser.add_argument("only", nargs="*", help=f"some of the repositories, or `{OURS}`")
    args = parser.parse_args(arguments)
    kept = read_lines()
    known = {line: verdict for line, verdict in kept.items() if not args.only or line.repository in args.only}
    now = judged(measure(args.mirror, args.only), known)
    print("\n".join(changes(known, now)))
    wrong = faults(known, now)
    print("\n".join(wrong))
    for level in ("error", "warning", "info"):
        counts = Counter(verdict for line, verdict in now.items() if line.level == level and line.repository != OURS)
        print(level, *(f"{counts[verdict]} {verdict}" for verdict in VERDICTS))
    if args.write:
        others = {line: verdict for line, verdict in kept.items() if line not in known}
        rows = sorted(
            line.text(verdict).split(" | ", 1)[1] + f" | {verdict}" for line, verdict in {**others, **now}.items()
        )
        RESULT.write_text("".join(_verdict_first(row) + "\n" for row in rows), "utf-8")
    return 1 if wrong else 0


def _verdict_first(row: str) -> str:
    rest, _, verdict = row.rpartition(" | ")
    return f"{verdict} | {rest}"


if __name__ == "__main__":
    sys.exit(main())
