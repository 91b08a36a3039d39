"""What is printed where, what comes from standard input, and a world in which streams break."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import time

import pytest
from command_line import FIXED, FOUND, SCRIPT, Shell, process
from documents import ROOT

from trl_lint import __version__
from trl_lint.cli import main
from trl_lint.commands import progress as progressing

# -- output ----------------------------------------------------------------------------------------------------------


def test_full_is_the_default(sh: Shell):
    lines = sh().out.splitlines()
    assert lines[0].startswith(FOUND)
    assert "6 |     positions = torch.arange(sequences.size(1)).unsqueeze(0)" in lines
    assert lines[-2:] == ["Found 1 error.", "[*] 1 fixable with `--fix`."]


def test_quiet_silent_verbose(sh: Shell):
    assert sh("-q", "--output-format", "concise").out.count("\n") == 1
    silent = sh("-s")
    assert (silent.status, silent.out, silent.err) == (1, "", "")
    verbose = sh("-v")
    assert "settings: defaults" in verbose.err and "1 file in" in verbose.err


def test_output_file(sh: Shell):
    run = sh("--output-file", "report.txt", "--output-format", "concise", "--color", "never")
    assert (run.status, run.out) == (1, "")
    assert sh.read("report.txt").startswith(FOUND)


def test_statistics(sh: Shell):
    sh.write("b.py", SCRIPT)
    run = sh("--statistics")
    assert run.out.splitlines()[0] == "2  TRL103  [*]  tensor-without-device"
    rows = json.loads(sh("--statistics", "--output-format", "json").out)
    assert rows == [{"code": "TRL103", "name": "tensor-without-device", "count": 2, "fixable": 2}]


def test_json_knows_the_environment(sh: Shell):
    sh.write("requirements.txt", "trl==0.15.2\n")
    document = json.loads(sh("--output-format", "json", "--select", "TRL103").out)
    assert document["environment"]["trl"] == {"specifier": "==0.15.2", "resolved": "0.15.2", "source": "pin"}


# -- standard input --------------------------------------------------------------------------------------------------


class Stdin:
    def __init__(self, text: str) -> None:
        self.buffer = io.BytesIO(text.encode())


def test_standard_input(sh: Shell, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", Stdin(SCRIPT))
    run = sh("-", "--output-format", "concise")
    assert run.status == 1 and run.out.startswith("-:6:17: TRL103")


def test_standard_input_with_a_name(sh: Shell, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        sys, "stdin", Stdin("model_name_or_path: m\nlearning_rate: 1e-6\noutput_dir: x\nnum_train_epochs: 1\n")
    )
    run = sh("-", "--stdin-filename", "sub/recipe.yaml", "--output-format", "json")
    (only,) = json.loads(run.out)["findings"]
    assert (only["code"], only["path"]) == ("TRL405", "sub/recipe.yaml")


def test_standard_input_is_repaired_to_standard_output(sh: Shell, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", Stdin(SCRIPT))
    run = sh("-", "--stdin-filename", "train.py", "--fix")
    assert (run.status, run.out) == (0, FIXED)
    assert sh.read("train.py") == SCRIPT
    monkeypatch.setattr(sys, "stdin", Stdin(FIXED))
    assert sh("-", "--fix").out == FIXED, "what needs no repair comes out as it went in"


# -- the process -----------------------------------------------------------------------------------------------------


def test_version(sh: Shell):
    for option in ("--version", "-V"):
        done = process([option], sh.folder)
        assert (done.returncode, done.stdout.decode().split()) == (0, ["trl-lint", __version__])


def test_a_verbose_version_has_what_a_report_of_a_fault_needs(sh: Shell):
    for option in ("-v", "--verbose"):
        first, python, *others = process(["--version", option], sh.folder).stdout.decode().splitlines()
        assert first == f"trl-lint {__version__}" and python.startswith("python 3.")
        assert any(line.startswith("libcst ") for line in others)
        assert re.search(r"trl to \d+\.\d+", others[-1])


def test_help_names_every_option(sh: Shell, capsys: pytest.CaptureFixture[str]):
    for arguments in (["--help"], ["check", "-h"], ["rule", "--help"]):
        assert main(arguments) == 0
    shown = capsys.readouterr().out
    for option in ("--select", "--add-noqa", "--baseline", "--stdin-filename", "--exit-non-zero-on-fix"):
        assert option in shown


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize("output", ["full", "concise", "json"])
def test_a_console_that_knows_few_characters(encoding: str, output: str, sh: Shell):
    sh.write("模型/train.py", SCRIPT.replace("unsqueeze(0)", "unsqueeze(0)  # größe 模型"))
    done = process(["--output-format", output], sh.folder, env={"PYTHONIOENCODING": encoding})
    assert done.returncode == 1 and done.stderr == b""
    assert b"TRL103" in done.stdout


def test_a_reader_that_goes_away(sh: Shell):
    for number in range(200):
        sh.write(f"train{number}.py", SCRIPT)
    command = f"{sys.executable} -m trl_lint --output-format full | head -n 1; exit ${{PIPESTATUS[0]}}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", command], cwd=sh.folder, env=environment, capture_output=True)
    assert done.stderr == b"" and done.returncode == 1
    assert done.stdout.startswith(b"train.py:6")


def test_an_interrupt(sh: Shell, monkeypatch: pytest.MonkeyPatch):
    import trl_lint.engine

    def interrupt(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(trl_lint.engine, "check", interrupt)
    run = sh()
    assert (run.status, run.err) == (130, "trl-lint: interrupted\n")


# -- progress --------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("quiet", "expected"), [(False, True), (True, False)])
def test_long_work_shows_a_sign_of_life(quiet: bool, expected: bool, monkeypatch: pytest.MonkeyPatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progressing, "_FIRST", 0.01)
    monkeypatch.setattr(progressing, "_EACH", 0.01)
    with progressing.progress(quiet):
        time.sleep(0.1)
    assert ("checking... 0 s" in stream.getvalue()) is expected
    assert stream.getvalue().endswith("\r\x1b[K" if expected else "")


# -- a broken world ---------------------------------------------------------------------------------------------------

FULL = "the output cannot be written: no space left on device"
CLOSED = "the output cannot be written: bad file descriptor"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full device")
@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("trl-lint > /dev/full", 2, FULL),
        ("trl-lint --output-format json > /dev/full", 2, FULL),
        ("trl-lint --statistics > /dev/full", 2, FULL),
        ("trl-lint --diff > /dev/full", 2, FULL),
        ("trl-lint --output-file /dev/full", 2, "/dev/full: cannot be written: no space left on device"),
        ("trl-lint rule TRL103 > /dev/full", 2, FULL),
        ("echo accelerate launch train.py > run.sh; trl-lint runs > /dev/full", 2, FULL),
        ("trl-lint --version > /dev/full", 2, FULL),
        ("trl-lint --help > /dev/full", 2, FULL),
        ("trl-lint >&-", 2, CLOSED),
        ("trl-lint rule TRL103 >&-", 2, CLOSED),
        ("trl-lint --silent >&-", 1, ""),
        ("trl-lint --output-file report.txt >&-", 1, ""),
        ("trl-lint 2>&-", 1, ""),
        ("trl-lint --no-such-option 2>&-", 2, ""),
        ("trl-lint --no-such-option 2> /dev/full", 2, ""),
        ("trl-lint nothing.py train.py 2> /dev/full", 2, ""),
        ("trl-lint > /dev/full 2>&1", 2, ""),
        ("trl-lint <&- >&- 2>&-", 2, ""),
        ("trl-lint <&-", 1, ""),
        ("trl-lint - <&-", 2, "standard input cannot be read: bad file descriptor"),
        ("trl-lint | head -n 0", 1, ""),
        ("trl-lint rule --all | head -n 1", 0, ""),
        ("trl-lint --help | head -n 0", 0, ""),
        ("trl-lint 2>&1 nothing.py | head -n 0", 2, ""),
        ("mkdir gone; cd gone; rmdir ../gone; trl-lint", 2, "the current folder does not exist any more"),
        ("mkdir gone; cd gone; rmdir ../gone; trl-lint rule TRL103", 2, "the current folder does not exist any more"),
        ("mkdir gone; cd gone; rmdir ../gone; trl-lint --version", 0, ""),
    ],
)
def test_a_broken_world_around_us(command: str, status: int, message: str, sh: Shell):
    for number in range(100 if "|" in command else 0):  # more than a pipe holds
        sh.write(f"package/train{number}.py", SCRIPT)
    script = f'trl-lint() {{ "{sys.executable}" -m trl_lint "$@"; }}; {command}; exit ${{PIPESTATUS[0]}}'
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", script], cwd=sh.folder, env=environment, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stdout + done.stderr and "Exception ignored" not in done.stderr
    said = [line for line in done.stderr.splitlines() if not line.startswith("For help, try")]
    assert said == ([f"trl-lint: {message}"] if message else [])
