"""What the project shows to matter less is a hint: packages that nothing uses, imports that Unsloth leaves alone, usage
lines of a file that was moved. Beside each stands what matters as much as before.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.finding import Severity
from trl_lint.project.roots import starting_in
from trl_lint.selection import Selection
from trl_lint.settings import Settings

LIST = "accelerate==1.13.0\npeft==0.18.0\ntrl\n"
OWN_LOOP = "import torch\n\ntorch.optim.AdamW(model.parameters()).step()\n"
UNUSED = {
    "own loop": {"train.py": OWN_LOOP},
    "own loop, started by a script": {"train.py": OWN_LOOP, "run.sh": "python train.py\n"},
    "named in the words of a page": {"train.py": OWN_LOOP, "README.md": "# Mine\nInspired by trl.\n"},
    "in another list": {"train.py": OWN_LOOP, "pyproject.toml": "[project]\nname = 'x'\nversion = '1'\n"},
}
USED = {
    "import": {"train.py": "import trl\n"},
    "import in a function": {"train.py": "def f():\n    from trl import SFTTrainer\n"},
    "import by a string": {"train.py": "import importlib\nm = importlib.import_module('trl')\n"},
    "notebook": {
        "a.ipynb": '{"cells": [{"cell_type": "code", "source": ["import trl"], "metadata": {}, "outputs": []}]}'
    },
    "command": {"train.py": OWN_LOOP, "run.sh": "trl sft --config a.yaml\n"},
    "make": {"train.py": OWN_LOOP, "Makefile": "train:\n\ttrl sft --config a.yaml\n"},
    "config": {"train.py": OWN_LOOP, "conf/a.yaml": "trainer:\n  _target_: trl.SFTTrainer\n"},
    "command of a page": {"train.py": OWN_LOOP, "README.md": "```bash\ntrl sft --model_name_or_path m\n```\n"},
    "no code here": {},
    "pages alone": {"README.md": "# Mine\n"},
}
HARMLESS = {
    "collator": "from transformers import DataCollatorForSeq2Seq",
    "several": "from transformers import TextStreamer, set_seed\nfrom transformers import TrainerCallback",
    "in brackets": "from transformers import (\n    DataCollatorForSeq2Seq,\n    EarlyStoppingCallback,\n)",
    "under another name": "from transformers import set_seed as seed",
}
REWRITTEN = {
    "trainer": "from transformers import Trainer",
    "model": "from transformers import AutoModelForCausalLM, set_seed",
    "trl": "from trl import SFTTrainer",
    "peft": "from peft import LoraConfig",
    "module": "import transformers",
    "all": "from transformers import *",
    "later": "from transformers import set_seed\nfrom trl import SFTTrainer",
    "another module": "from transformers.trainer import Trainer",
}


def levels(folder: Path, code: str, files: dict[str, str]) -> list[Severity]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    with starting_in([str(folder)]):
        result = check([str(folder)], Settings(str(folder), layers=[Selection(select=(code,))]))
    assert not result.problems
    return [finding.severity for finding in result.findings]


@pytest.mark.parametrize("name", UNUSED)
def test_a_package_that_nothing_uses(name: str, tmp_path: Path) -> None:
    assert set(levels(tmp_path, "TRL203", {"requirements.txt": LIST, **UNUSED[name]})) == {"info"}


@pytest.mark.parametrize("name", USED)
def test_a_package_that_something_may_use(name: str, tmp_path: Path) -> None:
    assert levels(tmp_path, "TRL203", {"requirements.txt": LIST, **USED[name]}) == ["warning"]


@pytest.mark.parametrize("name", HARMLESS)
def test_imports_that_unsloth_leaves_alone(name: str, tmp_path: Path) -> None:
    text = f"{HARMLESS[name]}\nfrom unsloth import FastLanguageModel\n"
    assert levels(tmp_path, "TRL309", {"requirements.txt": "unsloth==2025.11.1\n", "train.py": text}) == ["info"]


@pytest.mark.parametrize("name", REWRITTEN)
def test_imports_that_unsloth_rewrites(name: str, tmp_path: Path) -> None:
    text = f"{REWRITTEN[name]}\nfrom unsloth import FastLanguageModel\n"
    assert levels(tmp_path, "TRL309", {"requirements.txt": "unsloth==2025.11.1\n", "train.py": text}) == ["warning"]


@pytest.mark.parametrize(
    ("script", "expected"),
    [("scripts/eval.py", "info"), ("scripts/evaluate.py", "warning"), ("scripts/deval.py", "warning")],
)
def test_usage_of_a_file_that_was_moved(script: str, expected: Severity, tmp_path: Path) -> None:
    files = {
        "scripts/train.py": "import torch\n",
        "experiments/eval.py": f'"""Evaluates.\n\nUsage:\n    python {script} --model m\n"""\nimport torch\n',
        "requirements.txt": "torch==2.9.0\n",
    }
    assert levels(tmp_path, "TRL504", files) == [expected]
