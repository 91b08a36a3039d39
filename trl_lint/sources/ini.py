"""INI files: setup.cfg and tox.ini. A value of several lines is a list of them."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import LineIndex, Source
from trl_lint.sources.nodes import Entry, Mapping, Scalar, Sequence

_SECTION = regex(r"\[([^\]]+)\]")
_OPTION = regex(r"([^\s#;=:][^=:]*)[=:]\s*")


class Line(NamedTuple):
    """A line of the value of an option: the names of section and option, and where it stands in the text."""

    section: str
    option: str
    start: int
    end: int


def option_lines(text: str) -> Iterator[Line]:
    """The values of all options, line by line; one that stands in the line of the option may be empty."""
    index = LineIndex(text)
    section = option = ""
    for number in range(1, len(index) + 1):
        start, end = index.line_range(number)
        line = text[start:end]
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if line[0].isspace():
            if option:
                yield Line(section, option, start, end)
            continue
        if match := _SECTION.match(line):
            section, option = match[1].strip(), ""
        elif match := _OPTION.match(line):
            option = match[1].strip()
            yield Line(section, option, start + match.end(), end)


def read_ini(source: Source) -> Mapping:
    """The sections of a file, each with its options. A line that ends with a backslash goes on in the next one."""
    text = source.text
    sections: dict[str, dict[str, list[Scalar]]] = {}
    goes_on = False
    for section, option, start, end in option_lines(text):
        lines = sections.setdefault(section, {}).setdefault(option, [])
        start += len(text[start:end]) - len(text[start:end].lstrip())
        end = start + len(text[start:end].rstrip())
        if goes_on and lines:
            start = lines.pop().start
        if end > start:
            lines.append(Scalar(text[start:end], text[start:end], False, start, end))
        goes_on = text.startswith("\\", end - 1)
    blocks = {name: [(key, _value(lines)) for key, lines in found.items()] for name, found in sections.items()}
    return _mapping([(name, _mapping(options)) for name, options in blocks.items()])


def _value(lines: list[Scalar]) -> Scalar | Sequence:
    if len(lines) == 1:
        return lines[0]
    return Sequence(list(lines), lines[0].start if lines else 0, lines[-1].end if lines else 0)


def _mapping(entries: list[tuple[str, Scalar | Sequence]] | list[tuple[str, Mapping]]) -> Mapping:
    found = [Entry(Scalar(name, name, False, value.start, value.start), value) for name, value in entries]
    return Mapping(found, found[0].value.start if found else 0, found[-1].value.end if found else 0)
