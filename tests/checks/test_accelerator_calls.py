# ruff: noqa: E501
"""`Accelerator(...)` and `prepare` against the launch and its files: what accelerate refuses, and just beside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fixture_cases import run_json

INLINE = "distributed_type: DEEPSPEED\nnum_processes: 4\ndeepspeed_config:\n  zero_stage: 2\n"
BY_FILE = "distributed_type: DEEPSPEED\nnum_processes: 4\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n"
ZERO = {"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": "auto", "zero_optimization": {"stage": 2}}
ADAM = {"optimizer": {"type": "AdamW", "params": {"lr": 1e-5}}}
SCRIPT = """import torch
from accelerate import Accelerator
from accelerate.utils import DummyOptim, DummyScheduler, GradientAccumulationPlugin
from torch.utils.data import DataLoader

plugin = GradientAccumulationPlugin(num_steps=4)
acc = Accelerator({arguments})
net = torch.nn.Linear(8, 8)
opt = {optimizer}(net.parameters(), lr=1e-5)
loader = DataLoader(rows, batch_size=4)
{prepare}
"""
PREPARE = "net, opt, loader = acc.prepare(net, opt, loader)"


def told(
    folder: Path,
    patch: pytest.MonkeyPatch,
    capsys: Any,
    config: str = INLINE,
    ds: dict[str, Any] | None = None,
    command: str = "accelerate launch --config_file acc.yaml loop.py",
    arguments: str = "",
    optimizer: str = "torch.optim.AdamW",
    prepare: str = PREPARE,
) -> list[str]:
    (folder / "acc.yaml").write_text(config, "utf-8")
    (folder / "ds.json").write_text(json.dumps(ds if ds is not None else ZERO, indent=1), "utf-8")
    (folder / "run.sh").write_text(command + "\n", "utf-8")
    script = SCRIPT.format(arguments=arguments, optimizer=optimizer, prepare=prepare)
    (folder / "loop.py").write_text(script, "utf-8")
    (folder / "requirements.txt").write_text("accelerate==1.7.0\ndeepspeed==0.16.9\n", "utf-8")
    patch.chdir(folder)
    return [one["message"] for one in run_json(["--select", "TRL403,TRL404", "."], capsys)[1]["findings"]]


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ({"arguments": "gradient_accumulation_steps=4, gradient_accumulation_plugin=plugin"}, "not both"),
        ({"arguments": "dynamo_backend='inductor', dynamo_plugin=plugin"}, "not both"),
        ({"config": BY_FILE, "ds": {k: v for k, v in ZERO.items() if k[0] != "z"} | {"bf16": {"enabled": True}}}, "without"),
        ({"config": INLINE + "  gradient_accumulation_steps: 4\n", "arguments": "gradient_accumulation_steps=8"}, "over 4"),
        ({"config": BY_FILE, "ds": {**ZERO, "gradient_accumulation_steps": 2}, "arguments": "gradient_accumulation_steps=8"}, "over 2"),
        ({"config": BY_FILE, "ds": {**ZERO, **ADAM}}, "a block `optimizer`"),
        ({"config": BY_FILE, "optimizer": "DummyOptim"}, "stands for the block"),
        ({"optimizer": "DummyOptim"}, "stands for the block"),
        ({"config": BY_FILE, "ds": {**ZERO, "fp16": {"enabled": True}}, "arguments": "mixed_precision='bf16'"}, "fp16.enabled"),
        ({"prepare": "net, opt = acc.prepare(net, opt)"}, "it gets none"),
        ({"config": BY_FILE, "ds": {**ZERO, "train_micro_batch_size_per_gpu": "auto"}, "prepare": "net = acc.prepare(net)"}, "it gets none"),
    ],
)  # fmt: skip
def test_what_is_refused(
    case: dict[str, Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    found = told(tmp_path, monkeypatch, capsys, **case)
    assert len(found) == 1 and words in found[0]


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"config": BY_FILE},
        {"arguments": "gradient_accumulation_plugin=plugin"},
        {"arguments": "gradient_accumulation_steps=1, gradient_accumulation_plugin=plugin"},
        {"arguments": "gradient_accumulation_steps=STEPS, gradient_accumulation_plugin=None"},
        {"config": INLINE + "  gradient_accumulation_steps: 4\n", "arguments": "gradient_accumulation_steps=4"},
        {"config": INLINE + "  gradient_accumulation_steps: 4\n", "arguments": "gradient_accumulation_steps=STEPS"},
        {"config": INLINE.replace("DEEPSPEED", "MULTI_GPU"), "prepare": "net, opt = acc.prepare(net, opt)"},
        {"config": BY_FILE, "arguments": "gradient_accumulation_steps=8"},
        {"config": BY_FILE, "ds": {**ZERO, **ADAM}, "optimizer": "DummyOptim"},
        {"config": BY_FILE, "ds": {**ZERO, **ADAM}, "prepare": "net, o, loader = acc.prepare(net, make(), loader)"},
        {"config": BY_FILE, "ds": {**ZERO, "bf16": {"enabled": True}}, "arguments": "mixed_precision='bf16'"},
        {"config": BY_FILE, "ds": {**ZERO, "fp16": {"enabled": False}}, "arguments": "mixed_precision='bf16'"},
        {"config": BY_FILE, "prepare": "net, opt = acc.prepare(net, opt)"},
        {"prepare": "net, opt, x = acc.prepare(net, opt, rows)"},
        {"prepare": "loader = acc.prepare(loader)\nnet, opt = acc.prepare(net, opt)"},
        {"command": "python loop.py", "prepare": "net, opt = acc.prepare(net, opt)"},
        {"config": BY_FILE, "ds": {**ZERO, **ADAM}, "arguments": "deepspeed_plugin=plugin"},
    ],
)
def test_what_is_fine(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert told(tmp_path, monkeypatch, capsys, **case) == []
