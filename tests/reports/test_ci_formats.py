"""Annotations, GitLab Code Quality, JUnit and rdjson, held against what their readers do."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from documents import DEMO
from samples import Project, assert_valid, finding, notebook, text_of

from trl_lint.cli import main
from trl_lint.finding import Edit, Fix, Location
from trl_lint.reports import FORMATS, Report, visible
from trl_lint.sources.files import Files

HOSTILE = "100%, a: b\r\n::error::owned\x1b[31m\ufffe<!-- & ]]>"


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """What a format says about the demo, and what JSON says."""
    monkeypatch.chdir(DEMO)

    def read(name: str) -> str:
        assert main([".", "--output-format", name]) == 1
        return capsys.readouterr().out

    return read


def said(text: str) -> list[tuple[str, str, int]]:
    return [(f["code"], f["path"], f["start"]["line"]) for f in json.loads(text)["findings"]]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_lives_with_nothing_and_with_files_that_are_gone(name: str):
    assert text_of(Project().report(), name) is not None
    gone = finding(Location("/p/gone.py", 5, 9), related=(Location("/p/too.yaml", 1, 2, "here"),))
    report = Report([gone], [("/p/gone.py", "no such file")], Files(), "/p")
    assert ("not checked" if name == "badge" else "TRL999") in text_of(report, name)


# -- GitHub annotations ---------------------------------------------------------------------------------------------


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """The commands of a log as the runner reads them: one in each line that begins with `::`."""
    found = []
    for line in text.splitlines():
        match = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line)
        assert match, line
        pairs = dict(pair.split("=", 1) for pair in match[2].split(","))
        found.append((match[1], {key: unquote(value) for key, value in pairs.items()}, unquote(match[3])))
    return found


def test_an_annotation():
    project = Project(train_py="é = bad(1)\n")
    (only,) = commands(text_of(project.report(finding(project.place("train.py", "bad(1)"))), "github"))
    place = {"file": "train.py", "line": "1", "col": "5", "endLine": "1", "endColumn": "11"}
    assert only == ("error", {"title": "TRL999", **place}, "train.py:1:5: TRL999 This is wrong")


def test_levels_are_those_of_github():
    project = Project(a_py="bad\n")
    for level, name in (("error", "error"), ("warning", "warning"), ("info", "notice")):
        found = finding(project.place("a.py", "bad"), severity=level)  # type: ignore[arg-type]
        assert commands(text_of(project.report(found), "github"))[0][0] == name


def test_a_place_of_several_lines_has_no_end_column():
    project = Project(a_py="f(\n  x)\n")
    ((_, properties, _),) = commands(text_of(project.report(finding(project.place("a.py", "f(\n  x)"))), "github"))
    assert properties["endLine"] == "2" and "endColumn" not in properties


def test_no_text_becomes_a_command_of_its_own():
    path = f"/p/{HOSTILE}.py"
    report = Report([finding(Location(path, 0, 1), HOSTILE)], [(path, HOSTILE)], Files({path: b"x\n"}), "/p")
    first, second = commands(text_of(report, "github"))
    # A name that would speak to a terminal or a runner is written out, though GitHub then finds no such file.
    assert first[1]["file"] == visible(f"{HOSTILE}.py") and "::error::owned" in first[2]
    assert second[2].count("::error::owned") == 2


def test_annotations_count_from_the_checkout(monkeypatch: pytest.MonkeyPatch):
    report = Report([finding(Location("/p/sub/a.py", 0, 1))], [], Files({"/p/sub/a.py": b"x\n"}), "/p/sub")
    for root, path in (("/p", "sub/a.py"), ("/elsewhere", "a.py"), ("", "a.py")):
        monkeypatch.setenv("GITHUB_WORKSPACE", root)
        assert commands(text_of(report, "github"))[0][1]["file"] == path


def test_the_demo_as_annotations(demo: Any):
    found = [(p["title"].split()[0], p["file"], int(p["line"])) for _, p, _ in commands(demo("github"))]
    assert found == said(demo("json"))


# -- GitLab ---------------------------------------------------------------------------------------------------------


def issues(text: str) -> list[dict[str, Any]]:
    """The issues of a report, with the rules of GitLab's documentation ("Code Quality report format")."""
    found = json.loads(text)
    assert isinstance(found, list) and not text.startswith("\ufeff")
    for issue in found:
        assert set(issue) == {"description", "check_name", "fingerprint", "cause", "severity", "location"}
        assert all(isinstance(issue[name], str) and issue[name] for name in issue.keys() - {"location"})
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert set(issue["location"]) == {"path", "positions"}
        assert not issue["location"]["path"].startswith(("./", "/"))
        for place in issue["location"]["positions"].values():
            assert set(place) == {"line", "column"} and min(place.values()) >= 1
    assert len({issue["fingerprint"] for issue in found}) == len(found)
    return found


