"""The project that the editors are tried with, and what the command line says of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

SCRIPT = """\
from trl import ModelConfig, ScriptArguments, SFTConfig, SFTTrainer, TrlParser


def smoke_test(dataset):
    args = SFTConfig(output_dir="smoke", max_steps=1)
    mark = "\U0001f600"; trainer = SFTTrainer("gpt2", args=args, packing=False, train_dataset=dataset)
    trainer.train()


def main():
    parser = TrlParser((ScriptArguments, SFTConfig, ModelConfig))
    script_args, training_args, model_args = parser.parse_args_and_config()
    trainer = SFTTrainer(model_args.model_name_or_path, args=training_args)
    trainer.train()


if __name__ == "__main__":
    main()
"""
FILES = {
    "train.py": SCRIPT,
    "sft.yaml": "model_name_or_path: Qwen/Qwen2.5-0.5B-Instruct\nlearning_rate: 2.0e-5\nnum_train_epoch: 3\n",
    "requirements.txt": "trl==0.20.0\ntransformers==4.40.0\n",
    "run.sh": "accelerate launch --num_processes 4 train.py --config sft.yaml\n",
}
OTHERS = ("sft.yaml", "requirements.txt")
HIDING = 'ignore = ["TRL2", "TRL3"]\n'


Place = tuple[int, int, str]


class Expected(NamedTuple):
    """By file: line, column in bytes of UTF-8 and code of each finding; and the script after `--fix`."""

    findings: dict[str, list[Place]]
    fixed: str


def lay_out(folder: Path) -> Path:
    """A new project in a folder, which is emptied."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)  # eglot asks git for the files to watch
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    return folder


def expected(folder: Path, command: Path) -> Expected:
    """What `trl-lint` says and does, in a project of its own."""
    lay_out(folder)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["TRL_LINT_NO_CACHE"] = "1"
    found = {}
    for name in ("train.py", *OTHERS):
        asked = [str(command), name, "--output-format", "json"]
        done = subprocess.run(asked, cwd=folder, env=environment, capture_output=True, text=True)
        found[name] = [
            (one["start"]["line"], in_bytes(name, one["start"]["line"], one["start"]["column"] - 1), one["code"])
            for one in json.loads(done.stdout)["findings"]
        ]
    subprocess.run([str(command), "train.py", "--fix"], cwd=folder, env=environment, capture_output=True)
    return Expected(found, (folder / "train.py").read_text("utf-8"))


def in_bytes(name: str, line: int, column: int, encoding: str = "utf-32-le") -> int:
    """A column in units of an encoding (characters by default), both from 0, in bytes of UTF-8."""
    width = {"utf-32-le": 4, "utf-16-le": 2}[encoding]
    before = FILES[name].splitlines()[line - 1].encode(encoding)[: column * width]
    return len(before.decode(encoding).encode())
