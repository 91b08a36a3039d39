"""The command line, in ruff's vocabulary and with ruff's manners."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trl_lint.commands import UsageError
from trl_lint.commands.plain import plain_arguments
from trl_lint.knowledge import KnowledgeError
from trl_lint.streams import end_after, is_of_a_stream, make_ready, say

if TYPE_CHECKING:
    import argparse

COMMANDS = (
    "bugs", "check", "clean", "completion", "diagnose", "environment", "init", "review", "rule", "runs", "server",
    "upgrade", "why",
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status. Never raises for what a user or a file did wrong."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    make_ready()
    try:
        status = _guarded(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        return status
    except OSError as error:
        return end_after(error)


def _guarded(arguments: list[str]) -> int:
    """Run a command; OSErrors of the standard streams are left to the caller."""
    asked = f"{arguments[0]} " if arguments and arguments[0] in COMMANDS else ""
    try:
        return _run(arguments)
    except UsageError as error:
        say(f"trl-lint: {error}", f"For help, try `trl-lint {asked}--help`.")
        return 2
    except KnowledgeError as error:
        say(f"trl-lint: {error} (a fault of trl-lint and of no file here)")
        return 2
    except SystemExit as stop:  # argparse, after `--help`
        return stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt:
        say("trl-lint: interrupted")
        return 130
    except Exception as error:  # a fault of ours: said in one line, and never taken for "something found"
        if isinstance(error, OSError) and is_of_a_stream(error):
            raise
        if os.environ.get("TRL_LINT_DEBUG"):
            raise
        say(f"trl-lint: {_fault(error)}")
        return 2


def _fault(error: Exception) -> str:
    import traceback

    where = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(f"{type(error).__name__}: {error}".split())
    place = f"{os.path.basename(where.filename)}:{where.lineno}"
    return f"internal error: {text} ({place}); please report it, with what TRL_LINT_DEBUG=1 shows"


def _run(arguments: list[str]) -> int:
    _check_folder()
    given = list(arguments)
    if os.sep == "\\":
        from trl_lint.windows import trust

        trust(text.rpartition("=")[2] for text in arguments)
    arguments = _spelled(arguments)
    command = "check"
    if arguments and arguments[0] in COMMANDS:
        command = arguments.pop(0)
    if command != "check":
        return _run_other(command, arguments)
    from trl_lint.commands.check import run as run_check

    args = plain_arguments(arguments) or _parsed(arguments)
    args.given = given
    if args.paths and not os.path.lexists(args.paths[0]) and (guess := _command_meant(args.paths[0])):
        raise UsageError(f"no file and no command `{args.paths[0]}`; did you mean `{guess}`?")
    return run_check(args)


# What other tools call it. A file of that name goes first: it was checked before there was a word for anything else.
_ALSO = {"config": "--show-settings", "help": "--help", "version": "--version"}


def _spelled(arguments: list[str]) -> list[str]:
    """The command line with the first word as an option of ours, where it is a command of other tools."""
    word = arguments[0] if arguments else ""
    if word not in _ALSO or os.path.lexists(word):
        return arguments
    if word == "help" and arguments[1:2] and arguments[1] in COMMANDS:
        return [arguments[1], "--help"]
    return [_ALSO[word], *arguments[1:]]


def _command_meant(word: str) -> str:
    """The command that somebody may mean by a word that is no path; "" where none is near."""
    from trl_lint.selection import known_codes
    from trl_lint.words import nearest

    if word.upper() in known_codes():
        return f"rule {word.upper()}"
    return "rule" if word == "explain" else nearest(word, COMMANDS)


def _parsed(arguments: list[str]) -> argparse.Namespace:
    """The command line of `check`, by `argparse`."""
    from trl_lint.commands.parsers import check_parser

    # argparse takes what stands behind `--` for options all the same when options and paths may alternate.
    end = arguments.index("--") if "--" in arguments else len(arguments)
    # An optional value would swallow the path behind it, so a bare `--add-noqa` has an empty one.
    options = ["--add-noqa=" if argument == "--add-noqa" else argument for argument in arguments[:end]]
    _check_reason(arguments[:end])
    args = check_parser().parse_intermixed_args(options)
    args.paths += arguments[end + 1 :]
    return args


def _check_reason(arguments: list[str]) -> None:
    """Refuse `--add-noqa known`: a word behind it is a path, and a misspelt one must not become a reason."""
    behind = arguments[arguments.index("--add-noqa") + 1 :] if "--add-noqa" in arguments else []
    if behind and not behind[0].startswith("-") and not os.path.lexists(behind[0]):
        from trl_lint.reports import visible

        word = visible(behind[0])
        raise UsageError(f'--add-noqa: no file or folder `{word}`; a reason is written `--add-noqa="{word}"`')


def _run_other(command: str, arguments: list[str]) -> int:
    gc.enable()
    from trl_lint.commands import parsers

    if command == "rule":
        from trl_lint.commands.rule import run as run_rule

        return run_rule(parsers.rule_parser().parse_args(arguments))
    if command == "runs":
        from trl_lint.commands.runs import run as show_runs

        return show_runs(parsers.runs_parser().parse_args(arguments))
    if command == "bugs":
        from trl_lint.commands.bugs import run as run_bugs

        return run_bugs(parsers.bugs_parser().parse_args(arguments))
    if command == "clean":
        from trl_lint.commands.clean import run as run_clean

        return run_clean(parsers.clean_parser().parse_args(arguments))
    if command == "completion":
        from trl_lint.commands.completion import run as print_completion

        return print_completion(parsers.completion_parser().parse_args(arguments))
    if command == "init":
        from trl_lint.commands.init import run as run_init

        return run_init(parsers.init_parser().parse_args(arguments))
    if command == "diagnose":
        from trl_lint.commands.diagnose import run as run_diagnose

        return run_diagnose(parsers.diagnose_parser().parse_args(arguments))
    if command == "environment":
        from trl_lint.commands.environment import run as run_environment

        return run_environment(parsers.environment_parser().parse_args(arguments))
    if command == "server":
        from trl_lint.commands.server import run as run_server

        return run_server(parsers.server_parser().parse_args(arguments))
    if command == "upgrade":
        from trl_lint.commands.upgrade import run as run_upgrade

        return run_upgrade(parsers.upgrade_parser().parse_args(arguments))
    if command == "why":
        from trl_lint.commands.why import run as run_why

        return run_why(parsers.why_parser().parse_args(arguments))
    from trl_lint.commands.review import run as run_review

    return run_review(parsers.review_parser().parse_args(arguments))


def _check_folder() -> None:
    try:
        os.getcwd()
    except OSError:  # removed while a shell stood in it
        raise UsageError("the current folder does not exist any more") from None
