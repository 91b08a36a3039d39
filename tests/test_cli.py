"""The command line, run as users run it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from documents import ROOT, blocks, lay_out

from trl_lint import __version__
from trl_lint.cli import main
from trl_lint.commands import progress as progressing
from trl_lint.settings import find_config

SCRIPT = """\
import torch
from accelerate import Accelerator


def answer_mask(sequences: torch.Tensor, last_token: torch.Tensor) -> torch.Tensor:
    positions = torch.arange(sequences.size(1)).unsqueeze(0)
    return positions <= last_token
"""
FIXED = SCRIPT.replace("size(1))", "size(1), device=sequences.device)")
FOUND = "train.py:6:17: TRL103 [*] error: "


class Run:
    """What one run of the command line printed."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status = status
        self.out = out
        self.err = err

    @property
    def codes(self) -> list[str]:
        return [finding["code"] for finding in json.loads(self.out)["findings"]]


class Shell:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Run:
        find_config.cache_clear()
        self._capsys.readouterr()
        status = main(list(arguments))
        captured = self._capsys.readouterr()
        assert "Traceback" not in captured.err
        return Run(status, captured.out, captured.err)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def read(self, name: str) -> str:
        return (self.folder / name).read_bytes().decode()


@pytest.fixture
def sh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """A project with one script that has one finding, TRL103 on line 6, with a safe fix."""
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path, capsys)
    shell.write("train.py", SCRIPT)
    return shell


# -- paths and exit status ------------------------------------------------------------------------------------------


def test_check_is_the_default_and_so_is_the_current_folder(sh: Shell):
    for arguments in ([], ["check"], ["."], ["check", "train.py"], ["train.py", "--no-cache"]):
        run = sh(*arguments, "--output-format", "concise")
        assert run.status == 1
        assert run.out.startswith(FOUND)


def test_nothing_found(sh: Shell):
    sh.write("train.py", FIXED)
    run = sh()
    assert (run.status, run.out, run.err) == (0, "All checks passed!\n", "")


def test_exit_zero(sh: Shell):
    run = sh("--exit-zero")
    assert run.status == 0 and "TRL103" in run.out
    assert sh("--exit-zero", "gone.py").status == 2, "that nothing was checked is another matter"


def test_options_may_stand_between_paths(sh: Shell):
    sh.write("b/train.py", SCRIPT)
    run = sh("train.py", "-q", "b", "--output-format", "concise")
    assert run.status == 1 and len(run.out.splitlines()) == 2


def test_a_name_that_looks_like_an_option(sh: Shell):
    sh.write("-x.py", SCRIPT)
    assert sh("--output-format", "concise", "--", "-x.py").out.startswith("-x.py:6:17: TRL103")
    assert sh("--add-noqa", "--diff", "--", "-x.py").status == 2
    assert sh.read("-x.py") == SCRIPT


def test_a_file_that_no_reader_knows_is_no_silent_success(sh: Shell):
    sh.write("train.log", "step 1\n")
    assert sh("train.log").err == "trl-lint: train.log: nothing is checked in a file of this name\n"


def test_a_fault_of_ours_is_one_line_and_no_finding(sh: Shell, monkeypatch: pytest.MonkeyPatch):
    def crash(*arguments: object) -> None:
        raise KeyError("surprise")

    monkeypatch.setattr("trl_lint.engine.collect", crash)
    run = sh()
    assert (run.status, run.out) == (2, "")
    assert run.err.startswith("trl-lint: internal error: KeyError: 'surprise' (")


