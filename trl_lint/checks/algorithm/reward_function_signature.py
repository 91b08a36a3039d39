"""TRL702: a reward function that cannot be called as the trainer calls it, or returns what it cannot use."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.algorithm._reward_columns import column_faults
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.rule import Rule, Site
from trl_lint.checks.verdict import judge_pins
from trl_lint.finding import Finding, Location, Severity
from trl_lint.knowledge.rewards import reward_calls
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT, Missing
from trl_lint.project.modules import imported_name
from trl_lint.python.guards import bindings, functions_named
from trl_lint.python.module import FunctionNode, PythonModule, own_nodes
from trl_lint.python.names import is_from
from trl_lint.python.values import argument
from trl_lint.records import NamedTuple

_TRAINERS = ("trl.GRPOTrainer", "trl.RLOOTrainer")
# It calls its reward functions in a process of their own, and pickles them for it: `start` of async_rollout_worker.py,
# read in 1.6.0 to 1.9.0 and 1.16.0; 1.5.1 runs them in a thread.
_SPAWNING = "trl.experimental.async_grpo.AsyncGRPOTrainer"
_SPAWNS = ">=1.6.0"
# What gives one number, text or truth for the whole batch.
_SCALAR_CALLS = frozenset({"float", "int", "bool", "len", "str"})


class Reward(NamedTuple):
    """A function of the project that is passed as a reward function, and where it is passed."""

    function: FunctionNode
    module: PythonModule
    passed: ast.expr


class Fault(NamedTuple):
    """What is wrong with it, in which releases of trl; `parameter`: the one that is at fault, if it is one."""

    message: str
    releases: str
    parameter: str = ""


class RewardFunctionSignature(Rule):
    code = "TRL702"
    triggers = (*_TRAINERS, _SPAWNING)

    def check_call(self, site: Site) -> Iterator[Finding]:
        if any(is_from(origin, _SPAWNING) for origin in site.module.names.origins(site.call.func)):
            yield from self._spawned(site)
            return
        environment = site.project.environment(site.module.path)
        trainer = trainer_of(site)
        for reward in read_rewards(site):
            faults = [(fault, self.page.severity) for fault in read_faults(reward.module, reward.function, trainer)]
            rows = reward_calls().of(trainer)
            if rows and not is_unsloth(site.module):
                for told in column_faults(site, reward.module, reward.function, required_of(reward.function), trainer):
                    level: Severity = "warning" if told.is_remembered else self.page.severity
                    faults.append((Fault(told.message, rows[0].releases, told.parameter), level))
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
    """Where a fault stands, and the other end of it: a parameter at fault in the function, all else at the trainer."""
    given = reward.function.args
    parameters = (one for one in (*given.args, *given.kwonlyargs) if one.arg == fault.parameter)
    parameter = next(parameters, None) if reward.module is site.module else None
    if parameter is not None:
        return site.module.location(parameter), site.module.location(reward.passed, "the trainer gets it here")
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
        target = _function(site, item) if isinstance(item, ast.Name) else None
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


def _function(site: Site, name: ast.Name) -> tuple[PythonModule, FunctionNode] | None:
    imported = imported_name(site.module, name, site.project)
    module, text = imported or (site.module, name.id)
    found = functions_named(module, text)
    is_plain = len(found) == 1 and not found[0].decorator_list and text not in bindings(module)
    if not is_plain or module.parents.get(found[0]) is not module.tree:
        return None
    if imported is None and module.names.is_imported(text):
        return None
    return module, found[0]


@per_module
def read_faults(module: PythonModule, function: FunctionNode, trainer: str) -> list[Fault]:
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
        missing = [name for name in row.names if not _takes(function, name)]
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
    elif gives_none(function):
        message = f"gives None as a reward, which {_short(trainer)} cannot use"
        faults.append(Fault(message, f"{first},<{table.none_since}"))
    return faults


def _short(trainer: str) -> str:
    return trainer.rpartition(".")[2]


def _takes(function: FunctionNode, name: str) -> bool:
    spec = function.args
    return spec.kwarg is not None or any(arg.arg == name for arg in (*spec.args, *spec.kwonlyargs))


def required_of(function: FunctionNode) -> set[str]:
    """The parameters without a default."""
    spec = function.args
    positional = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    named = [arg.arg for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default is None]
    return {*positional[: len(positional) - len(spec.defaults)], *named}


def read_result(function: FunctionNode) -> str | None:
    """What a function returns on every way if that is certainly no list; None if it may be one."""
    inner = own_nodes(function)
    if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in inner):
        return None
    values = [node.value for node in inner if isinstance(node, ast.Return)]
    if not values:
        return None if _is_stub(function) else "nothing"
    kinds = {_kind(value) for value in values}
    return kinds.pop() if len(kinds) == 1 else None


def gives_none(function: FunctionNode) -> bool:
    """Whether the list it returns may hold None in so many words: `[None if … else …]`, `rewards.append(None)`."""
    inner = own_nodes(function)
    returned = [node.value for node in inner if isinstance(node, ast.Return)]
    names = {value.id for value in returned if isinstance(value, ast.Name)}
    choices = [value.elt for value in returned if isinstance(value, ast.ListComp)]
    if any(isinstance(choice, ast.IfExp) and _is_none_or(choice) for choice in choices):
        return True
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "append"
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in names
        and len(returned) == 1
        and any(_is_none(arg) for arg in node.args)
        for node in inner
    )


def _is_none_or(choice: ast.IfExp) -> bool:
    return _is_none(choice.body) or _is_none(choice.orelse)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _kind(value: ast.expr | None) -> str | None:
    """A name for a value that is no list; None for what may be one."""
    if value is None or _is_none(value):
        return "nothing"
    if isinstance(value, (ast.Dict, ast.DictComp)):
        return "a dict"
    if isinstance(value, (ast.JoinedStr, ast.Constant)):
        return "one value"
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _SCALAR_CALLS:
        return "one value"
    return None


def _is_stub(function: FunctionNode) -> bool:
    """A body that leaves by raising, or is not written yet."""
    last = function.body[-1]
    return isinstance(last, (ast.Raise, ast.Pass)) or (
        isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)
    )


rule = RewardFunctionSignature()
