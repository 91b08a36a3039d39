"""Which files a rule about a package gets to see."""

from __future__ import annotations

import pytest

from trl_lint.checks.rule import Rule
from trl_lint.python.module import PythonModule
from trl_lint.python.triage import Triage
from trl_lint.sources import Source, SourceFile


class AboutTrl(Rule):
    code = "TRL999"
    imports = ("trl", "vllm")


RULE = AboutTrl()
TRIAGE = Triage([RULE])


def is_seen(text: str) -> bool:
    data = text.encode()
    active = TRIAGE.active(data)
    return bool(active) and RULE in TRIAGE.importing(PythonModule(Source(SourceFile("/x.py", data), "python")), active)


@pytest.mark.parametrize(
    "text",
    [
        "import trl\n",
        "import trl.core as core\n",
        "from trl import SFTTrainer\n",
        "from trl.trainer.utils import x\n",
        "def f():\n    from vllm import LLM\n",
    ],
)
def test_seen(text: str):
    assert is_seen(text)


@pytest.mark.parametrize(
    "text",
    ["x = 'trl'\n", "# pip install trl\n", "from mytrl import x\n", "from .trl import x\n", "'from trl import x'\n"],
)
def test_not_seen(text: str):
    assert not is_seen(text)


def test_a_file_that_only_speaks_of_a_package_is_not_even_parsed():
    assert not TRIAGE.active(b"trl = 'trl'  # important: vllm\n")


@pytest.mark.parametrize(
    "text",
    [
        "if x: import trl\n",
        "\ufefffrom trl import x\n",
        "import os; import torch, trl as t\n",
        "try:\r    from trl import x\r",
        '"source": ["from trl import SFTTrainer\\n",\n',
        '"source": "import os\\\\nfrom trl import SFTTrainer"\n',
    ],
)
def test_bytes_of_imports(text: str):
    assert TRIAGE.active(text.encode()) == {RULE}


@pytest.mark.parametrize(
    "text",
    [">>> from trl import x\n", "# or import trl\n", "from .trl import x\n", "# from trl import x\n", "reimport trl\n"],
)
def test_bytes_that_are_no_import(text: str):
    assert not TRIAGE.active(text.encode())
