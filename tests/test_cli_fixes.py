"""Repairs and suppressions that the command line writes."""

from __future__ import annotations

import json
import subprocess

import pytest
from command_line import FIXED, FOUND, SCRIPT, Shell


def test_fix(sh: Shell):
    run = sh("--fix")
    assert (run.status, run.out) == (0, "Fixed 1 problem, 0 remaining.\n")
    assert sh.read("train.py") == FIXED
    again = sh("--fix")
    assert (again.status, sh.read("train.py")) == (0, FIXED)


def repaired(sh: Shell, checked: list[str]) -> list[str]:
    """The names of the files that `--fix` checks, as often as it does."""
    assert sh.read("train.py") == SCRIPT
    sh("--fix", "-j1")
    assert sh.read("train.py") == FIXED
    return sorted(checked)


def test_what_rests_on_no_repaired_file_is_checked_once(sh: Shell, checked: list[str]):
    sh.write("other.py", "import torch\n\nprint(torch.arange(3))\n")
    sh.write("recipe.yaml", "a: 1\n")
    names = repaired(sh, checked)
    assert names.count("train.py") == 2 and names.count("other.py") == names.count("recipe.yaml") == 1


def test_what_takes_something_from_a_repaired_file_is_checked_with_it(
    sh: Shell, checked: list[str], monkeypatch: pytest.MonkeyPatch
):
    sh.write("user.py", "import torch\n\nfrom train import mask\n\nmask(torch.arange(3)).sum()\n")
    monkeypatch.setattr("trl_lint.workspace.resting_on", lambda changed, _: {*changed, str(sh.folder / "user.py")})
    names = repaired(sh, checked)
    assert names.count("train.py") == names.count("user.py") == 2


def test_with_a_problem_everything_is_checked_again(sh: Shell, checked: list[str], monkeypatch: pytest.MonkeyPatch):
    """A problem is told by the run that meets it."""
    sh.write("other.py", "import torch\n\nprint(torch.arange(3))\n")
    monkeypatch.setattr("trl_lint.checker.Checker._check_manifest", lambda *_: 1 / 0)
    names = repaired(sh, checked)
    assert names.count("train.py") == names.count("other.py") == 2


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
    assert run.err == "trl-lint: train.py: is read-only, so it was left as it is\n"
    assert run.out.startswith(FOUND) and sh.read("train.py") == SCRIPT


def test_a_file_with_two_names_is_left_as_it_is(sh: Shell):
    (sh.folder / "twin.py").hardlink_to(sh.folder / "train.py")
    run = sh("--fix")
    assert run.status == 2 and sh.read("train.py") == SCRIPT == sh.read("twin.py")
    assert "trl-lint: train.py: has 2 names (hard links), so it was left as it is\n" in run.err


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
    sh.write("train.py", FIXED.replace("cuda()\n", "cuda()  # noqa: E501, TRL103\n"))
    assert sh("--fix").status == 0
    assert sh.read("train.py") == FIXED.replace("cuda()\n", "cuda()  # noqa: E501\n")


def test_a_fix_that_does_not_hold_is_said(sh: Shell, monkeypatch: pytest.MonkeyPatch):
    from trl_lint.fixes import repair

    monkeypatch.setattr(repair, "objection", lambda *arguments: "it would not parse")
    run = sh("--fix")
    assert (run.status, sh.read("train.py")) == (1, SCRIPT)
    assert run.err == "trl-lint: train.py:6:17: the fix of TRL103 was not made: it would not parse\n"


# -- suppressions ----------------------------------------------------------------------------------------------------


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


def test_add_noqa_until_a_release(sh: Shell):
    sh("--add-noqa=until trl>=99", "train.py")
    assert "# noqa: TRL103 until trl>=99\n" in sh.read("train.py")
    assert sh().status == 0


@pytest.mark.parametrize("word", ["known", "known until later", "tarin.py"])
@pytest.mark.parametrize("others", [[], ["train.py"]])
def test_a_word_behind_add_noqa_is_a_path(sh: Shell, word: str, others: list[str]):
    run = sh("--add-noqa", word, *others)
    assert run.status == 2 and run.out == ""
    message = f'--add-noqa: no file or folder `{word}`; a reason is written `--add-noqa="{word}"`'
    assert run.err.splitlines()[0] == f"trl-lint: {message}"
    assert sh.read("train.py") == SCRIPT, "nothing is written"


def test_the_help_shows_how_a_reason_is_written(sh: Shell):
    run = sh("--help")
    assert "--add-noqa[=REASON]" in run.out and "--add-noqa [" not in run.out


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
    assert (run.status, run.out) == (0, "No errors or warnings: 2 files.\n1 finding of the baseline not shown.\n")
    sh.write("train.py", "# moved\n\n" + SCRIPT)
    sh.write("b.py", SCRIPT)
    run = sh("--baseline", "known.json", "--output-format", "concise", "-q")
    assert run.status == 1 and run.out.startswith("b.py:") and run.out.count("\n") == 1


def test_what_the_baseline_hides_is_not_repaired(sh: Shell):
    sh("--baseline", "known.json", "--write-baseline")
    assert sh("--baseline", "known.json", "--fix").status == 0
    assert sh.read("train.py") == SCRIPT
