"""A diagnosis for people and for programs."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, TextIO

from trl_lint.paths import relative_to
from trl_lint.reports import visible
from trl_lint.reports.log_safe import dump_json
from trl_lint.words import counted

if TYPE_CHECKING:
    from trl_lint.diagnose.answers import Diagnosed, Diagnosis
    from trl_lint.diagnose.failures import Failure
    from trl_lint.diagnose.reader import Log
    from trl_lint.reports.colors import Palette

_NOT_OWN = ("site-packages", "dist-packages", "/lib/python", "/bin/", "/Scripts/")
_WIDTH = 100
_FRAMES = 6
_MESSAGE_LINES = 6


def write_json(found: Diagnosis, stream: TextIO, cwd: str, notice: str = "") -> None:
    """Write one document, version 1. `failure` is null where the log reports none."""
    failure = found.failure
    document: dict[str, Any] = {
        "version": 1,
        "failure": None
        if failure is None
        else {
            "exception": failure.exception or None,
            "message": failure.message,
            "rank": failure.rank,
            "frames": [
                {"path": frame.path, "line": frame.line, "function": frame.function} for frame in failure.frames
            ],
        },
        "causes": [
            {
                "code": cause.code,
                "name": cause.name,
                "likelihood": cause.likelihood,
                "why": cause.why,
                "evidence": [
                    {"path": shown_path(one.path, cwd), "line": one.line, "text": one.text} for one in cause.evidence
                ],
                "title": cause.title,
                "confidence": cause.confidence,
                "advice": cause.advice,
                "prevention": cause.prevention,
                "settle": cause.settle,
            }
            for cause in found.causes
        ],
        "not_the_cause": [{"claim": one.claim, "why": one.why} for one in found.not_the_cause],
        "consequence": found.consequence,
        "runs": found.runs,
        "dated": found.dated,
        "notice": notice,
    }
    dump_json(document, stream)


def write_text(
    found: Diagnosis, log: Log, path: str, stream: TextIO, cwd: str, palette: Palette, notice: str = ""
) -> None:
    """Write the failure, its causes with their evidence, and what is not the cause."""
    failure = found.failure
    if notice:
        _write_wrapped(f"{visible(path)}: {notice}", stream, "", "  ")
    if failure is None:
        stream.write(f"{visible(path)}: no failure in this log of {counted(log.lines, 'line')}\n")
    else:
        _write_failure(failure, found, path, stream, palette)
    for cause in found.causes:
        _write_cause(cause, stream, cwd, palette)
    if not found.causes:
        stream.write("\n")
        _write_wrapped(visible(what_is_unknown(found)), stream, "", "")
    if found.not_the_cause:
        stream.write(f"\n{palette.bold('not the cause')}\n")
        for one in found.not_the_cause:
            _write_wrapped(f"* {visible(one.claim)}: {visible(one.why)}", stream, "  ", "    ")


def what_is_unknown(found: Diagnosis) -> str:
    """What to say where no cause is named: what the failure is, and what would tell more."""
    failure = found.failure
    if failure is None:
        return (
            "If the run has ended all the same, look into the logs of the other ranks, of the scheduler and of the "
            "servers, or give the whole log. `py-spy dump --pid PID` shows where a process stands that hangs."
        )
    if found.consequence:
        return "The cause is unknown. Give the log from its beginning, and those of the other ranks and of the servers."
    place = _own_place(failure)
    return f"The cause is unknown. Look at {place} first." if place else "The cause is unknown."


def _write_failure(failure: Failure, found: Diagnosis, path: str, stream: TextIO, palette: Palette) -> None:
    name = failure.exception or "the program ended"
    rank = "" if failure.rank is None else f" on rank {failure.rank}"
    place = f"{visible(path)}:{failure.main.number or failure.number}"
    stream.write(f"{place}: {palette.red(visible(name))}{rank}\n")
    lines = failure.message.splitlines()
    for line in lines[:_MESSAGE_LINES]:
        stream.write(f"  {visible(line.rstrip())[:300]}\n")
    if len(lines) > _MESSAGE_LINES:
        stream.write(f"  ... {counted(len(lines) - _MESSAGE_LINES, 'more line')}\n")
    frames = failure.frames
    shown = [*frames[:1], None, *frames[1 - _FRAMES :]] if len(frames) > _FRAMES else frames
    for frame in shown:
        if frame is None:
            stream.write("    ...\n")
        else:
            where = f" in {visible(frame.function)}" if frame.function else ""
            stream.write(f"    {palette.cyan(f'{visible(_short(frame.path))}:{frame.line}')}{where}\n")
    if found.runs > 1:
        text = f"{counted(found.runs - 1, 'earlier run')} in this file failed as well; the last one is judged."
        _write_wrapped(text, stream, "  ", "  ")
    if found.dated:
        _write_wrapped(f"{found.dated[:1].upper()}{visible(found.dated[1:])}.", stream, "  ", "  ")
    if found.consequence and not any(cause.likelihood == "likely" for cause in found.causes):
        text = f"Such an end mostly follows from another failure, which the log does not have: {found.consequence}."
        _write_wrapped(text, stream, "  ", "  ")


def _write_cause(cause: Diagnosed, stream: TextIO, cwd: str, palette: Palette) -> None:
    level = "error" if cause.likelihood == "likely" else "warning"
    stream.write(f"\n{palette.level(cause.confidence, level)}: {palette.bold(cause.code)} {visible(cause.title)}\n")
    _write_wrapped(visible(cause.why), stream, "  ", "  ")
    for one in cause.evidence:
        place = palette.cyan(f"{visible(shown_path(one.path, cwd))}:{one.line}")
        stream.write(f"    {place}: {visible(one.text)[:160]}\n")
    for label, text in (("Next", cause.advice), ("To be sure", cause.settle), ("For good", cause.prevention)):
        if text:
            _write_wrapped(f"{label}: {visible(text)}", stream, "  ", "  ")


def _write_wrapped(text: str, stream: TextIO, first: str, rest: str) -> None:
    for line in textwrap.wrap(
        text, _WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    ):
        stream.write(f"{line}\n")


def _own_place(failure: Failure) -> str:
    """The innermost frame outside of installed packages and of the scripts that start programs."""
    for frame in reversed(failure.frames):
        path = frame.path.replace("\\", "/")
        if not any(part in path for part in _NOT_OWN) and not path.startswith("<"):
            return f"{frame.path}:{frame.line}"
    return ""


def _short(path: str) -> str:
    """A path without the way to the installed packages."""
    plain = path.replace("\\", "/")
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in plain:
            return plain.rpartition(folder)[2]
    return plain


def shown_path(path: str, cwd: str) -> str:
    """A path as it is shown: relative to `cwd`, where it is absolute and lies there."""
    return relative_to(path, cwd) if path.startswith(("/", "\\")) or path[1:3] == ":\\" else path
