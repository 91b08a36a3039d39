"""The device analysis, one small function a case: which factory calls meet a tensor of another place."""

import pytest

from trl_lint.python.dataflow.device import device_mixes
from trl_lint.python.module import PythonModule
from trl_lint.sources import Source, SourceFile


def mixes(body: str, parameters: str = "x: torch.Tensor, y, n, device"):
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    text = f"import torch\nimport torch.nn.functional as F\ndef f(self, {parameters}):\n{lines}"
    parsed = PythonModule(Source(SourceFile("/p/train.py", text.encode()), "python"))
    return [(conflict.tier, conflict.remedy) for conflict in device_mixes(parsed, parsed.functions[0])]


@pytest.mark.parametrize(
    ("body", "tier", "remedy"),
    [
        ("torch.arange(n) + x", "param", "x.device"),
        ("m = torch.ones(n, n)\nm = m.unsqueeze(0)\nreturn m * x", "param", "x.device"),
        ("y = y.to(device)\nreturn torch.zeros(n, 2) - y", "placed", "device"),
        ("y = y.cuda()\nreturn torch.zeros(n, 2) < y", "placed", "y.device"),
        ("out = self.model(y).logits\nreturn torch.zeros(n, 2) == out", "model", "out.device"),
        ("m = torch.zeros(n, 2)\nout = self.model(y)\nreturn m + out[0]", "model", ""),
        ("m = torch.zeros(x.size(0))\nreturn torch.where(m > 0, x, y)", "param", "x.device"),
        ("m = torch.zeros(x.size(0))\nreturn x.masked_fill(m.bool(), 0)", "param", "x.device"),
        ("m = torch.zeros(n, 1)\nreturn torch.cat([x, m], dim=1)", "param", "x.device"),
        ("t = torch.zeros(3)\nif n:\n    t = t + 1\nreturn t + x", "param", "x.device"),
        ("t = torch.zeros(3)\nfor i in range(n):\n    t = x + t", "param", "x.device"),
        ("idx = torch.zeros(3)\nreturn torch.gather(x, 1, idx)", "param", "x.device"),
        ("t = torch.tensor([1.0, 2.0])\nreturn t * x", "param", "x.device"),
        ("t = torch.zeros(n, 2)\nx += t", "param", "x.device"),
        ("t = torch.zeros(n, 3)\nt[0] + x", "param", "x.device"),
        ("t = torch.zeros(n, 3)\nt.sum(dim=1) + x", "param", "x.device"),
        ("for t in [x, torch.zeros(n, 3)]:\n    x = x + t", "param", "x.device"),
        ("t = torch.zeros(n, 3)\nreturn x.clamp(min=t)", "param", "x.device"),
        ("t = [u * 2 for u in (x, torch.zeros(n, 3))]\nreturn t[1] + x", "param", ""),
        ("d = {'a': x, 'b': torch.zeros(n, 3)}\nfor k, v in d.items():\n    x = x + v", "param", "x.device"),
        ("t = None\nif n:\n    t = torch.zeros(n, 3)\nif t is not None:\n    return t + x", "param", ""),
        ("with torch.no_grad():\n    t = torch.zeros(n)\nreturn t + x", "param", "x.device"),
        ("w = torch.ones(y.size(0), 1)\nz = y.unsqueeze(1)\nreturn w * y.masked_fill(z, 0)", "anchor", "y.device"),
    ],
)
def test_a_cpu_tensor_that_meets_another_is_found(body, tier, remedy):
    assert mixes(body) == [(tier, remedy)]


