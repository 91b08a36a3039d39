"""The options of every command, for `argparse`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from trl_lint import __version__
from trl_lint.commands import UsageError
from trl_lint.options import OPTIONS, Option, option
from trl_lint.reports import FORMATS
from trl_lint.words import nearest

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_OF_THE_CACHE = ("cache-dir", "no-cache")
# Commands first: nobody looks for them behind fifty options.
_DESCRIPTION = """\
Check reinforcement-learning training projects before they run.

commands:
  trl-lint [check] PATH...      check files and folders (the default; without PATH, the current folder)
  trl-lint bugs [PACKAGE]...    list the known bugs of a release, such as trl==0.24.0
  trl-lint clean [PATH]...      remove the cache folders of the current folder, or of PATH
  trl-lint completion SHELL     print what bash, zsh or fish needs to complete commands and options
  trl-lint diagnose LOG         name the likely cause of a run that died, from its log
  trl-lint environment [PATH]   show which releases the files run with, and which pins conflict
  trl-lint init [PATH]          add settings, a hook for pre-commit and a job for CI to a repository
  trl-lint review [PATH]...     post the findings as a review of a pull request on GitHub
  trl-lint rule [CODE]          explain a rule
  trl-lint runs [PATH]...       show what each launch command starts, and which file sets which value
  trl-lint server               speak to an editor, by the language server protocol
  trl-lint upgrade [PATH]...    move code, recipes, commands and pins to newer releases
  trl-lint why CODE PATH:LINE   tell how a finding came about, or why there is none
\
"""
_EPILOG = """\
A file or folder that is called like a command is checked as `./NAME`.

exit status: 0 nothing above a hint (see --fail-on), 1 errors or warnings found, 2 the tool could not do its work
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments: "):
            unknown = message.partition(": ")[2].split()[0]
            guess = _option_meant(unknown.partition("=")[0], self._option_string_actions)
            message = f"unexpected argument `{unknown}`" + (f"; did you mean `{guess}`?" if guess else "")
        raise UsageError(message)

    def format_help(self) -> str:
        return super().format_help().replace(" [=", "[=")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        (file or sys.stderr).write(message)  # argparse would swallow that it could not


def _option_meant(word: str, options: Iterable[str]) -> str:
    """The option that a misspelt one most likely meant, by its letters: the dashes are alike in all of them."""
    if not word.startswith("--"):
        return ""
    meant = nearest(word[2:], [one[2:] for one in options if one.startswith("--")])
    return f"--{meant}" if meant else ""


def rule_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="trl-lint rule", description="Explain a rule, or all of them.", allow_abbrev=False)
    parser.add_argument("rule", nargs="?", metavar="CODE", help="a code such as TRL101, or the name of a rule")
    parser.add_argument("--all", action="store_true", help="explain every rule")
    _add_format(parser, "text", "json")
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
    _add_format(parser, "text", "json")
    parser.add_argument("--all", action="store_true", help="also the values that are left to a default")
    parser.add_argument(
        "--html", metavar="FILE", help="write one page instead: what starts what, GPUs, values, findings"
    )
    parser.add_argument(
        "--coverage", action="store_true", help="show instead what of it is understood, by entry point and reason"
    )
    _add(parser, "color")
    return parser


def init_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="trl-lint init",
        description="Add settings, a hook for pre-commit and a job for CI to a repository that has none. What is there "
        "stays as it is, but for lines that are added.",
        allow_abbrev=False,
    )
    parser.add_argument("path", nargs="?", default=".", metavar="PATH", help="a folder of the repository")
    parser.add_argument("--dry-run", action="store_true", help="write nothing; print what would be written")
    return parser


def completion_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="trl-lint completion",
        description="Print the script by which a shell completes commands, options and their values.",
        allow_abbrev=False,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")
    return parser


def bugs_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="trl-lint bugs",
        description="List the known bugs of releases that the rule TRL206 looks for: when they strike, and what to do.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "packages", nargs="*", metavar="PACKAGE", help="a package, or one of its releases: trl, trl==0.24.0"
    )
    _add_format(parser, "text", "json")
    return parser


def clean_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="trl-lint clean",
        description="Remove the cache folders of the current folder and those below it, or of other folders.",
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="folders instead of the current one")
    _add(parser, "cache-dir", help="remove this cache folder")
    _add(parser, "quiet", help="print nothing")
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
    parser.add_argument("--follow", action="store_true", help="wait beside a log that grows, and speak when it ends")
    parser.add_argument(
        "--hang-after", type=_minutes, default=30.0, metavar="MINUTES",
        help="with --follow: call a run hung that writes nothing for so long (30)",
    )  # fmt: skip
    _add(parser, "target", help="a release that ran")
    _add_format(parser, "full", "json", "html")
    _add(parser, "color")
    _add(parser, "quiet", help="show no progress")
    return parser


