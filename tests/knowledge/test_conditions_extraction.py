"""What is read from the source of a config class: conditions said with the values that were given."""

from __future__ import annotations

import textwrap

import pytest

from trl_lint.knowledge.refresher.conditions import Condition, release_conditions
from trl_lint.knowledge.refresher.conditions_programs import Program


def read(body: str, fields: str = "a: int = 1\nb: int = 2\nc: str = None\n", extra: str = "") -> list[Condition]:
    """The conditions of a class `MyConfig` with these fields and this `__post_init__`."""
    source = "import warnings\nfrom dataclasses import dataclass\nfrom enum import Enum\n" + textwrap.dedent(extra)
    source += "@dataclass\nclass MyConfig:\n" + textwrap.indent(textwrap.dedent(fields), "    ")
    source += "    def __post_init__(self):\n" + textwrap.indent(textwrap.dedent(body), "        ")
    return modules({"pkg/config.py": source})


def modules(files: dict[str, str]) -> list[Condition]:
    members = {name: (0, source.encode()) for name, source in files.items()}
    return release_conditions("pkg", members, {})


def told(found: list[Condition]) -> list[tuple[str, str]]:
    return [(each.kind, each.condition) for each in found if each.kind in ("refuse", "warn")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if self.a < 1:\n    raise ValueError('x')", "a < 1"),
        ("assert self.a in (1, 2), 'x'", "a not in (1, 2)"),
        ("if self.a is None:\n    self.a = self.b\nif self.a % 2:\n    raise ValueError('x')",
         "(b if a is None else a) % 2"),
        ("if self.a is None:\n    self.a = 4\nif self.a is None:\n    raise ValueError('x')", None),
        ("if self.a:\n    return\nif self.b:\n    raise ValueError('x')", "not a and b"),
        ("if self.a:\n    raise ValueError('y')\nif self.b:\n    raise ValueError('x')", "b"),
        ("if self.a == 1:\n    pass\nelif self.b:\n    raise ValueError('x')\nelse:\n    self.b = 1",
         "a != 1 and b"),
        ("for name in ('a', 'b'):\n    if getattr(self, name) is None:\n        raise ValueError(f'{name} x')",
         "b is None"),
        ("for name in ('a', 'b'):\n    setattr(self, name, 0)\nif self.a:\n    raise ValueError('x')", None),
        ("for w in self.c:\n    if w < 0:\n        raise ValueError('x')", "any(e1 < 0 for e1 in c)"),
        ("if self.a not in [n for n in range(2, self.b + 1) if self.b % n == 0]:\n    raise ValueError('x')",
         "a not in [e1 for e1 in range(2, b + 1) if b % e1 == 0]"),
        ("n = self.a\nn += 1\nif n > 3:\n    raise ValueError('x')", "a + 1 > 3"),
        ("if self.twice > 3:\n    raise ValueError('x')", "a * 2 > 3"),
        ("self.check(self.b)", "b > 7"),
        ("def inner(value, name):\n    if value is None:\n        raise ValueError(f'{name} x')\ninner(self.c, 'c')",
         "c is None"),
        ("try:\n    if self.a:\n        raise ValueError('x')\nexcept ValueError:\n    pass", ""),
        ("try:\n    import peft\nexcept ImportError:\n    raise ImportError('x')", "not installed('peft')"),
        ("while self.a:\n    self.a = self.b\nif self.a:\n    raise ValueError('x')", ""),
        ("self.c['k'] = 1\nif 'k' in self.c:\n    raise ValueError('x')", "'k' in c | {'k': 1}"),
        ("if hasattr(self.c, '__len__') and len(self.c) == 1:\n    self.c = self.c[0]\n"
         "if self.c == 'x':\n    raise ValueError('x')",
         "(c[0] if isinstance(c, (str, list, tuple, dict, set)) and len(c) == 1 else c) == 'x'"),
        ("self.c.insert(0, 1)\nif len(self.c) != 2:\n    raise ValueError('x')", ""),
        ("if not 0 <= self.a <= 1:\n    raise ValueError('x')", "not (0 <= a and a <= 1)"),
        ("if (self.a != 0) ^ (self.b != 0):\n    raise ValueError('x')", "(a != 0) ^ (b != 0)"),
        ("if {1: 'x', 2: 'y'}.get(self.a, 'z') == 'y':\n    raise ValueError('x')",
         "('x' if a == 1 else 'y' if a == 2 else 'z') == 'y'"),
        ("with suppress(ValueError):\n    if self.a:\n        raise ValueError('x')", ""),
        ("if foreign(self.a):\n    raise ValueError('x')", ""),
        ("if self.a and foreign(self.b):\n    raise ValueError('x')", ""),
        ("if self.a or foreign(self.b):\n    raise ValueError('x')", "a or _"),
        ("x, y = self.a, self.b\nif x > y:\n    raise ValueError('x')", "a > b"),
        ("self.a = self.a if self.a else 5\nif self.a == 5:\n    raise ValueError('x')", "(a if a else 5) == 5"),
        ("match self.a:\n    case 1:\n        self.b = 3\nif self.b:\n    raise ValueError('x')", ""),
    ],
)  # fmt: skip
def test_condition(body: str, expected: str | None) -> None:
    fields = (
        "a: int = 1\nb: int = 2\nc: str = None\n@property\ndef twice(self):\n    return self.a * 2\n"
        "def check(self, value):\n    if value > 7:\n        raise ValueError('x')\n"
    )
    found = [each for each in read(body, fields, "from contextlib import suppress\nfrom other import foreign\n")
             if each.sentence.endswith("x")]  # fmt: skip
    assert ([each.condition for each in found][-1:] or [None]) == [expected]
    assert all(each.reason for each in found if "_" in each.condition.split() or not each.condition)


