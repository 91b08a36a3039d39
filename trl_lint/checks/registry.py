"""Finding the rules: every module of every topic folder, with nothing to register by hand."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trl_lint.checks.rule import Rule


def rule_modules() -> list[str]:
    """Dotted names of the rule modules, sorted."""
    here = os.path.dirname(__file__)
    found = []
    for topic in sorted(os.listdir(here)):
        folder = os.path.join(here, topic)
        if topic.startswith(("_", ".")) or not os.path.isdir(folder):
            continue
        for name in sorted(os.listdir(folder)):
            if name.endswith(".py") and not name.startswith("_"):
                found.append(f"trl_lint.checks.{topic}.{name[:-3]}")
    return found


@cache
def all_rules() -> tuple[Rule, ...]:
    """One instance of every rule, by code."""
    rules: list[Rule] = [import_module(name).rule for name in rule_modules()]
    return tuple(sorted(rules, key=lambda rule: rule.code))
