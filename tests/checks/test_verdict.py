"""Equal evidence gets an equal level, whichever rule judges it."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from documents import ROOT
from fixture_cases import run_json
from packaging.version import Version

from trl_lint.checks.verdict import Level, has_floor, judge_releases
from trl_lint.finding import SEVERITIES, Severity
from trl_lint.grading import Evidence, by_default, graded, milder
from trl_lint.knowledge.compat import repositories
from trl_lint.project.packages import Package
from trl_lint.project.stack import Choice

Wrong = Literal["every release there ever was", "every release", "some, the newest among them", "older ones only"]
Why = Literal["pinned", "assumed", "dead table", "dated", "tip", "told", "unknown"]

# How severe a fault that is an error at most is, by the releases in which it exists and by what the pins prove. A table
# that nothing installs from pins nothing (`dead table`); what an advisory says of the words in it is `told`. None: of
# what nobody knows nothing is said.
LEVELS: dict[tuple[Wrong, Why], Severity | None] = {
    ("every release there ever was", "pinned"): "error",
    ("every release there ever was", "assumed"): "error",
    ("every release there ever was", "dead table"): "error",
    ("every release there ever was", "dated"): "error",
    ("every release there ever was", "tip"): "warning",
    ("every release there ever was", "told"): "warning",
    ("every release", "pinned"): "error",
    ("every release", "assumed"): "warning",
    ("every release", "dead table"): "warning",
    ("every release", "dated"): "info",
    ("every release", "tip"): "warning",
    ("every release", "told"): "warning",
    ("every release", "unknown"): None,
    ("some, the newest among them", "pinned"): "warning",
    ("some, the newest among them", "assumed"): "info",
    ("some, the newest among them", "dead table"): "info",
    ("some, the newest among them", "dated"): "info",
    ("some, the newest among them", "tip"): "warning",
    ("some, the newest among them", "told"): "warning",
    ("older ones only", "pinned"): "info",
    ("older ones only", "assumed"): "info",
    ("older ones only", "dead table"): "info",
    ("older ones only", "dated"): "info",
    ("older ones only", "tip"): "info",
    ("older ones only", "told"): "info",
}
# What is a warning at most.
WARNINGS: dict[tuple[Wrong, Why], Severity] = {
    ("every release there ever was", "pinned"): "warning",
    ("every release there ever was", "assumed"): "warning",
    ("every release there ever was", "dead table"): "warning",
    ("every release there ever was", "dated"): "warning",
    ("every release there ever was", "tip"): "warning",
    ("every release there ever was", "told"): "warning",
    ("every release", "pinned"): "warning",
    ("every release", "tip"): "warning",
    ("every release", "told"): "warning",
}
LOWER: dict[Severity, Severity] = {"error": "warning", "warning": "info", "info": "info"}
JUDGED = [cell for cell, level in LEVELS.items() if level is not None]


def evidence_of(wrong: Wrong, why: Why) -> Evidence:
    return Evidence(
        everywhere=wrong in ("every release", "every release there ever was"),
        only_old=wrong == "older ones only",
        always=wrong == "every release there ever was",
        assumed=why in ("assumed", "dead table", "dated"),
        dated=why == "dated",
        tip=why == "tip",
        told=why == "told",
    )


@pytest.mark.parametrize(("wrong", "why"), JUDGED)
def test_levels(wrong: Wrong, why: Why):
    """Every kind of evidence, for what is an error, a warning and a hint at most, stops or goes on, is mild or not."""
    evidence = evidence_of(wrong, why)
    highest: dict[Severity, Severity] = {
        "error": LEVELS[wrong, why] or "info",
        "warning": WARNINGS.get((wrong, why), "info"),
        "info": "info",
    }
    for level, expected in highest.items():
        assert graded(level, evidence) == Level(level).graded(evidence) == expected
        assert graded(level, evidence._replace(mild=True)) == milder(expected) == LOWER[expected]
        assert Level(level, is_mild=True).graded(evidence) == LOWER[expected]
        assert Level(level, stops=False).graded(evidence) == highest[LOWER[level]]
        assert Level(level, is_mild=True, stops=False).graded(evidence) == LOWER[highest[LOWER[level]]]


def test_every_combination_is_no_more_severe_than_each_of_its_parts():
    """Evidence that is weak in two ways is at most as strong as in either."""
    names = ("everywhere", "assumed", "dated", "tip", "told", "only_old", "mild", "by_default")
    for values in product((False, True), repeat=len(names)):
        evidence = Evidence(**dict(zip(names, values, strict=True)))
        for level in SEVERITIES:
            found = SEVERITIES.index(graded(level, evidence))
            for name, value in zip(names, values, strict=True):
                stronger = evidence._replace(**{name: name == "everywhere"})
                assert found <= SEVERITIES.index(graded(level, stronger)), (level, evidence, name, value)


@pytest.mark.parametrize(
    ("specifier", "expected"),
    [("<=0.9.6", False), ("", False), ("!=0.9", False), (">=0.9", True), ("~=0.9", True), ("==0.9 | ==0.11", False)],
)
def test_pins_with_a_lower_bound(specifier: str, expected: bool):
    assert has_floor(specifier) is expected


@pytest.mark.parametrize(("complete", "expected"), [(True, "error"), (False, "warning")])
def test_releases_that_nobody_has_read_may_be_fine(complete: bool, expected: Severity):
    package = Package("trl", (), tuple(map(Version, ("0.1", "0.2", "0.3"))), "pin", ">=0.1")
    chosen = Choice(package, ("0.2", "0.3"), complete, assumed=False, between=False)
    verdict = judge_releases(chosen, lambda version: True, "error")
    assert verdict is not None and verdict.severity == expected


def test_a_development_version_between_releases_that_differ():
    package = Package("trl", (), None, "unknown", "==0.3.dev0", tuple(map(Version, ("0.2", "0.3"))))
    chosen = Choice(package, ("0.2", "0.3"), complete=True, assumed=False, between=True)
    assert judge_releases(chosen, lambda version: version == "0.3", "error") is None
    both = judge_releases(chosen, lambda version: True, "error")
    assert both is not None and both.severity == "error"


class Row(NamedTuple):
    """A fault of a rule whose highest level is an error.

    `every`, `some`: pins that allow only releases that have it, and others as well. `old`: files with a fault that the
    newest release does not have, and a pin that allows both kinds. `is_newest`: the newest of all releases has it.
    `is_code`: it is no key, flag or word of a config or a command, of which nothing is told then. `may_be_new`: it is
    a value, and the main branch of the repository may take more of them than the newest release; nothing is told then.
    """

    code: str
    package: str
    files: dict[str, str]
    every: str
    some: str
    old: tuple[dict[str, str], str] | None = None
    is_newest: bool = True
    is_code: bool = True
    may_be_new: bool = False


def script(text: str, command: str = "") -> dict[str, str]:
    return {"train.py": text, **({"run.sh": command + "\n"} if command else {})}


def trainer(name: str, arguments: str, more: str = "") -> str:
    rewards = "reward_funcs=len, " if name in ("GRPO", "RLOO") else ""
    return (
        f"from trl import {name}Config, {name}Trainer\n\n"
        f'args = {name}Config(output_dir="out", {arguments})\n'
        f'{name}Trainer(model="Qwen/Qwen3-0.6B", {rewards}args=args, train_dataset=data{more}).train()\n'
    )


def accelerate(extra: str, kind: str = "MULTI_GPU") -> str:
    return f"compute_environment: LOCAL_MACHINE\ndistributed_type: {kind}\nnum_machines: 1\nnum_processes: 8\n{extra}"


IMPORT_PPO = script("from trl import PPOTrainer\n")
TWO_GPUS = (
    "from transformers import AutoModelForCausalLM\nfrom trl import GRPOConfig, GRPOTrainer\n\n"
    'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-0.6B")\n'
    'GRPOTrainer(model, reward_funcs=len, args=GRPOConfig(output_dir="out"), train_dataset=data).train()\n'
)
REWARD = (
    "from trl import GRPOConfig, GRPOTrainer\n\n\ndef reward(prompts, completions{}):\n    return [0.0]\n\n\n"
    'GRPOTrainer(model="Qwen/Qwen3-0.6B", reward_funcs=reward, args=GRPOConfig(output_dir="out"), train_dataset=data)\n'
)
OVERRIDE = (
    "from transformers import Trainer\n\n\nclass Mine(Trainer):\n"
    "    def {}:\n        return super().compute_loss(model, inputs)\n"
)
FSDP2 = accelerate("fsdp_config:\n  fsdp_version: 2\n  fsdp_activation_checkpointing: true\n", "FSDP")
LAUNCH = "accelerate launch --config_file accelerate.yaml train.py"

ROWS = (
    Row(
        "TRL301",
        "trl",
        script('from trl import GRPOConfig\n\nGRPOConfig(output_dir="out", vllm_device="cuda:1")\n'),
        ">=0.18.0",
        ">=0.16.0",
        (script('from trl import GRPOConfig\n\nGRPOConfig(output_dir="out", vllm_mode="server")\n'), ">=0.16.0"),
    ),
    Row("TRL302", "trl", IMPORT_PPO, ">=0.29.0", ">=0.26.0", (script("from trl import RLOOConfig\n"), ">=0.8.0")),
    Row(
        "TRL305",
        "transformers",
        script(OVERRIDE.format("compute_loss(self, model, inputs, return_outputs=False)")),
        ">=4.49.0",
        ">=4.45.0",
        (
            script(
                OVERRIDE.replace("compute_loss(model", "_save_checkpoint(model").format(
                    "_save_checkpoint(self, model, trial)"
                )
            ),
            ">=4.45.0",
        ),
    ),
    Row(
        "TRL401",
        "accelerate",
        {"accelerate.yaml": accelerate("ipex_config:\n  ipex: true\n")},
        ">=1.13.0",
        ">=1.10.0",
        ({"accelerate.yaml": accelerate("parallelism_config:\n  parallelism_config_tp_size: 2\n", "FSDP")}, ">=1.9.0"),
        is_code=False,
    ),
    Row(
        "TRL401",
        "verl",
        {"run.sh": "python -m verl.trainer.main_ppo critic.model.fsdp_config.param_offload=False\n"},
        ">=0.9.0",
        ">=0.6.0",
        ({"run.sh": "python -m verl.trainer.main_ppo critic.fsdp.param_offload=False\n"}, ">=0.6.0"),
        is_code=False,
    ),
    Row(
        "TRL301",
        "trl",
        {"run.sh": "trl grpo --model_name_or_path m --dataset_name d --output_dir out --max_prompt_length 8\n"},
        ">=0.28.0",
        ">=0.26.0",
        (
            {"run.sh": "trl grpo --model_name_or_path m --dataset_name d --output_dir out --vllm_mode server\n"},
            ">=0.17.0",
        ),
        is_code=False,
    ),
    Row(
        "TRL402",
        "accelerate",
        {"accelerate.yaml": accelerate("", "MPS")},
        ">=0.20.0",
        ">=0.19.0",
        ({"accelerate.yaml": accelerate("", "MULTI_NEURON")}, ">=1.12.0"),
        is_code=False,
        may_be_new=True,
    ),
    Row(
        "TRL403",
        "trl",
        script(trainer("SFT", "padding_free=True")),
        ">=1.0.0",
        ">=0.28.0",
        (script(trainer("SFT", "loss_type='chunked_nll', use_liger_kernel=True")), ">=1.14.0,<1.16"),
    ),
    Row(
        "TRL404",
        "trl",
        {**script(trainer("SFT", "learning_rate=1e-5"), LAUNCH), "accelerate.yaml": FSDP2},
        ">=0.22.0",
        ">=0.20.0",
        (
            {
                **script(trainer("DPO", "precompute_ref_log_probs=True"), LAUNCH),
                "accelerate.yaml": accelerate("deepspeed_config:\n  zero_stage: 3\n", "DEEPSPEED"),
            },
            ">=0.28.0",
        ),
    ),
    Row("TRL405", "accelerate", {"accelerate.yaml": accelerate("mixed_precision: no\n")}, ">=0.34.0", ">=0.30.0"),
    Row("TRL501", "trl", script(TWO_GPUS, "CUDA_VISIBLE_DEVICES=0,1 python train.py"), ">=1.15.0", ">=1.14.0"),
    Row(
        "TRL506",
        "vllm",
        {"run.sh": "export VLLM_ATTENTION_BACKEND=XFORMERS\nvllm serve Qwen/Qwen3-0.6B\n"},
        ">=0.12.0,<0.15.0",
        ">=0.11.0,<0.15.0",
        is_newest=False,
    ),
    Row(
        "TRL701",
        "trl",
        script(
            trainer(
                "GRPO",
                'num_generations=8, per_device_train_batch_size=8, per_device_eval_batch_size=3, eval_strategy="steps"',
                ", eval_dataset=held_out",
            ),
            "accelerate launch --num_processes 1 train.py",
        ),
        ">=0.22.0",
        ">=0.20.0",
        (
            script(
                trainer("GRPO", "num_generations=8, per_device_train_batch_size=4, gradient_accumulation_steps=2"),
                "accelerate launch --num_processes 1 train.py",
            ),
            ">=0.16.0",
        ),
    ),
    Row("TRL702", "trl", script(REWARD.format("")), ">=0.18.0", ">=0.17.0"),
    Row(
        "TRL803",
        "trl",
        script(
            trainer("GRPO", "use_vllm=True, vllm_tensor_parallel_size=3"),
            "accelerate launch --num_processes 8 train.py",
        ),
        ">=1.0.0",
        ">=0.29.0",
    ),
)


CELLS = [
    pytest.param(row, wrong, why, id=f"{row.code} {row.package}, {wrong}, {why}")
    for row in ROWS
    for wrong, why in LEVELS
    if why == "pinned" or (wrong == "every release" and row.is_newest and why != "told")
    # Where nobody knows the release, TRL501 tells of what any release does.
    if not (row.code == "TRL501" and why == "unknown")
    if wrong != "every release there ever was" and (wrong != "older ones only" or row.old is not None)
]
DEAD_TABLE = 'from setuptools import setup\n\n_deps = ["{}"]\n\nsetup(name="mine", install_requires=["einops"])\n'


def write(files: dict[str, str], package: str, specifier: str, why: Why, folder: Path) -> None:
    """A project with files and what pins a package."""
    pins: dict[Why, dict[str, str]] = {
        "pinned": {"requirements.txt": f"{package}{specifier}\n"},
        "dead table": {"setup.py": DEAD_TABLE.format(package + specifier)},
        "dated": {"requirements.txt": "peft==0.10.0\n"},
        "tip": {"requirements.txt": f"{package} @ git+https://github.com/{repositories()[package][0]}\n"},
        "unknown": {"requirements.txt": f"{package} @ git+https://github.com/somebody/{package}-fork\n"},
    }
    for name, text in {**files, **pins.get(why, {})}.items():
        (folder / name).write_text(text, "utf-8")


def levels_of(code: str, capsys: pytest.CaptureFixture[str]) -> set[str]:
    _, report = run_json(["--select", code], capsys)
    return {finding["severity"] for finding in report["findings"]}


@pytest.mark.parametrize(("row", "wrong", "why"), CELLS)
def test_rules(
    row: Row,
    wrong: Wrong,
    why: Why,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    files, specifier = row.files, row.every if wrong == "every release" else row.some
    if wrong == "older ones only" and row.old is not None:
        files, specifier = row.old
    write(files, row.package, specifier, why, tmp_path)
    monkeypatch.chdir(tmp_path)
    is_told = not row.may_be_new if why == "tip" else row.is_code or wrong != "older ones only"
    assert levels_of(row.code, capsys) == ({LEVELS[wrong, why]} - {None} if is_told else set())


@pytest.mark.parametrize("why", ["pinned", "assumed", "dead table", "dated", "tip", "unknown"])
def test_what_no_release_takes(
    why: Why, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Which release reads the file does not matter; what none has taken may be new on the main branch."""
    sizes = '{"train_batch_size": 8, "train_micro_batch_size_per_gpu": 3, "zero_optimization": {"stage": 2}}\n'
    write({"ds_config.json": sizes}, "deepspeed", ">=0.15.0", why, tmp_path)
    monkeypatch.chdir(tmp_path)
    level = LEVELS.get(("every release there ever was", why))
    assert levels_of("TRL403", capsys) == ({level} if level is not None and why != "tip" else set())


