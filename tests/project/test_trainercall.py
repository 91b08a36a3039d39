"""What a trainer is given: how each object was made, under which tests, and what becomes of that in a run."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from trl_lint.missing import UNKNOWN
from trl_lint.project import Project
from trl_lint.project.trainercall import TrainerCall, are_known, is_absent, literals, trainer_calls
from trl_lint.project.trainercall.facts import Thing, argument_of
from trl_lint.project.trainercall.made import Made, Options
from trl_lint.project.trainercall.models import has_adapter, quantised
from trl_lint.project.trainercall.order import is_before
from trl_lint.project.trainercall.running import are_compatible, holds_in, possible_in, value_in
from trl_lint.settings import Settings
from trl_lint.sources import Files

HEAD = """
from datasets import load_dataset
from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, HfArgumentParser, Trainer
from trl import (DPOTrainer, GRPOTrainer, ModelConfig, ScriptArguments, SFTConfig, SFTTrainer, TrlParser,
                 get_peft_config, get_quantization_config, setup_chat_format)
"""


def project_of(folder: Path, **files: str) -> Project:
    (folder / ".git").mkdir()
    for name, text in {"requirements__txt": "trl==1.16.0\ntransformers==5.23.0\n", **files}.items():
        path = folder / name.replace("__", ".")
        path.write_text(dedent(text), encoding="utf-8")
    return Project(str(folder), Files(), Settings(str(folder)))


def calls_of(folder: Path, script: str, **files: str) -> tuple[TrainerCall, ...]:
    project = project_of(folder, train__py=HEAD + dedent(script), **files)
    return trainer_calls(project.module_in(str(folder / "train.py")), project)


def call_of(folder: Path, script: str, **files: str) -> TrainerCall:
    (call,) = calls_of(folder, script, **files)
    return call


def told(options: Options) -> list[str]:
    """Each possibility in short: its kind or dotted name, its value, its tests."""
    return sorted(one_told(made) for made in options)


def one_told(made: Made) -> str:
    what = made.origin or made.kind
    what += f"={made.value!r}" if made.kind == "literal" else ""
    what += "".join(f"[{item!r}]" for item in made.item)
    tests = [("" if one.truth else "not ") + ast.unparse(one.test) for one in made.under]
    return what + (f" if {' and '.join(tests)}" if tests else "")


LOADS = "transformers.AutoModelForCausalLM.from_pretrained"
FORMS: dict[str, tuple[str, list[str]]] = {
    "a literal": ("SFTTrainer('m')", ["literal='m'"]),
    "by keyword": ("SFTTrainer(model='m')", ["literal='m'"]),
    "a name": ("model = 'm'\nSFTTrainer(model)", ["literal='m'"]),
    "a loader": ("model = AutoModelForCausalLM.from_pretrained('m')\nSFTTrainer(model)", [LOADS]),
    "a loader in a name": (
        "loader = AutoModelForCausalLM\nmodel = loader.from_pretrained('m')\nSFTTrainer(model)", [LOADS]
    ),
    "a name that is bound again": ("model = 'a'\nmodel = 'b'\nSFTTrainer(model)", ["literal='b'"]),
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


# -- runs -----------------------------------------------------------------------------------------------------------

PARSED = """
    def main(script, config, model_args):
        quantization = get_quantization_config(model_args)
        kwargs = dict(dtype=model_args.dtype)
        if quantization is not None:
            kwargs["device_map"] = "auto"
        model = AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path, **kwargs)
        SFTTrainer(model, args=config, peft_config=get_peft_config(model_args))

    if __name__ == "__main__":
        parser = TrlParser((ScriptArguments, SFTConfig, ModelConfig))
        main(*parser.parse_args_and_config())
