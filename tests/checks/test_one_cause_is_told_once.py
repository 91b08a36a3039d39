"""One cause gives one finding at one level: a choice at the wrong place, files of one block that are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.finding import Finding
from trl_lint.selection import Selection
from trl_lint.settings import Settings


def found(root: Path, code: str, files: dict[str, str]) -> list[Finding]:
    for name, text in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return check([str(root)], Settings(str(root), layers=[Selection(select=(code,))])).findings


KEYS = ["actor_rollout_ref.actor.megatron.param_offload=True", "actor_rollout_ref.actor.megatron.grad_offload=True"]
WRONG = [f"{section}.model_engine=megatron" for section in ("actor_rollout_ref.actor", "trainer", "actor")]


@pytest.mark.parametrize("release", ["0.8.0"])
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("order", ["before", "after"])
def test_a_choice_at_the_wrong_place_is_told_once(tmp_path, release, wrong, order):
    words = [wrong, *KEYS] if order == "before" else [*KEYS, wrong]
    command = " \\\n  ".join(["python -m verl.trainer.main_ppo", *words])
    (one,) = found(tmp_path, "TRL401", {"requirements.txt": f"verl=={release}\n", "run.sh": f"{command}\n"})
    assert f"has no key `{wrong.partition('=')[0]}`" in one.message
    assert "write `model_engine=megatron`, which has 2 other keys that this command sets" in one.message


OWN = {
    "train.py": "import hydra\n\n@hydra.main(config_path='config', config_name='config')\ndef main(config): ...\n",
    "config/config.yaml": "defaults:\n  - model_engine: dp\n  - _self_\nseed: 1\ntrainer:\n  epochs: 1\n",
    "config/model_engine/dp.yaml": "# @package _global_\nactor:\n  lr: 1\n",
    "config/model_engine/megatron.yaml": "# @package _global_\nactor:\n  lr: 1\n  offload: 1\n  ranks: 1\n",
}


@pytest.mark.parametrize("wrong", ["trainer.model_engine=megatron", "actor.model_engine=megatron"])
@pytest.mark.parametrize("script", ["run.sh", "README.md"])
def test_a_choice_at_the_wrong_place_of_a_config_of_ones_own(tmp_path, wrong, script):
    line = f"python train.py {wrong} actor.offload=2 actor.ranks=2\n"
    (one,) = found(tmp_path, "TRL401", {**OWN, script: f"```bash\n{line}```\n" if script == "README.md" else line})
    assert "write `model_engine=megatron`, which has 2 other keys that this command sets" in one.message


@pytest.mark.parametrize(
    ("words", "number"),
    [
        (["model_engine=megatron", *KEYS], 0),  # as it should be
        (KEYS, 2),  # nothing chooses it
        (["actor_rollout_ref.actor.model_engine=dp", *KEYS], 3),  # another choice, which would not help
        (["actor_rollout_ref.actor.strategy_engine=megatron", *KEYS], 3),  # another name
        (["actor_rollout_ref.actor.model_engine=megatron"], 1),  # nothing waits for it
        (["actor_rollout_ref.actor.model_engine=megatron", "model_engine=megatron", *KEYS], 1),
        (["actor_rollout_ref.actor.model_engine=megatron", *KEYS, "trainer.no_such_thing=1"], 2),
        ([f"+{key}" for key in KEYS], 0),
        (["+actor_rollout_ref.actor.model_engine=megatron", *KEYS], 2),  # it is added, and chooses nothing
    ],
)
def test_other_keys_are_told_by_themselves(tmp_path, words, number):
    command = " ".join(["python -m verl.trainer.main_ppo", *words])
    told = found(tmp_path, "TRL401", {"requirements.txt": "verl==0.8.0\n", "run.sh": f"{command}\n"})
    assert len(told) == number


@pytest.mark.parametrize("start", ["python {}", "uv run python {}", "torchrun {}", "accelerate launch {}"])
@pytest.mark.parametrize("folder", ["src/mine", "mine"])
def test_all_files_of_a_block_that_are_gone_have_one_level(tmp_path, start, folder):
    names = ["test_dataset.py", "test_grpo.py", "test_sft_trainer.py", "test_generation.py", "test_ppo.py"]
    block = "\n".join([f"cd {folder}", *(start.format(name) for name in names)])
    files = {f"{folder}/model.py": "import torch\n", "README.md": f"# Tests\n\n```bash\n{block}\n```\n"}
    told = found(tmp_path, "TRL504", files)
    assert len(told) == len(names)
    assert len({finding.severity for finding in told}) == 1
