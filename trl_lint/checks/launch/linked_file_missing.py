"""TRL504: a launch or a config names a file of the repository that is not there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from trl_lint import tracked
from trl_lint.checks._origins import (
    comes_from_elsewhere,
    is_another_project,
    is_ignored,
    is_mentioned,
    is_told_to_be_made,
)
from trl_lint.checks.launch._concern import level_at
from trl_lint.checks.launch._examples import is_example
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Severity
from trl_lint.grading import beside
from trl_lint.memos import per_project
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.launch_table import all_launches
from trl_lint.project.launches import Launch
from trl_lint.project.modules import folders_by_name
from trl_lint.run.named_files import NamedFile, folders_named, is_placeholder, named_files, parent_folders
from trl_lint.run.runs import Run, run_of
from trl_lint.sources.nodes import Scalar, find
from trl_lint.sources.shell import Word

_WHAT = {
    "script": "script",
    "accelerate": "accelerate config",
    "recipe": "recipe",
    "deepspeed": "DeepSpeed config",
    "reward": "file with the reward function",
}
_LONG_NAME = 10
_FEWEST_NEIGHBOURS = 2
_SUFFIXES = (".py", ".yaml", ".yml", ".json")
# These run the program elsewhere, or from another folder.
_MOVING = frozenset({"apptainer", "singularity", "ray", "ssh", "docker", "nvidia-docker", "podman", "kubectl", "sudo"})
_FOLDER_OPTIONS = (
    "--directory",
    "--project",
    "--cwd",
    "--chdir",
    "-C",
    "-D",
    "-wdir",
    "--working-dir",
    "--container-workdir",
)


class LinkedFileMissing(Rule):
    code = "TRL504"
    launches = True
    holding = ("deepspeed",)

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        if launch.command.errors or launch.command.directory is None or launch.source.language == "dockerfile":
            return
        if launch.source.path.endswith(".ipynb") or is_elsewhere(launch):
            return
        for link in files_named_by(run_of(launch, project)):
            if link.status != "missing" or link.name is None or not link.name.endswith(_SUFFIXES):
                continue
            folders = parent_folders(link.name, launch)
            meant = None if folders else misspelt(link, launch)
            home = "" if folders or meant is not None else home_of(link, launch, project)
            if meant is not None:
                folders = [os.path.dirname(meant)]
            elif home:
                folders = [home]
            if (
                not folders
                or is_example(link.name, launch, project)
                or may_exist_later(link.name, folders, launch, project)
            ):
                continue
            message = read_message(_WHAT[link.kind], link.name, project)
            if meant is not None:
                near = os.path.basename(meant)
                message = f"there is no {_WHAT[link.kind]} `{link.name}` here: did you mean `{near}`?"
            elif home:
                shown = os.path.relpath(home, project.root).replace(os.sep, "/")
                where = "at the top of the project" if shown == "." else f"in `{shown}`"
                message = f"there is no script `{link.name}` {where}, where the commands beside this one find theirs"
            is_likely = meant is not None or bool(home)
            yield self.finding(
                launch.source.location(link.word.start, link.word.end),
                message,
                severity=level_at(launch, project, "warning" if is_likely else read_severity(link, launch)),
            )

    def check_document(self, document: Document, project: Project) -> Iterator[Finding]:
        node = find(document.root, document.definition.holds.deepspeed)
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            return
        name = node.value
        if not name.endswith(".json") or is_placeholder(name) or os.path.isabs(name):
            return
        from trl_lint.project.links import linked_files

        if linked_files(name, document.source, ""):
            return
        folders = folders_named(name, document.path, "")
        if not folders or is_generated(name, folders, project):
            return
        yield self.finding(
            document.source.location(node.start, node.end),
            read_message("DeepSpeed config", name, project),
            severity="warning",
        )


def files_named_by(run: Run) -> Iterator[NamedFile]:
    """The files of the project that a command names, those that its framework imports among them."""
    yield from named_files(run)
    if run.framework == "verl":
        from trl_lint.checks.configs._verl_reward_function import missing_files

        yield from missing_files(run)


def is_elsewhere(launch: Launch) -> bool:
    """Whether the program runs on another machine, in a container, or in a folder that an option names."""
    if any(name in _MOVING for name in launch.wrappers):
        return True
    words: tuple[Word, ...] = (*launch.command.outer, *launch.command.words)
    front = [word for word in words if word.start < launch.launcher_word.start or word in launch.command.outer]
    return any((word.text or word.raw).startswith(_FOLDER_OPTIONS) for word in front)


def misspelt(link: NamedFile, launch: Launch) -> str | None:
    """The script beside a launch script that a bare name can only be a slip for; None where there is none.

    In which folder a bare name is looked for depends on where the command is typed, so only a long name counts whose
    letters are those of one neighbour in another order, or all but one.
    """
    name = link.name or ""
    if (
        launch.is_documentation
        or launch.command.directory
        or not name.endswith(".py")
        or os.path.basename(name) != name
    ):
        return None
    folder = os.path.dirname(launch.source.path)
    try:
        near = [other for other in tracked.names(folder) if other.endswith(".py") and is_slip(name[:-3], other[:-3])]
    except OSError:
        return None
    return os.path.join(folder, near[0]) if len(near) == 1 else None


def home_of(link: NamedFile, launch: Launch, project: Project) -> str:
    """The folder in which a bare name of a script is looked for, "" where nobody knows.

    All launch scripts of a folder are typed from one place. Where the other commands there find all of their scripts in
    one folder, by bare names, this one looks there as well.
    """
    name = link.name or ""
    if link.kind != "script" or launch.is_documentation or os.path.basename(name) != name or not name.endswith(".py"):
        return ""
    if name in folders_by_name(project):
        return ""  # it may be typed where that one lies
    places = _homes(project).get((os.path.dirname(launch.source.path), launch.command.directory or ""), {})
    return next(iter(places)) if len(places) == 1 and len(next(iter(places.values()))) >= _FEWEST_NEIGHBOURS else ""


@per_project
def _homes(project: Project) -> dict[tuple[str, str], dict[str, set[str]]]:
    """The scripts that are started by bare names, by the folder they lie in, for the folder of the commands."""
    found: dict[tuple[str, str], dict[str, set[str]]] = {}
    for launch in all_launches(project):
        name = (launch.script.text or "") if launch.script is not None else ""
        if launch.is_documentation or not name.endswith(".py") or os.path.basename(name) != name:
            continue
        key = os.path.dirname(launch.source.path), launch.command.directory or ""
        for path in launch.candidates:
            found.setdefault(key, {}).setdefault(os.path.dirname(path), set()).add(path)
    return found


def is_slip(name: str, meant: str) -> bool:
    """Whether two long names differ in the order of their letters, or in one letter that one of them lacks.

    Digits tell names apart on purpose, and so does a word more or less.
    """
    if (
        min(len(name), len(meant)) < _LONG_NAME
        or name[0] != meant[0]
        or re.sub(r"\D", "", name) != re.sub(r"\D", "", meant)
    ):
        return False
    if sorted(name) == sorted(meant):
        return name.count("_") == meant.count("_") and sorted(name.split("_")) != sorted(meant.split("_"))
    short, long = sorted((name, meant), key=len)
    return (
        len(long) == len(short) + 1
        and any(long[index] != "_" and long[:index] + long[index + 1 :] == short for index in range(1, len(long)))
        and long != short + "s"
    )


def may_exist_later(name: str, folders: list[str], launch: Launch, project: Project) -> bool:
    """Whether something the project says explains that the file is not there."""
    text = launch.source.file.text
    if comes_from_elsewhere(text, name) and not launch.is_documentation:
        return True
    if launch.is_documentation and (
        is_told_to_be_made(text, name) or is_another_project(text, project) or _is_written(text, name)
    ):
        return True
    return is_generated(name, folders, project)


def _is_written(text: str, name: str) -> bool:
    """As `comes_from_elsewhere`; that a README clones its own repository brings no new files."""
    return comes_from_elsewhere(_without_clones(text), name)


def _without_clones(text: str) -> str:
    return text.replace("git clone", "").replace("git submodule", "").replace("git checkout", "")


def is_generated(name: str, folders: list[str], project: Project) -> bool:
    base = os.path.basename(name)
    if any(is_ignored(os.path.join(folder, base), project.root) for folder in folders):
        return True
    # A script is written by people; a config may be written by a program.
    return not name.endswith(".py") and is_mentioned(name, project)


def read_message(what: str, name: str, project: Project) -> str:
    """The sentence; it names the file that was probably meant if only one of that name exists."""
    base = os.path.basename(name)
    folders = folders_by_name(project).get(base, ())
    elsewhere = ""
    if len(folders) == 1:
        only = os.path.relpath(os.path.join(folders[0], base), project.root)
        elsewhere = f"; the only `{base}` is `{only.replace(os.sep, '/')}`"
    return f"the {what} `{name}` does not exist, though its folder does{elsewhere}"


def read_severity(link: NamedFile, launch: Launch) -> Severity:
    """An error where the command is run as it stands and names the file in full.

    A hint in the text of a module that tells how to run itself from a folder in which it stood before.
    """
    if launch.is_documentation:
        own = launch.source.path
        is_itself = own.endswith(".py") and os.path.basename(own) == os.path.basename(link.name or "")
        return beside("warning", is_itself)
    said = link.word.raw
    if link.kind == "reward":
        if any(word.text is None and "=" not in word.raw for word in launch.args):
            return "warning"  # `"$@"`: whoever starts it may name another one
        said = said.partition("=")[2]
    return "error" if said.strip("\"'") == link.name or os.path.isabs(link.name or "") else "warning"


rule = LinkedFileMissing()
