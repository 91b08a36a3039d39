"""Parsers that projects write themselves: what is said of a command, and what argparse really does with it.

Programs of many shapes are written, and commands for each. argparse itself runs in this process and says which commands
it refuses; the tool reads the same files.
"""

from __future__ import annotations

import argparse
import io
import itertools
import random
import sys
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest

from trl_lint.engine import check
from trl_lint.settings import Settings

FLAGS = """\
    {to}.add_argument("--model-path", type=str, required=True)
    {to}.add_argument("--lr", "--learning-rate", type=float, default=1e-5)
    {to}.add_argument("--epochs", default=1, type=int, help="how often")
    {to}.add_argument("--kind", choices=["sft", "dpo"], default="sft")
    {to}.add_argument("--gpus", nargs="+", type=int)
    {to}.add_argument("--bf16", action="store_true")
    {to}.add_argument("-q", "--quiet", action="count", default=0)
"""
MORE = '    {to}.add_argument("--beta", type=float)\n'


def flags(to: str, indent: str = "    ") -> str:
    return FLAGS.replace("    {to}", indent + to)


HEAD = "import argparse\n"
AT_THE_TOP = HEAD + 'parser = argparse.ArgumentParser("train")\n' + flags("parser", "") + "args = parser.parse_args()\n"
MAIN = 'if __name__ == "__main__":\n    main()\n'

