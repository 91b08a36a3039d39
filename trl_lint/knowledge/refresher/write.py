"""The text of `rules/api/<package>.txt`: one symbol at column 0, its facts indented by a blank, sorted, one a line.

A line is `name VALUE | RELEASE VALUE | RELEASE -`: the first value holds from the symbol's first release on (an empty
first part: the fact came later), each further one from the release before it. Names with the same history share a line
in module tables, so that a release touches few lines.
"""

from __future__ import annotations

from trl_lint.knowledge.histories import ABSENT_VALUE
from trl_lint.knowledge.refresher.history import Symbol, Timeline
from trl_lint.knowledge.refresher.release import PRESENT

_WIDTH = 118
# Symbols whose facts of one history share a line.
_GROUPED = ("module", "outside", "family ", "targets", "templates", "columns ", "types",
            "architectures")  # fmt: skip
# The order in a file: what a check needs first comes first, and messages, which only `diagnose` reads, last.
_SECTIONS = ("requires", "modules", "module ", "outside", "class ", "def ", "config ", "flags ", "command ",
             "plugins", "messages",
             "types", "architectures", "family ", "targets", "templates", "columns ")  # fmt: skip


def render(package: str, releases: list[str], history: dict[str, Symbol], command: str = "api") -> str:
    """The text of a history. `releases` are those that were read: of any other one nothing is known.

    `command` is what writes the file.
    """
    lines = [f"# {package}: written by `python -m trl_lint.knowledge.refresh {command} {package}`, not by hand"]
    lines.append("releases")
    lines += _wrap([releases])
    for symbol in sorted(history, key=lambda name: (_section(name), name)):
        lines += _render_symbol(symbol, history[symbol])
    return "\n".join(lines) + "\n"


def _wrap(groups: list[list[str]]) -> list[str]:
    lines: list[str] = []
    for group in groups:
        # One line for each minor release keeps a new release from moving the words of old lines.
        series: dict[str, list[str]] = {}
        for version in group:
            series.setdefault(".".join(version.split(".")[:2]), []).append(version)
        lines += [" " + " ".join(versions) for versions in series.values()]
    return lines


def _section(symbol: str) -> int:
    return next(i for i, start in enumerate(_SECTIONS) if symbol.startswith(start))


def _render_symbol(symbol: str, found: Symbol) -> list[str]:
    start = found.life.changes[0][0]
    life = " | ".join(f"{version} {value}" if value == "-" else version for version, value in found.life.changes)
    lines = [f"{symbol} {life}"]
    if symbol == "messages":
        lines += sorted(_render_message(text, timeline, start) for text, timeline in found.facts.items())
        return lines
    groups: dict[str, list[str]] = {}
    singles: list[tuple[str, str]] = []
    for name, timeline in found.facts.items():
        text = _changes(timeline, start)
        if symbol.startswith(_GROUPED) or (name.startswith(".") and text.startswith("=")):
            groups.setdefault(text, []).append(name)
        else:
            singles.append((name, text))
    lines += [f" {name} {text}" for name, text in sorted(singles)]
    for text, names in sorted(groups.items(), key=lambda item: (item[1][0], item[0])):
        lines += [f" {part} {text}" for part in _join_names(sorted(names), _WIDTH - len(text))]
    return lines


def _render_message(text: str, timeline: Timeline, start: str) -> str:
    """`MODULE FROM | RELEASE - <tab> KIND <tab> TEXT`; only the module that has it last is told."""
    module = [value for _, value in timeline.changes if value != ABSENT_VALUE][-1]
    known: list[tuple[str, str]] = []
    for version, value in timeline.changes:
        mark = ABSENT_VALUE if value == ABSENT_VALUE else PRESENT
        if not known or known[-1][1] != mark:
            known.append((version, mark))
    return f" {module} {_changes(Timeline(tuple(known)), start)}\t{text}"


def _changes(timeline: Timeline, start: str) -> str:
    (first, value), *others = timeline.changes
    head = value if first == start else f"| {first} {value}"
    return " | ".join([head, *(f"{version} {value}" for version, value in others)])


def _join_names(names: list[str], width: int) -> list[str]:
    lines: list[str] = []
    for name in names:
        if lines and len(lines[-1]) + len(name) < max(width, 40):
            lines[-1] += f",{name}"
        else:
            lines.append(name)
    return lines
