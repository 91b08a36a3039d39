"""Answers that are kept from one world to the next: always those that an evaluation would give."""

from __future__ import annotations

import random

import pytest

from trl_lint.knowledge.condition_answers import Answers
from trl_lint.knowledge.condition_language import UNKNOWN, truth_of, value_of
from trl_lint.knowledge.conditions import conditions_of

VALUES = (None, True, False, 0, 1, 1.0, 8, -1, "no", "1", "", UNKNOWN, [1], [True], ["a"], {"a": 1})


class Given:
    """A world of fields with given values, which counts what is asked of it."""

    def __init__(self, **fields: object) -> None:
        self.fields = fields
        self.asked: list[str] = []

    def field(self, name: str) -> object:
        self.asked.append(name)
        return self.fields.get(name, UNKNOWN)

    def base(self, name: str) -> object:
        return self.field(f"base.{name}")

    def arg(self, name: str) -> object:
        return self.field(f"arg.{name}")

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        return self.field(f"{name}{arguments}")


def test_an_answer_is_kept_while_what_it_rests_on_is_the_same() -> None:
    answers = Answers()
    assert answers.truth("a > 1 or b > 1", Given(a=2, b=0)) is True
    other = Given(a=2, b=5)
    assert answers.truth("a > 1 or b > 1", other) is True
    assert other.asked == ["a"]  # `b` decided nothing
    assert answers.truth("a > 1 or b > 1", Given(a=0, b=0)) is False


@pytest.mark.parametrize(("first", "second"), [(1, True), (0, False), (1, 1.0), ([1], [True]), ({"a": 1}, {"a": True})])
def test_values_that_are_equal_and_not_the_same(first: object, second: object) -> None:
    """`1 == True` in Python, and a release may ask for the type."""
    answers = Answers()
    for value in (first, second):
        found = answers.value("str(a)", Given(a=value))
        assert found == value_of("str(a)", Given(a=value)) == str(value)


class Drifting(Given):
    """A world in which a field gets a value when it is first asked for, and keeps it until somebody changes it."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.chance = chance

    def field(self, name: str) -> object:
        return self.fields.setdefault(name, self.chance.choice(VALUES))

    def drift(self) -> None:
        for name in self.chance.sample(sorted(self.fields), len(self.fields) // 5):
            self.fields[name] = self.chance.choice(VALUES)


def test_recorded_conditions_are_answered_as_they_are_evaluated() -> None:
    newest = {"trl": "1.16.0", "transformers": "5.23.0"}
    names = {"trl": "GRPOConfig", "transformers": "TrainingArguments"}
    texts = [each.condition for package in newest for each in conditions_of(package, names[package], newest[package])]
    assert len(texts) > 50
    answers, world, seen = Answers(), Drifting(random.Random(11)), set()
    for _ in range(20):
        for text in texts:
            expected = truth_of(text, world), value_of(text, world)
            assert repr((answers.truth(text, world), answers.value(text, world))) == repr(expected), text
            seen.add(repr(expected[0]))
        world.drift()
    assert seen == {"True", "False", "UNKNOWN", "CRASH"}


def test_other_runs_share_answers_that_rest_on_plain_values() -> None:
    common = Answers()
    assert Answers(common).truth("a > 1 or b > 1", Given(a=2)) is True
    other = Given(a=2)
    assert Answers(common).truth("a > 1 or b > 1", other) is True
    assert other.asked == ["a"]  # compared with what was read before, and not read once more to evaluate


def test_objects_and_lists_stay_with_the_run_that_read_them() -> None:
    import gc
    import weakref

    class Listed(list[object]):
        pass

    common, given = Answers(), Listed([1])
    own = Answers(common)
    for _ in range(2):
        assert own.truth("len(a) == 1", Given(a=given)) is True
        assert own.value("is_local(a)", Given(a=given)) is UNKNOWN
    kept = weakref.ref(given)
    del own, given
    gc.collect()
    assert kept() is None


def test_recorded_conditions_are_answered_for_one_run_after_the_other() -> None:
    texts = [each.condition for each in conditions_of("transformers", "TrainingArguments", "5.23.0")]
    common, chance, seen = Answers(), random.Random(5), set()
    for _ in range(30):
        world, own = Drifting(chance), Answers(common)
        for text in texts:
            expected = truth_of(text, world), value_of(text, world)
            assert repr((own.truth(text, world), own.value(text, world))) == repr(expected), text
            seen.add(repr(expected[0]))
    assert seen == {"True", "False", "UNKNOWN", "CRASH"}
