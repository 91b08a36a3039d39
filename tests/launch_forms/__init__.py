"""Ways in which people start one and the same command: scripts, job files, task runners, editors, clusters, Python.

A form is a small tree of files: `=== NAME`, and `--- PATH` in front of the text of each. In the texts `<sh>` is the
command as a shell gets it, `<json>` the list of its words, `<args>` that list without the program in front, `<shargs>`
the same for a shell, `<text>` a JSON string with the command; `<parameters>` and `<dict>` are the arguments by name.

`surveyed` are the forms of a survey of the field (November 2026), of which half were understood then.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

SCRIPT = """\
from trl import GRPOConfig, GRPOTrainer, ModelConfig, ScriptArguments, TrlParser

parser = TrlParser((ScriptArguments, GRPOConfig, ModelConfig))
script_args, training_args, model_args = parser.parse_args_and_config()
GRPOTrainer(model=model_args.model_name_or_path, args=training_args, reward_funcs=[len], train_dataset=ds).train()
"""
COMMON = {"train.py": SCRIPT, "requirements.txt": "trl==1.16.0\n"}
FINE = {"output_dir": "out", "learning_rate": "1e-06", "max_completion_length": "512"}
FAULTY = {**FINE, "max_prompt_length": "512"}  # gone since trl 0.28
PROGRAM = ("python", "train.py")


def forms(name: str) -> dict[str, dict[str, str]]:
    """The forms of one file here, by name: the files of each, by path."""
    found: dict[str, dict[str, str]] = {}
    text = (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8")
    for section in text.split("=== ")[1:]:
        title, _, rest = section.partition("\n")
        found[title] = {}
        for part in rest.split("--- ")[1:]:
            path, _, content = part.partition("\n")
            found[title][path] = content
    return found


def files_of(form: dict[str, str], arguments: dict[str, str], program: tuple[str, ...] = PROGRAM) -> dict[str, str]:
    """The files of a form around a command with these arguments, and the project that it belongs to."""
    given = [word for name, value in arguments.items() for word in (f"--{name}", value)]
    words = [*program, *given]
    fills = {
        "<sh>": shlex.join(words),
        "<json>": json.dumps(words),
        "<args>": json.dumps(given),
        "<shargs>": shlex.join(given),
        "<text>": json.dumps(shlex.join(words)),
        "<parameters>": "".join(f"  {name}:\n    value: {value}\n" for name, value in arguments.items()),
        "<dict>": repr(arguments),
    }
    found = {}
    for path, text in form.items():
        for name, value in fills.items():
            text = text.replace(name, value)
        found[path] = text
    return {**COMMON, **found}
