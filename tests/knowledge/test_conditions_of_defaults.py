"""What every release refuses of its own defaults: nothing, but for the classes that really do, which are named."""

from __future__ import annotations

import pytest
from packaging.version import Version

from benchmarks import commands_oracle, flags_oracle
from benchmarks.conditions_oracle import PROGRAMS
from benchmarks.environments import read_environments
from benchmarks.oracle_draws import NEEDED
from benchmarks.oracle_worlds import refusing
from trl_lint.checks.configs import _openrlhf_refusals
from trl_lint.knowledge.condition_language import truth_of
from trl_lint.knowledge.conditions import recorded_classes, recorded_releases
from trl_lint.run.readers import openrlhf, verl

LIBRARIES = ("trl", "transformers", "peft", "accelerate", "vllm", "deepspeed", "verl")
NEWEST = {each: recorded_releases(each)[-1] for each in LIBRARIES} | {"torch": "2.13.0"}
# Without a GPU: `bf16` is on by default since TRL 0.19, and refused here without it.
ON_THIS_MACHINE: dict[str, object] = {"use_cpu": True}
# These cannot be made without arguments: what they are for must be said, or is not installed where the oracle asks.
REFUSE_THEMSELVES = {
    "trl": {"ServerDistillationConfig", "AsyncDistillationConfig"},
    "peft": {"AdaLoraConfig", "CPTConfig"},
    "accelerate": {
        "FullyShardedDataParallelPlugin", "BnbQuantizationConfig", "TorchTensorParallelPlugin", "FP8RecipeKwargs",
        "TERecipeKwargs", "AORecipeKwargs",
    },
    "vllm": {"StructuredOutputsParams"},
    "transformers": {"AwqConfig"},  # before 5.0: on a machine without a GPU
}  # fmt: skip


def fires(asked: str, versions: dict[str, str], given: dict[str, object]) -> list[str]:
    """What a class or a program refuses of these settings and its defaults."""
    found = refusing(asked, versions, given)
    return [condition.sentence for condition, world in found if truth_of(condition.condition, world) is True]


def beside(package: str, version: str) -> dict[str, str]:
    """The releases beside one: of TRL those that were newest on its day or a little before, else the newest of all."""
    days = [each.versions for each in read_environments()] if package == "trl" else []
    older = [each for each in days if Version(each["trl"]) <= Version(version)]
    known = older[-1] if older and older[-1]["trl"] != days[-1]["trl"] else days[0] if days and not older else {}
    return {**NEWEST, **known, package: version}


def some(package: str) -> list[str]:
    """The oldest and the newest release, and three between."""
    known = recorded_releases(package)
    return [known[(len(known) - 1) * part // 4] for part in range(5)]


def check_defaults(package: str, version: str) -> None:
    versions = beside(package, version)
    for name in recorded_classes(package):
        if "." not in name and name not in REFUSE_THEMSELVES.get(package, ()):
            found = fires(f"{package}:{name}", versions, ON_THIS_MACHINE)
            # The class is of no use without a package that the oracle's machine has not.
            assert [each for each in found if not each.startswith("ImportError")] == [], (version, name)


@pytest.mark.parametrize("package", LIBRARIES)
def test_defaults_fire_nothing(package: str) -> None:
    for version in some(package):
        check_defaults(package, version)


@pytest.mark.slow
@pytest.mark.parametrize("package", LIBRARIES)
def test_defaults_of_every_release_fire_nothing(package: str) -> None:
    for version in recorded_releases(package):
        check_defaults(package, version)


@pytest.mark.parametrize(
    ("package", "name"), [(each, name) for each in REFUSE_THEMSELVES for name in sorted(REFUSE_THEMSELVES[each])]
)
def test_who_is_named_does_refuse_itself(package: str, name: str) -> None:
    assert any(fires(f"{package}:{name}", beside(package, version), {}) for version in recorded_releases(package))


@pytest.mark.parametrize("package", ["verl", "openrlhf"])
def test_defaults_of_programs_fire_nothing(package: str) -> None:
    """With what they refuse to begin without."""
    asked = 0
    for version in recorded_releases(package):
        for program in PROGRAMS[package]:
            known = settings(package, program, version)
            given = {key: value for key, value in NEEDED[package].items() if key in known}
            asked += bool(known)
            assert not known or fires(program, {**NEWEST, package: version}, given) == [], (version, program)
    assert asked >= len(recorded_releases(package))


def settings(package: str, program: str, version: str) -> set[str]:
    """The dotted names of the settings of a program, none where a release has no such program."""
    if package == "verl":
        return set(keys_of(verl.tree_in_release("ppo_trainer", version) or {}))
    flags = openrlhf.flags_in_release(program.rstrip(":"), version) or {}
    return {_openrlhf_refusals.setting_name(name, flags) for name in flags}


def keys_of(tree: dict, above: str = "") -> list[str]:
    inner = {key: keys_of(value, f"{above}{key}.") for key, value in tree.items() if isinstance(value, dict)}
    return [*(f"{above}{key}" for key in tree), *(name for names in inner.values() for name in names)]


@pytest.mark.parametrize(
    ("package", "config"),
    [
        ("axolotl", {"base_model": "a/b", "datasets": [{"path": "a/b", "type": "alpaca"}], "learning_rate": 1e-4,
                     "micro_batch_size": 1, "gradient_accumulation_steps": 1}),
        ("llamafactory", {"model_name_or_path": "a/b", "stage": "sft", "do_train": True, "dataset": "a",
                          "template": "b", "output_dir": "o"}),
    ],
)  # fmt: skip
def test_the_shortest_config_fires_nothing(package: str, config: dict[str, object]) -> None:
    assert [version for version in recorded_releases(package) if commands_oracle.stated(package, config, version)] == []


@pytest.mark.parametrize("command", [["sft"], ["pt"], ["rlhf", "--rlhf_type", "dpo"]], ids=lambda words: words[0])
def test_the_shortest_command_fires_nothing(command: list[str]) -> None:
    for version in some("ms-swift"):
        model = "--model_id_or_path" if version < "3" else "--model"
        assert flags_oracle.stated([*command, model, "a/b", "--dataset", "c/d"], version) == [], version
