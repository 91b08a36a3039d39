"""Modules of a known package that a command starts (`python -m openrlhf.cli.train_ppo_ray`) and that no release has."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks.drift._wording import did_you_mean, next_release, sentence
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding
from trl_lint.knowledge.histories import positions, releases
from trl_lint.knowledge.names import has_module, modules_beside
from trl_lint.knowledge.programs import folders_of_programs, programs
from trl_lint.project import Project
from trl_lint.project.launches import Launch


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
