"""Words of a command that a program merges into a dataclass of the project, which has no such field (TRL401)."""

from __future__ import annotations

import os
from collections.abc import Iterator

from trl_lint.checks.configs._asserts import Problem
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level
from trl_lint.coverage import CUT, Answer, Judged
from trl_lint.finding import Location
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.run.readers.hydra import find, read_command_line
from trl_lint.run.readers.structured import Structured, read_structured


def unknown_keys(launch: Launch, rule: Rule, project: Project) -> Iterator[Problem]:
    program, line = _program(launch, project), None
    if program is not None and not launch.command.errors:
        line = read_command_line(launch)
    if program is None or line is None:
        return
    given = [one for one in line.overrides if one.is_certain and not one.sign]
    lacking = [
        one
        for one in given
        if one.key.partition(".")[0] not in program.taken_off and find(program.tree, one.key) is ABSENT
    ]
    if not lacking:
        return
    from trl_lint.checks.configs._hydra_advice import near_keys
    from trl_lint.checks.drift._wording import sentence
    from trl_lint.run.readers.verl import place_of

    shown = os.path.relpath(program.path, project.root).replace(os.sep, "/")
    level = Level(rule, line.takes_more or launch.is_mild, of_code=False)
    for one in lacking:
        near = near_keys(one.key, program.tree, frozenset(other.key for other in given))
        meant = f"did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else ""
        message = sentence(f"`{shown}` has no key `{one.key}`, and OmegaConf stops", meant, "")
        related = (Location(program.path, 0, 0, "the classes begin here"),)
        yield Problem(place_of(one, launch), message, level.severity, related)


def knows_launch(launch: Launch, project: Project) -> Answer:
    """What is known of the words of such a command; None for all others."""
    if _program(launch, project) is None:
        return None
    return CUT if launch.command.errors or read_command_line(launch) is None else Judged()


def _program(launch: Launch, project: Project) -> Structured | None:
    path = launch.script_path
    return read_structured(path, project) if path is not None and path.endswith(".py") else None