def test_a_missing_path_does_not_stop_the_rest(sh: Shell):
    run = sh("gone.py", "train.py", "--output-format", "concise")
    assert run.status == 2
    assert run.err == "trl-lint: gone.py: no such file or directory\n"
    assert run.out.startswith(FOUND)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--slect", "TRL1"], "unexpected argument `--slect`; did you mean `--select`?"),
        (["--fix", "--bogus=1"], "unexpected argument `--bogus=1`"),
        (["--select", "TRL1O3"], "--select: unknown rule selector `TRL1O3`; did you mean `TRL103`?"),
        (["--ignore", "F401"], "--ignore: unknown rule selector `F401`"),
        (["--output-format", "consise"], "unknown output format `consise`; did you mean `concise`?"),
        (["--target", "trl"], "--target: `trl` is not of the form PACKAGE==VERSION"),
        (["--target", "trl==new"], "`new` is not a version"),
        (["--per-file-ignores", "TRL103"], "is not of the form PATTERN:CODES"),
        (["--baseline", "gone.json"], "gone.json: no such baseline; `--write-baseline` makes one"),
        (["--write-baseline"], "needs `--baseline FILE`"),
        (["--config", "gone.toml"], "gone.toml: no such file or directory"),
        (["--config", "a.toml", "--isolated"], "exclude each other"),
        (["--add-noqa", "--diff"], "`--add-noqa` and `--diff` exclude each other"),
        (["--write-baseline", "--baseline", "b.json", "--fix"], "exclude each other"),
        (["--select", ""], "--select: no rule is named"),
        (["--target", f"trl=={'9' * 5000}"], "is not a version"),
        (["chekc"], "no file and no command `chekc`; did you mean `check`?"),
        (["--stdin-filename", "a.py"], "needs `-`"),
        (["-", "train.py"], "`-` cannot be combined"),
        (["--color", "sometimes"], "invalid choice"),
        (["rule", "TRL1O3"], "no rule `TRL1O3`; did you mean `TRL103`?"),
        (["--output-file", "no/such/folder.txt"], "cannot be written"),
    ],
)
def test_a_command_line_without_sense(arguments: list[str], message: str, sh: Shell):
    run = sh(*arguments)
    assert run.status == 2
    assert message in run.err and run.err.startswith("trl-lint: ")
    assert run.out == ""


def test_a_rule_that_crashes_is_said_and_the_others_go_on(sh: Shell, monkeypatch: pytest.MonkeyPatch):
    from trl_lint.checks.distribution import tensor_without_device

    def crash(*arguments: object) -> None:
        raise KeyError("surprise")

    monkeypatch.setattr(tensor_without_device.rule, "is_candidate", crash, raising=False)
    sh.write("recipe.yaml", "model_name_or_path: m\noutput_dir: o\nnum_train_epochs: 1\nlearning_rate: 1e-6\n")
    run = sh("--output-format", "json")
    assert run.status == 2
    assert run.codes == ["TRL405", "TRL003"]
    assert "rule TRL103 (tensor-without-device) failed: KeyError" in run.err


# -- selection ------------------------------------------------------------------------------------------------------


def test_selection_on_the_command_line(sh: Shell):
    assert sh("--ignore", "TRL1").status == 0
    assert sh("--select", "TRL4,TRL2").status == 0
    assert sh("--select", "TRL4", "--extend-select", "TRL103").status == 1
    assert sh("--per-file-ignores", "*.py:TRL1,TRL4").status == 0
    assert sh("--per-file-ignores", "*.py:TRL4,b/*:TRL1").status == 1


def test_settings_are_found(sh: Shell):
    sh.write("pyproject.toml", "[tool.trl-lint]\nignore = ['TRL1']\noutput-format = 'json'\n")
    run = sh()
    assert (run.status, run.codes) == (0, [])
    assert sh("--isolated").status == 1
    assert sh("--select", "TRL103").status == 1, "a selector on the command line replaces those of the file"


def test_settings_with_a_mistake(sh: Shell):
    sh.write("pyproject.toml", "[tool.trl-lint]\nselct = ['TRL1']\n")
    run = sh()
    assert run.status == 2
    assert run.err.startswith("trl-lint: pyproject.toml:2: unknown setting `selct`; did you mean `select`?\n")


def test_each_path_has_its_own_settings(sh: Shell):
    sh.write("quiet/trl-lint.toml", "ignore = ['ALL']\n")
    sh.write("quiet/train.py", SCRIPT)
    run = sh("train.py", "quiet", "--output-format", "concise", "-q")
    assert run.out.count("TRL103") == 1 and run.out.startswith("train.py")


def test_exclude(sh: Shell):
    sh.write("old/train.py", SCRIPT)
    assert sh("-q", "--output-format", "concise", "--extend-exclude", "old,x").out.count("\n") == 1
    assert sh("train.py", "--exclude", "train.py").status == 1, "a named file is taken"
    assert sh("train.py", "--exclude", "train.py", "--force-exclude").status == 0


def test_a_target_nothing_is_known_about(sh: Shell):
    run = sh("--target", "tlr==1.0")
    assert "no release of `tlr` is known, so nothing depends on it; did you mean `trl`?" in run.err
    assert sh("--target", "trl==1.16.0").err == ""


