"""SARIF: what code scanning and viewers are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Shell
from documents import DEMO, ROOT
from samples import Project, assert_valid, finding, notebook, text_of

from trl_lint.cli import main
from trl_lint.finding import Edit, Finding, Fix, Location
from trl_lint.reports import Report
from trl_lint.reports.line_hashes import line_hashes
from trl_lint.sources.files import Files


def run_of(report: Report) -> dict[str, Any]:
    log = json.loads(text_of(report, "sarif"))
    assert_valid(log, "sarif-2.1.0.json")
    (run,) = log["runs"]
    return run  # type: ignore[no-any-return]


def region(result: dict[str, Any]) -> tuple[int, int, int, int]:
    found = result["locations"][0]["physicalLocation"]["region"]
    return found["startLine"], found["startColumn"], found["endLine"], found["endColumn"]


def test_a_finding_with_everything(monkeypatch: pytest.MonkeyPatch):
    project = Project(train_py="é = bad(1)\n", a_yaml="x: 1\n")
    place = project.place("train.py", "bad(1)")
    fix = Fix("Repair", "safe", (Edit("/p/train.py", place.start, place.end, "good\n"),))
    found = finding(place, related=(project.place("a.yaml", "1", "see here"),), fix=fix)._replace(code="TRL103")
    (result,) = run_of(project.report(found))["results"]
    assert result.pop("partialFingerprints") and result.pop("properties")["cause"]
    artifact = {"uri": "train.py", "uriBaseId": "%SRCROOT%"}
    where = {"startLine": 1, "startColumn": 5, "endLine": 1, "endColumn": 11}
    assert result == {
        "ruleId": "TRL103",
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": "This is wrong"},
        "locations": [{"physicalLocation": {"artifactLocation": artifact, "region": where}}],
        "relatedLocations": [
            {
                "id": 1,
                "physicalLocation": {
                    "artifactLocation": {"uri": "a.yaml", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 1, "startColumn": 4, "endLine": 1, "endColumn": 5},
                },
                "message": {"text": "see here"},
            }
        ],
        "fixes": [
            {
                "description": {"text": "Repair"},
                "artifactChanges": [
                    {
                        "artifactLocation": artifact,
                        "replacements": [{"deletedRegion": where, "insertedContent": {"text": "good\n"}}],
                    }
                ],
            }
        ],
    }


def test_the_rules_are_explained_by_their_pages():
    project = Project(a_py="bad worse bad\n")
    found = [
        finding(project.place("a.py", "worse"))._replace(code="TRL602"),
        finding(project.place("a.py", "bad"))._replace(code="TRL103"),
        finding(project.place("a.py", "bad")),
    ]
    run = run_of(project.report(*found))
    rules = run["tool"]["driver"]["rules"]
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == ["TRL602", "TRL103", "TRL999"]
    rule = rules[0]
    assert rule["name"] == "TensorWithoutDevice"
    assert rule["help"]["markdown"].startswith("# Tensor created without device")
    assert "## Fix safety" in rule["help"]["text"] and rule["helpUri"].endswith("/TRL103-tensor-without-device.md")
    assert rule["fullDescription"]["text"].startswith("Follows the tensors of a function: ")
    assert rule["defaultConfiguration"] == {"enabled": True, "level": "error"}


@pytest.mark.parametrize("page", sorted((ROOT / "rules" / "pages").glob("*.md")), ids=lambda path: path.name[:6])
def test_every_page_fits_the_limits_of_code_scanning(page: Path):
    project = Project(a_py="bad\n")
    run = run_of(project.report(finding(project.place("a.py", "bad"))._replace(code=page.name[:6])))
    (rule,) = run["tool"]["driver"]["rules"]
    assert 0 < len(rule["shortDescription"]["text"]) <= 1024
    assert 0 < len(rule["fullDescription"]["text"]) <= 1024
    assert rule["help"]["text"] and len(rule["properties"]["tags"]) <= 20


def test_columns_count_characters_and_every_line_end_counts():
    project = Project(a_py="x\ry\r\n𝒙𝒚 = 模; bad\n")
    (result,) = run_of(project.report(finding(project.place("a.py", "bad"))))["results"]
    assert region(result) == (3, 9, 3, 12)


def test_a_notebook_is_its_json_text_and_the_cell_is_named():
    text = notebook("import trl\n", "x = 1\nbad('é')\n")
    project = Project(nb_ipynb=text)
    run = run_of(project.report(finding(project.place("nb.ipynb", "bad"))))
    (result,) = run["results"]
    line, column, _, end = region(result)
    assert text.split("\n")[line - 1][column - 1 : end - 1] == "bad"
    assert result["message"]["text"] == "This is wrong (cell 2, line 2)"


def test_paths_are_relative_and_escaped():
    names = {"/p/with space/größe#1.py": "with%20space/gr%C3%B6%C3%9Fe%231.py", "/p/a:b.py": "a%3Ab.py"}
    found = [finding(Location(path, 0, 1)) for path in names]
    report = Report(found, [], Files(dict.fromkeys(names, b"x\n")), "/p")
    for result, uri in zip(run_of(report)["results"], names.values(), strict=True):
        assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": uri, "uriBaseId": "%SRCROOT%"}


def test_a_file_outside_has_an_absolute_uri():
    report = Report([finding(Location("/q/a.py", 0, 1))], [], Files({"/q/a.py": b"x\n"}), "/p")
    (result,) = run_of(report)["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///q/a.py"}


def test_in_an_action_paths_count_from_the_checkout(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GITHUB_WORKSPACE", "/p")
    report = Report([finding(Location("/p/sub/a.py", 0, 1))], [], Files({"/p/sub/a.py": b"x\n"}), "/p/sub")
    (result,) = run_of(report)["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "sub/a.py"


def test_unsafe_fixes_only_when_asked_for():
    project = Project(a_py="bad\n")
    place = project.place("a.py", "bad")
    found = finding(place, fix=Fix("Repair", "unsafe", (Edit(place.path, 0, 3, "good"),)))
    assert "fixes" not in run_of(project.report(found))["results"][0]
    assert "fixes" in run_of(project.report(found, unsafe_fixes=True))["results"][0]


def test_several_edits_are_one_replacement_for_each_file():
    project = Project(a_py="one(two, three)\n", b_yaml="x: 1\n")
    edits = (Edit("/p/a.py", 9, 14, "3"), Edit("/p/a.py", 0, 3, "uno"), Edit("/p/b.yaml", 3, 4, "2"))
    found = finding(project.place("a.py", "two"), fix=Fix("Repair", "safe", edits))
    (fix,) = run_of(project.report(found))["results"][0]["fixes"]
    changes = [change["replacements"] for change in fix["artifactChanges"]]
    assert [[r["insertedContent"]["text"] for r in change] for change in changes] == [["uno(two, 3"], ["2"]]


def test_a_file_that_cannot_be_read_and_a_problem():
    report = Report([finding(Location("/p/gone.py", 7, 9))], [("/p/gone.py", "no such file")], Files(), "/p")
    run = run_of(report)
    assert region(run["results"][0]) == (1, 1, 1, 1)
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "no such file"


def test_nothing_found_is_a_result_too():
    run = run_of(Project(a_py="x\n").report())
    assert run["results"] == [] and run["invocations"] == [{"executionSuccessful": True}]


# The values are those of github/codeql-action, src/fingerprints.test.ts.
@pytest.mark.parametrize(
    ("text", "hashes"),
    [
        ("", "c129715d7a2bc9a3:1"),
        (" a\nb\n  \t\tc\n d", "271789c17abda88f:1 54703d4cd895b18:1 180aee12dab6264:1 a23a3dc5e078b07b:1"),
        (
            " hello; \t\nworld!!!\r\n\n\r  \t\tGreetings\r End\r\n",
            "e9496ae3ebfced30:1 fb7c023a8b9ccb3f:1 ce8ba1a563dcdaca:1 e20e36e16fcb0cc8:1 b3edc88f2938467e:1 "
            "c8e28b0b4002a3a0:1 c129715d7a2bc9a3:1",
        ),
        (
            "Lorem ipsum dolor sit amet.\n" * 10,
            "a7f2ff13bc495cf2:1 a7f2ff13bc495cf2:2 a7f2ff13bc495cf2:3 a7f2ff13bc495cf2:4 a7f2ff13bc495cf2:5 "
            "a7f2ff13bc495cf2:6 a7f2ff1481e87703:1 a9cf91f7bbf1862b:1 55ec222b86bcae53:1 cc97dc7b1d7d8f7b:1 "
            "c129715d7a2bc9a3:1",
        ),
    ],
)
def test_line_hashes_are_those_of_github(text: str, hashes: str):
    assert line_hashes(text.encode()) == hashes.split()


def test_fingerprints_survive_moved_lines(sh: Shell):
    def marks() -> list[dict[str, str]]:
        document = json.loads(sh("--output-format", "sarif").out)
        return [result["partialFingerprints"] for result in document["runs"][0]["results"]]

    before = marks()
    sh.write("train.py", "import os\n\n\n" + sh.read("train.py") + "    # the end\n")
    (after,) = marks()
    assert before[0]["trlLint/v1"] == after["trlLint/v1"]
    sh.write("train.py", sh.read("train.py").replace("size(1)", "size(2)"))
    assert marks()[0]["trlLint/v1"] != after["trlLint/v1"]


def test_the_demo_is_valid_and_says_what_json_says(monkeypatch: pytest.MonkeyPatch, capsys: Any):
    monkeypatch.chdir(DEMO)
    assert main([".", "--output-format", "sarif"]) == 1
    log = json.loads(capsys.readouterr().out)
    assert_valid(log, "sarif-2.1.0.json")
    main([".", "--output-format", "json"])
    said = [(f["code"], f["path"], f["start"]["line"]) for f in json.loads(capsys.readouterr().out)["findings"]]
    results = log["runs"][0]["results"]
    uris = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results]
    assert [(r["ruleId"], uri, region(r)[0]) for r, uri in zip(results, uris, strict=True)] == said
    marks = [result["partialFingerprints"]["trlLint/v1"] for result in results]
    assert len(set(marks)) == len(marks) > 5


def test_two_findings_never_share_a_fingerprint():
    project = Project(a_py="bad\nbad\nbad\n")
    found: list[Finding] = [finding(Location("/p/a.py", at, at + 3)) for at in (0, 4, 8)]
    marks = [result["partialFingerprints"]["trlLint/v1"] for result in run_of(project.report(*found))["results"]]
    assert len(set(marks)) == 3
