"""TRL405 and TRL402 ask who loads a recipe: what harms with one loader is fine with another."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.finding import Finding
from trl_lint.knowledge.families import document_kinds, families
from trl_lint.knowledge.loaders import loaders
from trl_lint.settings import Settings

FIELDS = "learning_rate: {float}\nmax_steps: {int}\neval_strategy: {word}\n"
RECIPE = "model_name_or_path: org/model\noutput_dir: out\n" + FIELDS
OMEGACONF = "model_name_or_path: org/model\noutput_dir: ${{oc.env:OUT}}\nlogging_steps: 5\nseed: 1\n" + FIELDS
FACTORY = (
    "model_name_or_path: org/model\nstage: sft\ntemplate: qwen\ndataset: d\ndataset_dir: ONLINE\noutput_dir: out\n"
    "val_size: 0.1\nper_device_eval_batch_size: 1\n" + FIELDS
)
SWIFT = "model: org/model\ndataset: org/data\noutput_dir: out\n" + FIELDS
TRL_SCRIPT = """\
from trl import ModelConfig, ScriptArguments, SFTConfig, TrlParser
script_args, args, model_args = TrlParser((ScriptArguments, SFTConfig, ModelConfig)).parse_args_and_config()
"""
OTHER_SCRIPT = """\
import sys
from dataclasses import dataclass
from transformers import HfArgumentParser, TrainingArguments
{imports}
@dataclass
class Model:
    model_name_or_path: str = ""
{read}
"""
YAML_FILE = OTHER_SCRIPT.format(
    imports="", read="model, args = HfArgumentParser((Model, TrainingArguments)).parse_yaml_file(sys.argv[1])"
)
SAFE_LOAD = OTHER_SCRIPT.format(
    imports="import yaml", read="config = yaml.safe_load(open(sys.argv[1]))\nargs = TrainingArguments(**config)"
)
RUAMEL = OTHER_SCRIPT.format(
    imports="from ruamel.yaml import YAML", read="args = TrainingArguments(**YAML().load(open(sys.argv[1])))"
)
HYDRA = OTHER_SCRIPT.format(
    imports="from omegaconf import OmegaConf", read="args = TrainingArguments(**OmegaConf.load(sys.argv[1]))"
)
TWO = OTHER_SCRIPT.format(
    imports="import yaml\nfrom omegaconf import OmegaConf",
    read="load = yaml.safe_load if sys.argv[2:] else OmegaConf.load\nargs = TrainingArguments(**load(sys.argv[1]))",
)
GOOD = {"float": "1.0e-6", "int": "1000", "word": '"no"'}
BAD = {"float": "1e-6", "int": "1e3", "word": "no"}

PLAIN = OMEGACONF.replace("${{oc.env:OUT}}", "out")
# By loader: the recipe, the script, the command, what is installed, and for each of the three bad spellings the level
# of the finding ("" where there is none).
WAYS = {
    "TrlParser": (RECIPE, TRL_SCRIPT, "python train.py --config c.yaml", "trl==1.16.0", "", "error", "error"),
    "TrlParser 0.9.6": (RECIPE, TRL_SCRIPT, "python train.py --config c.yaml", "trl==0.9.6", "", "error", "error"),
    "TrlParser 0.8.6": (RECIPE, TRL_SCRIPT, "python train.py --config c.yaml", "trl==0.8.6", "error", "error", ""),
    "trl sft": (RECIPE, "", "trl sft --config c.yaml", "trl==1.16.0", "", "error", "error"),
    "parse_yaml_file": (
        RECIPE, YAML_FILE, "accelerate launch train.py c.yaml", "transformers==4.57.6", "error", "error", "error",
    ),
    "safe_load": (PLAIN, SAFE_LOAD, "python train.py c.yaml", "trl==1.16.0",
                  "warning", "warning", "warning"),
    "ruamel": (PLAIN, RUAMEL, "python train.py c.yaml", "trl==1.16.0", "", "", ""),
    "OmegaConf": (OMEGACONF, HYDRA, "python train.py c.yaml", "trl==1.16.0", "", "", "warning"),
    "two libraries": (PLAIN, TWO, "python train.py c.yaml", "trl==1.16.0",
                      "", "warning", "warning"),
    "LLaMA-Factory 0.9.2": (
        FACTORY, "", "llamafactory-cli train c.yaml", "llamafactory==0.9.2", "error", "error", "error",
    ),
    "LLaMA-Factory 0.9.5": (FACTORY, "", "llamafactory-cli train c.yaml", "llamafactory==0.9.5", "", "", "error"),
    "ms-swift": (SWIFT, "", "swift sft c.yaml", "ms-swift==4.6.0", "", "error", "error"),
    "no command": (PLAIN, "", "echo", "trl==1.16.0", "", "warning", "warning"),
    "no command, 0.8.6": (
        PLAIN, "", "echo", "trl==0.8.6", "error", "warning", "warning",
    ),
}  # fmt: skip
WORDS = ["no", "No", "NO", "off", "Off", "OFF"]
FINE_WORDS = ['"no"', "'no'", "!!str no", "steps", '"off"']


def told(folder: Path, way: str, **values: str) -> list[Finding]:
    recipe, script, command, pins, *_ = WAYS[way]
    files = {"c.yaml": recipe.format(**{**GOOD, **values}), "run.sh": f"{command}\n", "requirements.txt": f"{pins}\n"}
    if script:
        files["train.py"] = script
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    found = check([str(folder)], Settings(root=str(folder))).findings
    return [each for each in found if each.code == "TRL405"]


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize("way", WAYS)
def test_what_harms_is_for_the_loader_to_say(way: str, at: int, tmp_path: Path) -> None:
    name = ("float", "int", "word")[at]
    expected = WAYS[way][4 + at]
    found = told(tmp_path, way, **{name: BAD[name]})
    assert [each.severity for each in found] == ([expected] if expected else [])


@pytest.mark.parametrize("way", WAYS)
def test_a_plain_recipe_is_fine(way: str, tmp_path: Path) -> None:
    assert told(tmp_path, way) == []


@pytest.mark.parametrize("word", WORDS)
def test_words_that_are_false(word: str, tmp_path: Path) -> None:
    assert [each.severity for each in told(tmp_path, "TrlParser", word=word)] == ["error"]


@pytest.mark.parametrize("word", FINE_WORDS)
@pytest.mark.parametrize("way", ["TrlParser", "LLaMA-Factory 0.9.5", "ms-swift", "safe_load"])
def test_words_that_are_texts(word: str, way: str, tmp_path: Path) -> None:
    assert told(tmp_path, way, word=word) == []


@pytest.mark.parametrize("number", ["1.0e-6", "1.e-6", "0.000001", "1.5e+3", "!!float 1e-6", "5", ".5e-3"])
@pytest.mark.parametrize("way", ["TrlParser 0.8.6", "parse_yaml_file", "LLaMA-Factory 0.9.2", "safe_load"])
def test_numbers_that_are_numbers(number: str, way: str, tmp_path: Path) -> None:
    assert told(tmp_path, way, float=number) == []


@pytest.mark.parametrize(
    ("way", "more"),
    [
        ("TrlParser", " --eval_strategy no"),
        ("LLaMA-Factory 0.9.5", " eval_strategy=no"),
        ("ms-swift", " --eval_strategy no"),
    ],
)
def test_the_command_replaces_what_harms(way: str, more: str, tmp_path: Path) -> None:
    told(tmp_path, way, word="no")
    (tmp_path / "run.sh").write_text(f"{WAYS[way][2]}{more}\n", encoding="utf-8")
    found = check([str(tmp_path)], Settings(root=str(tmp_path))).findings
    assert [each for each in found if each.code == "TRL405"] == []


# A truth in a field for texts: the words of the release where it certainly gets there.
TRUTHS = ["lr_scheduler_type: on", "hub_strategy: no", "logging_strategy: false", "save_strategy: yes", "optim: on"]


@pytest.mark.parametrize("line", TRUTHS)
def test_the_release_says_what_it_refuses(line: str, tmp_path: Path) -> None:
    told(tmp_path, "TrlParser")
    (tmp_path / "c.yaml").write_text(f"model_name_or_path: org/model\noutput_dir: out\n{line}\n", encoding="utf-8")
    found = [each for each in check([str(tmp_path)], Settings(root=str(tmp_path))).findings if each.severity != "info"]
    assert [each.code for each in found] == ["TRL402"]
    assert " is True" in found[0].message or " is False" in found[0].message


@pytest.mark.parametrize("line", [*TRUTHS, "eval_strategy: false"])
@pytest.mark.parametrize("way", ["TrlParser 0.8.6", "two libraries"])
def test_nothing_sure_is_said_where_the_way_is_not_known(line: str, way: str, tmp_path: Path) -> None:
    told(tmp_path, way)
    (tmp_path / "c.yaml").write_text(f"model_name_or_path: org/model\noutput_dir: out\n{line}\n", encoding="utf-8")
    found = check([str(tmp_path)], Settings(root=str(tmp_path))).findings
    assert [each for each in found if each.code == "TRL402"] == []


@pytest.mark.parametrize("more", ["", " --optim adamw_torch"])
def test_a_script_that_loads_the_file_itself_hears_no_flag(more: str, tmp_path: Path) -> None:
    told(tmp_path, "safe_load")
    (tmp_path / "c.yaml").write_text("model_name_or_path: org/model\noutput_dir: out\noptim: on\n", encoding="utf-8")
    (tmp_path / "run.sh").write_text(f"{WAYS['safe_load'][2]}{more}\n", encoding="utf-8")
    found = check([str(tmp_path)], Settings(root=str(tmp_path))).findings
    assert [each.code for each in found if each.severity != "info"] == ["TRL402"]


def test_rows_name_what_there_is() -> None:
    kinds, frameworks = {kind.kind for kind in document_kinds()}, {family.framework for family in families()}
    for row in loaders():
        assert kinds.issuperset(row.kinds)
        assert frameworks.issuperset(row.frameworks)
