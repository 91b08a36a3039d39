"""Every line that people and runners of CI jobs see leaves through `streams.say` or a format of its own.

What a repository chooses (settings, names of files, what stands in them) and what a command line holds may be an order
to a runner, or drive a terminal: nothing of it arrives as one.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Shell, process
from documents import ROOT

from trl_lint.options import OPTIONS, SETTINGS
from trl_lint.reports import FORMATS
from trl_lint.streams import say, visible

ORDER = "\n::add-mask::x\n::set-output name=a::b\r\n##[group]x ##vso[task.complete]y ##teamcity[buildStop]"
DRIVING = "\x1b[31m\x9b\u202e\u2066\u200b\x07"
PAYLOAD = f"{ORDER}{DRIVING}section_start:1:x\r\x1b[0K\n"
IN_A_FILE = f"{PAYLOAD}\0"
NAME = PAYLOAD.replace("/", "")

# Where text leaves by another way, and why it may.
OTHER_WAYS = {
    "__main__.py": "the version, and that it was interrupted: constants of our own",
    "streams.py": "the way itself",
    "cache/replay.py": "what an earlier run has said, byte for byte, from a file that only we have written",
    "checks/registry.py": "for those who work on the tool: writes its own tables",
    "commands/completion.py": "scripts for shells, made of our own options",
    "commands/diagnose.py": "a finished page, and a line of progress made of numbers",
    "commands/environment.py": "finished lines in colours; each text in them is made visible by itself",
    "commands/init.py": "a finished diff",
    "commands/output.py": "the repaired text of standard input, which is for a program",
    "commands/parsers.py": "the help of argparse, made of our own options",
    "commands/progress.py": "a line of progress made of numbers",
    "commands/review.py": "annotations, whose texts are escaped where orders are made",
    "commands/rule.py": "pages and JSON of our own",
    "commands/server.py": "the log of an editor",
    "commands/upgrade.py": "finished lines in colours and a finished page",
    "knowledge/condition_tables.py": "for those who work on the tool",
    "knowledge/needles.py": "for those who work on the tool",
    "knowledge/refresh.py": "for those who work on the tool",
    "knowledge/refresher/bugs_build.py": "for those who work on the tool",
    "knowledge/refresher/bugs_mine.py": "for those who work on the tool",
    "knowledge/refresher/probe.py": "for those who work on the tool",
    "knowledge/refresher/tables.py": "for those who work on the tool",
    "knowledge/refresher/verify.py": "for those who work on the tool",
    "knowledge/tables.py": "for those who work on the tool",
}


def wrong_lines(text: str, ours: tuple[str, ...] = ()) -> list[str]:
    """The lines that a runner would obey or a terminal would be driven by; `ours` are orders that we give ourselves."""
    found = []
    for line in text.splitlines():
        start = line.lstrip()
        # `::: path` in the format `full` is ours: its first word is a colon, which is no order.
        is_order = start.startswith("::") and not start.startswith((":::", *(f"::{name} " for name in ours)))
        is_order = is_order or any(f"##{name}[" in line for name in ("", "vso", "teamcity"))
        if is_order or not _DRIVING.isdisjoint(line):
            found.append(line)
    return found


_DRIVING = set("\x00\x07\x08\x1b\x7f\x9b\u200b\u200e\u202a\u202e\u2066\u2069")


def written_in(path: Path) -> Iterator[str]:
    """Every call in a module that writes to a standard stream by itself."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        is_stream = "sys.std" in name and name.endswith((".write", ".writelines"))
        if is_stream or name in ("print", "warnings.warn", "logging.basicConfig", "getattr(sys, to).write"):
            yield f"{node.lineno}: {name}"


def test_nothing_else_writes_to_standard_streams() -> None:
    package = ROOT / "trl_lint"
    found = {
        path.relative_to(package).as_posix(): calls
        for path in sorted(package.rglob("*.py"))
        if (calls := list(written_in(path)))
    }
    assert {name: calls for name, calls in found.items() if name not in OTHER_WAYS} == {}
    assert sorted(OTHER_WAYS) == sorted(found), "these have no way of their own any more"
    stderr = {name for name, calls in found.items() if any("stderr" in call for call in calls)}
    assert not any(
        "print" in call for name in found for call in found[name] if name.startswith(("commands/", "reports/"))
    )
    assert {name for name in stderr if name.startswith("commands/")} <= {
        "commands/diagnose.py", "commands/parsers.py", "commands/progress.py", "commands/upgrade.py",
    }  # fmt: skip


