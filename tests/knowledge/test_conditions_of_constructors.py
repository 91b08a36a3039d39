"""What is read of classes that write their constructor themselves, and of defaults that are members of an enum."""

from __future__ import annotations

from trl_lint.knowledge.conditions import enum_defaults
from trl_lint.knowledge.refresher.conditions import Condition, release_conditions

PARAMS = """
class Base:
    def __init__(self, n=1, best=None, **others):
        self.n = n
        self.best = best if best is not None else n
        self._verify()

    def _verify(self):
        if self.best < self.n:
            raise ValueError("best must be n or more")

class Params(Base):
    pass

class Elsewhere:
    pass
"""
KIND = """
import enum
from dataclasses import dataclass, field
from typing import Union

class Kind(str, enum.Enum):
    TEXT = "TEXT"
    RANDOM = "RANDOM"

class Number(enum.IntEnum):
    ONE = 1

@dataclass
class MyConfig:
    kind: Union[Kind, str] = field(default=Kind.RANDOM, metadata={"help": "x"})
    number: Number = Number.ONE
    other: Kind = Kind.TEXT
    text: str = None

    def __post_init__(self):
        if self.kind == Kind.TEXT and self.text is None or self.number == 2:
            raise ValueError("text")
"""


def read(source: str, constructed: tuple[str, ...] = ()) -> list[Condition]:
    return release_conditions("pkg", {"pkg/config.py": (0, source.encode())}, {}, constructed=constructed)


def test_a_constructor_is_followed_where_its_module_is_asked() -> None:
    assert read(PARAMS) == []
    found = read(PARAMS, ("pkg.config",))
    assert {(each.owner, each.kind, each.condition) for each in found} == {
        (name, "refuse", "(n if best is None else best) < n") for name in ("Base", "Params")
    }


def test_the_text_of_a_member_of_an_enum_is_the_default_where_something_asks_for_it() -> None:
    found = [(each.sentence, each.condition) for each in read(KIND) if each.kind == "default"]
    assert found == [("kind", "'RANDOM'")]


def test_a_default_of_peft_is_known() -> None:
    assert enum_defaults("peft", "PromptTuningConfig", "0.7.1") == {"prompt_tuning_init": "RANDOM"}
    assert enum_defaults("peft", "LoraConfig", "0.7.1") == {}
