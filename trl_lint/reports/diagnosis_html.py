"""A diagnosis as one page that needs nothing else: causes, the log around the failure, and the ranks side by side."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from trl_lint.reports import visible
from trl_lint.reports.diagnosis import shown_path, what_is_unknown
from trl_lint.words import counted

if TYPE_CHECKING:
    from trl_lint.diagnose.answers import Diagnosed, Diagnosis
    from trl_lint.diagnose.excerpt import Excerpt
    from trl_lint.diagnose.failures import Failure
    from trl_lint.diagnose.reader import Log

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1c2733; }
h1 { font-size: 1.3rem } h2 { font-size: 1.05rem; margin: 2rem 0 .4rem } h3 { font-size: 1rem; margin: .2rem 0 }
.cause { border-left: 4px solid #f2b66d; margin: 1rem 0; padding: .2rem 0 .2rem 1rem }
.cause.likely { border-color: #d9534f } .confidence { font-weight: 600 } .where, dt { color: #5b6b7b }
dl { margin: .5rem 0 } dt { font-weight: 600; margin-top: .4rem } dd { margin: 0 0 0 1rem }
pre, code { font: 12.5px/1.4 ui-monospace, monospace } pre { overflow-x: auto; margin: 0 }
.log { border: 1px solid #d5dbe1; border-radius: 4px; padding: .6rem } .log .n { color: #93a3b3; user-select: none }
.log .hit { background: #fde6e4; display: inline-block; min-width: 100% }
.ranks { display: flex; gap: 1rem; overflow-x: auto } .ranks > div { flex: 1 0 17rem; border: 1px solid #d5dbe1;
border-radius: 4px; padding: .5rem .8rem } .ranks .first { border-color: #d9534f }
@media (prefers-color-scheme: dark) {
  body { background: #11161c; color: #dde5ec } .log .hit { background: #4a1f1d } .where, dt { color: #93a3b3 }
}
"""
_MOST_RANKS = 16
_MOST_FRAMES = 8


def page(found: Diagnosis, log: Log, path: str, cwd: str, excerpt: Excerpt | None, notice: str = "") -> str:
    """The page for a diagnosis; `path` is the log as it was named, `excerpt` what stands around the failure."""
    name = visible(path)
    parts = [f"<h1>{escape(name)}</h1>", f"<p>{escape(visible(notice))}</p>" if notice else ""]
    if found.failure is None:
        parts.append(f"<p>No failure is reported in {counted(log.lines, 'line')}.</p>")
    else:
        parts.append(_failure(found))
    parts += [_cause(cause, cwd) for cause in found.causes]
    if not found.causes:
        parts.append(f"<p>{escape(visible(what_is_unknown(found)))}</p>")
    if found.not_the_cause:
        items = "".join(
            f"<li>{escape(visible(one.claim))}: {escape(visible(one.why))}</li>" for one in found.not_the_cause
        )
        parts.append(f"<h2>Not the cause</h2>\n<ul>{items}</ul>")
    if excerpt is not None:
        parts.append(_log(excerpt, found))
    parts.append(_ranks(log, found.failure))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Diagnosis of {escape(name)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(filter(None, parts))
        + "\n</body>\n</html>\n"
    )


def _failure(found: Diagnosis) -> str:
    failure = found.failure
    assert failure is not None
    rank = "" if failure.rank is None else f" on rank {failure.rank}"
    line = failure.main.number or failure.number
    told = [f"<p><b>{escape(visible(failure.exception or 'The program ended'))}</b>{rank}, line {line}</p>"]
    told.append(f"<pre>{escape(_text(failure.message))}</pre>")
    if found.dated:
        told.append(f"<p>{escape(visible(found.dated[:1].upper() + found.dated[1:]))}.</p>")
    return "\n".join(told)


def _cause(cause: Diagnosed, cwd: str) -> str:
    evidence = "\n".join(
        f"{escape(visible(shown_path(one.path, cwd)))}:{one.line}: {escape(visible(one.text))}"
        for one in cause.evidence
    )
    rows = [("What to do now", cause.advice), ("So that it does not come back", cause.prevention)]
    rows.append(("What would decide", cause.settle))
    told = "".join(f"<dt>{label}</dt><dd>{escape(visible(text))}</dd>" for label, text in rows if text)
    return (
        f'<div class="cause {cause.likelihood}">\n<span class="confidence">{escape(cause.confidence)}</span>\n'
        f"<h3>{escape(cause.code)} {escape(visible(cause.title))}</h3>\n<p>{escape(visible(cause.why))}</p>\n"
        f"<pre>{evidence}</pre>\n<dl>{told}</dl>\n</div>"
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
        rows.append(f'<span{mark}><span class="n">{number:>7} </span>{escape(visible(line))}</span>')
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
        name = f"rank {rank}" if rank is not None else visible(stream) or "without a rank"
        frames = "\n".join(f"{frame.path}:{frame.line} {frame.function}" for frame in failure.frames[-_MOST_FRAMES:])
        mark = ' class="first"' if failure is first else ""
        boxes.append(
            f'<div{mark}><h3>{escape(name)}</h3><p class="where">line {failure.number}</p>'
            f"<pre>{escape(_text(failure.main.text)[:600])}\n\n{escape(_text(frames))}</pre></div>"
        )
    return f'<h2>Ranks side by side</h2>\n<div class="ranks">{"".join(boxes)}</div>'


def _text(text: str) -> str:
    return "\n".join(visible(line) for line in text.split("\n"))
