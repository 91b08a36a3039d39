"""`trl-lint server` without pygls, and its help."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trl_lint.cli import main

_WITHOUT = "import sys; sys.modules['pygls'] = None; from trl_lint.cli import main; sys.exit(main(['server']))"


def test_one_line_says_what_to_install():
    done = subprocess.run([sys.executable, "-c", _WITHOUT], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'trl-lint[lsp]'" in done.stderr.splitlines()[0]


def test_help_says_what_it_is_for(capsys: pytest.CaptureFixture[str]):
    assert main(["server", "--help"]) == 0
    assert "language server protocol" in capsys.readouterr().out
