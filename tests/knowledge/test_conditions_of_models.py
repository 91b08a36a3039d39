"""What is read from a model of pydantic that a config file becomes: said with what stands in the file."""

from __future__ import annotations

import textwrap

import pytest

from trl_lint.knowledge.refresher.conditions import Condition, release_conditions
from trl_lint.knowledge.refresher.conditions_programs import Program

_BEFORE = "@model_validator(mode='before')\n@classmethod\n"


def read(body: str, fields: str = "", extra: str = "") -> list[Condition]:
    """The refusals of a model with these validators and fields."""
    source = "from enum import Enum\nfrom typing import *\nfrom pydantic import BaseModel, Field\n"
    source += textwrap.dedent(extra) + "class Model(BaseModel):\n" + textwrap.indent(textwrap.dedent(fields), "    ")
    source += "    name: str | None = None\n" + textwrap.indent(textwrap.dedent(body), "    ")
    members = {"pkg/config.py": (0, source.encode())}
    program = Program("pkg.config:Model", "train", hidden=("machine",))
    return [each for each in release_conditions("pkg", members, {}, (), (program,)) if each.kind == "refuse"]


def before(body: str) -> str:
    return f"{_BEFORE}def check(cls, data):\n{textwrap.indent(body, '    ')}\n    return data\n"


def after(body: str) -> str:
    return f"@model_validator(mode='after')\ndef check(self):\n{textwrap.indent(body, '    ')}\n    return self\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if data.get('a') and data.get('b'):\n    raise ValueError('x')", "a and b"),
        ("if data['a'] > 1:\n    raise ValueError('x')", "a > 1"),
        ("if data.get('a', 1) > 1:\n    raise ValueError('x')", "root.get('a', 1) > 1"),
        ("if 'a' in data:\n    raise ValueError('x')", "'a' in root"),
        ("if not isinstance(data, dict):\n    return data\nif data.get('a'):\n    raise ValueError('x')", "a"),
        ("if (data.get('a') or {}).get('b'):\n    raise ValueError('x')", "(a or {}).get('b')"),
        ("data['a'] = 1\nif data.get('a') != 1:\n    raise ValueError('x')", None),
        ("if data.get('b'):\n    data['a'] = None\nif data.get('a'):\n    raise ValueError('x')",
         "(None if b else a)"),
        ("del data['a']\nif data.get('a'):\n    raise ValueError('x')", None),
        ("data.pop('a')\nif data.get('a'):\n    raise ValueError('x')", None),
        ("inner = data.get('a')\ninner['k'] = 1\nif data.get('a').get('k') == 2:\n    raise ValueError('x')", ""),
        ("inner = data.get('a') or {}\ninner.pop('k')\nif data.get('a'):\n    raise ValueError('x')", ""),
        ("data.update({'a': 1})\nif data.get('a'):\n    raise ValueError('x')", ""),
        ("for each in data.get('c'):\n    data['a'] = each\nif data.get('a'):\n    raise ValueError('x')", ""),
        ("names = [n for n in ('a', 'b') if data.get(n)]\nif names:\n    raise ValueError('x')", "a or b"),
        ("if sum(1 for n in ('a', 'b') if data.get(n)) < 1:\n    raise ValueError('x')", "bool(a) + bool(b) < 1"),
        ("if any(data.get(n) == 1 for n in ('a', 'b')):\n    raise ValueError('x')", "a == 1 or b == 1"),
        ("if data.get('machine') and data.get('a'):\n    raise ValueError('x')", ""),
        ("if is_peft_available() and data.get('a'):\n    raise ValueError('x')", ""),
        ("if not not data.get('a'):\n    raise ValueError('x')", "a"),
    ],
)  # fmt: skip
def test_validators_before_the_fields_read_the_file(body: str, expected: str | None) -> None:
    found = read(before(body), extra="def is_peft_available(): ...\n" if "is_peft" in body else "")
    assert [each.condition.strip("()") for each in found] == ([expected.strip("()")] if expected is not None else [])


