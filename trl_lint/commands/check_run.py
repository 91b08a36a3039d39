"""One run of `trl-lint check`: settle the settings, run the engine, repair, report."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from trl_lint import tracked
from trl_lint.commands import UsageError
from trl_lint.commands.options import group_by_settings, read_options, unread
from trl_lint.commands.outcome import Group, Outcome, about_targets, gone, shown
from trl_lint.commands.output import Output, columns, write_bytes
from trl_lint.coverage import merged
from trl_lint.finding import SEVERITIES, Edit, Finding, Notice
from trl_lint.reports import FOR_PEOPLE, WITH_EDITS, WITH_ENVIRONMENT, Report, write
from trl_lint.reports.colors import wants_color
from trl_lint.settings import Settings
from trl_lint.sources.text import SourceFile
from trl_lint.words import counted

if TYPE_CHECKING:
    import argparse

    from trl_lint.baseline import Baseline
    from trl_lint.cache.parts import Parts
    from trl_lint.cache.reuse import Earlier
    from trl_lint.cache.store import Memory
    from trl_lint.engine import Result
    from trl_lint.fixes.repair import Refusal
    from trl_lint.reports.run_places import RunPlaces
    from trl_lint.workspace import Workspace

_STDIN_NAME = "stdin.py"


class CheckRun:
    """One run of the command, from its arguments to its exit status; `memory` is what it is kept by, if it is."""

    def __init__(self, args: argparse.Namespace, memory: Memory | None) -> None:
        self.args = args
        self.output = Output(args, memory)
        self.options = read_options(args)
        self.paths: list[str] = args.paths or ["."]
        self.overlays: dict[str, bytes] = {}
        self.shown_as: dict[str, str] = {}
        self.stdin_path: str | None = None
        if "-" in self.paths:
            self._read_stdin()
        elif args.stdin_filename is not None:
            raise UsageError("`--stdin-filename` needs `-` as the path")
        self.settings, self.groups = self._groups()
        self.is_fixing = self.settings.fix or self.args.diff
        self.problems: list[tuple[str, str]] = []
        self.earlier: Earlier | None = None
        self._workspaces: dict[int, Workspace] = {}  # by the group
        self.parts: Parts | None = None
        self.is_concerned = True  # whether there was anything to check
        self.is_part = False  # whether files were spared because of an earlier run

    def _read_stdin(self) -> None:
        if len(self.paths) > 1:
            raise UsageError("`-` cannot be combined with other paths")
        name = self.args.stdin_filename
        path = self.stdin_path = os.path.abspath(name or _STDIN_NAME)
        stream = getattr(sys.stdin, "buffer", None)
        try:
            self.overlays[path] = stream.read() if stream is not None else sys.stdin.read().encode()
        except OSError as error:
            raise UsageError(f"standard input cannot be read: {tracked.reason(error)}") from None
        if name is None:
            self.shown_as[path] = "-"
        self.paths = [path]

    def _groups(self) -> tuple[Settings, list[Group]]:
        found = group_by_settings(self.paths, self.options, self.args)
        is_made = found[0][0].fix or bool(self.args.diff)
        for settings, _ in found:
            settings.wants_edits = is_made or found[0][0].output_format in WITH_EDITS
        return found[0][0], [Group(settings, paths, self._baseline(settings)) for settings, paths in found]

    def _baseline(self, settings: Settings) -> Baseline | None:
        if settings.baseline is None or self.args.write_baseline:
            return None
        from trl_lint.baseline import BaselineError, read_baseline

        try:
            return read_baseline(settings.baseline)
        except BaselineError as error:
            raise UsageError(str(error)) from None

    def run(self) -> int:
        """Check, repair and report; the exit status."""
        from trl_lint.project.roots import starting_in

        with starting_in(self.paths):
            return self._run()

    def _run(self) -> int:
        if self.args.show_settings or self.args.show_files:
            from trl_lint.commands.show import show_files, show_settings

            show = show_settings if self.args.show_settings else show_files
            return show(self.groups, self.args)
        for hint in unread(self.paths):
            self.output.say(hint)
        if self.args.write_baseline or self.args.add_noqa is not None:
            return self._write_suppressions()
        start = time.perf_counter()
        from trl_lint.commands.progress import progress

        with progress(quiet=self.args.quiet or self.args.silent):
            outcome = self._repaired() if self.is_fixing else self._checked()
        if self.args.since is not None:
            from trl_lint.commands.since import Changes, only_touched

            changes = Changes(self.args.since, os.getcwd())
            outcome = outcome._replace(
                findings=only_touched(outcome.findings, changes, self._report_of(outcome, sys.stderr))
            )
        self.problems += outcome.problems
        if self.args.verbose:
            for group in self.groups:
                self.output.say(f"settings: {group.settings.config or 'defaults'}")
            self.output.say(f"{counted(outcome.coverage.files, 'file')} in {time.perf_counter() - start:.2f} s")
        if self.args.diff:
            return self._show_diff(outcome)
        if self.settings.fix:
            outcome = self._written(outcome)
        status = self._status(outcome)
        # What was read lives until the process ends, soon; a garbage collector that looks through all of it, as the
        # first objects of the report would make it, takes longer than the report.
        gc.freeze()
        try:
            self._report(outcome)
            sys.stdout.flush()
        except BrokenPipeError as error:
            error.status = status  # type: ignore[attr-defined]
            raise
        return status

    # -- running --------------------------------------------------------------------------------------------------

    def _workspace(self, group: Group) -> Workspace:
        found = self._workspaces.get(id(group))
        if found is None:
            from trl_lint.workspace import Workspace

            record = tracked.Record() if self.is_fixing else tracked.current()
            found = self._workspaces[id(group)] = Workspace(group.settings, self.overlays, record)
            if self.earlier is not None:
                found.take_up(group.paths, *self.earlier)
        return found

    def _check_group(self, group: Group, contents: dict[str, bytes]) -> Result:
        overlays = {**self.overlays, **contents}
        if self.is_fixing or self.earlier is not None:
            workspace = self._workspace(group)
            workspace.lay(overlays)
            result = workspace.check(group.paths, self.args.jobs)
        else:
            from trl_lint.engine import check

            result = check(group.paths, group.settings, overlays, self.args.jobs)
        if len(self.groups) == 1:
            self.parts, self.is_part = result.parts, result.again is not None
        return result

    def _checked(self, contents: dict[str, bytes] | None = None) -> Outcome:
        results = [(group, self._check_group(group, contents or {})) for group in self.groups]
        self._results = results  # what was read ends with the process
        return self._outcome(results, contents or {}, {}, {}, [], [])

    def _repaired(self) -> Outcome:
        from trl_lint.fixes.repair import repair
        from trl_lint.writing import unwritable

        contents: dict[str, bytes] = {}
        before: dict[str, SourceFile] = {}
        fixed: list[Finding] = []
        refused: list[Refusal] = []
        closed: dict[str, str | None] = {}

        def is_open(path: str) -> bool:
            if path not in closed:
                closed[path] = None if self.args.diff or path in self.overlays else unwritable(path)
            return closed[path] is None

        results = []
        for group in self.groups:
            done = repair(
                lambda new, group=group: self._check_group(group, {**contents, **new}),  # type: ignore[misc]
                lambda result, group=group: [  # type: ignore[misc]
                    finding
                    for finding in shown(group, result)
                    if finding.fix is None or _are_open(finding.fix.edits, is_open)
                ],
                group.settings.unsafe_fixes,
            )
            contents.update(done.changed)
            before.update({path: file for path, file in done.before.items() if path not in before})
            fixed += done.fixed
            refused += done.refused
            results.append((group, done.result))
        self.problems += [(path, reason) for path, reason in closed.items() if reason is not None]
        return self._outcome(results, contents, contents, before, fixed, refused)

    def _outcome(
        self,
        results: Sequence[tuple[Group, Result]],
        contents: dict[str, bytes],
        changed: dict[str, bytes],
        before: dict[str, SourceFile],
        fixed: list[Finding],
        refused: list[Refusal],
    ) -> Outcome:
        findings: list[Finding] = []
        notices: dict[Notice, None] = {}
        problems: list[tuple[str, str]] = []
        hidden = 0
        for group, result in results:
            new = shown(group, result)
            hidden += len(result.findings) - len(new)
            findings += new
            notices.update(dict.fromkeys([*about_targets(group.settings), *result.notices]))
            problems += [(path, message) for path, message in result.problems if (path, message) not in problems]
        findings = sorted(dict.fromkeys(findings), key=lambda finding: finding.sort_key)
        environment: dict[str, Mapping[str, str | None]] = {}
        if self.settings.output_format in WITH_ENVIRONMENT:
            from trl_lint.commands.environment import pinned_packages

            environment = pinned_packages(result for _, result in results)
        runs: list[RunPlaces] = []
        if self.settings.output_format == "html":
            from trl_lint.commands.runs import runs_of
            from trl_lint.reports.run_places import places_of

            runs = [places_of(run) for _, result in results for project in result.projects for run in runs_of(project)]
        coverage = merged(sum(result.checked for _, result in results), (result.coverage for _, result in results))
        self.is_concerned = coverage.is_concerned or bool(findings or notices or problems)
        everything = {**self.overlays, **contents}
        return Outcome(
            findings,
            list(notices),
            problems,
            environment,
            everything,
            changed,
            before,
            fixed,
            refused,
            hidden,
            sum(gone(group, result) for group, result in results),
            coverage,
            runs,
        )

    # -- repairing ------------------------------------------------------------------------------------------------

    def _written(self, outcome: Outcome) -> Outcome:
        """Put the repaired files in place; what could not be written is checked again as it is."""
        from trl_lint.writing import write_together

        contents = {path: data for path, data in outcome.changed.items() if path != self.stdin_path}
        before = {path: outcome.before[path].data for path in contents}
        failed = write_together(contents, before, [{edit.path for edit in f.fix.edits} for f in outcome.fixed if f.fix])
        self.problems += sorted(failed.items())
        # A refusal knows where its finding was then; later repairs may have moved it.
        report = self._report_of(outcome, sys.stderr)
        now = {(f.code, f.location.path, f.message): f.location for f in outcome.findings}
        for finding, reason in outcome.refused:
            place = now.get((finding.code, finding.location.path, finding.message), finding.location)
            self.output.say(f"{report.place(place)}: the fix of {finding.code} was not made: {reason}")
        if not failed:
            return outcome
        written = {path: data for path, data in outcome.changed.items() if path not in failed}
        fixed = [f for f in outcome.fixed if f.fix and not any(edit.path in failed for edit in f.fix.edits)]
        return self._checked(written)._replace(fixed=fixed, changed=written)

    def _show_diff(self, outcome: Outcome) -> int:
        from trl_lint.commands.fixes import fix_list, write_diff

        stream = self._stream()
        report = self._report_of(outcome, stream)
        if not self.args.silent:
            write_diff(outcome.changed, outcome.before, report, stream)
        if self.args.output_file is not None:
            self.output.put()
        if self.settings.show_fixes and outcome.fixed:
            self.output.say(fix_list(outcome.fixed, report).rstrip("\n"), prefix="")
        found = f"Would fix {counted(len(outcome.fixed), 'problem')}." if outcome.fixed else "No fixes to make."
        self.output.say(found, prefix="")
        self._say_problems()
        if self._failed(outcome):
            return 2
        return 1 if outcome.changed and not self.args.exit_zero else 0

    # -- reporting ------------------------------------------------------------------------------------------------

    def _say_problems(self) -> None:
        self.output.say_problems(self.problems, self.shown_as)

    def _stream(self) -> TextIO:
        return self.output.stream(is_taken=self.stdin_path is not None and self.settings.fix)

    def _report_of(self, outcome: Outcome, stream: TextIO) -> Report:
        is_terminal = stream.isatty()
        color = wants_color(self.args.color, stream)
        return Report(
            findings=outcome.findings,
            problems=self.problems,
            files=outcome.files(),
            cwd=os.getcwd(),
            environment=outcome.environment,
            shown_as=self.shown_as,
            unsafe_fixes=self.settings.unsafe_fixes,
            color=color,
            links=is_terminal and color,
            width=columns(is_terminal),
            fixed=len(outcome.fixed),
            in_baseline=outcome.in_baseline,
            summary=not self.args.quiet,
            notices=outcome.notices,
            runs=outcome.runs,
            least="info" if self.settings.hints or self.settings.fail_on == "info" else "warning",
            unfold=self.args.verbose,
            coverage=outcome.coverage,
        )

    def _report(self, outcome: Outcome) -> None:
        if self.stdin_path is not None and self.settings.fix:
            write_bytes(outcome.contents[self.stdin_path])
        self._say_problems()
        if outcome.gone:
            are = "is" if outcome.gone == 1 else "are"
            number = counted(outcome.gone, "finding")
            self.output.say(f"{number} of the baseline {are} gone: `--write-baseline` drops what is not found any more")
        if self.args.silent and self.args.output_file is None:
            return
        stream = self._stream()
        report = self._report_of(outcome, stream)
        name = self.settings.output_format
        if self.settings.show_fixes and outcome.fixed and name in FOR_PEOPLE:
            from trl_lint.commands.fixes import fix_list

            stream.write(fix_list(outcome.fixed, report))
        if self.args.statistics:
            from trl_lint.commands.statistics import write_statistics

            write_statistics(report, name, stream)
        else:
            write(name, report, stream)
        if self.args.output_file is not None:
            self.output.put()

    # -- exit status ----------------------------------------------------------------------------------------------

    def _failed(self, outcome: Outcome) -> bool:
        return bool(self.problems) or any(finding.code == "TRL003" for finding in outcome.findings)

    def _status(self, outcome: Outcome) -> int:
        if self._failed(outcome):
            return 2
        if self.args.exit_zero:
            return 0
        # A hint is there to be read, not to stop a build.
        least = SEVERITIES.index(self.settings.fail_on)
        serious = any(SEVERITIES.index(finding.severity) >= least for finding in outcome.findings)
        return 1 if serious or (outcome.fixed and self.args.exit_non_zero_on_fix) else 0

    # -- suppressions ---------------------------------------------------------------------------------------------

    def _write_suppressions(self) -> int:
        from trl_lint.commands.suppressions import BASELINE, add_noqas, write_baseline

        outcome = self._checked()
        self.problems += outcome.problems
        self._say_problems()
        if self.args.write_baseline:
            path = self.settings.baseline or BASELINE
            write_baseline(path, outcome.findings, outcome.files())
            written = f"Wrote {counted(len(outcome.findings), 'finding')} to {path}"
            unsaid = (
                "" if self.settings.baseline else f"; `--baseline {path}`, or the setting `baseline`, leaves them out"
            )
            self.output.say(f"{written}{unsaid}.", prefix="")
        else:
            if self.stdin_path is not None:
                raise UsageError("`--add-noqa` needs files it can write")
            report = self._report_of(outcome, sys.stderr)
            added = add_noqas(outcome.findings, report, self.args.add_noqa)
            for place, reason in added.left:
                self.output.say(f"{place}: {reason}")
            self.output.say(f"Added {counted(added.comments, 'noqa comment')}.", prefix="")
            known, self.problems = self.problems, added.problems
            self._say_problems()
            self.problems += known
        return 2 if self._failed(outcome) else 0


def _are_open(edits: Iterable[Edit], is_open: Callable[[str], bool]) -> bool:
    # Every file is asked, so that each closed one is reported and not only the first.
    answers = [is_open(edit.path) for edit in edits]
    return all(answers)
