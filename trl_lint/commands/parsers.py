"""The options of every command, for `argparse`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from trl_lint import __version__
from trl_lint.commands import UsageError
from trl_lint.finding import SEVERITIES
from trl_lint.reports import FORMATS
from trl_lint.selection import nearest

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_TARGET = "judge as if this release were pinned"
_DESCRIPTION = "Check reinforcement-learning training projects before they run."
_EPILOG = """\
commands:
  trl-lint [check] PATH...      check files and folders (the default; without PATH, the current folder)
  trl-lint clean [PATH]...      remove the cache folders of the current folder, or of PATH
  trl-lint diagnose LOG         name the likely cause of a run that died, from its log
  trl-lint environment [PATH]   show which releases the files run with, and which pins conflict
  trl-lint review [PATH]...     post the findings as a review of a pull request on GitHub
  trl-lint rule [CODE]          explain a rule
  trl-lint runs [PATH]...       show what each launch command starts, and which file sets which value

exit status: 0 nothing above a hint (see --fail-on), 1 errors or warnings found, 2 the tool could not do its work
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments: "):
            unknown = message.partition(": ")[2].split()[0]
            guess = nearest(unknown.partition("=")[0], self._option_string_actions) if unknown.startswith("-") else ""
            message = f"unexpected argument `{unknown}`" + (f"; did you mean `{guess}`?" if guess else "")
        raise UsageError(message)

    def format_help(self) -> str:
        return super().format_help().replace(" [=", "[=")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        (file or sys.stderr).write(message)  # argparse would swallow that it could not


def rule_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="trl-lint rule", description="Explain a rule, or all of them.", allow_abbrev=False)
    parser.add_argument("rule", nargs="?", metavar="CODE", help="a code such as TRL101, or the name of a rule")
    parser.add_argument("--all", action="store_true", help="explain every rule")
    parser.add_argument(
        "--output-format", default="text", choices=("text", "json"), metavar="FORMAT", help="text or json"
    )
    return parser


def runs_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="trl-lint runs",
        description="Show the runs of a project: launcher, processes, GPUs, configs, versions, and every value that is "
        "not left to its default with the place that sets it.",
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="show only runs that use these files and folders")
    parser.add_argument("--documentation", action="store_true", help="also commands in READMEs and docstrings")
    parser.add_argument(
        "--output-format", default="text", choices=("text", "json"), metavar="FORMAT", help="text or json"
    )
    parser.add_argument("--html", metavar="FILE", help="write one page with a picture of the GPUs instead")
    parser.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", metavar="WHEN", help="auto, always or never"
    )
    return parser


def clean_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="trl-lint clean",
        description="Remove the cache folders of the current folder and those below it, or of other folders.",
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="folders instead of the current one")
    parser.add_argument("--cache-dir", metavar="FOLDER", help="remove this cache folder")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing")
    return parser


def diagnose_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="trl-lint diagnose",
        description="Find the first real failure in the log of a run, and what caused it, with the evidence.",
        epilog="exit status: 0 a likely or possible cause found, 1 none found, 2 the log cannot be read",
        allow_abbrev=False,
    )
    parser.add_argument("log", metavar="LOG", help="the log of the run; `-` reads standard input")
    parser.add_argument("--project", metavar="PATH", help="look for the cause in this folder, too")
    parser.add_argument("--target", action="append", metavar="PACKAGE==VERSION", help="a release that ran")
    parser.add_argument(
        "--output-format", default="full", choices=("full", "json"), metavar="FORMAT", help="full or json"
    )
    parser.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", metavar="WHEN", help="auto, always or never"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    return parser


def environment_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="trl-lint environment",
        description="Show which releases the files of a project run with, where that is written, and what conflicts.",
        epilog="exit status: 0 no conflict above a hint, 1 conflicts found, 2 the tool could not do its work",
        allow_abbrev=False,
    )
    parser.add_argument("path", nargs="?", default=".", metavar="PATH", help="a folder or a file")
    parser.add_argument("--target", action="append", metavar="PACKAGE==VERSION", help=_TARGET)
    parser.add_argument(
        "--output-format", default="text", choices=("text", "json"), metavar="FORMAT", help="text or json"
    )
    _add_settings(parser.add_argument_group("settings"))
    return parser


def review_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="trl-lint review",
        description="Post the findings as a review of a pull request on GitHub, and keep it up to date. The token is "
        "read from GITHUB_TOKEN.",
        epilog="exit status: 0 nothing above a hint in what the pull request touches, 1 errors or warnings there, "
        "2 the tool could not do its work",
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and folders to check")
    parser.add_argument("--report", metavar="FILE", help="post this report (json, or a zip with it) and check nothing")
    parser.add_argument("--unsafe-fixes", action="store_true", help="suggest fixes that may change behaviour, too")
    parser.add_argument("--baseline", metavar="FILE", help="only findings that are not in this baseline")
    parser.add_argument(
        "--all", action="store_true", help="also what the pull request does not touch; it counts for the exit status"
    )
    parser.add_argument("--dry-run", action="store_true", help="post nothing; print the requests that would be sent")
    _add_fail_on(parser)
    parser.add_argument("--exit-zero", action="store_true", help="exit with 0 even if something is found")
    parser.add_argument(
        "--fallback", choices=("annotations", "none"), default="annotations", metavar="WHAT",
        help="what to print where the token may not write: annotations (default) or none",
    )  # fmt: skip
    place = parser.add_argument_group("pull request")
    place.add_argument("--repository", metavar="OWNER/NAME", help="default: GITHUB_REPOSITORY")
    place.add_argument("--pull-request", type=int, metavar="NUMBER", help="default: that of the event")
    place.add_argument("--api-url", metavar="URL", help="default: GITHUB_API_URL, or https://api.github.com")
    place.add_argument("--prefix", metavar="FOLDER", help="where the paths of the report count from in the repository")
    place.add_argument("--name", help="what tells this review from others of the same pull request")
    _add_rules(parser.add_argument_group("rules"))
    _add_settings(parser.add_argument_group("settings"))
    return parser


