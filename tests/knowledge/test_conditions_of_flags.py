"""Which values a flag takes, as its dataclass lists them, and which of them a command meets in a release."""

from __future__ import annotations

import pytest

from trl_lint.knowledge.command_keys import choices_of, classes_of
from trl_lint.knowledge.refresher.conditions import release_conditions

_HEAD = """
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, Optional, Union, List

class Kind(str, Enum):
    ONE = "one"
    TWO = "two"

"""


def read(body: str) -> dict[str, str]:
    """The values of the flags of a module, by name."""
    members = {"pkg/args.py": (0, (_HEAD + body).encode())}
    found = release_conditions("pkg", members, {}, (), (), ("pkg.*",))
    return {each.sentence: each.condition for each in found if each.kind == "flag"}


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("a: Literal['x', 'y'] = 'x'", "('x', 'y')"),
        ("a: Optional[Literal['x', 'y']] = None", "('x', 'y', 'None')"),
        ("a: Literal[1, 'x'] = 1", "('1', 'x')"),
        ("a: Kind = field(default=Kind.ONE)", "('one', 'two')"),
        ("a: Literal['x'] | None = None", "('x', 'None')"),
        ("a: Union[Literal['x'], int] = 1", None),
        ("a: Literal[True, False, 'x'] = True", None),
        ("a: List[Literal['x']] = field(default_factory=list)", None),
        ("a: str = 'x'", None),
    ],
)
def test_the_values_of_a_flag(field: str, expected: str | None) -> None:
    assert read(f"@dataclass\nclass Args:\n    {field}\n").get("a") == expected


def test_classes_that_nobody_parses_have_no_flags() -> None:
    assert read("class Args:\n    a: Literal['x'] = 'x'\n") == {}


def test_of_two_classes_of_one_name_only_what_both_say_is_kept() -> None:
    """The history tells classes by their names alone."""
    one = "@dataclass\nclass Args:\n    a: Literal['x'] = 'x'\n"
    members = {f"pkg/{name}.py": (0, (_HEAD + one).encode()) for name in ("first", "second")}
    assert len([e for e in release_conditions("pkg", members, {}, (), (), ("pkg.*",)) if e.kind == "flag"]) == 2


@pytest.mark.parametrize(
    ("package", "command", "version", "flag", "taken", "refused"),
    [
        ("ms-swift", "rlhf", "3.8.2", "vllm_mode", "colocate", "remote"),
        ("ms-swift", "sft", "2.4.2", "acc_strategy", "sentence", "seq"),
        ("ms-swift", "sft", "3.8.2", "acc_strategy", "seq", "sentence"),
        ("llamafactory", "train", "0.9.3", "finetuning_type", "full", "oft"),
        ("llamafactory", "train", "0.9.4", "finetuning_type", "oft", "lorra"),
    ],
)
def test_the_values_that_a_command_takes(
    package: str, command: str, version: str, flag: str, taken: str, refused: str
) -> None:
    values = choices_of(package, command, version)[flag]
    assert taken in values
    assert refused not in values


def test_a_release_that_is_not_known_takes_anything() -> None:
    assert choices_of("ms-swift", "sft", "99.0") == {}
    assert classes_of("ms-swift", "sft", "99.0") == ()
