"""What a rule is. A rule declares what it needs and implements the hooks for it; all else comes from its page."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from trl_lint.coverage import Answer, Judged, Reason
from trl_lint.finding import Finding, Fix, Location, OpenPin, Severity

if TYPE_CHECKING:
    from trl_lint.knowledge.pages import Page
    from trl_lint.project import Project
    from trl_lint.project.documents import Document
    from trl_lint.project.launches import Launch
    from trl_lint.project.pins import Manifest
    from trl_lint.project.scripts import Script
    from trl_lint.python.module import PythonModule
    from trl_lint.run.runs import Run


class Site:
    """A call that a trigger matched, in its module and its project."""

    __slots__ = ("call", "module", "project")

    def __init__(self, call: ast.Call, module: PythonModule, project: Project) -> None:
        self.call = call
        self.module = module
        self.project = project

    @property
    def location(self) -> Location:
        return self.module.location(self.call)


class Rule:
    """A rule with its hooks. Override the hooks you need and declare the matching class attribute.

    `triggers`   Python calls (see python/triage.py)         -> `check_call`
    `imports`    Python files that import one of the packages -> `check_module`
    `frameworks` with `imports`: what the modules of the frameworks begin with that are called otherwise on the index
    `fences`     with `imports` and `documents`: what blocks of Markdown show of such files, too, as hints
    `documents`  kinds of config documents ("any" of the recognised ones, "other", "command" for those that a command of
                 a framework reads) -> `check_document`
    `holding`    documents of the kinds that hold one of these, see `knowledge/families.py`, `Holds` -> `check_document`
    `launches`   True to see every launch command            -> `check_launch`
    `scripts`    True to see every shell script that starts something, as a whole -> `check_script`
    `runs`       True to see every run, the launch with all that it reads -> `check_run`; with `launched`, only those
                 that some command starts, and no script by itself
    `manifests`  True to see every file that pins packages   -> `check_manifest`; with `workflows` also what the
                 workflows of a repository install, which is no pin

    `counts`     True if it tells names that nobody knows      -> `knows_launch`, `knows_document`, `known_calls`

    `is_slow`    True if it follows values through functions: an editor shows what the others find first

    What spares it Python files that cannot concern it, before they are parsed:

    `needles`      one of these must be in the bytes of the file; else the names in the triggers are asked for
    `words`        one of these must stand in it by itself, beside the needles
    `patterns`     all of these regular expressions must match somewhere in the bytes (not asked of notebooks)
    `skips_tests`  True if the file of a test never concerns it
    """

    code: ClassVar[str]
    triggers: ClassVar[tuple[str, ...]] = ()
    needles: ClassVar[tuple[bytes, ...]] = ()
    words: ClassVar[tuple[bytes, ...]] = ()
    patterns: ClassVar[tuple[bytes, ...]] = ()
    skips_tests: ClassVar[bool] = False
    imports: ClassVar[tuple[str, ...]] = ()
    frameworks: ClassVar[bool] = False
    fences: ClassVar[bool] = False
    documents: ClassVar[tuple[str, ...]] = ()
    holding: ClassVar[tuple[str, ...]] = ()
    launches: ClassVar[bool] = False
    scripts: ClassVar[bool] = False
    runs: ClassVar[bool] = False
    launched: ClassVar[bool] = False
    manifests: ClassVar[bool] = False
    workflows: ClassVar[bool] = False
    counts: ClassVar[bool] = False
    is_slow: ClassVar[bool] = False

    @property
    def page(self) -> Page:
        from trl_lint.knowledge.pages import page

        return page(self.code)

    def wants(self, document: Document) -> bool:
        """Whether a document is one that the rule declares."""
        if document.kind in self.documents or ("any" in self.documents and document.kind != "other"):
            return True
        if "command" in self.documents and document.definition.command:
            return True
        holds = document.definition.holds if self.holding else None
        return any(getattr(holds, name) for name in self.holding)

    # -- hooks ----------------------------------------------------------------------------------------------------

    def check_call(self, site: Site) -> Iterator[Finding]:
        """Judge a call that a trigger matched: all that is asked of it is asked once, and on its `ast` node."""
        raise NotImplementedError

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        raise NotImplementedError

    def check_document(self, document: Document, project: Project) -> Iterator[Finding]:
        raise NotImplementedError

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        raise NotImplementedError

    def check_script(self, script: Script, project: Project) -> Iterator[Finding]:
        raise NotImplementedError

    def check_run(self, run: Run) -> Iterator[Finding]:
        raise NotImplementedError

    def check_manifest(self, manifest: Manifest, project: Project) -> Iterator[Finding]:
        raise NotImplementedError

    # -- what was judged, of those that count -----------------------------------------------------------------------

    def knows_launch(self, launch: Launch, project: Project) -> Answer:
        """Whether an option that nobody has ever heard of would be told of a command."""
        return None

    def knows_document(self, document: Document, project: Project) -> Answer:
        """Whether a key that nobody has ever heard of would be told of a document."""
        return None

    def known_calls(self, module: PythonModule, project: Project) -> Iterator[tuple[ast.Call, str, Judged | Reason]]:
        """The argument objects that a module makes, what of, and whether an unknown keyword would be told of them."""
        yield from ()

    # -- results --------------------------------------------------------------------------------------------------

    def finding(
        self,
        location: Location,
        message: str,
        *,
        severity: Severity | None = None,
        related: tuple[Location, ...] = (),
        fix: Fix | None = None,
        part_of: Location | None = None,
        pin: OpenPin | None = None,
    ) -> Finding:
        """A finding of this rule; the severity is its page's unless the evidence asks for another."""
        return Finding(self.code, message, location, severity or self.page.severity, related, fix, part_of, pin)

    def __repr__(self) -> str:
        return f"<{self.code}>"
