"""Which release is judged where a tree states several of one package, and where only the newest of all is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.selection import Selection
from trl_lint.settings import Settings


def levels(root: Path, code: str, files: dict[str, str], path: str) -> list[str]:
    for name, text in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    settings = Settings(str(root), layers=[Selection(select=(code,))])
    return [one.severity for one in check([str(root)], settings).findings if one.location.path.endswith(path)]


# Where other code of the tree, or nobody's, is pinned.
PLACES = {
    "other/requirements.txt": "{}=={}\n",
    "other/setup.sh": "pip install {}=={}\n",
    "other/Dockerfile": "FROM python:3.11\nRUN pip install '{}=={}'\n",
    "other/environment.yml": "dependencies:\n  - pip:\n    - {}=={}\n",
    "other/sub/pyproject.toml": '[project]\nname = "x"\nversion = "1"\ndependencies = ["{}=={}"]\n',
}
CODE = {"other/train.py": "import torch\n"}
# A word of a command that only newer releases refuse, with one that takes it, a second one, and one that does not.
FAULTS = [
    ("TRL401", "ms-swift", "3.8.0", "3.9.1", "4.6.0", "swift sft --model a --dataset b --train_type lora\n"),
    ("TRL506", "vllm", "0.10.1", "0.11.0", "0.33.0", "VLLM_ATTENTION_BACKEND=FLASH_ATTN vllm serve a\n"),
    ("TRL506", "vllm", "0.10.1+gptoss", "0.11.0", "0.33.0", "VLLM_ATTENTION_BACKEND=FLASH_ATTN vllm serve a\n"),
]


@pytest.mark.parametrize("place", list(PLACES))
@pytest.mark.parametrize(("code", "package", "one", "other", "bad", "command"), FAULTS)
def test_of_words_that_every_statement_takes_nothing_is_told(tmp_path, place, code, package, one, other, bad, command):
    text = {place: PLACES[place].format(package, one), "run.sh": command, **CODE}
    assert levels(tmp_path, code, text, "run.sh") == []
    second = {**text, "third/setup.sh": f"pip install {package}=={other}\n", "third/a.py": "import torch\n"}
    assert levels(tmp_path, code, second, "run.sh") == []


@pytest.mark.parametrize("place", list(PLACES))
@pytest.mark.parametrize(("code", "package", "one", "other", "bad", "command"), FAULTS)
def test_of_words_that_a_statement_refuses_it_is_told_one_level_lower(
    tmp_path, place, code, package, one, other, bad, command
):
    text = {place: PLACES[place].format(package, bad), "run.sh": command, **CODE}
    alone = levels(tmp_path, code, text, "run.sh")
    assert len(alone) == 1 and alone != ["error"]
    second = {**text, "third/setup.sh": f"pip install {package}=={one}\n", "third/a.py": "import torch\n"}
    assert "error" not in levels(tmp_path, code, second, "run.sh")


@pytest.mark.parametrize(("code", "package", "one", "other", "bad", "command"), FAULTS)
def test_what_is_pinned_where_the_command_runs_decides(tmp_path, code, package, one, other, bad, command):
    beside = {"other/requirements.txt": f"{package}=={one}\n", "run.sh": command, **CODE}
    assert levels(tmp_path, code, {**beside, "requirements.txt": f"{package}=={bad}\n"}, "run.sh") != []
    beside["other/requirements.txt"] = f"{package}=={bad}\n"
    assert levels(tmp_path, code, {**beside, "requirements.txt": f"{package}=={other}\n"}, "run.sh") == []


TRAINER = "from transformers import Trainer, AutoModel\nt = Trainer(AutoModel.from_pretrained('m'), tokenizer=None)\n"


@pytest.mark.parametrize("place", list(PLACES))
def test_of_code_a_hint_stays(tmp_path, place):
    """Whoever starts it from nothing gets the newest release, and code is of no release."""
    text = {place: PLACES[place].format("transformers", "4.57.1"), "train.py": TRAINER, **CODE}
    assert levels(tmp_path, "TRL301", text, "train.py") == ["info"]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"requirements.txt": "transformers==4.57.1\n", "README.md": "Needs `transformers==5.23.0`.\n"}, []),
        ({"requirements.txt": "transformers==5.23.0\n", "README.md": "Needs `transformers==4.57.1`.\n"}, ["error"]),
        ({"README.md": "```\npip install transformers==5.23.0\n```\n"}, ["error"]),
        (
            {
                "a/Dockerfile": "RUN pip install transformers==5.23.0\n",
                "b/Dockerfile": "RUN pip install transformers==4.57.1\n",
            },
            ["info"],
        ),
        ({"requirements.txt": "transformers==5.23.0\n", "requirements-old.txt": "transformers==4.57.1\n"}, ["error"]),
        (
            {"requirements.txt": "transformers>=4.57\n", "Dockerfile": "RUN pip install transformers==4.57.1\n"},
            ["warning"],
        ),
    ],
)
def test_what_each_statement_decides(tmp_path, files, told):
    assert levels(tmp_path, "TRL301", {**files, "train.py": TRAINER}, "train.py") == told
