"""Modules of a known package that no release in use has, and that a command starts (`python -m
openrlhf.cli.train_ppo_ray`), or that code imports from a framework of which the names in its modules are not recorded.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache, partial

from trl_lint.checks.drift._wording import did_you_mean, next_release, sentence
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, Verdict, judge_releases
from trl_lint.finding import Finding
from trl_lint.knowledge.histories import positions, releases
from trl_lint.knowledge.names import first_missing, has_module, modules_beside
from trl_lint.knowledge.programs import folders_of_programs, programs
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.project.stack import PACKAGES, choices_at
from trl_lint.python.module import PythonModule
from trl_lint.python.version_guards import is_guarded


def missing_modules(launch: Launch, rule: Rule, project: Project) -> Iterator[Finding]:
    """TRL302 for the module that a command starts, where a pin says which releases are meant.

    Python looks in the working directory first, and in what PYTHONPATH names: whoever changes these may have a copy.
    """
    module = launch.module or ""
    home, _, name = module.rpartition(".")
    package = module.partition(".")[0]
    if home not in folders_of_programs(package) or launch.candidates or launch.command.errors:
        return
    if module in programs(package):
        return  # TRL401 tells since when or until when there is a program
    if launch.command.directory != "" or launch.wrappers or "PYTHONPATH" in launch.env:
        return
    from trl_lint.project.own_copy import has_own_copy

    chosen = project.environment(launch.source.path).choices.get(package)
    if chosen is None or chosen.assumed or has_own_copy(package, launch.source.path, project):
        return
    verdict = judge_releases(chosen, lambda one: has_module(module, one) is False, Level(rule, launch.is_mild))
    word = next((word for word in launch.command.words if word.text == module), None)
    if verdict is None or word is None:
        return
    having = [one for one in releases(package) if has_module(module, one)]
    before = [one for one in having if positions(package)[one] < positions(package)[verdict.version]]
    if before:
        what = f"{package} {next_release(package, before[-1])} removed the module `{module}`"
    else:
        what = f"there is no module `{module}`" + (f" before {package} {having[0]}" if having else "")
    near = "" if having else did_you_mean(name, modules_beside(module, verdict.version))
    yield rule.finding(
        launch.place_of(word, module),
        sentence(what, near, verdict.basis),
        severity=verdict.severity,
        related=verdict.related,
        pin=verdict.pin,
    )


def missing_imports(module: PythonModule, rule: Rule, project: Project) -> Iterator[Finding]:
    """TRL302 for the modules of a framework that a file imports, each part that is gone once."""
    homes = _homes()
    told: set[str] = set()
    for node, name in (pair for each in module.imports for pair in _named(each)):
        package = homes.get(name.partition(".")[0], "")
        known = choices_at(module, node, project, package) if package else None
        if known is None or package not in known or known[package].package.is_own:
            continue
        verdict = judge_releases(known[package], partial(_lacks, name), Level(rule))
        part = first_missing(name, verdict.version) if verdict is not None else ""
        having = [one for one in releases(package) if part and not first_missing(part, one)]
        if verdict is None or not having or part in told or is_guarded(module, node, is_narrowed=True):
            continue
        from trl_lint.project.own_copy import has_own_copy

        if has_own_copy(name.partition(".")[0], module.path, project):
            return
        told.add(part)
        start, end = module.span(node)
        at = module.text.find(part, start, end)
        yield rule.finding(
            module.source.location(at, at + len(part)) if at >= 0 else module.location(node),
            _word(part, package, having, verdict),
            severity=verdict.severity,
            related=verdict.related,
            pin=verdict.pin,
        )


def _lacks(module: str, version: str) -> bool:
    return first_missing(module, version) != ""


def _word(part: str, package: str, having: list[str], verdict: Verdict) -> str:
    """Say since when a module is gone, or there; `having`: the releases that have it."""
    at = positions(package)
    before = [one for one in having if at[one] < at[verdict.version]]
    if before and not verdict.only_old:
        gone = next_release(package, before[-1])
        return sentence(f"{package} {gone} removed the module `{part}`", f"pin {package}<{gone}", verdict.basis)
    came = next((one for one in having if at[one] > at[verdict.version]), having[0])
    return sentence(
        f"there is no module `{part}` before {package} {came}", f"it needs {package}>={came}", verdict.basis
    )


@cache
def _homes() -> Mapping[str, str]:
    """The project on the index by what its modules begin with, of frameworks that no other part of the rule judges."""
    from trl_lint.knowledge.families import families

    known = (family.arguments for family in families() if family.arguments is not None)
    return {one.imported_as: one.package for one in known if one.imported_as not in PACKAGES}


def _named(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    """The modules that a statement is sure to load."""
    if isinstance(node, ast.Import):
        yield from ((node, alias.name) for alias in node.names)
    elif node.module is not None and not node.level:
        yield node, node.module
