"""What an advisory needs beside the pins: that the code they govern uses the part that fails."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache

from trl_lint import tracked
from trl_lint.checks.pins._views import ConditionsMet, View
from trl_lint.finding import Location
from trl_lint.knowledge.compat import Advisory, Repair, Settings
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.governed import governed_files, pins_itself
from trl_lint.project.launch_table import all_launches
from trl_lint.project.launches import Launch
from trl_lint.regexes import regex
from trl_lint.sources import SourceError
from trl_lint.sources.shell import Word

CODE_BYTES = 1_000_000
_PYTHON = (".py", ".ipynb")
_STAGE_IN_NAME = regex(r"(?i)(?:zero|(?<![a-z])z|stage)[_-]?([0-3])(?!\d)")
_CODE = (*_PYTHON, ".sh", ".slurm", ".sbatch", ".yaml", ".yml")


def find_evidence(advisory: Advisory, view: View) -> ConditionsMet | None:
    """The evidence for an advisory in the code that runs with a manifest's pins; None if a condition is not met."""
    if advisory.id not in view.evidence:
        view.evidence[advisory.id] = _search(advisory, view)
    return view.evidence[advisory.id]


def _search(advisory: Advisory, view: View) -> ConditionsMet | None:
    if not (advisory.uses or advisory.switches or advisory.patched or advisory.documents):
        return ConditionsMet()
    files = list(governed_files(view.manifest, advisory.packages, view.project))
    if advisory.patched and find_use(advisory.patched, _CODE, advisory, files, view.project) is not None:
        return None
    if advisory.documents:
        found = next(_runs(advisory, files, view.project), None)
        if found is not None or advisory.otherwise is None or is_ruled_out(advisory, files, view):
            return found
    if not (advisory.uses or advisory.switches):
        return ConditionsMet()
    files = unrepaired(files, advisory.patched_by, next(iter(advisory.packages)), view)
    place = find_use(advisory.uses, _CODE, advisory, files, view.project) if advisory.uses else None
    place = place or _find_switched_on(advisory, files, view.project)
    return None if place is None else ConditionsMet((place,))


def find_use(
    words: tuple[str, ...], suffixes: tuple[str, ...], advisory: Advisory, files: list[str], project: Project
) -> Location | None:
    """The first place where one of the words stands in the files of these kinds that do not pin for themselves."""
    for path in files:
        place = find_word(words, path, project, advisory.packages) if path.endswith(suffixes) else None
        if place is not None and takes_part(path, advisory.packages, files, project):
            return place
    return None


def _find_switched_on(advisory: Advisory, files: list[str], project: Project) -> Location | None:
    for path in files if advisory.switches else ():
        place = find_switch(advisory.switches, path, project) if path.endswith(_CODE) else None
        if place is not None and takes_part(path, advisory.packages, files, project):
            return place
    return None


def takes_part(path: str, packages: Iterable[str], files: list[str], project: Project) -> bool:
    """Whether a file runs with pins around it: it is the only one of `files`, or pins none of the packages itself."""
    # The only file is the script or notebook whose own pins are being judged.
    return files == [path] or not pins_itself(path, packages, project)


# -- repairs --------------------------------------------------------------------------------------------------------


def unrepaired(files: list[str], patched_by: tuple[Repair, ...], broken: str, view: View) -> list[str]:
    """The files that import no package that mends the fault of `broken`, in a release that does.

    Of a package that is not pinned, it may be any release.
    """
    known = ((one, view.is_mentioned(one.package)) for one in patched_by)
    repairs = tuple(one for one, told in known if not told or view.package(one.package).holds(one.releases) != "none")
    return [path for path in files if not is_repaired(path, repairs, broken, view.project)] if repairs else files


def is_repaired(path: str, repairs: tuple[Repair, ...], broken: str, project: Project) -> bool:
    """Whether a Python file or notebook imports one of the packages that mend a fault before the package that fails."""
    if not repairs or not path.endswith(_PYTHON):
        return False
    try:
        if tracked.is_larger(path, CODE_BYTES) or not project.files.holds(
            path, *(repair.package.encode() for repair in repairs)
        ):
            return False
        text = project.files.get(path).text
    except (OSError, SourceError):
        return False
    failing = _import_of(broken).search(text)
    found = (_import_of(repair.package).search(text) for repair in repairs)
    return any(mending and (failing is None or mending.start() < failing.start()) for mending in found)


@cache
def _import_of(package: str) -> re.Pattern[str]:
    """The import of a package, in Python or in a string of a notebook."""
    module = re.escape(package.replace("-", "_"))
    return re.compile(rf"""(?:^|["'])[ \t]*(?:import|from)[ \t]+{module}\b""", re.MULTILINE)


