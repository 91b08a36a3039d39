"""Runs as one page that needs nothing else: what starts what, GPUs, values, and the findings that concern them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

from trl_lint.finding import Finding, Location, levels
from trl_lint.reports import Report
from trl_lint.reports.html_page import choice, folded, level_told, prose, title_of, told
from trl_lint.reports.html_page import page as framed
from trl_lint.reports.run_gpus import gpu_grid
from trl_lint.reports.run_places import Concerned, RunPlaces
from trl_lint.reports.runs import candidate_in_words, counted, vllm_in_words
from trl_lint.words import counted as number_of

# A page stays below 2 MB: beyond this many characters a run is only named, which is said.
_ROOM = 1_600_000
_MOST_OPEN = 3
_STATES = {"exact": "", "builtin": "comes with TRL", "candidates": "one of several", "unknown": "not known"}
_REACH = 40  # lines of a place that are looked at for values


def page(runs: Sequence[dict[str, Any]], report: Report, places: Sequence[RunPlaces]) -> str:
    """The page for runs as `reports.runs.describe` gives them, with their places, and what a check of them came to."""
    return _Writer(runs, report, places).page()


class _Writer:
    def __init__(self, runs: Sequence[dict[str, Any]], report: Report, places: Sequence[RunPlaces]) -> None:
        self.runs = runs
        self.report = report
        self.room = _ROOM
        self.environments: dict[str, int] = {}  # what is installed, each once, by its number
        self.found: dict[int, list[int]] = {}  # the findings of a run, by their numbers
        self.at: dict[tuple[str, int], set[int]] = {}  # the findings about a line
        self.shown: dict[int, Finding] = {}
        concerned = Concerned(places)
        for number, finding in enumerate(self.report.findings):
            for run in concerned.of(finding):
                self.found.setdefault(run, []).append(number)
                self.shown[number] = finding
            if number in self.shown:
                for place in dict.fromkeys((finding.location, *finding.related)):
                    self._note(place, number)

    def _note(self, place: Location, number: int) -> None:
        start, end = self.report.span(place)
        for line in range(start.line, min(end.line, start.line + _REACH) + 1):
            self.at.setdefault((self.report.path(place.path), line), set()).add(number)

    def page(self) -> str:
        shown = [self._run(number, run) for number, run in enumerate(self.runs)]
        title = title_of("Training runs", self.report.cwd)
        parts = [f"<h1>{told(title)}</h1>"]
        if not self.runs:
            parts.append("<p>No command that starts training or serving was found.</p>")
        else:
            about = f"{number_of(len(self.runs), 'run')}; {levels(self.shown.values()) or 'no findings'} about them."
            parts.append(f"<p>{about} A table has the values that differ from the default, and who sets them.</p>")
        if self.room <= 0:
            parts.append("<p><b>The page is long: the last runs are only named. Name files to see theirs.</b></p>")
        names = [(str(at), f"{_where(run)} {run['name']}") for at, run in enumerate(self.runs)]
        if len(self.runs) > 1:
            fields = choice("one", "Compare", names, "a run") + choice("other", "with", names, "another")
            alike = '<label><input type="checkbox" name="alike"> also what is alike</label>'
            parts.append(f'<form class="filter" hidden aria-label="Compare">{fields}{alike}</form>')
            parts.append('<div id="compared" class="wide" role="status"></div>')
        parts += ["<main>", *shown, "</main>", self._environments(), self._findings()]
        return framed(title, parts, "compare" if len(self.runs) > 1 else None)

    # -- a run ----------------------------------------------------------------------------------------------------

    def _run(self, number: int, run: dict[str, Any]) -> str:
        mine = self.found.get(number, [])
        summary = f'<b>{told(run["name"])}</b> <span class="where">{told(_where(run))}</span>'
        if mine:
            summary += f" · {levels(self.shown[one] for one in mine)}"
        if self.room <= 0:
            return f'<div class="card">{summary}</div>'
        processes = run["processes"]
        if run["framework"] != "vllm" and processes is not None:
            summary += f" · {counted(processes['value'])}"
        values = self._values(run["values"], run)
        body = [_chain(self._boxes(run)), gpu_grid(run), *map(_server, run["servers"]), values]
        if run["vllm"] is not None:
            place = told(_where(run["vllm"]))
            body.insert(2, f'<p>vLLM {told(vllm_in_words(run["vllm"]))} <span class="where">{place}</span></p>')
        for index, one in enumerate(run["candidates"], 1):
            known = [candidate_in_words(one, index, len(run["candidates"]))]
            known += [counted(one["processes"]["value"])] if one["processes"] else []
            known += [one["backend"]] if one["backend"] else []
            body.append(f"<h3>{told(', '.join(known))}</h3>" + self._values(one["values"], run))
        if mine:
            body.append(f"<p>Findings: {', '.join(self._link(one) for one in mine)}</p>")
        opened = len(self.runs) <= _MOST_OPEN or number == 0
        text = folded(summary, "".join(body), f'run card" id="run{number}', opened)
        self.room -= len(text)
        return text

    def _boxes(self, run: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
        """What starts what: the kind of a box, its text, its place and its state."""
        yield "command", run["launcher"] or run["name"], _where(run), ""
        for link in sorted(run["links"], key=lambda link: link["kind"] == "deepspeed"):
            state = _STATES.get(link["status"], link["status"])
            yield link["kind"], "", ", ".join(link["paths"]) or link["text"], state
        if run["config"]:
            yield "arguments", run["config"], "", ""
        if run["backend"]:
            yield "backend", run["backend"], "", ""
        if run["versions"]:
            key = _releases(run["versions"])
            number = self.environments.setdefault(key, len(self.environments) + 1)
            first = next((_where(one) for one in run["versions"].values() if _where(one)), "")
            yield "releases", f"#env{number}", first, ""

    def _values(self, values: Sequence[dict[str, Any]], run: dict[str, Any]) -> str:
        rows = []
        for value in values:
            codes = [self._link(one) for one in sorted(self.at.get((value["path"], value["line"]), ()))]
            own = value["path"] == run["path"]
            place = "" if value["path"] is None else f"line {value['line']}" if own else _where(value)
            shown = f"<i>{told(value['reason'])}</i>" if value["value"] is None else told(value["value"])
            rows.append(
                f"<tr><th>{told(value['name'])}<td><code>{shown}</code><td>{told(value['default'] or '')}"
                f'<td class="where">{told(place)}<td>{" ".join(codes)}'
            )
        head = "<thead><tr><th>value<th>in this run<th>default<th>set at<th>findings</thead>"
        return f'<div class="wide"><table class="values">{head}{"".join(rows)}</table></div>' if rows else ""

    def _link(self, number: int) -> str:
        return f'<a href="#f{number}">{escape(self.shown[number].code)}</a>'

    # -- below the runs -------------------------------------------------------------------------------------------

    def _environments(self) -> str:
        tables = [f'<div class="card wide" id="env{number}">{key}</div>' for key, number in self.environments.items()]
        return f"<h2>Releases</h2>{''.join(tables)}" if tables else ""

    def _findings(self) -> str:
        rows = []
        for number, finding in self.shown.items():
            place = f'<span class="where">{told(self.report.place(finding.location))}</span>'
            message = f"{level_told(finding.severity)} <b>{finding.code}</b> {prose(finding.message)} {place}"
            also = ", ".join(told(self.report.place(one)) for one in finding.related)
            rows.append(f'<li id="f{number}">{message}{f" <span class=where>{also}</span>" if also else ""}</li>')
        return f'<h2>Findings</h2><ul class="related">{"".join(rows)}</ul>' if rows else ""


def _chain(boxes: Iterable[tuple[str, str, str, str]]) -> str:
    rows = []
    for kind, text, place, state in boxes:
        shown = f'<a href="{escape(text)}">of the packages</a>' if text.startswith("#env") else f"<b>{told(text)}</b>"
        note = (
            f' <span class="level error">✖ {state}</span>' if state == "missing" else f" ({told(state)})" * bool(state)
        )
        mark = ' class="missing"' if state == "missing" else ""
        where = f'<span class="where">{told(place)}</span>' if place else ""
        rows.append(f'<li{mark}><span class="dim">{told(kind)}</span>{note}{shown * bool(text)}{where}</li>')
    return f'<ol class="chain" aria-label="what starts what">{"".join(rows)}</ol>'


def _server(server: dict[str, Any]) -> str:
    sizes = f"tensor parallel {server['tensor'] or '?'}, pipeline parallel {server['pipeline'] or '?'}"
    text = f"server {server['name']}, port {server['port'] or '?'}, {sizes}"
    return f'<p>{told(text)} <span class="where">{told(_where(server))}</span></p>'


def _releases(versions: dict[str, Any]) -> str:
    """A table of the releases; what is equal is one table of the page."""
    rows = []
    for name, one in versions.items():
        cells = (one["resolved"] or "not known", one["specifier"], _where(one))
        rows.append(f"<tr><th>{told(name)}" + "".join(f"<td>{told(cell)}" for cell in cells))
    return f"<table><thead><tr><th>package<th>newest allowed<th>pin<th>at</thead>{''.join(rows)}</table>"


def _where(place: dict[str, Any]) -> str:
    return f"{place['path']}:{place['line']}" if place.get("path") else ""
