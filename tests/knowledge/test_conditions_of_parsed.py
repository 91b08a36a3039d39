"""What is read from a program that parses its config into several dataclasses: said with what stands in the file."""

from __future__ import annotations

import textwrap

import pytest

from trl_lint.knowledge.refresher.conditions import Condition, release_conditions
from trl_lint.knowledge.refresher.conditions_programs import Program

_SOURCE = """
from dataclasses import dataclass, field
from enum import Enum
from typing import *
from transformers import HfArgumentParser, Seq2SeqTrainingArguments

class Kind(str, Enum):
    ONE = "one"

@dataclass
class Model:
    a: Optional[int] = field(default=None)
    b: bool = field(default=True)
    kind: Kind = field(default=Kind.ONE)
    size: int = field(default=2 * 8)
    names: list = field(default_factory=list)

    def __post_init__(self):
        if self.a == 7:
            raise ValueError("of one class")
        if self.a is None:
            self.a = 5

@dataclass
class Data:
    c: Optional[str] = None

_ARGS = [Model, Data, Seq2SeqTrainingArguments]

def is_enabled(name):
    return name in os.environ

def parse(args):
    parser = HfArgumentParser(_ARGS)
    return parser.parse_dict(args)

def check(model, data):
    if model.a is None and data.c:
        raise ValueError("below")

def main(args=None):
    model, data, training = parse(args)
"""


def read(body: str) -> list[Condition]:
    source = _SOURCE + textwrap.indent(textwrap.dedent(body), "    ")
    members = {"pkg/parser.py": (0, source.encode())}
    program = Program("pkg.parser:main", "train", (("is_enabled", "False"),), parsed=("parse", "_ARGS"))
    return [each for each in release_conditions("pkg", members, {}, (), (program,)) if each.kind == "refuse"]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("data.c and model.b", "c and root.get('b', True)"),
        ("model.a == 5", "(5 if a is None else a) == 5"),
        ("model.kind == Kind.ONE", "root.get('kind', 'one') == 'one'"),
        ("model.size > 1", "root.get('size', 16) > 1"),
        ("model.names == 1", "(names if 'names' in root else _) == 1"),
        ("training.do_train and not data.c", "base.do_train and not c"),
        ("is_deepspeed_zero3_enabled() and data.c", "zero3() and c"),
        ("training.world_size > 1 and data.c", ""),
        ("torch.cuda.is_available()", ""),
        ("is_enabled('X')", None),
        ("not is_enabled('X') and data.c", "c"),
    ],
)
def test_several_dataclasses_are_looked_at_together(test: str, expected: str | None) -> None:
    found = [each.condition for each in read(f"if {test}:\n    raise ValueError('x')") if each.sentence.endswith(": x")]
    assert found == ([] if expected is None else [expected])


def test_a_class_looks_at_itself_first() -> None:
    assert [each.condition for each in read("pass") if each.sentence.endswith("of one class")] == ["a == 7"]


def test_functions_below_are_followed() -> None:
    found = read("model.a = None\ncheck(model, data)")
    assert [each.condition for each in found if each.sentence.endswith("below")] == ["c"]


def test_a_release_without_such_a_parser_says_nothing() -> None:
    members = {"pkg/parser.py": (0, b"_ARGS = [X]\n")}
    program = Program("pkg.parser:main", "train", parsed=("parse", "_ARGS"))
    assert release_conditions("pkg", members, {}, (), (program,)) == []