# -- documents ----------------------------------------------------------------------------------------------------


def _runs(advisory: Advisory, files: list[str], project: Project) -> Iterator[ConditionsMet]:
    """Runs that use a document the advisory names; those that documentation only shows come last."""
    from trl_lint.checks._runs import config_documents, deepspeed_in_code

    governed = frozenset(files)
    for launch in sorted(all_launches(project), key=lambda launch: launch.is_documentation):
        if (launch.script_path or launch.source.path) in governed and _is_about(advisory, launch, files, project):
            for document in config_documents(launch, project):
                places = read_settings(advisory.documents, document, launch)
                if places:
                    here = launch.location._replace(message="launched here")
                    yield ConditionsMet((*places, here), has_document=True, is_told=launch.is_documentation)
    for path in files:
        if path.endswith(".py") and (not advisory.uses or find_word(advisory.uses, path, project) is not None):
            for document, here in deepspeed_in_code(path, project):
                places = read_settings(advisory.documents, document)
                if places and takes_part(path, advisory.packages, files, project):
                    yield ConditionsMet((*places, here), has_document=True)


def _is_about(advisory: Advisory, launch: Launch, files: list[str], project: Project) -> bool:
    """Whether the script of a launch uses what the advisory is about, with the pins that are being judged."""
    script = launch.script_path
    if script is None:
        return not advisory.uses
    if advisory.uses and find_word(advisory.uses, script, project) is None:
        return False
    return takes_part(script, advisory.packages, files, project)


def is_ruled_out(advisory: Advisory, files: Iterable[str], view: View) -> bool:
    """Whether what runs with the pins has configs that could ask for one of the settings, and each says otherwise.

    `files`: what the manifest speaks for. A config that only says that it is for something else says nothing, and what
    is filled in later may be anything.
    """
    from trl_lint.sources.nodes import find_entry, value_of

    project = view.project
    governed = frozenset(files)
    has_any = False
    for settings in advisory.documents:
        for document in project.documents(settings.kind):
            if document.path not in governed:
                continue
            values = {key: value_of(e.value) for key in settings.values if (e := find_entry(document.root, key))}
            if any(not isinstance(value, int | float | str) or "$" in str(value) for value in values.values()):
                return False
            asked = [key for key, value in values.items() if value in settings.values[key]]
            if len(asked) == len(settings.values):
                return False
            has_any = has_any or document.kind == "deepspeed" or bool(asked)
    if any("zero_optimization.stage" in settings.values for settings in advisory.documents):
        stages = _stages_by_name(governed, project)
        return not stages & {"", "3"} and (has_any or bool(stages))
    return has_any


def _stages_by_name(governed: frozenset[str], project: Project) -> set[str]:
    """The ZeRO stages of configs that commands name and the project does not have (`--deepspeed zero2`), "" where the
    name tells none: frameworks bring such configs along.
    """
    found: set[str] = set()
    for launch in all_launches(project, b"deepspeed"):
        if (launch.script_path or launch.source.path) in governed:
            word = launch.flag("--deepspeed")
            name = word.text or "" if isinstance(word, Word) else ""
            if isinstance(word, Word) and not (name and launch.files_named(name)):
                stage = _STAGE_IN_NAME.search(os.path.basename(name))
                found.add(stage[1] if stage is not None else "")
    return found


def read_settings(
    wanted: tuple[Settings, ...], document: Document, launch: Launch | None = None
) -> tuple[Location, ...]:
    """The places of a document that say what one of the settings asks for; none if the launch may replace a value."""
    from trl_lint.checks._runs import is_overridden
    from trl_lint.sources.nodes import find_entry, value_of

    for settings in wanted:
        places: list[Location] = []
        for key, values in settings.values.items() if settings.kind == document.kind else ():
            entry = find_entry(document.root, key)
            value = value_of(entry.value) if entry is not None else None
            # True is 1 for Python, and not for a config.
            is_wanted = any(type(value) is type(one) and value == one for one in values)
            if entry is None or not is_wanted or (launch is not None and is_overridden(launch, document, key)):
                break
            places.append(document.place(entry, f"{key} is {value} here"))
        else:
            if places:
                return tuple(places)
    return ()


# -- words --------------------------------------------------------------------------------------------------------