# By a name: the files of the project, of which train.py is started.
PROGRAMS: dict[str, dict[str, str]] = {
    "at the top": {"train.py": AT_THE_TOP},
    "in a function": {
        "train.py": "from argparse import ArgumentParser\n\n\ndef parse():\n    parser = ArgumentParser()\n"
        + flags("parser")
        + "    return parser.parse_args()\n\n\ndef main():\n    print(parse().lr)\n\n\n"
        + MAIN
    },
    "a parser that is given back": {
        "train.py": HEAD
        + "\n\ndef make() -> argparse.ArgumentParser:\n    p = argparse.ArgumentParser(description=__doc__)\n"
        + flags("p")
        + "    return p\n\n\ndef main(argv=None):\n    parser = make()\n    parser.add_argument('--beta', type=float)\n"
        + "    args = parser.parse_args(argv)\n    print(args)\n\n\n"
        + MAIN
    },
    "groups": {
        "train.py": HEAD
        + "parser = argparse.ArgumentParser()\ngroup = parser.add_argument_group('model', 'what is trained')\n"
        + flags("group", "")
        + "one = group.add_mutually_exclusive_group()\none.add_argument('--adam', action='store_true')\n"
        + "one.add_argument('--sgd', action='store_true')\nargs = parser.parse_args()\n"
    },
    "another file": {
        "arguments.py": HEAD
        + "\n\ndef add_model_args(parser):\n"
        + flags("parser")
        + "    return parser\n\n\ndef add_more(to, prefix='x'):\n"
        + MORE.format(to="to.add_argument_group(prefix)").replace("    to", "    to", 1)
        + "\n\ndef get_args():\n    parser = argparse.ArgumentParser()\n    parser = add_model_args(parser)\n"
        + "    add_more(prefix='rl', to=parser)\n    return parser.parse_args()\n",
        "train.py": "from arguments import get_args\n\n\ndef main():\n    args = get_args()\n    print(args)\n\n\n"
        + MAIN,
    },
    "functions in each other": {
        "arguments.py": HEAD
        + "\n\ndef add_model_args(parser):\n"
        + flags("parser")
        + "    return parser\n\n\ndef add_more(parser):\n    g = parser.add_argument_group('rl')\n"
        + MORE.format(to="g")
        + "    return parser\n\n\ndef get_args():\n    parser = argparse.ArgumentParser()\n"
        + "    return add_more(add_model_args(parser)).parse_args()\n",
        "train.py": "from arguments import get_args\n\nargs = get_args()\n",
    },
    "a parser of another file": {
        "config.py": AT_THE_TOP.replace("args = parser.parse_args()\n", ""),
        "train.py": "from config import parser as options\n\noptions.add_argument('--seed')\n"
        + "opt = options.parse_args()\n",
    },
    "what is left is refused": {
        "train.py": AT_THE_TOP.replace(
            "args = parser.parse_args()",
            "args, rest = parser.parse_known_args()\nif rest:\n    print(rest)\n    parser.error(f'what is {rest}?')",
        )
    },
    "functions of a package": {
        "lib/__init__.py": "",
        "lib/options.py": "def add(parser):\n"
        + flags("parser")
        + "    _more(parser)\n\n\ndef _more(p):\n"
        + MORE.format(to="p"),
        "train.py": HEAD
        + "from lib import options\nparser = argparse.ArgumentParser(formatter_class=argparse.RawTextHelpFormatter)\n"
        + "options.add(parser)\nprint(parser.parse_args())\n",
    },
    "as the file is imported": {
        "config.py": AT_THE_TOP,
        "train.py": "from config import args\n\nprint(args.lr)\n",
    },
    "in a loop": {
        "train.py": "import sys\n"
        + HEAD
        + "parser = argparse.ArgumentParser(allow_abbrev=True)\nfor name in ('actor', 'critic'):\n"
        + "    parser.add_argument(f'--{name}-lr', type=float)\n"
        + flags("parser", "")
        + "args = parser.parse_args(sys.argv[1:])\n"
    },
    "choices with a name": {
        "train.py": HEAD
        + "KINDS = ('sft', 'dpo')\nFIRST = 'sft'\nparser = argparse.ArgumentParser()\n"
        + flags("parser", "").replace('choices=["sft", "dpo"], default="sft"', "choices=KINDS, default=FIRST")
        + "args = parser.parse_args()\n",
    },
    "choices that grow": {
        "train.py": HEAD
        + "KINDS = ['sft', 'dpo']\nKINDS.append('ppo')\nparser = argparse.ArgumentParser()\n"
        + flags("parser", "").replace('choices=["sft", "dpo"]', "choices=KINDS")
        + "args = parser.parse_args()\n",
    },
    "words without a name": {
        "train.py": AT_THE_TOP.replace("args =", "parser.add_argument('output', nargs='?')\nargs =")
    },
    "a helper of a framework": {
        "deepspeed.py": "def add_config_arguments(parser):\n"
        + "    parser.add_argument('--deepspeed', action='store_true')\n"
        + "    parser.add_argument('--deepspeed_config')\n    return parser\n",
        "train.py": AT_THE_TOP.replace(
            "args =", "import deepspeed\nparser = deepspeed.add_config_arguments(parser)\nargs ="
        ),
    },
}
# Of these nothing may be said of a flag that nobody knows, or only that it is passed over.
OPEN: dict[str, dict[str, str]] = {
    "what it does not know is kept": {
        "train.py": AT_THE_TOP.replace(
            "args = parser.parse_args()", "args, rest = parser.parse_known_args()\nprint(rest)"
        )
    },
    "what it does not know is looked at": {
        "train.py": AT_THE_TOP.replace(
            "args = parser.parse_args()", "args, rest = parser.parse_known_args()\nif rest:\n    print('also', rest)"
        )
    },
    "a parser of somebody else": {
        "train.py": AT_THE_TOP.replace("args =", "import elsewhere\nelsewhere.add_flags(parser)\nargs =")
    },
    "parents": {
        "train.py": AT_THE_TOP.replace('"train"', "parents=[argparse.ArgumentParser(add_help=False)]"),
    },
    "flags from a table": {
        "train.py": AT_THE_TOP.replace(
            "args =", "for name, kind in {'--made-up': int}.items():\n    parser.add_argument(name, type=kind)\nargs ="
        )
    },
    "a subclass": {
        "train.py": AT_THE_TOP.replace(
            "parser = argparse.ArgumentParser",
            "class Own(argparse.ArgumentParser):\n    def parse_args(self):\n"
            "        return self.parse_known_args()[0]\n\n\nparser = Own",
        )
    },
    "in a container": {
        "train.py": AT_THE_TOP.replace("args =", "for one in [parser]:\n    one.add_argument('--made-up')\nargs =")
    },
    "kept in an object": {
        "train.py": AT_THE_TOP.replace("args =", "import lib\nlib.Options.parser = parser\nlib.extend()\nargs ="),
    },
    "words of its own": {
        "train.py": AT_THE_TOP.replace("parse_args()", "parse_args(['--model-path', 'x'])"),
    },
    "the command line is changed": {
        "train.py": "import sys\n\nsys.argv = [word for word in sys.argv if 'made' not in word]\n" + AT_THE_TOP,
    },
    "two parsers": {
        "train.py": AT_THE_TOP + "other = argparse.ArgumentParser()\nother.add_argument('--made-up')\n",
    },
    "subcommands": {
        "train.py": AT_THE_TOP.replace(
            "args =", "sub = parser.add_subparsers().add_parser('x')\nsub.add_argument('--made-up')\nargs ="
        ),
    },
    "the rest is taken as it is": {
        "train.py": AT_THE_TOP.replace("args =", "parser.add_argument('rest', nargs=argparse.REMAINDER)\nargs ="),
    },
    "another library": {"train.py": AT_THE_TOP.replace("import argparse", "import configargparse as argparse")},
}
RIGHT = (
    ("--lr", "1e-6"), ("--lr=0.1",), ("--learning-rate", "3"), ("--learn", "3"), ("--epochs", "-1"), ("--kind", "dpo"),
    ("--gpus", "0", "1"), ("--bf16",), ("--quiet",), ("-qq",), ("--mod", "second"),
)  # fmt: skip
WRONG = (
    ("--made-up", "1"), ("--lr-scheduler=cosine",), ("--lr", "fast"), ("--epochs", "2.5"), ("--kind", "ppo"),
    ("--bf16", "true"), ("--gpus", "a"), ("--model_path", "x"), ("--epochs", "--bf16"), ("--bf16=1",),
)  # fmt: skip
COMMANDS_OF_EACH = 40


