"""Reports: what a finding looks like."""

from __future__ import annotations

import io
import json
import re
import subprocess
import time
from pathlib import Path

import pytest
from samples import Project, finding, text_of

from trl_lint.finding import Edit, Fix, Location, Severity
from trl_lint.reports import FORMATS, Report, char_width, summary, visible
from trl_lint.reports.colors import wants_color
from trl_lint.sources.files import Files


def excerpt(text: str, needle: str, **options: object) -> list[str]:
    """The lines between the headline and the foot of a finding."""
    project = Project(a_py=text)
    return text_of(project.report(finding(project.place("a.py", needle)), **options)).rstrip("\n").split("\n")[1:]


# -- full -----------------------------------------------------------------------------------------------------------


def test_a_finding_with_everything():
    project = Project(train_py="import trl\n\n\nx = prepare(model)\n", fsdp_yaml="a: 1\ndistributed_type: FSDP\n")
    place = project.place("train.py", "prepare(model)")
    fix = Fix("Add `device_placement=True`", "unsafe", (Edit("/p/train.py", place.end - 1, place.end - 1, ", y"),))
    found = finding(place, related=(project.place("fsdp.yaml", "FSDP", "FSDP is chosen here"),), fix=fix)
    assert text_of(project.report(found)) == (
        """\
train.py:4:5: TRL999 error: This is wrong
  |
4 | x = prepare(model)
  |     ^^^^^^^^^^^^^^
  |
 ::: fsdp.yaml:2:19: FSDP is chosen here
  |
2 | distributed_type: FSDP
  |                   ----
  |
  = help: Add `device_placement=True` (unsafe: `--unsafe-fixes`)

"""
    )


def test_lines_around_are_shown_but_no_empty_edges():
    assert excerpt("a\nb\nc\nd\ne\nf\n", "d") == ["  |", "2 | b", "3 | c", "4 | d", "  | ^", "5 | e", "6 | f", "  |"]
    assert excerpt("a\n\n\nd\n\n\n", "d") == ["  |", "4 | d", "  | ^", "  |"]


def test_line_numbers_share_a_margin():
    text = "\n" * 8 + "x\ny\n"
    assert excerpt(text, "x") == ["   |", " 9 | x", "   | ^", "10 | y", "   |"]


def test_wide_characters_take_two_columns():
    assert excerpt("名 = '模型'; bad()\n", "bad()")[2] == "  | " + " " * 13 + "^^^^^"
    assert excerpt("bad('模型')\n", "bad('模型')")[2] == "  | " + "^" * 11


def test_marks_that_combine_take_none():
    assert excerpt("e\u0301 = bad\n", "bad")[2] == "  |     ^^^"


def test_tabs_are_expanded():
    assert excerpt("\tx = bad\n", "bad")[1:3] == ["1 |     x = bad", "  |         ^^^"]


def test_several_lines_are_marked_without_their_indentation():
    lines = excerpt("f(\n    a,\n\n    b)\n", "f(\n    a,\n\n    b)")
    assert lines == ["  |", "1 | f(", "  | ^^", "2 |     a,", "  |     ^^", "3 |", "4 |     b)", "  |     ^^", "  |"]


def test_many_lines_are_cut_short():
    text = "".join(f"line{n}\n" for n in range(1, 21))
    lines = excerpt(text, text)
    assert [line.split("|")[0].strip() for line in lines if "line" in line] == ["1", "2", "3", "4", "5", "20"]
    assert " ..." in "".join(lines)


def test_a_place_without_length_gets_one_mark():
    project = Project(a_py="x = 1")
    assert "  |      ^" in text_of(project.report(finding(Location("/p/a.py", 5, 5)))).split("\n")


@pytest.mark.parametrize("at", [0, 500, 990])
def test_long_lines_are_cut_around_the_place(at: int):
    text = "x" * at + "BAD" + "y" * (1000 - at)
    lines = excerpt(text, "BAD", width=60)
    assert all(len(line) <= 60 for line in lines)
    column = lines[2].index("^")
    assert lines[1][column : column + 3] == "BAD" and lines[2].count("^") == 3
    assert "..." in lines[1]


@pytest.mark.parametrize("at", [0, 2_000_000, 3_999_997])
def test_a_line_of_megabytes_is_quick(at: int):
    text = "x" * at + "BAD" + "y" * (4_000_000 - at)
    start = time.perf_counter()
    lines = excerpt(text, "BAD", width=60)
    assert time.perf_counter() - start < 2
    column = lines[2].index("^")
    assert lines[1][column : column + 3] == "BAD" and lines[2].count("^") == 3
    assert ("xBAD" in lines[1]) == (at > 0) and lines[1].count("...") == (1 if at in (0, 3_999_997) else 2)


def test_a_long_line_of_wide_characters_is_cut_to_columns():
    lines = excerpt("模" * 500 + "BAD", "BAD", width=60)
    assert sum(map(char_width, lines[1])) <= 60
    before = lines[1][: lines[1].index("BAD")]
    assert sum(map(char_width, before)) == lines[2].index("^")


