"""What a call gives to a trainer, as the names and calls of its script say."""

from __future__ import annotations

import ast

import pytest

from trl_lint.checks.configs._trainer_given import CallGiven, Value
from trl_lint.knowledge.condition_things import Thing
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.python.module import PythonModule
from trl_lint.sources import Source, SourceFile

IMPORTS = """
from datasets import Dataset, IterableDataset, load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoProcessor, AutoTokenizer
from trl import DPOTrainer, get_peft_config
"""


def given(text: str) -> CallGiven:
    """The call of `DPOTrainer` in a script."""
    file = SourceFile("/p/train.py", (IMPORTS + text).encode())
    module = PythonModule(Source(file, "python"))
    call = next(call for call in module.calls if ast.unparse(call.func) == "DPOTrainer")
    return CallGiven("trl.DPOTrainer", call, module)


def value_of(before: str, expression: str) -> object:
    found = given(f"{before}\nDPOTrainer(x={expression})\n").argument("x", None)
    assert isinstance(found, Value)
    return found.value


@pytest.mark.parametrize(
    ("before", "expression", "kinds"),
    [
        ("", "AutoModelForCausalLM.from_pretrained('a')", {"PreTrainedModel", "Module"}),
        ("m = AutoModelForCausalLM.from_pretrained('a')", "m", {"PreTrainedModel", "Module"}),
        ("m = AutoModelForCausalLM.from_pretrained('a')\nm = get_peft_model(m, c)", "m", {"Module"}),
        ("", "LoraConfig(r=8)", {"PeftConfig"}),
        ("c = LoraConfig(r=8) if big else LoraConfig(r=4)", "c", {"PeftConfig"}),
        ("", "AutoTokenizer.from_pretrained('a')", {"PreTrainedTokenizerBase"}),
        ("", "load_dataset('a', split='train')", {"Dataset"}),
        ("", "load_dataset('a', split='train', streaming=True)", {"IterableDataset"}),
        ("", "load_dataset('a')", {"DatasetDict"}),
        ("d = load_dataset('a')", "d['train']", {"Dataset"}),
        ("d = load_dataset('a', streaming=True)", "d['train'].map(f).filter(g)", {"IterableDataset"}),
        ("d = load_dataset('a', split='x')\nd = d.map(f)", "d", {"Dataset"}),
        ("d = Dataset.from_dict({})", "d.train_test_split(test_size=1)['test']", {"Dataset"}),
        ("", "lambda completions: [1.0]", {"function"}),
    ],
)
def test_objects_are_known_by_what_makes_them(before: str, expression: str, kinds: set[str]) -> None:
    found = value_of(before, expression)
    assert isinstance(found, Thing)
    assert found.kinds == kinds


@pytest.mark.parametrize(
    ("before", "expression", "expected"),
    [
        ("", "None", None),
        ("", "'a'", "a"),
        ("name = 'a'", "name", "a"),
        ("name = 'a'\nname = 'b'", "name", UNKNOWN),
        ("if big:\n    c = None\nelse:\n    c = LoraConfig()", "c", UNKNOWN),
        ("def f(c):\n    pass\nc = LoraConfig()", "c", UNKNOWN),
        ("", "get_peft_config(arguments)", UNKNOWN),
        ("", "AutoProcessor.from_pretrained('a')", UNKNOWN),
        ("", "load_dataset('a', split=part)", UNKNOWN),
        ("", "load_dataset('a', split='train', **more)", UNKNOWN),
        ("", "load_dataset('a', split='train', streaming=flow)", UNKNOWN),
        ("d = load_dataset('a', split='x')\nd = prepare(d)", "d", UNKNOWN),
        ("rewards = []\nrewards.append(f)", "rewards", UNKNOWN),
        ("", "make()", UNKNOWN),
        ("a = b\nb = a", "a", UNKNOWN),
    ],
)
def test_what_may_be_something_else_is_unknown(before: str, expression: str, expected: object) -> None:
    assert value_of(before, expression) == expected


def test_one_name_is_one_object() -> None:
    call = given("m = AutoModelForCausalLM.from_pretrained('a')\nDPOTrainer(m, ref_model=m, other=[m])\n")
    first, second = call.argument("model", 0), call.argument("ref_model", 1)
    assert isinstance(first, Value)
    assert isinstance(second, Value)
    assert first.value is second.value


def test_arguments_that_are_not_written_out() -> None:
    assert given("DPOTrainer(m, args=a)\n").argument("ref_model", 1) is ABSENT
    assert given("DPOTrainer(m, **more)\n").argument("ref_model", 1) is UNKNOWN
    assert given("DPOTrainer(*all)\n").argument("ref_model", 1) is UNKNOWN
    assert given("DPOTrainer(*all)\n").positional > 100
    assert given("DPOTrainer(m, args=a)\n").keywords() == {"args"}
