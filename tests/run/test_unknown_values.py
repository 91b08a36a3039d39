"""An unknown value right behind a flag is one value, wherever a shell gets it from: it hides nothing else."""

from __future__ import annotations

import pytest
from command_line import Shell

# Pins, a command with a fault, and a flag of it that takes one value.
COMMANDS = {
    "llamafactory": (
        "llamafactory==0.9.3",
        "llamafactory-cli train --stage dpo --do_train true --predict_with_generate true --model_name_or_path a"
        " --dataset x --template qwen --output_dir o",
        "TRL403",
    ),
    "ms-swift": ("ms-swift==3.8.0", "swift sft --model a --packing true --attn_impl eager", "TRL403"),
    "openrlhf": ("openrlhf==0.8.5", "python -m openrlhf.cli.train_sft --pretrain a --made_up 1", "TRL401"),
    "trl": (
        "trl==0.20.0",
        "trl grpo --model_name_or_path a --dataset_name x --output_dir o --num_generations 1",
        "TRL701",
    ),
}
ONE = [
    *(
        "$FOO",
        "${FOO}",
        '"$FOO"',
        "$1",
        "${1}",
        "$RANDOM",
        "$SLURM_JOB_ID",
        "${FOO:-3}",
        "$(nproc)",
        "`nproc`",
        "$((A + 1))",
    ),
    *(
        "$(expr 64 / $N)",
        '"$(expr 64 / 4)"',
        "$(date +%s)",
        "$(nvidia-smi -L | wc -l)",
        "$(hostname)_x",
        "$(cat seed.txt)",
    ),
]
MANY = ["$EXTRA_ARGS", "$@", '"$@"', "$*", "${ARGS[@]}", '"${ARGS[@]}"', "$MORE_OPTIONS", "$FLAGS"]


def codes(sh: Shell, pins: str, command: str) -> set[str]:
    sh.write("requirements.txt", f"{pins}\n")
    sh.write("run.sh", f"{command}\n")
    (sh.folder / "train.py").unlink(missing_ok=True)
    lines = sh("--output-format", "concise").out.splitlines()
    return {line.split()[1] for line in lines if line.startswith("run.sh") and "TRL" in line.split()[1]}


@pytest.mark.parametrize("value", ONE)
@pytest.mark.parametrize("framework", COMMANDS)
def test_it_is_one_value(sh: Shell, framework: str, value: str) -> None:
    pins, command, code = COMMANDS[framework]
    assert code in codes(sh, pins, f"{command} --seed {value}")
    program, _, rest = command.partition(" --")
    assert code in codes(sh, pins, f"{program} --seed {value} --{rest}")


@pytest.mark.parametrize("value", MANY)
@pytest.mark.parametrize("framework", ["llamafactory", "ms-swift"])
def test_words_that_may_be_options_hide_what_they_may_set(sh: Shell, framework: str, value: str) -> None:
    pins, command, code = COMMANDS[framework]
    assert code not in codes(sh, pins, f"{command} --seed {value}")
    assert code not in codes(sh, pins, f"{command} --seed 1 {value}")


@pytest.mark.parametrize("framework", ["llamafactory", "ms-swift"])
def test_a_word_behind_a_value_may_be_an_option(sh: Shell, framework: str) -> None:
    pins, command, code = COMMANDS[framework]
    assert code not in codes(sh, pins, f"{command} --seed 1 $FOO")
    assert code not in codes(sh, pins, f"{command} --seed $BAR $FOO")
