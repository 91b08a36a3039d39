"""What is commented on, and the button that commits: after it the file is what `--fix` makes of it."""

from __future__ import annotations

import difflib
import random

import pytest

from trl_lint.reports.markdown import code, escaped
from trl_lint.review import markdown
from trl_lint.review.diff import FileDiff, Hunk, read_diff, read_gone, read_patch
from trl_lint.review.report import Change, Place, Repair, Reported
from trl_lint.review.suggestion import Suggestion, suggest
from trl_lint.sources.text import LineIndex

TEXT = "one\ntwo\nthree\nfour\nfive\nsix\n"


def repair(text: str, *edits: tuple[int, int, str], path: str = "a.py") -> Repair:
    index = LineIndex(text)
    changes = []
    for start, end, content in edits:
        first, last = index.position(start), index.position(end)
        changes.append(Change(Place(path, first.line, first.column, last.line, last.column), content))
    return Repair("Repair", "safe", tuple(changes))


def whole(text: str) -> FileDiff:
    return FileDiff("", (Hunk(1, tuple(text.split("\n")[:-1])),))


def committed(text: str, suggestion: Suggestion) -> str:
    """What GitHub commits: the lines of the comment are replaced by those of the suggestion."""
    lines = text.split("\n")
    lines[suggestion.first - 1 : suggestion.last] = suggestion.lines
    return "\n".join(lines)


def fixed(text: str, *edits: tuple[int, int, str]) -> str:
    for start, end, content in sorted(edits, reverse=True):
        text = text[:start] + content + text[end:]
    return text


def at(line: int, path: str = "a.py", cell: int | None = None) -> Place:
    return Place(path, line, 1, line, 2, cell)


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([(4, 7, "TWO")], Suggestion(2, 2, ("TWO",))),
        ([(4, 4, "new\n")], Suggestion(2, 2, ("new", "two"))),  # an insertion needs a line to hold on to
        ([(4, 8, "")], Suggestion(2, 2, ())),  # a line deleted with its end
        ([(7, 8, "")], Suggestion(2, 3, ("twothree",))),
        ([(0, 3, "1"), (8, 13, "3")], Suggestion(1, 3, ("1", "two", "3"))),
        ([(0, 8, "1\n2\n")], Suggestion(1, 2, ("1", "2"))),
        ([(0, 8, "one\n2\n")], Suggestion(2, 2, ("2",))),  # what stays is no part of it
        ([(4, 7, "two")], None),
        ([], None),
    ],
)
def test_edits_become_lines(edits: list[tuple[int, int, str]], expected: Suggestion | None):
    found = suggest(repair(TEXT, *edits), at(2), whole(TEXT))
    assert found == expected
    if found is not None:
        assert committed(TEXT, found) == fixed(TEXT, *edits)


def test_any_edits_commit_what_the_fix_makes():
    chance = random.Random(7)
    seen = 0
    for _ in range(5_000):
        text = "".join(chance.choice(("a", "bb", "  x", "`" * 3, "é𝒙", "\n", "\n")) for _ in range(20)) + "\n"
        places = sorted(chance.randrange(len(text) + 1) for _ in range(2 * chance.randint(1, 3)))
        words = ("", "y", "y\n", "\ny", "```\n", "y\nz\n")
        edits = [(a, b, chance.choice(words)) for a, b in zip(places[::2], places[1::2], strict=True)]
        lines = text.count("\n")
        found = suggest(repair(text, *edits), at(chance.randint(1, lines)), whole(text))
        if found is None or fixed(text, *edits) == text:
            continue
        seen += 1
        # Where the last line loses its end, GitHub keeps it.
        assert committed(text, found) == fixed(text, *edits)
        assert 1 <= found.first <= found.last <= lines
    assert seen > 2_000


def test_no_suggestion_across_hunks_files_or_cells():
    file = FileDiff("", (Hunk(1, ("one", "two")), Hunk(5, ("five", "six"))))
    assert suggest(repair(TEXT, (0, 3, "x")), at(2), file) == Suggestion(1, 1, ("x",))
    assert suggest(repair(TEXT, (0, 3, "x")), at(5), file) is None
    assert suggest(repair(TEXT, (0, 3, "x"), (19, 23, "y")), at(1), file) is None
    assert suggest(repair(TEXT, (8, 9, "x")), at(1), file) is None
    assert suggest(repair(TEXT, (0, 3, "x"), path="b.py"), at(1), file) is None
    assert suggest(repair(TEXT, (0, 3, "x")), at(1, cell=1), file) is None


def test_no_suggestion_where_the_outcome_is_not_certain():
    for text in ("one\r\ntwo\n", "\ufeffone\n", "o\ufffde\n"):
        assert suggest(repair(text, (1, 2, "x")), at(1), whole(text)) is None
    assert suggest(repair(TEXT, (0, 3, "x\r\ny")), at(1), whole(TEXT)) is None
    assert suggest(repair(TEXT, (0, 2, "x"), (1, 3, "y")), at(1), whole(TEXT)) is None  # one over the other
    beyond = Repair("x", "safe", (Change(Place("a.py", 1, 1, 1, 99), "y"),))
    assert suggest(beyond, at(1), whole(TEXT)) is None
    long = "x\n" * 100
    assert suggest(repair(long, (0, len(long), "y\n" * 100)), at(1), whole(long)) is None


# -- the diff ---------------------------------------------------------------------------------------------------------


