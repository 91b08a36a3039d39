"""TRL304: a default that a call relies on changed between the releases that the pins allow."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from trl_lint.checks.drift._calls import judged_calls
from trl_lint.checks.drift._classes import Callee
from trl_lint.checks.drift._defaults import Drift, Given, Usable, drifts
from trl_lint.checks.drift._omitted import reader, reader_inside, reader_of_loading
from trl_lint.checks.drift._runnable import runnable
from trl_lint.checks.drift.deprecated_in_release import is_ours
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import open_pin
from trl_lint.finding import Finding, Location, Severity
from trl_lint.knowledge.defaults import defaults_of
from trl_lint.knowledge.histories import positions
from trl_lint.knowledge.releases import allowed, newest
from trl_lint.project.stack import Choice, Choices
from trl_lint.python.module import PythonModule
from trl_lint.regexes import regex

if TYPE_CHECKING:
    from trl_lint.checks.drift._parsed import Run
    from trl_lint.project import Project
    from trl_lint.project.documents import Document
    from trl_lint.project.launches import Launch

_SHOWN = 3
_TEST_FOLDERS = frozenset(("test", "tests", "testing"))
_TEST_FILE = regex(r"test_|.*_test\.py$|conftest\.")


class DefaultChanged(Rule):
    code = "TRL304"
    imports = ("trl", "transformers")
    holding = ("script_fields",)
    launches = True

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        if is_test(os.path.relpath(module.path, project.root)):
            return
        told: set[str] = set()
        for call, callee, known in judged_calls(module, project):
            found = [
                drift
                for drift in found_in(call, callee, known, module, partial(runnable, module, known, project))
                if is_worth_it(drift, known) and is_ours(known[drift.row.package], module, call, project)
            ]
            if all(level_of(drift, known) == "info" for drift in found):  # once in a file is enough for a hint
                found = [drift for drift in found if drift.row.field not in told]
                told.update(drift.row.field for drift in found)
            if found:
                yield self._report(module.location(call.func), name_of(callee), found, known)

    def check_document(self, document: Document, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.drift._parsed import run_of_document

        run = None if is_test(os.path.relpath(document.path, project.root)) else run_of_document(document, project)
        if run is not None and document.mapping is not None and (found := belonging(run, project)):
            first = document.mapping.entries[0].key
            place = document.source.location(first.start, first.end)
            yield self._report(place, os.path.basename(document.path), found, run.known)

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        if launch.is_documentation or is_test(os.path.relpath(launch.source.path, project.root)):
            return  # a command that is shown leaves out what does not matter for showing it
        from trl_lint.checks.drift._parsed import run_of_launch

        run = run_of_launch(launch, project)
        if run is not None and (found := belonging(run, project)):
            program = launch.script or launch.launcher_word
            place = launch.source.location(program.start, program.end)
            yield self._report(place, run.parser.name, found, run.known)

    def _report(self, place: Location, name: str, found: list[Drift], known: Choices) -> Finding:
        found = sorted(found, key=lambda drift: level_of(drift, known) != "warning")
        return self.finding(
            place,
            word(name, found, known),
            severity=level_of(found[0], known),
            related=tuple(place for package in packages_of(found) for place in known[package].package.places),
            pin=open_pin(known[found[0].row.package], with_new_default(found[0], known)),
        )


def belonging(run: Run, project: Project) -> list[Drift]:
    """The drifts that are worth telling, of packages of which the project neither is a copy nor has one."""

    def is_own(chosen: Choice) -> bool:
        from trl_lint.project.own_copy import is_shadowed

        return chosen.package.is_own or is_shadowed(chosen, run.parser.path, project, chosen.package.name)

    return [drift for drift in run.found if is_worth_it(drift, run.known) and not is_own(run.known[drift.row.package])]


def is_test(path: str) -> bool:
    """Whether a file is a test by its name or its folder: what it trains is thrown away."""
    *folders, name = path.split(os.sep)
    return not _TEST_FOLDERS.isdisjoint(folders) or _TEST_FILE.match(name) is not None


def found_in(call: ast.Call, callee: Callee, known: Choices, module: PythonModule, usable: Usable) -> list[Drift]:
    """The changed defaults that a call relies on; `usable` as for `drifts`."""
    rows = defaults_of(callee.name)
    if not rows or callee.package not in known:
        return []
    return drifts(callee.dotted, callee.own, known, usable, _reader(call, callee, rows[0].inside, module))


def _reader(call: ast.Call, callee: Callee, inside: str, module: PythonModule) -> Given:
    if inside:
        return reader_inside(call, inside, module)
    return reader_of_loading(call, module) if callee.name == "from_pretrained" else reader(call, module)


def is_chosen(chosen: Choice) -> bool:
    """Whether somebody named the old end of the range: `trl<=0.9.6` allows the first release, but nobody gets it."""
    return any(sign in chosen.package.specifier for sign in (">", "~", "=="))


def is_worth_it(drift: Drift, known: Choices) -> bool:
    """Whether more than a floor speaks for the old release, or the change alters the training."""
    chosen = known[drift.row.package]
    return is_chosen(chosen) and (drift.row.level == "warning" or is_held_back(chosen))


def level_of(drift: Drift, known: Choices) -> Severity:
    """A hint where a floor alone allows the old value: pip takes the newest release, and the floor may be just old."""
    return drift.row.level if is_held_back(known[drift.row.package]) else "info"


def is_held_back(chosen: Choice) -> bool:
    """Whether one of the pins keeps a release from being installed that is newer than what it allows."""
    name = chosen.package.name
    ends = (allowed(name, specifier) for specifier in chosen.package.specifier.split(" | "))
    return any(found is not None and found[-1] != newest(name) for found in ends)


def with_new_default(drift: Drift, known: Choices) -> tuple[str, ...]:
    """The releases in use that have the new default."""
    at = positions(drift.row.package)
    return tuple(v for v in known[drift.row.package].releases if at[v] >= at[drift.row.since])


def packages_of(found: Sequence[Drift]) -> list[str]:
    return list(dict.fromkeys(drift.row.package for drift in found))


def name_of(callee: Callee) -> str:
    """How a message calls a class, or a method with its class."""
    parts = callee.dotted.split(".")
    return ".".join(parts[-2:]) if parts[-1] == "from_pretrained" else parts[-1]


def word(name: str, found: Sequence[Drift], known: Choices) -> str:
    """Say what is left to a default, what it was and is, what that changes, and which pins allow both."""
    pins = " and ".join(f"{package}{known[package].package.specifier}" for package in packages_of(found))
    stated = [drift for drift in found if drift.can_be_stated]
    if len(found) == 1:
        return f"{_one(name, found[0])}: {_advice(found[0])} ({pins} allows both)"
    shown = ", ".join(map(_brief, found[:_SHOWN]))
    rest = [f"`{drift.row.field}`" for drift in found[_SHOWN:]]
    more = f", and {len(rest)} more ({', '.join(rest)})" if rest else ""
    advice = "state the values you want" if len(stated) == len(found) else "narrow the pins or state what can be stated"
    return f"`{name}` takes defaults that changed within {pins}: {advice}; {shown}{more}"


def _one(name: str, drift: Drift) -> str:
    row = drift.row
    if row.given:
        changed = f"{row.package} {row.since} changed `{row.field}` of `{name}`"
        return f"{changed} from {drift.old} to {drift.new} ({row.effect})"
    place = f" in `{row.inside}`" if row.inside else ""
    return (
        f"{row.package} {row.since} changed the default of `{row.field}`{place} of `{name}` from {drift.old} to "
        f"{drift.new} ({row.effect})"
    )


def _brief(drift: Drift) -> str:
    row = drift.row
    return f"`{row.field}` {drift.old} → {drift.new} in {row.package} {row.since} ({row.effect})"


def _advice(drift: Drift) -> str:
    return "state the value you want" if drift.can_be_stated else "narrow the pin to the one that is meant"


rule = DefaultChanged()
