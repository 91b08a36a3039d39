"""Hover and completion of dotted keys: the overrides of a Hydra command, and the blocks of a config."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the language server needs pygls 2")

from trl_lint.editors.server.completion import proposals
from trl_lint.editors.server.hover import told_of
from trl_lint.editors.server.subjects import subject_at
from trl_lint.project import Project
from trl_lint.settings import Settings
from trl_lint.sources import Files

COMMAND = """python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    actor_rollout_ref.actor.ppo_mini_batch_size=32 \\
    trainer.nnodes=1
"""
ACCELERATE = """distributed_type: FSDP
fsdp_config:
  fsdp_offload_params: true
  fsdp_version: 2
mixed_precision: bf16
num_processes: 8
"""
PINS = {"requirements.txt": "verl==0.5.0\naccelerate==1.8.0\n"}


@pytest.fixture
def told(tmp_path: Path) -> Any:
    """What is shown where `|` stands in a file, and what may be written there."""

    def ask(name: str, text: str, **files: str) -> tuple[str, dict[str, str] | None]:
        for other, content in {**PINS, **files}.items():
            (tmp_path / other).parent.mkdir(exist_ok=True)
            (tmp_path / other).write_text(content)
        offset, text = text.index("|"), text.replace("|", "")
        path = tmp_path / name
        path.write_text(text)
        project = Project(str(tmp_path), Files({}), Settings(str(tmp_path)))
        subject = subject_at(str(path), offset, project)
        found = proposals(str(path), offset, project)
        items = None if found is None else {one.text: one.detail for one in found.items}
        return "" if subject is None else told_of(subject, str(path), project, ()), items

    return ask


def test_what_an_override_sets(told: Any):
    text, _ = told("run.sh", COMMAND.replace("ppo_mini", "ppo_m|ini"))
    assert "**`actor_rollout_ref.actor.ppo_mini_batch_size`** of `ppo_trainer` of verl" in text
    assert "* with verl 0.5.0: default `256`" in text
    assert "* `verl.trainer.main_ppo` runs with `32`" in text


def test_a_key_that_the_release_does_not_know(told: Any):
    text, _ = told("run.sh", COMMAND.replace("trainer.nnodes=1", "data.no_such_thing|=1 data.x=2"))
    assert "no_such_thing`**" not in text  # nothing was ever called so


def test_the_keys_that_may_be_overridden(told: Any):
    _, items = told("run.sh", COMMAND.replace("trainer.nnodes=1", "actor_rollout_ref.actor.ppo_mi|"))
    assert items["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu="] == ""
    assert items["actor_rollout_ref.actor.ppo_mini_batch_size="] == "default 32"
    assert all(name.startswith("actor_rollout_ref.actor.") for name in items)
    _, items = told("run.sh", COMMAND.replace("trainer.nnodes=1", "trainer.balance_batch=|"))
    assert set(items) == {"true", "false"}


def test_the_project_s_own_configuration_counts(told: Any):
    train = """import hydra

@hydra.main(config_path="conf", config_name="own", version_base=None)
def main(cfg):
    pass

if __name__ == "__main__":
    main()
"""
    files = {"train.py": train, "conf/own.yaml": "optim:\n  lr: 0.1\n  warm: true\n"}
    text, _ = told("run.sh", "python train.py optim.l|r=0.2\n", **files)
    assert text.startswith("**`optim.lr`** of `own`\n")
    assert "* in the project's own configuration: `0.1`" in text
    assert "runs with `0.2`" in text


def test_keys_inside_the_blocks_of_a_config(told: Any):
    text, _ = told("fsdp.yaml", ACCELERATE.replace("offload", "off|load"))
    assert "**`fsdp_config.fsdp_offload_params`** of `accelerate`" in text
    assert "* with accelerate 1.8.0: default" in text
    text, _ = told("zero.json", '{"zero_optimization": {"sta|ge": 2}, "train_batch_size": 8}', **{"r.txt": ""})
    assert "**`zero_optimization.stage`** of `deepspeed`" in text


def test_keys_and_values_that_a_block_takes(told: Any):
    _, items = told("fsdp.yaml", ACCELERATE.replace("  fsdp_version: 2", "  fsdp_st|"))
    assert "fsdp_state_dict_type: " in items and "mixed_precision: " not in items
    _, items = told("fsdp.yaml", ACCELERATE + "mach|")
    assert "machine_rank: " in items
    _, items = told("fsdp.yaml", ACCELERATE.replace("mixed_precision: bf16", "mixed_precision: |"))
    assert {"bf16", "fp16", "no"} <= set(items)


def test_keys_of_a_tree_for_verl(told: Any):
    tree = "defaults:\n  - ppo_trainer\n  - _self_\nactor_rollout_ref:\n  actor:\n    ppo_mini_batch_size: 8\n    |\n"
    _, items = told("mine.yaml", tree)
    assert "ppo_epochs: " in items and "rollout: " not in items
    text, _ = told("mine.yaml", tree.replace("|", "").replace("mini", "mi|ni"))
    assert "* with verl 0.5.0: default `256`" in text


MEANS = ("seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm")


@pytest.mark.parametrize(
    ("key", "version", "values"),
    [
        ("actor_rollout_ref.actor.loss_agg_mode", "0.9.1", {"token-mean", "token-sum", *MEANS}),
        ("actor_rollout_ref.actor.loss_agg_mode", "0.7.0", {"token-mean", *MEANS}),
        ("actor_rollout_ref.actor.fsdp_config.strategy", "0.9.1", {"fsdp", "fsdp2", "fsdp_turbo"}),
        ("actor_rollout_ref.actor.router_replay.mode", "0.7.0", {"disabled", "R2", "R3"}),
        ("trainer.project_name", "0.9.1", set()),  # any text
        ("actor_rollout_ref.rollout.name", "0.9.1", set()),  # refused together with other settings only
    ],
)
def test_values_that_an_override_may_have(told: Any, key: str, version: str, values: set[str]):
    command = COMMAND.replace("trainer.nnodes=1", f"{key}=|")
    _, items = told("run.sh", command, **{"requirements.txt": f"verl=={version}\n"})
    assert items is not None and set(items) == values
