"""What is known of the model of a trainer: whether it is quantised, adapted, and made after the arguments."""

from __future__ import annotations

from pathlib import Path

import pytest
from trainer_scripts import call_of, calls_of

from trl_lint.missing import UNKNOWN
from trl_lint.run.trainer.facts import Thing, argument_of
from trl_lint.run.trainer.models import has_adapter, quantised
from trl_lint.run.trainer.order import is_before

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
def test_adapters(tmp_path: Path, script: str, expected: bool | None) -> None:
    """Whether a model has an adapter; what an unknown call may have put on it, nobody can tell."""
    call = next(one for one in calls_of(tmp_path, script) if one.name == "Trainer")
    assert {has_adapter(line) for line in call.lines("model")} == {expected}


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
    "a list": ("SFTTrainer('m', callbacks=[])", "callbacks", {"list"}),
    "of the environment": ("import os\nSFTTrainer(os.environ.get('A'))", "model", UNKNOWN),
    "of a helper of a library": ("from tools import find\nSFTTrainer(find('m'))", "model", UNKNOWN),
    "an entry of an object": ("from tools import Config\nSFTTrainer(Config()['m'])", "model", UNKNOWN),
    "made a text": ("SFTTrainer(str(path))", "model", UNKNOWN),
    "a constant of a library": ("from tools import NAME\nSFTTrainer(NAME)", "model", UNKNOWN),
    "a function of a library": ("from trl.rewards import accuracy\nGRPOTrainer('m', accuracy)", "reward_funcs", set()),
    "a text of a class of its own": ("class Name(str):\n    pass\nSFTTrainer(Name('m'))", "model", UNKNOWN),
    "an object of a class of its own": ("class Mine:\n    pass\nSFTTrainer(Mine())", "model", set()),
    "streamed rows": (
        "from datasets import IterableDataset\nSFTTrainer('m', train_dataset=IterableDataset.from_generator(f))",
        "train_dataset", {"IterableDataset"},
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
