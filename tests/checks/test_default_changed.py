"""TRL304: each row of the table fires where the pins straddle its change and nowhere else, and the histories agree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from trl_lint.checks.drift._calls import parameter, signature_of
from trl_lint.checks.drift._parsed import read_flag
from trl_lint.checks.drift.default_changed import is_test
from trl_lint.engine import check
from trl_lint.finding import Finding
from trl_lint.knowledge.defaults import Default, defaults
from trl_lint.knowledge.histories import releases
from trl_lint.selection import Selection
from trl_lint.settings import Settings

CASES = [
    pytest.param(row, dotted, id=f"{dotted}-{row.field}-{row.old_since}-{row.since}{'-given' if row.given else ''}")
    for row in defaults()
    for dotted in row.classes
]
NAMED = [case for case in CASES if case.values[0].when]
EXCUSED = [case for case in CASES if case.values[0].unless]
EXACT = {"trl": "1.9.2", "transformers": "4.57.6"}
# Where the release of TRL that pip takes states a default of its own.
WITHOUT_OWN = {("trl.SFTConfig", "average_tokens_across_devices"): "trl<0.19"}


def before(row: Default) -> str:
    """The newest release with the old value: before the change, or before what another row says of the time between."""
    known = releases(row.package)
    later = (
        other.old_since
        for other in defaults()
        if (other.classes, other.field, other.since) == (row.classes, row.field, row.since)
        and other.old_since
        and not row.old_since
    )
    return known[known.index(next(later, row.since)) - 1]


def findings(folder: Path, row: Default, dotted: str, pin: str, arguments: Mapping[str, object]) -> list[Finding]:
    """What is said about a script that relies on the row, in a project with this pin."""
    pins = [f"{row.package}{pin}", *(f"{name}{spec}" for name, spec in row.beside.items())]
    pins += [WITHOUT_OWN[dotted, row.field]] if (dotted, row.field) in WITHOUT_OWN else []
    (folder / "requirements.txt").write_text("\n".join(pins) + "\n")
    (folder / "train.py").write_text(script(row, dotted, arguments))
    report = check([str(folder)], Settings(str(folder), layers=[Selection(select=("TRL304",))]))
    assert not report.problems
    return report.findings


def script(row: Default, dotted: str, arguments: Mapping[str, object]) -> str:
    passed = "".join(f", {name}={value!r}" for name, value in arguments.items())
    module, _, name = dotted.rpartition(".")
    if name == "from_pretrained":
        module, _, name = module.rpartition(".")
        loads = f'model = {name}.from_pretrained("Qwen/Qwen3-0.6B"{passed})'
        return f"from {module} import {name}, Trainer\n\n{loads}\nTrainer(model=model)\n"
    if row.inside:
        config = name.replace("Trainer", "Config")
        inside = f", {row.inside}={dict(arguments)!r}" if arguments else ""
        made = f'{name}(model="Qwen/Qwen3-0.6B", args={config}(output_dir="out"{inside}))'
        return f"from {module} import {config}, {name}\n\ntrainer = {made}\n"
    first = "model_name_or_path" if name == "ModelConfig" else "output_dir"
    return f'from {module} import {name}\n\nargs = {name}({first}="out"{passed})\n'


def conditions(row: Default) -> dict[str, object]:
    """Arguments with which the row matters."""
    given: dict[str, object] = {name: values[0] if values else 0.1 for name, values in row.when.items()}
    return {**given, row.field: 4} if row.given else given


def named(found: list[Finding], row: Default) -> bool:
    return any(f"`{row.field}`" in finding.message for finding in found)


@pytest.mark.parametrize(("row", "dotted"), CASES)
def test_fires_where_the_pins_straddle_the_change(row: Default, dotted: str, tmp_path: Path):
    found = findings(tmp_path, row, dotted, f">={before(row)},<={row.since}", conditions(row))
    assert named(found, row)
    (finding,) = found if not row.inside else [f for f in found if row.field in f.message]
    assert row.level == "info" or finding.severity == "warning"
    assert row.effect in finding.message or "more (" in finding.message
    assert any(place.path.endswith("requirements.txt") for place in finding.related)


@pytest.mark.parametrize(("row", "dotted"), CASES)
def test_silent_on_either_side(row: Default, dotted: str, tmp_path: Path):
    for version in (before(row), row.since):
        assert findings(tmp_path, row, dotted, f"=={version}", conditions(row)) == []


@pytest.mark.parametrize(("row", "dotted"), CASES)
def test_silent_where_the_value_is_stated(row: Default, dotted: str, tmp_path: Path):
    arguments = {name: value for name, value in conditions(row).items() if name != row.field}
    stated = arguments if row.given else {**arguments, row.field: 1}
    found = findings(tmp_path, row, dotted, f">={before(row)},<={row.since}", stated)
    assert not any(row.effect in finding.message for finding in found)
    assert row.given or not any(f"the default of `{row.field}`" in finding.message for finding in found)


@pytest.mark.parametrize(("row", "dotted"), NAMED)
def test_silent_where_the_condition_is_unmet(row: Default, dotted: str, tmp_path: Path):
    assert not named(findings(tmp_path, row, dotted, f">={before(row)},<={row.since}", {}), row)


@pytest.mark.parametrize(("row", "dotted"), EXCUSED)
def test_silent_where_it_does_not_matter(row: Default, dotted: str, tmp_path: Path):
    for name, values in row.unless.items():
        arguments = {**conditions(row), name: values[0] if values else True}
        assert not named(findings(tmp_path, row, dotted, f">={before(row)},<={row.since}", arguments), row)


@pytest.mark.parametrize(("row", "dotted"), CASES)
def test_a_floor_alone_is_a_hint(row: Default, dotted: str, tmp_path: Path):
    found = findings(tmp_path, row, dotted, f">={before(row)}", conditions(row))
    assert all(finding.severity == "info" for finding in found)


@pytest.mark.parametrize(("row", "dotted"), CASES)
def test_the_histories_agree(row: Default, dotted: str):
    """The default changed in the release that the row names; words stand only for what has no value of its own."""
    known = releases(row.package)
    assert {row.old_since or known[0], row.new_until or known[-1]} <= set(known)

    def default(version: str) -> str | None:
        found = parameter(dotted, row.field, {**EXACT, row.package: version})
        return None if found is None else found.default

    assert signature_of(dotted, {**EXACT, row.package: row.since}) is not None
    if row.body:
        assert row.old and row.new, "the histories do not hold what the code does"
        return
    old, new = default(before(row)), default(row.since)
    assert old != new
    earlier = {default(version) for version in known[: known.index(row.since)]}
    assert row.old or old is not None
    assert not row.old or not earlier.isdisjoint({None, "None"}) or (row.old, old) == ("off", "False")
    assert not row.new or new in (None, "None") or (row.new, new) == ("on", "True")


def test_the_tests_of_a_project_are_left_alone():
    assert is_test("tests/unit/train.py") and is_test("test_train.py") and is_test("src/train_test.py")
    assert not is_test("src/train.py") and not is_test("latest/testing_grounds.py")


def said(folder: Path, pin: str, text: str) -> list[str]:
    (folder / "requirements.txt").write_text(f"trl{pin}\n")
    (folder / "train.py").write_text(text)
    report = check([str(folder)], Settings(str(folder), layers=[Selection(select=("TRL304",))]))
    return [finding.message for finding in report.findings]


def test_one_default_is_told_in_full(tmp_path: Path):
    text = 'from trl import GRPOConfig\n\nGRPOConfig("out", bf16=True, logging_steps=1)\n'
    assert said(tmp_path, ">=0.18,<0.20", text) == [
        "trl 0.19.0 changed the default of `beta` of `GRPOConfig` from 0.04 to 0.0 (no KL term and no reference model)"
        ": state the value you want (trl>=0.18,<0.20 allows both)"
    ]


def test_several_defaults_are_told_at_once(tmp_path: Path):
    (message,) = said(tmp_path, ">=0.17,<0.23", "from trl import GRPOConfig\n\nGRPOConfig('out')\n")
    assert message.startswith(
        "`GRPOConfig` takes defaults that changed within trl>=0.17,<0.23: state the values you want; `beta` 0.04 →"
    )
    assert message.endswith("and 4 more (`temperature`, `top_k`, `gradient_checkpointing`, `logging_steps`)")


def test_an_argument_that_not_every_release_takes_cannot_be_stated(tmp_path: Path):
    text = "from trl import GRPOConfig\n\nGRPOConfig('out', bf16=True, logging_steps=1, use_vllm=True)\n"
    (message,) = said(tmp_path, ">=0.22,<0.24", text)
    assert "`vllm_importance_sampling_correction`" in message
    assert ": narrow the pin to the one that is meant (" in message


def test_releases_that_the_file_cannot_run_with_do_not_count(tmp_path: Path):
    """`vllm_mode` came with 0.18.0, and so did the new temperature."""
    text = "from trl import GRPOConfig\n\nGRPOConfig('out', use_vllm=True, vllm_mode='colocate')\n"
    assert said(tmp_path, ">=0.16,<0.19", text) == []


def test_a_call_that_no_release_takes_is_another_matter(tmp_path: Path):
    text = "from trl import PPOConfig\n\nPPOConfig(model_name='gpt2', log_with='wandb')\n"
    assert said(tmp_path, ">=0.18,<0.20", text) == []


def test_an_argument_that_another_package_lost_is_no_matter_of_trl(tmp_path: Path):
    """The newest transformers has no `warmup_ratio`, older ones do; the releases of trl do not differ in that."""
    text = "from trl import GRPOConfig\n\nGRPOConfig('out', bf16=True, logging_steps=1, warmup_ratio=0.1)\n"
    (message,) = said(tmp_path, ">=0.18,<0.20\ntransformers>=4.56", text)
    assert message.startswith("trl 0.19.0 changed the default of `beta` of `GRPOConfig`")
    assert said(tmp_path, ">=0.18,<0.20", text) == []  # no release in use takes it


def test_names_the_file_assigns_elsewhere_are_unknown(tmp_path: Path):
    text = "from dataclasses import replace\nfrom trl import GRPOConfig\n\nargs = GRPOConfig('out', bf16=True)\n"
    assert len(said(tmp_path, ">=0.18,<0.20", text)) == 1
    assert "`beta`" not in said(tmp_path, ">=0.18,<0.20", text + "args = replace(args, beta=0.1)\n")[0]
    assert said(tmp_path, ">=0.18,<0.20", text + "args.__dict__.update(read())\n") == []
    assert said(tmp_path, ">=0.18,<0.20", text + "args.set_training(num_epochs=2)\n") == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", True),
        ("--beta", True),
        ("True", True),
        ("false", False),
        ("0.001", 0.001),
        ("none", None),
        ("wandb", "wandb"),
    ],
)
def test_reading_a_flag(text: str, value: object):
    assert read_flag(text) == value and type(read_flag(text)) is type(value)


COMMAND = "trl grpo --model_name_or_path Qwen/Qwen3-0.6B --dataset_name trl-lib/tldr"


@pytest.mark.parametrize(
    ("flags", "is_named"),
    [
        ("", True),
        ("--num_processes 4", True),
        ("--beta 0.1", False),
        ("--beta=0.1", False),
        ("--bet 0.1", False),
        ("$FLAGS", False),
        ("--config grpo.yaml", False),
        ("--vllm_mode colocate --use_vllm", True),
        ("--importance_sampling_level sequence", False),
        ("--response_length 100", False),
    ],
)
def test_what_a_command_leaves_out(tmp_path: Path, flags: str, is_named: bool):
    """A flag, its abbreviation, a variable or a file may hold the value; an unknown flag is another rule's matter."""
    (tmp_path / "requirements.txt").write_text("trl>=0.18,<0.22\n")
    (tmp_path / "run.sh").write_text(f"{COMMAND} {flags}\n")
    report = check([str(tmp_path)], Settings(str(tmp_path), layers=[Selection(select=("TRL304",))]))
    assert is_named is any("`beta`" in finding.message for finding in report.findings)
