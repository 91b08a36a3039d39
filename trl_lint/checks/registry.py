"""Finding the rules: every module of every topic folder, with nothing to register by hand.

What each rule asks for also stands in `declared.py`, which `python -m trl_lint.checks.registry --write` writes: so a
run imports the modules of those rules only that have something to look at, and a small script costs little. It says of
each page, too, whether the rule is on by default.

In a checkout somebody may have edited a rule since: what is newer than the table is imported, and speaks for itself.
git writes the files of a new clone by their names, so most rules would be newer there: `selection_defaults.py`, which
the same command writes, comes behind all of them, and the later of the two says when the table was true.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from trl_lint.checks.rule import Rule, Site
from trl_lint.knowledge import rules_dir

if TYPE_CHECKING:
    import ast

    from trl_lint.coverage import Answer, Judged, Reason
    from trl_lint.finding import Finding
    from trl_lint.project import Project
    from trl_lint.project.documents import Document
    from trl_lint.project.launches import Launch
    from trl_lint.project.pins import Manifest
    from trl_lint.project.scripts import Script
    from trl_lint.python.module import PythonModule
    from trl_lint.run.runs import Run

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLES = ("trl_lint.checks.declared", "trl_lint.selection_defaults")
_DECLARATIONS = (
    "code", "triggers", "needles", "words", "patterns", "skips_tests", "imports", "frameworks", "fences", "documents",
    "holding", "launches", "scripts", "runs", "launched", "manifests", "workflows", "counts", "is_slow",
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
    from trl_lint.checks import declared

    # The rules of an installed package are those of its table.
    is_checkout = os.path.dirname(rules_dir()) != _PACKAGE
    written = max(os.stat(_path(name)).st_mtime_ns for name in TABLES) if is_checkout else sys.maxsize
    return _by_code([_declared(name, declared.DECLARED.get(name), written) for name in rule_modules()])


Row = tuple[tuple[str, ...], dict[str, Any]]  # the modules that hold some of the declarations, and these


def _declared(module: str, row: Row | None, written: int) -> Rule:
    """A rule by its row of the table, which was written at a time (ns since the epoch); itself if the row is stale."""
    if row is None:
        return _load(module)  # somebody is writing it
    shared, said = row
    if written == sys.maxsize or all(os.stat(_path(name)).st_mtime_ns <= written for name in (module, *shared)):
        return DeclaredRule(module, said)
    rule = _load(module)
    if declarations(rule) != said:
        print(f"trl-lint: {module} asks for something else than declared.py says: run `make docs`", file=sys.stderr)
    return rule


def _path(module: str) -> str:
    return os.path.join(_PACKAGE, *module.split(".")[1:]) + ".py"


def shared_modules(module: str) -> tuple[str, ...]:
    """The modules of ours from which the constants of a rule and its class take names: its triggers may stand there."""
    import ast

    with open(_path(module), encoding="utf-8") as stream:
        tree = ast.parse(stream.read())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    origins: dict[str, str] = {}
    for node in imports:
        for alias in node.names if (node.module or "").startswith("trl_lint.") else ():
            candidates = (f"{node.module}.{alias.name}", str(node.module))  # a module of a folder, a name of a module
            found = next((name for name in candidates if os.path.isfile(_path(name))), "")
            origins[alias.asname or alias.name] = found
    constants = (ast.Assign, ast.AnnAssign)
    statements = [node for node in tree.body if isinstance(node, constants)]
    statements += [
        node for cls in tree.body if isinstance(cls, ast.ClassDef) for node in cls.body if isinstance(node, constants)
    ]
    used = {node.id for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return tuple(sorted({origins[name] for name in used & origins.keys()} - {""}))


def _by_code(rules: list[Rule]) -> tuple[Rule, ...]:
    for rule in rules:
        if rule.frameworks:
            from trl_lint.knowledge.needles import needles

            names = (*rule.imports, *(word.decode() for word in needles().imports))
            rule.__dict__["imports"] = tuple(dict.fromkeys(names))
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

    def check_script(self, script: Script, project: Project) -> Iterator[Finding]:
        return self.rule.check_script(script, project)

    def check_run(self, run: Run) -> Iterator[Finding]:
        return self.rule.check_run(run)

    def check_manifest(self, manifest: Manifest, project: Project) -> Iterator[Finding]:
        return self.rule.check_manifest(manifest, project)

    def knows_launch(self, launch: Launch, project: Project) -> Answer:
        return self.rule.knows_launch(launch, project)

    def knows_document(self, document: Document, project: Project) -> Answer:
        return self.rule.knows_document(document, project)

    def known_calls(self, module: PythonModule, project: Project) -> Iterator[tuple[ast.Call, str, Judged | Reason]]:
        return self.rule.known_calls(module, project)


def declarations(rule: Rule) -> dict[str, Any]:
    """What a rule asks for."""
    owner = rule if isinstance(rule, DeclaredRule) else type(rule)
    return {key: getattr(owner, key) for key in _DECLARATIONS if getattr(owner, key, None)}


def tables_text() -> tuple[str, str]:
    """The contents of `TABLES`. A row changes with what its rule declares and with nothing else."""
    from trl_lint.knowledge.pages import all_pages

    head = '"""What each rule asks for. Written by `python -m trl_lint.checks.registry --write`, never by hand."""\n'
    rows = [f"    {name!r}: {(shared_modules(name), declarations(_load(name)))!r},\n" for name in rule_modules()]
    table = f"DECLARED: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {{\n{''.join(rows)}}}\n"
    on_head = '"""Whether a rule is on where nobody asks for it, by its page. Written as `checks/declared.py` is."""\n'
    on = "".join(f'    "{found.code}": {found.default},\n' for found in all_pages())
    return (
        f"{head}\n# ruff: noqa\nfrom typing import Any\n\n{table}",
        f"{on_head}\nON_BY_DEFAULT = {{\n{on}}}\n",
    )


if __name__ == "__main__":
    for name, text in zip(TABLES, tables_text(), strict=True):
        if sys.argv[1:] == ["--write"]:
            with open(_path(name), "w", encoding="utf-8") as stream:
                stream.write(text)
        else:
            sys.stdout.write(text)
