"""What becomes of the possibilities for a trainer in a run: fields get values, and tests come out."""

from __future__ import annotations

from pathlib import Path

import pytest
from trainer_scripts import call_of, calls_of

from trl_lint.missing import UNKNOWN
from trl_lint.run.runs import Run
from trl_lint.run.trainer import literals
from trl_lint.run.trainer.running import (
    are_compatible,
    holds_in,
    is_none_in,
    possible_in,
    setting_of,
    value_in,
)

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


def test_the_runs_of_a_script_are_looked_up_once(tmp_path: Path) -> None:
    first, *others = calls_of(tmp_path, "SFTTrainer('m')\n" * 3, run__sh="python train.py\npython other.py\n")
    assert len(first.runs) == 1 and all(other.runs is first.runs for other in others)


# -- parsers of argparse ----------------------------------------------------------------------------------------------

ARGUMENTS: dict[str, tuple[str, str, object]] = {
    "a default": ("'--model', default='m'", "", "m"),
    "no default": ("'--model'", "", None),
    "a flag": ("'--model'", "--model n", "n"),
    "a short flag": ("'-m', '--model', default='m'", "-m n", "n"),
    "both flags": ("'-m', '--model'", "-m n --model o", UNKNOWN),
    "another name": ("'--model-name', dest='model', default='m'", "--model-name n", "n"),
    "the flag of another field": ("'--model', dest='other'", "", UNKNOWN),
    "by its position": ("'model'", "n", UNKNOWN),
    "by its position, with a default": ("'model', nargs='?', default='m'", "", UNKNOWN),
    "required": ("'--model', required=True", "", UNKNOWN),
    "required, and given": ("'--model', required=True", "--model n", "n"),
    "not required": ("'--model', required=False", "", None),
    "a switch": ("'--model', action='store_true'", "", False),
    "a switch that is given": ("'--model', action='store_true'", "--model", True),
    "a switch that turns off": ("'--model', action='store_false'", "--model", False),
    "a switch that turns off by another name": ("'--no-model', dest='model', action='store_false'", "", True),
    "a switch with two names": ("'--model', action=argparse.BooleanOptionalAction", "--no-model", False),
    "an optional value": ("'--model', nargs='?', const='c'", "--model", UNKNOWN),
    "a constant": ("'--model', action='store_const', const='c'", "--model", UNKNOWN),
    "an action of its own": ("'--model', action=Mine", "", UNKNOWN),
    "a default that is converted": ("'--model', type=load, default='m'", "", UNKNOWN),
    "a default that is text": ("'--model', type=str, default='m'", "", "m"),
    "hidden keywords": ("'--model', **given", "", UNKNOWN),
    "hidden flags": ("'--model', default='m'", '"$@"', UNKNOWN),
}
PARSERS: dict[str, tuple[str, str, object]] = {
    "another default": ("parser.set_defaults(model='n')", "", UNKNOWN),
    "another default, and the flag": ("parser.set_defaults(model='n')", "--model o", "o"),
    "a default of another field": ("parser.set_defaults(other='n')", "", "m"),
    "defaults from elsewhere": ("parser.set_defaults(**config)", "", UNKNOWN),
    "declared again": ("parser.add_argument('--model')", "", UNKNOWN),
}


@pytest.mark.parametrize(("arguments", "flags", "expected"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_an_argument_of_argparse(arguments: str, flags: str, expected: object, tmp_path: Path) -> None:
    assert of_argparse(tmp_path, f"parser.add_argument({arguments})\nargs = parser.parse_args()", flags) == expected


@pytest.mark.parametrize(("line", "flags", "expected"), PARSERS.values(), ids=PARSERS)
def test_a_parser_of_argparse(line: str, flags: str, expected: object, tmp_path: Path) -> None:
    lines = f"parser.add_argument('--model', default='m')\n{line}\nargs = parser.parse_args()"
    assert of_argparse(tmp_path, lines, flags) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [("", "m"), ("None", "m"), ("sys.argv[1:]", "m"), ("['--model', 'n']", UNKNOWN), ("words", UNKNOWN)],
)
def test_words_that_a_parser_is_given(words: str, expected: object, tmp_path: Path) -> None:
    lines = f"parser.add_argument('--model', default='m')\nargs = parser.parse_args({words})"
    assert of_argparse(tmp_path, lines, "") == expected


def of_argparse(folder: Path, lines: str, flags: str) -> object:
    """The value of the field `model` of a parser in the one run of a script."""
    script = f"import argparse\nparser = argparse.ArgumentParser()\n{lines}\nSFTTrainer(args.model)"
    call = call_of(folder, script, run__sh=f"python train.py {flags}\n")
    (made,), (run,) = call.given("model"), call.runs
    assert isinstance(run, Run) and value_in(made, None) is UNKNOWN
    found = setting_of(made, run)
    return value_in(made, run) if found is not UNKNOWN else UNKNOWN


# -- what may be None -------------------------------------------------------------------------------------------------

NONE: dict[str, tuple[str, bool | None]] = {
    "a loader": ("AutoModelForCausalLM.from_pretrained('m')", False),
    "a config": ("LoraConfig()", False),
    "a wrapper": ("get_peft_model(x, LoraConfig())", False),
    "a dataset": ("load_dataset('d')['train'].map(f)", False),
    "a list": ("[]", False),
    "None": ("None", True),
    "the environment": ("os.environ.get('A')", None),
    "a match": ("re.match('a', b)", None),
    "another library": ("tools.find('m')", None),
    "an entry of an object": ("Config()['a']", None),
}


@pytest.mark.parametrize(("text", "expected"), NONE.values(), ids=NONE)
def test_what_is_certainly_an_object(text: str, expected: bool | None, tmp_path: Path) -> None:
    script = f"import os, re, tools\nfrom tools import Config\nmodel = {text}\nSFTTrainer(model)"
    (made,) = call_of(tmp_path, script).given("model")
    assert is_none_in(made, None) is expected
