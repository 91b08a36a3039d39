"""The language of conditions: four values, and what decides."""

from __future__ import annotations

import pytest

from trl_lint.knowledge.condition_language import CRASH, UNKNOWN, raised_by, truth_of, value_of
from trl_lint.knowledge.condition_names import deciding, names_in
from trl_lint.knowledge.condition_things import Thing


class World:
    """Fields by name; what is not given is unknown. `base_x` answers for `base.x`, `arg_x` for `arg.x`."""

    def __init__(self, **fields: object) -> None:
        self.fields = fields

    def field(self, name: str) -> object:
        return self.fields.get(name, UNKNOWN)

    def base(self, name: str) -> object:
        return self.fields.get(f"base_{name}", UNKNOWN)

    def arg(self, name: str) -> object:
        return self.fields.get(f"arg_{name}", UNKNOWN)

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        return self.fields.get(f"{name}({', '.join(map(str, arguments))})", UNKNOWN)


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        ("a < 2", {"a": 1}, True),
        ("a < 2", {"a": 2}, False),
        ("a < 2", {}, UNKNOWN),
        ("a < 2", {"a": None}, CRASH),
        ("a < 2", {"a": "1"}, CRASH),
        ("a % b != 0", {"a": 8, "b": 3}, True),
        ("a % b != 0", {"a": 8, "b": 0}, CRASH),
        ("a % b != 0", {"a": "8", "b": 3}, CRASH),
        ("a and b", {"b": False}, False),
        ("a and b", {"b": True}, UNKNOWN),
        ("a or b", {"b": True}, True),
        ("a or b", {"b": False}, UNKNOWN),
        ("a < 1 and b", {"a": None, "b": False}, CRASH),
        ("b and a < 1", {"a": None}, UNKNOWN),
        ("a < 1 and b", {"a": None, "b": True}, CRASH),
        ("b and a < 1", {"a": None, "b": False}, False),
        ("not a", {}, UNKNOWN),
        ("not a", {"a": []}, True),
        ("a in ('x', 'y')", {"a": "x"}, True),
        ("a in ('x', 'y')", {"a": "z"}, False),
        ("a in ('x', _)", {"a": "x"}, True),
        ("a in ('x', _)", {"a": "z"}, UNKNOWN),
        ("a not in ('x', 'y')", {"a": "z"}, True),
        ("a in b", {"a": "x", "b": None}, CRASH),
        ("a in b", {"a": "x", "b": {"x": 1}}, True),
        ("a is None", {"a": None}, True),
        ("a is not None", {"a": 0}, True),
        ("a is False", {"a": 0}, False),
        ("a == True", {"a": 1}, True),
        ("(a if b else c) == 1", {"a": 1, "c": 1}, True),
        ("(a if b else c) == 1", {"a": 1, "c": 2}, UNKNOWN),
        ("(a if b else c) == 1", {"a": 1, "b": True}, True),
        ("a if b else c", {"a": 1, "c": "x"}, True),
        ("(a or b) > 4", {"a": None, "b": 5}, True),
        ("(a or b) > 4", {"b": 5}, UNKNOWN),
        ("len(a) != 2", {"a": [1]}, True),
        ("len(a) != 2", {"a": 1}, CRASH),
        ("isinstance(a, str) and a.startswith('{')", {"a": "{}"}, True),
        ("isinstance(a, str)", {"a": None}, False),
        ("isinstance(a, int)", {"a": True}, True),
        ("isinstance(a, (PeftConfig, dict))", {"a": {}}, True),
        ("isinstance(a, PeftConfig)", {"a": {}}, False),
        ("isinstance(a, Iterable)", {"a": []}, UNKNOWN),
        ("any(e1 < 0 for e1 in a)", {"a": [1, -1]}, True),
        ("any(e1 < 0 for e1 in a)", {"a": []}, False),
        ("any(e1 < 0 for e1 in a)", {}, UNKNOWN),
        ("any(e1 < 0 for e1 in a)", {"a": None}, CRASH),
        ("all(e1 > 0 for e1 in a)", {"a": [1, 2]}, True),
        ("a not in [e1 for e1 in range(2, b + 1) if b % e1 == 0]", {"a": 3, "b": 8}, True),
        ("a not in [e1 for e1 in range(2, b + 1) if b % e1 == 0]", {"a": 4, "b": 8}, False),
        ("a in range(b)", {"a": 3, "b": 10**9}, UNKNOWN),
        ("'k' in dict(a or {})", {"a": None}, False),
        ("'k' in dict(a or {})", {"a": {"k": 1}}, True),
        ("(a | {'k': 1}).get('k') == 1", {"a": {}}, True),
        ("(a or {}).get('k')", {"a": {"k": 0}}, False),
        ("a['k'] == 1", {"a": {}}, CRASH),
        ("a.x", {"a": 1}, CRASH),
        ("base.a > 1", {"base_a": 2}, True),
        ("arg.model is None", {"arg_model": None}, True),
        ("num_processes() > 1", {"num_processes()": 2}, True),
        ("ver(version('trl')) < ver('1.10')", {"version(trl)": "1.9.0"}, True),
        ("ver(version('trl')) < ver('1.10')", {}, UNKNOWN),
        ("ver(ver(version('trl')).base_version) >= ver('1.9')", {"version(trl)": "1.9.0"}, True),
        ("ver(version('trl')).local == 'x'", {"version(trl)": "1.9.0"}, UNKNOWN),
        ("(a == 1) ^ (b == 1)", {"a": 1, "b": 2}, True),
        ("a ** 1000000", {"a": 10}, UNKNOWN),
        ("a * 1000000", {"a": "x"}, UNKNOWN),
        ("-a < 0", {"a": 1}, True),
        ("a == [1, b]", {"a": [1, 2]}, UNKNOWN),
        ("_", {}, UNKNOWN),
        ("a b", {}, UNKNOWN),
        ("a.__class__()", {"a": 1}, UNKNOWN),
        ("(lambda: 1)()", {}, UNKNOWN),
    ],
)  # fmt: skip
def test_truth(text: str, fields: dict[str, object], expected: object) -> None:
    assert truth_of(text, World(**fields)) is expected


