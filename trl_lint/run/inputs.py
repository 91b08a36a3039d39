"""What a reader of a run's options is given: the command, and the files that it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from trl_lint.records import NamedTuple

if TYPE_CHECKING:
    from trl_lint.finding import Location
    from trl_lint.project import Project
    from trl_lint.project.documents import Document
    from trl_lint.project.launches import Launch
    from trl_lint.project.stack import Choices
    from trl_lint.run.parsers import ScriptParser
    from trl_lint.run.script import Script
    from trl_lint.sources.shell import Word

LinkKind = Literal["script", "accelerate", "recipe", "deepspeed", "reward"]
Status = Literal["exact", "candidates", "builtin", "missing", "unknown"]


class Link(NamedTuple):
    """A file that a run uses: what for, how it is written and where, and which files it may be."""

    kind: LinkKind
    text: str
    location: Location
    status: Status
    paths: tuple[str, ...]
    word: Word


class Inputs(Protocol):
    """All that the options of a run are read from: what `Run` works out before, each when it is asked for."""

    @property
    def launch(self) -> Launch: ...
    @property
    def project(self) -> Project: ...
    @property
    def framework(self) -> str: ...
    @property
    def choices(self) -> Choices: ...
    @property
    def is_launched(self) -> bool: ...
    @property
    def script(self) -> Script | None: ...
    @property
    def parser(self) -> ScriptParser | None: ...
    @property
    def arguments_class(self) -> str: ...
    @property
    def recipe(self) -> Document | None: ...
    @property
    def accelerate(self) -> Document | None: ...
    @property
    def deepspeed(self) -> Document | None: ...
    def link(self, kind: LinkKind) -> Link | None: ...
