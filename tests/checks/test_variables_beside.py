"""TRL506: a variable that is no longer read, beside one that names the same thing: only what is lost is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.settings import Settings

LOST, OVERRULED = "the default cache", "where `HF_HOME` says"
SHELL = "{}accelerate launch train.py\n"
PINNED = "transformers==5.0.0\n"

# How variables are set, each with the file that does.
PLACES = {
    "export": ("run.sh", "export {}={}\n", SHELL),
    "before the program": ("run.sh", "{}={} ", SHELL),
    "Dockerfile": ("Dockerfile", "ENV {}={}\n", "FROM python:3.12\nRUN pip install transformers==5.0.0\n{}"),
    "Python": ("train.py", 'os.environ["{}"] = "{}"\n', "import os\n{}import transformers\n"),
    "Python, where nothing is set yet": (
        "train.py", 'os.environ.setdefault("{}", "{}")\n', "import os\n{}import transformers\n"
    ),
}  # fmt: skip
SETTINGS = {
    "the same": (("HF_HOME", "/data"), None),
    "the same, with a slash": (("HF_HOME", "/data/"), None),
    "the folder around it": (("HF_HOME", "/"), None),
    "the cache of downloads": (("HF_HUB_CACHE", "/data"), None),
    "its older name": (("HUGGINGFACE_HUB_CACHE", "/data"), None),
    "another": (("HF_HOME", "/other"), OVERRULED),
    "one that begins like it": (("HF_HOME", "/dat"), OVERRULED),
    "of something else": (("HF_DATASETS_CACHE", "/data"), LOST),
}


def told(folder: Path, files: dict[str, str]) -> list[str]:
    for name, text in {"requirements.txt": PINNED, "train.py": "import accelerate\n", **files}.items():
        (folder / name).write_text(text)
    return [
        finding.message for finding in check([str(folder)], Settings(str(folder))).findings if finding.code == "TRL506"
    ]


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("place", PLACES)
def test_what_another_variable_names(tmp_path: Path, place: str, setting: str):
    name, line, whole = PLACES[place]
    (other, value), expected = SETTINGS[setting]
    given = line.format("TRANSFORMERS_CACHE", "/data") + line.format(other, value)
    messages = told(tmp_path, {name: whole.format(given)})
    assert [expected in message for message in messages] == ([] if expected is None else [True]), messages


@pytest.mark.parametrize("place", PLACES)
def test_nothing_beside_it(tmp_path: Path, place: str):
    name, line, whole = PLACES[place]
    (message,) = told(tmp_path, {name: whole.format(line.format("TRANSFORMERS_CACHE", "/data"))})
    assert LOST in message


def test_a_value_that_nobody_can_tell(tmp_path: Path):
    given = 'os.environ["TRANSFORMERS_CACHE"] = "/data"\nos.environ["HF_HOME"] = sys.argv[1]\n'
    assert told(tmp_path, {"train.py": f"import os, sys\n{given}import transformers\n"}) == []


def test_a_name_that_is_only_read(tmp_path: Path):
    given = 'os.environ["TRANSFORMERS_CACHE"] = "/data"\nprint(os.environ.get("HF_HOME"))\n'
    (message,) = told(tmp_path, {"train.py": f"import os\n{given}import transformers\n"})
    assert LOST in message
