"""One command in every form in which people start it: a fault in it is told inside the file, a fine one is silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.launch_forms import FAULTY, FINE, files_of, forms
from trl_lint.engine import check
from trl_lint.finding import Finding
from trl_lint.settings import Settings

FORMS = {**forms("surveyed"), **forms("others")}


def findings(folder: Path, files: dict[str, str]) -> list[Finding]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return check([str(folder)], Settings(root=str(folder))).findings


@pytest.mark.parametrize("name", FORMS)
def test_a_fault_is_told_where_the_command_stands(name: str, tmp_path: Path):
    form = FORMS[name]
    found = findings(tmp_path, files_of(form, FAULTY))
    places = [
        (Path(finding.location.path).relative_to(tmp_path).as_posix(), finding)
        for finding in found
        if "max_prompt_length" in finding.message
    ]
    told = [(path, finding) for path, finding in places if path in form]
    assert told
    for path, finding in told:
        text = (tmp_path / path).read_text(encoding="utf-8")
        assert "max_prompt_length" in text[finding.location.start : finding.location.end]


@pytest.mark.parametrize("name", FORMS)
def test_a_fine_command_is_silent(name: str, tmp_path: Path):
    assert findings(tmp_path, files_of(FORMS[name], FINE)) == []


@pytest.mark.parametrize("name", forms("look_alikes"))
def test_what_only_looks_like_one_is_silent(name: str, tmp_path: Path):
    assert findings(tmp_path, files_of(forms("look_alikes")[name], FAULTY)) == []
