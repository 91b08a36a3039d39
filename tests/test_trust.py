"""What reading somebody's project may never do: run it, build its objects, ask the network, drive the terminal."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Shell, process
from documents import ROOT

from trl_lint.reports import FORMATS

# Python tells an audit hook of every socket, process and piece of code, whoever asks for it. It cannot be taken off.
GUARD = """
import os, sys

project, *arguments = sys.argv[1:]
FORBIDDEN = (
    "socket.", "urllib.", "http.client.", "ftplib.", "smtplib.", "subprocess.", "os.system", "os.exec", "os.spawn",
    "os.posix_spawn", "os.startfile", "ctypes.dlopen", "pty.", "webbrowser.", "shelve.", "pickle.",
)

def watch(event, details):
    if event == "pickle.find_class" and details[0].startswith("trl_lint."):
        return  # what a process of our own hands back: forked, it has this guard too
    if event.startswith(FORBIDDEN):
        sys.stderr.write(f"FORBIDDEN {event} {details!r}\\n")
        os._exit(99)
    if event == "exec" and details[0].co_filename.startswith(project):
        sys.stderr.write(f"EXECUTED {details[0].co_filename}\\n")
        os._exit(98)

import platform, yaml
import yaml.constructor

def construct(*arguments):
    sys.stderr.write("CONSTRUCTED\\n")
    os._exit(97)

for name in ("construct_document", "construct_object", "get_data", "get_single_data"):
    setattr(yaml.constructor.BaseConstructor, name, construct)
sys.addaudithook(watch)
sys.argv = ["trl-lint", *arguments]
BAIT
from trl_lint.cli import main
sys.exit(main(arguments))
"""
COMMANDS = (
    ["check", ".", "--select", "ALL"],
    ["check", ".", "--jobs", "1"],
    ["check", ".", "--jobs", "3"],
    ["check", ".", "--select", "ALL", "--fix", "--unsafe-fixes", "--show-fixes"],
    ["check", ".", "--diff", "--unsafe-fixes"],
    ["environment", "."],
    ["runs", "."],
)
YAML = "!!python/object/apply:os.system ['touch owned']"
ESCAPES = "\x1b]0;owned\x07\x1b[31m\x9b31m\u202e"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Fixtures of every topic, with code that would tell of it if it ran, and YAML that asks for objects."""
    folder = tmp_path / "project"
    for topic in ("TRL101", "TRL201", "TRL301", "TRL405", "TRL501", "TRL601"):
        for case in sorted((ROOT / "fixtures" / topic).glob("bad_*"))[:4]:
            shutil.copytree(case, folder / topic / case.name, ignore=shutil.ignore_patterns("*.fixed", "*.expect"))
    for path in list(folder.rglob("*.py")):
        path.write_text(f"{path.read_text('utf-8')}\nopen('owned', 'w')\n", "utf-8")
    (folder / "objects.yaml").write_text(f"output_dir: out\nlearning_rate: 1.0e-6\nmax_grad_norm: {YAML}\n", "utf-8")
    (folder / "conda.yml").write_text(f"name: x\ndependencies:\n  - {YAML}\n  - trl=0.15.2\n", "utf-8")
    for name in ("conftest.py", "setup.py", "yaml.py", "torch.py", "trl.py", "sitecustomize.py"):
        (folder / name).write_text("import os\nos.system('touch owned')\n", "utf-8")
    return folder


def guarded(project: Path, arguments: list[str], bait: str = "") -> subprocess.CompletedProcess[str]:
    script = GUARD.replace("BAIT", bait)
    return subprocess.run(
        [sys.executable, "-c", script, os.path.realpath(project), *arguments],
        cwd=project,
        # The project is not on the path, and so its yaml.py is not what the guard imports.
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", "HOME": str(project)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(sys.version_info < (3, 11), reason="an older Python puts the project on the path of the guard")
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_nothing_is_run_built_or_asked_of_the_network(arguments: list[str], project: Path):
    done = guarded(project, arguments)
    assert done.returncode in (0, 1), done.stderr[-2000:]
    assert done.stdout.strip()
    assert not list(project.rglob("owned"))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="an older Python puts the project on the path of the guard")