def test_gitlab_gets_its_five_fields():
    project = Project(a_py="x\nbad bad\n")
    found = [finding(Location("/p/a.py", at, at + 3), severity="warning") for at in (2, 6)]
    first, second = issues(text_of(project.report(*found), "gitlab"))
    assert first["description"] == "TRL999: This is wrong" and first["severity"] == "major"
    assert first["location"]["positions"]["begin"] == {"line": 2, "column": 1}
    assert first["fingerprint"] != second["fingerprint"]


def test_gitlab_and_junit_count_from_the_project_folder(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CI_PROJECT_DIR", "/p")
    report = Report([finding(Location("/p/sub/a.py", 0, 1))], [], Files({"/p/sub/a.py": b"x\n"}), "/p/sub")
    assert issues(text_of(report, "gitlab"))[0]["location"]["path"] == "sub/a.py"
    assert cases(text_of(report, "junit"))[0].get("classname") == "sub/a.py"


def test_the_demo_for_gitlab(demo: Any):
    found = issues(demo("gitlab"))
    places = [issue["location"] for issue in found]
    rows = [
        (issue["check_name"], p["path"], p["positions"]["begin"]["line"])
        for issue, p in zip(found, places, strict=True)
    ]
    assert rows == said(demo("json"))


# -- JUnit ----------------------------------------------------------------------------------------------------------


ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "time", "skipped", "file"},
    "testcase": {"name", "time", "classname", "group"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "system-out": set(),
}


def cases(text: str) -> list[ElementTree.Element]:
    """The tests of a report, whose shape has to be that of junit-10.xsd of jenkinsci/xunit-plugin."""
    root = ElementTree.fromstring(text.encode())
    assert root.tag == "testsuites" and {child.tag for child in root} == {"testsuite"}
    found = list(root.iter("testcase"))
    for element in [root, *root]:
        inside = list(element.iter("testcase"))
        assert element.get("name") and element.get("tests") == str(len(inside)) != "0"
        for name in ("failure", "error"):
            assert element.get(f"{name}s") == str(sum(case.find(name) is not None for case in inside))
    for case in found:
        assert case.get("name") and case.get("classname")
        assert [child.tag for child in case] in ([], ["failure"], ["error"], ["system-out"])
    for element in root.iter():
        assert element.attrib.keys() <= ATTRIBUTES[element.tag]
    assert len({(case.get("classname"), case.get("name")) for case in found}) == len(found)
    return found


def test_a_suite_for_each_file_and_a_hint_is_no_failure():
    project = Project(a_py="bad\nworse\n", b_yaml="bad: 1\n")
    found = [
        finding(project.place("a.py", "bad"), severity="info"),
        finding(project.place("a.py", "worse"), related=(project.place("b.yaml", "1", "see here"),)),
        finding(project.place("b.yaml", "bad"), severity="warning"),
    ]
    text = text_of(project.report(*found), "junit")
    hint, error, warning = cases(text)
    assert hint.find("system-out") is not None
    *lines, cause = (error.findtext("failure") or "").splitlines()
    assert lines == ["a.py:2:1: TRL999 This is wrong", "b.yaml:1:6: see here"] and cause.startswith("cause: ")
    assert warning.find("failure").get("type") == "warning"  # type: ignore[union-attr]
    assert ElementTree.fromstring(text.encode()).attrib == {
        "name": "trl-lint", "tests": "3", "failures": "2", "errors": "0",
    }  # fmt: skip


def test_nothing_found_is_one_test_that_passes():
    (only,) = cases(text_of(Project().report(), "junit"))
    assert list(only) == []


