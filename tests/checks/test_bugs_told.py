"""TRL206 beside its rows: what it says where a fact lacks, where it says it, and how severe that is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fixture_cases import run_json

from trl_lint.checks.configs import _bugs_met, _bugs_near
from trl_lint.knowledge.bugs import Bug, Entry

SFT = (
    "from datasets import load_dataset\nfrom trl import SFTConfig, SFTTrainer\n"
    "trainer = SFTTrainer(model='Qwen/Qwen2.5-0.5B', args=SFTConfig(label_smoothing_factor=0.1,\n"
    "    gradient_accumulation_steps={steps}), train_dataset=load_dataset('a', split='train'))\ntrainer.train()\n"
)
PINS = {"requirements.txt": "trl==1.9.2\ntransformers==5.12.0\n"}
FSDP2 = "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"


def told(files: dict[str, str], folder: Path, patch: pytest.MonkeyPatch, capsys: Any) -> list[dict[str, Any]]:
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    patch.chdir(folder)
    found: list[dict[str, Any]] = run_json(["--select", "TRL206", "."], capsys)[1]["findings"]
    return found


@pytest.mark.parametrize(
    ("command", "steps", "severity", "words"),
    [
        ("python train.py", 8, "info", "the stage of ZeRO (zero_stage() == 0)"),
        ("accelerate launch --config_file ddp.yaml train.py", 8, "warning", ""),
        ("accelerate launch --config_file z2.yaml train.py", 8, "", ""),
        ("python train.py", 1, "", ""),
        ("accelerate launch --config_file ddp.yaml train.py", 1, "", ""),
    ],
)
def test_one_fact_that_lacks_makes_a_hint_that_names_it(
    command: str, steps: int, severity: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    files = {
        **PINS,
        "train.py": SFT.format(steps=steps),
        "run.sh": f"{command}\n",
        "ddp.yaml": "distributed_type: MULTI_GPU\nnum_processes: 8\n",
        "z2.yaml": "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\nnum_processes: 8\n",
    }
    found = told(files, tmp_path, monkeypatch, capsys)
    assert [each["severity"] for each in found] == ([severity] if severity else [])
    assert all(words in each["message"] for each in found)


def test_a_fact_that_nothing_speaks_of_is_no_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Not every run that accumulates gradients is told about FSDP2."""
    files = {"requirements.txt": "trl==0.20.0\naccelerate==1.8.0\n", "train.py": SFT.format(steps=8)}
    assert told(files, tmp_path, monkeypatch, capsys) == []


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ({"requirements.txt": "accelerate==1.8.0\n", "f2.yaml": FSDP2}, ""),  # it finds the layers by itself
        (
            {
                "requirements.txt": "verl==0.5.0\n",
                "run.sh": "python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.mode=async"
                " actor_rollout_ref.rollout.free_cache_engine=False\n",
            },
            "run.sh",
        ),
        ({"requirements.txt": "verl==0.5.0\n", "run.sh": "python3 -m verl.trainer.main_ppo\n"}, ""),
        (
            {"requirements.txt": "peft==0.15.0\n", "a.py": "from peft import LoraConfig\nLoraConfig(lora_bias=True)\n"},
            "",
        ),
        (
            {
                "requirements.txt": "peft==0.15.0\n",
                "a.py": "from peft import LoraConfig\nLoraConfig(r=16, lora_bias=True)\n",
            },
            "a.py",
        ),
    ],
)
def test_commands_and_calls_are_places(
    files: dict[str, str], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    found = told(files, tmp_path, monkeypatch, capsys)
    assert [Path(str(each.get("file") or each.get("path"))).name for each in found] == ([place] if place else [])


@pytest.mark.parametrize(
    ("pins", "text", "line"),
    [
        ("accelerate==1.8.0\n", FSDP2, 4),
        ("accelerate==1.8.0\n", FSDP2.replace("version: 2", "version: 1"), 0),
        ("accelerate==1.8.0\n", f"{FSDP2}  fsdp_transformer_layer_cls_to_wrap: Qwen2DecoderLayer\n", 0),
        ("accelerate==1.14.0\n", FSDP2, 0),
        ("", FSDP2, 0),
    ],
)
def test_a_document_is_a_place(
    pins: str, text: str, line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """With a row of this test: no package has one of documents now."""
    condition = (
        "fsdp_config.fsdp_version == 2 and fsdp_config.fsdp_auto_wrap_policy == 'TRANSFORMER_BASED_WRAP' "
        "and not fsdp_config.fsdp_transformer_layer_cls_to_wrap"
    )
    where, releases = ("accelerate config",), ">=1.6.0,<1.14.0"
    row = Bug("of-a-document", where, condition, "it wraps no layer", "one block", "waste", ("x",), releases=releases)
    entry = Entry("accelerate", row.id, releases, {}, where, {}, True, (), condition)
    monkeypatch.setattr(_bugs_near, "entries", lambda package: (entry,) if package == entry.package else ())
    monkeypatch.setattr(_bugs_met, "bug_of", lambda entry: row)
    found = told({"requirements.txt": pins, "f2.yaml": text}, tmp_path, monkeypatch, capsys)
    places = [(each["path"], each["start"]["line"], each["severity"]) for each in found]
    assert places == ([("f2.yaml", line, "warning")] if line else [])
