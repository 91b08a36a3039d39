"""What no known release has had is as severe without a pin as with one; what one of them had is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.finding import Severity
from trl_lint.project.roots import starting_in
from trl_lint.selection import Selection
from trl_lint.settings import Settings

NEVER = {
    "name": "from trl import load_model_and_tokenizer\n",
    "name of a module": "from trl.trainer import chat_cli\n",
    "attribute": "import trl\n\ntrl.load_model_and_tokenizer()\n",
    # The class is younger than the package: before, nothing takes the argument either.
    "argument of a config": 'from trl import GRPOConfig\n\nGRPOConfig(output_dir="out", init_kl_coef=0.1)\n',
    "argument of a trainer": "from trl import GRPOTrainer\n\nGRPOTrainer(model=m, reward_funcs=f, ref_model=r)\n",
    "argument of another package": "from transformers import TrainingArguments\n\nTrainingArguments(lr=1e-5)\n",
}
# Words that are nowhere in the package: a fork may have them.
FOREIGN = {
    "name": "from trl import PairwiseDataCollatorWithPadding\n",
    "name of a module": "from trl.trainer import ConstantRewardTrainer\n",
    "module": "import trl.rewardz\n",
    "attribute": "import trl\n\ntrl.PairwiseCollator()\n",
    "argument of a config": 'from trl import GRPOConfig\n\nGRPOConfig(output_dir="out", nsr_enabled=True)\n',
    "argument of a trainer": "from trl import GRPOTrainer\n\nGRPOTrainer(model=m, reward_funcs=f, nsr_weight=r)\n",
}
ONCE = {
    "name": "from trl import PPOConfig\n",
    "name of a module": "from trl.trainer import ORPOTrainer\n",
    "module": "import trl.core\n",
    "attribute": "import trl\n\ntrl.PPOConfig()\n",
    "argument of a config": 'from trl import GRPOConfig\n\nGRPOConfig(output_dir="out", vllm_device="cuda:1")\n',
    "argument of a trainer": "from trl import SFTTrainer\n\nSFTTrainer(model=m, tokenizer=t)\n",
    "argument of another package": (
        "from transformers import TrainingArguments\n\nTrainingArguments(evaluation_strategy='steps')\n"
    ),
    # The oldest recorded releases take anything.
    "argument that was handed on": "from vllm import LLM\n\nLLM(model='m', max_seq_len=8)\n",
    # A field that the base in another package had once.
    "argument of a base": 'from trl import GRPOConfig\n\nGRPOConfig(output_dir="out", evaluation_strategy="steps")\n',
}
THERE = {
    "name": "from trl import GRPOConfig\n",
    "module": "import trl.trainer\n",
    "argument": 'from trl import GRPOConfig\n\nGRPOConfig(output_dir="out", beta=0.1)\n',
    "takes anything": "from vllm import LLM\n\nLLM(model='m', **more)\n",
    "tried": "try:\n    from trl import NoSuchThing\nexcept ImportError:\n    NoSuchThing = None\n",
    "own package": "from .trl import NoSuchThing\n",
}
# All of them leave it open which release is in use.
OPEN = {
    "no pin": "",
    "any release": "trl\ntransformers\nvllm\n",
    "an old neighbour": "peft==0.11.1\n",
    "a floor": "trl>=0.9.0\ntransformers>=4.40\nvllm>=0.6.0\n",
}


def levels(folder: Path, text: str, pins: str) -> set[Severity]:
    (folder / "requirements.txt").write_text(f"torch\n{pins}")
    (folder / "train.py").write_text(text)
    with starting_in([str(folder)]):
        result = check([str(folder)], Settings(str(folder), layers=[Selection(select=("TRL301", "TRL302"))]))
    return {finding.severity for finding in result.findings}


@pytest.mark.parametrize("pins", OPEN)
@pytest.mark.parametrize("name", NEVER)
def test_what_never_was_is_an_error(name: str, pins: str, tmp_path: Path) -> None:
    assert "error" in levels(tmp_path, NEVER[name], OPEN[pins])


@pytest.mark.parametrize("pins", OPEN)
@pytest.mark.parametrize("name", ONCE)
def test_what_was_there_once_is_none(name: str, pins: str, tmp_path: Path) -> None:
    found = levels(tmp_path, ONCE[name], OPEN[pins])
    assert "error" not in found and (found or pins == "an old neighbour")


@pytest.mark.parametrize("pins", OPEN)
@pytest.mark.parametrize("name", FOREIGN)
def test_words_of_a_fork_are_an_error_beside_a_pin(name: str, pins: str, tmp_path: Path) -> None:
    assert ("error" in levels(tmp_path, FOREIGN[name], OPEN[pins])) is (pins == "a floor")


@pytest.mark.parametrize("name", THERE)
def test_what_is_there_is_silent(name: str, tmp_path: Path) -> None:
    assert levels(tmp_path, THERE[name], "") == set()


@pytest.mark.parametrize("pin", ["trl @ git+https://github.com/huggingface/trl", "trl @ git+https://github.com/me/trl"])
def test_a_repository_may_have_what_no_release_had(pin: str, tmp_path: Path) -> None:
    assert levels(tmp_path, FOREIGN["name"], f"{pin}\n") == set()
