"""Pins: every requirement on a package, where it is written, and how binding it is.

`is_manifest` goes by the name alone; `manifests.reader` reads.
"""

from __future__ import annotations

import os
import re
from typing import Literal

from trl_lint.finding import Fix, Location
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
# Images, of which a folder may be for what they copy, and jobs.
SCOPED_KINDS = frozenset(("dockerfile", "definition", "devcontainer"))
IMAGE_KINDS = SCOPED_KINDS | {"job"}
LOCKS = ("uv-lock", "poetry-lock", "pylock", "script-lock", "pipfile-lock")

JOB = "job "  # what the name of the environment of a job that runs another file begins with
_PINNED = " is pinned here"
# What builds of one release for several machines are told apart by; the code, and what it requires, is the same.
_PLATFORM = regex(
    r"(?:cu\d|cuda|cpu|rocm|hip|xpu|hpu|npu|tpu|musa|mps|metal|pt\d|torch|cxx11|cxx|abi|computecanada|nv\d)",
    re.IGNORECASE,
)

Kind = Literal["requirement", "constraint", "override", "lock", "extra", "group", "inert", "url", "command"]


class Step(NamedTuple):
    """An install command among those of its document.

    path         the document
    number       its place among the commands of the document, from 0
    environment  the conda or virtual environment that is active there, "" if the document names none
    branch       the branches it stands in, outermost first: a number for each decision, and which way
    block        the block of a README it stands in, from 0: two blocks are two ways to install
    alone        `--no-deps`: what the packages require is neither installed nor looked at
    renews       what of the packages that are there it takes anew: those that it names (`-U`), or all that it needs
    folder       the folder of the project that it changes into before, and is for; "" for all around the document
    """

    path: str
    number: int
    environment: str = ""
    branch: tuple[tuple[int, int], ...] = ()
    block: int = 0
    alone: bool = False
    renews: Literal["", "named", "all"] = ""
    folder: str = ""

    def may_join(self, other: Step) -> bool:
        """Whether all that is known of two commands lets them fill the same environment in one run."""
        if self.path != other.path:
            return True
        shorter, longer = sorted((self.branch, other.branch), key=len)
        return self.environment == other.environment and longer[: len(shorter)] == shorter


class Pin(NamedTuple):
    """One requirement on a package.

    `package` is normalised as in PEP 503 and `specifier` is PEP 440 ("" allows any release), whatever the file's own
    notation is. `kind` says how binding it is: an "extra" or "group" only for those who ask for it (`group` names it),
    an "inert" one stands in a table nothing uses, a "url" installs something whose version nobody can tell. A
    "constraint" installs nothing; an "override" neither, and takes the place of all that anybody else asks of it.
    `specifier_location` is what a fix may replace by another specifier (an empty stretch where one may be inserted);
    None where no text edit is right: lock files, the words of a shell that would read `>` as a redirection.
    `step` is the command that installs it, None where no command is known to. `dated` is the day (ISO 8601) that a
    comment beside an address gives, "" if none.
    """

    package: str
    specifier: str
    location: Location
    kind: Kind
    extras: frozenset[str] = frozenset()
    marker: str = ""
    text: str = ""
    group: str = ""
    specifier_location: Location | None = None
    url: str = ""
    step: Step | None = None
    dated: str = ""

    @property
    def is_optional(self) -> bool:
        return self.group != ""

    @property
    def condition(self) -> str:
        """What it is for alone, in words, "" if it is always installed."""
        return f"the {self.kind} `{self.group}`" if self.group else self.marker and f"`{self.marker}`"

    @property
    def place(self) -> Location:
        """Where it is written, as a related place of a finding."""
        return self.location._replace(message=f"{self.package}{self.specifier}{_PINNED}")

    @property
    def is_alone(self) -> bool:
        """Whether it is installed without what its release requires: told so, or built from other code by somebody else
        (`vllm==0.10.1+gptoss`), which may require anything.
        """
        return (self.step is not None and self.step.alone) or self.is_other_build

    @property
    def is_other_build(self) -> bool:
        """Whether its local label (PEP 440) names no platform, as in `torch==2.6.0+cu124`, but another version."""
        label = self.specifier.partition("+")[2]
        return bool(label) and _PLATFORM.match(label) is None


# The pins of one run through a document: its path, the environment, and of a README the block.
Installations = dict[tuple[str, str, int], list[Pin]]


class Link(NamedTuple):
    """Something on the disk that a file installs: a project (`pip install -e ./sub`) or a requirements file.

    `name` is written there, relative to `directory` (None where that is unknown); for `clone` see `Clone`.
    """

    name: str
    directory: str | None
    kind: Literal["project", "requirements", "constraints", "overrides"]
    location: Location
    extras: frozenset[str] = frozenset()
    step: Step | None = None
    clone: Clone | None = None


class Clone(NamedTuple):
    """A repository that a document clones: its URL as pip takes it (`git+https://…@revision`), and the folder."""

    url: str
    folder: str


class CutOff(NamedTuple):
    """A requirement of an install command whose versions the shell takes for a redirection.

    `text` is what is written and `name` what is installed; the shell writes to `file`, or, if it `stops`, reads it and
    stops because there is none. `fix` quotes the requirement, where that is a plain edit.
    """

    package: str
    text: str
    name: str
    file: str
    stops: bool
    location: Location
    fix: Fix | None


def is_pin_place(location: Location) -> bool:
    """Whether a related place is one that `Pin.place` made: its message tells what is written there."""
    return location.message.endswith(_PINNED)