# -- output ---------------------------------------------------------------------------------------------------------


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


# -- standard input -------------------------------------------------------------------------------------------------


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


# -- fixes ----------------------------------------------------------------------------------------------------------


def test_fix(sh: Shell):
    run = sh("--fix")
    assert (run.status, run.out) == (0, "Fixed 1 problem, 0 remaining.\n")
    assert sh.read("train.py") == FIXED
    again = sh("--fix")
    assert (again.status, sh.read("train.py")) == (0, FIXED)


def test_exit_non_zero_on_fix(sh: Shell):
    assert sh("--fix", "--exit-non-zero-on-fix").status == 1
    assert sh("--fix", "--exit-non-zero-on-fix").status == 0


def test_what_cannot_be_fixed_remains(sh: Shell):
    sh.write("broken.py", "a.prepare_model(m, evaluation_mode=True\ntorch.arange(\n")
    run = sh("--fix", "--output-format", "concise")
    assert run.status == 1
    assert "broken.py:" in run.out and "Fixed 1 problem, 1 remaining: 1 error." in run.out


def test_diff_writes_nothing(sh: Shell):
    run = sh("--diff")
    assert run.status == 1
    assert run.out.startswith("--- a/train.py\n+++ b/train.py\n@@")
    assert "+    positions = torch.arange(sequences.size(1), device=sequences.device).unsqueeze(0)\n" in run.out
    assert run.err == "Would fix 1 problem.\n"
    assert sh.read("train.py") == SCRIPT
    sh.write("train.py", FIXED)
    clean = sh("--diff")
    assert (clean.status, clean.out) == (0, "")


@pytest.mark.parametrize("text", [SCRIPT, SCRIPT.replace("\n", "\r\n"), SCRIPT.rstrip("\n"), "\ufeff" + SCRIPT])
def test_the_diff_can_be_applied(text: str, sh: Shell):
    path = sh.write("train.py", text)
    patch = sh("--diff").out
    sh("--fix")
    fixed = path.read_bytes()
    path.write_bytes(text.encode())
    subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=sh.folder, check=True)
    assert path.read_bytes() == fixed


def test_show_fixes(sh: Shell):
    run = sh("--fix", "--show-fixes")
    assert run.out.startswith("Fixed 1 problem:\n- train.py:\n    1 x TRL103 (tensor-without-device)\n")


def test_a_read_only_file_is_said(sh: Shell):
    (sh.folder / "train.py").chmod(0o444)
    run = sh("--fix", "--output-format", "concise")
    assert run.status == 2
    assert run.err == "trl-lint: train.py: is read-only, so it was not repaired\n"
    assert run.out.startswith(FOUND) and sh.read("train.py") == SCRIPT


def test_fix_in_the_settings_can_be_switched_off(sh: Shell):
    sh.write("trl-lint.toml", "fix = true\n")
    assert sh("--no-fix").status == 1
    assert sh().status == 0


def test_fix_in_a_notebook_leaves_the_rest_of_the_bytes(sh: Shell):
    (sh.folder / "train.py").unlink()
    cell = {"cell_type": "code", "metadata": {}, "source": SCRIPT.splitlines(keepends=True)}
    text = json.dumps({"nbformat": 4, "cells": [cell], "metadata": {"a": 1e5}}, indent=3)
    sh.write("nb.ipynb", text)
    assert sh("--fix").status == 0
    assert sh.read("nb.ipynb") == text.replace("size(1))", "size(1), device=sequences.device)")
    sh.write("nb.ipynb", text)
    assert sh("--diff").status == 1


def test_unused_suppressions_are_removed(sh: Shell):
    sh.write("train.py", FIXED.replace("last_token\n", "last_token  # noqa: E501, TRL103\n"))
    assert sh("--fix").status == 0
    assert sh.read("train.py") == FIXED.replace("last_token\n", "last_token  # noqa: E501\n")


# -- suppressions ---------------------------------------------------------------------------------------------------


def test_add_noqa(sh: Shell):
    run = sh("--add-noqa", "train.py")
    assert (run.status, run.err) == (0, "Added 1 noqa comment.\n")
    assert ".unsqueeze(0)  # noqa: TRL103\n" in sh.read("train.py")
    once = sh.read("train.py")
    assert sh().status == 0
    assert sh("--add-noqa").err == "Added 0 noqa comments.\n"
    assert sh.read("train.py") == once


