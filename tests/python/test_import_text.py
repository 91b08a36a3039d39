"""What is read of imports and of tensors in the bytes of a file, before it is parsed."""

from __future__ import annotations

import pytest

from trl_lint.checks.distribution._glances import makes_strays
from trl_lint.checks.numerics.fill_value_overflow import rule as fill_value_overflow
from trl_lint.checks.registry import declared_rules
from trl_lint.project import Project
from trl_lint.python.imports import imports_in
from trl_lint.python.triage import Triage
from trl_lint.settings import Settings
from trl_lint.sources import Files, SourceFile


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import os, sys as s\n", [("", "os", "os"), ("", "sys", "s")]),
        ("import a.b.c as m\n", [("", "a.b.c", "m")]),
        ("from a.b import (c,  # (not this)\n    d as e,\n)\n", [("a.b", "c", "c"), ("a.b", "d", "e")]),
        ("from . import x\nfrom .. y import z; import q\n", [(".", "x", "x"), ("..y", "z", "z"), ("", "q", "q")]),
        ("from \\\n  foo import bar, \\\n  baz\n", [("foo", "bar", "bar"), ("foo", "baz", "baz")]),
        ("from.k import(l)\r\nimport m\r", [(".k", "l", "l"), ("", "m", "m")]),
        ("important = reimport = 1\n", []),
    ],
)
def test_imports(text: str, found: list[tuple[str, str, str]]):
    assert list(imports_in(text.encode())) == found


def strays(text: str, name: str = "train.py") -> bool:
    file = SourceFile(f"/p/{name}", f"import torch\n# cuda\n{text}".encode())
    return makes_strays(file, Project("/p", Files({}), Settings()))


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    return x + torch.zeros(3)\n",
        "x = torch.zeros(size(3, (1, (2))))\n",
        "x = torch.zeros(3, device=None)\n",
        "def f(device=None):\n    x = torch.zeros(3, device=device)\n",
        "def f(device: str | None = None):\n    x = torch.zeros(3, device = device)\n",
        "make = torch.zeros\n",
        "from torch import zeros as z\nz(3)\n",
        "x = torch.zeros(3).to(torch.float16)\n",
        "x = torch.zeros(size(device='cuda'))\n",
        "x = torch.zeros('(', 3)\n",
        "import np\nnp = torch\nx = np.zeros(3)\n",
        "from mine import nn\nx = nn.Parameter(torch.zeros(3))\n",
    ],
)
def test_tensors_that_may_be_without_a_device(text: str):
    assert strays(text)


@pytest.mark.parametrize(
    "text",
    [
        "x = torch.zeros(3, device=y.device)\n",
        "x = torch.zeros(size(3), device='cuda')\n",
        "def f(device):\n    x = torch.zeros(3, device=device)\n",
        "x = torch.arange(3).to(device)\n",
        "x = torch.arange(size(3)).cuda()\n",
        "def f(x: torch.LongTensor | None) -> torch.FloatTensor: ...\n",
        ">>> x = torch.zeros(3)\n",
        "x = y.new_zeros(3)\n",
        "import numpy as np\nx = np.random.rand(3)\n",
        "from torch import nn\nx = nn.Parameter(torch.zeros(3))\n",
    ],
)
def test_tensors_that_have_a_device(text: str):
    assert not strays(text)


def test_what_a_collator_makes_stays_where_it_is():
    method = "def collate(self):\n        return torch.zeros(3)\n"
    assert not strays(f"class A:\n    {method}", "collator.py")
    assert strays(f"class A:\n    def __init__(self):\n        self.x = torch.zeros(3)\n    {method}", "collator.py")


@pytest.mark.parametrize(
    ("text", "is_active"),
    [
        ("x.half().masked_fill(m, -1e9)", True),
        ("x.half().masked_fill(m, value=-100_000)", True),
        ("x.half().masked_fill(m, torch.finfo(torch.float32).min)", True),
        ("x.half().masked_fill(m, -1e-9)", False),
        ("x.half().masked_fill(m, torch.finfo(x.dtype).min)", False),
        ("x.float().masked_fill(m, -1e9)", False),
    ],
)
def test_patterns(text: str, is_active: bool):
    active = Triage([fill_value_overflow]).active(f"import torch\n{text}\n".encode(), "/p/train.py")
    assert bool(active) is is_active


@pytest.mark.parametrize(
    ("text", "is_active"),
    [
        ("torch.load(f)", True),
        ("torch . \\\n load(f)", True),
        ("from torch import (\n  load as l,\n)\nl(f)", True),
        ("json.loads(f)  # to load with torch", False),
        ("from json import load\nimport torch", False),
    ],
)
def test_names_of_packages(text: str, is_active: bool):
    (rule,) = (rule for rule in declared_rules() if rule.code == "TRL306")
    assert bool(Triage([rule]).active(text.encode(), "/p/train.py")) is is_active
    assert not Triage([rule]).active(text.encode(), "/p/tests/test_train.py")
