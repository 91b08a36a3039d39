"""What is read of imports and of tensors in the bytes of a file, before it is parsed."""

from __future__ import annotations

import pytest

from trl_lint.checks.numerics.fill_value_overflow import rule as fill_value_overflow
from trl_lint.checks.registry import declared_rules
from trl_lint.python.imports import imports_in
from trl_lint.python.triage import Triage


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
