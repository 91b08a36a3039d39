"""The commands that run a Python file, and the config documents each of them uses."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from trl_lint import tracked
from trl_lint.coverage import NO_FLAG, OUTSIDE
from trl_lint.finding import Severity
from trl_lint.grading import milder
from trl_lint.memos import per_project
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.sources import SourceError

if TYPE_CHECKING:
    from trl_lint.finding import Location
    from trl_lint.project import Project
    from trl_lint.project.documents import Document
    from trl_lint.project.launches import Launch

# How many packages may hand a name on: `from lib import T`, which `lib/__init__.py` has from `.core`.
_MOST_PACKAGES = 3
_CONFIG_SUFFIXES = (".yaml", ".yml", ".json")


def runs_of(path: str, project: Project) -> list[Launch]:
    """The launches whose script is the file at `path`, or imports it by its name or from a package that hands it on."""
    from trl_lint.project.launch_table import all_launches

    starts = _import_patterns(path, project)
    verdicts = {path: True}
    found = []
    for launch in all_launches(project):
        script = launch.script_path
        if script is None:
            continue
        if script not in verdicts:
            verdicts[script] = any(_fits(script, pattern, project) for pattern in starts)
        if verdicts[script]:
            found.append(launch)
    return found


@per_project
def _import_patterns(path: str, project: Project) -> list[bytes]:
    """What imports of a module look like: of itself, and of the packages whose `__init__.py` imports it in turn."""
    found = [import_pattern(path)]
    folder = os.path.dirname(path)
    for _ in range(_MOST_PACKAGES):
        package = os.path.join(folder, "__init__.py")
        if package == path or not tracked.is_file(package) or not _fits(package, found[-1], project):
            break
        found.append(import_pattern(package))
        folder = os.path.dirname(folder)
    return found


def _fits(path: str, pattern: bytes, project: Project) -> bool:
    try:
        return project.files.fits(path, pattern)
    except OSError:
        return False


def import_pattern(path: str) -> bytes:
    """What an import of the module at `path` looks like, whatever package it is in."""
    stem = os.path.splitext(os.path.basename(path))[0]
    if stem == "__init__":
        stem = os.path.basename(os.path.dirname(path))
        tracked.note_name(stem)
    name = rf"(?:[\w.]*\.)?{re.escape(stem)}"
    package = rf"(?:[\w.]+[ \t]+import[ \t]+{re.escape(stem)}\b)"
    text = rf"(?m)^[ \t]*(?:from[ \t]+(?:{name}[ \t]+import|{package})|import[ \t]+{name}\b)"
    return os.fsencode(text)  # a name on disk need not be Unicode


def recipe_launches(document: Document, project: Project) -> list[Launch]:
    """The commands that name the recipe. Commands shown in documentation prove nothing about how it is used."""
    return [launch for launch in naming_launches(document, project) if not launch.is_documentation]


def naming_launches(document: Document, project: Project) -> list[Launch]:
    """The commands that name a document among their arguments, those shown in documentation too."""
    return list(_naming(document.path, project))


@per_project
def _naming(path: str, project: Project) -> tuple[Launch, ...]:
    named = _launches_by_name(project).get(os.path.basename(path), {})
    found = (one for one, texts in named.items() if any(_is_file(text, path, one, project) for text in texts))
    return tuple(found)


@per_project
def _launches_by_name(project: Project) -> dict[str, dict[Launch, list[str]]]:
    """The arguments of all commands by their last path component: `DIR/NAME`, or `--flag=DIR/NAME`."""
    from trl_lint.project.launch_table import all_launches

    table: dict[str, dict[Launch, list[str]]] = {}
    for launch in all_launches(project):
        for word in launch.args:
            text = (word.text or "").rpartition("=")[2]
            table.setdefault(os.path.basename(text), {}).setdefault(launch, []).append(text)
    return table


def _is_file(text: str, path: str, launch: Launch, project: Project) -> bool:
    """Whether a path in a command is the file: from the project's root, the command's file or its script."""
    bases = [project.root, os.path.dirname(launch.source.path)]
    if launch.script_path:
        bases.append(os.path.dirname(launch.script_path))
    return any(os.path.normpath(os.path.join(base, text)) == path for base in bases)


def accelerate_launches(document: Document, project: Project) -> list[Launch]:
    """The commands that name the accelerate config: with `--config_file`, or `--accelerate_config` of `trl`."""
    from trl_lint.project.launch_table import all_launches

    found = []
    for launch in all_launches(project):
        path = launch.config_file
        if launch.launcher == "trl":
            text = getattr(launch.flag("--accelerate_config"), "text", None)
            path = launch.file_named(text) if text else None
        if path == document.path:
            found.append(launch)
    return found


def launcher_option(launch: Launch, name: str) -> bool | None:
    """Whether a command sets an option of `accelerate launch` (no dashes, `_`); None if that cannot be known."""
    if launch.launcher == "trl":
        # A key of the recipe is as good as the flag, and who reads the recipe is another question.
        return None if isinstance(launch.flag(f"--{name}"), Missing) else True
    if any(option.lstrip("-").replace("-", "_") == name for option in launch.options):
        return True
    return None if launch.hides_options() else False


def after_flags(
    severity: Severity,
    names: tuple[str, ...],
    launches: list[Launch],
    has_flag: Callable[[Launch, str], bool | None],
) -> Severity | None:
    """The severity of values in a file once the command line is heard: a flag of one of these names overrides them.

    None where every launch does, one lower where some do or where an unreadable command might.
    """
    answers = []
    for launch in launches:
        flags = [has_flag(launch, name) for name in names]
        answers.append(True if True in flags else None if None in flags else False)
    if answers and all(answer is True for answer in answers):
        return None
    return milder(severity, any(answer is not False for answer in answers))


def after_commands(severity: Severity, names: tuple[str, ...], document: Document, project: Project) -> Severity | None:
    """As `after_flags`, of a recipe and the commands that name it, each of which its framework reads in its own way."""
    from trl_lint.run.effective import Setting, Unknown, of_flag

    def has_flag(launch: Launch, name: str) -> bool | None:
        from trl_lint.run.runs import run_of

        found = run_of(launch, project).config.given(name)
        if isinstance(found, Unknown) and found.reason == OUTSIDE:
            # The script fills its config out of the file, and nothing but a flag of the command goes over that.
            said = of_flag(launch, name)
            return None if said is UNKNOWN else said is not ABSENT
        if not isinstance(found, Setting):
            # What is not understood may read the file in any way, but no flag goes over it.
            return None if isinstance(found, Unknown) and found.reason not in NO_FLAG else False
        in_file = found.location is not None and found.location.path == document.path  # a flag that stands for a key
        return found.origin == "flag" and not in_file

    return after_flags(severity, names, recipe_launches(document, project), has_flag)


def config_documents(launch: Launch, project: Project) -> Iterator[Document]:
    """The recognised documents a launch configures its run with: those it names, and the DeepSpeed config they name."""
    named = [launch.config_file]
    if (option := launch.options.get("--deepspeed_config_file")) is not None and option.text:
        named.append(launch.file_named(option.text))
    for word in launch.args:
        text = (word.text or "").rpartition("=")[2]
        if text.endswith(_CONFIG_SUFFIXES):
            named.append(launch.file_named(text))
    for path in dict.fromkeys(named):
        document = _document(path, project)
        if document is None or document.kind == "other":
            continue
        yield document
        key = document.definition.holds.deepspeed
        file = document.value(key) if key else None
        if isinstance(file, str) and launch.flag("--deepspeed") is ABSENT:
            inner = _document(launch.file_named(file), project)
            if inner is not None and inner.kind == "deepspeed":
                yield inner


def is_overridden(launch: Launch, document: Document, key: str) -> bool:
    """Whether an option of the launcher may replace the value at a dotted key of its config."""
    if document.kind != "accelerate":
        return False
    from trl_lint.run.readers.accelerate import BACKEND_OPTIONS

    name = key.rpartition(".")[2]
    names = BACKEND_OPTIONS if name == "distributed_type" else (name,)
    return any(f"--{each}" in launch.options for each in names)


def deepspeed_in_code(path: str, project: Project) -> Iterator[tuple[Document, Location]]:
    """The DeepSpeed configs that a script names in its training arguments (`GRPOConfig(deepspeed="…")`), and where."""
    from trl_lint.project.links import linked_files
    from trl_lint.python.guards import last_name
    from trl_lint.python.module import PythonModule
    from trl_lint.sources import Source

    try:
        if not path.endswith(".py") or not project.files.holds(path, b"deepspeed"):
            return
        file = project.files.get(path)
        module = PythonModule(Source(file, "python"))
    except (OSError, SourceError):
        return
    for call in module.calls:
        for keyword in call.keywords:
            if keyword.arg != "deepspeed" or not last_name(call.func).endswith(("Config", "Arguments")):
                continue
            name = module.value(keyword.value)
            paths = linked_files(name, module.source, None) if isinstance(name, str) else []
            document = _document(paths[0], project) if len(paths) == 1 else None
            if document is not None and document.kind == "deepspeed":
                yield document, module.location(keyword, "used here")


def _document(path: str | None, project: Project) -> Document | None:
    """The document at a path; None where there is none or it cannot be read, which is said where it is checked."""
    if path is None or not path.endswith(_CONFIG_SUFFIXES):
        return None
    try:
        return project.document_in(path)
    except (OSError, SourceError):
        return None