def test_hunks_of_a_patch():
    patch = "@@ -1,3 +1,4 @@ def f():\n a\n-b\n+c\n+@@ -1 +1 @@\n d\n@@ -9 +10 @@\n-x\n\\ No newline at end of file\n+y"
    first = Hunk(1, ("a", "c", "@@ -1 +1 @@", "d"), (2, 3))
    assert read_patch(patch) == (first, Hunk(10, ("y",), (10,)))
    assert read_patch(f"@@ -1 +{'9' * 5000} @@\n+a") == ()
    assert read_patch("") == () and read_patch("@@ -1,5 +1,5 @@\n a") == (Hunk(1, ("a",)),)
    assert [(hunk.start, hunk.lines) for hunk in read_patch("@@ -1,2 +0,0 @@\n-a\n-b")] == [(0, ())]


@pytest.mark.parametrize(
    ("rows", "touched"),
    [
        (" a,+b, c", {2}),
        (" a,-b,+c, d", {2}),
        (" a,-b,-c, d", {1, 2}),  # those beside what is gone
        ("-a, b", {0, 1}),
        (" a, b,-c", {2}),
        (" a,+b,-c, d,-e, f", {2, 3, 4}),
        (" a, b", set()),
    ],
)
def test_which_lines_a_patch_touches(rows: str, touched: set[int]):
    lines = rows.split(",")
    old, new = (sum(line[0] != sign for line in lines) for sign in "+-")
    (hunk,) = read_patch("\n".join([f"@@ -1,{old} +1,{new} @@", *lines]))
    assert hunk.touched == tuple(sorted(touched))


def test_hunks_agree_with_the_file():
    chance = random.Random(3)
    for _ in range(300):
        old = [chance.choice("abc\\@-+ ") for _ in range(30)]
        new = [line for line in old if chance.random() > 0.1]
        new.insert(chance.randrange(len(new) + 1), "new")
        hunks = read_patch("\n".join(list(difflib.unified_diff(old, new, lineterm=""))[2:]))
        assert hunks
        for hunk in hunks:
            assert list(hunk.lines) == new[hunk.start - 1 : hunk.start - 1 + len(hunk.lines)]


def test_removed_files_and_files_without_a_patch_show_nothing():
    rows = [
        {"filename": "gone.py", "status": "removed", "sha": "1"},
        {"filename": "big.py", "status": "modified", "sha": None},
        {"filename": "new.py", "status": "renamed", "sha": "2", "patch": "@@ -1 +1 @@\n-a\n+b"},
        {"filename": "moved.py", "status": "renamed", "sha": "3", "changes": 0},
    ]
    diff = read_diff(rows)
    assert read_gone([*rows, {"filename": "b", "status": "renamed", "previous_filename": "a"}]) == {"gone.py", "a"}
    assert diff == {
        "big.py": FileDiff("", (), is_shown=False),
        "new.py": FileDiff("2", (Hunk(1, ("b",), (1,)),)),
        "moved.py": FileDiff("3", ()),
    }
    assert diff["big.py"].hunk(1, 1) is None
    # What is not shown may have changed anywhere.
    assert [name for name, file in diff.items() if file.touches(5, 5)] == ["big.py"]


# -- the text ---------------------------------------------------------------------------------------------------------


def test_a_fence_is_longer_than_any_in_it():
    found = Reported("TRL103", "error", "m", at(1), "0" * 16 + ":1", (), Repair("Repair", "safe", ()))
    text = markdown.comment(found, Suggestion(1, 1, ("x = '````'", "```")))
    assert "`````suggestion\nx = '````'\n```\n`````" in text
    assert "```suggestion\n```" in markdown.comment(found, Suggestion(1, 1, ()))
    unsafe = found._replace(fix=Repair("Repair", "unsafe", ()))
    assert "may change what the program does" in markdown.comment(unsafe, Suggestion(1, 1, ("x",)))
    assert "`trl-lint --fix --unsafe-fixes` repairs this: Repair." in markdown.comment(unsafe)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("`num_generations=8` is wrong", "`num_generations=8` is wrong"),
        ("a_b * c", "a\\_b \\* c"),
        ("@ada and `@ada`", "@\u200bada and `@ada`"),
        ("one ` alone", "one \\` alone"),
        ("`a``b`", "`a`\u200b`b`"),
        ("<!-- x -->", "&lt;\\!\\-\\- x \\-\\-&gt;"),
        ("`<!-- x -->`", "`<!\u200b-- x -->`"),
        ("a\n```\nb", "a \\`\\`\\` b"),
        ("see https://x.y", "see https:\u200b//x.y"),
        ("\x1b[31m", "\\\\x1b\\[31m"),
    ],
)
def test_text_of_others(text: str, shown: str):
    assert escaped(text) == shown


def test_names_of_files():
    assert code("a`b``c.py") == "```a`b``c.py```"
    assert code("`x`") == "`` `x` ``"
    assert code(" ") == "\\` \\`"


def test_a_marker_is_read_only_from_the_last_line():
    body = markdown.marked("text", "a/b", "0123456789abcdef:2")
    mark = markdown.read_mark(body)
    assert mark == ("a/b", "0123456789abcdef:2", mark.digest if mark else "")
    assert markdown.read_mark(body.replace("\n", "\r\n") + "\r\n") == mark
    assert markdown.read_mark(f"{body}\nmore") is None and markdown.read_mark("") is None
    assert markdown.read_mark(markdown.marked("text", ".")).fingerprint == ""  # type: ignore[union-attr]
    assert len(markdown.marked("x" * 100_000, "n" * 100, "0" * 16 + ":1")) <= markdown.MAX_BODY
