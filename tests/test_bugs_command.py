"""`trl-lint bugs`, and what `upgrade` says of known bugs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trl_lint.cli import main
from trl_lint.knowledge.bugs import bugs, packages
from trl_lint.knowledge.ranges import holds

SCRIPT = """from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

trainer = GRPOTrainer(
    model="Qwen/Qwen2.5-0.5B-Instruct",
    args=GRPOConfig(use_vllm=True, vllm_mode="colocate", vllm_enable_sleep_mode=True),
    reward_funcs=lambda completions, **kwargs: [0.0] * len(completions),
    train_dataset=load_dataset("trl-lib/tldr", split="train"),
)
trainer.train()
"""
NAME = "trl-sleep-mode-first-weights"


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(arguments)
    out, err = capsys.readouterr()
    return status, out, err


def test_without_a_package_all_are_counted(capsys: pytest.CaptureFixture[str]):
    status, out, _ = said(["bugs"], capsys)
    assert (status, [line.split()[0] for line in out.splitlines()]) == (0, list(packages()))


@pytest.mark.parametrize("release", ["0.27.0", "0.28.0", "1.9.2", "1.10.0"])
def test_a_release_has_those_of_its_range(release: str, capsys: pytest.CaptureFixture[str]):
    _, out, _ = said(["bugs", f"trl=={release}", "--output-format", "json"], capsys)
    (found,) = json.loads(out)["packages"]
    assert [row["id"] for row in found["bugs"]] == [row.id for row in bugs("trl") if holds(row.releases, release)]
    _, text, _ = said(["bugs", f"trl=={release}"], capsys)
    assert (NAME in text) is holds(">=0.28,<1.10", release)


def test_no_message_has_holes(capsys: pytest.CaptureFixture[str]):
    _, out, _ = said(["bugs", *packages()], capsys)
    assert "{" not in out.replace("when ", "\n").splitlines()[0] and "…" not in out


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("trll", "no bugs of `trll` are known; did you mean `trl`?"),
        ("trl==99.1", "`99.1` is no known release of trl"),
        ("trl>=1", "no bugs of `trl>=1` are known"),
    ],
)
def test_what_is_not_known_is_said(asked: str, told: str, capsys: pytest.CaptureFixture[str]):
    status, _, err = said(["bugs", asked], capsys)
    assert status == 2 and told in err


@pytest.mark.parametrize(
    ("old", "new", "mends", "brings"),
    [
        ("0.29.0", "1.10.0", True, False),
        ("0.27.0", "1.5.0", False, True),
        ("0.29.0", "1.5.0", False, False),
        ("1.10.0", "1.12.0", False, False),
    ],
)
def test_an_upgrade_tells_what_it_mends_and_brings(
    old: str,
    new: str,
    mends: bool,
    brings: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    (tmp_path / "train.py").write_text(SCRIPT, "utf-8")
    (tmp_path / "requirements.txt").write_text(f"trl=={old}\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    _, out, _ = said(["upgrade", "--to", f"trl=={new}", "--output-format", "json"], capsys)
    report = json.loads(out)
    assert [row["id"] for row in report["mends"]] == [NAME] * mends
    assert [one["code"] for one in report["decisions"] if NAME in one["message"]] == ["TRL206"] * brings
    _, _, err = said(["upgrade", "--to", f"trl=={new}"], capsys)
    assert ("Mends 1 known bug (1 silent)" in err) is mends