def environment_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="trl-lint environment",
        description="Show which releases the files of a project run with, where that is written, and what conflicts.",
        epilog="exit status: 0 no conflict above a hint, 1 conflicts found, 2 the tool could not do its work",
        allow_abbrev=False,
    )
    parser.add_argument("path", nargs="?", default=".", metavar="PATH", help="a folder or a file")
    _add(parser, "target")
    _add_format(parser, "text", "json")
    _add_group(parser, "settings", *_OF_THE_CACHE)
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
    _add(parser, "baseline", help="only findings that are not in this baseline")
    parser.add_argument(
        "--all", action="store_true", help="also what the pull request does not touch; it counts for the exit status"
    )
    parser.add_argument("--dry-run", action="store_true", help="post nothing; print the requests that would be sent")
    _add(parser, "fail-on", "exit-zero")
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
    place.add_argument(
        "--page",
        metavar="URL",
        help="link the page with all findings; `run` is the run of the workflow, by GITHUB_RUN_ID",
    )
    _add_group(parser, "rules")
    _add_group(parser, "settings", *_OF_THE_CACHE)
    return parser


def server_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="trl-lint server",
        description="Serve an editor on the standard streams, by the language server protocol, until it leaves.",
        epilog="exit status: 0 the editor said good-bye, 1 it went without, 2 the tool could not do its work",
        allow_abbrev=False,
    )
    parser.add_argument("--stdio", action="store_true", help="the standard streams, which are used anyway")
    return parser


def why_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="trl-lint why",
        description="Tell how a finding came about, or why there is none: what the rule looked at, which releases and "
        "values it asked for, and what would make known what is not.",
        allow_abbrev=False,
    )
    parser.add_argument("code", metavar="CODE", help="a code such as TRL301, or the name of a rule")
    parser.add_argument("place", metavar="PATH[:LINE]", help="a file, or a line of it")
    _add(parser, "target")
    _add_format(parser, "text", "json")
    _add_group(parser, "settings", *_OF_THE_CACHE)
    return parser


def upgrade_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="trl-lint upgrade",
        usage="trl-lint upgrade [--to PACKAGE==VERSION]... [options] [PATH...]",
        description="Move a project to other releases: code, recipes, launch commands and pins. Prints a diff, and the "
        "plan of what is left to do by hand.",
        epilog="exit status: 0 nothing left to do, 1 changes to make or decisions left, 2 the tool could not do its "
        "work",
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and folders; without PATH, the current folder")
    parser.add_argument(
        "--to", action="append", metavar="PACKAGE==VERSION",
        help="a release to move to, a range (`trl>=1.10,<1.16`), a tag (`trl@v1.16.0`), or a name for the newest; "
        "without it, the newest releases of the training stack that fit together",
    )  # fmt: skip
    parser.add_argument(
        "--from", action="append", dest="start", metavar="PACKAGE==VERSION",
        help="a release that is used now, where no pin says so",
    )  # fmt: skip
    made = parser.add_mutually_exclusive_group()
    made.add_argument("--write", action="store_true", help="make the changes instead of printing them")
    made.add_argument("--diff", action="store_true", help="write nothing; print the changes (default)")
    parser.add_argument(
        "--keep-behaviour", action="store_true",
        help="write the old value down where a default changed that alters the training",
    )  # fmt: skip
    _add(parser, "unsafe-fixes", help="also with changes that may alter behaviour")
    parser.add_argument(
        "--plan", metavar="FILE", help="write the plan to this file (Markdown), and tick off what an earlier one lists"
    )
    _add_format(parser, "text", "json", "markdown")
    _add(parser, "color", "quiet", "jobs")
    _add_group(parser, "settings", *_OF_THE_CACHE)
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
    for title in dict.fromkeys(one.group for one in OPTIONS):
        _add_group(parser, title)
    return parser


def all_parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command, by its name."""
    found = {name.removesuffix("_parser"): make for name, make in globals().items() if name.endswith("_parser")}
    return {name: make() for name, make in sorted(found.items())}


def _add_group(parser: argparse.ArgumentParser, title: str, *left_out: str) -> None:
    """Every option of a group, under its heading."""
    group = parser.add_argument_group(title)
    _add(group, *(one.name for one in OPTIONS if one.group == title and one.name not in left_out))


def _add(group: argparse._ActionsContainer, *names: str, **changes: str) -> None:
    """Options by their names; `changes` say otherwise than their declaration."""
    for name in names:
        one = option(name)
        flags = [f"-{one.letter}"] * bool(one.letter) + [f"--{name}"]
        group.add_argument(*flags, **{**_arguments(one), **changes})


def _arguments(one: Option) -> dict[str, Any]:
    """How argparse is told of an option."""
    said: dict[str, Any] = {"help": one.help.format(formats=", ".join(FORMATS))}
    if one.kind == "switch":
        return {**said, "action": "store_true"}
    said["default"] = one.default
    if one.kind == "either":
        return {**said, "action": argparse.BooleanOptionalAction}
    said["metavar"] = one.takes
    if one.kind == "values":
        return {**said, "action": "append"}
    if one.name == "jobs":
        said["type"] = _jobs
    return {**said, "choices": one.choices} if one.choices else said


def _add_format(parser: argparse.ArgumentParser, *formats: str) -> None:
    """The formats of a command of its own; the first is what it writes unless told otherwise."""
    parser.add_argument(
        "--output-format", default=formats[0], choices=formats, metavar="FORMAT", help=" or ".join(formats)
    )


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0 < minutes < 1e6:
        raise argparse.ArgumentTypeError(f"`{text}` is no number of minutes")
    return minutes


def _jobs(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"`{text}` is neither a number from 1 on nor `auto`")
    return int(text)
