"""Tables and plots made from recorded results, so that the documentation cannot say anything else.

`python -m benchmarks.report [--write]` looks at docs/benchmarks.md and the drawings beside it, or rewrites them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.machine import read_results
from benchmarks.plot import growth_plot, peers_plot
from benchmarks.processes import ROOT
from benchmarks.targets import GROWTH_MEMORY, LOG_MEMORY, LOG_SECONDS, STRAIGHT, judge

PAGE = os.path.join(ROOT, "docs", "benchmarks.md")


def shown_seconds(seconds: float) -> str:
    """Milliseconds below a second, with about three digits."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.1 else f"{seconds * 1000:.1f} ms"
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"


def head_line(results: dict[str, Any]) -> str:
    machine, versions = results["machine"], {**results["versions"], **results.get("peers", {})}
    told = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"{results['date']}, {machine['cores']} cores of {machine['processor']}, {machine['system']}; {told}.\n"


def peers_tables(results: dict[str, Any]) -> str:
    """The targets with what was measured, and every figure behind them."""
    subjects = results["subjects"]
    lines = [head_line(results), "| on | what | times | of | target | runs | |", "|---|---|---|---|---|---|---|"]
    for verdict in judge(results):
        subject, tool, other, most = verdict.target
        ratio = ("< " if verdict.is_bound else "") + f"{verdict.ratio:.3g}"
        held = "held" if verdict.is_held else f"missed by {verdict.ratio / most - 1:.0%}"
        held = "not decided: the other was stopped" if verdict.is_open else held
        lines.append(f"| {subject} | {tool} | **{ratio}** | {other} | {most:g} | {verdict.n} | {held} |")
    compared = {name: found for name, found in subjects.items() if "bytes" in found}
    if compared:
        tools = list(dict.fromkeys(row["tool"] for found in compared.values() for row in found["rows"]))
        sizes = (f"{name} ({_size(found)})" for name, found in compared.items())
        lines += ["", f"| wall time | {' | '.join(sizes)} |", "|---" * (len(compared) + 1) + "|"]
        lines += [f"| {tool} | {' | '.join(_cell(found, tool) for found in compared.values())} |" for tool in tools]
    lines += ["", "| | wall time | runs |", "|---|---|---|"]
    for found in subjects.values():
        if "bytes" not in found:
            lines += [f"| {row['tool']} | {shown_seconds(row['wall'])} | {row['n']} |" for row in found["rows"]]
    return "\n".join([*lines, ""])


def _size(found: dict[str, Any]) -> str:
    megabytes = f"{found['bytes'] / 1e6:.1f} MB" if found["bytes"] >= 1e5 else f"{found['bytes'] / 1e3:.1f} kB"
    return megabytes if found["files"] == 1 else f"{found['files']:,} files, {megabytes}"


def _cell(found: dict[str, Any], tool: str) -> str:
    rows = {row["tool"]: row for row in found["rows"]}
    row = rows.get(tool)
    if row is None:
        return "–"
    base = rows.get("trl-lint cold")
    if row["is_bound"]:
        return f"> {shown_seconds(row['wall'])}"
    times = f", {row['wall'] / base['wall']:.2g} ×" if base is not None and base is not row else ""
    return f"{shown_seconds(row['wall'])}{times} (n {row['n']})"


def growth_tables(results: dict[str, Any]) -> str:
    lines = [
        head_line(results),
        "| files | MB | wall time | a file above the start | memory |",
        "|---|---|---|---|---|",
    ]
    for row in results["rows"]:
        a_file = (row["wall"] - results["start"]) / row["files"]
        size = f"{row['files']:,} | {row['bytes'] / 1e6:.1f}"
        lines.append(f"| {size} | {shown_seconds(row['wall'])} | {a_file * 1000:.2f} ms | {row['memory']:.0f} MB |")
    held = "held" if results["off"] <= STRAIGHT else f"missed by {results['off'] / STRAIGHT - 1:.0%}"
    line = (
        f"The straight line through it: {shown_seconds(results['start'])} and {results['slope'] * 1000:.2f} ms a file"
    )
    lines += ["", f"{line}; the times are off it by {results['off']:.0%} at most (target {STRAIGHT:.0%}: {held})."]
    lines.append(f"Exponent of what is above the start: {results['exponent']:.3f} (1 is linear).")
    most = results["rows"][-1]["memory"]
    held = "held" if most < GROWTH_MEMORY else f"missed by {most / GROWTH_MEMORY - 1:.0%}"
    return "\n".join([*lines, f"Memory at the largest: {most:.0f} MB (target {GROWTH_MEMORY:.0f}: {held}).", ""])


def logs_tables(results: dict[str, Any]) -> str:
    target = f"Targets: a gigabyte in {LOG_SECONDS:.0f} s, {LOG_MEMORY:.0f} MB of memory for any size."
    lines = [
        head_line(results),
        target,
        "",
        "| log | GB | time | a GB | memory | cause found |",
        "|---|---|---|---|---|---|",
    ]
    for row in results["rows"]:
        size = row["bytes"] / 1e9
        times = f"{row['seconds']:.1f} s | {row['seconds'] / size:.1f} s"
        found = "yes" if row["is_found"] else "**no**"
        lines.append(f"| {row['kind']} | {size:.2f} | {times} | {row['memory']:.0f} MB | {found} |")
    return "\n".join([*lines, ""])


TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "peers": peers_tables,
    "growth": growth_tables,
    "logs": logs_tables,
}
PLOTS: dict[str, Callable[[dict[str, Any]], str]] = {"peers": peers_plot, "growth": growth_plot}
_CAPTIONS = {"peers": "Wall time of every tool on every script and tree", "growth": "Time by the number of files"}


def with_results(text: str) -> str:
    """The page with everything between its markers made anew. Raises ValueError if it has no markers for something."""
    for name, table in TABLES.items():
        begin, end = f"<!-- {name}: written by `make bench-report` -->\n", f"<!-- end of {name} -->"
        head, found, rest = text.partition(begin)
        _, closed, tail = rest.partition(end)
        if not (found and closed):
            raise ValueError(f"no place for {name}: {begin.strip()} … {end}")
        results = read_results(name)
        told = table(results) if results else "Not measured yet.\n"
        if results and name in PLOTS:
            told += f"\n![{_CAPTIONS[name]}]({_drawing(name)})\n"
        text = head + begin + "\n" + told + "\n" + end + tail
    return text


def plots() -> dict[str, str]:
    """The drawings by path."""
    found = {}
    for name, draw in PLOTS.items():
        results = read_results(name)
        if results is not None:
            found[os.path.join(os.path.dirname(PAGE), _drawing(name))] = draw(results)
    return found


def _drawing(name: str) -> str:
    """The file of a drawing, beside the page."""
    return f"benchmarks-{name}.svg"


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except FileNotFoundError:
        return ""


def main(write: bool) -> int:
    wanted = {PAGE: with_results(_read(PAGE)), **plots()}
    stale = [path for path, text in wanted.items() if _read(path) != text]
    for path in stale:
        if write:
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(wanted[path])
        else:
            print(f"{os.path.relpath(path, ROOT)} is stale; run `make bench-report`", file=sys.stderr)
    return 1 if stale and not write else 0


if __name__ == "__main__":
    raise SystemExit(main("--write" in sys.argv[1:]))
