"""Drawings of results as SVG, on logarithmic scales. Nothing but text is needed for that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

_WIDTH, _LEFT, _RIGHT, _ROW = 760, 150, 90, 17
_OWN, _OTHER, _PARSE = "#1f6feb", "#9aa4b2", "#d0d7de"
_STYLE = "font-family='system-ui, sans-serif' font-size='12'"


class Axis:
    """Places on a logarithmic scale from `low` to `high`, over `length` pixels from `start`."""

    def __init__(self, values: Sequence[float], start: float, length: float) -> None:
        self.low, self.high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        self.high = max(self.high, self.low + 1)
        self._start, self._length = start, length

    def place(self, value: float) -> float:
        return self._start + (math.log10(value) - self.low) / (self.high - self.low) * self._length

    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def peers_plot(results: dict[str, Any]) -> str:
    """Bars for every tool on every script and tree; a bar with an open end was stopped."""
    subjects = {name: found["rows"] for name, found in results["subjects"].items() if "bytes" in found}
    axis = Axis([row["wall"] for rows in subjects.values() for row in rows] or [1], _LEFT, _WIDTH - _LEFT - _RIGHT)
    parts, y = [], 24.0
    for name, rows in subjects.items():
        parts.append(_text(8, y, name, "start", "bold"))
        y += 6
        for row in rows:
            colour = (
                _OWN if row["tool"].startswith("trl-lint") else _PARSE if row["tool"].startswith("bare") else _OTHER
            )
            end = axis.place(row["wall"])
            width = max(end - _LEFT, 1)
            parts.append(f"<rect x='{_LEFT}' y='{y:.0f}' width='{width:.1f}' height='{_ROW - 4}' fill='{colour}'/>")
            parts.append(_text(_LEFT - 6, y + 11, row["tool"], "end"))
            label = ("> " if row["is_bound"] else "") + _seconds(row["wall"])
            parts.append(_text(end + 5, y + 11, label, "start"))
            y += _ROW
        y += 22
    lines = [_tick(axis.place(value), 10, y - 18, _seconds(value)) for value in axis.ticks()]
    return _drawing(y + 8, [*lines, *parts], "Wall time of whole processes, logarithmic")


def growth_plot(results: dict[str, Any]) -> str:
    """Time above the start against the number of files, with a straight line of slope one for comparison."""
    points = [(row["files"], max(row["wall"] - results["start"], 1e-4)) for row in results["rows"]]
    x_axis = Axis([x for x, _ in points], 70, _WIDTH - 70 - _RIGHT)
    y_axis = Axis([y for _, y in points], 300, -260)
    places = [(x_axis.place(x), y_axis.place(y)) for x, y in points]
    parts = [_tick(x_axis.place(value), 40, 300, f"{value:,.0f}") for value in x_axis.ticks()]
    for value in y_axis.ticks():
        height = y_axis.place(value)
        parts.append(f"<path d='M70 {height:.1f}H{_WIDTH - _RIGHT}' stroke='#e5e8ec'/>")
        parts.append(_text(64, height + 4, _seconds(value), "end"))
    ends = [(x, results["slope"] * x) for x in (points[0][0], points[-1][0])]
    straight = "M" + "L".join(f"{x_axis.place(x):.1f} {y_axis.place(y):.1f}" for x, y in ends)
    parts.append(f"<path d='{straight}' stroke='{_OTHER}' stroke-dasharray='4 4' fill='none'/>")
    line = "L".join(f"{at_x:.1f} {at_y:.1f}" for at_x, at_y in places)
    parts.append(f"<path d='M{line}' stroke='{_OWN}' stroke-width='2' fill='none'/>")
    for (at_x, at_y), row in zip(places, results["rows"], strict=True):
        parts.append(f"<circle cx='{at_x:.1f}' cy='{at_y:.1f}' r='3.5' fill='{_OWN}'/>")
        parts.append(_text(at_x + 6, at_y + 14, f"{row['memory']:.0f} MB", "start"))
    return _drawing(330, parts, "Seconds above the start by files; dashed: exactly linear")


def _seconds(value: float) -> str:
    return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"


def _text(x: float, y: float, text: str, anchor: str, weight: str = "normal") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' font-weight='{weight}'>{escape(text)}</text>"


def _tick(x: float, top: float, bottom: float, label: str) -> str:
    line = f"<path d='M{x:.1f} {top:.0f}V{bottom:.0f}' stroke='#e5e8ec'/>"
    return line + _text(x, bottom + 15, label, "middle")


def _drawing(height: float, parts: Sequence[str], title: str) -> str:
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {height:.0f}' {_STYLE}>"
    white = f"<rect width='{_WIDTH}' height='{height:.0f}' fill='white'/>"
    return "\n".join([head, f"<title>{escape(title)}</title>", white, *parts, "</svg>", ""])
