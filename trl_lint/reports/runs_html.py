"""Runs as one page that needs nothing else: no script, no font, no picture from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from trl_lint.project.servers import shown_ids
from trl_lint.reports.runs import candidate_in_words, counted, gpu_roles, vllm_in_words

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1c2733; }
h1 { font-size: 1.3rem } h2 { font-size: 1.05rem; margin: 2.2rem 0 .3rem } h3 { font-size: .95rem }
.where { color: #5b6b7b; font: 13px ui-monospace, monospace }
table { border-collapse: collapse; margin: .6rem 0 } td, th { text-align: left; padding: .12rem .8rem .12rem 0; }
td, th { vertical-align: top } th { font-weight: 600; color: #5b6b7b } code { font: 13px ui-monospace, monospace }
svg text { font: 12px system-ui, sans-serif }
@media (prefers-color-scheme: dark) {
  body { background: #11161c; color: #dde5ec } .where, th { color: #93a3b3 } svg text { fill: #11161c }
}
"""
_BOX = 84
# Told apart by their words too, so that nobody depends on seeing the colours.
_COLORS = {
    "trainer": "#7fb2e5", "server": "#f2b66d", "vLLM": "#f2b66d", "trainer + vLLM": "#a9c98b",
    "trainer + server": "#e58a8a", "idle": "#d5dbe1",
}  # fmt: skip


def page(runs: Sequence[dict[str, Any]]) -> str:
    """The page for runs as `reports.runs.describe` gives them."""
    body = "\n".join(map(_run, runs)) or "<p>No command that starts training or serving was found.</p>"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Training runs</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<h1>Training runs</h1>\n{body}\n</body>\n</html>\n"
    )


def _run(run: dict[str, Any]) -> str:
    parts = [
        f"<section>\n<h2>{escape(run['name'])}</h2>",
        f'<p class="where">{escape(_where(run))}</p>',
        gpu_picture(run),
    ]
    rows = [("launcher", run["launcher"], "")]
    if run["processes"] is not None:
        rows.append(("processes", str(run["processes"]["value"]), _where(run["processes"])))
    rows += [("server", f"{one['name']}, port {one['port'] or '?'}", _where(one)) for one in run["servers"]]
    if run["vllm"] is not None:
        rows.append(("vLLM", vllm_in_words(run["vllm"]), _where(run["vllm"])))
    for link in run["links"]:
        state = "" if link["status"] == "exact" else f" ({link['status']})"
        rows.append((link["kind"], (", ".join(link["paths"]) or link["text"]) + state, ""))
    rows += [(label, run[label], "") for label in ("config", "backend") if run[label]]
    for name, package in run["versions"].items():
        rows.append((name, f"{package['resolved'] or 'not known'} {package['specifier']}".strip(), _where(package)))
    parts.append(_table([], rows))
    parts.append(_values(run["values"]))
    for number, one in enumerate(run["candidates"], 1):
        known = [
            candidate_in_words(one, number, len(run["candidates"])),
            *([counted(one["processes"]["value"])] if one["processes"] else []),
            one["backend"] or "",
        ]
        parts += [f"<h3>{escape(', '.join(filter(None, known)))}</h3>", _values(one["values"])]
    parts.append("</section>")
    return "\n".join(part for part in parts if part)


def _values(values: Sequence[dict[str, Any]]) -> str:
    rows = [(value["name"], _shown(value["value"]), _shown(value["default"], ""), _where(value)) for value in values]
    return _table(["value", "in this run", "default", "set at"], rows) if rows else ""


def _shown(value: str | None, unknown: str = "not known") -> str:
    return unknown if value is None else value


def _where(place: dict[str, Any]) -> str:
    return f"{place['path']}:{place['line']}" if place.get("path") else ""


def _table(heads: list[str], rows: Sequence[tuple[str, ...]]) -> str:
    lines = ["<table>"]
    if heads:
        lines.append("<tr>" + "".join(f"<th>{escape(head)}</th>" for head in heads) + "</tr>")
    for row in rows:
        cells = [f"<th>{escape(row[0])}</th>", *(f"<td><code>{escape(cell)}</code></td>" for cell in row[1:])]
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return "\n".join([*lines, "</table>"])


def gpu_picture(run: dict[str, Any]) -> str:
    """A row of boxes, one for each GPU; nothing where no GPU is known."""
    roles = gpu_roles(run)
    if not roles:
        return ""
    per_row = 8
    height = 52 * ((len(roles) + per_row - 1) // per_row)
    width = _BOX * min(len(roles), per_row)
    title = f"{len(roles)} GPUs: {shown_ids(tuple(roles))}"
    parts = [f'<svg role="img" aria-label="{escape(title)}" width="{width}" height="{height}">']
    for number, (gpu, role) in enumerate(roles.items()):
        x, y = _BOX * (number % per_row), 52 * (number // per_row)
        lines = role.split(" + ")
        parts.append(f'<rect x="{x}" y="{y}" width="{_BOX - 6}" height="46" rx="6" fill="{_COLORS[role]}"/>')
        parts.append(f'<text x="{x + 8}" y="{y + 17}">GPU {escape(gpu[:8])}</text>')
        parts.append(f'<text x="{x + 8}" y="{y + 35}">{escape(" + ".join(word[:7] for word in lines))}</text>')
    return "".join([*parts, "</svg>"])