def test_the_way_out(capsys: pytest.CaptureFixture[str]) -> None:
    say(PAYLOAD, f"  {ORDER.strip()}", IN_A_FILE)
    text = capsys.readouterr().err
    assert wrong_lines(text) == [] and len(text.splitlines()) == 3
    assert visible(visible(IN_A_FILE)) == visible(IN_A_FILE)
    assert len(wrong_lines(IN_A_FILE)) == 5


# -- settings ---------------------------------------------------------------------------------------------------------


def values(payload: str) -> dict[str, str]:
    """TOML values that hold a payload, by their kind."""
    text = json.dumps(payload).replace("\\u007f", "\x7f")
    return {
        "string": text,
        "list": f"[{text}]",
        "table": f"{{ {text} = {text} }}",
        "release": f"{{ trl = {text} }}",
        "rules": f'{{ {text} = ["NOPE"] }}',
        "key": f"{{ {text} = 1 }}",
        "lists": f"[[{text}]]",
        "path": json.dumps(f"../{payload}/x"),
    }


SETTING_FILES = [
    *((name, f"{name} = {value}\n", kind) for name in SETTINGS for kind, value in values(IN_A_FILE).items()),
    *((name, f"{json.dumps(name + IN_A_FILE)} = 1\n", "its key") for name in SETTINGS),
    ("unknown", f"{json.dumps(IN_A_FILE)} = {json.dumps(IN_A_FILE)}\n", "key"),
    ("unknown", f"[{json.dumps(IN_A_FILE)}]\nx = 1\n", "table"),
    ("malformed", f"select = {IN_A_FILE}", "value"),
    ("malformed", f"{IN_A_FILE} = 1", "key"),
    ("malformed", f"x = 1\nx = {json.dumps(IN_A_FILE)}", "twice"),
    ("malformed", f'x = """{PAYLOAD}', "open"),
    ("malformed", f"[a]\n[a]\n[{json.dumps(IN_A_FILE)}]\n[{json.dumps(IN_A_FILE)}]", "table twice"),
]


@pytest.mark.parametrize("file", ["trl-lint.toml", "pyproject.toml", "knowledge", "extended"])
@pytest.mark.parametrize("setting", sorted({name for name, _, _ in SETTING_FILES}))
def test_no_setting_gives_orders(
    setting: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path, capsys)
    shell.write("train.py", "import torch\n")
    for name, text, kind in SETTING_FILES:
        if name != setting:
            continue
        if file == "pyproject.toml":
            text = f"[tool.trl-lint]\n{text}"
            text = text.replace("\n[", "\n[tool.trl-lint.") if name == "unknown" else text
        if file in ("knowledge", "extended"):
            shell.write("trl-lint.toml", 'knowledge = ["x.toml"]' if file == "knowledge" else 'extend = "x.toml"')
            shell.write("x.toml", text)
        else:
            shell.write(file, text)
        for arguments in (("check", "."), ("check", "--show-settings"), ("runs", "."), ("environment", ".")):
            done = shell(*arguments)
            assert wrong_lines(f"{done.out}\n{done.err}") == [], (kind, arguments, done.err)


# -- the command line -------------------------------------------------------------------------------------------------

COMMAND_LINES = [
    *(["check", f"--{one.name}={PAYLOAD}"] for one in OPTIONS if one.kind in ("value", "values")),
    *(["check", "--config", "x.toml", f"--{one.name}={PAYLOAD}"] for one in OPTIONS if one.kind == "value"),
    ["check", PAYLOAD], ["check", f"-{PAYLOAD}"], ["check", f"--{PAYLOAD}"], [PAYLOAD],
    ["check", "--add-noqa", PAYLOAD],
    ["check", "--baseline", f"{NAME}.json", "--write-baseline"], ["check", "--output-file", f"/{PAYLOAD}/x"],
    ["check", "-", f"--stdin-filename={PAYLOAD}"], ["check", "--since", f"HEAD{PAYLOAD}"],
    ["rule", PAYLOAD], ["rule", f"--output-format={PAYLOAD}"], ["runs", PAYLOAD], ["runs", f"--html=/{PAYLOAD}/x"],
    ["environment", PAYLOAD], ["environment", f"--target={PAYLOAD}"], ["environment", "--target", f"trl==9{PAYLOAD}"],
    ["clean", PAYLOAD], ["clean", f"--cache-dir={PAYLOAD}"], ["completion", PAYLOAD], ["init", PAYLOAD],
    ["diagnose", PAYLOAD], ["diagnose", "train.py", f"--project={PAYLOAD}"], ["diagnose", "x", f"--target={PAYLOAD}"],
    ["upgrade", f"--to={PAYLOAD}"], ["upgrade", f"--to=trl=={PAYLOAD}"], ["upgrade", PAYLOAD],
    ["upgrade", f"--plan={PAYLOAD}"],
    ["review", f"--report={PAYLOAD}"], ["review", f"--name={PAYLOAD}"], ["review", f"--repository={PAYLOAD}"],
    ["review", f"--page={PAYLOAD}"], ["review", f"--api-url={PAYLOAD}"], ["review", f"--prefix={PAYLOAD}"],
    ["server", PAYLOAD],
]  # fmt: skip