@pytest.mark.parametrize(
    "body",
    [
        "torch.arange(n, device=device) + x",
        "torch.arange(n).to(device) + x",
        "torch.arange(n).to(x) + x",
        "torch.arange(n).to(x.device) + x",
        "torch.arange(n).type_as(x) + x",
        "torch.tensor(1.0) + x",
        "torch.zeros(()) + x",
        "torch.zeros(n, 2).sum() + x",
        "torch.zeros_like(x) + x",
        "x.new_zeros(n) + x",
        "torch.zeros(n, 2) + y",
        "torch.zeros(n, 2) + n",
        "torch.zeros(n, 2) + torch.ones(n, 2)",
        "x[torch.arange(n)]",
        "x[0] = torch.zeros(3)",
        "t = torch.zeros(n)\nt = t if n else t.to(device)\nreturn t + x",
        "t = torch.zeros(n)\nt[0] + x",
        "t = torch.zeros(n, 3)\nt[0, 1] + x",
        "t = torch.zeros(n, 3)\nt.sum(0)[1] + x",
        "t = torch.zeros(n, 3)\nt.max(0) + x",
        "F.mse_loss(torch.zeros(n, 3), torch.ones(n, 3)) + x",
        "torch.ones(3) @ torch.ones(3) + x",
        "with torch.device(device):\n    t = torch.zeros(n)\nreturn t + x",
        "t = torch.zeros(n)\nif n:\n    t = t.to(device)\nreturn t + x",
        "t = torch.zeros(n, 3).type_as(y)\nreturn t + x",
        'd = "cpu"\nreturn torch.zeros(n, 2) - y.to(d)',
        'd = torch.device("cpu")\nreturn torch.zeros(n, 2) - torch.ones(n, 2, device=d)',
        'return torch.zeros(n, 2) - y.to("cpu:0")',
        "return torch.zeros(n, 2) - y.to(y.device)",
        "return torch.zeros(n, 2) - self.model(y.cpu())",
        "t = torch.zeros(n, 3)\nif torch.cuda.is_available():\n    t = t.cuda()\nreturn t + x",
        "t = torch.zeros(n, 3)\nif x.is_cuda:\n    t, n = t.to(device), 1\nreturn t + x",
        "t = torch.zeros(n, 3)\nt.data = t.data.cuda()\nreturn t + x",
        "t = torch.zeros(n, 3)\nmatch y:\n    case [t, *_]:\n        return t + x",
        "t = torch.zeros(n, 3)\ndef move():\n    nonlocal t\n    t = t.to(device)\nmove()\nreturn t + x",
        "t = torch.zeros(n, 3)\nfrom mine import t\nreturn t + x",
        "t = torch.zeros(n, 3)\n[t := t.to(device) for _ in range(n)]\nreturn t + x",
        "t = torch.zeros(n, 3)\ntry:\n    pass\nexcept ValueError as t:\n    return t + x",
        # Six rounds pass until the last name of the chain is no longer a tensor of the CPU.
        "a = b = c = d = e = f = torch.zeros(n, 3)\nfor i in y:\n    a, b, c, d, e, f = b, c, d, e, f, i\nreturn a + x",
        "t = torch.zeros(n)\nif not torch.cuda.is_available():\n    return t + x",
        "torch.zeros(n, **kw) + x",
        "torch.zeros(n, 2).cpu() + x.cpu()",
        "x is torch.zeros(3)",
        "for t in torch.arange(n):\n    t + x",
    ],
)
def test_what_torch_allows_or_nobody_knows_is_silent(body):
    assert mixes(body) == []


HELPER = """
import torch

def ramp(n, device=None):
    return torch.arange(n, device=device) / n

def mask_of(n):
    return torch.zeros(n, 2).bool(), n

def over(a, b):
    return a * b

def apply(mask: torch.Tensor, n):
    return mask + torch.ones(n, 2)
"""


