"""`trl-lint completion`: the scripts, asked in the shells themselves where they are installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import Shell

from trl_lint.cli import COMMANDS
from trl_lint.commands.parsers import all_parsers


def test_every_command_has_a_parser():
    assert set(all_parsers()) == set(COMMANDS)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("trl-lint dia", {"diagnose"}),
        ("trl-lint --output-format js", {"json"}),
        ("trl-lint --sho", {"--show-files", "--show-fixes", "--show-settings"}),
        ("trl-lint upgrade --keep", {"--keep-behaviour"}),
        ("trl-lint rule TRL10", {f"TRL10{digit}" for digit in "1234567891"} - {"TRL100"}),
        ("trl-lint --fail-on w", {"warning"}),
        ("trl-lint completion f", {"fish"}),
    ],
)
@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes(sh: Shell, words: str, wanted: set[str]):
    script = sh("completion", "bash").out
    asked = words.split()
    lines = [script, f"COMP_WORDS=({words})", f"COMP_CWORD={len(asked) - 1}", "_trl_lint"]
    done = subprocess.run(["bash", "-c", "\n".join([*lines, 'printf "%s\\n" "${COMPREPLY[@]}"'])], capture_output=True)
    assert wanted <= set(done.stdout.decode().split()) and not done.stderr
    assert all(word.startswith(asked[-1]) for word in done.stdout.decode().split())


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_script(sh: Shell, shell: str, tmp_path: Path):
    script = sh.write("script", sh("completion", shell).out)
    assert "--show-settings" in script.read_text() or "-l show-settings" in script.read_text()
    if shutil.which(shell):
        subprocess.run([shell, "-n", str(script)], check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
def test_fish_completes(sh: Shell):
    script = sh.write("script", sh("completion", "fish").out)
    command = f"source {script}; complete -C 'trl-lint --output-format js'; complete -C 'trl-lint dia'"
    done = subprocess.run(["fish", "--no-config", "-c", command], capture_output=True, text=True)
    assert {"json", "diagnose"} <= set(done.stdout.split())