def find_word(words: tuple[str, ...], path: str, project: Project, packages: Iterable[str] = ()) -> Location | None:
    """The first place in a file where one of the words stands; the bytes are searched before anything is decoded.

    The name of a class does not count where a Python file defines it itself or imports it from elsewhere than one of
    `packages`, if any are given.
    """
    try:
        if tracked.is_larger(path, CODE_BYTES) or not project.files.holds(path, *(word.encode() for word in words)):
            return None
        file = project.files.get(path)
        for word in words:
            if word.encode() in file.data and not (packages and _is_of_another(word, file.text, path, packages)):
                start = _first_in_code(word, file.text, path)
                if start >= 0:
                    return Location(path, start, start + len(word), f"{word} is used here")
    except (OSError, SourceError):
        pass
    return None


def _first_in_code(word: str, text: str, path: str) -> int:
    """Where a word stands first outside of comments and, in Python, of docstrings; -1 where it does not."""
    start, read = text.find(word), 0
    while start >= 0:
        if _is_comment(text, start, path):
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
        else:
            read, end = _docstring_around(text, start, read) if path.endswith(".py") else (0, -1)
        if end < 0:
            return start
        start = text.find(word, end)
    return start


_TRIPLE = regex(r"\"{3}|'{3}")


def _docstring_around(text: str, place: int, read: int) -> tuple[int, int]:
    """Where to read on from for a later place, and the end of the docstring around this one, -1 where none is.

    `read`: where no string is open. A docstring is a string in triple quotes that begins its line.
    """
    while (opening := _TRIPLE.search(text, read, place)) is not None:
        close = text.find(opening.group(), opening.end())
        if close < 0 or close >= place:
            before = text[text.rfind("\n", 0, opening.start()) + 1 : opening.start()]
            return opening.start(), -1 if before.strip(" \trRuU") else close
        read = close + 3
    return read, -1


def _is_comment(text: str, place: int, path: str) -> bool:
    """Whether a place of a script, a notebook or a YAML file stands behind a `#` that begins a comment."""
    if path.endswith((".md", ".json")):
        return False
    before = text[text.rfind("\n", 0, place) + 1 : place]
    return before.lstrip(' \t"').startswith("#") or " #" in before or "\t#" in before


def _is_of_another(word: str, text: str, path: str, packages: Iterable[str]) -> bool:
    """Whether a word is the name of a class that a Python file has from its own project or another package."""
    if not path.endswith(".py") or not word.isidentifier():
        return False
    modules = {(match["module"] or "").partition(".")[0] for match in _class_of(word).finditer(text)}
    return bool(modules) and modules.isdisjoint(package.replace("-", "_") for package in packages)


@cache
def _class_of(word: str) -> re.Pattern[str]:
    """A class statement, or an import of a name (`module` is what stands behind `from`, "" for a class)."""
    imported = rf"from[ \t]+(?P<module>[\w.]+)[ \t]+import[ \t]+(?:\([^()]{{0,500}}?|[^\n()]{{0,200}}?)\b{word}\b"
    return re.compile(rf"^[ \t]*(?:{imported}|class[ \t]+{word}\b)", re.MULTILINE)


def find_switch(switches: tuple[str, ...], path: str, project: Project) -> Location | None:
    """The first place in a file where one of the options is switched on."""
    try:
        words = (switch.encode() for switch in switches)
        if not switches or tracked.is_larger(path, CODE_BYTES) or not project.files.holds(path, *words):
            return None
        text = project.files.get(path).text
        match = _switched_on(switches).search(text)
        while match is not None and _is_comment(text, match.start(), path):
            end = text.find("\n", match.end())
            match = _switched_on(switches).search(text, end) if end >= 0 else None
    except (OSError, SourceError):
        return None
    if match is None:
        return None
    return Location(path, match.start(), match.end(), f"{match['flag'] or match['name']} is on here")


@cache
def _switched_on(switches: tuple[str, ...]) -> re.Pattern[str]:
    """`use_vllm=True`, `use_vllm: true`, `"use_vllm": true`, `use_vllm: bool = True`, `--use_vllm`."""
    names = "|".join(map(re.escape, switches))
    annotation = r"(?::[\w.\[\], \t|]{1,60})?"
    default = r"(?:field\([ \t]{0,9}default[ \t]{0,9}=[ \t]{0,9})?"
    return re.compile(
        rf"--(?P<flag>{names})\b(?![ \t=]{{1,20}}[\\\"']{{0,4}}(?i:false|no|0|\$|\{{))|"
        rf"\b(?P<name>{names})\b\\?[\"']?[ \t]{{0,20}}{annotation}[ \t]{{0,20}}[=:][ \t]{{0,20}}{default}"
        r"(?i:true|yes|on|1)\b"
    )