def test_a_value_keeps_its_type() -> None:
    assert value_of("a if b else 0.5", World(a=1, b=True)) == 1
    assert value_of("a and b", World(a=0)) == 0
    assert value_of("a or b", World(b=1)) is UNKNOWN


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        ("a and b", {"a": 1, "b": 1}, {"a", "b"}),
        ("a or b", {"a": 0, "b": 1}, {"b"}),
        ("a or b", {"b": 1}, {"b"}),
        ("not (a and b)", {"a": 1, "b": 0}, {"b"}),
        ("(a if c is None else b) > 1", {"a": 2, "b": 0, "c": None}, {"a", "c"}),
        ("base.a % num_processes() == 0", {}, {"base.a", "num_processes()"}),
        ("any(e1 < x for e1 in a)", {"a": [1]}, {"a", "x"}),
        ("isinstance(a, str)", {"a": "x"}, {"a"}),
        ("len(arg.y) > 1", {}, {"arg.y"}),
    ],
)
def test_what_decides(text: str, fields: dict[str, object], expected: set[str]) -> None:
    assert deciding(text, World(**fields)) == expected
    assert expected <= names_in(text)


def test_the_work_is_linear_in_the_expression() -> None:
    text = " and ".join(["(a if b else c) > 1"] * 2000)
    assert truth_of(text, World(a=2, b=True)) is True
    assert truth_of("(" * 150 + "a" + ")" * 150, World(a=1)) is True


MODEL = Thing(frozenset({"PreTrainedModel", "Module"}), is_whole=True, is_true=True)
OTHER = Thing(frozenset({"PreTrainedModel"}), is_whole=True, is_true=True)
OBJECT = Thing(frozenset())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("arg.model is None", False),
        ("arg.model is not None and arg.ref_model is None", False),
        ("arg.model is arg.model", True),
        ("arg.model is arg.ref_model", UNKNOWN),
        ("arg.none is arg.model", False),
        ("arg.text is arg.text", UNKNOWN),
        ("arg.text is arg.model", False),
        ("isinstance(arg.model, str)", False),
        ("isinstance(arg.object, str)", False),
        ("isinstance(arg.model, PreTrainedModel)", True),
        ("isinstance(arg.model, (str, PeftModel))", False),
        ("isinstance(arg.object, PeftModel)", UNKNOWN),
        ("arg.model and True", True),
        ("arg.object and True", UNKNOWN),
        ("arg.model == 'x'", UNKNOWN),
        ("arg.model in ('x', 'y')", UNKNOWN),
        ("arg.model.config.x == 1", UNKNOWN),
        ("arg.model.lower() == 'x'", UNKNOWN),
        ("arg.model < 1", UNKNOWN),
        ("len(arg.models) != 2", False),
        ("any(e1 is None for e1 in arg.models)", False),
        ("any(isinstance(e1, str) for e1 in arg.models)", False),
        ("(arg.text if isinstance(arg.object, PeftModel) else arg.model) is None", UNKNOWN),
    ],
)
def test_objects_are_not_plain_values(text: str, expected: object) -> None:
    given = {"model": MODEL, "ref_model": OTHER, "object": OBJECT, "none": None, "text": "x", "models": [MODEL, OTHER]}
    world = World(**{f"arg_{name}": value for name, value in given.items()})
    assert truth_of(text, world) is expected


def test_what_two_objects_have_in_common() -> None:
    common = MODEL.or_else(OTHER)
    assert common.kinds == {"PreTrainedModel"}
    assert common.is_instance(["PeftModel"]) is None
    assert MODEL.or_else(MODEL) is MODEL
    assert MODEL.or_else(OBJECT).is_true is None


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        ("a < 2", {"a": "1"}, "TypeError: '<' not supported between instances of 'str' and 'int'"),
        ("a.get('x') is None", {"a": 3}, "AttributeError: 'int' object has no attribute 'get'"),
        ("any(e in ('x', 'y') for e in a)", {"a": 3}, "TypeError: 'int' object is not iterable"),
        ("a < len(b)", {"a": 1, "b": 2}, "TypeError: object of type 'int' has no len()"),
        ("(a + 'x') < (b + 'y')", {"a": 1, "b": 2}, "TypeError: unsupported operand type(s) for +: 'int' and 'str'"),
        ("a < 2", {"a": 1}, ""),
        ("b and a < 2", {"a": "1"}, ""),
    ],
)
def test_what_a_crash_raises(text: str, fields: dict[str, object], expected: str) -> None:
    assert raised_by(text, World(**fields)) == expected