def test_a_file_that_cannot_be_read_has_no_excerpt():
    report = Report([finding(Location("/nowhere/a.py", 0, 0))], [], Files(), "/nowhere")
    assert text_of(report) == "a.py:1:1: TRL999 error: This is wrong\n\n"


def test_a_notebook_shows_the_line_of_the_cell():
    cells = [
        {"cell_type": "markdown", "source": []},
        {"cell_type": "code", "source": ["import trl\n", "bad('é\\n')\n"]},
    ]
    project = Project(nb_ipynb=json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    lines = text_of(project.report(finding(project.place("nb.ipynb", "bad")))).split("\n")
    assert lines[0] == "nb.ipynb:cell 2:2:1: TRL999 error: This is wrong"
    assert lines[2:5] == ["1 | import trl", "2 | bad('é\\n')", "  | ^^^"]


# -- terminals ------------------------------------------------------------------------------------------------------

EVIL = "\x1b]0;owned\x07\x9b31m\u202e"


def test_nothing_in_a_file_steers_the_terminal():
    project = Project(a_py=f"x = '{EVIL}'  # bad\n")
    found = finding(project.place("a.py", "bad"), f"message {EVIL}")
    found = found._replace(
        related=(project.place("a.py", "x", EVIL),), fix=Fix(EVIL, "safe", (Edit("/p/a.py", 0, 0, "y"),))
    )
    for name in FORMATS:
        shown = text_of(project.report(found), name)
        assert not set(shown) & set("\x1b\x07\x9b\u202e")
    assert "\\x1b]0;owned\\x07\\x9b31m\\u202e" in text_of(project.report(found))


def test_marks_are_right_behind_what_was_written_out():
    assert excerpt("'\x1b' bad\n", "bad")[1:3] == ["1 | '\\x1b' bad", "  |        ^^^"]


def test_a_path_with_a_line_end_stays_on_one_line():
    report = Report([finding(Location("/p/a\nb\x1b.py", 0, 0))], [], Files(), "/p")
    assert text_of(report, "concise") == "a b\\x1b.py:1:1: TRL999 error: This is wrong\n"


def test_visible_keeps_what_is_harmless():
    assert visible("größe 模型 👍 e\u0301") == "größe 模型 👍 e\u0301"
    assert [char_width(char) for char in "a模\u0301"] == [1, 2, 0]


def test_colours_and_links_only_when_asked_for():
    project = Project(a_py="bad\n")
    found = finding(project.place("a.py", "bad"))._replace(code="TRL001")
    assert "\x1b" not in text_of(project.report(found))
    assert "\x1b[" in text_of(project.report(found, color=True))
    assert "\x1b]8;;https://" in text_of(project.report(found, color=True, links=True))


class Stream(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize(
    ("choice", "environment", "terminal", "expected"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, True),
        ("auto", {"TERM": "dumb"}, True, False),
        ("never", {"FORCE_COLOR": "1"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
    ],
)
def test_who_decides_about_colour(
    choice: str, environment: dict[str, str], terminal: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_color(choice, Stream(terminal)) is expected


# -- concise and summary --------------------------------------------------------------------------------------------


def test_concise_is_one_line_each():
    project = Project(a_py="bad\n")
    fix = Fix("Repair", "safe", (Edit("/p/a.py", 0, 0, "x"),))
    found = finding(project.place("a.py", "bad"), "first\nsecond", "warning", fix=fix)
    assert text_of(project.report(found), "concise") == "a.py:1:1: TRL999 [*] warning: first second\n"


def test_concise_names_the_place_of_the_pin_once():
    project = Project(a_py="bad\n", b_txt="trl==1.16.0\n")
    pin = project.place("b.txt", "trl==1.16.0")._replace(message="trl==1.16.0 is pinned here")
    parsed = project.place("a.py", "bad")._replace(message="parsed here")
    found = finding(project.place("a.py", "bad"), "gone", related=(parsed, pin, pin))
    assert text_of(project.report(found), "concise").endswith(" error: gone (pin: b.txt:1)\n")
    same = finding(project.place("b.txt", "trl==1.16.0"), "gone", related=(pin,))
    assert text_of(project.report(same), "concise").endswith(" error: gone\n")


def test_paths_outside_of_the_working_directory():
    report = Report([finding(Location("/q/a.py", 0, 0))], [], Files({"/q/a.py": b"x"}), "/p")
    assert text_of(report, "concise").startswith("../q/a.py:1:1: ")


@pytest.mark.parametrize(
    ("levels", "fixes", "options", "expected"),
    [
        ([], [], {}, "No errors or warnings.\n"),
        (["error"], [None], {}, "Found 1 error.\n"),
        (["error", "error", "warning", "info"], [None] * 4, {}, "Found 2 errors, 1 warning, 1 hint (3 causes).\n"),
        (["error"], ["safe"], {}, "Found 1 error.\n[*] 1 fixable with `--fix`.\n"),
        (["error"], ["unsafe"], {}, "Found 1 error.\n1 fixable with `--fix --unsafe-fixes`.\n"),
        (
            ["error", "error"],
            ["safe", "unsafe"],
            {},
            "Found 2 errors (1 cause).\n[*] 1 fixable with `--fix` (1 more with `--unsafe-fixes`).\n",
        ),
        (["error"], ["unsafe"], {"unsafe_fixes": True}, "Found 1 error.\n[*] 1 fixable with `--fix`.\n"),
        ([], [], {"fixed": 2}, "Fixed 2 problems, 0 remaining.\n"),
        (["error"], [None], {"fixed": 1}, "Fixed 1 problem, 1 remaining: 1 error.\n"),
        ([], [], {"in_baseline": 3}, "No errors or warnings.\n3 findings of the baseline not shown.\n"),
    ],
)
def test_summary(levels: list[Severity], fixes: list[str | None], options: dict[str, object], expected: str):
    project = Project(a_py="bad\n")
    place = project.place("a.py", "bad")
    findings = [
        finding(place, severity=level, fix=Fix("Repair", fix, (Edit("/p/a.py", 0, 0, "x"),)) if fix else None)  # type: ignore[arg-type]
        for level, fix in zip(levels, fixes, strict=True)
    ]
    assert summary(project.report(*findings, **options)) == expected


# -- JSON -----------------------------------------------------------------------------------------------------------


def test_json_has_all_there_is(tmp_path: Path):
    project = Project(train_py="é = bad(1)\n", a_yaml="x: 1\n")
    place = project.place("train.py", "bad(1)")
    fix = Fix("Repair", "unsafe", (Edit("/p/train.py", place.start, place.end, "good\n"),))
    found = finding(place, related=(project.place("a.yaml", "1", "see here"),), fix=fix)._replace(code="TRL001")
    facts = {"trl": {"specifier": "==1.0", "resolved": "1.0", "source": "pin"}}
    report = project.report(found, environment=facts)._replace(problems=[("/p/gone.py", "no such file or directory")])
    document = json.loads(text_of(report, "json"))
    assert document["version"] == 1
    assert document["errors"] == [{"path": "gone.py", "message": "no such file or directory"}]
    assert document["environment"] == facts
    (only,) = document["findings"]
    assert only.pop("url").endswith("/TRL001-unparsable-file.md")
    assert re.fullmatch("[0-9a-f]{16}:1", only.pop("fingerprint"))
    assert re.fullmatch("[0-9a-f]{16}", only.pop("cause"))
    assert only == {
        "code": "TRL001",
        "name": "unparsable-file",
        "severity": "error",
        "impact": "tool",
        "message": "This is wrong",
        "path": "train.py",
        "start": {"line": 1, "column": 5},
        "end": {"line": 1, "column": 11},
        "related": [
            {
                "path": "a.yaml",
                "start": {"line": 1, "column": 4},
                "end": {"line": 1, "column": 5},
                "message": "see here",
            }
        ],
        "fix": {
            "title": "Repair",
            "applicability": "unsafe",
            "edits": [
                {
                    "path": "train.py",
                    "start": {"line": 1, "column": 5},
                    "end": {"line": 1, "column": 11},
                    "content": "good\n",
                }
            ],
        },
    }


def test_json_names_files_as_git_does(tmp_path: Path):
    project = Project(a_py="bad\r\n", b_py="bad\n")
    report = project.report(finding(project.place("a.py", "bad")), finding(project.place("b.py", "bad")))
    files = json.loads(text_of(report, "json"))["files"]
    ids = {}
    for text in ("bad\r\n", "bad\n"):
        done = subprocess.run(["git", "hash-object", "--stdin"], input=text.encode(), capture_output=True, check=True)
        ids[text] = done.stdout.decode().strip()
    assert files == {"a.py": sorted(ids.values()), "b.py": [ids["bad\n"]]}


def test_json_names_the_cell_and_edits_the_file():
    cell = {"cell_type": "code", "source": ["x = 1\n", "bad()\n"]}
    project = Project(nb_ipynb=json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}, indent=1))
    place = project.place("nb.ipynb", "bad()")
    fix = Fix("Repair", "safe", (Edit("/p/nb.ipynb", place.start, place.end, "good()"),))
    (only,) = json.loads(text_of(project.report(finding(place, fix=fix)), "json"))["findings"]
    assert only["start"] == {"cell": 1, "line": 2, "column": 1}
    raw = project.texts["nb.ipynb"].split("\n")
    start = only["fix"]["edits"][0]["start"]
    assert raw[start["line"] - 1][start["column"] - 1 :].startswith("bad()")


def test_json_is_plain_ascii():
    project = Project(a_py="bad\n")
    assert text_of(project.report(finding(project.place("a.py", "bad"), "größe 模型")), "json").isascii()
