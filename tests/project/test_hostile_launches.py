"""Launch files that nobody writes by hand: read in bounded time and memory, with one clear line, and nothing is run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from trl_lint.sources.shell import read_commands

LAUNCH = 'accelerate launch --config_file c.yaml train.py --lr $LR --name "$NAME" \\\n  --x 1\n'
LONG = "python train.py " + "--a 1 " * 30_000

# What takes time: the number of launches or branches is up to the test.
LONG_SCRIPTS: dict[str, Callable[[int], str]] = {
    "many_variables": lambda n: "".join(f"export V{i}=$V{i - 1}x\n{LAUNCH}" for i in range(1, n)),
    "long_chain": lambda n: "python t.py; " * n + "python t.py && " * n + "python t.py | " * n + "cat\n",
    "branches": lambda n: "".join(
        f'if a; then V{i}=$V{i - 1}a; else V{i}="$V{i - 1} b"; fi\n' + LAUNCH for i in range(1, n)
    ),
    "launches_in_a_loop": lambda n: "for s in " + " ".join(map(str, range(20))) + "; do\n"
    + "CUDA_VISIBLE_DEVICES=$s torchrun --nproc_per_node $s train.py --seed $s --config c$s.yaml\n" * (n // 5)
    + "done\n",
}  # fmt: skip
SCRIPTS = {
    "open_double_quote": 'python train.py --a "x\n' + LAUNCH * 300,
    "open_single_quote": "python train.py --a 'x\n" + LAUNCH * 300,
    "open_heredoc": "cat <<EOF\n" + LAUNCH * 300,
    "open_heredoc_of_a_shell": "bash <<EOF\n" + LAUNCH * 300,
    "recursive_variables": "A=$B\nB=$A\nA=$A$B\nB=$B$A\n" * 200 + "python train.py $A $B\n",
    "doubling_variables": "A=x\n" + "A=$A$A\n" * 200 + "python train.py $A\n",
    "doubling_unknown_variables": 'A="python t.py $Q"\n' + 'A="$A;$A"\n' * 200 + 'eval "$A"\npython $A\n',
    "cyclic_source": "source ./cyclic_source.sh\n. ./cyclic_source.sh\npython train.py\n" * 300,
    "long_line": "python train.py --a " + "x" * 1_000_000 + "\n",
    "long_line_of_words": LONG + "\n",
    "nested_substitutions": "python " + "$( echo " * 5_000 + ")" * 5_000 + " train.py\n",
    "open_substitutions": "python " + "$(" * 20_000 + "\n",
    "nested_scripts": "bash -c " + '"$(bash -c ' * 2_000 + "x" + ')"' * 2_000 + " python\n",
    "nested_groups": "( " * 5_000 + "python t.py" + " )" * 5_000 + "\n",
    "nested_conditions": "if true; then\n" * 2_000 + "python t.py\n" + "fi\n" * 2_000,
    "nested_defaults": "python " + "${A:-" * 5_000 + "x" + "}" * 5_000 + "\n",
    "nested_heredocs": "".join(f"bash <<E{i}\n" for i in range(200)) + "python t.py\n",
    "array": "A=(" + " ".join(f"--k{i} v{i}" for i in range(3_000)) + ')\npython train.py "${A[@]}"\n',
    "growing_array": "A=()\n" + "".join(f"A+=(--k{i} v{i})\n" for i in range(3_000)) + 'python t.py "${A[@]}"\n',
    "wide_unknown_variable": 'A="' + "--k v " * 1_500 + ' $Q"\n' + "python t.py $A\n" * 300,
    "continued": "python train.py" + " \\\n  --a 1" * 10_000 + "\n",
    "cut_again_and_again": "python train.py \\ \n --a 1 \\ \n" * 1_000,
    "comments": "python train.py \\\n" + "  # c \\\n" * 20_000 + " --a 1\n",
    "backslashes": "python train.py " + "\\" * 300_000 + "\n",
    "dollars": "python t.py " + "$" * 30_000 + "\n",
    "branches_of_arrays": "A=()\n" + "if a; then A+=(--x 1); else A+=(-y 2); fi\n" * 2_000 + 'python t.py "${A[@]}"\n',
    "branches_that_double": "A=x\n" + "if a; then A=$A$A; else A=y$A$A; fi\n" * 1_000 + "python t.py $A\n",
    "nested_loops": "".join(f"for v{i} in {' '.join(map(str, range(50)))}; do\n" for i in range(100))
    + "python t.py " + " ".join(f"$v{i}" for i in range(100)) + "\n" + "done\n" * 100,
    "many_cases": "case $1 in\n" + "".join(f"{i}) A={i};;\n" for i in range(2_000)) + "*) exit;; esac\npython t.py $A",
    "patterns": "python " + "a/*/*/*/*/*/*/" * 20 + "*.py --config c/*/*/*/*/x.yaml\n" * 200,
    "nul": "python t.py \0\0\0\n" * 500,
}  # fmt: skip
OTHERS = {
    "Makefile": "all:\n\t" + LONG + "\n\tpython t.py" + " \\\n\t\t# c" * 5_000 + "\n",
    "Dockerfile": "FROM x\nENV A=1\nRUN " + LONG + "\nRUN python t.py" + " \\\n  # c" * 2_000 + "\n",
    "README.md": "```bash\n" + LONG + "\npython t.py" + " \\\n  # c" * 2_000 + "\n```\n",
    "train.py": '"""x\n\npython t.py' + " \\\n  # c" * 2_000 + '\n"""\n',
}


@pytest.mark.parametrize("number", [50, pytest.param(2_000, marks=pytest.mark.slow)])
def test_scripts_are_read(number, tmp_path):
    """The whole tool runs over them, in a process of its own: a hang or a crash of the parser would take this one."""
    for name, text in (SCRIPTS | {name: write(number) for name, write in LONG_SCRIPTS.items()}).items():
        (tmp_path / f"{name}.sh").write_text(text, "utf-8")
    check(tmp_path)


def test_other_files_are_read(tmp_path):
    for name, text in OTHERS.items():
        (tmp_path / name).write_text(text, "utf-8")
    check(tmp_path)


def check(folder: Path) -> list[str]:
    """The codes of the findings of a run, which must end by itself, without a failure inside."""
    command = [sys.executable, "-m", "trl_lint", "check", ".", "--isolated", "--no-cache", "--output-format", "json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr
    codes = [finding["code"] for finding in json.loads(done.stdout)["findings"]]
    assert "TRL003" not in codes
    return codes


YAML_BOMB = "a0: &a0 {num_generations: 3}\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 60)
)
BOMBS = {
    "recipe.yaml": "model_name_or_path: x\nlearning_rate: 1\noutput_dir: o\nmax_steps: 1\n" + YAML_BOMB,
    "accelerate.yaml": "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 3\n"
    + YAML_BOMB,
    "zero.json": '{"zero_optimization": ' * 20_000 + "{}" + "}" * 20_000,
    "train.py": "from trl import GRPOConfig, GRPOTrainer, TrlParser\n"
    "args = TrlParser(GRPOConfig).parse_args_and_config()\nGRPOTrainer('x', len, args=args).train()\n",
    "run.sh": "accelerate launch --config_file accelerate.yaml train.py --config recipe.yaml --deepspeed zero.json\n"
    "for c in recipe accelerate; do accelerate launch --config_file $c.yaml train.py --config $c.yaml; done\n",
    "requirements.txt": "trl==0.19.1\n",
}


def test_configs_that_explode(tmp_path):
    """Aliases of aliases stand for 9 ** 59 values; nobody may walk over them."""
    for name, text in BOMBS.items():
        (tmp_path / name).write_text(text, "utf-8")
    check(tmp_path)
    shown = [sys.executable, "-m", "trl_lint", "runs", "--output-format", "json"]
    done = subprocess.run(shown, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert len(json.loads(done.stdout)["runs"]) == 2


def test_configs_that_include_themselves(tmp_path):
    """Hydra's `defaults` and the shell's `source`, each in a circle."""
    folder = tmp_path / "verl" / "trainer" / "config"
    (folder / "actor").mkdir(parents=True)
    (folder / "ppo_trainer.yaml").write_text(
        "defaults:\n  - actor: dp\n  - ppo_trainer\n  - _self_\nactor_rollout_ref: {}\n"
    )
    (folder / "actor" / "dp.yaml").write_text("defaults:\n  - dp\n  - /ppo_trainer\n  - ../actor/dp\nn: ${n}\n")
    (tmp_path / "verl" / "trainer" / "main_ppo.py").write_text("import hydra\n")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "verl"\nversion = "0.5.0"\n')
    (tmp_path / "run.sh").write_text(
        "source run.sh\n. ./run.sh\npython -m verl.trainer.main_ppo actor.n=1 +actor.n=2 b=1\n"
    )
    check(tmp_path)


def test_nothing_is_run(tmp_path):
    kept = tmp_path / "kept.txt"
    kept.write_text("kept", "utf-8")
    lines = [
        f"rm -rf {tmp_path}",
        f"touch {tmp_path}/made.txt",
        "rm -rf --no-preserve-root ./*",
        f"$(rm -rf {tmp_path})",
    ]
    script = "\n".join([*lines, 'eval "rm -rf ."', "bash -c 'rm -rf .'", "python train.py", ""])
    (tmp_path / "run.sh").write_text(script, "utf-8")
    (tmp_path / "Makefile").write_text(
        f"X := $(shell rm -rf {tmp_path})\nall:\n\trm -rf . && python $(X).py\n", "utf-8"
    )
    check(tmp_path)
    assert kept.read_text("utf-8") == "kept" and not (tmp_path / "made.txt").exists()


def test_a_nested_script_is_read_once():
    """Reading each level twice would take 2 ** 40 steps here."""
    depth = 40
    found = read_commands("bash -c " + '"$(bash -c ' * depth + "x" + ')"' * depth + "\n")
    assert len(found) <= 2 * depth
