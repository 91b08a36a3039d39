"""A diagnosis as one page that needs nothing else: causes, the log around the failure, and the ranks side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.reports.diagnosis import shown_path, what_is_unknown
from trl_lint.reports.html_page import lines_told, told
from trl_lint.reports.html_page import page as framed
from trl_lint.words import counted

if TYPE_CHECKING:
    from trl_lint.diagnose.answers import Diagnosed, Diagnosis
    from trl_lint.diagnose.excerpt import Excerpt
    from trl_lint.diagnose.failures import Failure
    from trl_lint.diagnose.reader import Log

_MOST_RANKS = 16
_MOST_FRAMES = 8


def page(found: Diagnosis, log: Log, path: str, cwd: str, excerpt: Excerpt | None, notice: str = "") -> str:
    """The page for a diagnosis; `path` is the log as it was named, `excerpt` what stands around the failure."""
    parts = [f"<h1>{told(path)}</h1>", f"<p>{told(notice)}</p>" if notice else ""]
    if found.failure is None:
        parts.append(f"<p>No failure is reported in {counted(log.lines, 'line')}.</p>")
    else:
        parts.append(_failure(found))
    parts += [_cause(cause, cwd) for cause in found.causes]
    if not found.causes:
        parts.append(f"<p>{told(what_is_unknown(found))}</p>")
    if found.not_the_cause:
        items = "".join(f"<li>{told(one.claim)}: {told(one.why)}</li>" for one in found.not_the_cause)
        parts.append(f"<h2>Not the cause</h2>\n<ul>{items}</ul>")
    if excerpt is not None:
        parts.append(_log(excerpt, found))
    parts.append(_ranks(log, found.failure))
    return framed(f"Diagnosis of {path}", parts)


def _failure(found: Diagnosis) -> str:
    failure = found.failure
    assert failure is not None
    rank = "" if failure.rank is None else f" on rank {failure.rank}"
    line = failure.main.number or failure.number
    rows = [f"<p><b>{told(failure.exception or 'The program ended')}</b>{rank}, line {line}</p>"]
    rows.append(f"<pre>{lines_told(failure.message)}</pre>")
    if found.dated:
        rows.append(f"<p>{told(found.dated[:1].upper() + found.dated[1:])}.</p>")
    return "\n".join(rows)


def _cause(cause: Diagnosed, cwd: str) -> str:
    evidence = "\n".join(f"{told(shown_path(one.path, cwd))}:{one.line}: {told(one.text)}" for one in cause.evidence)
    rows = [("What to do now", cause.advice), ("So that it does not come back", cause.prevention)]
    rows.append(("What would decide", cause.settle))
    items = "".join(f"<dt>{label}</dt><dd>{told(text)}</dd>" for label, text in rows if text)
    return (
        f'<div class="cause {cause.likelihood}">\n<span class="confidence">{told(cause.confidence)}</span>\n'
        f"<h3>{told(cause.code)} {told(cause.title)}</h3>\n<p>{told(cause.why)}</p>\n"
        f"<pre>{evidence}</pre>\n<dl>{items}</dl>\n</div>"
    )


def _log(excerpt: Excerpt, found: Diagnosis) -> str:
    failure = found.failure
    hits = {one.line for cause in found.causes for one in cause.evidence}
    if failure is not None:
        hits |= {failure.number, failure.main.number}
    rows = []
    for at, line in enumerate(excerpt.lines):
        number = str(excerpt.first + at) if not excerpt.is_cut else ""
        mark = ' class="hit"' if number and int(number) in hits else ""
        rows.append(f'<span{mark}><span class="n">{number:>7} </span>{told(line)}</span>')
    return '<h2>The log around it</h2>\n<pre class="log">' + "\n".join(rows) + "</pre>"


def _ranks(log: Log, first: Failure | None) -> str:
    """What each rank reported first, in the order of the log."""
    shown: dict[tuple[int | None, str], Failure] = {}
    for failure in log.failures:
        if failure.kind not in ("ignored", "hint"):
            shown.setdefault((failure.rank, failure.stream), failure)
    if len(shown) < 2:
        return ""
    boxes = []
    for (rank, stream), failure in sorted(shown.items(), key=lambda item: item[1].number)[:_MOST_RANKS]:
        name = f"rank {rank}" if rank is not None else stream or "without a rank"
        frames = "\n".join(f"{frame.path}:{frame.line} {frame.function}" for frame in failure.frames[-_MOST_FRAMES:])
        mark = ' class="first"' if failure is first else ""
        boxes.append(
            f'<div{mark}><h3>{told(name)}</h3><p class="where">line {failure.number}</p>'
            f"<pre>{lines_told(failure.main.text[:600])}\n\n{lines_told(frames)}</pre></div>"
        )
    return f'<h2>Ranks side by side</h2>\n<div class="ranks">{"".join(boxes)}</div>'
