"""A branch in which there is no accelerator holds no tensors of two devices, however the script asks for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.selection import Selection
from trl_lint.settings import Settings

_FILES = {
    "flags.py": "import torch\n\nON_CARD = torch.cuda.is_available()\nSIZE = 3\n",
    "helpers.py": "import torch\n\n\ndef use_gpu():\n    return torch.cuda.is_available()\n",
}
_HEAD = """import torch
from flags import ON_CARD, SIZE
from helpers import use_gpu

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
cuda = torch.cuda.is_available()
ready = torch.cuda.is_available() and not args.cpu
card = cuda
plain = not torch.cuda.is_available()
fast = torch.cuda.is_available() and args.fast
verbose = args.verbose
"""
_BODY = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Linear(4, 4).to(device)
        self.ready = torch.cuda.is_available()

    def forward(self, x, h, use_cuda=True):
        out = h.to(device) * 2
{inside}
        return out
"""
# A test that is true only where there is an accelerator.
ON = [
    "cuda",
    "ready",
    "card",
    "ON_CARD",
    "use_cuda",
    "use_gpu()",
    "self.ready",
    "args.cuda",
    "config.use_gpu",
    "torch.cuda.is_available()",
    "torch.cuda.device_count() > 0",
    "device.type == 'cuda'",
    "device == 'cuda'",
    "'cuda' in str(device)",
    "str(device).startswith('cuda')",
    "device != torch.device('cpu')",
    "args.gpu is not None",
    "cuda is True",
    "bool(cuda)",
    "not plain",
    "not args.no_cuda",
    "not args.cpu",
]
# One that says nothing about it.
OTHER = [
    "verbose",
    "SIZE",
    "args.fast",
    "h.ndim > 1",
    "torch.cuda.device_count() > 1",
    "fast",
    "self.training",
    "len(x) > 2",
]
_GOOD, _BAD = "i = torch.zeros(2, 4, device=device)", "i = torch.zeros(2, 4)"
_WAYS = {
    "branch": "if {on}:\n    {good}\n    return out + i\nelse:\n    {bad}\n    return out + i",
    "branches": "if {on}:\n    {good}\nelse:\n    {bad}\nreturn out + i",
    "early": "if {on}:\n    {good}\n    return out + i\n{bad}\nreturn out + i",
    "expression": "return out + (torch.zeros(2, 4, device=device) if {on} else torch.zeros(2, 4))",
    "turned": "if not ({on}):\n    {bad}\n    return out + i",
    "nested": "if h is not None:\n    if not ({on}):\n        {bad}\n        return out + i",
}


def found(folder: Path, way: str, test: str) -> list[str]:
    inside = _WAYS[way].format(on=test, good=_GOOD, bad=_BAD)
    indented = "".join(f"        {line}\n" for line in inside.split("\n"))
    (folder / "net.py").write_text(_HEAD + _BODY.format(inside=indented))
    for name, text in _FILES.items():
        (folder / name).write_text(text)
    report = check([str(folder)], Settings(str(folder), layers=[Selection(select=("TRL103",))]))
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize("test", ON)
def test_where_there_is_no_accelerator_all_tensors_are_on_the_cpu(tmp_path: Path, way: str, test: str):
    assert found(tmp_path, way, test) == []


@pytest.mark.parametrize("way", ["branch", "turned", "early", "nested"])
@pytest.mark.parametrize("test", OTHER)
def test_a_test_of_something_else_decides_nothing(tmp_path: Path, way: str, test: str):
    assert found(tmp_path, way, test) == ["TRL103"]


@pytest.mark.parametrize("test", [test for test in ON if "is_available" not in test and "'cpu'" not in test])
def test_a_cpu_tensor_in_the_branch_with_an_accelerator_is_still_found(tmp_path: Path, test: str):
    assert found(tmp_path, "turned", f"not ({test})") == ["TRL103"]


def test_a_function_that_only_the_other_branch_calls_runs_without_an_accelerator(tmp_path: Path):
    inside = "        return self.on_cpu(h.to(device)) if not cuda else out\n\n    def on_cpu(self, h):\n"
    inside += f"        out = self.w(h)\n        {_BAD}\n        return out + i\n"
    (tmp_path / "net.py").write_text(_HEAD + _BODY.format(inside=inside))
    report = check([str(tmp_path)], Settings(str(tmp_path), layers=[Selection(select=("TRL103",))]))
    assert report.findings == []
