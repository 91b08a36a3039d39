"""The command line, run as users run it: paths, exit status, and the codes of the tool itself."""

from __future__ import annotations

import pytest
from command_line import FIXED, FOUND, SCRIPT, Shell
from documents import blocks, lay_out

# -- paths and exit status -------------------------------------------------------------------------------------------


def test_check_is_the_default_and_so_is_the_current_folder(sh: Shell):
    for arguments in ([], ["check"], ["."], ["check", "train.py"], ["train.py", "--no-cache"]):
        run = sh(*arguments, "--output-format", "concise")
        assert run.status == 1
        assert run.out.startswith(FOUND)


def test_nothing_found(sh: Shell):
    sh.write("train.py", FIXED)
    run = sh()
    assert (run.status, run.out, run.err) == (0, "No errors or warnings: 1 file.\n", "")


def test_who_selects_broken_files_alone_gets_all_of_them(sh: Shell):
    sh.write("train.py", FIXED)
    sh.write("other.py", "def broken(:\n")
    assert sh().status == 0, "no rule looks for a word of it"
    assert "other.py:1" in sh("--select", "TRL001").out


def test_exit_zero(sh: Shell):
    run = sh("--exit-zero")
    assert run.status == 0 and "TRL103" in run.out
    assert sh("--exit-zero", "gone.py").status == 2, "that nothing was checked is another matter"


def test_options_may_stand_between_paths(sh: Shell):
    sh.write("b/train.py", SCRIPT)
    run = sh("train.py", "-q", "b", "--output-format", "concise")
    assert run.status == 1 and run.out.endswith(" (and 1 more place: train.py:6)\n")


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
        (["--config", "gone.toml"], "gone.toml: no such file or directory"),
        (["--config", "a.toml", "--isolated"], "exclude each other"),
        (["--add-noqa", "--diff"], "`--add-noqa` and `--diff` exclude each other"),
        (["--write-baseline", "--baseline", "b.json", "--fix"], "exclude each other"),
        (["--select", ""], "--select: no rule is named"),
        (["--target", f"trl=={'9' * 5000}"], "is not a version"),
        (["chekc"], "no file and no command `chekc`; did you mean `check`?"),
        (["trl103"], "no file and no command `trl103`; did you mean `rule TRL103`?"),
        (["explain", "TRL103"], "no file and no command `explain`; did you mean `rule`?"),
        (["diagnose"], "For help, try `trl-lint diagnose --help`."),
        (["check", "--bogus"], "For help, try `trl-lint check --help`."),
        (["--bogus"], "For help, try `trl-lint --help`."),
        (["--stdin-filename", "a.py"], "needs `-`"),
        (["-", "train.py"], "`-` cannot be combined"),
        (["--color", "sometimes"], "invalid choice"),
        (["rule", "TRL1O3"], "no rule `TRL1O3`; did you mean `TRL103`?"),
        (["rule", "TRL999"], "no rule `TRL999`; `trl-lint rule` lists them"),
        (["--select", "TRL999"], "--select: unknown rule selector `TRL999`\n"),
        (["--foo=bar"], "unexpected argument `--foo=bar`\n"),
        (["upgrade", "--write", "--diff"], "not allowed with argument"),
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

    monkeypatch.setattr(tensor_without_device.rule, "check_call", crash, raising=False)
    sh.write("recipe.yaml", "model_name_or_path: m\noutput_dir: o\nnum_train_epochs: 1\nlearning_rate: 1e-6\n")
    run = sh("--output-format", "json")
    assert run.status == 2
    assert run.codes == ["TRL405", "TRL003"]
    assert "rule TRL103 (tensor-without-device) failed: KeyError" in run.err


# -- the tool's own codes --------------------------------------------------------------------------------------------


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


# -- words of other tools --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "option"),
    [
        (["version"], ["--version"]),
        (["config"], ["--show-settings"]),
        (["help"], ["--help"]),
        (["help", "rule"], ["rule", "--help"]),
    ],
)
def test_a_word_of_another_tool(word: list[str], option: list[str], sh: Shell):
    assert (sh(*word).status, sh(*word).out) == (sh(*option).status, sh(*option).out)
    sh.write(word[0], "")
    assert sh(*word[:1]).out != sh(*option).out


def test_the_help_begins_with_the_commands(sh: Shell):
    text = sh("--help").out
    assert text.index("trl-lint upgrade") < text.index("--fix") < text.index("exit status")


def test_a_baseline_that_nobody_named(sh: Shell):
    assert sh("--write-baseline").err.startswith("Wrote 1 finding to trl-lint-baseline.json; `--baseline trl-lint-base")
    assert sh("--baseline", "trl-lint-baseline.json").status == 0
