"""Which trainers of a script certainly get the training arguments of a run."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from textwrap import dedent

import pytest
from command_line import Shell

from trl_lint.budget import taken_notes
from trl_lint.checks.configs._trainers_of_run import trainers_of
from trl_lint.project import Project
from trl_lint.run.config_runs import config_runs
from trl_lint.run.runs import all_runs
from trl_lint.settings import Settings
from trl_lint.sources import Files

HEAD = """
from more import make
from transformers import HfArgumentParser, Trainer, TrainingArguments
from trl import DPOConfig, DPOTrainer, ModelConfig, SFTConfig, SFTTrainer, TrlParser
"""
PARSED = "a, m = TrlParser((SFTConfig, ModelConfig)).parse_args_and_config()\n"
MANY = "".join(f"SFTTrainer('m{number}', args=a)\n" for number in range(9))


def project_of(folder: Path, script: str) -> Project:
    (folder / ".git").mkdir()
    (folder / "requirements.txt").write_text("trl==1.16.0\ntransformers==5.23.0\n", "utf-8")
    (folder / "run.sh").write_text("accelerate launch train.py --output_dir out\n", "utf-8")
    (folder / "train.py").write_text(HEAD + dedent(script), "utf-8")
    return Project(str(folder), Files(), Settings(str(folder)))


SCRIPTS: dict[str, tuple[str, list[str]]] = {
    "the config of the script": ("a = SFTConfig('o')\nSFTTrainer('x', args=a)", ["x"]),
    "written in the call": ("SFTTrainer('x', args=SFTConfig('o'))", ["x"]),
    "by its position": ("a = SFTConfig('o')\nSFTTrainer('x', a)", ["x"]),
    "another one beside": ("a = SFTConfig('o')\nSFTTrainer('x', args=make())\nSFTTrainer('y', args=a)", ["y"]),
    "none at all": ("a = SFTConfig('o')\nSFTTrainer('x')\nSFTTrainer('y', args=a)", ["y"]),
    "both": ("a = SFTConfig('o')\nSFTTrainer('x', args=a)\nSFTTrainer('y', args=a)", ["x", "y"]),
    "made anew": ("a = SFTConfig('o')\nSFTTrainer('x', args=a)\na = make()\nSFTTrainer('y', args=a)", ["x"]),
    "one of two": ("a = SFTConfig('o')\nif b:\n    a = make()\nSFTTrainer('x', args=a)", []),
    "copied by a function": ("a = SFTConfig('o')\nSFTTrainer('x', args=make(a))", []),
    "through a function": ("def main(args):\n    SFTTrainer('x', args=args)\nmain(SFTConfig('o'))", ["x"]),
    "through two callers": (
        "def main(args):\n    SFTTrainer('x', args=args)\nmain(SFTConfig('o'))\nmain(make())", []
    ),
    "hidden": ("a = {'args': SFTConfig('o')}\nSFTTrainer('x', **make(a))", []),
    "of another kind": ("a = SFTConfig('o')\nDPOTrainer('x', args=a)", []),
    "a trainer of transformers": ("a = TrainingArguments('o')\nTrainer('x', a)", ["x"]),
    "parsed": (f"{PARSED}SFTTrainer('x', args=a)", ["x"]),
    "parsed by two ways": (
        "p = HfArgumentParser((ModelConfig, SFTConfig))\nif b:\n    m, a = p.parse_json_file('a')\n"
        "else:\n    m, a = p.parse_args_into_dataclasses()\nSFTTrainer('x', args=a)",
        ["x"],
    ),
    "parsed for something else": (f"{PARSED}SFTTrainer('x', args=m)", []),
    "parsed, with another one beside": (f"{PARSED}SFTTrainer('x', args=make(a))\nSFTTrainer('y', args=a)", ["y"]),
    "parsed, changed to another": (f"{PARSED}a = make(a)\nSFTTrainer('x', args=a)", []),
    "expected to fail": (
        "import pytest\na = SFTConfig('o')\nwith pytest.raises(ValueError):\n    SFTTrainer('x', args=a)", []
    ),
}  # fmt: skip


@pytest.mark.parametrize(("script", "expected"), SCRIPTS.values(), ids=SCRIPTS)
def test_trainers_that_get_the_arguments_of_a_run(tmp_path: Path, script: str, expected: list[str]) -> None:
    (run,) = all_runs(project_of(tmp_path, script))
    assert [ast.literal_eval(built.call.args[0]) for built in trainers_of(run)] == expected


def test_each_config_has_its_own_trainers(tmp_path: Path) -> None:
    script = "a = SFTConfig('o')\nb = SFTConfig('p')\nSFTTrainer('x', args=b)\nSFTTrainer('y', args=a)"
    (run,) = all_runs(project_of(tmp_path, script))
    assert trainers_of(run) == []
    assert [[ast.literal_eval(one.call.args[0]) for one in trainers_of(each)] for each in config_runs(run)] == [
        ["y"],
        ["x"],
    ]


def test_the_first_of_many_are_looked_at_and_the_rest_is_said(tmp_path: Path) -> None:
    (run,) = all_runs(project_of(tmp_path, PARSED + MANY))
    assert [ast.literal_eval(built.call.args[0]) for built in trainers_of(run)] == [f"m{number}" for number in range(8)]
    (note,) = taken_notes()
    assert note.message.endswith(": 8 of its 9 trainers with one config were held against what releases refuse")
    assert note.location.path.endswith("train.py")


def test_a_report_says_what_was_not_looked_at(sh: Shell) -> None:
    sh.write("requirements.txt", "trl==1.16.0\ntransformers==5.23.0\n")
    sh.write("run.sh", "accelerate launch train.py --output_dir out\n")
    for script, expected in ((PARSED + MANY, 1), (PARSED + MANY.replace("SFTTrainer('m0', args=a)\n", ""), 0)):
        sh.write("train.py", HEAD + script)
        assert len(json.loads(sh("--no-cache", "--output-format", "json").out)["notices"]) == expected
