"""TOML with places. `tomli` decides what is valid and what every value is; the scan here only finds where it stands.

Because the text is known to be valid, the scan can be plain: it never has to judge.
"""

from __future__ import annotations

import re
from typing import Any

from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.nodes import Entry, Mapping, Node, Scalar, Sequence, Value
from trl_lint.sources.text import LineIndex, SourceError

_BLANK = regex(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_INLINE_BLANK = regex(r"[ \t]*")
_STRING = regex(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")'
    r"|'''.*?'{3,5}(?!')"
    r'|"(?:[^"\\]|\\.)*"'
    r"|'[^']*'",
    re.DOTALL,
)
_BARE = regex(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d[^\s,\]}#]*|[^\s,\]}#]+")
_KEY = regex(r"""(?P<bare>[^\s."'=\]]+)|"(?:[^"\\]|\\.)*"|'[^']*'""")
_PLACE = regex(r"\(at (?:line (\d+), column (\d+)|end of document)\)$")


def read_toml(source: Source) -> Mapping:
    """The root table of a TOML text; tables, dotted keys and arrays of tables are merged into one tree.

    A table's place runs from its header to its last value. Raises SourceError where tomli refuses the text.
    """
    import tomli

    text = source.text
    try:
        values = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        message = str(error)
        place = _PLACE.search(message)
        offset = len(text)
        if place and place[1]:
            offset = LineIndex(text).offset(int(place[1]), int(place[2]))
        reason = _PLACE.sub("", message).strip()
        raise SourceError(f"not TOML: {reason[:1].lower()}{reason[1:]}", offset) from None
    except RecursionError:
        raise SourceError("nested too deeply to be read") from None
    except ValueError:  # an integer with more digits than Python converts
        raise SourceError("not TOML: too many digits in a number") from None
    try:
        return _Scan(text).document(values)
    except RecursionError:
        raise SourceError("nested too deeply to be read") from None


class _Scan:
    """A reader of valid TOML that keeps its offset; `values` is always what tomli made of the part being read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.offset = 0
        self._last_end = 0

    def document(self, values: dict[str, Any]) -> Mapping:
        root = Mapping([], 0, len(self.text))
        table, table_values = root, values
        self._blank()
        while self.offset < len(self.text):
            if self.text[self.offset] == "[":
                table, table_values = self._header(root, values)
            else:
                self._pair(table, table_values)
                if table is not root:
                    table.end = self._last_end
            self._blank()
        return root

    # -- tables ---------------------------------------------------------------------------------------------------

    def _header(self, root: Mapping, values: dict[str, Any]) -> tuple[Mapping, dict[str, Any]]:
        start = self.offset
        is_array = self.text.startswith("[[", start)
        self.offset += 2 if is_array else 1
        path = self._dotted_key()
        self.offset += 2 if is_array else 1  # the closing brackets
        table, table_values = root, values
        for key in path[:-1]:
            table, table_values = self._descend(table, table_values, key, start)
        last = path[-1]
        name = str(last.value)
        if not is_array:
            table, table_values = self._descend(table, table_values, last, start)
            table.end = max(table.end, self.offset)
            return table, table_values
        tables = table.get(name)
        if not isinstance(tables, Sequence):
            tables = Sequence([], start, self.offset)
            table.entries.append(Entry(last, tables))
        item = Mapping([], start, self.offset)
        tables.items.append(item)
        tables.end = self.offset
        return item, table_values[name][len(tables.items) - 1]

    def _descend(
        self, table: Mapping, values: dict[str, Any], key: Scalar, start: int
    ) -> tuple[Mapping, dict[str, Any]]:
        """The table a key names inside another (the last one of an array of tables), made where it is new."""
        name = str(key.value)
        node = table.get(name)
        inner = values[name]
        if isinstance(node, Sequence):
            inner = inner[len(node.items) - 1]
            node = node.items[-1]
        if not isinstance(node, Mapping):
            node = Mapping([], start, key.end)
            table.entries.append(Entry(key, node))
        return node, inner

    def _pair(self, table: Mapping, values: dict[str, Any]) -> None:
        path = self._dotted_key()
        passed = []
        for key in path[:-1]:
            table, values = self._descend(table, values, key, key.start)
            passed.append(table)
        self.offset += 1  # the equals sign
        self._inline_blank()
        node = self._value(values[str(path[-1].value)])
        table.entries.append(Entry(path[-1], node))
        for outer in passed:
            outer.end = max(outer.end, node.end)
        self._last_end = node.end

    def _dotted_key(self) -> list[Scalar]:
        """The parts of a key; stops at the sign behind it."""
        parts = []
        while True:
            self._inline_blank()
            match = _KEY.match(self.text, self.offset)
            if match is None:
                raise SourceError("this TOML key cannot be located", self.offset)
            parts.append(Scalar(_key_name(match), match[0], not match["bare"], match.start(), match.end()))
            self.offset = match.end()
            self._inline_blank()
            if self.text[self.offset : self.offset + 1] != ".":
                return parts
            self.offset += 1

    # -- values ---------------------------------------------------------------------------------------------------

    def _value(self, value: Any) -> Node:
        start = self.offset
        if isinstance(value, list):
            items: list[Node] = []
            self.offset += 1
            for item in value:
                self._separator()
                items.append(self._value(item))
            self._separator()
            self.offset += 1
            return Sequence(items, start, self.offset)
        if isinstance(value, dict):
            table = Mapping([], start, start)
            self.offset += 1
            self._separator()
            while self.text[self.offset] != "}":
                self._pair(table, value)
                self._separator()
            self.offset += 1
            table.end = self.offset
            return table
        quoted = isinstance(value, str)
        match = _STRING.match(self.text, start) if quoted else _BARE.match(self.text, start)
        if match is None:
            raise SourceError("this TOML value cannot be located", start)
        self.offset = match.end()
        known: Value = value if isinstance(value, (str, bool, int, float)) else match[0]
        return Scalar(known, match[0], quoted, start, match.end())

    def _separator(self) -> None:
        self._blank()
        if self.text[self.offset] == ",":
            self.offset += 1
            self._blank()

    def _blank(self) -> None:
        self._match(_BLANK)

    def _inline_blank(self) -> None:
        self._match(_INLINE_BLANK)

    def _match(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.offset)
        if match:
            self.offset = match.end()


def _key_name(match: re.Match[str]) -> str:
    import tomli

    raw = match[0]
    if match["bare"] or raw[0] == "'" or "\\" not in raw:
        return raw.strip(raw[0]) if not match["bare"] else raw
    return str(next(iter(tomli.loads(f"{raw} = 0"))))
