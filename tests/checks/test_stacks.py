"""What frameworks without tables of their own refuse of a command (`rules/semantics/stacks.toml`)."""

import json
from pathlib import Path

import pytest

from trl_lint.cli import main
from trl_lint.knowledge.stacks import stacks

SKYRL = (
    "uv run -m skyrl.train.entrypoints.main_base trainer.placement.policy_num_gpus_per_node=6 "
    "trainer.train_batch_size={} trainer.policy_mini_batch_size={} generator.n_samples_per_prompt={}{}\n"
)
EASY = "python3 -m verl.trainer.main {}\n"
SIX = EASY.format("config=c.yaml trainer.n_gpus_per_node=6")
SLIME = (
    "ARGS=(--rollout-batch-size 32 --n-samples-per-prompt 8 {})\n"
    "python3 train.py --hf-checkpoint m ${{MODEL_ARGS[@]}} ${{ARGS[@]}}\n"
)
AREAL = "python3 -m areal.launcher.slurm train.py --config c.yaml\n"
ALLOCATION = "cluster:\n  n_gpus_per_node: 8\nallocation_mode: {}\n"
YAML = (
    "data:\n  rollout_batch_size: 512\nworker:\n  actor:\n    global_batch_size: 128\n  rollout:\n    n: 5\n"
    "trainer:\n  n_gpus_per_node: {}\n"
)


def _said(tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str]) -> list[tuple[str, int, str]]:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    capsys.readouterr()
    main(["check", str(tmp_path), "--isolated", "--no-cache", "--select", "TRL403", "--output-format", "json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    return [(Path(one["path"]).name, one["start"]["line"], one["severity"]) for one in found]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        # SkyRL: mini batches of a batch, micro batches of a GPU, whole strides of prompts
        ({"a.sh": SKYRL.format(12, 8, 4, "")}, ("a.sh", "error")),
        ({"a.sh": SKYRL.format(12, 6, 5, " trainer.micro_train_batch_size_per_gpu=2")}, ("a.sh", "error")),
        ({"a.sh": SKYRL.format(2, 2, 4, "")}, ("a.sh", "error")),
        # EasyR1, in the words of the command and in a config
        ({"a.sh": EASY.format("data.rollout_batch_size=192 worker.actor.global_batch_size=128")}, ("a.sh", "error")),
        ({"a.sh": EASY.format("config=c.yaml"), "c.yaml": YAML.format(6)}, ("c.yaml", "error")),
        # a word of the command goes over the config
        ({"a.sh": SIX, "c.yaml": YAML.format(4)}, ("c.yaml", "error")),
        # slime: nobody knows what the rest of the words says
        ({"a.sh": SLIME.format("--num-steps-per-rollout 2 --global-batch-size 256")}, ("a.sh", "warning")),
        ({"a.sh": SLIME.format("--over-sampling-batch-size 16")}, ("a.sh", "warning")),
        ({"a.sh": AREAL, "c.yaml": ALLOCATION.format("sglang:d1p1t12+d16p1t1")}, ("c.yaml", "error")),
    ],
)
def test_broken_laws_are_told(tmp_path, capsys, files, expected):
    (found,) = _said(tmp_path, capsys, files)
    assert (found[0], found[2]) == expected


@pytest.mark.parametrize(
    "files",
    [
        {"a.sh": SKYRL.format(12, 6, 4, "")},
        {"a.sh": SKYRL.format(6, 6, 4, "")},
        {"a.sh": SKYRL.format(72, 36, 5, " trainer.micro_train_batch_size_per_gpu=5")},
        {"a.sh": SKYRL.format(12, 6, 5, " trainer.micro_train_batch_size_per_gpu=2 trainer.strategy=megatron")},
        {"a.sh": SKYRL.format("$BATCH", 8, 4, "")},
        # the project has the code, which may be another
        {"a.sh": SKYRL.format(12, 8, 4, ""), "skyrl/__init__.py": ""},
        {"a.sh": EASY.format("config=c.yaml"), "c.yaml": YAML.format(4)},
        {"a.sh": EASY.format("config=c.yaml trainer.n_gpus_per_node=4"), "c.yaml": YAML.format(6)},
        {"a.sh": EASY.format("config=other.yaml data.rollout_batch_size=500")},
        {"a.sh": EASY.format("config=c.yaml"), "c.yaml": YAML.format("${gpus}")},
        {"a.sh": EASY.format("config=c.yaml").replace("main ", "main_ppo "), "c.yaml": YAML.format(6)},
        {"a.sh": SLIME.format("--num-steps-per-rollout 2 --global-batch-size 128")},
        {"a.sh": SLIME.format("--global-batch-size 256")},
        {"a.sh": SLIME.format("--over-sampling-batch-size 32")},
        {"a.sh": SLIME.format("--over-sampling-batch-size 16"), "train.py": "print()\n"},
        # the script of somebody else
        {"a.sh": SLIME.format("--over-sampling-batch-size 16").replace("--hf-checkpoint", "--model")},
        {"a.sh": AREAL, "c.yaml": ALLOCATION.format("sglang:d1p1t16+d16p1t1")},
        {"a.sh": AREAL, "c.yaml": ALLOCATION.format("sglang:d4p1t2+d8p1t1")},
        {"a.sh": AREAL, "c.yaml": ALLOCATION.format("vllm:d1p1t12+d16p1t1")},
    ],
)
def test_nothing_is_told_of_what_holds_or_is_not_known(tmp_path, capsys, files):
    assert _said(tmp_path, capsys, files) == []


@pytest.mark.parametrize(("stack", "law"), [(stack, law) for stack in stacks() for law in stack.law])
def test_laws_are_expressions_of_their_names(stack, law):
    values = dict.fromkeys(law.names, 4)
    assert law.is_broken(values) in (True, False)
    assert "{" not in law.told(values)
    assert set(stack.defaults) <= {key for each in stack.law for key in each.names.values()}
