"""TRL301: a keyword argument that the releases in use do not take."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from trl_lint.checks.drift._calls import Argument, Callee, accepts, arguments, known_calls, parameter, signature_of
from trl_lint.checks.drift._judging import Verdict, is_shadowed, judge, ranges_of
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Fix
from trl_lint.knowledge.histories import positions, releases
from trl_lint.knowledge.presence import points_of_parameter, stretches
from trl_lint.project.stack import PACKAGES, Choices
from trl_lint.python.module import PythonModule
from trl_lint.python.version_guards import is_guarded

if TYPE_CHECKING:
    from trl_lint.project import Project


class Past(NamedTuple):
    """Where a parameter is found outside the releases in use.

    `package`: the one whose releases differ. `releases`: those that have it, oldest first. `successor`: the parameter
    that the last of the older ones announced to use instead; `is_rename`: with the same value.
    """

    package: str
    releases: tuple[str, ...]
    successor: str
    is_rename: bool


class ArgumentNotInRelease(Rule):
    code = "TRL301"
    imports = PACKAGES

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        known = Choices(project.environment(module.path))
        told: set[tuple[str, str]] = set()
        for call, callee in known_calls(module):
            for argument in arguments(call):
                if argument.name in callee.own:
                    continue
                finding = self._judge(call, callee, argument, known, module, project, told)
                if finding is not None:
                    yield finding

    def _judge(
        self,
        call: ast.Call,
        callee: Callee,
        argument: Argument,
        known: Choices,
        module: PythonModule,
        project: Project,
        told: set[tuple[str, str]],
    ) -> Finding | None:
        dotted, name = callee.dotted, argument.name
        if callee.package not in known:
            return None
        points = points_of_parameter(dotted, name)
        newest = known.newest(points)
        if accepts(dotted, name, newest) is None:
            return None
        ask = partial(accepts, dotted, name)
        past = None
        culprit = callee.package
        if ask(newest) is False:
            past = read_past(dotted, name, newest)
            culprit = past.package if past is not None else culprit
        verdict = judge(known, points, ask, self.page.severity, culprit)
        if verdict is None or is_guarded(module, call):
            return None
        if is_shadowed(known[callee.package], module.path, project, callee.name, name):
            return None
        if verdict.only_old:  # a floor that is too low: one sentence about it in a file is enough
            if (name, verdict.where) in told:
                return None
            told.add((name, verdict.where))
        return self.finding(
            module.location(argument.node),
            word(callee, name, verdict, past, newest),
            severity=verdict.severity,
            related=verdict.related,
            fix=edit_rename(call, argument, past, partial(accepts, dotted), known, points, module),
        )


def read_past(dotted: str, name: str, newest: dict[str, str]) -> Past | None:
    """Find the releases that have a parameter which those in use lack: of the callee's package, else of a base's."""
    points = points_of_parameter(dotted, name)
    packages = sorted(newest, key=lambda package: package != dotted.partition(".")[0])
    for package in packages:
        having = [
            stretch
            for stretch in stretches(package, releases(package), points.get(package, frozenset()))
            if accepts(dotted, name, {**newest, package: stretch[-1]})
        ]
        if having:
            at = positions(package)[newest[package]]
            older = [stretch[-1] for stretch in having if positions(package)[stretch[-1]] < at]
            last = parameter(dotted, name, {**newest, package: older[-1]}) if older else None
            announced = last is not None and last.deprecated
            return Past(
                package,
                tuple(version for stretch in having for version in stretch),
                last.successor if last is not None and announced else "",
                last.is_rename if last is not None and announced else False,
            )
    return None


def word(callee: Callee, name: str, verdict: Verdict, past: Past | None, newest: dict[str, str]) -> str:
    """Say which releases lack the argument, which have it, and what takes its place."""
    sentences = [f"`{callee.name}` has no argument `{name}` in {verdict.where}"]
    if past is not None:
        sentences.append(f"{past.package} {ranges_of(past.releases, releases(past.package))} has it")
        if past.successor and accepts(callee.dotted, past.successor, newest):
            sentences.append(f"its successor is `{past.successor}`")
    config = callee.dotted.removesuffix("Trainer") + "Config"
    if callee.name.endswith("Trainer") and signature_of(config, newest) is not None:
        wanted = next((n for n in (name, past.successor if past else "") if accepts(config, n, newest)), "")
        if wanted:
            sentences.append(f"`{config.rpartition('.')[2]}` takes `{wanted}`")
    return "; ".join(sentences)


def edit_rename(
    call: ast.Call,
    argument: Argument,
    past: Past | None,
    accepted: partial[bool | None],
    known: Choices,
    points: Mapping[str, frozenset[int]],
    module: PythonModule,
) -> Fix | None:
    """Rename the keyword where its own release announced the new name for the same value.

    Unsafe: what is announced as a new name is sometimes a near relative (`rloo_k` became `num_generations`).
    Withheld where the call passes the new name already, or may pass it in `**kwargs`, where the name stands in a dict
    (it may be used for something else), and where some of the allowed releases do not take the new name.
    """
    if past is None or not past.is_rename or not past.successor.isidentifier():
        return None
    if not isinstance(argument.node, ast.keyword) or argument.node not in call.keywords:
        return None
    if any(keyword.arg in (None, past.successor) for keyword in call.keywords):
        return None
    newest = known.newest(points)
    for package in newest:
        if not all(accepted(past.successor, {**newest, package: version}) for version in known[package].releases):
            return None
    start, _ = module.span(argument.node)
    edit = module.source.edit(start, start + len(argument.name), past.successor)
    return Fix(f"Rename `{argument.name}` to `{past.successor}`", "unsafe", (edit,))


rule = ArgumentNotInRelease()