class Manifest(NamedTuple):
    """A file that pins packages.

    `python` is its `requires-python`; `problems` are requirements pip would refuse. `project` is the normalised name of
    the package the file builds, "" if none, and `version` that package's version where the source tells it. `links` are
    the projects and requirements files on the disk that it installs beside its pins, `cut_off` the requirements that a
    shell cuts off. `told` are releases that it names and does not install: in words, in a list of what was there.
    """

    path: str
    kind: str
    pins: tuple[Pin, ...]
    python: str | None = None
    problems: tuple[tuple[Location, str], ...] = ()
    project: str = ""
    version: str = ""
    links: tuple[Link, ...] = ()
    cut_off: tuple[CutOff, ...] = ()
    told: tuple[Pin, ...] = ()

    @property
    def is_lock(self) -> bool:
        return self.kind in LOCKS


_REQUIREMENTS_NAME = regex(
    r"(?:^|[-_.])(?:requirements?|reqs|constraints?)(?:[-_.]|$)",
    re.IGNORECASE,  # in a name without its ending
)
_REQUIREMENTS_FOLDER = regex(r"[\\/]requirements[\\/][^\\/]+\.(?:txt|in)$", re.IGNORECASE)
_CONDA_NAME = regex(r"(?:^|[-_.])(?:environment|conda|env)(?:[-_.]|$)", re.IGNORECASE)  # likewise
_DOCKERFILE_NAME = regex(r"(?:^|[-_.])(?:dockerfile|containerfile)(?:[-_.]|$)", re.IGNORECASE)
_README_NAME = regex(r"^(?:readme|install|installation|setup)(?:[-_.][^/]*)?\.(?:md|rst|txt)$", re.IGNORECASE)
_DEFINITION_NAME = regex(r"^(?:singularity|apptainer)(?:[-_.]|$)", re.IGNORECASE)
# What people call the output of `pip freeze`, `pip list` and `conda list`.
_FREEZE_NAME = regex(
    r"(?:^|[-_.])(?:freeze|frozen|(?:pip|conda|package|packages)[-_]?(?:list|freeze)|environment|env)(?:[-_.]|$)",
    re.IGNORECASE,
)
_COMPILED_FOLDER = "unsloth_compiled_cache"
_SHELL_SUFFIXES = (".sh", ".bash", ".slurm", ".sbatch")
_FIXED_NAMES = {
    "pyproject.toml": "pyproject",
    "setup.py": "setup.py",
    "setup.cfg": "setup.cfg",
    "uv.lock": "uv-lock",
    "poetry.lock": "poetry-lock",
    "pipfile": "pipfile",
    "pipfile.lock": "pipfile-lock",
    "makefile": "makefile",
    "gnumakefile": "makefile",
}


def kind_of(path: str) -> str:
    """The kind of manifest a name promises, "" if none. A Python file is "pep723": it may hold a script block."""
    name = os.path.basename(path)
    lower = name.lower()
    if fixed := _FIXED_NAMES.get(lower):
        return fixed
    if lower.endswith((".py.lock", ".pyi.lock")):
        return "script-lock"
    if lower.startswith("pylock.") and lower.endswith(".toml"):
        return "pylock"
    if lower.endswith(".py"):
        return "compiled" if os.path.basename(os.path.dirname(path)) == _COMPILED_FOLDER else "pep723"
    if lower.endswith(".ipynb"):
        return "notebook"
    stem, _, ending = name.rpartition(".")
    if (ending.lower() in ("txt", "in", "pip") and _REQUIREMENTS_NAME.search(stem)) or _REQUIREMENTS_FOLDER.search(
        path
    ):
        return "constraints" if "constraint" in lower else "requirements"
    if ending.lower() in ("txt", "log", "lst") and _FREEZE_NAME.search(stem):
        return "freeze"
    if lower.endswith(_SHELL_SUFFIXES):
        return "shell"
    if lower in ("devcontainer.json", ".devcontainer.json"):
        return "devcontainer"
    is_text = lower.endswith((".md", ".txt", ".yml", ".yaml"))
    if lower.endswith(".def") or (_DEFINITION_NAME.match(name) and not is_text):
        return "definition"
    if ending.lower() in ("yml", "yaml") and _CONDA_NAME.search(stem):
        return "conda"
    if _README_NAME.match(name):
        return "readme"
    if lower.endswith((".yml", ".yaml")) and "/.github/workflows/" in path.replace("\\", "/"):
        return "workflow"
    if _DOCKERFILE_NAME.search(name) and not lower.endswith((".md", ".txt", ".json", ".yml", ".yaml")):
        return "dockerfile"
    return ""


def kind_around(path: str) -> str:
    """The kind of a manifest that counts for the code around it; a "job" may install what it runs."""
    return kind_of(path) or ("job" if path.lower().endswith((".yaml", ".yml", "tox.ini")) else "")


def kind_where_named(path: str) -> str:
    """The kind of a manifest that another file names: `pip install -r deps.txt` takes any name for requirements."""
    return kind_around(path) or ("requirements" if path.lower().endswith((".txt", ".in", ".pip", ".list")) else "")


def reads_others(path: str) -> bool:
    """Whether the pins of a file of this name may stand in others: in what it includes, in the code it packs."""
    return kind_where_named(path) in ("requirements", "constraints", "setup.py", "pyproject", "setup.cfg")


def is_manifest(path: str) -> bool:
    """Whether a file of this name may pin packages; `manifests.reader` answers None where it does not.

    A workflow tells what is installed together, but what a test installs is no pin.
    """
    return kind_of(path) not in ("", "workflow")
