"""TRL402: a chat template that the releases in use do not have under that name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from trl_lint.checks._phrases import with_scope
from trl_lint.checks._runs import naming_launches
from trl_lint.checks.configs._asserts import Problem
from trl_lint.checks.configs._command_keys import is_left_alone
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_config
from trl_lint.knowledge.api import facts
from trl_lint.knowledge.families import arguments_of_kind
from trl_lint.knowledge.histories import releases
from trl_lint.missing import Missing
from trl_lint.project import Project
from trl_lint.project.callers import files_calling
from trl_lint.project.documents import Document
from trl_lint.sources.nodes import Scalar
from trl_lint.sources.placeholders import is_marked
from trl_lint.words import nearest

_REGISTERS = "register_template("
_LIKENESS = 0.75


def unknown_template(document: Document, rule: Rule, project: Project) -> Iterator[Problem]:
    """The template of a document that no release in use has."""
    arguments = arguments_of_kind(document.kind)
    entry = document.mapping.entry(arguments.template) if arguments is not None and document.mapping else None
    if arguments is None or not arguments.template or entry is None or not isinstance(entry.value, Scalar):
        return
    name, package = entry.value.value, arguments.package
    choices = project.environment(document.path).choices
    if not isinstance(name, str) or is_marked(name) or "$" in name or package not in choices:
        return
    launches = naming_launches(document, project)
    if any(arguments.template in (word.text or word.template) for launch in launches for word in launch.args):
        return  # the command gives another
    level = Level("error", bool(launches) and all(launch.is_mild for launch in launches), of_code=False)
    verdict = judge_config(choices, package, partial(_has, package, name), level)
    if verdict is None or choices[package].package.is_own or is_left_alone(arguments, project):
        return
    if any(True for _ in files_calling(_REGISTERS, project)):
        return  # a project may have templates of its own
    message = f"{arguments.shown} stops at start: there is no template `{name}`{_hint(package, name, verdict.version)}"
    yield Problem(document.place(entry), with_scope(message, verdict.scope), verdict.severity, verdict.related)


def _has(package: str, name: str, version: str) -> bool | None:
    """Whether a release has a template; None where nobody knows."""
    found = facts(package, "templates", version)
    return None if isinstance(found, Missing) else name in found or "@open" in found


def _hint(package: str, name: str, version: str) -> str:
    having = [one for one in releases(package) if _has(package, name, one)]
    known = releases(package)
    if having and known.index(having[0]) > known.index(version):
        return f" before {package} {having[0]}"
    found = facts(package, "templates", version)
    guess = nearest(name, () if isinstance(found, Missing) else set(found), _LIKENESS)
    return f": did you mean `{guess}`?" if guess else ""