def check_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="trl-lint",
        usage="trl-lint [check] [options] [PATH...]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and folders; `-` reads standard input")
    parser.add_argument("-V", "--version", action="version", version=f"trl-lint {__version__}")
    _add_fixes(parser.add_argument_group("fixes"))
    _add_rules(parser.add_argument_group("rules"))
    _add_files(parser.add_argument_group("files"))
    _add_suppressions(parser.add_argument_group("suppressions"))
    _add_output(parser.add_argument_group("output"))
    settings = parser.add_argument_group("settings")
    _add_settings(settings)
    settings.add_argument("--cache-dir", metavar="FOLDER", help="keep reports of earlier runs here")
    settings.add_argument("-n", "--no-cache", action="store_true", help="neither use nor keep reports of earlier runs")
    return parser


def _add_fixes(group: argparse._ArgumentGroup) -> None:
    flag = argparse.BooleanOptionalAction
    group.add_argument("--fix", action=flag, default=None, help="repair what can be repaired safely")
    group.add_argument("--unsafe-fixes", action=flag, default=None, help="also with fixes that may change behaviour")
    group.add_argument("--show-fixes", action=flag, default=None, help="list the fixes that were made")
    group.add_argument("--diff", action="store_true", help="write nothing; print what --fix would change")
    group.add_argument("--exit-non-zero-on-fix", action="store_true", help="exit with 1 if anything was repaired")


def _add_rules(group: argparse._ArgumentGroup) -> None:
    codes: dict[str, Any] = {"action": "append", "metavar": "CODES"}
    group.add_argument("--select", **codes, help="rules to run: codes, prefixes (TRL1), ALL")
    group.add_argument("--ignore", **codes, help="rules not to run")
    group.add_argument("--extend-select", **codes, help="rules to run besides those selected")
    group.add_argument(
        "--per-file-ignores", action="append", metavar="PATTERN:CODES", help="rules not to run on some files"
    )
    group.add_argument("--target", action="append", metavar="PACKAGE==VERSION", help=_TARGET)


def _add_files(group: argparse._ArgumentGroup) -> None:
    patterns: dict[str, Any] = {"action": "append", "metavar": "PATTERNS"}
    group.add_argument("--exclude", **patterns, help="leave these out, instead of the usual ones")
    group.add_argument("--extend-exclude", **patterns, help="leave these out as well")
    group.add_argument("--force-exclude", action="store_true", help="leave them out even if named on the command line")
    group.add_argument(
        "--respect-gitignore",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="leave out what git ignores (default)",
    )
    group.add_argument("--stdin-filename", metavar="NAME", help="the name of the file that comes from standard input")
    group.add_argument(
        "-j",
        "--jobs",
        type=_jobs,
        metavar="N",
        help="processes to use; `auto` (default) takes more than one where it pays",
    )


def _jobs(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"`{text}` is neither a number from 1 on nor `auto`")
    return int(text)


def _add_suppressions(group: argparse._ArgumentGroup) -> None:
    reason = "[=REASON]"  # joined to its option: a word behind it is a path
    group.add_argument(
        "--add-noqa", metavar=reason, help="add `# noqa` for every finding, with REASON behind its codes"
    )
    group.add_argument("--baseline", metavar="FILE", help="show only findings that are not in this baseline")
    group.add_argument(
        "--respect-file-noqa",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="leave out files with a line `# flake8: noqa` (default)",
    )
    group.add_argument("--write-baseline", action="store_true", help="write all findings to the baseline and exit")


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--output-format", metavar="FORMAT", help=f"{', '.join(FORMATS)} (default: full)")
    group.add_argument("--output-file", metavar="FILE", help="write the report to a file")
    group.add_argument("--statistics", action="store_true", help="show counts by rule")
    group.add_argument(
        "--hints", action=argparse.BooleanOptionalAction, default=None, help="show hints, not only their number"
    )
    _add_fail_on(group)
    group.add_argument("--exit-zero", action="store_true", help="exit with 0 even if something is found")
    group.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", metavar="WHEN", help="auto, always or never"
    )
    group.add_argument("-q", "--quiet", action="store_true", help="print findings only")
    group.add_argument("-s", "--silent", action="store_true", help="print nothing")
    group.add_argument(
        "-v", "--verbose", action="store_true", help="show every place of a cause, and say more about the run"
    )


def _add_fail_on(group: argparse._ActionsContainer) -> None:
    level = "exit with 1 from this level on: error, warning (default) or info"
    group.add_argument("--fail-on", choices=SEVERITIES, metavar="LEVEL", help=level)


def _add_settings(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--config", metavar="FILE", help="read settings from this pyproject.toml or trl-lint.toml")
    group.add_argument("--isolated", action="store_true", help="read no settings")
