"""Silence means looked at: what could not be judged is said, in every front that has room for it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from command_line import Shell
from samples import assert_valid

from trl_lint.knowledge.releases import newer_than_known, newest

KNOWN = str(newest("trl"))
SCRIPT = "from trl import GRPOConfig, Nonsense\n\nGRPOConfig(nonsense=1)\n"
UNREAD = (
    f"trl 99.0 is newer than this trl-lint knows ({KNOWN}): its arguments, names and defaults were not judged; "
    f"judge it as the newest known one: `--target trl=={KNOWN}`"
)


@pytest.fixture
def clean(sh: Shell) -> Shell:
    """The project of the shell, with a script that nothing can be said about."""
    sh.write("train.py", SCRIPT)
    sh.write("requirements.txt", "# ours\ntrl==99.0\n")
    return sh


def notices(sh: Shell, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(sh(*arguments, "--output-format", "json").out)["notices"]
    return found


@pytest.mark.parametrize(
    ("specifier", "expected"),
    [
        ("==99.0", "99.0"), (">=99.0", "99.0"), (">=99,<100", "99"), ("~=99.1", "99.1"), ("==99.*", "99"),
        (f">{KNOWN}", f">{KNOWN}"), (f"=={KNOWN}", ""), (f">={KNOWN}", ""), ("", ""), ("<0.1", ""), ("==0.14.5", ""),
        ("==0.14.0.dev0", ""), ("nonsense", ""),
    ],
)  # fmt: skip
def test_what_is_newer_than_all_that_is_known(specifier: str, expected: str) -> None:
    assert newer_than_known("trl", specifier) == expected
    assert newer_than_known("nobody-knows-this", specifier) == ""


def test_a_newer_pin_is_no_all_clear(clean: Shell) -> None:
    run = clean("--no-cache")
    assert run.status == 0
    assert run.out == (
        f"requirements.txt:2:1: note: {UNREAD}\n"
        "No errors or warnings in what was judged: 2 files, 0 of 1 argument object understood; see 1 note above.\n"
    )
    for arguments in (["train.py"], ["requirements.txt"], [".", "-j2"], [".", "--output-format", "concise"]):
        assert UNREAD in clean(*arguments).out


def test_in_json_it_is_an_object_with_its_place(clean: Shell) -> None:
    assert notices(clean) == [
        {
            "kind": "newer-release", "message": UNREAD, "package": "trl", "version": "99.0", "newest_known": KNOWN,
            "path": "requirements.txt", "start": {"line": 2, "column": 1}, "end": {"line": 2, "column": 10},
        }
    ]  # fmt: skip


def test_in_sarif_it_is_a_notification(clean: Shell) -> None:
    log = json.loads(clean("--output-format", "sarif").out)
    assert_valid(log, "sarif-2.1.0.json")
    (invocation,) = log["runs"][0]["invocations"]
    (note,) = invocation["toolExecutionNotifications"]
    assert invocation["executionSuccessful"] and note["level"] == "note" and note["message"]["text"] == UNREAD
    assert note["locations"][0]["physicalLocation"]["region"]["startLine"] == 2


def test_a_pin_is_said_once_however_many_files_rest_on_it(clean: Shell) -> None:
    for number in range(70):  # enough for several processes
        clean.write(f"scripts/train_{number}.py", SCRIPT)
    assert len(notices(clean, ".", "-j2", "--no-cache")) == 1


def test_of_a_package_that_no_file_names_nothing_is_said(clean: Shell) -> None:
    clean.write("requirements.txt", "verl==99.0\n")
    assert notices(clean, "train.py") == []
    assert [note["package"] for note in notices(clean)] == ["verl"]


@pytest.mark.parametrize(
    ("name", "text", "package"),
    [
        (
            "recipe.yaml",
            "model_name_or_path: a/b\nnum_generations: 8\nlearning_rate: 1.0e-6\noutput_dir: x\nbf16: true\n",
            "trl",
        ),
        ("ds.json", '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}}', "deepspeed"),
        ("run.sh", "accelerate launch train.py\n", "accelerate"),
        ("nb.ipynb", json.dumps({"cells": [{"cell_type": "code", "source": "import vllm"}]}), "vllm"),
    ],
)
def test_every_kind_of_file_brings_its_packages(sh: Shell, name: str, text: str, package: str) -> None:
    sh.write("requirements.txt", f"{package}==99.0\n")
    sh.write(name, text)
    assert [(note["package"], note["path"]) for note in notices(sh, name)] == [(package, "requirements.txt")]


def test_a_commit_of_a_repository_is_not_judged(sh: Shell) -> None:
    sh.write("requirements.txt", "trl @ git+https://github.com/huggingface/trl@0123abc\n")
    sh.write("train.py", SCRIPT)
    (note,) = notices(sh)
    assert note["kind"] == "unknown-release" and note["message"].startswith("trl comes from a repository: ")


@pytest.mark.parametrize(
    ("lines", "step"),
    [
        (
            "transformers @ git+https://github.com/huggingface/transformers@336dc69\ntrl==0.14.0\n",
            "transformers==4.49.0",
        ),
        ("git+https://github.com/huggingface/transformers@336dc69\ntrl==0.14.0\nvllm==0.7.2\n", "transformers==4.49.0"),
        (
            "git+https://github.com/huggingface/transformers@336dc69\ntrl>=0.14\n",
            f"transformers=={newest('transformers')}",
        ),
        ("git+https://github.com/huggingface/transformers@336dc69  # 2025-03-01\n", "transformers==4.50.0"),
        ("git+https://github.com/huggingface/transformers@v4.49.0-Gemma-3\n", "transformers==4.50.0"),
        ("git+https://github.com/someone/handbook.git\ntrl==0.14.0\n", "transformers==4.49.0"),
        ("transformers==99.0\n", f"transformers=={newest('transformers')}"),
    ],
)
def test_every_notice_has_a_next_step(sh: Shell, lines: str, step: str) -> None:
    sh.write("requirements.txt", lines)
    sh.write("train.py", "from transformers import Nonsense\n")
    (note,) = notices(sh)
    assert note["message"].endswith(f": `--target {step}`")
    assert notices(sh, "--target", step) == []


def test_what_another_project_brings_is_not_judged(sh: Shell) -> None:
    """Nothing here pins trl, and a project that nobody has read is installed: it may ask for an old release."""
    sh.write("requirements.txt", "# ours\ngit+https://github.com/someone/handbook.git\n")
    sh.write("train.py", SCRIPT)
    sh.write("other.py", "print('trl stands here, and nothing imports it')\n")
    run = sh("--no-cache")
    assert run.out.startswith("requirements.txt:2:") and "No errors or warnings in what was judged" in run.out
    (note,) = notices(sh)
    assert (note["kind"], note["package"]) == ("unknown-release", "trl")
    assert "may bring any release of trl: its arguments, names and defaults were not judged" in note["message"]
    assert notices(sh, "other.py") == []
    sh.write("requirements.txt", "trl==0.15.2\ngit+https://github.com/someone/handbook.git\n")
    assert notices(sh) == [], "a pin decides, whatever else is installed"


def test_the_cache_keeps_them(clean: Shell) -> None:
    first = clean().out
    assert UNREAD in first and clean().out == first
    clean.write("other.py", "print('another file')\n")
    assert clean().out == first.replace("2 files", "3 files"), "a run after an edit starts from the one before"
    clean.write("requirements.txt", f"trl=={KNOWN}\n")
    assert UNREAD not in clean().out


def test_a_target_beyond_the_knowledge(clean: Shell) -> None:
    clean.write("requirements.txt", f"trl=={KNOWN}\n")
    run = clean("--target", "trl==99.0")
    assert run.status == 0 and run.out.startswith(f"note: {UNREAD}\n")
    clean.write("trl-lint.toml", "target = { trl = '99.0' }\n")
    assert [note["version"] for note in notices(clean)] == ["99.0"]


def test_a_target_that_never_was(clean: Shell) -> None:
    run = clean("--target", "trl==0.14.5")
    assert run.status == 2
    assert run.err.startswith("trl-lint: --target: there is no release 0.14.5 of trl; did you mean 0.14.0?\n")
    clean.write("trl-lint.toml", "target = { trl = '0.14.5' }\n")
    run = clean()
    assert run.status == 2
    assert run.err.startswith("trl-lint: trl-lint.toml:1: `target`: there is no release 0.14.5 of trl; did you mean ")


@pytest.mark.parametrize("version", ["0.14.0", "0.14", "0.15.0.dev0", KNOWN])
def test_a_target_that_may_be(clean: Shell, version: str) -> None:
    assert clean("--target", f"trl=={version}").status in (0, 1)


def test_a_file_that_is_switched_off_is_counted(sh: Shell) -> None:
    sh.write("requirements.txt", f"trl=={KNOWN}\n")
    sh.write("train.py", f"# flake8: noqa\n{SCRIPT}")
    run = sh("--no-cache")
    assert run.status == 0
    assert run.out.startswith("train.py:1:1: note: `# flake8: noqa` switches this file off, which hides 2 errors\n")
    assert sh("--no-respect-file-noqa").status == 1
    sh.write("trl-lint.toml", "respect-file-noqa = false\n")
    assert sh().status == 1


def test_the_level_that_fails_a_run(sh: Shell) -> None:
    sh.write("requirements.txt", f"trl=={KNOWN}\ntransformers==5.0.0\n")
    sh.write("train.py", "import torch\nx = torch.load('x')\n")
    assert sh("--fail-on", "error").status == 0
    sh.write("train.py", SCRIPT)
    assert [sh("--fail-on", level).status for level in ("error", "warning", "info")] == [1, 1, 1]
    run = sh("--fail-on", "fatal")
    assert run.status == 2 and "--fail-on" in run.err