@pytest.mark.parametrize("arguments", COMMAND_LINES, ids=lambda one: " ".join(one)[:40].replace("\n", " "))
def test_no_argument_gives_orders(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_TOKEN", "t0ken")
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path, capsys)
    shell.write("train.py", "import torch\n")
    shell.write("requirements.txt", "trl==0.15.2\n")
    done = shell(*arguments)
    assert wrong_lines(f"{done.out}\n{done.err}") == []
    assert done.out or done.err or done.status == 0


# -- names and contents of files --------------------------------------------------------------------------------------


def hostile_names(shell: Shell) -> None:
    """A project in which names of files and folders are orders, and some of what stands in them cannot be read."""
    folder = f"f{NAME}"
    recipe = f"learning_rate: 1.0e-6\nnum_generations: 8\nmax_grad_norm: 0\n? {json.dumps(PAYLOAD)}\n: 1\n"
    shell.write(f"{folder}/{NAME}.py", "from trl import GRPOConfig, Nope\nGRPOConfig(max_prompt=1)\n")
    shell.write(f"{folder}/{NAME}x.py", f"def f(:\n{PAYLOAD}")
    shell.write(f"{folder}/{NAME}.yaml", recipe)
    shell.write(f"{folder}/{NAME}x.yaml", "a: [\n")
    shell.write(f"{folder}/{NAME}.ipynb", "{")
    shell.write(f"{folder}/{NAME}.toml", "x")
    shell.write(f"{folder}/{NAME}.sh", f"accelerate launch --num_processes 2 {NAME.split()[0]}.py --x '{PAYLOAD}'\n")
    shell.write(f"{folder}/requirements.txt", f"trl==0.15.2\nvllm==0.9.0\ntrl==9999\n-r {NAME}.txt\n")
    shell.write("baseline.json", json.dumps({"version": 1, "findings": [{"path": PAYLOAD, PAYLOAD: 1}]}))
    shell.write(
        "log.txt", f'Traceback (most recent call last):\n  File "{NAME}", line 1, in x\nValueError: {PAYLOAD}\n'
    )
    (shell.folder / folder / f"{NAME}z.py").symlink_to("/dev/zero")


FRONTS = [
    *(["check", ".", "--hints", "--verbose", "--output-format", name] for name in FORMATS),
    ["check", ".", "--statistics"], ["check", ".", "--show-files"], ["check", ".", "--diff", "--unsafe-fixes"],
    ["check", ".", "--fix", "--show-fixes"], ["check", ".", "--add-noqa"],
    ["check", ".", "--baseline", "baseline.json"], ["check", ".", "--baseline", "b.json", "--write-baseline"],
    ["environment", "."], ["runs", "."], ["runs", ".", "--all"],
    ["why", "TRL301", PAYLOAD], ["why", "TRL301", "log.txt"],
    ["runs", ".", "--output-format", "json"], ["environment", ".", "--output-format", "json"],
    ["upgrade", "."], ["upgrade", ".", "--output-format", "json"], ["upgrade", ".", "--output-format", "markdown"],
    ["diagnose", "log.txt"], ["diagnose", "log.txt", "--project", "."],
    ["diagnose", "log.txt", "--output-format", "json"],
    ["diagnose", "log.txt", "--output-format", "html"], ["init", ".", "--dry-run"], ["init", "."],
]  # fmt: skip


@pytest.mark.parametrize("arguments", FRONTS, ids=" ".join)
def test_no_name_gives_orders(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path, capsys)
    hostile_names(shell)
    done = shell(*arguments)
    ours = ("error", "warning", "notice") if "github" in arguments else ()
    assert wrong_lines(f"{done.out}\n{done.err}", ours) == []
    assert f"{done.out}{done.err}".strip()


def test_what_a_process_says(tmp_path: Path) -> None:
    """The same through real streams, once from the tool and once from the cache."""
    shell = Shell(tmp_path, None)  # type: ignore[arg-type]
    hostile_names(shell)
    for _ in range(2):
        done = process(["check", "."], tmp_path, env={"GITHUB_ACTIONS": "true"})
        assert wrong_lines(f"{done.stdout.decode()}\n{done.stderr.decode()}") == []
