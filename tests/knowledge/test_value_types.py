"""Which values pydantic takes for a type, and what the types of a model are."""

from __future__ import annotations

import pytest

from trl_lint.knowledge.condition_language import UNKNOWN, Block
from trl_lint.knowledge.refresher.conditions import release_conditions
from trl_lint.knowledge.refresher.conditions_programs import Program
from trl_lint.knowledge.value_types import fits, members, shown


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (3, "int", True),
        (3.0, "int", True),
        (3.5, "int", False),
        (float("inf"), "int", False),
        (True, "int", True),
        ("x", "int", False),
        (None, "int", False),
        (None, "None|int", True),
        ([1], "int", False),
        (3, "float", True),
        ("x", "float", False),
        (1, "bool", True),
        (0.0, "bool", True),
        (8, "bool", False),
        (0.5, "bool", False),
        ("auto", "bool", False),
        ("auto", "'auto'|bool", True),
        ("other", "'auto'|bool", False),
        (3, "str", False),
        (True, "None|str", False),
        ("x", "str", True),
        (Block("", {}), "dict", True),
        ([], "dict", False),
        ("x", "dict|str", True),
        ("x", "None|list[str]", False),
        (["x"], "None|list[str]", True),
        (["x", 3], "None|list[str]", False),
        (["x", UNKNOWN], "None|list[str]", None),
        ([3, UNKNOWN], "list[str]", False),
        (["x"], "list[str]|str", True),
        (Block("", {}), "list[dict]", False),
        ([Block("", {})], "list", True),
        (UNKNOWN, "int", None),
        (5, "4|8", None),
    ],
)
def test_what_fits(value: object, kind: str, expected: bool | None) -> None:
    assert fits(value, kind) is expected


def test_bars_in_brackets_and_quotes_part_nothing() -> None:
    assert members("None|list[int|str]|'a|b'") == ("None", "list[int|str]", "'a|b'")
    assert shown("None|list[int|str]|'a'|bool") == "null or a list or `'a'` or true or false"


_HEAD = """
from enum import Enum
from typing import Annotated, Any, Literal, Optional, Union
from pydantic import BaseModel, BeforeValidator, Field, field_validator, model_validator

class Kind(str, Enum):
    ONE = "one"

class Plain(BaseModel):
    rank: int = 1

class Clever(BaseModel):
    @model_validator(mode="before")
    @classmethod
    def of_text(cls, data):
        return {"rank": data} if isinstance(data, str) else data

class Model(BaseModel):
"""


def types(body: str) -> dict[str, str]:
    """The types of the fields of a model, by name."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    members = {"pkg/config.py": (0, (_HEAD + lines).encode())}
    found = release_conditions("pkg", members, {}, (), (Program("pkg.config:Model", "train"),))
    return {each.condition: each.sentence for each in found if each.kind == "type"}


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("a: int", "int"),
        ("a: Optional[int] = None", "None|int"),
        ("a: int | None = None", "None|int"),
        ("a: Union[bool, Literal['auto']] = True", "'auto'|bool"),
        ("a: Kind | bool | None = None", "'one'|None|bool"),
        ("a: list[str] | str = 'x'", "list[str]|str"),
        ("a: dict[str, Any] | None = None", "None|dict"),
        ("a: Plain | None = None", "None|dict"),
        ("a: 'int | None' = None", "None|int"),
        ("a: Annotated[int, Field(ge=1)] = 1", "int"),
        ("a: Annotated[int, BeforeValidator(len)] = 1", None),
        ("a: Clever | None = None", None),
        ("a: Kind = Kind.ONE", None),  # its values are told
        ("a: Any = None", None),
        ("a: Unheard | int = 1", None),
        ("a: list[Unheard] = []", "list"),
    ],
)
def test_the_type_of_a_field(field: str, expected: str | None) -> None:
    assert types(field).get("a") == expected


def test_what_a_validator_changes_before_has_no_type() -> None:
    before = (
        "a: int = 1\nb: int = 1\n@field_validator('a', mode='before')\n@classmethod\ndef f(cls, v):\n    return len(v)"
    )
    assert types(before) == {"b": "int"}
    whole = "a: int = 1\n@model_validator(mode='before')\n@classmethod\ndef f(cls, data):\n    {}\n    return data"
    assert types(whole.format("data['a'] = 2")) == {}
    assert types(whole.format("data.update(g())")) == {}


def test_fields_of_a_block_have_types_where_nothing_changes_the_block() -> None:
    assert types("a: Plain | None = None") == {"a": "None|dict", "a.rank": "int"}
