"""Finding the rules: every module of every topic folder, with nothing to register by hand.

What each rule asks for also stands in `declared.py`, which `python -m trl_lint.checks.registry --write` writes: so a
run imports the modules of those rules only that have something to look at, and a small script costs little. It says of
each page, too, whether the rule is on by default.

A checksum of the sources stands beside each rule. In a checkout, where somebody may have edited them since, what is
newer than the table is held against it: a rule that was edited is imported, and speaks for itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
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
    from trl_lint.python.module import PythonModule
    from trl_lint.run.runs import Run

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_DECLARATIONS = (
    "code", "triggers", "needles", "words", "patterns", "skips_tests", "imports", "fences", "documents", "holding",
    "launches", "runs", "launched", "manifests", "workflows", "counts", "is_slow",
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
    written = os.stat(declared.__file__).st_mtime_ns if is_checkout else sys.maxsize
    return _by_code([_declared(name, declared.DECLARED.get(name), written) for name in rule_modules()])


Row = tuple[int, tuple[str, ...], dict[str, Any]]  # the checksum, the shared modules it includes, the declarations


def _declared(module: str, row: Row | None, written: int) -> Rule:
    """A rule by its row of the table, which was written at a time (ns since the epoch); itself if the row is stale."""
    if row is None:
        return _load(module)  # somebody is writing it
    checksum, shared, said = row
    sources = [module, *shared]
    is_newer = written < sys.maxsize and any(os.stat(_path(name)).st_mtime_ns > written for name in sources)
    if not is_newer or checksum_of(sources) == checksum:
        return DeclaredRule(module, said)
    rule = _load(module)
    if declarations(rule) != said:
        print(f"trl-lint: {module} asks for something else than declared.py says: run `make docs`", file=sys.stderr)
    return rule


def checksum_of(modules: Sequence[str]) -> int:
    """A checksum of the sources of modules, whatever their line ends."""
    from zlib import crc32

    checksum = 0
    for name in modules:
        with open(_path(name), "rb") as stream:
            checksum = crc32(stream.read().replace(b"\r\n", b"\n"), checksum)
    return checksum


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

    def knows_launch(self, launch: Launch, project: Project) -> Answer:
        return self.rule.knows_launch(launch, project)

    def knows_document(self, document: Document, project: Project) -> Answer:
        return self.rule.knows_document(document, project)

    def known_calls(self, module: PythonModule, project: Project) -> Iterator[tuple[ast.Call, str, Judged | Reason]]:
        return self.rule.known_calls(module, project)


def declarations(rule: Rule) -> dict[str, Any]:
    """What a rule asks for."""
    return {key: getattr(rule, key) for key in _DECLARATIONS if getattr(rule, key)}


def declarations_text() -> str:
    """The contents of `declared.py`."""
    from trl_lint.knowledge.pages import all_pages

    rows = []
    for name in rule_modules():
        shared = shared_modules(name)
        rows.append(f"    {name!r}: {(checksum_of([name, *shared]), shared, declarations(_load(name)))!r},\n")
    head = '"""What each rule asks for. Written by `python -m trl_lint.checks.registry --write`, never by hand."""\n'
    table = f"DECLARED: dict[str, tuple[int, tuple[str, ...], dict[str, Any]]] = {{\n{''.join(rows)}}}\n"
    on = ", ".join(f"{found.code!r}: {found.default}" for found in all_pages())
    return f"{head}\n# ruff: noqa\nfrom typing import Any\n\n{table}\nON_BY_DEFAULT: dict[str, bool] = {{{on}}}\n"


if __name__ == "__main__":
    import sys

    if sys.argv[1:] == ["--write"]:
        text = declarations_text()
        with open(_path("trl_lint.checks.declared"), "w", encoding="utf-8") as stream:
            stream.write(text)
    else:
        sys.stdout.write(declarations_text())
