"""One file after the other: what can be read in it is read, and the rules that asked for it look at it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from weakref import ref

from trl_lint import asked, budget, tracked
from trl_lint.budget import MOST_FINDINGS, READER_SECONDS, RULE_SECONDS, OverBudgetError
from trl_lint.checks.agreement import agreed
from trl_lint.checks.registry import declared_rules
from trl_lint.checks.rule import Rule, Site
from trl_lint.coverage import Seen, seen
from trl_lint.finding import Finding, Location, Notice, Severity, excerpted, reworded
from trl_lint.grading import milder, trusted
from trl_lint.knowledge import KnowledgeError
from trl_lint.paths import DOCUMENTS, MARKDOWN
from trl_lint.project import Project, find_root, is_larger
from trl_lint.python.triage import may_configure, triage_of
from trl_lint.records import NamedTuple
from trl_lint.settings import Settings
from trl_lint.sources import Files, Source, SourceError, SourceFile
from trl_lint.sources.text import MAX_BYTES, TookTooLongError, TooLargeError, refuse_large

if TYPE_CHECKING:
    from trl_lint.project.foreign import Foreign
    from trl_lint.project.launches import Launch
    from trl_lint.python.module import PythonModule
    from trl_lint.run.runs import Run

PYTHON = (".py", ".pyi", ".ipynb")
_READING = {
    "_check_python": "reading it as Python",
    "_check_document": "reading it as a config",
    "_check_manifest": "reading its pins",
    "_check_launches": "reading its commands",
}


class Problem(NamedTuple):
    """Something that kept the tool from its work; any of them makes the exit status 2."""

    path: str
    message: str


class Checker:
    """Checks files under one set of settings. `asked` are all the files of the run, also those that others check, and
    `named` those of them that somebody named.

    Of the `rules` (none: all) those are asked that the settings select. `found_in` is what was found, before anything
    is suppressed, by the file that was checked then: in order, each once; `notices_in` says what was not judged.
    `seen_in` is what of training is in each file that concerns some rule, if the rules that can tell `is_counting`.
    """

    def __init__(
        self, settings: Settings, files: Files, projects: dict[str, Project], rules: Iterable[Rule] = ()
    ) -> None:
        self.settings = settings
        self.files = files
        self.projects = projects
        self.asked: set[str] = set()
        self.named: set[str] = set()
        self.problems: list[Problem] = []
        self.found_in: dict[str, dict[Finding, None]] = {}
        self.notices_in: dict[str, dict[Notice, None]] = {}
        self._counts: dict[tuple[str, str], int] = {}  # of findings, by rule and the file that is looked at
        self.seen_in: dict[str, list[Seen]] = {}
        self._checking = ""
        self._named: set[str] = set()  # files that a person or a command names
        self._module: PythonModule | None = None  # that is looked at
        self._rules = [rule for rule in rules or declared_rules() if settings.is_selected(rule.code)]
        # Who asks for TRL001 alone wants every file parsed, though no rule looks for a word in it.
        self._by_code = {rule.code: rule for rule in self._rules}
        self._parses_all = not self._rules and settings.is_selected("TRL001")
        self._triage = triage_of(tuple(self._rules))
        self.run_rules = [rule for rule in self._rules if rule.runs]
        self._counting = [rule for rule in self._rules if rule.counts]
        self.is_counting = len(self._counting) == sum(rule.counts for rule in declared_rules())
        self._checked_runs: set[Run] = set()
        self._checked_recipes: set[tuple[str, str, str]] = set()  # of runs in a file, by path and kind

    def project(self, path: str) -> Project:
        return self.project_at(find_root(os.path.dirname(path)))

    def project_at(self, root: str) -> Project:
        project = self.projects.get(root)
        if project is None:
            project = self.projects[root] = Project(root, self.files, self.settings)
        return project

    # -- one file -------------------------------------------------------------------------------------------------

    def check_path(self, path: str, explicit: bool) -> None:
        self._checking = path
        if explicit:
            self._named.add(path)
        with tracked.checking(path):
            self._check_path(path, explicit)

    def _check_path(self, path: str, explicit: bool) -> None:
        if path.endswith(".json") and not explicit and is_larger(path, MAX_BYTES):
            return  # a data set, not worth reading
        try:
            file = self.files.own(path)
        except OSError as error:
            self._report_unread(path, explicit, error)
            return
        except SourceError as error:
            self._report_refused(path, error)
            return
        foreign = self._foreign(path)
        if foreign is None:
            self._check_file(file, explicit)
        elif foreign.package or self._triage.active(file.data, path, is_rough=False) or may_configure(file.data):
            place = Location(foreign.folder, 0, 0)
            notice = Notice("foreign-files", foreign.words, place, foreign.package, foreign.version)
            self.notices_in.setdefault(path, {}).setdefault(notice)
        self._note_unread()
        if path not in self.found_in and not file.mentions_noqa:
            self.files.forget(path)

    def _foreign(self, path: str) -> Foreign | None:
        """Whose a file is that nobody named and that is not the project's own; None for all others."""
        if path in self.named:
            return None
        from trl_lint.project.foreign import foreign_code

        if path != self._checking and path.endswith(PYTHON):
            tracked.note_use(path, self._checking)  # its head
        with suppress(OSError, SourceError):
            return foreign_code(path, self.project(path))
        return None

    def take_notes(self) -> None:
        """Take over what was left out while the last file was checked."""
        for notice in budget.taken_notes():
            self.notices_in.setdefault(self._checking, {}).setdefault(notice)
        failures = (Problem(path, reason) for path, reason in budget.taken_failures())
        self.problems.extend(problem for problem in failures if problem not in self.problems)

    def _report_unread(self, path: str, explicit: bool, error: OSError) -> None:
        """Say why nothing is known of a file, or of a folder that takes its own place because it cannot be listed."""
        what = "read"
        if isinstance(error, IsADirectoryError):
            try:
                tracked.entries(path)
            except OSError as refusal:
                what, error = "listed", refusal
        if explicit:
            self.problems.append(Problem(path, f"cannot be {what}: {tracked.reason(error)}"))
        elif tracked.is_gone(error):
            self._note(path, "not checked: this file came, went or changed its kind meanwhile; run again")
        else:
            advice = "make it readable, or " if isinstance(error, PermissionError) else ""
            advice += "leave it out with `--extend-exclude`"
            self._report_unparsed(path, f"cannot be {what}: {tracked.reason(error)}; {advice}", 0)

    def _note_unread(self) -> None:
        """Note what was wanted for the sake of this file and cannot be read."""
        for path, error in tracked.pop_unread().items():
            if path not in self.asked:
                self._note(path, f"not taken into account: it cannot be read: {tracked.reason(error)}")

    def _note(self, path: str, message: str) -> None:
        notice = Notice("unread-file", message, Location(path, 0, 0))
        self.notices_in.setdefault(self._checking, {}).setdefault(notice)

    def _check_file(self, file: SourceFile, explicit: bool) -> None:
        path = file.path
        readers = (self._check_python, self._check_document, self._check_manifest, self._check_launches)
        is_concerned = False
        for reader in readers:
            try:
                work = partial(reader, file, explicit)
                is_of_us = budget.within(_READING[reader.__name__], path, READER_SECONDS, work)
                if is_of_us and reader in (self._check_python, self._check_document):
                    self._note_concerned(path)
                is_concerned = is_concerned or is_of_us
            except SourceError as error:
                self._report_refused(path, error)
                return  # one clear line; what else cannot be read in this file follows from it
            except OverBudgetError as error:
                if reader == self._check_manifest:
                    budget.fail(path, str(error))
                self._note_stopped(path, error)
            except RecursionError:
                self._report_unparsed(path, "nested too deeply to be read", 0)
                return
            except KnowledgeError:
                raise  # no fault of this file, and the next one would meet it as well
            except Exception as error:
                self._report_crash(path, "reading the file", error)
                return
        if file.other_encoding and (is_concerned or explicit):
            self._note(path, f"not in UTF-8 ({file.other_encoding}): what is beyond ASCII in it was not understood")
        if is_concerned:
            self._note_unjudged(file)

    def _note_unjudged(self, file: SourceFile) -> None:
        """Note the packages of which the file may hold what no rule could judge."""
        from trl_lint.project.unjudged import unjudged

        project = self.project(file.path)
        document = project.document_in(file.path) if file.path.endswith(DOCUMENTS) else None
        for notice in unjudged(project.environment(file.path), file.data, document, file.path.endswith(".py")):
            self.notices_in.setdefault(file.path, {}).setdefault(notice)

    # Each reader says whether the file holds anything that rules would look at.

    def _check_python(self, file: SourceFile, explicit: bool) -> bool:
        notebook = file.path.endswith(".ipynb")
        if not file.path.endswith(PYTHON):
            return file.path.endswith(MARKDOWN) and self._check_fences(file)
        if notebook:
            from trl_lint.sources.notebook import code_of
        source = Source(file, "python") if not notebook else code_of(file)
        # Of a notebook only the code counts: what it printed may be a hundred times as long.
        data = file.data if source is None or not notebook else source.text.encode("utf-8", "replace")
        # What is parsed in any case is worth no long look before. What cannot be read as a notebook is JSON, with signs
        # of its own between the words.
        explicit = explicit or self._parses_all
        active = self._triage.active(data, file.path, is_rough=explicit or source is None)
        is_concerned = bool(active)
        is_configured = bool(self.run_rules) and may_configure(data)
        if not active and not is_configured:
            if not explicit:
                return is_concerned
            if file.tree is not None:  # and no parser has anything to say about it
                refuse_large(len(file.text))
                return is_concerned
        if source is None:
            from trl_lint.sources.notebook import python_source

            source = python_source(file)  # which says what is wrong with it
        self._check_module(source, active, is_configured)
        return is_concerned or is_configured

    def _check_module(self, source: Source, active: set[Rule], is_configured: bool) -> None:
        from trl_lint.python.module import PythonModule, repeated_keywords

        refuse_large(len(source.text))
        project = self.project(source.path)
        try:
            module = project.readings.kept_module(source) or PythonModule(source)
        except SourceError as error:
            from trl_lint.python.newer_syntax import UNCHECKED, is_newer_syntax

            if "nested" not in error.message and is_newer_syntax(source.text, error.offset):
                self._note(source.path, UNCHECKED)  # nothing is wrong with the file
                return
            raise SourceError(error.message, source.file_offset(error.offset)) from None
        module.project = ref(project)
        for keyword in repeated_keywords(module):  # the compiler refuses them, and not the grammar
            place = source.file_offset(module.span(keyword)[0])
            self._report_unparsed(source.path, f"keyword argument repeated: {keyword.arg}", place)
        self._module = module
        for rule, call in self._triage.candidates(module, active):
            site = Site(call, module, project)
            self._guarded(rule, source.path, partial(rule.check_call, site), "a call", partial(module.location, call))
        for rule in self._triage.importing(module, active):
            self._guarded(rule, source.path, partial(rule.check_module, module, project))
        if is_configured:
            project.readings.keep_module(module)
            if not self._check_runs_of(source.path):
                from trl_lint.run.runs import bare_run

                self._judge_run(bare_run(source.path, project))  # nobody else has it: it need not be remembered
        for counting in active.intersection(self._counting):
            work = partial(self._count_calls, counting, module, project)
            self._see(f"rule {counting.code}", source.path, work)
        if self._counting and b".backward(" in source.file.data:
            from trl_lint.checks.counted import seen_loops

            self._see("counting", source.path, partial(seen_loops, module, project))
        self._module = None
        project.readings.let_go(module)

    def _count_calls(self, rule: Rule, module: PythonModule, project: Project) -> Iterator[Seen | None]:
        for call, name, answer in rule.known_calls(module, project):
            yield seen("object", name, answer, module.location(call.func))

    def _check_fences(self, file: SourceFile) -> bool:
        from trl_lint.checks.shown import hooks_of_page

        hooks = hooks_of_page(file, self._rules, self._triage, self.project(file.path))
        for rule, hook in hooks:
            self._guarded(rule, file.path, hook)
        return bool(hooks)

    def _check_document(self, file: SourceFile, explicit: bool) -> bool:
        rules = [rule for rule in self._rules if rule.documents or rule.holding]
        if not (rules or self.run_rules or self._parses_all):
            return False
        if not file.path.endswith(DOCUMENTS):
            if explicit and file.path.endswith(".toml"):
                self._parse_named(file.path, False)
            return False
        project = self.project(file.path)
        try:
            document = project.document_in(file.path)
        except SourceError:
            self._count_file(file, is_broken=True)
            raise
        if document is None:
            if explicit:
                self._parse_named(file.path, False)
            self._count_file(file)
            return False
        if self._counting:
            from trl_lint.checks.counted import seen_document

            self._see("counting", file.path, lambda: [seen_document(document, self._counting, project)])
            if document.kind == "other" and not self.seen_in.get(file.path):
                self._count_file(file)
        for rule in rules:
            if rule.wants(document):
                self._guarded(rule, file.path, partial(rule.check_document, document, project), document.kind)
        if self.run_rules and document.kind != "other":
            self._check_runs_of(file.path)
        return document.kind != "other"

    def _count_file(self, file: SourceFile, is_broken: bool = False) -> None:
        """Count a file that is no document of ours, or that cannot be read as one, if it looks like a config."""
        if self._counting and file.path.endswith((".yaml", ".yml")):
            from trl_lint.checks.config_like import seen_file

            self._see("counting", file.path, lambda: [seen_file(file, is_broken)])

    def _note_concerned(self, path: str) -> list[Seen]:
        """Note that a file holds something of training, and what of it is counted so far."""
        return self.seen_in.setdefault(path, [])

    def _see(self, what: str, path: str, look: Callable[[], Iterable[Seen | None]]) -> None:
        """Count what is seen in a file; what cannot be read is reported by those who have to read it."""
        try:
            found = [one for one in budget.within(what, path, RULE_SECONDS, lambda: list(look())) if one is not None]
        except OverBudgetError as error:
            self._note_stopped(path, error)
        except (OSError, SourceError, RecursionError):
            pass
        else:
            if found:
                self._note_concerned(path).extend(found)

    def _check_manifest(self, file: SourceFile, explicit: bool) -> bool:
        from trl_lint.project.pins import is_manifest, kind_of

        pins = is_manifest(file.path)
        rules = [rule for rule in self._rules if rule.manifests and (pins or rule.workflows)]
        if not rules or not kind_of(file.path):
            return False
        project = self.project(file.path)
        manifest = project.manifest_in(file.path)
        if manifest is None:
            return False
        # What Python parses runs, and may not come to what a reader takes it for.
        severity = milder("error", file.path.endswith(".py"))
        packages = {"torch", *(name for rule in self._counting for name in rule.imports)}
        if not packages.isdisjoint(pin.package for pin in manifest.pins):
            self._note_concerned(file.path)  # who pins one of these trains
        for location, message in manifest.problems:
            self._report_unparsed(location.path, message, location.start, location.end, severity)
        for rule in rules:
            self._guarded(rule, file.path, partial(rule.check_manifest, manifest, project))
        return pins

    def _check_launches(self, file: SourceFile, explicit: bool) -> bool:
        from trl_lint.project.launch_table import launches_in
        from trl_lint.project.launches import holds_launches, is_shell_script
        from trl_lint.run.runs import run_of

        rules = [rule for rule in self._rules if rule.launches]
        whole = any(rule.scripts for rule in self._rules)
        if not (rules or whole or self.run_rules) or not holds_launches(file.path):
            return False
        project = self.project(file.path)
        launches = launches_in(file.path, project)
        for launch in launches:
            run = run_of(launch, project)
            for rule in rules:
                judge = partial(agreed, run, partial(_check_launch, rule))
                self._guarded(rule, file.path, judge, "a command", partial(_place_of, run))
            if self._counting:
                from trl_lint.checks.counted import seen_in_run

                self._see("counting", file.path, partial(seen_in_run, run, self._counting))
            self._check_run(run)
        if whole and is_shell_script(file):
            self._check_script(file, launches)
        if not launches and self._counting and file.path.endswith((".yaml", ".yml")):
            from trl_lint.project.unread_launchers import notice_of

            notice = notice_of(file.path, file.data)
            if notice is not None:
                self.notices_in.setdefault(file.path, {}).setdefault(notice)
        return bool(launches)

    def _check_script(self, file: SourceFile, launches: list[Launch]) -> None:
        """Check a shell script as a whole."""
        from trl_lint.project.scripts import script_of

        script = script_of(file, launches)
        if script is None:
            return
        for rule in self._rules:
            if rule.scripts:
                judge = partial(rule.check_script, script, self.project(file.path))
                self._guarded(rule, file.path, judge, "a script")

    def _check_run(self, run: Run) -> None:
        """Check a run once, whichever of its files comes first."""
        if run in self._checked_runs:
            return
        self._checked_runs.add(run)
        self._judge_run(run)

    def _judge_run(self, run: Run) -> None:
        before, self._checking = self._checking, run.launch.source.path
        what = f"the run of {run.name}"
        try:
            for rule in self.run_rules:
                if run.is_launched or not rule.launched:
                    judge = partial(self._found_here, rule, run)
                    self._guarded(rule, run.launch.source.path, judge, what, partial(_place_of, run))
            if run.link("recipe") is not None:
                self._check_recipe(run)
            if any(link.kind != "script" for link in run.links):
                self._parse_linked(run)
            run.release()
        finally:
            self._checking = before

    def _check_recipe(self, run: Run) -> None:
        """Check the recipe of a run which by itself, with its own keys alone, is none that is known."""
        from trl_lint.run.linked_recipes import linked_recipe

        recipe = linked_recipe(run)
        if recipe is None or recipe.path not in self.asked:
            return
        once = (run.launch.source.path, recipe.path, recipe.kind)
        if once in self._checked_recipes:
            return
        self._checked_recipes.add(once)
        for rule in self._rules:
            if (rule.documents or rule.holding) and rule.wants(recipe):
                self._guarded(rule, run.launch.source.path, partial(rule.check_document, recipe, run.project))

    def _parse_linked(self, run: Run) -> None:
        """Report the configs of a run that cannot be read: those too that hold no word of ours."""
        from trl_lint.run.linked_recipes import configs_read_by

        for path in configs_read_by(run):
            try:
                document = run.project.document_in(path)
            except SourceError as error:
                self._report_named(path, error)
            except OSError:
                pass  # it went, and the rules about names say so
            else:
                if document is None:
                    self._parse_named(path)

    def _parse_named(self, path: str, as_config: bool = True) -> None:
        """Say what is wrong with a file that somebody names, whatever its words are; `as_config`: to a program."""
        from trl_lint.project.refused import refusal

        with suppress(OSError):  # it went, and the rules about names say so
            found = refusal(path, self.project(path), as_config)
            if isinstance(found, SourceError):
                self._report_named(path, found)
            elif found:
                self._note(path, found)

    def _report_named(self, path: str, error: SourceError) -> None:
        self._named.add(path)
        if path in self.asked:
            self._report_refused(path, error)
        else:
            self._note(path, f"not taken into account: it cannot be read: {error.message}")

    def _found_here(self, rule: Rule, run: Run) -> Iterator[Finding]:
        """What a rule finds in a run, less what stands in files that nobody asked about."""
        return (finding for finding in agreed(run, rule.check_run) if finding.location.path in self.asked)

    def _check_runs_of(self, path: str) -> bool:
        """Check the runs that use a script or config, and whether there are any that certainly do."""
        from trl_lint.run.runs import runs_with

        runs = runs_with(path, self.project(path))
        for run in runs:
            source = run.launch.source.path
            if source not in self.asked or self._foreign(source) is not None:
                self._check_run(run)  # those in files that we are to check have their turn with these
        return any(link.status == "exact" and path in link.paths for run in runs for link in run.links)

    # -- results --------------------------------------------------------------------------------------------------

    def _guarded(
        self,
        rule: Rule,
        path: str,
        hook: Callable[[], Iterable[Finding]],
        what: str = "the file",
        place: Callable[[], Location] | None = None,
    ) -> None:
        """Run one hook; a rule that raises becomes one TRL003 finding, and the others go on.

        `what` it looks at, and its `place`, are for those who ask why.
        """
        if asked.log is not None:
            asked.note(
                asked.Answer("looks at", rule.code, what, place() if place is not None else Location(path, 0, 0))
            )
        try:
            budget.within(f"rule {rule.code}", path, RULE_SECONDS, partial(self._add_all, rule, path, hook))
        except OverBudgetError as error:
            self._note_stopped(path, error)
        except (SourceError, RecursionError) as error:
            # LibCST refused what `ast` accepted, or it is nested too deeply to be walked: nothing is certain of it.
            what_kept = "could not follow what is nested in it" if isinstance(error, RecursionError) else error.message
            budget.note(path, f"rule {rule.code}: {what_kept}")
            if tracked.variable("TRL_LINT_DEBUG"):
                raise RuntimeError(f"{path}: {error}") from error
        except KnowledgeError:
            raise
        except Exception as error:
            self._report_crash(path, f"rule {rule.code} ({rule.page.name})", error)

    def _note_stopped(self, path: str, error: OverBudgetError) -> None:
        """Note what was stopped, and drop what it may have left half done for the others."""
        budget.note(path, str(error))
        self.project(path).forget_worked_out()
        if self._module is not None:
            self._module.memo.clear()

    def _add_all(self, rule: Rule, path: str, hook: Callable[[], Iterable[Finding]]) -> None:
        key = rule.code, path
        if self._counts.get(key, 0) >= MOST_FINDINGS:
            return
        for finding in hook():
            if self.settings.is_enabled(finding.code, finding.location.path) and self._add(finding):
                count = self._counts[key] = self._counts.get(key, 0) + 1
                if count >= MOST_FINDINGS:
                    budget.limit(MOST_FINDINGS, f"rule {rule.code} stopped at its finding number {{}}", path)
                    return

    def _report_crash(self, path: str, what: str, error: Exception) -> None:
        import traceback

        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(where.filename)}:{where.lineno}"
        message = f"{what} failed: {type(error).__name__}: {error} ({place})"
        self._add(Finding("TRL003", message, Location(path, 0, 0), "error"))
        problem = Problem(path, message)
        if problem not in self.problems:
            self.problems.append(problem)

    def _report_refused(self, path: str, error: SourceError) -> None:
        if isinstance(error, TookTooLongError):
            return  # a notice says so
        # A file that is too large was left out on purpose: that is said, and stops no build.
        severity: Severity = "info" if isinstance(error, TooLargeError) else "error"
        self._report_unparsed(path, error.message, error.offset, severity=severity)

    def _report_unparsed(
        self, path: str, message: str, start: int, end: int | None = None, severity: Severity = "error"
    ) -> None:
        if severity != "info":
            from trl_lint.project.templates import reading_of

            reading = reading_of(path, start, self.project(path))
            if reading == "template":
                if path in self._named:
                    self._note(path, "not checked: it is a template, which something fills in before it is read")
                return
            if reading == "unclear":
                message, severity = f"{message}, unless something fills in the blank that stands there", "info"
        finding = Finding("TRL001", message, Location(path, start, start if end is None else end), severity)
        if self.settings.is_enabled("TRL001", path):
            self._add(finding)

    def _add(self, finding: Finding) -> bool:
        """Whether a finding is a new one."""
        from trl_lint.paths import is_retired, without_root

        path = finding.location.path
        root = self.project(self._checking or path).root
        if any(root in text for text in (finding.message, *(place.message for place in finding.related))):
            finding = reworded(finding, lambda text: without_root(text, root))
        finding = excerpted(finding)
        foreign = self._foreign(path) if path != self._checking else None
        if foreign is not None and not foreign.package:
            return False  # what generates it is at fault, and nobody can say what that is
        if finding.fix is not None and any(self._foreign(edit.path) for edit in finding.fix.edits):
            finding = finding._replace(fix=None)
        roots = (self.project(path).root, self.settings.root)
        if finding.code != "TRL003" and any(is_retired(path, root) for root in roots):
            finding = finding._replace(severity=milder(finding.severity))
        elif finding.severity != "info" and self._module is not None and self._module.path == path:
            finding = self._as_reached(finding, self._module)  # what its code does, and no command that its text shows
        if finding.fix is not None and (rule := self._by_code.get(finding.code)) is not None:
            finding = trusted(finding, rule.page.severity)
        found = self.found_in.setdefault(self._checking, {})
        count = len(found)
        found.setdefault(finding)
        return len(found) > count

    def _as_reached(self, finding: Finding, module: PythonModule) -> Finding:
        """A finding one level lower where nothing runs the module in which it stands."""
        from trl_lint.project.reached import is_replaced, is_unreached

        path = finding.location.path
        if not path.endswith(".py") or finding.code == "TRL003":
            return finding
        project = self.project(path)
        is_idle = is_unreached(module, project)
        if not is_idle and not is_replaced(path, project):
            return finding
        message = f"{finding.message}; nothing in this project imports this module" if is_idle else finding.message
        return finding._replace(severity=milder(finding.severity), message=message)


def _check_launch(rule: Rule, run: Run) -> Iterator[Finding]:
    return rule.check_launch(run.launch, run.project)


def _place_of(run: Run) -> Location:
    return run.launch.location
