"""TRL203: a package whose releases break their callers every few weeks, without an upper bound.

Only where the file decides what gets installed: a library that asks for `trl>=0.9` in its metadata is right not to cap.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import ClassVar

from trl_lint.checks.pins._conflicts import read_conflict
from trl_lint.checks.pins._remedies import edit_specifier
from trl_lint.checks.pins._views import View, said_again, views_of
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Severity
from trl_lint.grading import beside
from trl_lint.memos import per_project
from trl_lint.paths import MARKDOWN
from trl_lint.project import Project
from trl_lint.project.launch_table import launches_in
from trl_lint.project.pins import Manifest, Pin, kind_of
from trl_lint.regexes import regex
from trl_lint.sources import SourceError

# Releases that remove or re-default something come monthly or faster; torch, numpy or peft announce theirs long before.
FAST_MOVING = ("trl", "vllm", "verl", "openrlhf")
_UPPER_BOUND = regex(r"(?:^|[,|]\s*)(?:===|==|~=|<=|<)")
# Beside one of these, a package is there to train; vLLM alone serves, or evaluates.
_TRAINING = frozenset(("trl", "verl", "openrlhf", "deepspeed", "accelerate", "peft"))
# What lists packages, and starts nothing; and what may import them.
_LISTS = frozenset(
    ("requirements", "constraints", "freeze", "conda", "pyproject", "setup.py", "setup.cfg", "uv-lock", "poetry-lock",
     "pipfile", "pipfile-lock", "pylock", "script-lock", "compiled")
)  # fmt: skip
_CODE = (".py", ".ipynb", ".sh")
_PACKAGING = ("pyproject.toml", "setup.py", "setup.cfg")


class UnpinnedPackage(Rule):
    code: ClassVar[str] = "TRL203"
    manifests: ClassVar[bool] = True

    def check_manifest(self, manifest: Manifest, project: Project) -> Iterator[Finding]:
        names = {pin.package for pin in manifest.pins}
        if names.isdisjoint(FAST_MOVING) or names.isdisjoint(_TRAINING):
            return
        for view in views_of(manifest, project):
            for name in FAST_MOVING:
                if name not in view.names or is_bounded(name, view):
                    continue
                for pin in view.reported(name):
                    severity = judge_pin(pin, manifest, project)
                    if severity is not None:
                        severity = beside(severity, severity != "info" and not is_used(name, project))
                        yield self._report(pin, severity, view)

    def _report(self, pin: Pin, severity: Severity, view: View) -> Finding:
        package = view.package(pin.package)
        newest = package.resolved
        message = (
            f"{pin.package}{pin.specifier} installs whatever release is newest on the day; "
            "its releases remove arguments and change defaults every few weeks"
        )
        if newest is not None:
            message += f" (newest known: {newest})"
        fix = edit_specifier(pin, f"=={newest}", "unsafe", view) if newest is not None else None
        message = f"{message}. Pin the release you tested"
        return self.finding(pin.location, message, severity=severity, related=said_again(pin, view), fix=fix)


def is_bounded(name: str, view: View) -> bool:
    """Whether something else decides the release: a lock, a constraint, a target, another package's requirement."""
    package = view.package(name)
    if package.is_own or package.source in ("lock", "target") or _UPPER_BOUND.search(package.specifier):
        return True
    if view.is_held_back(name):
        return True  # such as the torch beside a vLLM
    for other in view.dependents(name):
        provider = view.package(other)
        if provider.resolved is None or provider.source == "assumed":
            continue
        needed = view.required(other, provider.resolved, name)
        if needed is not None and needed.may_bind and _UPPER_BOUND.search(needed.specifier):
            return True
        if read_conflict(other, name, view) is not None:
            return True  # TRL202 names the range the pin should have
    return False


def judge_pin(pin: Pin, manifest: Manifest, project: Project) -> Severity | None:
    """How much a pin without an upper bound matters where it stands; None: not at all.

    A warning only for what an application is installed from; a stated minimum shows that somebody thought about it.
    """
    if pin.kind in ("inert", "url", "constraint", "override", "group", "extra") or _UPPER_BOUND.search(pin.specifier):
        return None
    if manifest.kind in ("requirements", "conda"):
        if pin.specifier or is_library(manifest.path, project) or not is_main(manifest):
            return "info" if not (pin.specifier and is_library(manifest.path, project)) else None
        return "warning"
    if manifest.kind in ("notebook", "pep723", "dockerfile", "shell", "makefile"):
        return None if pin.specifier else "info"
    return None


@per_project
def is_used(name: str, project: Project) -> bool:
    """Whether anything of a project but its lists of packages has the name of one; true where there is no code."""
    words = (name.encode(), name.upper().encode(), name.title().encode())
    is_code = False
    for path in project.paths:
        if kind_of(path) in _LISTS:
            continue
        is_code = is_code or path.endswith(_CODE)
        with suppress(OSError, SourceError):
            if project.files.holds(path, *words) and not (path.endswith(MARKDOWN) and not launches_in(path, project)):
                return True
    return not is_code


def is_main(manifest: Manifest) -> bool:
    return manifest.kind == "conda" or os.path.basename(manifest.path).lower() == "requirements.txt"


def is_library(path: str, project: Project) -> bool:
    """Whether the folder of a manifest builds a package that others install."""
    folder = os.path.dirname(path)
    found = (project.manifest_around(os.path.join(folder, name)) for name in _PACKAGING)
    return any(manifest is not None and manifest.project for manifest in found)


rule = UnpinnedPackage()
