"""Commands that Python files start: which are read, where they stand, and what of them is not known."""

from __future__ import annotations

import pytest

from trl_lint.project.launches import read_launches
from trl_lint.project.python_commands import started_commands
from trl_lint.sources import Source, SourceFile


def words_of(text: str) -> list[list[str | None]]:
    text = f"import os, shlex, subprocess, sys\nfrom subprocess import Popen, check_call as call\n{text}\n"
    source = Source(SourceFile("/project/start.py", text.encode()), "python")
    found = started_commands(source)
    for command in found:
        for word in command.words:
            assert word.raw == '"$@"' or source.text[word.start : word.end].endswith(word.raw)
    return [[word.text for word in command.words] for command in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('subprocess.run(["python", "x.py", "--lr", "1"], check=True)', [["python", "x.py", "--lr", "1"]]),
        ('subprocess.check_call(("python", "x.py"))', [["python", "x.py"]]),
        ('Popen([sys.executable, "-m", "x"])', [["python", "-m", "x"]]),
        ('call(["python", NAME])', [["python", None]]),
        ('N = "x.py"\ncall(["python", N])', [["python", "x.py"]]),
        ('call(["python", f"x={n}"])', [["python", None]]),
        ('call(["python", "x.py", *sys.argv[1:]])', [["python", "x.py", None]]),
        ('call(["python", "x.py"] + more)', [["python", "x.py", None]]),
        ('call(["python", "x.py"] + ["--a"])', [["python", "x.py", "--a"]]),
        ('c = ["python", "x.py"]\ncall(c)', [["python", "x.py"]]),
        ('c = ["python", "x.py"]\nc += ["--a"]\ncall(c)', [["python", "x.py", "--a"]]),
        ('c = ["python", "x.py"]\nc.append("--a")\ncall(c)', [["python", "x.py", "--a"]]),
        (
            'c = ["python", "x.py"]\nc.extend(("--a", A))\nc.append("-b")\ncall(c)',
            [["python", "x.py", "--a", None, "-b"]],
        ),
        ('c = ["python", "x.py"]\nc += more()\nc += ["-b"]\ncall(c)', [["python", "x.py", None, "-b"]]),
        ('c = ["python", "x.py"]\nif a:\n    c += ["--a"]\nc += ["-b"]\ncall(c)', [["python", "x.py", None, "-b"]]),
        ('c = ["python", "x.py"]\nfor a in b:\n    c += ["--a"]\ncall(c)', [["python", "x.py", None]]),
        ('c = ["python", "x.py"]\ncall(c)\nc += ["--a"]', [["python", "x.py", None]]),
        ('c = ["python", "x.py"]\ncall(c + ["--a"])\n', [["python", "x.py", "--a"]]),
        (
            'def f():\n    c = ["python", "x.py"]\n    c += ["--a"]\n    return c\ncall(f())',
            [["python", "x.py", "--a"]],
        ),
        (
            'def f(n):\n    return ["python", "x.py", n]\nc = f(1)\nc += ["-b"]\ncall(c)',
            [["python", "x.py", "1", "-b"]],
        ),
        ('c = "python x.py --a".split()\ncall(c)', [["python", "x.py", "--a"]]),
        ('subprocess.run(shlex.split("python x.py"))', [["python", "x.py"]]),
        ('os.system("python x.py --a 1")', [["python", "x.py", "--a", "1"]]),
        ('os.system("A=1 python x.py; python y.py")', [["python", "x.py"], ["python", "y.py"]]),
        ('os.system(f"python x.py --a {a} --b=2")', [["python", "x.py", "--a", None, "--b=2"]]),
        ('os.system("""python x.py \\\n  --a 1""")', [["python", "x.py", "--a", "1"]]),
        ('c = "python x.py"\nos.system(c)', [["python", "x.py"]]),
        ('subprocess.run("python x.py", shell=True)', [["python", "x.py"]]),
    ],
)
def test_what_is_written_out_is_known(text: str, expected: list[list[str | None]]) -> None:
    assert words_of(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        'subprocess.run("python x.py")',  # the name of one program
        "subprocess.run(command)",
        "subprocess.run(shlex.split(\"python 'x.py'\"))",
        "subprocess.run(shlex.split(command))",
        'def f(a):\n    if a:\n        return ["python", "x.py"]\n    return ["python", "y.py"]\ncall(f(1))',
        "def f():\n    return f()\ncall(f())",
        'c = ["python", "x.py"]\nc[1] = "y.py"\ncall(c)',
        'c = ["python", "x.py"]\nc.insert(0, "nice")\ncall(c)',
        'c = ["python", "x.py"]\nc = ["python", "y.py"]\ncall(c)',
        'call([NAME, "x.py"])',
        'os.system("python " + name)',
        'os.system("python x.py \\"a\\"")',  # what the shell sees is not what is written
        'os.system(f"python {{x}}.py")',
        'run(["python", "x.py"])',
        'print(["python", "x.py"])',
    ],
)
def test_all_else_is_not_read(text: str) -> None:
    assert words_of(text) == []


def launches(text: str, path: str = "/project/start.py") -> list[tuple[str, str | None, bool]]:
    found = read_launches(SourceFile(path, text.encode()))
    return [(one.launcher, one.script.text if one.script else one.module, one.is_documentation) for one in found]


def test_they_are_launches() -> None:
    text = '"""\n    python doc.py\n"""\nimport subprocess\nsubprocess.run(["accelerate", "launch", "train.py"])\n'
    assert launches(text) == [("python", "doc.py", True), ("accelerate", "train.py", False)]


def test_those_of_tests_are_often_meant_to_fail() -> None:
    text = 'import subprocess\nsubprocess.run(["accelerate", "launch", "train.py"])\n'
    assert launches(text, "/project/tests/test_start.py") == []


def test_an_environment_of_its_own_may_set_anything() -> None:
    text = 'import subprocess\nsubprocess.run(["python", "train.py"], env=env, cwd="/elsewhere")\n'
    (launch,) = read_launches(SourceFile("/project/start.py", text.encode()))
    assert launch.env["WORLD_SIZE"].text is None and launch.command.directory is None
    assert launch.command.exec_form