def test_a_problem_is_an_error_and_hostile_text_is_legal_xml():
    path = f"/p/{HOSTILE}.py"
    report = Report([finding(Location(path, 0, 1), HOSTILE)], [(path, HOSTILE)], Files({path: b"x\n"}), "/p")
    failure, error = cases(text_of(report, "junit"))
    shown = "100%, a: b  ::error::owned\\x1b[31m\\ufffe<!-- & ]]>"
    assert failure.find("failure").get("message") == shown  # type: ignore[union-attr]
    assert error.find("error").get("message") == shown  # type: ignore[union-attr]


def test_the_demo_as_tests(demo: Any):
    names = [re.fullmatch(r"(TRL\d+) [\w-]+ \((.+?):(\d+):\d+\)", str(c.get("name"))) for c in cases(demo("junit"))]
    assert [(match[1], match[2], int(match[3])) for match in names if match] == said(demo("json"))


# -- rdjson ---------------------------------------------------------------------------------------------------------


def diagnostics(text: str) -> list[dict[str, Any]]:
    document = json.loads(text)
    assert_valid(document, "rdjson.json")
    return document["diagnostics"]  # type: ignore[no-any-return]


def apply(text: str, suggestion: dict[str, Any]) -> str:
    """What reviewdog makes of a suggestion: a range of bytes of UTF-8 is replaced."""
    starts = [0]
    data = text.encode()
    starts += [match.end() for match in re.finditer(rb"\r\n|\r|\n", data)]
    start, end = (
        starts[place["line"] - 1] + place["column"] - 1
        for place in (suggestion["range"]["start"], suggestion["range"]["end"])
    )
    return (data[:start] + suggestion["text"].encode() + data[end:]).decode()


def test_a_suggestion_in_bytes():
    project = Project(a_py="x = 1\r\né𝒙 = f(bad, '模', worse)\r\n")
    first, second = project.place("a.py", "bad"), project.place("a.py", "worse")
    edits = (Edit(first.path, first.start, first.end, "gut"), Edit(first.path, second.start, second.end, "besser"))
    (only,) = diagnostics(text_of(project.report(finding(first, fix=Fix("Repair", "safe", edits))), "rdjson"))
    assert only["location"]["range"]["start"] == {"line": 2, "column": 12}
    assert apply(project.texts["a.py"], only["suggestions"][0]) == "x = 1\r\né𝒙 = f(gut, '模', besser)\r\n"


def test_a_suggestion_for_a_notebook_keeps_it_a_notebook():
    project = Project(nb_ipynb=notebook("x = 1\n", "bad('é')\n"))
    place = project.place("nb.ipynb", "bad")
    fix = Fix("Repair", "safe", (Edit(place.path, place.start, place.end, "good"),))
    (only,) = diagnostics(text_of(project.report(finding(place, fix=fix)), "rdjson"))
    assert only["message"] == "This is wrong (cell 2, line 1)"
    after = json.loads(apply(project.texts["nb.ipynb"], only["suggestions"][0]))
    assert after["cells"][1]["source"] == ["good('é')\n"]


def test_no_suggestion_for_half_a_fix_or_an_unsafe_one():
    project = Project(a_py="bad\n", b_yaml="x: 1\n")
    place = project.place("a.py", "bad")
    one, two = Edit("/p/a.py", 0, 3, "good"), Edit("/p/b.yaml", 3, 4, "2")
    for edits, level, options in (((one, two), "safe", {}), ((two,), "safe", {}), ((one,), "unsafe", {})):
        found = finding(place, fix=Fix("Repair", level, edits))  # type: ignore[arg-type]
        assert "suggestions" not in diagnostics(text_of(project.report(found, **options), "rdjson"))[0]
    found = finding(place, fix=Fix("Repair", "unsafe", (one,)))
    assert "suggestions" in diagnostics(text_of(project.report(found, unsafe_fixes=True), "rdjson"))[0]


def test_the_demo_for_reviewdog(demo: Any):
    found = diagnostics(demo("rdjson"))
    rows = [(d["code"]["value"], d["location"]["path"], d["location"]["range"]["start"]["line"]) for d in found]
    assert rows == said(demo("json"))
    suggested = [d for d in found if "suggestions" in d]
    assert len(suggested) > 2
    for diagnostic in suggested:
        path = DEMO / diagnostic["location"]["path"]
        assert apply(path.read_text("utf-8"), diagnostic["suggestions"][0]) != path.read_text("utf-8")