def test_add_noqa_with_a_reason(sh: Shell):
    sh("--add-noqa=until the next release")
    assert ".unsqueeze(0)  # noqa: TRL103 until the next release\n" in sh.read("train.py")
    assert sh().status == 0
    sh.write("train.py", SCRIPT)
    sh("--add-noqa=GH12 says so")
    assert "# noqa: TRL103 - GH12 says so\n" in sh.read("train.py"), "a reason must not be read as a code"
    assert sh().status == 0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("unsqueeze(0)  # noqa: E501\n", "unsqueeze(0)  # noqa: E501, TRL103\n"),
        ("unsqueeze(0)  # noqa: E501 too long\n", "unsqueeze(0)  # noqa: E501, TRL103 too long\n"),
        ("unsqueeze(0)  # a comment\n", "unsqueeze(0)  # a comment  # noqa: TRL103\n"),
        ("unsqueeze(0) + \\\n        0\n", "unsqueeze(0) + \\\n        0  # noqa: TRL103\n"),
        ('unsqueeze(0); x = """\na\n"""\n', 'unsqueeze(0); x = """\na\n"""  # noqa: TRL103\n'),
        ("unsqueeze(\n        0)\n", "unsqueeze(  # noqa: TRL103\n        0)\n"),
        ("unsqueeze(0)   \r\n", "unsqueeze(0)  # noqa: TRL103\r\n"),
    ],
)
def test_where_the_comment_goes(before: str, after: str, sh: Shell):
    sh.write("train.py", SCRIPT.replace("unsqueeze(0)\n", before))
    assert sh("--add-noqa").err == "Added 1 noqa comment.\n"
    assert sh.read("train.py") == SCRIPT.replace("unsqueeze(0)\n", after)
    assert sh().status == 0


def test_add_noqa_in_yaml(sh: Shell):
    (sh.folder / "train.py").unlink()
    sh.write("recipe.yaml", "output_dir: x\nnum_train_epochs: 1\nmodel_name_or_path: m\nlearning_rate: 1e-6 # low\n")
    assert sh("--add-noqa").err == "Added 1 noqa comment.\n"
    assert sh.read("recipe.yaml").endswith("learning_rate: 1e-6 # low  # noqa: TRL405\n")
    assert sh().status == 0


def test_add_noqa_in_a_notebook(sh: Shell):
    (sh.folder / "train.py").unlink()
    cell = {"cell_type": "code", "metadata": {}, "source": SCRIPT.splitlines(keepends=True)}
    sh.write("nb.ipynb", json.dumps({"nbformat": 4, "cells": [cell], "metadata": {}}, indent=1))
    assert sh("--add-noqa").err == "Added 1 noqa comment.\n"
    assert ".unsqueeze(0)  # noqa: TRL103\n" in json.loads(sh.read("nb.ipynb"))["cells"][0]["source"][5]
    assert sh().status == 0


def test_json_cannot_hold_a_comment(sh: Shell):
    (sh.folder / "train.py").unlink()
    broken = sh.write("ds.json", '{"zero_optimization": {"stage": 3},\n "train_batch_size": }\n')
    run = sh("--add-noqa")
    assert "ds.json:2:" in run.err and "JSON has no comments" in run.err
    assert "Added 0 noqa comments." in run.err and broken.exists()


def test_baseline(sh: Shell):
    run = sh("--baseline", "known.json", "--write-baseline")
    assert (run.status, run.err) == (0, f"Wrote 1 finding to {sh.folder / 'known.json'}.\n")
    run = sh("--baseline", "known.json")
    assert (run.status, run.out) == (0, "All checks passed!\n1 finding of the baseline not shown.\n")
    sh.write("train.py", "# moved\n\n" + SCRIPT)
    sh.write("b.py", SCRIPT)
    run = sh("--baseline", "known.json", "--output-format", "concise", "-q")
    assert run.status == 1 and run.out.startswith("b.py:") and run.out.count("\n") == 1


def test_what_the_baseline_hides_is_not_repaired(sh: Shell):
    sh("--baseline", "known.json", "--write-baseline")
    assert sh("--baseline", "known.json", "--fix").status == 0
    assert sh.read("train.py") == SCRIPT


# -- rule -----------------------------------------------------------------------------------------------------------