@pytest.mark.parametrize(
    ("bait", "status"),
    [
        ("import socket; socket.create_connection(('127.0.0.1', 9))", 99),
        ("os.system('true')", 99),
        ("exec(compile('', project + '/setup.py', 'exec'))", 98),
        ("yaml.safe_load('a: 1')", 97),
    ],
)
def test_the_guard_would_notice(bait: str, status: int, project: Path):
    assert guarded(project, ["check", "."], bait).returncode == status


def on_a_terminal(arguments: list[str], folder: Path, statuses: tuple[int, ...] = (0, 1)) -> bytes:
    """What a command writes where it believes to face a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "trl_lint", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        if not data:
            break
        written += data
    os.close(ours)
    assert process.wait() in statuses, written
    return written


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
@pytest.mark.parametrize(
    "arguments",
    [*COMMANDS, ["check", ".", "--output-format", "concise"], ["check", ".", "--output-format", "json"]],
    ids=" ".join,
)
def test_no_file_drives_the_terminal(arguments: list[str], tmp_path: Path):
    """Names, comments, values and commands of the project are all hostile here; only the tool may move the cursor."""
    folder = tmp_path / "project"
    folder.mkdir()
    recipe = f"output_dir: out # {ESCAPES}\nlearning_rate: 1.0e-6\nnum_generations: 8\nmax_grad_norm: 0  # {ESCAPES}\n"
    (folder / f"re{ESCAPES}cipe.yaml").write_text(f"model_name_or_path: '{ESCAPES}'\n{recipe}", "utf-8")
    (folder / "requirements.txt").write_text(f"trl==0.15.2 # {ESCAPES}\nvllm==0.9.0\nx{ESCAPES}==1\n", "utf-8")
    (folder / "run.sh").write_text(f"CUDA_VISIBLE_DEVICES=0,1 python 'tr{ESCAPES}.py' --x '{ESCAPES}'\n", "utf-8")
    (folder / f"tr{ESCAPES}.py").write_text(f"from trl import GRPOConfig, Nope\nGRPOConfig(x='{ESCAPES}')\n", "utf-8")
    written = on_a_terminal(arguments, folder)
    assert written.strip()
    # What the tool itself writes to a terminal is its line of progress: carriage return and "erase the line".
    text = written.decode("utf-8").replace("\x1b[K", "")
    assert not set(text) & set("\x1b\x07\x9b\u202e"), [line for line in text.splitlines() if "\x1b" in line][:3]


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
@pytest.mark.parametrize(
    "text", ['extend = "{}"\n', '"{}" = 1\n', '[per-file-ignores]\n"{}" = ["NOPE"]\n', 'target = ["{}"]\n', "x{}"]
)
def test_no_setting_drives_the_terminal(text: str, tmp_path: Path):
    (tmp_path / "trl-lint.toml").write_text(text.format("\\n\\u001b[31m\\u009b1m\\u202e\\u0000"), "utf-8")
    written = on_a_terminal(["check", "."], tmp_path, (2,)).decode("utf-8").replace("\x1b[K", "")
    assert written.strip() and not set(written) & set("\x1b\x07\x9b\u202e\0")


# -- orders to a CI runner --------------------------------------------------------------------------------------------

ORDERS = ("::set-output name=x::y", "##[set-output name=status]0", "##vso[task.complete]done")
NAMES = ("set-output", "task.complete", "stop-commands", "error", "warning", "notice", "add-mask", "group")


def order_in(line: str) -> str:
    """The command that a runner would take a line for, "" for none.

    After actions/runner, src/Runner.Common/ActionCommand.cs, `TryParseV2` and `TryParse`, which ask for a command that
    is registered; Azure's agent asks for `##vso[`.
    """
    trimmed = line.strip()
    if trimmed.startswith("::") and (end := trimmed.find("::", 2)) >= 0:
        name = trimmed[2:end].partition(" ")[0]
        if name in NAMES:
            return name
    for prefix in ("##[", "##vso["):
        start = line.find(prefix)
        end = line.find("]", start)
        if start >= 0 and end >= 0:
            name = line[start + len(prefix) : end].partition(" ")[0]
            if name in NAMES:
                return name
    return ""


def test_the_grammar_of_a_runner() -> None:
    assert [order_in(line) for line in ORDERS] == ["set-output", "set-output", "task.complete"]
    assert [order_in(line) for line in ("  ::error file=x::y", "x ::error::y", "## [error]", "3 | ##[group]")] == [
        "error", "", "", "group",
    ]  # fmt: skip


@pytest.fixture
def ordering(tmp_path: Path) -> Path:
    """A project whose names, comments, values and messages are orders."""
    for number, order in enumerate(ORDERS):
        name = order.replace("/", "")
        recipe = f"output_dir: out # {order}\nlearning_rate: 1.0e-6\nnum_generations: 8\nmax_grad_norm: 0  # {order}\n"
        (tmp_path / f"{name}.yaml").write_text(f"model_name_or_path: '{order}'\n'{order}': 1e-6\n{recipe}", "utf-8")
        script = (
            f"from trl import GRPOConfig, Nope\n{order!r}\nGRPOConfig(x='''\n{order}\n''',\n  **{{{order!r}: 1}})\n"
        )
        (tmp_path / f"{name}.py").write_text(script, "utf-8")
        launch = f"CUDA_VISIBLE_DEVICES=0,1 python '{name}.py' --x '{order}'\npython '{order}/missing.py'\n"
        (tmp_path / f"{name}.sh").write_text(launch, "utf-8")
        fixable = f"trl==0.15.2 # {order}\n{order}\n"
        (tmp_path / f"requirements{number}.txt").write_text(fixable, "utf-8")
        mask = f"def f(a, x):\n    # {order}\n    '''\n{order}\n'''\n    p = a.prepare_model(x, evaluation_mode=True)\n"
        (tmp_path / f"{name}_.py").write_text(f"from accelerate import Accelerator\n{mask}", "utf-8")
    (tmp_path / "requirements.txt").write_text("trl==0.15.2\nvllm==0.9.0\n", "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        *COMMANDS,
        *(["check", ".", "--verbose", "--hints", "--output-format", name] for name in FORMATS),
        *(["check", ".", "--statistics", "--output-format", name] for name in ("full", "json")),
        ["environment", ".", "--output-format", "json"],
        ["runs", ".", "--output-format", "json"],
    ],
    ids=" ".join,
)
def test_no_file_gives_orders_to_a_runner(
    arguments: list[str], ordering: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.chdir(ordering)
    done = Shell(ordering, capsys)(*arguments)
    assert done.status in (0, 1), done.err
    lines = f"{done.out}\n{done.err}".splitlines()
    ours = ("error", "warning", "notice") if "github" in arguments else ()
    assert [line for line in lines if order_in(line) not in ("", *ours)] == []
    assert len(lines) > 3
    assert not set("\n".join(lines)) & set("\x1b\x07\x9b\u202e")


def test_a_diff_for_a_program_stays_as_it_is(ordering: Path) -> None:
    free = {"CI": "", "GITHUB_ACTIONS": "", "TF_BUILD": "", "TRL_LINT_NO_CACHE": "1"}
    program = process(["check", ".", "--diff", "--unsafe-fixes"], ordering, env=free).stdout.decode()
    if any(order in program for order in ORDERS):
        log = process(["check", ".", "--diff", "--unsafe-fixes"], ordering, env={**free, "CI": "1"}).stdout.decode()
        assert program != log and len(program.splitlines()) == len(log.splitlines())
