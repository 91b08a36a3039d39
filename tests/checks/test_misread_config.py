"""Configs of other programs that `accelerate launch --config_file` is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.finding import Finding
from trl_lint.selection import Selection
from trl_lint.settings import Settings


def found(root: Path, files: dict[str, str]) -> list[Finding]:
    for name, text in {"train.py": "import trl\n", **files}.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return check([str(root)], Settings(str(root), layers=[Selection(select=("TRL401",))])).findings


DEEPSPEED = [
    '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}',
    '{"train_batch_size": "auto", "fp16": {"enabled": true}, "zero_optimization": {"stage": 2}}',
    '{"gradient_clipping": 1.0, "train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 1}}',
]
STARTS = [
    "accelerate launch --config_file {} train.py",
    "accelerate launch --config_file={} --num_processes 2 train.py --lr 1",
    "python -m accelerate.commands.launch --config_file {} train.py",
    "WANDB=1 accelerate launch \\\n  --config_file '{}' \\\n  train.py | tee log",
    "if true; then accelerate launch --config_file {} train.py; fi",
]


@pytest.mark.parametrize("text", DEEPSPEED)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("pins", ["accelerate==1.15.0\n", "accelerate==0.25.0\n", "accelerate\n"])
def test_a_config_of_deepspeed(tmp_path, text, start, pins):
    files = {"configs/ds.json": text, "run.sh": start.format("configs/ds.json") + "\n", "requirements.txt": pins}
    (one,) = found(tmp_path, files)
    assert (
        one.severity == "error" and "`configs/ds.json`, which is a DeepSpeed config; accelerate reads it" in one.message
    )
    assert one.location.path.endswith("run.sh")


def test_in_a_page_it_is_milder(tmp_path):
    text = "```bash\naccelerate launch --config_file ds.json train.py\n```\n"
    (one,) = found(tmp_path, {"ds.json": DEEPSPEED[0], "README.md": text})
    assert one.severity == "warning"


@pytest.mark.parametrize("name", ["sft.yaml", "sft.json"])
def test_a_recipe(tmp_path, name):
    values = {"model_name_or_path": "a", "learning_rate": "1", "output_dir": "b"}
    text = "".join(f"{key}: {value}\n" for key, value in values.items()) if name.endswith("yaml") else str(values)
    text = text.replace("'", '"')
    (one,) = found(tmp_path, {name: text, "run.sh": f"accelerate launch --config_file {name} train.py\n"})
    assert "which is no config of accelerate: it has none of the keys, `learning_rate`" in one.message


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 2\n", "a.yaml"),
        ('{"compute_environment": "LOCAL_MACHINE", "distributed_type": "NO", "num_processes": 1}', "a.json"),
        ("distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n", "a.yaml"),
        ("mixed_precision: bf16\n", "a.yaml"),
        ("", "a.yaml"),
        ("{}", "a.json"),
        ("<<: *base\nmodel: 1\n", "a.yaml"),
        ("{{ config }}\n", "a.yaml"),
        ("[1, 2]\n", "a.json"),
    ],
)
@pytest.mark.parametrize("start", STARTS)
def test_a_config_of_accelerate_or_one_that_is_not_known(tmp_path, text, name, start):
    said = [one.message for one in found(tmp_path, {name: text, "run.sh": start.format(name) + "\n"})]
    assert not any("accelerate stops at `" in message for message in said)


@pytest.mark.parametrize(
    "command",
    [
        "accelerate launch --use_deepspeed --deepspeed_config_file ds.json train.py",
        "accelerate launch train.py --config_file ds.json",  # the script's own
        "accelerate launch --config_file $CONFIG train.py",
        "accelerate launch --config_file gone.json train.py",
        "deepspeed train.py --config_file ds.json",
        "torchrun train.py --deepspeed ds.json",
        "python train.py --config_file ds.json",
    ],
)
def test_where_it_is_no_config_of_the_launcher(tmp_path, command):
    assert found(tmp_path, {"ds.json": DEEPSPEED[0], "run.sh": f"{command}\n"}) == []
