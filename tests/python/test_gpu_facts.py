"""The tables about devices and half precision against what torch answered on a GPU (`tests/oracle/gpu_facts.json`)."""

import json
import sys
from pathlib import Path

import pytest
from documents import ROOT

from trl_lint.checks.numerics.fill_value_overflow import rule as fill_value_overflow
from trl_lint.engine import check
from trl_lint.python.dataflow import torch_facts
from trl_lint.selection import Selection
from trl_lint.settings import Settings

sys.path.insert(0, str(Path(ROOT, "tests", "oracle")))

from tensor_verdicts import kept

FACTS = json.loads(Path(ROOT, "tests", "oracle", "gpu_facts.json").read_text(encoding="utf-8"))
OVERFLOW = "value cannot be converted"


def is_about_devices(error: str) -> bool:
    return "device" in error.lower()


def scalars(answers: dict[str, str]) -> list[str]:
    return [error for operand, error in answers.items() if operand.endswith("scalar")]


def vectors(answers: dict[str, str]) -> list[str]:
    return [error for operand, error in answers.items() if operand.endswith("vector")]


def test_every_operation_of_the_tables_was_asked():
    assert set(FACTS["functions"]) == torch_facts.MIXING_FUNCTIONS
    assert set(FACTS["methods"]) == torch_facts.MIXING_METHODS
    assert set(FACTS["bounds"]) == torch_facts.MIXING_WITH_OPERANDS


@pytest.mark.parametrize("kind", ["functions", "methods"])
def test_no_operation_of_the_tables_takes_a_vector_from_the_cpu(kind):
    for name, fact in FACTS[kind].items():
        assert vectors(fact["answers"]), name
        assert all(is_about_devices(error) for error in vectors(fact["answers"])), name


def test_no_bound_may_be_a_vector_on_the_cpu():
    for name, answers in FACTS["bounds"].items():
        assert vectors(answers), name
        assert all(is_about_devices(error) for error in vectors(answers)), name


def test_where_not_even_a_scalar_may_come_from_the_cpu_the_gpu_refuses_it_as_every_operand():
    answers = {name: fact["answers"] for name, fact in FACTS["functions"].items()} | FACTS["bounds"]
    for name in torch_facts.NOT_EVEN_SCALARS:
        assert scalars(answers[name]), name
        assert all(is_about_devices(error) for error in scalars(answers[name])), name


def test_a_second_operand_without_dimensions_runs_for_max_and_min():
    assert not any(scalars(FACTS["bounds"]["max"]) + scalars(FACTS["bounds"]["min"]))


def test_the_gpu_stops_the_programs_where_fake_tensors_do():
    assert FACTS["programs"]["differs"] == {}
    assert FACTS["programs"]["other errors"] == {}
    assert FACTS["programs"]["same"] == len(kept()[1])


@pytest.mark.parametrize("fill", FACTS["half"]["cuda"])
def test_a_fill_is_reported_exactly_where_the_gpu_refuses_it(fill, tmp_path):
    """What fills with a literal or a limit of float32 and raises on the GPU is found, and nothing else is."""
    text = fill.replace("lowest", "torch.finfo(torch.float32).min")
    body = f"import torch\n\n\ndef f(x, mask, i):\n    y = x.bfloat16()\n    x = x.half()\n    return {text}, y\n"
    (tmp_path / "policy.py").write_text(body, encoding="utf-8")
    settings = Settings(str(tmp_path), layers=[Selection(select=(fill_value_overflow.code,))])
    found = check([str(tmp_path)], settings).findings
    is_tensor = "masked_fill(mask, torch.tensor" in fill  # a fill that is itself a tensor is not followed
    assert bool(found) == (FACTS["half"]["cuda"][fill].startswith(OVERFLOW) and not is_tensor)
    runs_on_the_cpu = not FACTS["half"]["cpu"][fill]
    assert all(finding.severity == ("warning" if runs_on_the_cpu else "error") for finding in found)