@pytest.mark.parametrize("why", ["pinned", "assumed", "dated", "tip"])
@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if "run.sh" in row.files and row.is_newest and row.code != "TRL501"],
    ids=lambda row: f"{row.code} {row.package}",
)
def test_what_is_only_shown(
    row: Row, why: Why, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """A command in a README is one lower than in a script, whatever pins the package."""
    files = {name: text for name, text in row.files.items() if name != "run.sh"}
    files["README.md"] = f"```bash\n{row.files['run.sh']}```\n"
    write(files, row.package, row.every, why, tmp_path)
    monkeypatch.chdir(tmp_path)
    level = LEVELS["every release", why]
    assert level is not None and levels_of(row.code, capsys) == {LOWER[level]}


def test_a_level_is_lowered_in_one_place_alone():
    """A rule that lowers one by itself would grade equal evidence otherwise than the others."""
    step = re.compile(r"SEVERITIES\.index\([^)]*\)\s*[-+]")
    found = {path.name for path in (ROOT / "trl_lint").rglob("*.py") if step.search(path.read_text("utf-8"))}
    assert found == {"grading.py"}


def test_what_a_default_decides_is_a_warning_at_most():
    assert [by_default(level) for level in ("error", "warning", "info")] == ["warning", "warning", "info"]