def commands(name: str) -> list[list[str]]:
    """Commands for a program: some right, some with one fault, some without what is required."""
    draw = random.Random(name)
    found = []
    for _ in range(COMMANDS_OF_EACH):
        parts = draw.sample(RIGHT, draw.randint(0, 3))
        if draw.random() < 0.5:
            parts.append(draw.choice(WRONG))
        if draw.random() < 0.85:
            parts.append(("--model-path", "org/model"))
        draw.shuffle(parts)
        found.append([word for part in parts for word in part])
    return found


def refuses(folder: Path, words: list[str], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the program in a folder stops at these words: argparse is asked."""
    for name in ("arguments", "config", "lib", "lib.options", "deepspeed"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "argv", ["train.py", *words])
    code = compile((folder / "train.py").read_text(), "train.py", "exec")
    try:
        with redirect_stderr(io.StringIO()):
            exec(code, {"__name__": "__main__", "print": lambda *_: None})
    except SystemExit as stop:
        return stop.code == 2
    return False


def written(folder: Path, files: dict[str, str], lines: list[list[str]], start: str = "python train.py") -> Path:
    """A project with a script that starts its program with each of these words, one line each."""
    script = "".join(f"{start} {' '.join(words)}".rstrip() + "\n" for words in lines)
    for name, text in {**files, "run.sh": script, ".git/HEAD": "ref: refs/heads/main\n"}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def told(folder: Path) -> dict[int, list[str]]:
    """What is said of each line of `run.sh`, by its number from 1."""
    result = check([str(folder)], Settings())
    found: dict[int, list[str]] = {}
    for finding in result.findings:
        if finding.code not in ("TRL401", "TRL402"):
            continue
        place = finding.location
        if place.path.endswith("run.sh"):
            line = Path(place.path).read_text().count("\n", 0, place.start) + 1
            found.setdefault(line, []).append(f"{finding.severity}: {finding.message}")
    return {line: sorted(messages) for line, messages in found.items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_command_is_refused_as_argparse_refuses_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lines = commands(name)
    folder = written(tmp_path, PROGRAMS[name], lines)
    found = told(folder)
    for number, words in enumerate(lines, start=1):
        said = found.get(number, [])
        is_refused = refuses(folder, words, monkeypatch)
        # A word more is one of those without a name there.
        if name == "words without a name" and ("--bf16", "true") in itertools.pairwise(words):
            assert not said or is_refused, words
            continue
        assert bool(said) == is_refused, (words, said)
        assert all(message.startswith("error") for message in said), said


@pytest.mark.parametrize("name", OPEN)
def test_nothing_is_said_where_flags_may_come_from_elsewhere(name: str, tmp_path: Path):
    lines = [["--model-path", "x", "--made-up", "1"], ["--model-path", "x"]]
    assert told(written(tmp_path, OPEN[name], lines)) == {}


def test_what_is_passed_over_is_a_warning(tmp_path: Path):
    program = AT_THE_TOP.replace("args = parser.parse_args()", "args, _ = parser.parse_known_args()")
    lines = [["--model-path", "x", "--epoch", "3"], ["--model-path", "x", "--epocs", "3"], ["--lr", "fast"]]
    assert told(written(tmp_path, {"train.py": program}, lines)) == {
        2: ["warning: `train.py` ignores the flag `--epocs`: did you mean `--epochs`?"],
        3: [
            "error: `--lr` cannot be `fast`: it needs a number (train.py)",
            "error: `train.py` needs `--model-path`, which this command does not give",
        ],
    }


LAUNCHERS: dict[str, Callable[[str], str]] = {
    "accelerate": lambda words: f"accelerate launch --num_processes 2 train.py {words}",
    "torchrun": lambda words: f"torchrun --nproc_per_node=2 train.py {words}",
    "srun": lambda words: f"srun --ntasks=2 python -u train.py {words}",
    "a variable": lambda words: f'OPTS="{words}"\nOPTS+=" --epochs 2"\npython train.py $OPTS',
    "a whole command in a variable": lambda words: f'CMD="python train.py {words} $@"\necho $CMD\n$CMD',
    "an array": lambda words: f'ARGS=({words})\nARGS+=(--epochs 2)\npython train.py "${{ARGS[@]}}"',
    "a folder from outside": lambda words: (
        f'ROOT=${{1:-/data/code}}\nOPTS="--kind $2"\nOPTS+=" {words}"\nCMD="torchrun $ROOT/train.py $OPTS $@"\n$CMD'
    ),
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_flag_is_found_behind_every_launcher(launcher: str, tmp_path: Path):
    folder = written(tmp_path, {"train.py": AT_THE_TOP}, [])
    (folder / "run.sh").write_text(LAUNCHERS[launcher]("--model-path x --max-steps 10") + "\n")
    expected = "warning" if "outside" in launcher else "error"
    (said,) = {message for messages in told(folder).values() for message in messages}
    assert said == f"{expected}: `train.py` has no flag `--max-steps`"
    (folder / "run.sh").write_text(LAUNCHERS[launcher]("--model-path x --epochs 10") + "\n")
    assert told(folder) == {}


def changed(old: str, new: str) -> str:
    return AT_THE_TOP.replace(old, new)


RANK = "parser.add_argument('{}', type=int)\nargs ="


@pytest.mark.parametrize(
    ("start", "program", "expected"),
    [
        ("deepspeed train.py", AT_THE_TOP, True),
        ("deepspeed --num_gpus 4 --no_local_rank train.py", AT_THE_TOP, False),
        ("deepspeed train.py", changed("args =", RANK.format("--local_rank")), False),
        ("deepspeed train.py", changed("args =", RANK.format("--local-rank")), True),
        ("deepspeed train.py", changed("args = parser.parse_args()", "args, _ = parser.parse_known_args()"), False),
        ("torchrun train.py", AT_THE_TOP, False),
    ],
)
def test_a_launcher_gives_a_flag(start: str, program: str, expected: bool, tmp_path: Path):
    found = told(written(tmp_path, {"train.py": program}, [["--model-path", "x"]], start))
    wanted = "`deepspeed` gives `train.py` the flag `--local_rank`, which it does not have"
    assert [wanted in message for messages in found.values() for message in messages] == [True] * expected


def test_flags_of_deepspeed_are_those_that_it_adds():
    """`add_config_arguments` of deepspeed 0.19.5, as it stands there."""
    from trl_lint.knowledge.families import flags_added_by

    assert set(flags_added_by("deepspeed.add_config_arguments") or ()) >= {"--deepspeed", "--deepspeed_config"}
    assert flags_added_by("deepspeed.initialize") is None


def test_the_programs_are_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Each of them runs, and takes what is right."""
    for name, files in PROGRAMS.items():
        folder = written(tmp_path / name.replace(" ", "-"), files, [])
        assert not refuses(folder, ["--model-path", "x"], monkeypatch), name
        assert refuses(folder, ["--made-up"], monkeypatch), name
    parser: Any = argparse.ArgumentParser
    assert parser.parse_args.__module__ == "argparse"


@pytest.mark.parametrize(("words", "lacking"), [("--a 1 --b 2", []), ("--a 1", ["--b"]), ("", ["--a", "--b"])])
@pytest.mark.parametrize("name", ['f"--{name}"', '"--" + name'])
def test_flags_that_a_loop_declares_have_to_be_given(tmp_path: Path, words: str, lacking: list[str], name: str):
    loop = f'for name in ("a", "b"):\n    parser.add_argument({name}, required=True)\n'
    program = f"import argparse\nparser = argparse.ArgumentParser()\n{loop}args = parser.parse_args()\n"
    (tmp_path / "train.py").write_text(program)
    (tmp_path / "run.sh").write_text(f"python train.py {words}\n")
    found = check([str(tmp_path)], Settings(str(tmp_path))).findings
    messages = [one.message for one in found if one.code in ("TRL402", "TRL003")]
    assert [flag for flag in ("--a", "--b") for message in messages if f"`{flag}`" in message] == (
        lacking if name[0] == "f" else []
    )
    assert not [one for one in found if one.code == "TRL003"]
