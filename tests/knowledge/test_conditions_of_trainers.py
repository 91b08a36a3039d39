"""What is read from the constructor of a trainer: conditions said with its arguments and what it makes of them."""

from __future__ import annotations

import textwrap

import pytest

from trl_lint.knowledge.condition_language import UNKNOWN, truth_of
from trl_lint.knowledge.condition_things import Keys, Thing
from trl_lint.knowledge.refresher.conditions import release_conditions

HEAD = """
from dataclasses import dataclass
from datasets import Dataset
from peft import PeftModel, get_peft_model
from transformers import AutoModel, Trainer, TrainingArguments, is_peft_model

@dataclass
class MyConfig(TrainingArguments):
    weights: list = None
    limit: int = None
    def __post_init__(self):
        super().__post_init__()

class MyTrainer(Trainer):
    def __init__(self, model, args: MyConfig = None, rewards=None, data=None, peft_config=None):
"""
IS_PEFT = "not isinstance(arg.model, str) and is_peft_model(arg.model)"
FIRST = "arg.data.first_row"


def condition(body: str) -> str | None:
    """That of the one refusal of a trainer with this constructor; None where it can never be told to hold."""
    source = HEAD + textwrap.indent(textwrap.dedent(body), " " * 8)
    found = release_conditions("pkg", {"pkg/trainer.py": (0, source.encode())}, {})
    refused = [each for each in found if each.kind == "refuse" and each.when == "trainer"]
    assert len(refused) == 1
    return refused[0].condition or None


LOADED = "if isinstance(model, str):\n    model = AutoModel.from_pretrained(model)\n"
LISTED = "if not isinstance(rewards, list):\n    rewards = [rewards]\n"
REFILLED = LISTED + "for i, each in enumerate(rewards):\n    rewards[i] = AutoModel.from_pretrained(each)\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # The config is of the class that the trainer asks for, and of its bases.
        ("if isinstance(args, TrainingArguments) and not isinstance(args, MyConfig):\n    args = foreign(args)\n"
         "if args.limit:\n    raise ValueError('x')", "limit"),
        ("if isinstance(args, Dataset):\n    raise ValueError('x')", None),
        # What is loaded from a name has no adapter, and what peft makes has one.
        (LOADED + "if is_peft_model(model):\n    raise ValueError('x')", IS_PEFT),
        (LOADED + "if peft_config:\n    model = get_peft_model(model, peft_config)\n"
         "if is_peft_model(model):\n    raise ValueError('x')", f"arg.peft_config or {IS_PEFT}"),
        (LOADED + "if isinstance(model, PeftModel):\n    raise ValueError('x')", IS_PEFT),
        (LOADED + "if is_peft_model(model.base):\n    raise ValueError('x')",
         "is_peft_model((_ if isinstance(arg.model, str) else arg.model).base)"),
        ("model = foreign(model)\nif is_peft_model(model):\n    raise ValueError('x')", None),
        # Attributes that are set change nothing of what an argument is, and all of its attributes.
        (LOADED + "model.config.pad = 1\nif is_peft_model(model):\n    raise ValueError('x')", IS_PEFT),
        ("model.config.pad = 1\nif model is None:\n    raise ValueError('x')", "arg.model is None"),
        ("model.config.pad = 1\nif model.config.kind == 'a':\n    raise ValueError('x')", None),
        ("kind = model.kind\nmodel.pad = 1\nif kind == 'a':\n    raise ValueError('x')", "arg.model.kind == 'a'"),
        # A list of which items are set is as long as before, and not one that grows.
        (REFILLED + "if len(rewards) != 2:\n    raise ValueError('x')",
         "len(arg.rewards if isinstance(arg.rewards, list) else [arg.rewards]) != 2"),
        (REFILLED + "if rewards[0] is None:\n    raise ValueError('x')", None),
        (REFILLED + "rewards.append(1)\nif len(rewards) != 2:\n    raise ValueError('x')", None),
        ("rewards.append(1)\nif len(rewards) != 2:\n    raise ValueError('x')", None),
        (LISTED + "for i, each in enumerate(rewards):\n    rewards[i] = 1\n    rewards.pop()\n"
         "if len(rewards) != 2:\n    raise ValueError('x')", None),
        (LISTED + "for i, each in enumerate(rewards):\n    i = 0\n    rewards[i] = 1\n"
         "if len(rewards) != 2:\n    raise ValueError('x')", None),
        # Rows and columns of data.
        ("row = next(iter(data))\nif 'image' in row:\n    raise ValueError('x')", f"'image' in {FIRST}"),
        ("data = data.map(len)\nrow = next(iter(data))\nif 'image' in row:\n    raise ValueError('x')", None),
        # What `Trainer` holds are the arguments it was given.
        ("super().__init__(model=model, args=args)\nif is_peft_model(self.model):\n    raise ValueError('x')",
         "is_peft_model(arg.model)"),
        ("super().__init__(model=model, args=args)\nif self.model.kind == 'a':\n    raise ValueError('x')", None),
        ("super().__init__(*foreign())\nif is_peft_model(self.model):\n    raise ValueError('x')", None),
        ("if args.deepspeed_plugin is not None and args.deepspeed_plugin.zero_stage == 3:\n    raise ValueError('x')",
         "deepspeed_plugin() is not None and zero_stage() == 3"),
    ],
)  # fmt: skip
def test_condition(body: str, expected: str | None) -> None:
    assert condition(body) == expected


class World:
    """A trainer that is given one data set."""

    def __init__(self, data: object) -> None:
        self.data = data

    def field(self, name: str) -> object:
        return UNKNOWN

    base = arg = field

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        return UNKNOWN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'text' in arg.data.first_row", True),
        ("'image' in arg.data.first_row", False),
        ("'label' in arg.data.first_row", UNKNOWN),
        ("'image' in list(arg.data.first_row.keys())", False),
        (
            "'text' in (list(arg.data.first_row.keys()) if arg.data.column_names is None else arg.data.column_names)",
            True,
        ),
        ("arg.data.column_names is None", False),
        ("arg.data.format == 'x'", UNKNOWN),
        ("[e1 for e1 in arg.data.first_row.keys() if e1 == 'text']", UNKNOWN),
        ("len(arg.data.first_row) == 1", UNKNOWN),
    ],
)
def test_what_is_known_of_columns(text: str, expected: object) -> None:
    keys = Keys({"text": True, "image": False}.get)
    world = World(None)
    world.arg = lambda name: Thing(frozenset({"Dataset"}), keys=lambda: keys)  # type: ignore[method-assign]
    assert truth_of(text, world) is expected
