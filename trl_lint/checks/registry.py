"""Finding the rules: every module of every topic folder, with nothing to register by hand.

What each rule asks for also stands in `declared.py`, which `python -m trl_lint.checks.registry --write` writes: so a
run imports the modules of those rules only that have something to look at, and a small script costs little. It says of
each page, too, whether the rule is on by default.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from trl_lint.checks.rule import Rule, Site

if TYPE_CHECKING:
    from trl_lint.finding import Finding
    from trl_lint.project import Project
    from trl_lint.project.documents import Document
    from trl_lint.project.launches import Launch
    from trl_lint.project.pins import Manifest
    from trl_lint.project.runs import Run
    from trl_lint.python.module import PythonModule

_DECLARATIONS = (
    "code", "triggers", "needles", "words", "patterns", "skips_tests", "imports", "documents", "holding", "launches",
    "runs", "launched", "manifests",
)  # fmt: skip


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
    """One instance of every rule, by code. Imports them all."""
    return _by_code([_load(name) for name in rule_modules()])


@cache
def declared_rules() -> tuple[Rule, ...]:
    """Every rule by code, each of which is imported when a hook of it is first called."""
    from trl_lint.checks.declared import DECLARED

    # A module that the table does not know yet is a rule that somebody is writing.
    modules = rule_modules()
    return _by_code([DeclaredRule(name, DECLARED[name]) if name in DECLARED else _load(name) for name in modules])


def _by_code(rules: list[Rule]) -> tuple[Rule, ...]:
    return tuple(sorted(rules, key=lambda rule: rule.code))


def _load(module: str) -> Rule:
    rule: Rule = import_module(module).rule
    return rule


class DeclaredRule(Rule):
    """What a rule declares, and its hooks as soon as one is called."""

    def __init__(self, module: str, declared: dict[str, Any]) -> None:
        self._module = module
        self.__dict__.update(declared)

    @property
    def rule(self) -> Rule:
        return _load(self._module)

    def check_call(self, site: Site) -> Iterator[Finding]:
        return self.rule.check_call(site)

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        return self.rule.check_module(module, project)

    def check_document(self, document: Document, project: Project) -> Iterator[Finding]:
        return self.rule.check_document(document, project)

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        return self.rule.check_launch(launch, project)

    def check_run(self, run: Run) -> Iterator[Finding]:
        return self.rule.check_run(run)

    def check_manifest(self, manifest: Manifest, project: Project) -> Iterator[Finding]:
        return self.rule.check_manifest(manifest, project)


def declarations_text() -> str:
    """The contents of `declared.py`."""
    from trl_lint.knowledge.pages import all_pages

    rows = []
    for name in rule_modules():
        rule = _load(name)
        said = {key: getattr(rule, key) for key in _DECLARATIONS if getattr(rule, key)}
        rows.append(f"    {name!r}: {said!r},\n")
    head = '"""What each rule asks for. Written by `python -m trl_lint.checks.registry --write`, never by hand."""\n'
    table = f"DECLARED: dict[str, dict[str, Any]] = {{\n{''.join(rows)}}}\n"
    on = ", ".join(f"{found.code!r}: {found.default}" for found in all_pages())
    return f"{head}\n# ruff: noqa\nfrom typing import Any\n\n{table}\nON_BY_DEFAULT: dict[str, bool] = {{{on}}}\n"


if __name__ == "__main__":
    import sys

    if sys.argv[1:] == ["--write"]:
        with open(os.path.join(os.path.dirname(__file__), "declared.py"), "w", encoding="utf-8") as stream:
            stream.write(declarations_text())
    else:
        sys.stdout.write(declarations_text())
