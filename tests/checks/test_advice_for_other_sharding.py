"""Advice about ZeRO-3 or FSDP where what runs with the pins uses neither."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.test_pin_rules import KNOWN_BAD, check

ZERO3 = "deepspeed==0.14.2\ntorch==2.4.0\n"  # fails with ZeRO-3 and an optimizer on the CPU
HOOKS = "trl==0.15.2\ndeepspeed==0.16.5\n"  # under ZeRO-3
DS = '{{"zero_optimization": {{"stage": {}, "offload_optimizer": {{"device": "{}"}}}}}}'
ACCELERATE = (
    "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: {}\n"
    "  offload_optimizer_device: {}\n"
)


def told(root: Path, files: dict[str, str], path: str = "requirements.txt") -> list[str]:
    found = check(KNOWN_BAD, root, {"train.py": "import deepspeed, trl\n", **files}, path)
    return [one.message for one in found if "ZeRO-3" in one.message]


STARTS = {
    "swift sft --model a --dataset b --deepspeed {}": True,
    "python train.py --deepspeed {}": True,
    "python train.py --deepspeed={} \\\n  --lr 1": True,
    "A=1 torchrun --nproc_per_node 2 train.py --deepspeed '{}' | tee log": True,
}


@pytest.mark.parametrize("pins", [ZERO3, HOOKS])
@pytest.mark.parametrize("start", list(STARTS))
@pytest.mark.parametrize(
    ("name", "is_told"),
    [
        ("zero2", False),
        ("default-zero2", False),
        ("zero1_offload", False),
        ("configs/ds_z2_config.json", False),
        ("ds_stage2.json", False),
        ("zero3", True),
        ("default-zero3", True),
        ("ds_z3_offload_config.json", True),
        ("ds_config.json", True),  # it may say anything
        ("$DS", True),
        ("az2.json", True),
        ("zero25", True),
    ],
)
def test_the_stage_that_a_name_tells(tmp_path, pins, start, name, is_told):
    assert bool(told(tmp_path, {"requirements.txt": pins, "run.sh": start.format(name) + "\n"})) is is_told


@pytest.mark.parametrize("pins", [ZERO3, HOOKS])
@pytest.mark.parametrize("form", ["ds.json", "accelerate.yaml"])
@pytest.mark.parametrize("folder", ["", "configs/"])
@pytest.mark.parametrize(("stage", "is_told"), [(2, False), (1, False), (3, True)])
def test_the_stage_that_a_config_says(tmp_path, pins, form, folder, stage, is_told):
    text = (DS if form == "ds.json" else ACCELERATE).format(stage, "cpu")
    assert bool(told(tmp_path, {"requirements.txt": pins, folder + form: text})) is is_told


@pytest.mark.parametrize("pins", [ZERO3, HOOKS])
def test_a_config_of_another_project_of_the_tree_decides_nothing(tmp_path, pins):
    """What pins it for itself is another project; its config neither asks for the setting nor rules it out."""
    other = {"other/requirements.txt": "trl==0.29.0\ndeepspeed==0.19.0\n", "other/train.py": "import trl\n"}
    mine = {"mine/requirements.txt": pins, "mine/train.py": "import trl\n"}
    two, three = DS.format(2, "cpu"), DS.format(3, "cpu")
    path = "mine/requirements.txt"
    assert told(tmp_path / "a", {**other, **mine, "other/ds.json": three, "mine/ds.json": two}, path) == []
    assert told(tmp_path / "b", {**other, **mine, "other/ds.json": two}, path)
    assert told(tmp_path / "c", {**other, **mine, "other/ds.json": two, "mine/ds.json": three}, path)


@pytest.mark.parametrize("pins", [ZERO3, HOOKS])
def test_where_one_of_two_may_ask_for_it_it_is_told(tmp_path, pins):
    files = {"requirements.txt": pins, "a.json": DS.format(2, "cpu"), "run.sh": "python train.py --deepspeed zero3\n"}
    assert told(tmp_path, files)
    assert told(tmp_path, {**files, "run.sh": "python train.py --deepspeed $1\n"})
