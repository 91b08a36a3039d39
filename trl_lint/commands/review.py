"""`trl-lint review`: the findings of a run or of a report, as a review of a pull request on GitHub."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trl_lint.commands import UsageError
from trl_lint.finding import SEVERITIES, Severity
from trl_lint.paths import is_below, relative_to
from trl_lint.reports import page_of, visible
from trl_lint.reports.github import COMMANDS, command
from trl_lint.streams import say
from trl_lint.words import counted

if TYPE_CHECKING:
    from trl_lint.review.github import Client
    from trl_lint.review.report import Reading, Reported
    from trl_lint.review.state import State, Target

# Options that choose what is checked, and so are for a run and not for a report.
_CHECKED = ("select", "ignore", "extend_select", "per_file_ignores", "target", "config", "baseline")


def run(args: argparse.Namespace) -> int:
    """Post what the command line asks for; the exit status is that of `check`, for what the pull request touches.

    Raises UsageError.
    """
    from trl_lint.review import RefusedError, ReviewError
    from trl_lint.review.event import is_of_strangers
    from trl_lint.review.github import DEFAULT_URL, check_url, connect
    from trl_lint.review.plan import Options, touched
    from trl_lint.review.posting import MovedError, look, preview, publish

    token = (os.environ.get("GITHUB_TOKEN") or "").strip()
    try:
        name, prefix = _names(args)
        page = _page(args.page)
        if not token:
            raise UsageError("the review needs a token in GITHUB_TOKEN")
        url = check_url(args.api_url or os.environ.get("GITHUB_API_URL") or DEFAULT_URL)
        client = connect(url, token)
        reading = judged = _reading(args, prefix)
        try:
            event = _event()
            if (target := _target(args, client, event)) is not None:
                is_foreign = args.report is not None and is_of_strangers(event)
                options = Options(name, args.unsafe_fixes, everything=args.all, page=page, is_foreign=is_foreign)
                state = look(client, target, options)
                if not args.all:
                    judged = touched(reading, state)
                    _say_what_is_left_out(reading, judged, state)
                if args.dry_run:
                    _print_requests(preview(target, reading, options, state), url)
                else:
                    done = publish(client, target, reading, options, state)
                    for note in done.notes:
                        _say(note)
                    _say(f"{target.repository}#{target.number}: {done}")
        except MovedError as error:
            _say(str(error))
        except RefusedError as error:
            _say(str(error))
            if args.fallback == "annotations":
                sys.stdout.writelines(_annotations(judged))
    except ReviewError as error:
        text = str(error)
        _say(text.replace(token, "***") if token else text)
        return 2
    return _status(args, reading, judged)


def _event() -> Mapping[str, Any]:
    """What the workflow was started by, as GitHub tells it; empty where there is none."""
    from trl_lint.review.event import read_event

    path = os.environ.get("GITHUB_EVENT_PATH")
    return read_event(path) if path else {}


def _target(args: argparse.Namespace, client: Client, event: Mapping[str, Any]) -> Target | None:
    """The pull request to review; None, which is said, if the one that was checked has been closed."""
    from trl_lint.review.event import find_target

    repository = args.repository or os.environ.get("GITHUB_REPOSITORY") or ""
    target = find_target(client, repository, event, args.pull_request)
    if target is None:
        _say("no open pull request is at the commit that was checked: nothing was posted")
    return target


def _say_what_is_left_out(reading: Reading, judged: Reading, state: State) -> None:
    if not state.is_whole:
        _say("GitHub does not list all files that the pull request changes, so every finding counts")
    elif left := len(reading.findings) - len(judged.findings):
        _say(f"{counted(left, 'finding')} that the pull request does not touch left out; `--all` has them")


def _say(message: str) -> None:
    say(f"trl-lint: {message}")


# -- what is posted ---------------------------------------------------------------------------------------------------


def _names(args: argparse.Namespace) -> tuple[str, str]:
    """The name of the review, and the folder of the repository that paths count from ("" for its root)."""
    prefix = args.prefix
    if prefix is None:
        prefix = _folder()
    prefix = prefix.strip("/").removeprefix("./")
    if prefix == ".":
        prefix = ""
    if ".." in prefix.split("/"):
        raise UsageError("--prefix: a folder inside of the repository is needed")
    name = args.name or "."
    if not re.fullmatch(r"[\w./ -]{1,100}", name, re.ASCII) or "--" in name:
        raise UsageError("--name: letters, digits, blanks and `_`, `.`, `/`, `-` make a name")
    if prefix:  # two folders of one repository have two reviews
        name = f"{name} {re.sub(r'[^a-zA-Z0-9_./ ]', '_', prefix)[:100]}"
    return name, prefix


def _page(said: str | None) -> str:
    """The address of the page that the summary links, "" if none is asked for. Raises UsageError."""
    if not said:
        return ""
    if said == "run":
        parts = [os.environ.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID")]
        if not all(parts):
            raise UsageError("--page run: GITHUB_SERVER_URL, GITHUB_REPOSITORY and GITHUB_RUN_ID tell where a run is")
        said = "{}/{}/actions/runs/{}".format(*parts)
    if not re.fullmatch(r"https?://[\w.:/?#=&%~+-]{1,500}", said, re.ASCII):
        raise UsageError("--page: an address that begins with https:// is needed, or `run`")
    return said


def _folder() -> str:
    """The working directory as seen from the root of the repository, "" where there is none."""
    here = os.path.realpath(os.getcwd())
    root = os.environ.get("GITHUB_WORKSPACE") or ""
    root = os.path.realpath(root) if root else here
    while not os.environ.get("GITHUB_WORKSPACE") and not os.path.exists(os.path.join(root, ".git")):
        parent = os.path.dirname(root)
        if parent == root:
            return ""
        root = parent
    return relative_to(here, root) if is_below(here, root) else ""


def _reading(args: argparse.Namespace, prefix: str) -> Reading:
    """The report to post: a file, or what a run says now. Raises UsageError, ReportError."""
    from trl_lint.review.report import read_file, read_report

    if args.report is None:
        return read_report(_checked(args), "the run", prefix)
    if args.paths:
        raise UsageError("`--report` and paths to check exclude each other")
    for option in _CHECKED:
        if getattr(args, option):
            raise UsageError(f"`--report` and `--{option.replace('_', '-')}` exclude each other")
    return read_report(read_file(args.report), args.report, prefix)


def _checked(args: argparse.Namespace) -> bytes:
    """What `check` says as JSON: one way from files to findings, whoever shows them."""
    import tempfile

    from trl_lint.commands.check import run as check
    from trl_lint.commands.parsers import check_parser

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        words = ["--output-format", "json", "--output-file", path, "--exit-zero", "--no-fix"]
        words += ["--isolated"] if args.isolated else []
        for option in _CHECKED:
            value = getattr(args, option)
            name = f"--{option.replace('_', '-')}"
            words += [f"{name}={one}" for one in ([value] if isinstance(value, str) else value or ())]
        parsed = check_parser().parse_args(words)
        parsed.paths = args.paths
        check(parsed)
        with open(path, "rb") as stream:
            return stream.read()


# -- what is printed --------------------------------------------------------------------------------------------------


def _print_requests(requests: Sequence[object], url: str) -> None:
    from trl_lint.reports.log_safe import dump_json
    from trl_lint.review.github import Request, graphql_url

    shown = [
        {"method": one.method, "url": url + one.path if one.path else graphql_url(url), "body": one.body}
        for one in requests
        if isinstance(one, Request)
    ]
    dump_json(shown, sys.stdout)


def _annotations(reading: Reading) -> Iterator[str]:
    for finding in reading.findings:
        yield _annotation(finding)
    for path, message in reading.errors:
        yield command("error", visible(f"{path}: {message}"), {"title": "trl-lint"})


def _annotation(finding: Reported) -> str:
    page = page_of(finding.code)
    place = finding.place
    properties = {"title": f"{finding.code} ({page.name})" if page else finding.code, "file": place.path}
    cell = ""
    if place.cell is None:
        properties.update(line=str(place.line), col=str(place.column), endLine=str(place.end_line))
        if place.end_line == place.line:
            properties["endColumn"] = str(place.end_column)
    else:  # GitHub knows no cells, and these lines are not those of the file
        cell = f"cell {place.cell}:"
    text = f"{place.path}:{cell}{place.line}:{place.column}: {finding.code} {finding.message}"
    return command(COMMANDS[finding.severity], visible(text), properties)


def _status(args: argparse.Namespace, reading: Reading, judged: Reading) -> int:
    """The exit status for a report, of which some findings are judged."""
    if reading.is_incomplete:
        return 2
    least = SEVERITIES.index(args.fail_on or _level_of_settings(args))
    is_serious = any(SEVERITIES.index(finding.severity) >= least for finding in judged.findings)
    return int(not args.exit_zero and is_serious)


def _level_of_settings(args: argparse.Namespace) -> Severity:
    """The lowest level that fails a run, as the settings of the checked paths have it. Raises UsageError."""
    if args.report is not None:
        return "warning"
    from trl_lint.settings import settings_for
    from trl_lint.settings_file import SettingsError

    try:
        (settings, _), *_ = settings_for(args.paths or ["."], config=args.config, isolated=args.isolated)
    except SettingsError as error:
        raise UsageError(str(error)) from None
    return settings.fail_on
