"""What Ray refuses of the groups of processes that a command of OpenRLHF puts on the GPUs of others.

Ray refuses an actor for a bundle that its placement group does not have (`check_placement_group_index` of
ray/util/placement_group.py). Which groups there are, and what they share: `run/readers/openrlhf.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from trl_lint.checks.configs._asserts import Problem
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, Verdict, judge_config
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.run.config import Role, Workers
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run, run_of

_SHOWN: dict[Role, str] = {"critic": "critic", "reward": "reward model"}


def misfits(launch: Launch, rule: Rule, project: Project) -> Iterator[Problem]:
    """TRL403: the groups of a command that are larger than the group whose GPUs they are to share."""
    run = run_of(launch, project)
    package = run.config.package
    if package not in run.choices or all(one.pool == one.role for one in run.asked_of_ray):
        return
    newest = run.choices[package].newest
    for role, shown in _SHOWN.items():
        found = _beyond(run, role, newest)
        if found is not None:
            level = Level(rule, launch.is_mild, of_code=False)
            verdict = judge_config(run.choices, package, partial(_is_fine, run, role), level)
            if verdict is not None:
                yield _problem(found, shown, verdict, launch)


def _problem(found: tuple[Workers, Workers], shown: str, verdict: Verdict, launch: Launch) -> Problem:
    mine, actor = found
    message = (
        f"OpenRLHF stops: all models share the {actor.total} GPUs of the actor, and the {shown} is to have "
        f"{mine.total}: Ray has no bundle {actor.total} for it (ValueError); give it the nodes and GPUs of the actor "
        f"({verdict.scope})"
    )
    said = [one.number for one in found if isinstance(one.number, Setting)]
    places = [one.location for one in said if one.location is not None] or [launch.location]
    related = tuple(place._replace(message="together with this") for place in places[1:])
    return Problem(places[0], message, verdict.severity, (*related, *verdict.related))


def _is_fine(run: Run, role: Role, version: str) -> bool:
    return _beyond(run, role, version) is None


def _beyond(run: Run, role: Role, version: str) -> tuple[Workers, Workers] | None:
    """The group of this role and the larger one that it shares GPUs with, where it is larger in a release."""
    package = run.config.package
    versions = {**run.choices.newest((package,)), package: version}
    workers = {one.role: one for one in run.workers_by_ray(run.config.at(versions))}
    mine = workers.get(role)
    if mine is None or mine.pool == role:
        return None
    shared = workers[mine.pool]
    return (mine, shared) if mine.total and shared.total and mine.total > shared.total else None
