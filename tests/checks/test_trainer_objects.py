"""Rules about what trainers are given, against what the libraries made of the same scripts."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from fixture_cases import run_json

from trl_lint.knowledge.pages import page

ROOT = Path(__file__).parent.parent
ANSWERS = json.loads((ROOT / "oracle" / "trainer_objects.json").read_text("utf-8"))
ASKED = [
    pytest.param(era, case, answer["verdict"], answer["said"], id=f"{case} ({era})")
    for era, answers in ANSWERS.items()
    for case, answer in answers.items()
    if answer["verdict"] != "unknown"
]


def test_several_releases_were_asked():
    assert len(ANSWERS) == 4
    verdicts = [answer["verdict"] for answers in ANSWERS.values() for answer in answers.values()]
    assert verdicts.count("refuses") > 40
    assert verdicts.count("takes") > 40


@pytest.mark.parametrize(("era", "case", "verdict", "said"), ASKED)
def test_agrees_with_the_libraries(
    era: str,
    case: str,
    verdict: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """An error is one there, too; and what they refuse in words that the rule's page knows is found in a bad case."""
    code, _, name = case.partition("/")
    shutil.copytree(ROOT.parent / "fixtures" / case, tmp_path / "project")
    (tmp_path / "project" / "requirements.txt").write_text("\n".join([*era.split(), ""]), "utf-8")
    monkeypatch.chdir(tmp_path / "project")
    _, report = run_json([], capsys)
    errors = [one for one in report["findings"] if one["code"] == code and one["severity"] == "error"]
    if errors:
        assert verdict == "refuses", errors
    known = any(re.search(symptom.pattern, said) for symptom in page(code).symptoms)
    if verdict == "refuses" and known and name.startswith("bad_"):
        assert errors, said
