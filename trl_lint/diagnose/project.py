"""What the project says about a failure: its runs, its releases, its files, and what the rules find in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Literal

from trl_lint.diagnose.failures import Failure
from trl_lint.finding import Finding
from trl_lint.project import Project
from trl_lint.project.environment import Environment
from trl_lint.project.packages import Package
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.runs import Run, all_runs
from trl_lint.sources.files import Files

_ON_AN_ACCELERATOR = regex(r"\b(?:cuda|npu|xpu|hip|mps)\b", re.IGNORECASE)

# Of a file that is larger its words are not asked for.
_LARGEST = 1_000_000

Held = Literal["yes", "no", "unknown"]


class Place(NamedTuple):
    """A line of a file of the project; the path is absolute."""

    path: str
    line: int
    text: str


class Answer(NamedTuple):
    """Whether a condition holds for the run, in words, and where that is written."""

    held: Held
    text: str
    places: tuple[Place, ...] = ()


class ProjectEvidence:
    """A project as far as a diagnosis asks. `versions` are those the log names: they are what ran."""

    def __init__(self, root: str, failure: Failure, versions: Mapping[str, str], targets: Mapping[str, str]) -> None:
        self.root = os.path.abspath(root)
        self.failure = failure
        self.versions = versions
        self.targets = dict(targets)
        self._findings: dict[str, list[Finding]] | None = None
        self._declared: dict[str, Package] = {}

    # -- what there is --------------------------------------------------------------------------------------------

    @cached_property
    def project(self) -> Project:
        from trl_lint.project import Project, find_root
        from trl_lint.settings import settings_for
        from trl_lint.sources import Files

        ((settings, _),) = settings_for([self.root], {"target": self.targets})
        folder = self.root if os.path.isdir(self.root) else os.path.dirname(self.root)
        return Project(find_root(folder), Files({}), settings)

    @property
    def files(self) -> Files:
        return self.project.files

    @cached_property
    def scripts(self) -> frozenset[str]:
        """Base names of the project's Python files in the traceback."""
        own = {os.path.basename(path) for path in self.project.paths if path.endswith((".py", ".ipynb"))}
        return frozenset(name for frame in self.failure.frames if (name := _base(frame.path)) in own)

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The runs the log may come from: those whose script is in the traceback, else all that train."""
        runs = [run for run in all_runs(self.project) if run.framework != "vllm" and not run.launch.is_documentation]
        named = [run for run in runs if run.launch.script is not None and run.name in self.scripts]
        if named:
            return tuple(named)
        if self.scripts and not self._is_library():
            return ()
        training = [run for run in runs if run.framework != "other"]
        return tuple(training or runs)

    def _is_library(self) -> bool:
        """Whether the scripts of the traceback are only modules that a run imports."""
        started = {run.name for run in all_runs(self.project)}
        return not (self.scripts & started)

    @cached_property
    def environment(self) -> Environment:
        if self.runs:
            return self.runs[0].environment
        return self.project.environment(os.path.join(self.root, "_"))

    def declared(self, name: str) -> Package:
        """What the pins of the project say about a package, whatever ran."""
        if name not in self._declared:
            settings = self.project.settings
            if not self.targets:
                self._declared[name] = self.environment.package(name)
            else:
                from trl_lint.project import Project
                from trl_lint.settings import settings_for

                ((settings, _),) = settings_for([self.root])
                plain = Project(self.project.root, self.files, settings)
                folder = os.path.dirname(self.runs[0].launch.source.path) if self.runs else self.root
                self._declared[name] = plain.environment(os.path.join(folder, "_")).package(name)
        return self._declared[name]

    def package_excludes(self, name: str, version: str) -> bool:
        """Whether the project's pins do not allow a release."""
        package = self.declared(name)
        return package.source in ("pin", "lock") and package.holds(f"=={version}") == "none"

    # -- conditions -----------------------------------------------------------------------------------------------

    def package(self, name: str, specifier: str) -> Answer:
        """Whether what ran satisfies a specifier."""
        if name in self.versions:
            return version_answer(name, self.versions[name], specifier, "the log names")
        found = self.environment.package(name)
        places = tuple(self.place(pin.location.path, pin.location.start) for pin in found.pins[:2])
        if found.source in ("assumed", "unknown"):
            return Answer("unknown", f"the release of {name} is not known", places)
        held = found.holds(specifier)
        which = f"{name} {found.resolved}" if found.allowed and len(found.allowed) == 1 else f"{name}{found.specifier}"
        if held == "all":
            return Answer("yes", f"{which} is in the range {specifier}", places)
        if held == "none":
            return Answer("no", f"the project pins {which}, outside of {specifier}", places)
        return Answer("unknown", f"{which} allows releases in the range {specifier} and others", places)

    def setting(self, name: str, options: tuple[str, ...]) -> Answer:
        """Whether a field of the run has one of the values."""
        if name == "backend":
            return self._backend(options)
        from trl_lint.run.effective import Setting

        answers = []
        for run in self.runs:
            found = run.arguments.config.final(name)
            if not isinstance(found, Setting) or not found.is_known:
                answers.append(Answer("unknown", f"`{name}` is not known"))
                continue
            is_one = str(found.value).lower() in {option.lower() for option in options}
            place = (self.place(found.location.path, found.location.start),) if found.location else ()
            usual = "" if found.location else " by default"
            answers.append(Answer("yes" if is_one else "no", f"`{name}` is {found.value}{usual}", place))
        return agreed(answers, f"`{name}` is not known")

    def _backend(self, options: tuple[str, ...]) -> Answer:
        from trl_lint.run.overview import backend_of

        answers = []
        for run in self.runs:
            backend = backend_of(run)
            if not backend:
                answers.append(Answer("unknown", "how the processes work together is not known"))
                continue
            document = run.deepspeed or run.accelerate
            place = (self.place(document.source.path, 0),) if document is not None else ()
            is_one = any(backend.startswith(option) for option in options)
            answers.append(Answer("yes" if is_one else "no", f"the run uses {backend}", place))
        return agreed(answers, "how the processes work together is not known")

    def mentions(self, pattern: str) -> Answer:
        """Whether a file of the project has text that a pattern matches, in lower case.

        Where none of those that can be read has it, and not all can be, that is not known.
        """
        from trl_lint.sources import SourceError

        wanted = re.compile(pattern)
        unread = 0
        for path in self.project.paths:
            try:
                if os.path.getsize(path) > _LARGEST:
                    unread += 1
                    continue
                text = self.files.get(path).text.lower()
            except (OSError, SourceError):
                unread += 1
                continue
            if match := wanted.search(text):
                place = self.place(path, match.start())
                return Answer("yes", "the project says so", (place,))
        if unread:
            return Answer(
                "unknown", f"not all files of the project were read: {unread} are too large or cannot be read"
            )
        return Answer("no", "no file of the project says so")

    # -- findings -------------------------------------------------------------------------------------------------

    def findings(self, code: str, codes: Iterable[str]) -> list[Finding]:
        """What a rule finds in the project; `codes` are all that will be asked for."""
        if self._findings is None:
            self._findings = {}
            from trl_lint.engine import check
            from trl_lint.settings import settings_for

            options = {"select": tuple(codes), "target": self.targets}
            overlays = self._on_accelerators()
            for settings, paths in settings_for([self.root], options):
                for finding in check(paths, settings, overlays).findings:
                    self._findings.setdefault(finding.code, []).append(finding)
        return self._findings.get(code, [])

    def _on_accelerators(self) -> dict[str, bytes]:
        """The project's files in the traceback, with a word at their end that says where the log shows them to run.

        A file need not name a device for its tensors to be on one, and rules leave files alone that name none.
        """
        from trl_lint.sources import SourceError

        if not _ON_AN_ACCELERATOR.search(self.failure.text):
            return {}
        found: dict[str, bytes] = {}
        for path in self.project.paths:
            if path.endswith(".py") and os.path.basename(path) in self.scripts:
                try:
                    found[os.path.abspath(path)] = self.files.get(path).data + b"\n# cuda\n"
                except (OSError, SourceError):
                    continue
        return found

    def is_of_the_run(self, finding: Finding) -> bool:
        """Whether a finding is about the run of the log, as far as that is known."""
        if not self.runs or not self.scripts:
            return True
        from trl_lint.run.runs import files_of

        mine = {path for run in self.runs for path in files_of(run)}
        other = {path for run in all_runs(self.project) if run not in self.runs for path in files_of(run)} - mine
        return not {finding.location.path, *(place.path for place in finding.related)} & other or bool(
            {finding.location.path} & mine
        )

    def is_near(self, finding: Finding) -> bool:
        """Whether a frame of the traceback stands at the finding."""
        place = self.place(finding.location.path, finding.location.start)
        last = self.place(finding.location.path, max(finding.location.start, finding.location.end - 1))
        name = os.path.basename(finding.location.path)
        return any(
            _base(frame.path) == name and place.line - 12 <= frame.line <= last.line + 12
            for frame in self.failure.frames
        )

    def place(self, path: str, offset: int) -> Place:
        """The line of a file that holds a character, without its indentation."""
        from trl_lint.sources import SourceError

        try:
            file = self.files.get(path)
            line = file.position(offset).line
            start = file.text.rfind("\n", 0, offset) + 1
            end = file.text.find("\n", offset)
            return Place(path, line, file.text[start : end if end >= 0 else None].strip()[:200])
        except (OSError, SourceError):
            return Place(path, 1, "")


def version_answer(name: str, version: str, specifier: str, who: str) -> Answer:
    """Whether a known release satisfies a specifier."""
    from trl_lint.knowledge.ranges import holds
    from trl_lint.knowledge.releases import parse_specifier, parse_version

    if parse_version(version) is None or parse_specifier(specifier) is None:
        return Answer("unknown", f"the release of {name} is not known")
    if holds(specifier, version):
        return Answer("yes", f"{who} {name} {version}, in the range {specifier}")
    return Answer("no", f"{who} {name} {version}, outside of {specifier}")


def agreed(answers: list[Answer], otherwise: str) -> Answer:
    """One answer for several runs the log may come from: what they all say, else unknown."""
    if answers and all(answer.held == answers[0].held for answer in answers):
        return answers[0]
    return Answer("unknown", otherwise)


def _base(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