"""


@pytest.mark.parametrize(("flags", "expected"), [("--load_in_4bit", ["auto"]), ("", [None])])
def test_possibilities_in_a_run(flags: str, expected: list[object], tmp_path: Path) -> None:
    call = call_of(tmp_path, PARSED, run__sh=f"python train.py --model_name_or_path m {flags}\n")
    (run,) = call.runs
    (made,) = call.given("model")
    found = possible_in(made.argument("device_map"), run)
    assert literals(found) == expected
    assert [value_in(one, run) for one in made.argument("pretrained_model_name_or_path", 0)] == ["m"]
    assert not any(one.under for one in found)


def test_without_a_run_the_tests_stay_open(tmp_path: Path) -> None:
    (made,) = call_of(tmp_path, PARSED).given("model")
    assert len(possible_in(made.argument("device_map"), None)) == 2


def test_a_constant_decides_a_test(tmp_path: Path) -> None:
    script = "USE = False\nmodel = 'a'\nif USE:\n    model = 'b'\nSFTTrainer(model)"
    options = call_of(tmp_path, script).given("model")
    assert {literal: holds_in(made.under, None) for made in options for literal in [made.value]} == {
        "a": True, "b": False
    }  # fmt: skip


CONTRADICTIONS = {
    "the same test": ("use", "not use"),
    "one part of a test": ("use and other", "not use"),
    "is and is not": ("x is None", "x is not None"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_tests_that_exclude_each_other(name: str, tmp_path: Path) -> None:
    one, other = CONTRADICTIONS[name]
    script = f"model, ref = 'a', 'a'\nif {one}:\n    model = 'b'\nif {other}:\n    ref = 'b'\nDPOTrainer(model, ref)"
    call = call_of(tmp_path, script)
    model = next(made for made in call.given("model") if made.value == "b")
    ref = next(made for made in call.given("ref_model") if made.value == "b")
    assert not are_compatible(model.under, ref.under)
    assert are_compatible(model.under, next(made for made in call.given("ref_model") if made.value == "a").under)


# -- bounds ---------------------------------------------------------------------------------------------------------


def test_a_thousand_wrappers_are_unknown_and_no_error(tmp_path: Path) -> None:
    script = "model = load()\n" + "model = wrap(model)\n" * 1000 + "SFTTrainer(model)"
    call = call_of(tmp_path, "def wrap(m):\n    return m\n" + script)
    assert not are_known(call.given("model"))


def test_calls_in_calls_end(tmp_path: Path) -> None:
    script = "".join(f"def f{i}():\n    return f{i + 1}()\n" for i in range(50)) + "SFTTrainer(f0())"
    assert not are_known(call_of(tmp_path, script).given("model"))


# -- facts for conditions of releases -------------------------------------------------------------------------------

FACTS: dict[str, tuple[str, str, object]] = {
    "nothing": ("SFTTrainer('m')", "peft_config", None),
    "None": ("SFTTrainer('m', peft_config=None)", "peft_config", None),
    "text": ("SFTTrainer('m')", "model", "m"),
    "a config": ("SFTTrainer('m', peft_config=LoraConfig())", "peft_config", {"LoraConfig"}),
    "an adapter": (
        "SFTTrainer(get_peft_model(AutoModelForCausalLM.from_pretrained('m'), LoraConfig()))", "model", {"PeftModel"}
    ),
    "a model": ("SFTTrainer(AutoModelForCausalLM.from_pretrained('m'))", "model", set()),
    "one of two": ("SFTTrainer('m', peft_config=LoraConfig() if flag else None)", "peft_config", UNKNOWN),
    "two models": ("SFTTrainer(AutoModelForCausalLM.from_pretrained('m' if a else 'n'))", "model", set()),
    "streamed": (
        "SFTTrainer('m', train_dataset=load_dataset('d', streaming=True).map(f))", "train_dataset", {"IterableDataset"}
    ),
    "hidden": ("SFTTrainer('m', **given)", "peft_config", UNKNOWN),
}  # fmt: skip


@pytest.mark.parametrize("name", FACTS)
def test_facts(name: str, tmp_path: Path) -> None:
    script, role, expected = FACTS[name]
    found = argument_of(call_of(tmp_path, script), role, None)
    assert (set(found.classes) if isinstance(found, Thing) else found) == expected


def test_the_same_object(tmp_path: Path) -> None:
    script = "model = AutoModelForCausalLM.from_pretrained('m')\nDPOTrainer(model, model)"
    call = call_of(tmp_path, script)
    assert argument_of(call, "model", None) == argument_of(call, "ref_model", None)


def test_two_objects_of_one_name(tmp_path: Path) -> None:
    script = """
        DPOTrainer(AutoModelForCausalLM.from_pretrained('m'), AutoModelForCausalLM.from_pretrained('m'))
    """
    call = call_of(tmp_path, script)
    assert argument_of(call, "model", None) != argument_of(call, "ref_model", None)


LOAD = "AutoModelForCausalLM.from_pretrained('m')"
ORDERS = {
    "in one block": (f"args = SFTConfig()\nmodel = {LOAD}\nSFTTrainer(model, args)", True),
    "the other way": (f"model = {LOAD}\nargs = SFTConfig()\nSFTTrainer(model, args)", False),
    "passed in": (f"def main(args):\n    SFTTrainer({LOAD}, args)\nmain(SFTConfig())", True),
    "in a helper": (f"def load():\n    return {LOAD}\nargs = SFTConfig()\nSFTTrainer(load(), args)", True),
    "a helper before": (f"def load():\n    return {LOAD}\nmodel = load()\nSFTTrainer(model, SFTConfig())", False),
}


@pytest.mark.parametrize("name", ORDERS)
def test_which_is_made_first(name: str, tmp_path: Path) -> None:
    script, expected = ORDERS[name]
    call = call_of(tmp_path, script)
    (model,), (args,) = call.given("model"), call.given("args")
    assert is_before(args, model, call.frame) is expected


QUANTISED = {
    "not": ("", "none"),
    "a config": ("quantization_config=BitsAndBytesConfig(load_in_4bit=True)", "4bit"),
    "a config without": ("quantization_config=BitsAndBytesConfig()", "none"),
    "an argument": ("load_in_8bit=True", "8bit"),
    "unknown": ("load_in_4bit=flag", "unknown"),
    "hidden": ("**given", "unknown"),
}


@pytest.mark.parametrize("name", QUANTISED)
def test_quantised(name: str, tmp_path: Path) -> None:
    script, expected = QUANTISED[name]
    (line,) = call_of(tmp_path, f"SFTTrainer(AutoModelForCausalLM.from_pretrained('m', {script}))").lines("model")
    assert quantised(line, None).bits == expected


LOADED = "model = AutoModelForCausalLM.from_pretrained('m')\n"
ADAPTED: dict[str, tuple[str, bool | None]] = {
    "as it was loaded": (f"{LOADED}Trainer(model)", False),
    "wrapped": (f"{LOADED}model = get_peft_model(model, LoraConfig())\nTrainer(model)", True),
    "wrapped, then handed on": (
        f"from more import hack\n{LOADED}model = get_peft_model(model, LoraConfig())\nhack(model)\nTrainer(model)", True
    ),
    "merged": (f"{LOADED}model = get_peft_model(model, LoraConfig()).merge_and_unload()\nTrainer(model)", False),
    "adapted in place": (f"{LOADED}model.add_adapter(LoraConfig())\nTrainer(model)", True),
    "handed to another package": (f"from more import hack\n{LOADED}hack(model)\nTrainer(model)", None),
    "by keyword": (f"from more import hack\n{LOADED}hack(it=model)\nTrainer(model)", None),
    "in a list": (f"from more import hack\n{LOADED}hack([model])\nTrainer(model)", None),
    "a part of it": (f"from more import hack\n{LOADED}hack(model.model.layers)\nTrainer(model)", None),
    "its config": (f"from more import read\n{LOADED}read(model.config)\nTrainer(model)", False),
    "handed on later": (f"from more import hack\n{LOADED}Trainer(model)\nhack(model)", False),
    "handed on before it was loaded": (
        f"from more import hack\nmodel = 'm'\nhack(model)\n{LOADED}Trainer(model)", False
    ),
    "handed to a library": (f"import torch\n{LOADED}torch.compile(model)\nprint(model)\nTrainer(model)", False),
    "handed to a method of a library's object": (
        f"import logging\nlogger = logging.getLogger()\n{LOADED}logger.info(model)\nTrainer(model)", False
    ),
    "handed to a method of nobody's object": (f"from more import it\n{LOADED}it.hack(model)\nTrainer(model)", None),
    "adapted by a trainer": (
        f"{LOADED}SFTTrainer(model, peft_config=LoraConfig()).train()\nTrainer(model)", None
    ),
    "set by its name": (f"{LOADED}setattr(model, 'is_quantized', False)\nTrainer(model)", None),
    "set": (f"{LOADED}model.is_quantized = False\nTrainer(model)", None),
    "a function that looks": (
        f"def show(it):\n    print(sum(p.numel() for p in it.parameters()))\n{LOADED}show(model)\nTrainer(model)", False
    ),
    "a function that sets": (
        f"def mark(it):\n    it._hf_peft_config_loaded = True\n{LOADED}mark(model)\nTrainer(model)", None
    ),
    "a function that puts in": (
        f"def put(it):\n    it._modules['x'] = 1\n{LOADED}put(model)\nTrainer(model)", None
    ),
    "a function that hands on": (f"def f(it):\n    g(it)\n{LOADED}f(model)\nTrainer(model)", None),
    "a class of the project": (f"class Hack:\n    pass\n{LOADED}Hack(model)\nTrainer(model)", None),
    "in a function that sees it": (
        f"from more import hack\n{LOADED}def ready():\n    hack(model)\nready()\nTrainer(model)", None
    ),
    "in a function with one of its own": (
        f"from more import hack\n{LOADED}def other(model):\n    hack(model)\nTrainer(model)", False
    ),
    "around the function that uses it": (
        f"from more import hack\n{LOADED}hack(model)\ndef main():\n    Trainer(model)\nmain()", None
    ),
    "by a caller": (
        f"from more import hack\ndef main(it):\n    Trainer(it)\n{LOADED}hack(model)\nmain(model)", None
    ),
    "in another method": (
        "from more import hack\nclass Run:\n    def __init__(self):\n"
        "        self.model = AutoModelForCausalLM.from_pretrained('m')\n"
        "    def ready(self):\n        hack(self.model)\n    def train(self):\n        Trainer(self.model)",
        None,
    ),
    "many calls of a library": (f"{LOADED}" + "print(model)\n" * 64 + "Trainer(model)", False),
    "more calls than are looked at": (f"{LOADED}" + "print(model)\n" * 65 + "Trainer(model)", None),
}  # fmt: skip


@pytest.mark.parametrize(("script", "expected"), ADAPTED.values(), ids=ADAPTED)
def test_adapters(tmp_path: Path, script: str, expected: bool | None):
    """Whether a model has an adapter; what an unknown call may have put on it, nobody can tell."""
    call = next(one for one in calls_of(tmp_path, script) if one.name == "Trainer")
    assert {has_adapter(line) for line in call.lines("model")} == {expected}