def test_rule_prints_its_page(sh: Shell):
    run = sh("rule", "TRL002")
    assert run.status == 0
    assert run.out.startswith(
        "# Suppression that suppresses nothing (TRL002, unused-suppression)\n\n* level: warning\n"
    )
    assert "## Why is this bad?" in run.out
    assert sh("rule", "trl002").out == sh("rule", "unused-suppression").out == run.out


def test_rule_as_json(sh: Shell):
    facts = json.loads(sh("rule", "TRL103", "--output-format", "json").out)
    assert (facts["code"], facts["name"], facts["severity"]) == ("TRL103", "tensor-without-device", "error")
    assert facts["explanation"].startswith("## What it does") and facts["symptoms"][0]["pattern"]
    every = json.loads(sh("rule", "--all", "--output-format", "json").out)
    assert {"TRL001", "TRL103"} <= {page["code"] for page in every}


def test_all_rules(sh: Shell):
    assert "(TRL001, " in sh("rule", "--all").out and "(TRL103, " in sh("rule", "--all").out
    listed = sh("rule").out.splitlines()
    assert listed[0].startswith("TRL001  unparsable-file ")


# -- the process ----------------------------------------------------------------------------------------------------


def process(arguments: list[str], folder: Path, **more: object) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more.pop("env", {})}  # type: ignore[dict-item]
    command = [sys.executable, "-m", "trl_lint", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, **more)  # type: ignore[call-overload, no-any-return]


def test_version(sh: Shell):
    for option in ("--version", "-V"):
        done = process([option], sh.folder)
        assert (done.returncode, done.stdout.decode().split()) == (0, ["trl-lint", __version__])


def test_help_names_every_option(sh: Shell, capsys: pytest.CaptureFixture[str]):
    for arguments in (["--help"], ["check", "-h"], ["rule", "--help"]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 0
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

    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(trl_lint.engine, "check", interrupt)
    run = sh()
    assert (run.status, run.err) == (130, "trl-lint: interrupted\n")


# -- the tool's own codes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["TRL001", "TRL002", "TRL004"])
def test_pages_of_the_tool_show_what_they_say(code: str, sh: Shell):
    (sh.folder / "train.py").unlink()
    text = sh("rule", code).out
    examples = [block for block in blocks(text) if block.title]
    for section, expected in (("Example", True), ("Use instead", False)):
        folder = sh.folder / section
        lay_out([block for block in examples if block.section == section], folder)
        run = sh(str(folder), "--output-format", "json", "--isolated")
        assert (code in run.codes) is expected, section
    sh(str(sh.folder / "Example"), "--fix")
    for block in examples:
        if block.section == "Use instead" and code != "TRL001":
            assert (sh.folder / "Example" / block.title).read_text("utf-8") == block.content


def test_until_asks_the_pins(sh: Shell):
    sh.write("requirements.txt", "trl==0.15.2\n")
    sh.write("train.py", SCRIPT.replace("unsqueeze(0)\n", "unsqueeze(0)  # noqa: TRL103 until trl>=0.16\n"))
    select = ["--select", "TRL0,TRL103"]
    assert sh(*select).status == 0
    assert sh(*select, "--target", "trl==1.16.0", "--output-format", "json").codes == ["TRL103", "TRL004"]
    sh.write("requirements.txt", "trl==1.16.0\n")
    run = sh(*select, "--fix")
    assert run.status == 0
    assert sh.read("train.py") == FIXED, "first the comment goes, then what it hid"


# -- progress -------------------------------------------------------------------------------------------------------


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


def test_a_fix_that_does_not_hold_is_said(sh: Shell, monkeypatch: pytest.MonkeyPatch):
    from trl_lint.fixes import repair

    monkeypatch.setattr(repair, "objection", lambda *arguments: "it would not parse")
    run = sh("--fix")
    assert (run.status, sh.read("train.py")) == (1, SCRIPT)
    assert run.err == "trl-lint: train.py:6:17: the fix of TRL103 was not made: it would not parse\n"


def test_a_rule_about_runs_alone_finds_what_it_finds_among_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("trl==1.0.0\n")
    (tmp_path / "train.py").write_text("from trl import GRPOConfig\nGRPOConfig(use_vllm=True, vllm_server_port=1)\n")
    assert main(["--select", "TRL801", "--output-format", "concise", "."]) == 1
    assert "TRL801" in capsys.readouterr().out
