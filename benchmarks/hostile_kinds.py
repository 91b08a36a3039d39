# ruff: noqa: E501  a kind is one line
"""Inputs that try to keep the tool busy, or to hide a fault behind what it leaves out: functions from a size to files.

They are drawn from what docs/ says is read: every kind of file, and what there can be many or much of in it. Each has
a canary, a place with a fault that is found where nothing stands around it. The canary has to be found whatever the
size, or a notice has to say that something about its file (or the pins) was left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

Files = dict[str, str]

CANARY = "trl sft --model_name_or_path x --dataset_name y --output_dir o --max_seq_length 5"
CALL = 'GRPOConfig(output_dir="o", max_seq_length=5)'
IMPORT = "from trl import GRPOConfig\n"
PINS = "trl==0.20.0\n"
RECIPE = "model_name_or_path: x\ndataset_name: y\noutput_dir: o\nlearning_rate: 1e-6\n"


class Kind(NamedTuple):
    """Inputs of one kind: `files` at `size`; a finding in `canary` is due. `seen`: such a kind was tried before."""

    name: str
    size: int
    canary: str
    files: Callable[[int], Files]
    seen: bool


KINDS: list[Kind] = []
_Make = Callable[[int], Files]


def kind(size: int, canary: str = "train.py", seen: bool = False) -> Callable[[_Make], _Make]:
    """Take a function, named after what it makes, among the kinds."""

    def take(files: _Make) -> _Make:
        def whole(count: int) -> Files:
            made = files(count)
            return {"requirements.txt": PINS, "train.py": f"{IMPORT}{CALL}\n", **made}

        KINDS.append(Kind(files.__name__.replace("_", " "), size, canary, whole, seen))
        return files

    return take


def several(rows: dict[str, tuple[int, Callable[[int], str]]], path: str, seen: bool = False) -> None:
    """Kinds of one file each, by what there are many of."""
    for name, (size, text) in rows.items():
        kind(size, path, seen)(_named(f"{name} in {path}", partial(_one_file, path, text)))


def _one_file(path: str, text: Callable[[int], str], count: int) -> Files:
    return {path: text(count), "sft.sh": "trl sft --config sft.yaml\n"}


def _named(name: str, make: _Make) -> _Make:
    def named(count: int) -> Files:
        return make(count)

    named.__name__ = name
    return named


def repeated(token: str, count: int) -> str:
    return f"{CANARY}\n{token * count}\n"


def nested(opening: str, inner: str, closing: str) -> Callable[[int], str]:
    return lambda n: f"{opening * n}{inner}{closing * n}\n"


def beside(line: Callable[[int], str], last: str) -> Callable[[int], str]:
    return lambda n: "".join(f"{line(i)}\n" for i in range(n)) + f"{last}\n"


# -- what was found before (the table of the first search) ----------------------------------------------------------

_BROKEN = (
    "\0",
    ")",
    "$[",
    "x=(",
    "<<<",
    "x=( ",
    "for (( ",
    "((",
    "`",
    "${",
    "<(",
    "{",
    "|",
    "&&",
    ";;",
    "case x in ",
    "$((",
    '"',
    "'",
    "[[ ",
)
several(
    {f"broken {token.strip()!r}": (100_000 // len(token), partial(repeated, token)) for token in _BROKEN},
    "run.sh",
    seen=True,
)
several(
    {
        "subshells": (130, nested("( ", CANARY, " )")),
        "groups": (130, nested("{ ", CANARY, "; }")),
        "ifs": (130, nested("if true; then ", CANARY, "; fi")),
        "for loops": (60, nested("for i in 1 2; do ", CANARY, "; done")),
        "functions": (60, nested("f() { ", CANARY, "; }")),
        "substitutions": (60, nested("$( ", CANARY, " )")),
        "defaults in an argument": (200, lambda n: f"{CANARY} --seed {'${A:-' * n}1{'}' * n}\n"),
        "here-documents on one line": (
            5000,
            lambda n: (
                CANARY + "\ncat " + " ".join(f"<<E{i}" for i in range(n)) + "\n" + "".join(f"E{i}\n" for i in range(n))
            ),
        ),
        "getopts cases": (
            1500,
            lambda n: (
                'while getopts "a:b:" o; do case $o in\n'
                + "".join(f"a{i}) X{i}=$OPTARG;;\n" for i in range(n))
                + f"esac; done\n{CANARY}\n"
            ),
        ),
    },
    "run.sh",
    seen=True,
)


@kind(3, "run.sh", seen=True)
def scripts_in_scripts(n: int) -> Files:
    import shlex

    text = CANARY
    for _ in range(n):
        text = f"bash -c {shlex.quote(text)}"
    return {"run.sh": text + "\n"}


@kind(30, "Makefile", seen=True)
def variables_of_variables_in_a_makefile(n: int) -> Files:
    names = "".join(f"A{i + 1} = $(A{i})\n" for i in range(n))
    return {"Makefile": f"A0 = --max_seq_length 5\n{names}\nall:\n\t{CANARY.rpartition(' --max')[0]} $(A{n})\n"}


@kind(9, seen=True)
def classes_of_classes(n: int) -> Files:
    classes = "".join(f"class A{i + 1}(A{i}):\n    pass\n" for i in range(n))
    return {"train.py": f"from trl import GRPOConfig as A0\n{classes}A{n}(output_dir='o', max_seq_length=5)\n"}


@kind(300, seen=True)
def digits_of_a_release(n: int) -> Files:
    return {"requirements.txt": f"trl=={'1' * n}\n"}


@kind(800, seen=True)
def pins_above(n: int) -> Files:
    return {"requirements.txt": "".join(f"trl>0.{i // 40}.{i % 40}\n" for i in range(n))}


@kind(600, seen=True)
def pins_above_in_setup_cfg(n: int) -> Files:
    lines = "".join(f"    trl>0.{i // 40}.{i % 40}\n" for i in range(n))
    return {
        "requirements.txt": "",
        "setup.cfg": f"[metadata]\nname = x\n[options]\ninstall_requires =\n{lines}",
    }


@kind(18, seen=True)
def doubled_list_in_setup_py(n: int) -> Files:
    lines = "".join(f"a{i + 1} = a{i} + a{i}\n" for i in range(n))
    head = "from setuptools import setup\na0 = ['trl==0.20.0']\n"
    return {"requirements.txt": "", "setup.py": f"{head}{lines}setup(name='x', install_requires=a{n})\n"}


@kind(5000, "ds.json", seen=True)
def equal_keys_on_one_line(n: int) -> Files:
    return {
        "ds.json": '{"train_batch_size": 8, "fp16": {"enabled": true}, "bf16": {"enabled": true}, '
        + ", ".join(['"zero_optimization": {"stage": 2}'] * n)
        + "}\n"
    }


@kind(3000, seen=True)
def calls_on_one_line(n: int) -> Files:
    return {"train.py": f"{IMPORT}{'; '.join([CALL] * n)}\n"}


@kind(250, seen=True)
def stars_in_extend_exclude(n: int) -> Files:
    pattern = "**/" * n + "*a" * n
    files = {f"{'a' * 60}/{'a' * 100}{i}.py": "x = 1\n" for i in range(200)}
    return {"trl-lint.toml": f"extend-exclude = [{json.dumps(pattern)}]\n", **files}


@kind(300, seen=True)
def stars_in_gitignore(n: int) -> Files:
    return {".gitignore": ("**/" + "*a" * 20 + "\n!x\n") * n, **{f"{'a' * 80}{i}.py": "x = 1\n" for i in range(60)}}


@kind(2000, seen=True)
def per_file_ignores(n: int) -> Files:
    rows = "".join(f'"**/*{i}*/x*{i}.py" = ["TRL301"]\n' for i in range(n))
    return {
        "trl-lint.toml": f"[per-file-ignores]\n{rows}",
        **{f"{'b' * 60}/{i}.py": f"{IMPORT}{CALL}\n" for i in range(30)},
    }


@kind(180, "sft.yaml", seen=True)
def base_sixty(n: int) -> Files:
    return {
        "sft.sh": "trl sft --config sft.yaml\n",
        "sft.yaml": f"{RECIPE}max_seq_length: 5\nseed: {':'.join(['59'] * n)}.5\n",
    }


@kind(20_000, seen=True)
def f_strings_in_formats(n: int) -> Files:
    return {"train.py": f"{IMPORT}{CALL}\nx = f'{'{a:{b}}' * n}'\n"}


@kind(2500, seen=True)
def dataclasses_of_a_parser(n: int) -> Files:
    classes = "".join(f"@dataclass\nclass D{i}:\n    a{i}: int = 0\n" for i in range(n))
    names = ", ".join(f"D{i}" for i in range(n))
    head = f"from dataclasses import dataclass\nfrom transformers import HfArgumentParser\n{IMPORT}"
    return {
        "train.py": f"{head}{classes}p = HfArgumentParser(({names}, GRPOConfig))\np.parse_args_into_dataclasses()\n{CALL}\n"
    }


@kind(120_000, "other.py", seen=True)
def punycode(n: int) -> Files:
    return {"train.py": f"# coding: punycode\n{'x' * n}-{'a' * 60_000}\n", "other.py": f"{IMPORT}{CALL}\n"}


@kind(400, "sft.yaml", seen=True)
def merge_lists_of_anchors(n: int) -> Files:
    anchors = "".join(f"a{i}: &a{i}\n  k{i}: 1\n" for i in range(n))
    merged = "".join(f"m{i}:\n  <<: [{', '.join(f'*a{j}' for j in range(n))}]\n" for i in range(60))
    return {"sft.sh": "trl sft --config sft.yaml\n", "sft.yaml": f"{RECIPE}max_seq_length: 5\n{anchors}{merged}"}


@kind(200, seen=True)
def packages_in_packages(n: int) -> Files:
    made, at = {}, ""
    for _ in range(n):
        at += "a/"
        made[f"{at}__init__.py"] = ""
    return {**made, f"{at}m.py": f"{IMPORT}{CALL}\n"}


# -- new ones, by kind of file ----------------------------------------------------------------------------------------

several(
    {
        "while reads": (4000, beside(lambda i: f"while read -r a{i}; do echo $a{i}; done < f{i}", CANARY)),
        "arithmetic": (3000, beside(lambda i: f"(( X{i} = X{i - 1} * 2 + {i} ))", CANARY)),
        "arrays appended to": (1500, beside(lambda i: f"ARGS+=(--a{i} {i})", CANARY + ' "${ARGS[@]}"')),
        "a word of quotes": (20_000, lambda n: f"{CANARY} --seed {chr(39) * 2 * n}1\n"),
        "a word of expansions": (6000, lambda n: f"A=1\n{CANARY} --run_name {'${A}-' * n}\n"),
        "traps": (2000, beside(lambda i: f"trap 'echo {i}; rm -f /tmp/{i}' EXIT INT", CANARY)),
        "case branches": (2500, lambda n: "case $1 in\n" + "".join(f"m{i}|n{i}) MODEL=m{i} ;;\n" for i in range(n)) + f"esac\n{CANARY} --run_name $MODEL\n"),
        "pipes": (2000, lambda n: f"{CANARY} 2>&1{' | tee -a log' * n}\n"),
        "conditions in a row": (4000, lambda n: " && ".join(["[[ -f a ]]"] * n) + f" && {CANARY}\n"),
        "elifs": (1500, lambda n: "if a; then b=1\n" + "".join(f"elif [ $x = {i} ]; then b={i}\n" for i in range(n)) + f"fi\n{CANARY} --seed $b\n"),
        "continued lines": (4000, lambda n: f"{CANARY} " + "".join(f"\\\n  --a{i} {i} " for i in range(n)) + "\n"),
        "process substitutions": (60, lambda n: f"{CANARY} --a {'<(cat ' * n}x{')' * n}\n"),
        "backquotes": (6, lambda n: _backquoted(n)),
        "open quotes": (3000, lambda n: f"{CANARY}\n" + "echo 'a\necho \"b\n" * n),
        "crossed brackets": (12_000, lambda n: f"{CANARY}\n" + "( { " * n + ") } " * n + "\n"),
        "half heredocs": (1500, lambda n: f"{CANARY}\n" + "".join(f"cat <<EOF{i} && (\nx\n" for i in range(n))),
        "select and coproc": (3000, beside(lambda i: f"select a in b c; do break; done; coproc C{i} {{ cat; }}", CANARY)),
        "stray dones": (15_000, lambda n: f"{CANARY}\n" + "done; fi; esac; }\n" * n),
        "redirections": (3000, lambda n: f"{CANARY} " + " ".join(f"{i % 9 + 3}>f{i}" for i in range(n)) + "\n"),
        "aliases and sources": (1500, beside(lambda i: f"alias a{i}='b c'; . ./env{i}.sh", CANARY)),
    },
    "run.sh",
)  # fmt: skip


def _backquoted(depth: int) -> str:
    text = CANARY
    for _ in range(depth):
        text = "`" + text.replace("\\", "\\\\").replace("`", "\\`") + "`"
    return text + "\n"


several(
    {
        "nested calls": (60, lambda n: f"{IMPORT}x = {'f(' * n}{CALL}{')' * n}\n"),
        "blocks": (40, lambda n: IMPORT + "".join(f"{' ' * i}if a{i}:\n" for i in range(n)) + f"{' ' * n}{CALL}\n"),
        "tries": (1500, lambda n: IMPORT + "".join(f"try:\n    x{i} = 1\nexcept E{i}:\n    x{i} = 2\n" for i in range(n)) + CALL + "\n"),
        "a dict built up": (2000, lambda n: f"{IMPORT}d = dict(output_dir='o')\n" + "".join(f"d['a{i % 7}'] = {i}\n" for i in range(n)) + "d['max_seq_length'] = 5\nGRPOConfig(**d)\n"),
        "conditional values": (800, lambda n: f"{IMPORT}s = 1\n" + "".join(f"if c{i}: s = {i}\n" for i in range(n)) + "GRPOConfig(output_dir='o', seed=s, max_seq_length=5)\n"),
        "lambdas": (80, lambda n: f"{IMPORT}x = {'lambda: ' * n}{CALL}\n"),
        "decorators": (3000, lambda n: IMPORT + "".join(f"@d{i}\n" for i in range(n)) + f"def f():\n    return {CALL}\n"),
        "walrus": (3000, lambda n: f"{IMPORT}{CALL}\nx = [" + ", ".join(f"(a{i} := a{i - 1})" for i in range(1, n)) + "]\n"),
        "matches": (1500, lambda n: f"{IMPORT}match x:\n" + "".join(f"    case {{'a': {i}}}:\n        y = {i}\n" for i in range(n)) + f"{CALL}\n"),
        "names of names": (1500, lambda n: f"{IMPORT}a0 = GRPOConfig\n" + "".join(f"a{i + 1} = a{i}\n" for i in range(n)) + f"a{n}(output_dir='o', max_seq_length=5)\n{CALL}\n"),
        "string pieces": (6000, lambda n: f"{IMPORT}{CALL}\nx = (" + " + ".join(["(f'{a}' 'b')"] * n) + ")\n"),
        "imports in functions": (2500, lambda n: "".join(f"def f{i}():\n    from trl import GRPOConfig as C{i}\n    return C{i}(output_dir='o', max_seq_length={i})\n" for i in range(n))),
        "noqa of many codes": (4000, lambda n: f"{IMPORT}{CALL}\nx = 1  # noqa: " + ", ".join(f"TRL{i % 900:03}" for i in range(n)) + "\n"),
        "wrong comments": (8000, lambda n: f"{IMPORT}{CALL}\n" + "".join(f"x = {i}  # noqa TRL30{i % 9}: until trl>={i}\n" for i in range(n))),
    },
    "train.py",
)  # fmt: skip

several(
    {
        "keys": (9000, lambda n: f"{RECIPE}max_seq_length: 5\n" + "".join(f"k{i}: v\n" for i in range(n))),
        "documents": (3000, lambda n: f"{RECIPE}max_seq_length: 5\n" + "---\na: 1\n" * n),
        "aliases of aliases": (40, lambda n: f"{RECIPE}max_seq_length: 5\na0: &a0 [x, x]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}, *a{i}]\n" for i in range(n))),
        "block scalars": (3000, lambda n: f"{RECIPE}max_seq_length: 5\n" + "".join(f"t{i}: |\n  a: b\n  c\n" for i in range(n))),
        "interpolations": (1500, lambda n: f"{RECIPE}max_seq_length: 5\na0: 1\n" + "".join(f"a{i + 1}: ${{a{i}}}\n" for i in range(n))),
        "huge numbers": (1200, lambda n: f"{RECIPE}max_seq_length: 5\n" + "".join(f"x{i}: 1e{'9' * (i % 400 + 1)}\n" for i in range(n))),
        "quotes and escapes": (30_000, lambda n: f"{RECIPE}max_seq_length: 5\nx: \"{chr(92) + 'x41'}" + "\\u0041" * n + '"\n'),
    },
    "sft.yaml",
)  # fmt: skip


@kind(2000, "README.md")
def install_blocks_in_a_page(n: int) -> Files:
    blocks = "".join(f'{"#" * (i % 5 + 1)} Step {i}\n\n```bash\npip install "pkg{i}>={i}"\n```\n' for i in range(n))
    return {"README.md": f"```bash\n{CANARY}\n```\n{blocks}"}


@kind(40_000, "README.md")
def open_fences_in_a_page(n: int) -> Files:
    return {"README.md": f"```bash\n{CANARY}\n```\n" + "~~~`\n> - ```sh x\n" * (n // 10)}


@kind(1200, "Dockerfile")
def arguments_of_a_dockerfile(n: int) -> Files:
    names = "".join(f"ARG A{i}=1\nENV B{i}=${{A{i}}}:${{B{i - 1}}}\n" for i in range(n))
    return {"Dockerfile": f"FROM x\n{names}RUN {CANARY}\n"}


@kind(600, "Makefile")
def targets_of_a_makefile(n: int) -> Files:
    rules = "".join(f"t{i}: t{i + 1}\n\t$(MAKE) -C d{i} A={i}\n" for i in range(n))
    return {"Makefile": f"all: t0\n\t{CANARY}\n{rules}"}


@kind(700, ".github/workflows/ci.yml")
def jobs_of_a_workflow(n: int) -> Files:
    jobs = "".join(
        f"  j{i}:\n    needs: [j{i - 1}]\n    env: {{A: '${{{{ env.B{i} }}}}'}}\n    steps:\n      - run: pip install a{i}\n"
        for i in range(n)
    )
    return {".github/workflows/ci.yml": f"on: push\njobs:\n  first:\n    steps:\n      - run: {CANARY}\n{jobs}"}


@kind(900, "compose.yaml")
def services_of_a_compose_file(n: int) -> Files:
    services = "".join(f"  s{i}:\n    image: x\n    command: echo {i}\n    depends_on: [s{i - 1}]\n" for i in range(n))
    return {"compose.yaml": f"services:\n  first:\n    image: x\n    command: {CANARY}\n{services}"}


@kind(1500, "n.ipynb")
def cells_of_a_notebook(n: int) -> Files:
    sources = [f"{IMPORT}{CALL}\n", *(f"%env A{i}=1\n!pip install a{i}\n" for i in range(n))]
    cells = [{"cell_type": "code", "source": [text], "metadata": {}, "outputs": []} for text in sources]
    return {"n.ipynb": json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})}


@kind(3000, "job.slurm")
def scheduler_lines(n: int) -> Files:
    return {"job.slurm": "#!/bin/bash\n" + "#SBATCH --gres=gpu:8 --x\n" * n + f"{CANARY}\n"}


@kind(2500)
def markers_of_requirements(n: int) -> Files:
    return {"requirements.txt": PINS + "".join(f"a{i % 50}==1.{i}; python_version < '3.{i}'\n" for i in range(n))}


@kind(400)
def requirements_that_include_each_other(n: int) -> Files:
    files = {f"r{i}.txt": "".join(f"-r r{(i * 7 + j) % n}.txt\n" for j in range(1, 4)) for i in range(n)}
    return {"requirements.txt": f"{PINS}-r r0.txt\n-c r1.txt\n", **files}


@kind(600)
def extras_of_a_project(n: int) -> Files:
    extras = "".join(f'e{i} = ["a{i}==1.{i}", "x[e{i - 1}]"]\n' for i in range(1, n))
    project = f'[project]\nname = "x"\nversion = "1"\ndependencies = ["trl==0.20.0"]\n[project.optional-dependencies]\n{extras}'
    return {"requirements.txt": "", "pyproject.toml": project}


@kind(1500)
def packages_of_conda(n: int) -> Files:
    names = "".join(f"  - a{i}={i}.*\n" for i in range(n))
    return {"requirements.txt": "", "environment.yml": f"name: x\ndependencies:\n{names}  - pip:\n    - trl==0.20.0\n"}


@kind(300)
def lines_joined_in_requirements(n: int) -> Files:
    return {"requirements.txt": PINS + "".join(f"a{i}>=1 \\\n  --hash=sha256:{'0' * 64}\n" * 4 for i in range(n))}


@kind(1500)
def pins_that_exclude(n: int) -> Files:
    return {"requirements.txt": PINS + "".join(f"trl!=0.{i}.{i % 9}\n" for i in range(n))}


@kind(1500)
def pins_of_wildcards(n: int) -> Files:
    return {"requirements.txt": PINS + "".join(f"transformers>=4.{i}.0,!=4.{i}.*\n" for i in range(n))}


@kind(2000)
def formulas_in_setup_py(n: int) -> Files:
    lines = "".join(f"extras['e{i}'] = extras['e{i - 1}'] + ['a{i}>={i}']\n" for i in range(1, n // 10))
    head = "from setuptools import setup\nextras = {}\nextras['e0'] = ['b']\n"
    return {"setup.py": f"{head}{lines}setup(name='x', install_requires=['trl==0.20.0'], extras_require=extras)\n"}


@kind(22)
def multiplied_list_in_setup_py(n: int) -> Files:
    head = "from setuptools import setup\na = ['trl==0.20.0']\n"
    loops = "for i in range(2000):\n    a += ['trl>0.0.%d' % i]\n" + "a *= 2\n" * n
    return {"requirements.txt": "", "setup.py": f"{head}{loops}setup(name='x', install_requires=a)\n"}


@kind(3000, "ds.json")
def keys_of_deepspeed(n: int) -> Files:
    keys = {f"k{i}": {"a": i} for i in range(n)}
    return {
        "ds.json": json.dumps(
            {
                "zero_optimization": {"stage": 2},
                "fp16": {"enabled": True},
                "bf16": {"enabled": True},
                "train_batch_size": 8,
                **keys,
            }
        )
    }


@kind(500, "sft.yaml")
def extends_of_settings(n: int) -> Files:
    links = {f"s{i}.toml": f'extend = "s{i + 1}.toml"\n' for i in range(min(n, 6))}
    codes = ", ".join(f'"TRL{i % 900:03}"' for i in range(n))
    return {
        "sft.sh": "trl sft --config sft.yaml\n",
        "sft.yaml": f"{RECIPE}max_seq_length: 5\n",
        "s6.toml": f"exclude = [{', '.join(json.dumps('x' * i + '*') for i in range(1, n))}]\n",
        **links,
        "notes.txt": codes,
        "trl-lint.toml": 'extend = "s0.toml"\n',
    }


@kind(250)
def modules_that_import_all(n: int) -> Files:
    files = {f"m{i}.py": f"from m{(i + 1) % n} import *\nfrom m{(i * 3 + 1) % n} import *\n" for i in range(n)}
    return {**files, "train.py": f"from m0 import *\n{IMPORT}{CALL}\n"}


@kind(40)
def folders_of_pins(n: int) -> Files:
    return {f"{'d/' * i}requirements.txt": PINS + f"a{i}\n" for i in range(n)} | {
        f"{'d/' * (n - 1)}x.py": f"{IMPORT}{CALL}\n"
    }


@kind(400, "run.sh")
def verl_overrides(n: int) -> Files:
    words = " ".join(f"+a.b{i}.c{i % 9}='[{i},{{x:{i}}}]'" for i in range(n))
    return {"run.sh": f"python -m verl.trainer.main_ppo {words}\n{CANARY}\n"}
