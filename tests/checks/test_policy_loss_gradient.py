"""What TRL703 looks at before it follows a function: it may only pass over those in which nothing is found."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from documents import ROOT

from trl_lint.checks.algorithm import policy_loss_gradient as rule
from trl_lint.checks.distribution import reference_model_with_gradients as judges
from trl_lint.python.dataflow.gradient import flows
from trl_lint.python.module import PythonModule
from trl_lint.sources import Files, Source

SCRIPTS = [
    path
    for code in ("TRL703", "TRL107", "TRL111", "TRL113", "TRL603")
    for path in (ROOT / "fixtures" / code).rglob("*.py")
]


def module_of(path: Path) -> PythonModule:
    return PythonModule(Source(Files().get(str(path)), "python"))


def read(text: str, folder: Path) -> PythonModule:
    (folder / "loss.py").write_text(text, encoding="utf-8")
    return module_of(folder / "loss.py")


def test_there_is_something_to_look_at() -> None:
    modules = [module_of(path) for path in SCRIPTS]
    told = [rule.may_tell(module, root) for module in modules for root in (module.tree, *module.functions)]
    assert told.count(True) > 30
    assert told.count(False) > 30


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: "-".join(path.parts[-3:]))
def test_nothing_is_found_where_it_does_not_look(path: Path) -> None:
    module = module_of(path)
    for root in (module.tree, *module.functions):
        found = flows(module, root)
        if found is None:
            continue
        if not rule.may_tell(module, root):
            assert not [*rule.rule._ratios(module, root, found), *rule.rule._advantages(module, root, found)]
            assert not [*rule.rule._inference(module, found)]
        if not judges.holds_judge(module):
            assert not [*judges.live_references(found, module)]


@pytest.mark.parametrize(
    ("around", "expected"),
    [
        ("def f(a, b):\n    return torch.exp(a - b)", True),
        ("@torch.no_grad()\ndef f(a, b):\n    return torch.exp(a - b)", False),
        ("@torch.no_grad()\ndef f(a, b):\n    with torch.enable_grad():\n        return torch.exp(a - b)", True),
        ("def f(a, b):\n    with torch.no_grad():\n        return torch.exp(a - b)", False),
        ("def f(a, b):\n    with torch.no_grad(), torch.enable_grad():\n        return torch.exp(a - b)", True),
        ("def f(a, b):\n    with torch.autocast('cuda'):\n        return torch.exp(a - b)", True),
        ("@triton.jit\ndef f(a, b):\n    return tl.exp(a - b)", False),
        ("def f(a, b):\n    return a - b", False),
    ],
)
def test_powers_with_gradients(around: str, expected: bool, tmp_path: Path) -> None:
    module = read(f"import torch\n{around}\n", tmp_path)
    (function,) = module.functions
    assert isinstance(function, ast.FunctionDef)
    assert rule.may_tell(module, function) is expected


def test_a_leak_needs_a_loss_a_regression_and_a_product(tmp_path: Path) -> None:
    loss = "def policy_loss(logp, value, returns):\n"
    product, regression = "    pg = logp * (returns - value)\n", "    vf = (value - returns) ** 2\n"
    for text, expected in ((product + regression, True), (product, False), (regression, False)):
        module = read(f"import torch\n{loss}{text}    return pg\n", tmp_path)
        assert rule.may_tell(module, module.functions[0]) is expected
    module = read(f"import torch\n{loss.replace('policy_loss', 'f')}{product}{regression}", tmp_path)
    assert not rule.may_tell(module, module.functions[0])
