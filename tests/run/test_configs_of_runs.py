"""What the launcher and DeepSpeed read beside the options of a program, in each notation of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laid_out import lay_out
from trl_lint.run import sharding
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run, all_runs

SCRIPT = "from trl import SFTConfig, SFTTrainer\nSFTTrainer('a/b', args=SFTConfig({}))\n"
FILE = "compute_environment: LOCAL_MACHINE\nnum_machines: 1\nnum_processes: 8\n"
WITH = "accelerate launch --config_file acc.yaml"
ZERO = '{"zero_optimization": {"stage": 3}, "gradient_clipping": 0.5, "train_micro_batch_size_per_gpu": 1}'


def run_of(root: Path, command: str, config: str = "", arguments: str = "") -> Run:
    files = {"run.sh": f"{command}\n", "train.py": SCRIPT.format(arguments), "ds.json": ZERO}
    if config:
        files["acc.yaml"] = FILE + config
    (found,) = all_runs(lay_out(root, files))
    return found


def value(said: object) -> object:
    return said.value if isinstance(said, Setting) else None


SHARDED = "distributed_type: FSDP\nfsdp_config:\n  "
INLINE = "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: "


@pytest.mark.parametrize(
    ("command", "config", "backend", "version"),
    [
        (f"{WITH} train.py", SHARDED + "fsdp_version: 2\n", "FSDP", 2),
        (f"{WITH} train.py", SHARDED + "version: 2\n", "FSDP", 2),
        (f"{WITH} train.py", SHARDED + "fsdp_offload_params: true\n", "FSDP", 1),
        (f"{WITH} --fsdp_version 2 train.py", SHARDED + "fsdp_version: 1\n", "FSDP", 2),
        (f"{WITH} --fsdp_version=1 train.py", SHARDED + "fsdp_version: 2\n", "FSDP", 1),
        (f"{WITH} --use_fsdp train.py", "distributed_type: MULTI_GPU\n", "FSDP", 1),
        (f"{WITH} --multi_gpu train.py", SHARDED + "fsdp_version: 2\n", "MULTI_GPU", None),
        (f"{WITH} --use_deepspeed train.py", SHARDED + "fsdp_version: 2\n", "DEEPSPEED", None),
        (f"{WITH} $ARGS train.py", SHARDED + "fsdp_version: 2\n", None, None),
        (f"{WITH} train.py", SHARDED + "fsdp_version: ${V}\n", "FSDP", None),
        ("accelerate launch --use_fsdp --fsdp_version 2 train.py", "", "FSDP", 2),
        ("accelerate launch --use_fsdp train.py", "", "FSDP", 1),
        ("accelerate launch train.py", "", None, None),
        ("accelerate launch --config_file there.yaml train.py", "", None, None),
        ("torchrun --nproc_per_node 8 train.py", "", None, None),
        ("python train.py", SHARDED + "fsdp_version: 2\n", None, None),
        ("trl sft --accelerate_config acc.yaml", SHARDED + "fsdp_version: 2\n", "FSDP", 2),
        ("trl sft --accelerate_config acc.yaml --fsdp_version 1", SHARDED + "fsdp_version: 2\n", "FSDP", 1),
    ],
)
def test_backend(tmp_path: Path, command: str, config: str, backend: str | None, version: int | None) -> None:
    run = run_of(tmp_path, command, config)
    assert (value(sharding.backend_of(run)), sharding.fsdp_version(run)) == (backend, version)


@pytest.mark.parametrize(
    ("command", "config", "arguments", "stage"),
    [
        (f"{WITH} train.py", f"{INLINE}2\n", "", 2),
        (f"{WITH} --zero_stage 3 train.py", f"{INLINE}2\n", "", 3),
        (f"{WITH} train.py", f"{INLINE}$STAGE\n", "", "$STAGE"),
        (
            f"{WITH} train.py",
            "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n",
            "",
            3,
        ),
        (f"{WITH} --multi_gpu train.py", f"{INLINE}3\n", "", None),
        ("accelerate launch --use_deepspeed --zero_stage 3 train.py", "", "", "3"),
        ("torchrun --nproc_per_node 8 train.py", "", "deepspeed='ds.json'", 3),
        ("torchrun --nproc_per_node 8 train.py", "", "deepspeed='none.json'", None),
        ("torchrun --nproc_per_node 8 train.py", f"{INLINE}3\n", "", None),
        ("trl sft --deepspeed ds.json", "", "", 3),
        ("trl sft --accelerate_config acc.yaml", f"{INLINE}3\n", "", 3),
    ],
)
def test_zero_stage(tmp_path: Path, command: str, config: str, arguments: str, stage: object) -> None:
    found = sharding.zero_stage(run_of(tmp_path, command, config, arguments))
    assert value(found) == stage or (isinstance(stage, int) and isinstance(found, Setting) and found.integer == stage)


def test_block(tmp_path: Path) -> None:
    config = run_of(tmp_path, f"{WITH} --fsdp_version 2 train.py", SHARDED + "fsdp_offload_params: true\n").configs
    block = config.accelerate.block("fsdp_config")
    assert value(block.given("fsdp_offload_params")) is True
    assert value(block.given("fsdp_version")) == "2"
