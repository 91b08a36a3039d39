"""Rows that are written by hand, against what the releases state in their own code: none says what a release says, and
none says otherwise.
"""

from __future__ import annotations

import pytest

from trl_lint.knowledge.api import resolve, signature
from trl_lint.knowledge.condition_language import UNKNOWN, truth_of
from trl_lint.knowledge.conditions import conditions_of, is_recorded
from trl_lint.knowledge.conditions_join import Statement, statements, trainer_statements
from trl_lint.knowledge.contradictions import Contradiction, every_contradiction
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.told_elsewhere import plain
from trl_lint.knowledge.trainer_arguments import Read, fields_read
from trl_lint.knowledge.values import ValueRule, value_rules
from trl_lint.missing import Missing
from trl_lint.run.effective import of_default

CONFIGS = ("GRPOConfig", "RLOOConfig", "DPOConfig", "SFTConfig", "KTOConfig", "RewardConfig")
VALUES = [(f"trl.{name}", rule) for name in CONFIGS for rule in value_rules(f"trl.{name}")]
# TRL403 tells of the reference model of GRPO without a release that stops: 0.16 to 0.27 go on.
ROWS = [row for row in every_contradiction() if row.raises]


def concerned(row: Contradiction) -> list[tuple[str, str]]:
    """The classes that would state what a row says: package and name."""
    if row.package == "transformers":
        return [("transformers", "TrainingArguments"), ("transformers", "Trainer")]
    names = [each.rpartition(".")[2] for each in row.classes]
    return [("trl", each) for name in names for each in (name, name.removesuffix("Config") + "Trainer")]


# What a condition asks before that, and a row leaves out: whichever way it is answered, the run stops.
ASKED_BEFORE = ("first_row", "arg.processing_class")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.package}{row.releases} {row.raises[:40]}")
def test_no_row_says_what_a_release_states(row: Contradiction) -> None:
    stated = [
        (version, name)
        for version in releases(row.package)
        if holds(row.releases, version) and is_recorded(row.package, version)
        for package, name in concerned(row)
        for each in conditions_of(package, name, version)
        if each.kind.endswith("refuse")
        and plain(each.sentence).partition(": ")[2].startswith(plain(row.raises))
        and not any(asked in each.condition for asked in ASKED_BEFORE)
    ]
    assert stated == []


class Chosen:
    """A world in which one field has a value, another is switched on, and the others are what they are by default."""

    def __init__(self, config: str, versions: dict[str, str], values: dict[str, object]) -> None:
        found = resolve(config, versions)
        self.parameters = signature(found, versions).parameters if isinstance(found, str) else {}
        self.values = values

    def field(self, name: str) -> object:
        if name in self.values:
            return self.values[name]
        parameter = self.parameters.get(name)
        said = of_default(parameter.default) if parameter is not None else None
        return UNKNOWN if said is None or isinstance(said, Missing) or isinstance(said.value, Missing) else said.value

    def base(self, name: str) -> object:
        return UNKNOWN

    def arg(self, name: str) -> object:
        return UNKNOWN

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        return UNKNOWN


SILENT = [row for row in every_contradiction() if not row.raises]


def meeting(row: Contradiction) -> dict[str, object]:
    """Values with which a row holds, of the fields of the class."""
    values: dict[str, object] = {"output_dir": "out", "use_cpu": True, "bf16": False}
    for each in row.when:
        if ":" not in each.field and each.field != "scheduler" and each.operator in ("is", "above"):
            values[each.field] = each.operand if each.operator == "is" else 0.5 if "ratio" in each.field else 3
    return values


@pytest.mark.parametrize("row", SILENT, ids=lambda row: row.message[:50])
def test_what_is_called_silent_is_refused_by_no_release(row: Contradiction) -> None:
    """Nor said in a warning: the row would say otherwise than the release."""
    config = "trl.GRPOConfig" if row.package == "trl" else "transformers.TrainingArguments"
    beside = {"trl": releases("trl")[-1], "transformers": "4.57.6"}
    compared = 0
    for version in (one for one in releases(row.package) if holds(row.releases, one)):
        versions = {**beside, row.package: version}
        world, name = Chosen(config, versions, meeting(row)), config.rpartition(".")[2]
        true = [
            each.condition.sentence
            for each in statements(row.package, name, versions, world)
            if each.package == row.package and truth_of(each.condition.condition, each.world) is True
        ]
        about = [one for one in true if any(each.field in one for each in row.when) and "is deprecated" not in one]
        assert about == [], version
        compared += is_recorded(row.package, version)
    assert compared > 5


def refused(config: str, version: str, rule: ValueRule, value: str) -> list[Statement]:
    """What a release and its trainer refuse of one value."""
    versions = {"trl": version, "transformers": "4.57.6"}
    values: dict[str, object] = {rule.field: value}
    if rule.when:
        values[rule.when] = True
    world, name = Chosen(config, versions, values), config.rpartition(".")[2]
    said = [
        *statements("trl", name, versions, world),
        *trainer_statements("trl", name.removesuffix("Config") + "Trainer", config, versions, world),
    ]
    found = [each for each in said if each.condition.kind.endswith("refuse")]
    return [each for each in found if truth_of(each.condition.condition, each.world) is True]


@pytest.mark.parametrize(
    ("config", "rule"),
    VALUES,
    ids=lambda each: f"{each.field}-{min(each.releases)}" if isinstance(each, ValueRule) else each,
)
def test_values_of_rows_are_those_of_the_releases(config: str, rule: ValueRule) -> None:
    for version in sorted(rule.releases):
        for value in rule.allowed:
            # `exo_pair` needs a label smoothing, and `vespo` a mode of vLLM: other fields than this one.
            about = [s.condition.sentence for s in refused(config, version, rule, value) if is_of_value(s, rule.field)]
            assert about == [], (version, value)
        assert refused(config, version, rule, "no such value") == [], f"{version} states it itself"


def is_of_value(statement: Statement, field: str) -> bool:
    """Whether the field alone, with the switch that makes it count, is what is refused."""
    from trl_lint.knowledge.condition_names import deciding

    names = statement.world.rests_on(deciding(statement.condition.condition, statement.world))
    return names <= {field, "use_vllm", "packing"}


def test_there_are_rows_to_compare() -> None:
    assert len(ROWS) > 5
    assert len(VALUES) > 10


@pytest.mark.parametrize("row", fields_read(), ids=lambda row: f"{row.trainer}{row.releases}")
def test_what_a_trainer_reads_is_a_field_of_its_own_config(row: Read) -> None:
    """In each release of the row, and in none of the training arguments of transformers."""
    newest = {"transformers": releases("transformers")[-1]}
    for version in (one for one in releases("trl") if holds(row.releases, one)):
        versions = {**newest, "trl": version}
        name = row.trainer.removesuffix("Trainer")
        homes = ("trl", f"trl.experimental.{name.lower()}")
        found = [one for home in homes if isinstance(one := resolve(f"{home}.{name}Config", versions), str)]
        assert found and row.field in signature(found[0], versions).parameters, version
    for version in releases("transformers"):
        theirs = resolve("transformers.TrainingArguments", {"transformers": version})
        assert isinstance(theirs, str) and row.field not in signature(theirs, {"transformers": version}).parameters
