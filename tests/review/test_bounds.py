"""What a report of a stranger can make a review do: no more work than it is long, and nothing that is cut inside."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from trl_lint.reports.markdown import escaped
from trl_lint.review import ReviewError, markdown, state
from trl_lint.review.diff import FileDiff, Hunk, names_in, read_patch
from trl_lint.review.plan import is_touched, touched
from trl_lint.review.report import Change, Place, Reading, Repair, Reported
from trl_lint.review.state import State, Target
from trl_lint.review.suggestion import Suggestion, suggest

HOSTILE = (
    "``` `x` @octo/security-team approve <img src=x onerror=alert(1)> <strong>Approved</strong> **bold** "
    "[a](http://b.c) www.evil.example/login https://evil.example #12 octo/train#3 GH-1 <!-- --> $`x`$ | a | b |"
    "[^1]: x ~~~ \\` 0123456789abcdef "
)


def found(message: str, paths: int, length: int, fix: Repair | None = None) -> Reported:
    path = (HOSTILE * 20)[:length]
    related = tuple((Place(f"{number}{path}", 1, 1, 1, 2), message[:4000]) for number in range(paths))
    return Reported("TRL301", "error", message[:4000], Place("train.py", 1, 1, 1, 2), "0" * 16 + ":1", related, fix)


@pytest.mark.parametrize(
    "paths", [0, 11, *(pytest.param(number, marks=pytest.mark.slow) for number in (1, 5, 10, 200))]
)
@pytest.mark.parametrize("length", [10, 1000])
@pytest.mark.parametrize("text", [HOSTILE, "`" * 999, "`a" * 500, "\U000e0001" * 999, "&<@#:" * 999, "a@b " * 999])
@pytest.mark.parametrize("fix", [None, 19_000])
@pytest.mark.parametrize("web", [None, markdown.Web("https://github.com/octo/train", "0" * 40)])
def test_a_comment_has_whole_parts_alone(paths: int, length: int, text: str, fix: int | None, web: Any):
    repair = None if fix is None else Repair(text[:4000], "unsafe", (Change(Place("train.py", 1, 1, 1, 2), "x"),))
    suggestion = None if fix is None else Suggestion(1, 1, ("`" * 50 + "x" * fix,))
    one = found(text * 5, paths, length, repair)
    body = markdown.marked(markdown.comment(one, suggestion, web), "x", one.fingerprint)
    assert len(body) <= markdown.MAX_BODY and markdown.read_mark(body) is not None
    own = body.rpartition("\n\n")[0]
    assert own.startswith(f"**TRL301** (error): {escaped(one.message)}")
    assert (f"\n{'`' * 51}suggestion\n" in own and own.count("`" * 51) == 2) == (fix is not None)
    whole = {f"- {markdown._place(place, web)}: {escaped(markdown._cut(said))}" for place, said in one.related}
    rows = [row for row in own.split("\n") if row.startswith("- ")]
    assert set(rows[:-1]) <= whole
    assert len(rows) == min(paths, 10) + (paths > 10) or rows[-1].endswith((" more", " more places"))


def test_a_body_that_is_too_long_is_not_cut():
    body = markdown.marked("`" + "x" * 70_000 + "`", "x")
    assert "`" not in body and markdown.read_mark(body) is not None


def reading(places: int, lines: int) -> tuple[Reading, State]:
    # Each added line stands alone, so that every one is a hunk or a gap of its own.
    rows = "\n".join(f"@@ -{2 * n},0 +{3 * n + 1} @@\n+x" for n in range(lines))
    diff = {
        "train.py": FileDiff("", read_patch(rows)),
        "new.py": FileDiff("", (Hunk(1, ("x",) * lines, tuple(range(1, lines + 1))),)),
    }
    each = 200
    findings = [
        Reported("TRL301", "error", "`a.py` " * 500, Place("other.py", 1, 1, 1, 2), f"{n:016x}:1",
                 tuple((Place("train.py", 3 * m + 2, 1, 3 * m + 3, 2), "") for m in range(each)))
        for n in range(places // each)
    ]  # fmt: skip
    gone = frozenset(f"gone{n}.py" for n in range(3000))
    return Reading(tuple(findings), (), {}), State("", diff, (), None, True, gone)


def test_places_times_lines_is_no_cost():
    report, there = reading(100_000, 20_000)
    start = time.process_time()
    assert touched(report, there).findings == ()
    assert time.process_time() - start < 4


def test_places_are_found_as_by_looking_at_every_line():
    import random

    chance = random.Random(5)
    for _ in range(300):
        hunks, at = [], 1
        for _ in range(chance.randint(0, 6)):
            at += chance.randint(1, 6)
            size = chance.randint(1, 8)
            lines = tuple(sorted(chance.sample(range(at - 1, at + size + 1), chance.randint(0, size))))
            hunks.append(Hunk(at, ("x",) * size, lines))
            at += size
        file = FileDiff("", tuple(hunks))
        for _ in range(40):
            first = chance.randint(1, 60)
            last = first + chance.choice((0, 0, 1, 5, 100))
            assert file.touches(first, last) == any(first <= n <= last for hunk in hunks for n in hunk.touched)
            assert file.hunk(first, last) == next((hunk for hunk in hunks if hunk.has(first, last)), None)


def test_a_file_that_is_gone_is_named_by_a_word_of_the_message():
    report, there = reading(200, 10)
    one = report.findings[0]._replace(related=())
    for message, is_named in (("`x/gone1.py`: no such file", True), ("see gone2.py, too", True), ("nogone1.py", False)):
        assert is_touched(one._replace(message=message), there, report) == is_named
    assert "a.py" in names_in("('a.py')")


def test_pages_of_a_pull_request_have_an_end():
    class Endless:
        asked = 0

        def query(self, query: str, variables: Any) -> Any:
            self.asked += 1
            page = {"nodes": [], "pageInfo": {"hasNextPage": True, "endCursor": str(self.asked)}}
            return {"viewer": None, "repository": {"pullRequest": {"comments": page}}}

    client = Endless()
    with pytest.raises(ReviewError, match="more than 200 pages of comments, so nothing was posted"):
        list(state._nodes(client, Target("a/b", 1), state.COMMENTS, "comments"))  # type: ignore[arg-type]
    assert client.asked == 200


@pytest.mark.parametrize("char", "\u202e\u2066\u200b\u200f\x1b\x00\x85\ufeff\u2028")
@pytest.mark.parametrize("place", ["content", "line"])
def test_nobody_is_offered_to_commit_what_is_not_seen(char: str, place: str):
    line = f"x = 1{char if place == 'line' else ''}"
    fix = Repair("", "safe", (Change(Place("a.py", 1, 1, 1, 2), f"y{char if place == 'content' else ''}"),))
    assert suggest(fix, Place("a.py", 1, 1, 1, 2), FileDiff("", (Hunk(1, (line,)),))) is None
    plain = Repair("", "safe", (Change(Place("a.py", 1, 1, 1, 2), "\t\u200d\u05d0"),))
    assert suggest(plain, Place("a.py", 1, 1, 1, 2), FileDiff("", (Hunk(1, ("x = 1",)),))) is not None


@pytest.mark.parametrize("text", ["1. x", " 12. x", "     x", "\n\n\n\n1. x", "- x", "+ x", "1) x", "# x", "> x"])
def test_a_text_that_stands_first_begins_no_list_and_no_block(text: str):
    shown = escaped(text)
    assert not re.match(r" {4}|\s*(?:\d+[.)]|[-+*#>])\s", shown)
