"""A fix is never safer than its finding, and a call is migrated whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.checks.registry import declared_rules
from trl_lint.engine import check
from trl_lint.finding import Edit, Finding, Fix, Location, Severity
from trl_lint.grading import trusted
from trl_lint.selection import Selection
from trl_lint.settings import Settings

_FIX = Fix("Repair it", "safe", (Edit("/p/a.py", 0, 1, "x"),))


@pytest.mark.parametrize("code", [rule.code for rule in declared_rules()])
def test_a_hint_of_a_rule_about_more_is_repaired_on_demand_alone(code: str):
    highest = next(rule for rule in declared_rules() if rule.code == code).page.severity
    levels: tuple[Severity, ...] = ("info", "warning", "error")
    for level in levels:
        found = trusted(Finding(code, "x", Location("/p/a.py", 0, 1), level, fix=_FIX), highest)
        assert found.fix is not None
        assert found.fix.applicability == ("unsafe" if level == "info" and highest != "info" else "safe")
    assert trusted(Finding(code, "x", Location("/p/a.py", 0, 1), "info"), highest).fix is None


def fixes(
    folder: Path, pin: str, call: str, imports: str = "DPOConfig, DPOTrainer, PPOTrainer, SFTTrainer"
) -> list[bool]:
    """Whether each finding in a call has a fix, in the order of the text."""
    (folder / "requirements.txt").write_text(f"{pin}\n")
    (folder / "train.py").write_text(f"from trl import {imports}\n\nargs = DPOConfig()\ntrainer = {call}\n")
    report = check([str(folder)], Settings(str(folder), layers=[Selection(select=("TRL301",))]))
    assert report.findings
    return [finding.fix is not None for finding in report.findings]


WHOLE = ["DPOTrainer(model=m, args=args, tokenizer=t)", "SFTTrainer(model=m, tokenizer=t, args=args)"]
HALF = [
    "PPOTrainer(config=c, model=m, ref_model=r, tokenizer=t, dataset=d, optimizer=o)",
    "PPOTrainer(c, m, r, tokenizer=t, dataset=d, data_collator=f)",
    "DPOTrainer(model=m, args=args, tokenizer=t, optimiser=o)",
    "SFTTrainer(model=m, tokenizer=t, args=args, no_such_argument=1)",
]


@pytest.mark.parametrize("call", WHOLE)
def test_a_call_of_which_all_can_be_repaired_is(tmp_path: Path, call: str):
    assert all(fixes(tmp_path, "trl==0.17.0", call))


@pytest.mark.parametrize("call", HALF)
def test_a_call_of_which_something_is_left_is_left(tmp_path: Path, call: str):
    assert not any(fixes(tmp_path, "trl==0.17.0", call))