def test_a_table_that_is_filled_at_import_is_not_known() -> None:
    source = """
from dataclasses import dataclass

LOSSES: dict = {}
MODES = {"a": 1}

@dataclass
class C:
    loss: str = "k1"
    mode: str = "a"

    def __post_init__(self):
        if self.loss not in LOSSES:
            raise ValueError("no such loss")
        if self.mode not in MODES:
            raise ValueError("no such mode")
"""
    assert told(modules({"pkg/a.py": source})) == [("refuse", ""), ("refuse", "mode not in {'a': 1}")]


def test_sentences_name_fields_and_constants() -> None:
    (found,) = read("if self.a < 1:\n    raise ValueError(f'a is {self.a}, not {{x}} ' 'but {}'.format(1))")
    assert found.sentence == "ValueError: a is {a}, not {{x}} but {{}}"
    assert (found.holder, found.owner, found.when) == ("MyConfig.__post_init__", "MyConfig", "construct")


def test_warnings_and_enums() -> None:
    extra = "class Kind(str, Enum):\n    A = 'a'\n    B = 'b'\n"
    found = read("self.c = Kind(self.c)\nif self.c == Kind.B:\n    warnings.warn('old', FutureWarning)", extra=extra)
    assert told(found) == [("refuse", "c not in ('a', 'b')"), ("warn", "c == 'b'")]
    assert found[1].sentence == "FutureWarning: old"


_BASE = """
from dataclasses import dataclass
from transformers import TrainingArguments

@dataclass
class Base(TrainingArguments):
    logging_steps: float = 10
    bf16: bool = None

    def __post_init__(self):
        self.bf16 = not self.fp16 if self.bf16 is None else self.bf16
        super().__post_init__()
"""
_HEIR = """
from dataclasses import dataclass
from .base import Base

@dataclass
class MyConfig(Base):
    mine: int = 1
    world_size: int = None

    def __post_init__(self):
        if self.mine > self.logging_steps:
            raise ValueError("early")
        super().__post_init__()
        if self.do_eval and self.mine:
            raise ValueError("late")
        if self.world_size == 1 or self.process_index == 0:
            raise ValueError("run")
"""


def test_a_base_from_another_package_runs_in_its_place() -> None:
    found = [each for each in modules({"pkg/base.py": _BASE, "pkg/config.py": _HEIR}) if each.owner == "MyConfig"]
    assert [(each.kind, each.sentence, each.condition) for each in found] == [
        ("refuse", "ValueError: early", "mine > logging_steps"),
        ("refuse", "ValueError: late", "base.do_eval and mine"),
        ("refuse", "ValueError: run", "world_size == 1 or rank() == 0"),
        ("before", "bf16", "not fp16 if bf16 is None else bf16"),
        ("base", "transformers:TrainingArguments", "True"),
    ]


def test_fields_that_the_base_does_not_know_stay_what_they_are() -> None:
    heir = """
from dataclasses import dataclass
from transformers import TrainingArguments

@dataclass
class MyConfig(TrainingArguments):
    kinds: list = None
    logging_steps: float = 10

    def __post_init__(self):
        if isinstance(self.kinds, str):
            self.kinds = [self.kinds]
        self.logging_steps = self.logging_steps or 1
        super().__post_init__()
        if len(self.kinds) != 1:
            raise ValueError("one")
        if self.logging_steps > 5:
            raise ValueError("five")
"""
    found = [each for each in modules({"pkg/config.py": heir}) if each.kind in ("refuse", "before")]
    assert [(each.sentence, each.condition) for each in found] == [
        ("ValueError: one", "len([kinds] if isinstance(kinds, str) else kinds) != 1"),
        ("ValueError: five", "base.logging_steps > 5"),
        ("logging_steps", "logging_steps or 1"),
    ]


_TRAINER = """
from .config import MyConfig

class MyTrainer(Other):
    def __init__(self, model, ref_model=None, args: MyConfig | None = None, **kwargs):
        if args is None:
            args = MyConfig()
        if ref_model is not None and ref_model is model:
            raise ValueError("same")
        if args.mine > 3 and ref_model is not None:
            raise ValueError("both")
        super().__init__(model=model, args=args, **kwargs)
        if self.is_deepspeed_enabled or not isinstance(model, str):
            raise ValueError("unknown")
        if args.mine > 4:
            logger.warning("late")
"""


