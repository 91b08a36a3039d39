"""The gradient analysis against what torch itself says (tests/oracle/gradient_programs.py), and what it keeps apart."""

import json
from pathlib import Path

import pytest

from trl_lint.python.dataflow.flow import ZERO, detached
from trl_lint.python.dataflow.gradient import GradientDomain, flows
from trl_lint.python.dataflow.interpreter import Interpreter
from trl_lint.python.module import PythonModule
from trl_lint.sources import Source, SourceFile

PROGRAMS = json.loads((Path(__file__).parents[1] / "oracle" / "gradient_programs.json").read_text("utf-8"))
PLAIN = [row for row in PROGRAMS if "error" not in row]
HELPERS = """import torch
@torch.no_grad()
def g(value):
    return value * 2
def h(value):
    return value.tanh() - value
"""


def read(body, parameters="x, d, w"):
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    text = f"{HELPERS}def f({parameters}):\n{lines}"
    module = PythonModule(Source(SourceFile("/p/train.py", text.encode()), "python"))
    return module, module.functions[-1]


def result_of(body):
    """What the analysis says of y, where d and w ask for no gradient."""
    module, function = read(body)
    domain = GradientDomain(module, function)
    start = domain.start()
    start.update({name: detached(start[name]) for name in "dw"})
    return Interpreter(domain).run(function.body, start)["y"]


def agrees(flow, row):
    """Whether all that a value claims is what torch says."""
    if flow.live == ZERO and row["moves"]:
        return False
    if flow.is_null and not (row["zero"] and not row["moves"]):
        return False
    return row["inference"] or not flow.is_inference


@pytest.fixture(scope="module")
def settled():
    """What the analysis says of the programs that run, in their order."""
    return [result_of(row["body"]) for row in PLAIN]


def test_no_claim_is_wrong(settled):
    pairs = zip(PLAIN, settled, strict=True)
    assert [(row, flow) for row, flow in pairs if not any(agrees(option, row) for option in flow.options)] == []


def test_most_of_what_torch_says_is_claimed(settled):
    claimed = [flow for flow in settled if any(option.live is not None for option in flow.options)]
    assert len(claimed) / len(PLAIN) > 0.8
    made = [flow for flow, row in zip(settled, PLAIN, strict=True) if row["inference"]]
    assert sum(any(option.is_inference for option in flow.options) for flow in made) / len(made) > 0.3


def exponents_of(body, parameters="model, ids, logps, old"):
    module, function = read(body, parameters)
    return [use.operands[0][1] for use in flows(module, function).exponentials]


def test_the_same_value_is_null_and_its_detached_twin_is_not():
    same, twin, masked = exponents_of(
        "torch.exp(logps - logps)\ntorch.exp(logps - logps.detach())\n((logps - logps) * old).exp()"
    )
    assert same.is_null and masked.is_null
    assert twin.form == ZERO and twin.live != ZERO


def test_a_value_of_the_round_before_is_another_value():
    body = """
before = logps
for batch in ids:
    now = model(batch)
    torch.exp(now - before)
    before = now
"""
    assert not any(option.is_null for flow in exponents_of(body) for option in flow.options)


def test_a_helper_called_twice_gives_two_values():
    body = "a = h(model(ids))\nb = h(old(ids))\ntorch.exp(a - b)\nc = h(logps)\ntorch.exp(c - h(logps))"
    assert not any(flow.is_null for flow in exponents_of(body)[:1])


def test_nested_loops_come_to_an_end():
    body = "y = logps\n"
    for depth in range(12):
        body += "    " * depth + f"for i{depth} in ids:\n"
    body += "    " * 12 + "y = y + torch.exp(model(y) - old)\n"
    module, function = read(body, "model, ids, logps, old")
    found = flows(module, function)
    assert found is None or found.exponentials


def test_a_long_function_costs_in_proportion():
    import time

    def seconds(lines):
        body = "\n".join(
            f"v{i} = torch.exp(model(ids) - old) * {'v' + str(i - 1) if i else 'logps'}" for i in range(lines)
        )
        module, function = read(body, "model, ids, logps, old")
        start = time.perf_counter()
        flows(module, function)
        return time.perf_counter() - start

    seconds(100)
    assert min(seconds(2_000) for _ in range(2)) < 30 * min(seconds(250) for _ in range(3))
