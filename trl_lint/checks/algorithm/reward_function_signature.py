"""TRL702: a reward function that cannot be called as the trainer calls it, or returns what it cannot use."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from trl_lint.checks.algorithm._reward_columns import column_faults
from trl_lint.checks.algorithm._reward_functions import (
    by_helper,
    function_named,
    gives_none,
    parameter_of,
    read_result,
    required_of,
    takes,
)
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.rule import Rule, Site
from trl_lint.checks.verdict import judge_pins
from trl_lint.finding import Finding, Location, Severity
from trl_lint.knowledge.rewards import reward_calls
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT, Missing
from trl_lint.project import Project
from trl_lint.python.guards import bindings, functions_named
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.names import is_from
from trl_lint.python.values import argument
from trl_lint.records import NamedTuple
from trl_lint.run.runs import Run

_TRAINERS = ("trl.GRPOTrainer", "trl.RLOOTrainer")
# It calls its reward functions in a process of their own, and pickles them for it: `start` of async_rollout_worker.py,
# read in 1.6.0 to 1.9.0 and 1.16.0; 1.5.1 runs them in a thread.
_SPAWNING = "trl.experimental.async_grpo.AsyncGRPOTrainer"
_SPAWNS = ">=1.6.0"


class Reward(NamedTuple):
    """A function of the project that is passed as a reward function, and where it is passed."""

    function: FunctionNode
    module: PythonModule
    passed: ast.expr


class Fault(NamedTuple):
    """What is wrong with it, in which releases of trl; `node`: the part of the function that is at fault, if one is."""

    message: str
    releases: str
    node: ast.AST | None = None


class RewardFunctionSignature(Rule):
    code = "TRL702"
    triggers = (*_TRAINERS, _SPAWNING)
    documents = ("command",)
    runs = True
    launched = True

    def check_run(self, run: Run) -> Iterator[Finding]:
        from trl_lint.checks.algorithm._reward_files import in_run

        yield from in_run(run, self)

    def check_document(self, document: Any, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.algorithm._reward_files import in_document

        yield from in_document(document, project, self)

    def check_call(self, site: Site) -> Iterator[Finding]:
        if any(is_from(origin, _SPAWNING) for origin in site.module.names.origins(site.call.func)):
            yield from self._spawned(site)
            return
        environment = site.project.environment(site.module.path)
        trainer = trainer_of(site)
        for reward in read_rewards(site):
            read = read_faults(reward.module, reward.function, trainer, site.project)
            faults = [(fault, self.page.severity) for fault in read]
            rows = reward_calls().of(trainer)
            if rows and not is_unsloth(site.module):
                for told in column_faults(site, reward.module, reward.function, required_of(reward.function), trainer):
                    level: Severity = "warning" if told.is_remembered else self.page.severity
                    node = parameter_of(reward.function, told.parameter)
                    faults.append((Fault(told.message, rows[0].releases, node), level))
            from trl_lint.checks.algorithm._none_uses import none_use

            use = none_use(reward.module, reward.function, site.project) if rows else None
            if use is not None:
                faults.append((Fault(use.message, rows[0].releases, use.place), "warning"))
            if rows and "re." in reward.module.text:
                from trl_lint.checks.algorithm._format_rewards import unmatched_form

                form = unmatched_form(reward.module, reward.function, (reward.module, site.module))
                if form is not None:
                    faults.append((Fault(form.message, rows[0].releases, form.node), "warning"))
            for fault, highest in faults:
                verdict = judge_pins(environment, {"trl": fault.releases}, highest)
                if verdict is None:
                    continue
                place, shown = _places(site, reward, fault)
                yield self.finding(
                    place,
                    f"`{reward.function.name}` {fault.message} ({verdict.scope})",
                    severity=verdict.severity,
                    related=(shown, *verdict.related),
                )
                break

    def _spawned(self, site: Site) -> Iterator[Finding]:
        """A reward function that cannot be sent to another process."""
        if argument(site.call, "rollout_worker") is not ABSENT or not site.module.names.is_certain(site.call.func):
            return
        local = next((item for item in _passed(site) if _is_local(site, item)), None)
        environment = site.project.environment(site.module.path)
        verdict = judge_pins(environment, {"trl": _SPAWNS}, self.page.severity) if local is not None else None
        if local is not None and verdict is not None:
            message = (
                "AsyncGRPOTrainer sends its reward functions to another process, and a lambda or a function inside of "
                f"another cannot be pickled (TypeError): define it in the module ({verdict.scope})"
            )
            place = site.module.location(local)
            yield self.finding(place, message, severity=verdict.severity, related=verdict.related)


def _is_local(site: Site, item: ast.expr) -> bool:
    """Whether a reward function is certainly a lambda, or defined inside of another function."""
    if isinstance(item, ast.Lambda):
        return True
    if not isinstance(item, ast.Name) or site.module.names.is_imported(item.id):
        return False
    made, functions = bindings(site.module).get(item.id, []), functions_named(site.module, item.id)
    if not functions:
        return len(made) == 1 and isinstance(made[0], ast.Lambda) and site.module.names.is_literal_only(item.id)
    around = site.module.parents.get(functions[0])
    is_plain = len(functions) == 1 and not made and not functions[0].decorator_list
    return is_plain and around is not None and around is site.module.function(site.call)


def _places(site: Site, reward: Reward, fault: Fault) -> tuple[Location, Location]:
    """Where a fault stands, and the other end of it: a part of the function at fault, all else at the trainer."""
    if fault.node is not None:
        return reward.module.location(fault.node), site.module.location(reward.passed, "the trainer gets it here")
    return site.module.location(reward.passed), reward.module.name_location(reward.function, "the reward function")


def trainer_of(site: Site) -> str:
    """The public name of the trainer that a call builds."""
    origins = site.module.names.origins(site.call.func)
    return next(name for name in _TRAINERS if any(is_from(origin, name) for origin in origins))


def read_rewards(site: Site) -> list[Reward]:
    """The functions that are passed by name, alone or in a list, and are certainly these."""
    if not site.module.names.is_certain(site.call.func):
        return []
    found = []
    for item in _passed(site):
        target = function_named(site.module, item, site.project) if isinstance(item, ast.Name) else None
        if target is not None and isinstance(item, ast.Name):
            found.append(Reward(target[1], target[0], item))
    return found


def _passed(site: Site) -> list[ast.expr]:
    """What is passed as reward functions, item by item where it is a list."""
    given = argument(site.call, "reward_funcs", 1)
    if isinstance(given, ast.Name):
        values = bindings(site.module).get(given.id, [])
        if len(values) == 1 and isinstance(values[0], ast.List) and not _is_changed(site.module, given.id):
            given = values[0]
    if isinstance(given, Missing):
        return []
    return given.elts if isinstance(given, ast.List) else [given]


def _is_changed(module: PythonModule, name: str) -> bool:
    """Whether a list may get other items later: a method of it is called, or an item of it assigned."""
    return name in _names_with_attributes(module) or not module.names.is_literal_only(name)


@per_module
def _names_with_attributes(module: PythonModule) -> set[str]:
    return {node.value.id for node in module.of(ast.Attribute) if isinstance(node.value, ast.Name)}


@per_module
def read_faults(module: PythonModule, function: FunctionNode, trainer: str, project: Project) -> list[Fault]:
    """What is wrong with a reward function, first what concerns most releases."""
    table = reward_calls()
    rows = table.of(trainer)
    if not rows:
        return []
    first = rows[0].releases
    faults = []
    refused = sorted(required_of(function) & table.withheld)
    if refused:
        faults.append(Fault(f"needs `{refused[0]}`, which {_short(trainer)} never passes", first))
    for row in rows:
        missing = [name for name in row.names if not takes(function, name)]
        if missing:
            words = " and ".join(f"`{name}`" for name in missing)
            faults.append(Fault(f"does not take {words}, which {_short(trainer)} passes: add `**kwargs`", row.releases))
            break
    if isinstance(function, ast.AsyncFunctionDef):
        faults.append(
            Fault(
                f"is a coroutine, which {_short(trainer)} does not await: make it a plain function",
                f"{first},<{table.async_since}",
            )
        )
    if (what := read_result(function)) is not None:
        faults.append(Fault(f"returns {what} instead of a list: give a reward for each completion", first))
    elif (item := gives_none(module, function, project)) is not None:
        message = f"gives None as a reward{by_helper(item)}, which {_short(trainer)} cannot use"
        faults.append(Fault(message, f"{first},<{table.none_since}", item))
    return faults


def _short(trainer: str) -> str:
    return trainer.rpartition(".")[2]


rule = RewardFunctionSignature()
