"""Options: which rules run on which files, and what is said about a rule."""

from __future__ import annotations

import json

from command_line import SCRIPT, Shell

# -- selection -------------------------------------------------------------------------------------------------------


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
    assert run.out.count("TRL103") == 1 and run.out.startswith("train.py") and "quiet" not in run.out


def test_exclude(sh: Shell):
    sh.write("old/train.py", SCRIPT)
    assert sh("-q", "--output-format", "concise", "--extend-exclude", "old,x").out.count("\n") == 1
    assert sh("train.py", "--exclude", "train.py").status == 1, "a named file is taken"
    assert sh("train.py", "--exclude", "train.py", "--force-exclude").status == 0


def test_a_target_nothing_is_known_about(sh: Shell):
    run = sh("--target", "tlr==1.0")
    assert "no release of `tlr` is known, so nothing depends on it; did you mean `trl`?" in run.out
    assert sh("--target", "trl==1.16.0").err == ""


def test_a_rule_about_runs_alone_finds_what_it_finds_among_all(sh: Shell):
    sh.write("requirements.txt", "trl==1.0.0\n")
    sh.write("train.py", "from trl import GRPOConfig\nGRPOConfig(use_vllm=True, vllm_server_port=1)\n")
    run = sh("--select", "TRL801", "--output-format", "concise")
    assert run.status == 1 and "TRL801" in run.out


# -- rule ------------------------------------------------------------------------------------------------------------


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
