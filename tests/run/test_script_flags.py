"""What a script hands to its config out of a command that it reads itself, against what Python makes of the same."""

from __future__ import annotations

import itertools
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest

from tests.laid_out import lay_out
from trl_lint.run.effective import Setting
from trl_lint.run.runs import all_runs

HEAD = "import argparse\nfrom trl import SFTConfig\n"
DECLARED = {
    "float": 'add_argument("--x", type=float, default=0.5)',
    "text as default": 'add_argument("--x", type=float, default="0.25")',
    "int": 'add_argument("--x", type=int, default=3)',
    "alias": 'add_argument("--x", "--long_x", type=int, default=3)',
    "short": 'add_argument("-e", "--x", type=int, default=3)',
    "dest": 'add_argument("--other", dest="x", type=int, default=4)',
    "no default": 'add_argument("--x", type=int)',
    "required": 'add_argument("--x", type=int, required=True)',
    "switch": 'add_argument("--x", action="store_true")',
    "off": 'add_argument("--x", action="store_false")',
    "optional": 'add_argument("--x", action=argparse.BooleanOptionalAction, default=True)',
    "choice": 'add_argument("--x", choices=["a", "b"], default="a")',
    "environment": 'add_argument("--x", type=int, default=int(os.environ.get("X", "5")))',
    "twice": 'add_argument("--y", dest="x", default=1)\n{indent}p.add_argument("--x", default=2)',
}
PARSED = "p = argparse.ArgumentParser()\np.{declared}\nargs = p.parse_args()\n"
INSIDE = "    p = argparse.ArgumentParser()\n    p.{declared}\n"
LAID_OUT = {
    "module": "{parsed}config = SFTConfig(learning_rate=args.x)\n",
    "function": (
        "def read():\n{inside}    return p.parse_args()\n\n"
        "def main():\n    args = read()\n    return SFTConfig(learning_rate=args.x)\n\nconfig = main()\n"
    ),
    "parameter": ("def train(args):\n    return SFTConfig(learning_rate=args.x)\n\n{parsed}config = train(args)\n"),
    "local name": (
        "def read():\n{inside}    found = p.parse_args()\n    return found\n\n"
        "config = SFTConfig(learning_rate=(args := read()).x)\n"
    ),
    "set later": ("{parsed}args.x = 7\nconfig = SFTConfig(learning_rate=args.x)\n"),
    "set by name": ("{parsed}setattr(args, 'x', 7)\nconfig = SFTConfig(learning_rate=args.x)\n"),
    "set in a function": (
        "def change(args):\n    args.x = 8\n\n{parsed}change(args)\nconfig = SFTConfig(learning_rate=args.x)\n"
    ),
    "set in another file": (
        "from other import change\n{parsed}change(args)\nconfig = SFTConfig(learning_rate=args.x)\n"
    ),
    "other default": (
        "p = argparse.ArgumentParser()\np.{declared}\np.set_defaults(x=9)\nargs = p.parse_args()\n"
        "config = SFTConfig(learning_rate=args.x)\n"
    ),
    "words of its own": (
        "p = argparse.ArgumentParser()\np.{declared}\nargs = p.parse_args(['--x', '6'])\n"
        "config = SFTConfig(learning_rate=args.x)\n"
    ),
}
COMMANDS = ("", "--x 2", "--x=2", "--long_x 2", "-e 2", "-e2", "--other 2", "--x", "--x b", "--x 2 --x 1", "--no-x")
OTHER = "def change(args):\n    args.x = 11\n"
KNOWN = {"module", "function", "parameter"}  # notations that are read


def program(layout: str, kind: str) -> str:
    text = LAID_OUT[layout].replace("{parsed}", PARSED).replace("{inside}", INSIDE)
    indent = "    " if "{inside}" in LAID_OUT[layout] else ""
    return text.replace("{declared}", DECLARED[kind].replace("{indent}", indent))


@pytest.mark.parametrize("layout", LAID_OUT)
def test_never_another_value_than_python_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str) -> None:
    known = 0
    for number, (kind, command) in enumerate(itertools.product(DECLARED, COMMANDS)):
        text = program(layout, kind)
        root = tmp_path / str(number)
        files = {"train.py": f"import os\n{HEAD}{text}", "run.sh": f"python train.py {command}\n", "other.py": OTHER}
        (run,) = all_runs(lay_out(root, files))
        said = run.config.given("learning_rate")
        if not isinstance(said, Setting) or not said.is_known:
            continue
        known += 1
        monkeypatch.setattr(sys, "argv", ["train.py", *command.split()])
        made: list[object] = []
        library = ModuleType("trl")
        library.SFTConfig = lambda learning_rate, made=made: made.append(learning_rate)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "trl", library)
        with suppress(SystemExit):
            exec(compile(f"import os\n{HEAD}{text}", "train.py", "exec"), {})
        assert not made or (made == [said.value] and type(made[0]) is type(said.value)), (layout, kind, command)
    assert known > 30 if layout in KNOWN else known == 0


@pytest.mark.parametrize(
    ("command", "value"),
    [("", 0.5), ("--x 2", 2.0), ("--x $X", None), ('"$@"', None), ("$MORE_ARGS", None), ("--nobody 1", None)],
)
def test_words_of_the_command(tmp_path: Path, command: str, value: float | None) -> None:
    text = HEAD + program("module", "float")
    (run,) = all_runs(lay_out(tmp_path, {"train.py": text, "run.sh": f"python train.py {command}\n"}))
    said = run.config.given("learning_rate")
    assert (said.value if isinstance(said, Setting) and said.is_known else None) == value


def test_a_tokenizer_has_fields_of_its_own(tmp_path: Path) -> None:
    text = (
        "from transformers import AutoTokenizer\nfrom trl import SFTConfig\n"
        "tok = AutoTokenizer.from_pretrained('a/b')\n"
        "tok.pad_token = tok.eos_token\nconfig = SFTConfig(learning_rate=1e-5)\nconfig.eos_token = open('x').read()\n"
    )
    (run,) = all_runs(lay_out(tmp_path, {"train.py": text, "run.sh": "python train.py\n"}))
    assert run.config.given("pad_token").__class__.__name__ == "Missing"
    assert isinstance(run.config.given("eos_token"), Setting)
