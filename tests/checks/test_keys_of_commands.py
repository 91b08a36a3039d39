"""Keys and flags of LLaMA-Factory, ms-swift and axolotl: which of their commands reads what."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.settings import Settings

AXOLOTL = """\
base_model: Qwen/Qwen2.5-7B
datasets: [{path: a, type: alpaca}]
micro_batch_size: 1
sequence_len: 2048
num_epochs: 1
adapter: lora
"""
LLAMA_FACTORY = """\
model_name_or_path: Qwen/Qwen2.5-7B
stage: sft
finetuning_type: lora
template: qwen
dataset_dir: ONLINE
"""


def told(folder: Path, files: dict[str, str], word: str) -> list[str]:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    found = check([str(folder)], Settings(root=str(folder))).findings
    return [finding.code for finding in found if f"{word}`" in finding.message]


@pytest.mark.parametrize(
    "key", ["lm_eval_tasks: [a]", "lm_eval_model: a", "lm_eval_batch_size: 4", "apply_chat_template: true"]
)
@pytest.mark.parametrize("command", ["", "axolotl train c.yml", "axolotl lm-eval c.yml", "axolotl evaluate c.yml"])
def test_a_key_that_another_subcommand_reads_is_not_ignored(key: str, command: str, tmp_path: Path):
    files = {"c.yml": AXOLOTL + key + "\n", "requirements.txt": "axolotl==0.19.0\n", "run.sh": command}
    assert told(tmp_path, files, key.partition(":")[0]) == []


@pytest.mark.parametrize("command", ["", "axolotl train c.yml\n", "axolotl inference c.yml\n"])
def test_a_key_that_no_subcommand_reads_is(command: str, tmp_path: Path):
    files = {"c.yml": AXOLOTL + "lm_eval_taskz: a\n", "requirements.txt": "axolotl==0.19.0\n", "run.sh": command}
    assert told(tmp_path, files, "lm_eval_taskz") == ["TRL401"]


@pytest.mark.parametrize(
    ("commands", "codes"),
    [
        ("", []),  # nobody knows which command it is for
        ("llamafactory-cli eval c.yaml\n", []),
        ("llamafactory-cli train c.yaml\n", ["TRL401"]),
        ("llamafactory-cli eval c.yaml\nllamafactory-cli train c.yaml\n", ["TRL401"]),
        ("llamafactory-cli export c.yaml\n", ["TRL401"]),
    ],
)
def test_a_key_is_judged_by_the_commands_that_read_the_file(commands: str, codes: list[str], tmp_path: Path):
    text = LLAMA_FACTORY + "n_shot: 5\n"
    files = {"c.yaml": text, "requirements.txt": "llamafactory==0.9.3\n", "run.sh": commands}
    assert told(tmp_path, files, "n_shot") == codes


@pytest.mark.parametrize("key", ["debug", "fsdp", "gptq_groupsize", "no_such_key"])
@pytest.mark.parametrize("value", ["", " ", " null", " ~", "  # not used", " Null", "\r"])
def test_an_ignored_key_without_a_value_leaves_nothing_out(key: str, value: str, tmp_path: Path):
    files = {"c.yml": f"{AXOLOTL}{key}:{value}\nseed: 1\n", "requirements.txt": "axolotl==0.21.0\n"}
    assert told(tmp_path, files, key) == []


@pytest.mark.parametrize("value", ["false", "0", '""', "[]", "{}", "no", "[full_shard]", "{a: 1}", "none", "\n  a: 1"])
def test_an_ignored_key_with_one_is_told(value: str, tmp_path: Path):
    files = {"c.yml": f"{AXOLOTL}gptq_groupsize: {value}\nseed: 1\n", "requirements.txt": "axolotl==0.21.0\n"}
    assert told(tmp_path, files, "gptq_groupsize") == ["TRL401"]


@pytest.mark.parametrize("value", ["", " null", " 1"])
def test_a_key_that_stops_the_command_does_so_without_a_value(value: str, tmp_path: Path):
    run = "llamafactory-cli train c.yaml\n"
    files = {
        "c.yaml": f"{LLAMA_FACTORY}zzz_bogus:{value}\n",
        "requirements.txt": "llamafactory==0.9.3\n",
        "run.sh": run,
    }
    assert told(tmp_path, files, "zzz_bogus") == ["TRL401"]


SWIFT = "swift sft --model Qwen/Qwen2.5-7B --dataset a.jsonl --output_dir out"


@pytest.mark.parametrize(
    ("script", "codes"),
    [
        (f"{SWIFT} --zzz_bogus 1\n", ["TRL401"]),
        (f"{SWIFT} --zzz_bogus 1 --ignore_args_error True\n", []),
        (f"{SWIFT} --zzz_bogus 1\n{SWIFT} --ignore_args_error True\n", ["TRL401"]),
        (f'{SWIFT} --zzz_bogus 1 "$@"\n{SWIFT} --ignore_args_error True\n', []),
        (f'{SWIFT} --zzz_bogus 1 "$@"\n', ["TRL401"]),
    ],
)
def test_a_flag_that_lets_all_others_pass_counts_for_its_own_command(script: str, codes: list[str], tmp_path: Path):
    files = {"run.sh": script, "requirements.txt": "ms-swift==3.6.0\n"}
    assert told(tmp_path, files, "--zzz_bogus") == codes
