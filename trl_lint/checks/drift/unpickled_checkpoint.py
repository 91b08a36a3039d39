"""TRL306: `torch.load` leaves `weights_only` to a default that unpickles anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.rule import Rule, Site
from trl_lint.checks.verdict import Verdict, judge_pins
from trl_lint.finding import Finding, Fix
from trl_lint.grading import milder
from trl_lint.missing import ABSENT
from trl_lint.paths import is_test_file
from trl_lint.project.stack import environment_at
from trl_lint.python.islands import rewrite, with_keyword
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument

# The default is True from 2.6.0 on (release notes, "Flip default torch.load to weights_only"); 1.13 has it first.
_UNPICKLES = {"torch": ">=1.13,<2.6"}


class UnpickledCheckpoint(Rule):
    code = "TRL306"
    triggers = ("torch.load",)
    skips_tests = True

    def check_call(self, site: Site) -> Iterator[Finding]:
        if not is_left_to_default(site.call) or is_test_file(site.module.path):
            return
        verdict = read_releases(site)
        # Where only some of the releases do it, one hint tells a file's author.
        if verdict is None or (verdict.severity == "info" and site.call is not first_load(site.module)):
            return
        from trl_lint.checks.drift._checkpoints import written_by_project

        own = written_by_project(site.call, site.module, site.project)
        shown = "" if own is None else "; this file seems to be the project's own"
        yield self.finding(
            site.location,
            "without `weights_only=True` torch.load runs any code that the file holds; from 2.6 on it loads tensors "
            f"and refuses the rest{shown} ({verdict.scope})",
            severity=milder(verdict.severity, own is not None),
            related=verdict.related if own is None else (own.place, *verdict.related),
            fix=edit_weights_only(site) if own is not None and own.is_state else None,
        )


def is_left_to_default(call: ast.Call) -> bool:
    """Another `pickle_module` rules `weights_only` out, and so is a choice as well."""
    return argument(call, "weights_only") is ABSENT and argument(call, "pickle_module", 2) is ABSENT


def first_load(module: PythonModule) -> ast.Call | None:
    """The first load of a file that leaves the choice to torch."""
    loads = (call for call in module.calls if "torch.load" in module.names.origins(call.func))
    return next((call for call in loads if is_left_to_default(call)), None)


def read_releases(site: Site) -> Verdict | None:
    """The releases of torch that may be in use and unpickle anything; None if the pins allow none."""
    environment = environment_at(site.module, site.call, site.project, "torch")
    return None if environment is None else judge_pins(environment, _UNPICKLES, "warning")


def edit_weights_only(site: Site) -> Fix | None:
    """What 2.6 does. Not safe: an older file that holds an optimiser's or a config's classes is not read any more."""
    edit = rewrite(site, site.call, lambda call: with_keyword(call, "weights_only", "True"))
    return Fix("Add `weights_only=True`", "unsafe", (edit,)) if edit is not None else None


rule = UnpickledCheckpoint()
