"""What a trainer is given: how each object was made, and under which tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from trainer_scripts import LOADS, call_of, calls_of, told

from trl_lint.run.trainer import are_known, is_absent, literals
from trl_lint.run.trainer.running import are_compatible

FORMS: dict[str, tuple[str, list[str]]] = {
    "a literal": ("SFTTrainer('m')", ["literal='m'"]),
    "by keyword": ("SFTTrainer(model='m')", ["literal='m'"]),
    "a name": ("model = 'm'\nSFTTrainer(model)", ["literal='m'"]),
    "a loader": ("model = AutoModelForCausalLM.from_pretrained('m')\nSFTTrainer(model)", [LOADS]),
    "a loader in a name": (
        "loader = AutoModelForCausalLM\nmodel = loader.from_pretrained('m')\nSFTTrainer(model)", [LOADS]
    ),
    "a name that is bound again": ("model = 'a'\nmodel = 'b'\nSFTTrainer(model)", ["literal='b'"]),
    "a name that is declared": ("model = 'm'\nmodel: str\nSFTTrainer(model)", ["literal='m'"]),
    "a name that is declared alone": ("model: str\nSFTTrainer(model)", ["unknown"]),
    "a slice of what is no parser": ("model, tok = load()[:2]\nSFTTrainer(model)", ["unknown"]),
    "a branch": (
        "model = 'a'\nif flag:\n    model = 'b'\nSFTTrainer(model)",
        ["literal='a' if not flag", "literal='b' if flag"],
    ),
    "a conditional expression": (
        "SFTTrainer('a' if flag else 'b')", ["literal='a' if flag", "literal='b' if not flag"]
    ),
    "a tuple": ("model, tok = 'm', 't'\nSFTTrainer(model)", ["literal='m'"]),
    "a dict": ("given = {'model': 'm'}\nSFTTrainer(given['model'])", ["literal='m'"]),
    "a dict that is unpacked": ("given = dict(model='m')\nSFTTrainer(**given)", ["literal='m'"]),
    "a dict that was built in steps": (
        "given = {}\ngiven['model'] = 'a'\nif flag:\n    given['model'] = 'b'\nSFTTrainer(**given)",
        ["literal='a' if not flag", "literal='b' if flag"],
    ),
    "a dict that was updated": ("given = {}\ngiven.update(model='m')\nSFTTrainer(**given)", ["literal='m'"]),
    "a dict with an unknown key": ("given = {'model': 'm'}\ngiven[key] = 1\nSFTTrainer(**given)", ["unknown"]),
    "a function": (
        "def load(name):\n    return AutoModelForCausalLM.from_pretrained(name)\nSFTTrainer(load('m'))", [LOADS]
    ),
    "a function that returns early": (
        "def load(big):\n    if big:\n        return 'a'\n    return 'b'\nSFTTrainer(load(x))",
        ["literal='a' if big", "literal='b' if not big"],
    ),
    "a function that returns a tuple": (
        "def load():\n    model = 'm'\n    return model, 't'\nmodel, tok = load()\nSFTTrainer(model)", ["literal='m'"]
    ),
    "an argument": ("def load(name):\n    return name\nSFTTrainer(load('m'))", ["literal='m'"]),
    "a default": ("def load(name='m'):\n    return name\nSFTTrainer(load())", ["literal='m'"]),
    "keywords that are handed on": (
        "def load(**kwargs):\n    return dict(**kwargs)['model']\nSFTTrainer(load(model='m'))", ["literal='m'"]
    ),
    "a parameter": ("def main(model):\n    SFTTrainer(model)\nmain('m')", ["literal='m'"]),
    "a parameter of two callers": (
        "def main(model):\n    SFTTrainer(model)\nmain('a')\nmain('b')", ["literal='a'", "literal='b'"]
    ),
    "a parameter nobody passes": ("def main(model):\n    SFTTrainer(model)", ["unknown"]),
    "an attribute of the object": (
        "class Run:\n    def __init__(self):\n        self.model = 'm'\n    def train(self):\n"
        "        SFTTrainer(self.model)",
        ["literal='m'"],
    ),
    "an attribute that the method set": (
        "class Run:\n    def train(self):\n        self.model = 'a'\n        self.model = 'b'\n"
        "        SFTTrainer(self.model)",
        ["literal='b'"],
    ),
    "what the object was given": (
        "class Run:\n    def __init__(self, model):\n        self.model = model\nSFTTrainer(Run('m').model)",
        ["literal='m'"],
    ),
    "a field of a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass Run:\n    model: str = 'm'\nSFTTrainer(Run().model)",
        ["literal='m'"],
    ),
    "a field that was given": (
        "from dataclasses import dataclass\n@dataclass\nclass Run:\n    model: str = 'm'\n"
        "SFTTrainer(Run(model='n').model)",
        ["literal='n'"],
    ),
    "a field of a parser": (
        "parser = HfArgumentParser(ScriptArguments)\n(args,) = parser.parse_args_into_dataclasses()\n"
        "SFTTrainer(args.model_name)",
        ["model_name"],
    ),
    "a field of argparse": (
        "import argparse\nparser = argparse.ArgumentParser()\nargs = parser.parse_args()\nSFTTrainer(args.model)",
        ["model"],
    ),
    "what main is given with a star": (
        "def main(script, config, model):\n    SFTTrainer(model.model_name_or_path)\n"
        "main(*TrlParser((ScriptArguments, SFTConfig, ModelConfig)).parse_args_and_config())",
        ["model_name_or_path"],
    ),
    "nothing": ("SFTTrainer()", ["absent"]),
    "hidden": ("SFTTrainer(**given)", ["unknown"]),
    "a name nobody binds": ("SFTTrainer(model)", ["unknown"]),
    "or": ("SFTTrainer(None or 'm')", ["literal='m' if not None"]),
    "a generator": ("def load():\n    yield 'm'\nSFTTrainer(load())", ["unknown"]),
    "through itself": ("def load():\n    return load()\nSFTTrainer(load())", ["unknown"]),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_a_model(name: str, tmp_path: Path) -> None:
    script, expected = FORMS[name]
    assert told(call_of(tmp_path, script).given("model")) == expected


def test_a_helper_of_another_module(tmp_path: Path) -> None:
    helper = "from transformers import AutoModelForCausalLM as A\ndef load(name):\n    return A.from_pretrained(name)\n"
    call = call_of(tmp_path, "from helper import load\nSFTTrainer(load('m'))", helper__py=helper)
    (made,) = call.given("model")
    assert (made.origin, made.location.path) == (LOADS, str(tmp_path / "helper.py"))
    assert literals(made.argument("pretrained_model_name_or_path", 0)) == ["m"]


def test_callers_in_another_module(tmp_path: Path) -> None:
    other = "from train import main\nmain('m')\n"
    call = call_of(tmp_path, "def main(model):\n    SFTTrainer(model)\n", run__py=other)
    assert told(call.given("model")) == ["literal='m'"]


def test_the_steps_of_a_model(tmp_path: Path) -> None:
    script = """
        model = AutoModelForCausalLM.from_pretrained("m", device_map="auto")
        model.config.use_cache = False
        model = prepare_model_for_kbit_training(model)
        if lora:
            model = get_peft_model(model, LoraConfig())
        SFTTrainer(model.to("cuda"))
    """
    plain, wrapped = sorted(call_of(tmp_path, script).lines("model"), key=lambda line: len(line.steps))
    assert [made.name for made in plain.steps] == ["to", "prepare_model_for_kbit_training", "from_pretrained"]
    assert wrapped.step("get_peft_model") is not None
    assert plain.step("get_peft_model") is None
    assert [change.path for change in plain.changes] == ["config.use_cache"]
    assert literals(plain.source.argument("device_map")) == ["auto"]
    assert is_absent(plain.source.argument("dtype"))
    assert not are_compatible(plain.under, wrapped.under)


def test_the_second_result_of_a_wrapper_is_the_tokenizer(tmp_path: Path) -> None:
    script = """
        model, tok = AutoModelForCausalLM.from_pretrained("m"), AutoTokenizer.from_pretrained("t")
        model, tok = setup_chat_format(model, tok)
        SFTTrainer(model, tokenizer=tok)
    """
    call = call_of(tmp_path, script)
    assert [line.source.origin for line in call.lines("model")] == [LOADS]
    assert [line.source.origin for line in call.lines("processing_class")] == [
        "transformers.AutoTokenizer.from_pretrained"
    ]


def test_the_steps_of_a_dataset(tmp_path: Path) -> None:
    script = """
        data = load_dataset("d")["train"].map(f).train_test_split(0.1)
        SFTTrainer(train_dataset=data["train"], eval_dataset=data["test"])
    """
    (line,) = call_of(tmp_path, script).lines("train_dataset")
    assert [made.name for made in line.steps] == ["train_test_split", "map", "load_dataset"]
    assert line.made.item == ("train",)
    assert line.source.item == ("train",)


def test_changes_after_a_tokenizer_is_made(tmp_path: Path) -> None:
    script = """
        tok = AutoTokenizer.from_pretrained("t")
        if tok.pad_token is None:
            tok.pad_token = tok.eos_token
        tok.padding_side = "left"
        SFTTrainer(processing_class=tok)
        tok.late = 1
    """
    (made,) = call_of(tmp_path, script).given("processing_class")
    assert [(change.path, len(change.under)) for change in made.changes] == [("pad_token", 1), ("padding_side", 0)]
    assert literals(made.attribute("padding_side")) == ["left"]


def test_fields_of_the_training_arguments(tmp_path: Path) -> None:
    script = """
        args = SFTConfig(bf16=True)
        args.model_init_kwargs = dict(device_map="auto")
        SFTTrainer("m", args=args)
    """
    call = call_of(tmp_path, script)
    assert literals(call.field("bf16")) == [True]
    assert is_absent(call.field("packing"))
    (kwargs,) = call.field("model_init_kwargs")
    assert literals(kwargs.entry("device_map")) == ["auto"]


def test_items_of_a_list(tmp_path: Path) -> None:
    script = """
        def reward(completions, **kwargs): ...
        rewards = [reward]
        rewards.append("m")
        GRPOTrainer("m", rewards)
    """
    (made,) = call_of(tmp_path, script).given("reward_funcs")
    items = made.items()
    assert items is not None
    assert [told(item) for item in items] == [["reward"], ["literal='m'"]]


# -- trainers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "kind"), [("[:2]", "parsed"), ("", "parsed"), ("[1:3]", "unknown"), ("[:-1]", "unknown")]
)
def test_the_first_of_what_a_parser_gives(part: str, kind: str, tmp_path: Path) -> None:
    parsed = "HfArgumentParser((A, SFTConfig)).parse_args_into_dataclasses(return_remaining_strings=True)"
    script = f"a, args = {parsed}{part}\na: A\nargs: SFTConfig\nSFTTrainer('m', args=args)"
    assert [made.kind for made in call_of(tmp_path, script).given("args")] == [kind]


def test_a_list_that_a_loop_in_brackets_makes(tmp_path: Path) -> None:
    (made,) = call_of(tmp_path, "SFTTrainer('m', train_dataset=[f(x) for x in rows])").given("train_dataset")
    assert (made.kind, made.is_known, made.items()) == ("list", True, None)


def test_a_class_of_the_project_that_hands_on_its_arguments(tmp_path: Path) -> None:
    script = """
        class Mine(SFTTrainer):
            def __init__(self, *args, extra=1, **kwargs):
                super().__init__(*args, **kwargs)
        Mine("m", train_dataset="d")
    """
    call = call_of(tmp_path, script)
    assert (call.trainer, call.own is not None) == ("trl.SFTTrainer", True)
    assert [told(call.given(role)) for role in ("model", "train_dataset", "args")] == [
        ["literal='m'"], ["literal='d'"], ["absent"]
    ]  # fmt: skip


def test_a_class_of_the_project_with_an_order_of_its_own(tmp_path: Path) -> None:
    script = """
        class MyTrainer(Trainer):
            def __init__(self, args, accelerator):
                model = AutoModelForCausalLM.from_pretrained(args)
                super().__init__(model=model, args=args)
        MyTrainer("a", "b")
    """
    call = call_of(tmp_path, script)
    assert told(call.given("model")) == [LOADS]
    assert told(call.given("args")) == ["literal='a'"]


NO_TRAINERS = {
    "another package": "from verifiers import GRPOTrainer as T\nT('m')",
    "a class of its own": "class SFTTrainer2:\n    pass\nSFTTrainer2('m')",
    "its own of the name": "class SFTTrainer:\n    pass\n",
    "the base's constructor": "class Mine(SFTTrainer):\n    def __init__(self):\n        super().__init__('m')",
}


@pytest.mark.parametrize("name", NO_TRAINERS)
def test_what_is_no_trainer_of_the_libraries(name: str, tmp_path: Path) -> None:
    assert calls_of(tmp_path, NO_TRAINERS[name]) == ()


def test_positions(tmp_path: Path) -> None:
    call = call_of(tmp_path, "DPOTrainer('m', 'r', SFTConfig())")
    assert [told(call.given(role)) for role in ("ref_model", "args", "train_dataset")] == [
        ["literal='r'"], ["trl.SFTConfig"], ["absent"]
    ]  # fmt: skip


def test_cells_of_a_marimo_notebook(tmp_path: Path) -> None:
    script = """
        import marimo
        app = marimo.App()
        @app.cell
        def _():
            model = AutoModelForCausalLM.from_pretrained("m")
            return (model,)
        @app.cell
        def _(model):
            SFTTrainer(model)
    """
    assert told(call_of(tmp_path, script).given("model")) == [LOADS]


# -- bounds ---------------------------------------------------------------------------------------------------------


def test_a_thousand_wrappers_are_unknown_and_no_error(tmp_path: Path) -> None:
    script = "model = load()\n" + "model = wrap(model)\n" * 1000 + "SFTTrainer(model)"
    call = call_of(tmp_path, "def wrap(m):\n    return m\n" + script)
    assert not are_known(call.given("model"))


def test_calls_in_calls_end(tmp_path: Path) -> None:
    script = "".join(f"def f{i}():\n    return f{i + 1}()\n" for i in range(50)) + "SFTTrainer(f0())"
    assert not are_known(call_of(tmp_path, script).given("model"))
