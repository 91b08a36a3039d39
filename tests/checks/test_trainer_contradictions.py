"""Training arguments that do not go together: the table against the libraries' answers, and against the histories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tomli
from fixture_cases import run_json

from trl_lint.checks.configs._conditions import all_hold, is_met
from trl_lint.knowledge.api import messages
from trl_lint.knowledge.contradictions import Condition, Contradiction, every_contradiction
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.ranges import holds
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.run.effective import Setting

ORACLE = Path(__file__).parent.parent / "oracle"
CONFIGS = tomli.loads((ORACLE / "training_arguments.toml").read_text("utf-8"))["config"]
ANSWERS = json.loads((ORACLE / "training_arguments.json").read_text("utf-8"))
ASKED = [
    pytest.param(config, era, id=f"{config['name']} ({era})")
    for era in ANSWERS
    for config in CONFIGS
    if ANSWERS[era][config["name"]]["verdict"] != "unknown"
]
ROWS = every_contradiction()
IDS = [f"{row.package}{row.releases} {'+'.join(each.field for each in row.when)}" for row in ROWS]


def script(config: dict[str, Any]) -> str:
    """A script that builds the config and the trainer as the oracle does."""
    library, _, arguments = config["config"].partition(".")
    other, _, trainer = config["trainer"].partition(".")
    values = {name: None if value == "None" else value for name, value in config["values"].items()}
    data = ", eval_dataset=data" if config.get("eval_dataset", True) else ""
    reward = ", reward_funcs=reward" if trainer in ("GRPOTrainer", "RLOOTrainer") else ""
    given = "".join(f", {name}={value!r}" for name, value in values.items())
    return (
        f"from {library} import {arguments}\nfrom {other} import {trainer}\n\n"
        f"args = {arguments}(output_dir='out'{given})\n"
        f"trainer = {trainer}(model='m', args=args, train_dataset=data{data}{reward})\ntrainer.train()\n"
    )


def accelerate_config(config: dict[str, Any]) -> str:
    return (
        f"compute_environment: LOCAL_MACHINE\ndistributed_type: {config['backend']}\n"
        "num_machines: 1\nnum_processes: 8\n"
        f"deepspeed_config:\n  zero_stage: {config['zero_stage']}\n"
    )


@pytest.mark.parametrize(("config", "era"), ASKED)
def test_agrees_with_the_libraries(
    config: dict[str, Any],
    era: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    (tmp_path / "train.py").write_text(script(config))
    (tmp_path / "requirements.txt").write_text(era.replace(" ", "\n"))
    option = ""
    if "backend" in config:
        (tmp_path / "accelerate.yaml").write_text(accelerate_config(config))
        option = "--config_file accelerate.yaml "
    (tmp_path / "run.sh").write_text(f"accelerate launch --num_processes 8 {option}train.py\n")
    monkeypatch.chdir(tmp_path)
    _, report = run_json(["--select", "TRL402,TRL403,TRL404,TRL701"], capsys)
    levels = sorted(finding["severity"] for finding in report["findings"])
    said = [finding["message"] for finding in report["findings"]]
    answer = ANSWERS[era][config["name"]]
    if answer["verdict"] == "accepts":
        assert "error" not in levels, said
    elif config["name"] not in NOT_CLAIMED:
        # Two values may each be refused beside a third one; the library says the first.
        assert set(levels) == ({"error"} if answer["verdict"] == "refuses" else {"warning"}), (said, answer["said"])


# A scheduler that the release does not have: another rule's matter.
NOT_CLAIMED = {"greedy without evaluation"}


def test_many_arguments_of_either_verdict():
    verdicts = [answer["verdict"] for era in ANSWERS.values() for answer in era.values()]
    assert len(CONFIGS) >= 80
    assert verdicts.count("refuses") >= 40 and verdicts.count("accepts") >= 40 and verdicts.count("ignores") >= 4


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_the_releases_say_so(row: Contradiction):
    """What a row says is raised stands in every release that it names, as `rules/api` recorded it."""
    concerned = [version for version in releases(row.package) if holds(row.releases, version)]
    assert concerned
    if not row.raises:
        return
    known = releases(row.package)
    having = {
        version
        for record in messages(row.package)
        if record.text.removesuffix("…").strip().startswith(row.raises.strip())
        or row.raises.startswith(record.text.removesuffix("…").strip())
        for first, last in record.releases
        for version in known[known.index(first) : known.index(last) + 1]
    }
    assert set(concerned) <= having, sorted(set(concerned) - having)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_unknown_values_are_silent(row: Contradiction):
    assert all_hold(row.when, lambda name: UNKNOWN) is None


def _read(values: dict[str, Any]) -> Any:
    def read(name: str) -> Any:
        if name not in values:
            return ABSENT
        return Setting(UNKNOWN if values[name] is ... else values[name], "recipe", None)

    return read


@pytest.mark.parametrize(
    ("operator", "operand", "value", "verdict"),
    [
        ("is", True, "yes", True),
        ("is", True, False, False),
        ("is", True, None, False),
        ("is", True, "maybe", None),
        ("is", 0, "0.0", True),
        ("is", 0, 1e-3, False),
        ("is", "steps", "steps", True),
        ("is", "no", False, None),  # what YAML makes of `no` is refused elsewhere
        ("is", ("steps", "epoch"), "epoch", True),
        ("is_not", "best", "steps", True),
        ("is_not", "best", None, None),
        ("is_not", "best", ..., None),
        ("null", True, None, True),
        ("null", True, "None", True),
        ("null", False, 0, True),
        ("above", 0, 0.1, True),
        ("above", 0, 0, False),
        ("above", 0, None, False),
        ("above", 0, "half", None),
        ("below", 1, 0.2, True),
        ("below", 1, 1.0, False),
        ("same_as", "y", "a", True),
        ("differs_from", "y", "b", True),
        ("differs_from", "y", "a", False),
        ("differs_from", "n", "a", None),
        ("not_below", "n", 4, True),
        ("not_below", "n", 3.5, False),
        ("no_multiple_of", "n", 6, True),
        ("no_multiple_of", "n", 8, False),
        ("no_multiple_of", "n", 0.5, None),
        ("written", True, 1, True),
        ("written", False, 1, False),
    ],
)
def test_conditions(operator: str, operand: Any, value: Any, verdict: bool | None):
    assert is_met(Condition("x", operator, operand), _read({"x": value, "y": "a", "n": 4})) is verdict


def test_a_field_that_the_release_does_not_have_is_none():
    assert is_met(Condition("x", "null", True), _read({})) is True
    assert is_met(Condition("x", "is", True), _read({})) is False
