"""An extra or group that cannot be installed beside the rest: an error where something installs it, else a hint."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laid_out import lay_out
from trl_lint.engine import check
from trl_lint.selection import Selection
from trl_lint.settings import Settings

CORE = '[project]\nname = "mine"\nversion = "1"\ndependencies = ["trl==0.16.0"]\n'
OLD = "transformers==4.36.0"
FORMS = {
    "extra": ("pyproject.toml", f'{CORE}[project.optional-dependencies]\nold = ["{OLD}"]\n'),
    "group": ("pyproject.toml", f'{CORE}[dependency-groups]\nold = ["{OLD}"]\n'),
    "setup.py": (
        "setup.py",
        'from setuptools import setup\nsetup(name="mine", install_requires=["trl==0.16.0"], '
        f'extras_require={{"old": ["{OLD}"]}})\n',
    ),
    "setup.cfg": (
        "setup.cfg",
        "[metadata]\nname = mine\n[options]\ninstall_requires =\n    trl==0.16.0\n"
        f"[options.extras_require]\nold =\n    {OLD}\n",
    ),
}
JOB = "on: push\njobs:\n  test:\n    runs-on: x\n    steps:\n      - run: pip install .[{}]\n"
ASKED = {
    "README.md": "```bash\npip install -e .[old]\n```\n",
    "setup.sh": 'pip install -e ".[dev,old]"\n',
    "Dockerfile": "FROM python:3.11\nCOPY . /app\nWORKDIR /app\nRUN pip install '.[old]'\n",
    "Makefile": "install:\n\tuv sync --extra old\n",
    ".github/workflows/test.yml": JOB.format("old"),
}
UNASKED = {
    "README.md": "```bash\npip install -e .\n```\n",
    "setup.sh": 'pip install -e ".[dev]"\n',
    "Dockerfile": "FROM python:3.11\nCOPY . /app\nWORKDIR /app\nRUN pip install .\n",
    ".github/workflows/test.yml": JOB.format("older"),
    "notes.txt": "pip install -e .[old]\n",
}


def told(root: Path, files: dict[str, str]) -> list[tuple[str, bool]]:
    """The levels of what is told, and whether it says that nobody asks for it."""
    lay_out(root, files)
    found = check([str(root)], Settings(str(root), layers=[Selection(select=("TRL204",))])).findings
    return [(one.severity, "nothing here asks for it" in one.message) for one in found]


@pytest.mark.parametrize(
    ("form", "asking"),
    [(form, asking) for form in FORMS for asking in ASKED if form != "group" or asking == "Makefile"],
)
def test_an_extra_that_something_installs_is_an_error(tmp_path: Path, form: str, asking: str):
    name, text = FORMS[form]
    files = {name: text, asking: ASKED[asking].replace("--extra", "--group" if form == "group" else "--extra")}
    assert told(tmp_path, files) == [("error", False)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("beside", ["", *UNASKED])
def test_an_extra_that_nothing_installs_is_a_hint(tmp_path: Path, form: str, beside: str):
    name, text = FORMS[form]
    assert told(tmp_path, {name: text, **({beside: UNASKED[beside]} if beside else {})}) == [("info", True)]


@pytest.mark.parametrize("form", FORMS)
def test_what_is_always_installed_is_an_error(tmp_path: Path, form: str):
    name, text = FORMS[form]
    text = text.replace("    trl==0.16.0\n", f"    trl==0.16.0\n    {OLD}\n")
    text = text.replace('"trl==0.16.0"', f'"trl==0.16.0", "{OLD}"')
    assert ("error", False) in told(tmp_path, {name: text})


@pytest.mark.parametrize("form", FORMS)
def test_an_extra_that_can_be_installed_is_silent(tmp_path: Path, form: str):
    name, text = FORMS[form]
    assert told(tmp_path, {name: text.replace(OLD, "transformers==4.49.0")}) == []


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        *(
            ({name: text.replace("old", "train")}, ("error", False))
            for name, text in ASKED.items()
            if name != "Makefile"
        ),
        *(({name: text}, ("info", True)) for name, text in UNASKED.items()),
        ({}, ("info", True)),
    ],
)
def test_an_extra_beside_dependencies_out_of_a_file(tmp_path: Path, beside: dict[str, str], expected: tuple[str, bool]):
    text = (
        '[project]\nname = "mine"\nversion = "1"\ndynamic = ["dependencies"]\n'
        '[project.optional-dependencies]\ntrain = ["trl==0.16.0"]\n'
        '[tool.setuptools.dynamic]\ndependencies = {file = ["requirements.txt"]}\n'
    )
    assert told(tmp_path, {"pyproject.toml": text, "requirements.txt": f"{OLD}\n", **beside}) == [expected]