def module_mixes(body: str):
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    text = f"{HELPER}\ndef f(x: torch.Tensor, n, device):\n{lines}"
    parsed = PythonModule(Source(SourceFile("/p/train.py", text.encode()), "python"))
    return [
        (conflict.tier, parsed.segment(conflict.factory)) for conflict in device_mixes(parsed, parsed.functions[-1])
    ]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("mask, _ = mask_of(n)\nreturn x.masked_fill(mask, 0)", ("param", "torch.zeros(n, 2)")),
        ("return x * mask_of(n)[0]", ("param", "torch.zeros(n, 2)")),
        ("return over(torch.ones(n), x)", ("param", "torch.ones(n)")),
        ("return over(a=torch.ones(n), b=x.to(device))", ("placed", "torch.ones(n)")),
        ("return torch.ones(n) * ramp(n, device)", ("placed", "torch.ones(n)")),
        ("d = {'a': torch.ones(n), 'b': x}\nreturn d['a'] * d['b']", ("param", "torch.ones(n)")),
        ("found = []\nfor i in range(n):\n    found.append(torch.ones(n))\nfound.append(x)\nreturn torch.cat(found)",
         ("param", "torch.ones(n)")),
        ("return [m * x for m in [torch.ones(n)]]", ("param", "torch.ones(n)")),
        ("return torch.stack([x.sum(), torch.tensor(0.0)])", ("param", "torch.tensor(0.0)")),
        ("if n:\n    a = torch.ones(3)\nelse:\n    a = torch.zeros_like(x)\nreturn a * x", ("param", "torch.ones(3)")),
        ("rows = torch.tensor(n.item()).repeat(3)\nreturn rows * x", ("param", "torch.tensor(n.item())")),
    ],
)  # fmt: skip
def test_what_helpers_and_containers_hold_is_followed(body, found):
    assert module_mixes(body) == [found]


@pytest.mark.parametrize(
    "body",
    [
        "return torch.ones(n) * ramp(n)",
        "return apply(torch.zeros(n, 2), n)",
        "here = torch.zeros(n).device\nreturn torch.zeros(n) * ramp(n, here)",
        "mask, _ = mask_of(n)\nreturn x.masked_fill(mask.to(device), 0)",
        "d = {'a': torch.ones(n), 'b': x}\nfor k in d:\n    d[k] = d[k].to(device)\nreturn d['a'] * d['b']",
        "d = {'a': torch.ones(n), 'b': x}\nmove(d)\nreturn d['a'] * d['b']",
        "d = {'a': torch.ones(n)}\nd['a'] = d['a'].to(device)\nreturn d['a'] * x",
        "found = [torch.ones(n)]\nif n:\n    found = [x]\nreturn x * found[0]",
        "a, b = torch.ones(n), x\na, b = b, a\nreturn a * x",
        "if n:\n    a = torch.ones(3)\nelse:\n    a = x\nif not n:\n    return a * x",
        "parts = [x]\nparts.append(torch.ones(n))\nreturn parts[0] * x",
        "return torch.tensor(n).view(-1) * x",
        "return torch.tensor(1.0) * x",
        "return torch.load('m.pt', map_location='cpu').long() * torch.ones(n)",
    ],
)
def test_what_a_container_or_a_helper_may_have_moved_is_silent(body):
    assert module_mixes(body) == []


def test_a_sibling_with_a_device_makes_an_unknown_conflict_worth_a_warning():
    body = "a = torch.zeros(n, 2, device=device)\nb = torch.zeros(n, 2)\nreturn b * y.unsqueeze(0)"
    assert mixes(body) == [("sibling", "y.device")]


def test_sizes_carry_their_tensor_through_locals():
    body = "length = y.size(1)\nz = y.long()\nreturn torch.arange(length) < z"
    assert mixes(body) == [("anchor", "y.device")]


def test_a_device_that_is_the_cpu_by_default_is_no_accelerator():
    body = "y = y.to(device)\nreturn torch.zeros(n, 2) - y"
    assert mixes(body, 'y, n, device="cpu"') == []
    assert mixes(body, 'y, n, *, device=torch.device("cpu")') == []
    assert mixes('if torch.cuda.is_available():\n    device = "cuda"\n' + body, 'y, n, device="cpu"') != []
