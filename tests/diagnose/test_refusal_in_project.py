"""A message with which a release refuses arguments, with the project beside it: whether it has such values."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.diagnose.first import first_failure
from trl_lint.diagnose.holding import holds_in, in_use
from trl_lint.diagnose.project import Answer, ProjectEvidence
from trl_lint.diagnose.reader import read_log
from trl_lint.diagnose.refusals import Refused, all_refused_by

TOO_FEW = (
    "ValueError: GRPO requires at least 2 generations per prompt to calculate the advantages. You provided 1, which is "
    "less than the minimum required."
)
SCRIPT = """\
import os
from trl import GRPOConfig, GRPOTrainer

args = GRPOConfig(output_dir="out", num_generations=NUMBER)
GRPOTrainer(model="Qwen/Qwen3-0.6B", args=args, reward_funcs=len).train()
"""
OF_OPENRLHF = "AssertionError: rloo requires n_samples_per_prompt > 1"


def log(message: str, frame: str, script: str = "train.py") -> bytes:
    site = "/opt/venv/lib/python3.11/site-packages"
    frames = (
        f'  File "/home/u/{script}", line 4, in <module>\n    f()\n  File "{site}/{frame}", line 9, in check\n    x\n'
    )
    return f"Traceback (most recent call last):\n{frames}{message}\n".encode()


def answer(root: Path, told: bytes, versions: dict[str, str] | None = None) -> tuple[Refused | None, Answer]:
    (root / "train.log").write_bytes(told)
    with open(root / "train.log", "rb") as stream:
        failure = first_failure(read_log(stream))
    assert failure is not None
    project = ProjectEvidence(str(root), failure, versions or {}, {})
    refused = in_use(all_refused_by(failure), versions or {}, project)
    return refused, holds_in(project, refused) if refused is not None else Answer("unknown", "")


@pytest.mark.parametrize(
    ("number", "held", "text"),
    [
        ("1", "yes", "The project says so: `num_generations` is 1"),
        ("4", "no", "Not with what the project says now: `num_generations` is 4"),
        ("int(os.environ['N'])", "unknown", ""),
    ],
)
def test_a_config_of_a_script(tmp_path: Path, number: str, held: str, text: str):
    (tmp_path / "train.py").write_text(SCRIPT.replace("NUMBER", number))
    (tmp_path / "requirements.txt").write_text("trl==1.16.0\n")
    _, found = answer(tmp_path, log(TOO_FEW, "trl/trainer/grpo_config.py"))
    assert (found.held, found.text) == (held, text)
    assert [place.line for place in found.places] == ([4] if held != "unknown" else [])


def test_a_recipe_of_a_launch(tmp_path: Path):
    (tmp_path / "recipe.yaml").write_text("model_name_or_path: m\ndataset_name: d\noutput_dir: o\nnum_generations: 1\n")
    (tmp_path / "run.sh").write_text("trl grpo --config recipe.yaml\n")
    (tmp_path / "requirements.txt").write_text("trl==1.16.0\n")
    _, found = answer(tmp_path, log(TOO_FEW, "trl/trainer/grpo_config.py", "bin/trl"))
    assert found.held == "yes" and [place.text for place in found.places] == ["num_generations: 1"]


def test_a_class_of_the_project_between_is_not_judged(tmp_path: Path):
    own = "\n\nclass Mine(GRPOConfig):\n    def __post_init__(self):\n        self.num_generations = 8\n\n"
    script = SCRIPT.replace("GRPOTrainer\n", "GRPOTrainer\n" + own, 1).replace("= GRPOConfig(", "= Mine(")
    (tmp_path / "train.py").write_text(script.replace("NUMBER", "1"))
    (tmp_path / "requirements.txt").write_text("trl==1.16.0\n")
    assert answer(tmp_path, log(TOO_FEW, "trl/trainer/grpo_config.py"))[1].held == "unknown"


@pytest.mark.parametrize(("samples", "held"), [(1, "yes"), (4, "unknown")])
def test_the_program_of_another_package(tmp_path: Path, samples: int, held: str):
    flags = f"--advantage_estimator rloo --n_samples_per_prompt {samples}"
    (tmp_path / "run.sh").write_text(f"python -m openrlhf.cli.train_ppo_ray --pretrain m {flags}\n")
    (tmp_path / "requirements.txt").write_text("openrlhf==0.8.5\n")
    refused, found = answer(tmp_path, log(OF_OPENRLHF, "openrlhf/cli/train_ppo_ray.py", "bin/python"))
    assert refused is not None and refused.refusal.spans == (("0.6.0", "0.10.1.post2"),)
    assert found.held == held and found.text == ("TRL701 finds it in the project" if held == "yes" else "")


def test_the_words_of_a_release_that_did_not_run_are_not_taken(tmp_path: Path):
    told = log("ValueError: `r` should be a positive integer value but the value passed is 0", "peft/tuners/x.py")
    (tmp_path / "requirements.txt").write_text("peft==0.18.1\n")
    assert answer(tmp_path, told)[0] is None
    refused, _ = answer(tmp_path, told, {"peft": "0.21.0"})
    assert refused is not None and refused.names == ("TinyLoraConfig",)
