"""TRL506: an environment variable that the releases in use ignore, renamed or choke on, or whose name is misspelt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from trl_lint.checks.launch._variables import (
    Setting,
    dockerfile_settings,
    is_dockerfile,
    launch_settings,
    names_used,
    python_settings,
    recipe_settings,
)
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Fix
from trl_lint.grading import milder
from trl_lint.knowledge.variables import Variable
from trl_lint.missing import UNKNOWN, Missing
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.environment import Environment
from trl_lint.project.launches import Launch
from trl_lint.project.pins import Manifest
from trl_lint.project.scripts import Script
from trl_lint.python.module import PythonModule
from trl_lint.run.runs import run_of
from trl_lint.sources import Source, SourceError

_TRUE = frozenset({"true", "1", "yes"})


class StaleEnvironmentVariable(Rule):
    code = "TRL506"
    launches = True
    scripts = True
    manifests = True
    holding = ("environment",)
    imports = ("os", "ray")
    # The names of rules/environment, so that no Python file is parsed in vain; a test compares the two.
    needles = (
        b"CUDA_VIS", b"NCCL_ASYNC_ERROR_HANDLING", b"NCCL_BLOCKING_WAIT", b"PYTORCH_CUDA_A", b"TRANSFORMERS_CACHE",
        b"VLLM_", b"HF_HUB_", b"HF_HOME", b"HF_DATASETS_", b"TRANSFORMERS_OFFLINE", b"HF_ENDPOINT", b"WANDB_DISABLED",
        b"CUDA_LAUNCH_B", b"PYTHONUN", b"TOKENIZERS_P", b"OMP_NUM_T", b"NCCL_P2P_D", b"NCCL_IB_D", b"NCCL_SOCKET_IF",
    )  # fmt: skip

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        if launch.command.errors:
            return
        environment = project.environment_of(launch)
        for setting in launch_settings(launch):
            is_own = partial(_is_own, launch=launch, project=project)
            finding = self.judged(
                setting,
                environment,
                lambda package: uses(package, launch),
                lambda text: has_argument(launch, text, project),
                is_own,
            ) or self.misspelt(setting, is_own)
            if finding is None:
                continue
            if launch.is_documentation:
                if finding.severity == "info":
                    continue
                finding = finding._replace(severity=milder(finding.severity))
            yield finding

    def check_manifest(self, manifest: Manifest, project: Project) -> Iterator[Finding]:
        if not is_dockerfile(manifest.path):
            return
        source = Source(project.files.get(manifest.path), "dockerfile")
        used = names_used(source.text)
        for setting in dockerfile_settings(source):
            yield from self.found(setting, project.environment(manifest.path), used.__contains__)

    def check_document(self, document: Document, project: Project) -> Iterator[Finding]:
        for setting in recipe_settings(document):
            yield from self.found(setting, project.environment(document.path), lambda name: False)

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.launch._handed_on import set_late

        for fault in set_late(module):
            yield self.finding(fault.location, fault.message, severity="warning", related=fault.related)
        text = module.text
        for setting in python_settings(module):
            # A name that the file mentions twice may be its own.
            yield from self.found(setting, project.environment(module.path), lambda name: text.count(name) > 1)

    def check_script(self, script: Script, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.launch._handed_on import behind_ray, not_exported

        for fault in (*not_exported(script, project), *behind_ray(script, project)):
            yield self.finding(fault.location, fault.message, severity="warning", related=fault.related)

    def found(self, setting: Setting, environment: Environment, is_own: Callable[[str], bool]) -> Iterator[Finding]:
        finding = self.judged(setting, environment, lambda package: False, lambda text: False, is_own)
        finding = finding or self.misspelt(setting, is_own)
        if finding is not None:
            yield finding

    def judged(
        self,
        setting: Setting,
        environment: Environment,
        uses: Callable[[str], bool],
        has_argument: Callable[[str], bool],
        is_own: Callable[[str], bool],
    ) -> Finding | None:
        """What the releases make of the variable; None where nothing is wrong with it."""
        from trl_lint.checks.verdict import Level, judge_pins
        from trl_lint.knowledge.variables import entries

        for entry in entries(setting.name):
            if setting.value is None or not entry.fits(setting.value) or entry.rename in setting.beside:
                continue
            effect = entry.effect_beside(setting.value, setting.beside)
            if effect is None or (entry.is_listed and is_own(setting.name)):
                continue
            if entry.mentions and not has_argument(f"mentions {entry.mentions}"):
                continue
            if entry.when and not any(all(map(has_argument, group)) for group in entry.when):
                continue
            packages = [environment.package(name) for name in entry.packages]
            if any(package.is_own for package in packages):
                continue
            if any(not package.pins and package.source == "assumed" and not uses(package.name) for package in packages):
                continue
            holds_for_all = all(package.holds(entry.packages[package.name]) == "all" for package in packages)
            # A name that some allowed release still reads is no mistake where nothing but a hint is said of it.
            if not holds_for_all and (entry.is_listed or entry.rename) and entry.severity == "info":
                continue
            verdict = judge_pins(environment, entry.packages, Level(entry.severity, of_code=False))
            if verdict is None:
                continue
            return self.finding(
                setting.location,
                f"`{setting.name}` {effect}; {entry.instead} ({verdict.scope})",
                severity=verdict.severity,
                related=verdict.related,
                fix=edit_name(setting, entry),
            )
        return None

    def misspelt(self, setting: Setting, is_own: Callable[[str], bool]) -> Finding | None:
        """A name that can only be a slip: nothing reads it."""
        from trl_lint.knowledge.variables import misspelt

        meant = misspelt(setting.name)
        if meant is None or meant.name in setting.beside or is_own(setting.name):
            return None
        fix = None
        if setting.rename is not None:
            fix = Fix(f"call it `{meant.name}`", "unsafe", (setting.rename(meant.name),))
        return self.finding(
            setting.location,
            f"nothing reads `{setting.name}`, and {meant.consequence}: did you mean `{meant.name}`?",
            severity="error",
            fix=fix,
        )


def uses(package: str, launch: Launch) -> bool:
    """Whether a command certainly uses a package that nothing pins: all programs run torch, vLLM is named."""
    if package == "torch":
        return launch.program is not None and not launch.program.serves_only
    words = launch.command.words if package == "vllm" else ()
    return any("vllm" in (word.text or "") for word in words)


def has_argument(launch: Launch, text: str, project: Project) -> bool:
    """Whether the program certainly gets `--flag` (switched on) or `--flag=value`, as an argument or in its recipe."""
    if text.startswith("mentions "):
        return _mentions(launch, text.partition(" ")[2], project)
    flag, equals, wanted = text.partition("=")
    value = launch.flag(flag)
    if value is UNKNOWN:
        return False
    if not isinstance(value, Missing):
        given = value.text or ""
        return given == wanted if equals else given == flag or given.lower() in _TRUE
    document = run_of(launch, project).recipe
    set_there = document.value(flag.lstrip("-")) if document is not None else None
    return set_there == wanted if equals else set_there is True


def _mentions(launch: Launch, word: str, project: Project) -> bool:
    """Whether the words of a command, or its script, hold a word."""
    if any(word in (one.text or "") for one in launch.args):
        return True
    with suppress(OSError, SourceError):
        return launch.script_path is not None and project.files.holds(launch.script_path, word.encode())
    return False


def _is_own(name: str, launch: Launch, project: Project) -> bool:
    """Whether the script or the file of the command reads a variable of this name itself."""
    if name in names_used(launch.source.text):
        return True
    if launch.script_path is None:
        return launch.script is not None
    try:
        return project.files.fits(launch.script_path, rb"\b%s\b" % name.encode())
    except OSError:
        return True


def edit_name(setting: Setting, entry: Variable) -> Fix | None:
    """Give the variable the name that every allowed release knows."""
    if not entry.rename or setting.rename is None:
        return None
    return Fix(f"call it `{entry.rename}`", entry.rename_safety, (setting.rename(entry.rename),))


rule = StaleEnvironmentVariable()