def test_a_trainer_is_read_with_its_config() -> None:
    found = modules({"pkg/base.py": _BASE, "pkg/config.py": _HEIR, "pkg/trainer.py": _TRAINER})
    assert [(e.kind, e.when, e.condition, e.sentence) for e in found if e.owner == "MyTrainer"] == [
        ("refuse", "trainer", "arg.ref_model is not None and arg.ref_model is arg.model", "ValueError: same"),
        ("refuse", "trainer", "mine > 3 and arg.ref_model is not None", "ValueError: both"),
        ("refuse", "trainer", "deepspeed() or not isinstance(arg.model, str)", "ValueError: unknown"),
        ("warn", "trainer", "mine > 4", "warning: late"),
    ]


_SHIM = """
from .trainer import MyTrainer as _MyTrainer

class MyTrainer(_MyTrainer):
    def __init__(self, *args, **kwargs):
        warnings.warn("moved", FutureWarning)
        super().__init__(*args, **kwargs)
"""


def test_a_class_that_moved_is_read_where_it_is_now() -> None:
    files = {"pkg/base.py": _BASE, "pkg/config.py": _HEIR, "pkg/trainer.py": _TRAINER, "pkg/old.py": _SHIM}
    assert {each.home for each in modules(files) if each.owner == "MyTrainer"} == {"pkg.trainer"}
    own = _SHIM.replace("*args, **kwargs):", "model, **kwargs):")
    homes = {each.home for each in modules({**files, "pkg/old.py": own}) if each.owner == "MyTrainer"}
    assert homes == {"pkg.trainer", "pkg.old"}


def test_what_is_broken_or_endless_ends() -> None:
    assert modules({"pkg/a.py": "class A(:"}) == []
    loop = "@dataclass\nclass A(A):\n    a: int = 1\n    def __post_init__(self):\n        self.__post_init__()\n"
    assert modules({"pkg/a.py": loop}) == []
    body = "".join(f"if self.a == {n}:\n    self.b = self.b + self.a\n" for n in range(200))
    (found,) = read(f"{body}if self.b > 1:\n    raise ValueError('x')")
    assert found.reason == "an expression that is too large"


def of_program(files: dict[str, str], place: str, **assumed: str) -> list[Condition]:
    members = {name: (0, textwrap.dedent(source).encode()) for name, source in files.items()}
    return release_conditions("pkg", members, {}, (), (Program(place, assumed=tuple(assumed.items())),))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("assert args.train.batch % args.n == 0", "train.batch % n != 0"),
        ("assert not args.sleep, 'x'", "sleep"),
        ("args.train.mode = 'a'\nassert args.train.mode == 'b'", "True"),
        ("if args.x is None:\n    args.x = args.train.y\nassert args.x", "not (train.y if x is None else x)"),
        ("args = hierarchize(args)\nassert args.a.b > 1", "not a.b > 1"),
        ("assert getattr(args.a, 'b', 1) == 1", "a.get('b', 1) != 1"),
        ("assert args.a.get('b') is None", "a.get('b') is not None"),
        ("assert hasattr(args, 'b')", "'b' not in root"),
        ("check(args)", "train.batch < 1"),
    ],
)
def test_what_a_program_checks_once_it_has_parsed_its_arguments(body: str, expected: str) -> None:
    source = "def check(a):\n    if a.train.batch < 1:\n        raise ValueError('x')\n"
    source += "if __name__ == '__main__':\n    assert False\n    args = parser.parse_args()\n"
    found = of_program({"pkg/cli.py": source + textwrap.indent(body, "    ")}, "pkg.*:")
    assert [(each.owner, each.condition) for each in found] == [("pkg.cli", expected)]


def test_a_function_that_validates_a_config_and_the_objects_it_makes_of_blocks() -> None:
    source = """
        from dataclasses import dataclass

        @dataclass
        class Actor:
            size: int = 1
            strategy: str = "a"
            def __post_init__(self):
                assert self.size, "told of the class"
            def validate(self, n):
                if self.size > n:
                    raise ValueError(f"{self.size} on {n * 2} GPUs")

        @dataclass
        class OtherActor(Actor):
            def validate(self, n):
                super().validate(n)
                assert getattr(self, "ulysses", 1) == 2, "other"

        def validate_config(config, use_critic):
            if use_critic:
                assert config.critic.x
            omega_conf_to_dataclass(config.actor).validate(config.trainer.gpus)
    """
    found = of_program({"pkg/config.py": source}, "pkg.config:validate_config", use_critic="config.adv == 'gae'")
    assert [(each.condition, each.sentence) for each in found] == [
        ("adv == 'gae' and not critic.x", "AssertionError:"),
        (
            "actor._target_.endswith(('.Actor', '.OtherActor')) and actor.size > trainer.gpus",
            "ValueError: {actor.size} on {trainer.gpus * 2} GPUs",
        ),
        ("actor._target_.endswith(('.OtherActor',))", "AssertionError: other"),
    ]
