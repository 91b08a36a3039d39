"""What commands install: `pip install` in scripts, Makefiles, workflows, READMEs, notebooks, and files for images.

Such commands say what one way of installing brings. They never count as malformed: what looks wrong in a README is
often a placeholder.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import TypeVar

from trl_lint.knowledge.families import programs
from trl_lint.project.manifests.activations import activated
from trl_lint.project.manifests.clones import Clones
from trl_lint.project.manifests.install_commands import installation_of, read_installation
from trl_lint.project.pins import CutOff, Link, Manifest, Pin, Step
from trl_lint.regexes import regex
from trl_lint.sources import Source, SourceFile
from trl_lint.sources.shell import Command

# A block of a README that names no language, and in which a line begins as people begin an installation.
_INSTALLS = regex(
    r"^[ \t>]*(?:\$[ \t]+)?(?:(?:(?:python3?[ \t]+-m|uv)[ \t]+)?pip3?[ \t]+install|uv[ \t]+add)[ \t]", re.MULTILINE
)
# A text without any of them neither installs anything nor says where later commands do.
_WORDS = ("install", "uv", "activate", "clone", "venv", "conda")
_PYTHON = regex(r"python[\d.]*")
_TOOLS = (["pip"], ["venv"], ["ensurepip"], ["virtualenv"])
_STARTERS = frozenset(("bash", "pytest", "ray", "sbatch", "sh", "srun", "tune"))
_IMAGES = ("dockerfile", "definition")
_Installed = TypeVar("_Installed", Pin, Link)


def read(file: SourceFile, kind: str) -> Manifest | None:
    copies: dict[str, str] = {}
    python = ""
    if kind == "dockerfile":
        from trl_lint.sources.dockerfile import copies_of, python_of

        copies = copies_of(Source(file, "dockerfile"))
        python = python_of(Source(file, "dockerfile"))
    elif kind == "definition":
        from trl_lint.sources.apptainer import files_of, is_definition

        if not is_definition(file.text):
            return None
        copies = files_of(Source(file, "definition"))
    elif kind == "job":
        from trl_lint.project.wrapped import held_in

        # What a file of CI installs, or a list of tasks, is what somebody tests with, as in a workflow.
        if not any(each.kind.elsewhere for each in held_in(file)):
            kind = "workflow"
    document = _Document(file.path, kind, copies)
    for part in _parts(file, kind):
        document.read(part)
    pins, links = document.scoped()
    if kind in _IMAGES:
        links = list(_on_the_host(links, copies))
    if not pins and not links:
        return None
    asked = f"=={python}.*" if python else None
    return Manifest(file.path, kind, tuple(pins), asked, links=tuple(links), cut_off=tuple(document.cut_off))


class _Part:
    """Commands that follow each other in one shell, and what is known when the first of them starts.

    `environment` is the one that is active there, None for that of the part before.
    """

    __slots__ = ("branch", "commands", "environment", "source")

    def __init__(
        self,
        source: Source,
        commands: list[Command],
        environment: str | None = None,
        branch: tuple[tuple[int, int], ...] = (),
    ) -> None:
        self.source = source
        self.commands = commands
        self.environment = environment
        self.branch = branch


def _parts(file: SourceFile, kind: str) -> Iterator[_Part]:
    if kind == "dockerfile":
        yield from _instructions(Source(file, "dockerfile"))
    elif kind == "makefile":
        from trl_lint.sources.makefile import recipe_commands

        source = Source(file, "makefile")
        yield _Part(source, recipe_commands(source))
    elif kind == "definition":
        from trl_lint.sources.apptainer import post_commands

        source = Source(file, "definition")
        yield _Part(source, post_commands(source))
    elif kind in ("workflow", "job", "devcontainer"):
        from trl_lint.project.carried import with_carried
        from trl_lint.project.wrapped import held_in

        jobs: dict[tuple[str, int], _Part] = {}
        for each in held_in(file):
            # Each service or task has a machine of its own.
            if kind != "job" or each.kind.elsewhere:
                job = "/".join({"workflow": each.names[:1], "job": each.names}.get(kind, ()))
                part = jobs.setdefault((job, id(each.source)), _Part(each.source, [], job))
                part.commands += with_carried(each.commands, each.source.text)
        yield from jobs.values()
    elif kind == "program":
        from trl_lint.project.python_commands import commands_of_calls

        source = Source(file, "python")
        places: dict[str, _Part] = {}
        for environment, command in commands_of_calls(source):
            places.setdefault(environment, _Part(source, [], environment)).commands.append(command)
        yield from places.values()
    else:
        yield from _shell_parts(file, kind)


def _instructions(source: Source) -> Iterator[_Part]:
    """The commands of a Dockerfile by instruction: each starts a shell of its own, in the stage it stands in."""
    from trl_lint.sources.dockerfile import run_commands, stages

    known = stages(source)
    starts = [start for start, _ in known]
    by_instruction: dict[int, list[Command]] = {}
    for command in run_commands(source):
        by_instruction.setdefault(bisect_right(starts, command.start) - 1, []).append(command)
    for index, commands in by_instruction.items():
        yield _Part(source, commands, known[index][1] if index >= 0 else "")


def _shell_parts(file: SourceFile, kind: str) -> Iterator[_Part]:
    from trl_lint.sources.shell import commands

    if kind == "notebook":
        from trl_lint.sources.notebook import shell_lines

        for line in shell_lines(file):
            if _may_matter(line):
                yield _Part(line, commands(line), None, line.branch)
    elif kind == "readme":
        from trl_lint.sources.markdown import fences

        for fence in fences(Source(file, "markdown"), _INSTALLS.search):
            if fence.language == "shell" and _may_matter(fence):
                yield _Part(fence, commands(fence))
    else:
        source = Source(file, "shell")
        if _may_matter(source):
            yield _Part(source, commands(source))


def _may_matter(source: Source) -> bool:
    return any(word in source.text for word in _WORDS)


class _Document:
    """What the commands of one document install so far, and what they changed for those that follow."""

    def __init__(self, path: str, kind: str, copies: dict[str, str]) -> None:
        self.path = path
        self.kind = kind
        self._copies = copies
        self.pins: list[Pin] = []
        self.links: list[Link] = []
        self.cut_off: list[CutOff] = []
        # The environment, the number of commands that had installed something, and the working directory of each
        # command that starts a program.
        self._started: list[tuple[str, int, str | None]] = []
        self._environment = ""
        self._clones = Clones()
        self._number = 0
        self._block = 0

    def read(self, part: _Part) -> None:
        if part.environment is not None:
            self._environment = part.environment
        self._clones.begin()
        for command in part.commands:
            self._follow(command, part)
        self._block += 1

    def _follow(self, command: Command, part: _Part) -> None:
        directory = self._clones.follow(command)
        change = activated(command)
        if change is not None and not change.only_here:
            self._environment = change.name
        environment = change.name if change is not None else self._environment
        step = Step(self.path, self._number, environment, (*part.branch, *command.branch), self._block)
        pins, links = read_installation(command, directory, part.source, step)
        if _starts_program(command):
            self._started.append((environment, self._number, self._in_project(directory)))
        if pins or links:
            if command.redirects:
                from trl_lint.project.manifests.redirections import cut_off

                self.cut_off += cut_off(command, part.source)
            self._number += 1
            self.pins += [self._for_folder(pin, directory) for pin in pins]
            for link in links:
                clone = self._clones.around(link)
                if clone is None and (link.kind != "project" or self._is_of_folder(command)):
                    link = self._for_folder(link, link.directory)
                self.links.append(link._replace(clone=clone))

    def _is_of_folder(self, command: Command) -> bool:
        """Whether a command that installs the project of a folder installs it for what stands there alone.

        `uv sync` makes an environment there, and a job of a workflow tests what it names. `pip install .` in a script
        installs a library, which what stands elsewhere imports.
        """
        found = installation_of(command.words)
        return self.kind == "workflow" or (found is not None and found.is_here)

    def _for_folder(self, installed: _Installed, directory: str | None) -> _Installed:
        folder = self._in_project(directory)
        if not folder or folder.startswith(("/", "..")) or folder == "." or installed.step is None:
            return installed
        return installed._replace(step=installed.step._replace(folder=folder))

    def _in_project(self, directory: str | None) -> str | None:
        """A folder of an image as the one of the project that was copied there."""
        if self.kind not in _IMAGES:
            return directory
        from trl_lint.sources.dockerfile import on_the_host

        return on_the_host(".", directory, self._copies)

    def scoped(self) -> tuple[list[Pin], list[Link]]:
        """What is installed; nothing is for a folder alone where a later command of the same run starts what is not."""
        return [self._scoped(pin) for pin in self.pins], [self._scoped(link) for link in self.links]

    def _scoped(self, installed: _Installed) -> _Installed:
        step = installed.step
        if step is None or not step.folder:
            return installed
        inside = posixpath.join(posixpath.normpath(step.folder), "")
        for environment, number, directory in self._started:
            is_later = environment == step.environment and number > step.number
            if is_later and not posixpath.join(posixpath.normpath(directory or "."), "").startswith(inside):
                return installed._replace(step=step._replace(folder=""))
        return installed


def _starts_program(command: Command) -> bool:
    """Whether a command runs code: a script, a module that is no tool of the environment, a launcher."""
    texts = [word.text or "" for word in command.words[:4]]
    first = posixpath.basename(texts[0])
    if first in ("uv", "poetry", "pdm", "conda") and "run" in texts[1:3]:
        return True
    if _PYTHON.fullmatch(first):
        is_tool = texts[1:2] == ["-m"] and texts[2:3] in _TOOLS
        return len(texts) > 1 and not is_tool and texts[1] not in ("-V", "--version")
    return first in _STARTERS or first in programs()


def _on_the_host(links: list[Link], copies: dict[str, str]) -> Iterator[Link]:
    """The links of a Dockerfile with the names that COPY gives their places outside of the image."""
    from trl_lint.sources.dockerfile import on_the_host

    for link in links:
        name = on_the_host(link.name, link.directory, copies) if link.clone is None else None
        yield link if name is None else link._replace(name=name, directory="")
