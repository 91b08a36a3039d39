"""The same setting of every framework: where the families say it stands, what a run has of it, and what rules say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from trl_lint.coverage import CUT, HIDDEN
from trl_lint.engine import check
from trl_lint.knowledge.api import config_keys, facts
from trl_lint.knowledge.command_keys import defaults_of
from trl_lint.knowledge.families import Settings as FamilySettings
from trl_lint.knowledge.families import families, family_of
from trl_lint.knowledge.histories import releases
from trl_lint.missing import ABSENT, Missing
from trl_lint.project import Project
from trl_lint.run.config import Config
from trl_lint.run.effective import Setting, Unknown
from trl_lint.run.overview import values_of
from trl_lint.run.runs import all_runs
from trl_lint.settings import Settings

AXOLOTL = """\
base_model: Qwen/Qwen2.5-7B
micro_batch_size: 1
gradient_accumulation_steps: 4
sequence_len: 2048
num_epochs: 1
datasets:
  - path: a/b
    type: chat_template
output_dir: out
rl: {method}
adapter: lora
"""
LLAMAFACTORY = """\
model_name_or_path: Qwen/Qwen2.5-7B
stage: {method}
do_train: true
finetuning_type: lora
template: qwen
cutoff_len: 2048
dataset: dpo_en_demo
output_dir: out
"""
VERL = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_files=a.parquet data.val_files=b.parquet "
    "data.train_batch_size=256 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.rollout.name=vllm "
    "actor_rollout_ref.rollout.n=8 actor_rollout_ref.actor.ppo_mini_batch_size=64 "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 "
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=4 "
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=4 trainer.n_gpus_per_node=8 trainer.nnodes=1"
)
OPENRLHF = (
    "python3 -m openrlhf.cli.train_ppo_ray --pretrain Qwen/Qwen2.5-7B --prompt_data a/b --bf16 "
    "--actor_num_gpus_per_node 2 --ref_num_gpus_per_node 2 --reward_num_gpus_per_node 1 --critic_num_gpus_per_node 1 "
    "--vllm_num_engines 1 --reward_pretrain c/d"
)
TRL = "trl grpo --model_name_or_path Qwen/Qwen2.5-7B --dataset_name a/b --output_dir out --reward_funcs accuracy_reward"
SWIFT = "swift rlhf --rlhf_type {method} --model Qwen/Qwen2.5-7B --dataset a/b"
# By framework: the command, its config, the pin, a method of policy optimisation or preferences, and another one.
PROJECTS = {
    "trl": (TRL, "", "trl==1.16.0", "", ""),
    "swift": (SWIFT, "", "ms-swift==3.9.0", "dpo", "gkd"),
    "llamafactory": ("llamafactory-cli train cfg.yaml", LLAMAFACTORY, "llamafactory==0.9.3", "dpo", "sft"),
    "axolotl": ("axolotl train cfg.yaml", AXOLOTL, "axolotl==0.10.0", "dpo", ""),
    "verl": (VERL, "", "verl==0.6.1", "", ""),
    "openrlhf": (OPENRLHF, "", "openrlhf==0.8.5", "", ""),
}
# How a command says it, and with what name.
SAID = {
    "trl": " --{name} {value}", "swift": " --{name} {value}", "openrlhf": " --{name} {value}",
    "axolotl": " --{flag} {value}", "llamafactory": " {name}={value}", "verl": " {name}={value}",
}  # fmt: skip
CLIPPING = {
    name: family.settings.clipping.names for name in PROJECTS if (family := family_of(name)) and family.settings
}


def said(framework: str, name: str, value: str) -> str:
    """A setting in the words of a command; the options of axolotl have dashes."""
    return SAID[framework].format(name=name, flag=name.replace("_", "-"), value=value)


def project_of(folder: Path, framework: str, method: str = "", more: str = "", lines: str = "") -> Path:
    command, config, pin, usual, _ = PROJECTS[framework]
    (folder / ".git").mkdir(exist_ok=True)
    for name in ("a.parquet", "b.parquet"):
        (folder / name).write_text("x")
    (folder / "run.sh").write_text(command.format(method=method or usual) + more + "\n")
    (folder / "requirements.txt").write_text(pin + "\n")
    if config:
        (folder / "cfg.yaml").write_text(config.format(method=method or usual) + lines)
    return folder


def config_in(folder: Path) -> Config:
    project = Project(str(folder), check([], Settings()).files, Settings())
    run = next(run for run in all_runs(project) if run.launch.source.path.endswith("run.sh"))
    return run.config


def told(folder: Path, code: str) -> list[tuple[str, str, str]]:
    found = check([str(folder)], Settings()).findings
    return [(Path(one.location.path).name, one.severity, one.message) for one in found if one.code == code]


# -- the data ---------------------------------------------------------------------------------------------------------


def test_every_framework_that_trains_answers_for_every_setting():
    """The reader demands each field; a family without the table has no run of its own."""
    trains = {family.framework for family in families() if family.framework} - {"vllm"}
    assert {family.framework for family in families() if family.settings is not None} == trains
    assert not FamilySettings._field_defaults


def test_a_number_says_what_it_counts():
    counted = ("micro_batch", "whole_batch", "round_batch", "group", "tensor_parallel", "engine_length",
               "prompt_length", "completion_length", "processes", "nodes")  # fmt: skip
    for family in families():
        for what in counted if family.settings is not None else ():
            held = getattr(family.settings, what)
            assert bool(held.unit) is bool(held.names), (family.name, what)


def names_of(framework: str) -> frozenset[str]:
    """The options that some release of a framework has, by the histories."""
    found: set[str] = set()
    if framework == "trl":
        for dotted, package in (
            ("GRPOConfig", "trl"),
            ("SFTConfig", "trl"),
            ("ModelConfig", "trl"),
            ("TrainingArguments", "transformers"),
        ):
            for version in releases(package):
                found.update(_parameters(package, dotted, version))
    elif framework == "openrlhf":
        for version in releases("openrlhf"):
            for program in ("openrlhf.cli.train_ppo_ray", "openrlhf.cli.train_sft"):
                known = facts("openrlhf", f"flags {program}", version)
                found.update(flag[2:] for flag in (known if isinstance(known, dict) else {}))
    elif framework == "verl":
        for version in releases("verl"):
            keys = config_keys("verl", "ppo_trainer", version)
            found.update(keys if not isinstance(keys, Missing) else ())
    else:
        family = family_of(framework)
        assert family is not None and family.arguments is not None
        package = family.arguments.package
        for version in releases(package):
            for command in ("train", "sft", "rlhf"):
                found.update(defaults_of(package, family.arguments.keys_for(command), version))
    return frozenset(found)


def _parameters(package: str, name: str, version: str) -> Iterator[str]:
    from trl_lint.knowledge.api import resolve, signature

    target = resolve(f"{package}.{name}", {package: version})
    known = signature(target, {package: version}) if isinstance(target, str) else None
    yield from known.parameters if known is not None else ()


@pytest.mark.parametrize("framework", sorted({family.framework for family in families() if family.settings}))
def test_every_name_is_an_option_of_some_release(framework: str):
    family = family_of(framework)
    assert family is not None and family.settings is not None
    known = names_of(framework)
    named = {name for held in family.settings for name in (*held.names, *held.unless) if not held.releases}
    assert named <= known, named - known


# -- what a run has ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("framework", PROJECTS)
def test_a_run_has_its_model_whatever_the_framework_calls_it(tmp_path: Path, framework: str):
    found = config_in(project_of(tmp_path, framework)).setting("model")
    assert isinstance(found, Setting)
    assert found.value == "Qwen/Qwen2.5-7B"
    assert found.location is not None


@pytest.mark.parametrize("framework", PROJECTS)
def test_what_nothing_sets_is_the_default_of_the_release(tmp_path: Path, framework: str):
    config = config_in(project_of(tmp_path, framework))
    assert config.given_setting("clipping") is ABSENT
    found = config.setting("clipping")
    # axolotl's own default is none, and TrainingArguments' counts then.
    assert isinstance(found, Setting)
    assert found.value in ((None,) if framework == "axolotl" else (1.0,))


@pytest.mark.parametrize("framework", PROJECTS)
def test_what_the_command_says_goes_over_its_config(tmp_path: Path, framework: str):
    name = CLIPPING[framework][-1]
    lines = f"{name}: 0.5\n" if PROJECTS[framework][1] else ""
    more = said(framework, name, "0.25")
    found = config_in(project_of(tmp_path, framework, more=more, lines=lines)).setting("clipping")
    assert isinstance(found, Setting)
    assert (found.number, found.origin) == (0.25, "flag")
    if lines:
        found = config_in(project_of(tmp_path, framework, lines=lines)).setting("clipping")
        assert isinstance(found, Setting)
        assert (found.number, found.origin) == (0.5, "recipe")


@pytest.mark.parametrize("framework", PROJECTS)
def test_a_word_that_nobody_knows_hides_what_lies_below_it(tmp_path: Path, framework: str):
    name = CLIPPING[framework][-1]
    lines = f"{name}: 0.5\n" if PROJECTS[framework][1] else ""
    found = config_in(project_of(tmp_path, framework, more=" $MORE", lines=lines)).setting("clipping")
    assert isinstance(found, Unknown)
    assert found.reason in (HIDDEN, CUT)
    assert found.place is not None


@pytest.mark.parametrize("framework", ["llamafactory", "verl"])
def test_there_is_none_where_the_family_says_so(tmp_path: Path, framework: str):
    config = config_in(project_of(tmp_path, framework))
    assert config.setting("group" if framework == "llamafactory" else "fp16") is ABSENT


# -- what rules say ---------------------------------------------------------------------------------------------------

OFF = ["0", "0.0", "-1"]
ON = ["1", "0.1", "1.0", "2"]


@pytest.mark.parametrize("value", OFF)
@pytest.mark.parametrize("framework", PROJECTS)
def test_clipping_that_a_command_switches_off_is_told(tmp_path: Path, framework: str, value: str):
    name = CLIPPING[framework][-1]
    found = told(project_of(tmp_path, framework, more=said(framework, name, value)), "TRL601")
    if framework == "verl":  # a norm of 0 is no switch there
        assert [(path, "nothing is learned" in message) for path, _, message in found] == (
            [("run.sh", True)] if float(value) == 0 else []
        )
    else:
        assert [(path, level) for path, level, _ in found] == [("run.sh", "warning")]
        assert name in found[0][2].replace("-", "_")


@pytest.mark.parametrize("value", ON)
@pytest.mark.parametrize("framework", PROJECTS)
def test_clipping_that_is_on_is_fine(tmp_path: Path, framework: str, value: str):
    more = said(framework, CLIPPING[framework][-1], value)
    assert told(project_of(tmp_path, framework, more=more), "TRL601") == []


@pytest.mark.parametrize("framework", [name for name, project in PROJECTS.items() if project[4]])
def test_training_of_another_kind_may_do_without_clipping(tmp_path: Path, framework: str):
    more = said(framework, CLIPPING[framework][-1], "0")
    assert told(project_of(tmp_path, framework, method=PROJECTS[framework][4], more=more), "TRL601") == []


@pytest.mark.parametrize("framework", ["axolotl", "llamafactory"])
def test_a_command_that_switches_clipping_on_again_is_fine(tmp_path: Path, framework: str):
    name = CLIPPING[framework][-1]
    more = said(framework, name, "1.0")
    assert told(project_of(tmp_path, framework, more=more, lines=f"{name}: 0\n"), "TRL601") == []


@pytest.mark.parametrize(
    ("framework", "more", "level"),
    [
        ("trl", " --fp16 true --bf16 true", "error"),
        ("swift", " --fp16 true --bf16 true", "error"),
        ("llamafactory", " fp16=true bf16=true", "error"),
        ("axolotl", " --fp16 --bf16 true", "info"),  # bf16 counts there
        ("trl", " --fp16 false --bf16 true", None),
        ("swift", " --bf16 true", None),
        ("llamafactory", " bf16=true", None),
    ],
)
def test_both_precisions_of_a_command_are_told_where_they_are_refused(tmp_path, framework, more, level):
    found = told(project_of(tmp_path, framework, more=more), "TRL602")
    assert [one[1] for one in found] == ([level] if level else [])


@pytest.mark.parametrize(
    ("visible", "processes", "is_told"), [("0,1", 4, True), ("0,1,2,3", 4, False), ("0,1", 2, False), ("0", 2, True)]
)
@pytest.mark.parametrize("framework", ["trl"])
def test_a_command_that_starts_accelerate_itself_counts_its_processes(tmp_path, framework, visible, processes, is_told):
    folder = project_of(tmp_path, framework, more=f" --num_processes {processes}")
    text = (folder / "run.sh").read_text()
    (folder / "run.sh").write_text(f"CUDA_VISIBLE_DEVICES={visible} {text}")
    assert [level for _, level, _ in told(folder, "TRL503")] == (["error"] if is_told else [])


# -- what is shown ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        (" --dataset a/b c/d", "a/b c/d"),
        (" --dataset a/b c/d --model x/y", "a/b c/d"),
        (" --dataset a/b", "a/b"),
        (" --dataset=a/b", "a/b"),
        (" --dataset a/b $MORE_DATA", None),
    ],
)
def test_a_flag_with_a_list_is_shown_with_all_its_words(tmp_path: Path, more: str, shown: str | None):
    (tmp_path / ".git").mkdir()
    (tmp_path / "run.sh").write_text(f"swift sft --model x/y{more}\n")
    (tmp_path / "requirements.txt").write_text("ms-swift==3.9.0\n")
    project = Project(str(tmp_path), check([], Settings()).files, Settings())
    values = {line.name: line.value for run in all_runs(project) for line in values_of(run)}
    assert values["dataset"] == shown


def test_words_that_nobody_can_read_are_shown_with_a_reason(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "run.sh").write_text("llamafactory-cli train $CONFIG output_dir=$OUT\n")
    project = Project(str(tmp_path), check([], Settings()).files, Settings())
    assert all(line.value is not None or line.reason for run in all_runs(project) for line in values_of(run))


@pytest.mark.parametrize("framework", [name for name, (_, config, *_) in PROJECTS.items() if not config])
def test_what_a_command_sets_is_shown_beside_its_default(tmp_path: Path, framework: str):
    name = CLIPPING[framework][-1]
    folder = project_of(tmp_path, framework, more=said(framework, name, "0.25"))
    project = Project(str(folder), check([], Settings()).files, Settings())
    lines = {line.name: (line.value, line.default) for run in all_runs(project) for line in values_of(run)}
    assert lines[name] == ("0.25", "1")


@pytest.mark.parametrize(("value", "shown"), [("no", "no"), ("steps", "steps"), ("true", "True")])
def test_a_word_is_shown_as_it_is(tmp_path: Path, value: str, shown: str):
    folder = project_of(tmp_path, "trl", more=f" --run_name {value}")
    project = Project(str(folder), check([], Settings()).files, Settings())
    lines = {line.name: line.value for run in all_runs(project) for line in values_of(run)}
    assert lines["run_name"] == shown