def test_the_later_validator_runs_first() -> None:
    first = f"{_BEFORE}def first(cls, data):\n    if data.get('a'):\n        raise ValueError('x')\n    return data\n"
    second = f"{_BEFORE}def second(cls, data):\n    data['a'] = data.get('b')\n    return data\n"
    assert [each.condition for each in read(first + second)] == ["b"]
    assert [each.condition for each in read(second + first)] == ["a"]


def test_validators_afterwards_see_what_those_before_have_changed() -> None:
    body = before("data['a'] = data.get('b')").replace("check", "first") + after(
        "if self.a:\n    raise ValueError('x')"
    )
    assert [each.condition for each in read(body, "a: int = 3\n")] == ["b"]


@pytest.mark.parametrize(
    ("field", "body", "expected"),
    [
        ("a: int | None = None", "if self.a == 1:", "a == 1"),
        ("a: int | None = 3", "if self.a > 1:", "root.get('a', 3) > 1"),
        ("a: bool | None = False", "if self.a:", "a"),
        ("a: int = Field(default=4, gt=0)", "if self.a == 4:", "root.get('a', 4) == 4"),
        ("a: int = Field(default_factory=int)", "if self.a == 1:", "(a if 'a' in root else _) == 1"),
        ("a: Kind | None = None", "if self.a is Kind.ONE:", "a == 'one'"),
        ("a: Kind | None = None", "if 'n' in str(self.a):", ""),
        ("a: Number | None = None", "if self.a == 1:", ""),
        ("a: str | None = Field(default=None, alias='b')", "if self.a:", "(b if 'b' in root else a)"),
    ],
)
def test_validators_afterwards_see_defaults(field: str, body: str, expected: str) -> None:
    extra = "class Kind(str, Enum):\n    ONE = 'one'\nclass Number(Enum):\n    ONE = 1\n"
    found = read(after(f"{body}\n    raise ValueError('x')"), f"{field}\n", extra)
    assert expected.strip("()") in [each.condition.strip("()") for each in found if each.sentence == "ValueError: x"]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("a: Literal['x', 'y'] | None = None", ["a not in ('x', 'y', None)"]),
        ("a: Literal['x', 'y'] = 'x'", ["'a' in root and a not in ('x', 'y')"]),
        ("a: Literal['auto'] | bool | None = None", []),
        ("a: str", ["'a' not in root"]),
        ("a: str = Field(description='x')", ["'a' not in root"]),
        ("a: str | None = None", []),
        ("a: Literal['x'] | Annotated[str, StringConstraints(pattern='^z_')] | None = None",
         ["a not in ('x', None) and not a.startswith('z_')"]),
        ("a: Literal['x'] | Annotated[str, StringConstraints(pattern='^z+')] | None = None", []),
        ("a: Inner | None = None", [
            "a and a.get('b') not in ('x', None)", "a and 'c' in a and a.get('c') not in ('y',)",
        ]),
        ("a: list[Inner] | None = None", []),
    ],
)  # fmt: skip
def test_what_a_field_may_be(field: str, expected: list[str]) -> None:
    extra = "class Inner(BaseModel):\n    b: Literal['x'] | None = None\n    c: Literal['y'] = 'y'\n"
    assert [each.condition for each in read("", f"{field}\n", extra)] == expected


def test_a_validator_of_a_field_runs_where_the_field_is_given() -> None:
    body = (
        "@field_validator('a')\n@classmethod\ndef of_a(cls, value):\n    if value < 1:\n        raise ValueError('x')\n"
    )
    body += "    return value + 1\n"
    found = read(body + after("if self.a > 5:\n    raise ValueError('y')"), "a: int = 0\n")
    assert [each.condition for each in found] == [
        "'a' in root and a < 1",
        "(root.get('a', 0) + 1 if 'a' in root else root.get('a', 0)) > 5",
    ]


def test_another_kind_of_validator_is_counted_and_says_nothing() -> None:
    body = "@model_validator(mode='wrap')\n@classmethod\ndef check(cls, data, handler):\n    raise ValueError('x')\n"
    assert [(each.condition, each.reason) for each in read(body)] == [("", "a validator of the kind wrap")]
