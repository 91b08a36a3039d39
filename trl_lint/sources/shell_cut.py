"""Where the complete commands of a shell text end: as a shell reads it, line by line, whatever stands further down.

A line ends a command outside of quotes, brackets, here-documents, `if`, `for`, `case` and the like. Where it is not
sure what is open, the rest of the text is one command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from trl_lint.regexes import regex

# One step of the walk: what may open or close something, or a stretch that does neither.
_STEP = regex(
    rb"(?P<word>[^\s\\'\"`$(){}\[\]<>;&|#=]+)|(?P<blank>[ \t\r\f\v]+)|(?P<line>\n)|(?P<escaped>\\[\s\S]?)"
    rb"|(?P<heredoc><<-?(?!<))|(?P<open>\$\(\(|\$\(|\$\{|\$'|\$\"|[<>]\(|\(\(|\(|\{|\[\[|['\"`])"
    rb"|(?P<close>\)|\}|\]\])|(?P<ends>;;&|;;|;&|&&|\|\||\|&|[;&|])|(?P<comment>#)|(?P<other><<<|[<>]&|[\s\S])"
)
_PLAIN_STRING = regex(rb"[^']*'")
_ANSI_STRING = regex(rb"(?:[^'\\]|\\[\s\S])*'")
_BACKQUOTED = regex(rb"(?:[^`\\]|\\[\s\S])*`")
_QUOTES = frozenset((b"'", b"$'", b"`"))
# What holds words of another kind, with what ends it: a string, `${…}`, a sum, a test.
_OTHERWISE = {
    b'"': regex(rb"[^\"\\`$]+|\\[\s\S]?|\$\(\(|\$\(|\$\{|[\s\S]"),
    b"}": regex(rb"[^}\"'\\`$]+|\\[\s\S]?|\$\(\(|\$\(|\$\{|\$'|[\s\S]"),
    b"sum": regex(rb"[^()\"'\\`$]+|\\[\s\S]?|\$\(\(|\$\(|\$\{|[\s\S]"),
    b"]]": regex(rb"[^\]\"'\\`$]+|\\[\s\S]?|\$\(\(|\$\(|\$\{|\]\]|[\s\S]"),
}
_INNER = {b"$(": b"$)", b"${": b"}", b"<(": b"$)", b">(": b"$)"}
_BLOCKS = {b"if": b"fi", b"for": b"done", b"select": b"done", b"while": b"done", b"until": b"done", b"case": b"esac"}
_CLOSING = frozenset(_BLOCKS.values())
_LEADING = frozenset((b"if", b"then", b"elif", b"else", b"while", b"until", b"do", b"!", b"time"))
_DELIMITER = regex(rb"[ \t]*((?:'[^'\n]*'|\"[^\"\n]*\"|\\.|[^\s;&|<>()'\"\\])+)")
_CLOSES_AT_ONCE = regex(rb"[ \t]*\)")
_EDGES = frozenset(b" \t\r\n;&|()")


class _UnsureError(Exception):
    """Nobody can tell what is open here."""


class _Open:
    """Something that is open: what closes it, and in a `case` whether its `in` or a pattern is due."""

    __slots__ = ("closes", "in_pattern", "waits_for_in")

    def __init__(self, closes: bytes) -> None:
        self.closes = closes
        self.waits_for_in = closes == b"esac"
        self.in_pattern = False


def ends_of_commands(data: bytes) -> list[int]:
    """The offsets behind the lines that end a command, in order; the last one is the end of the text."""
    found: list[int] = []
    with suppress(_UnsureError):
        found.extend(_Walk(data).ends())
    return found if found and found[-1] == len(data) else [*found, len(data)]


class _Walk:
    """The walk over a text.

    `starts`: a word that stands here is a command or a keyword. `goes_on`: the line may end here, the command does not.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.open = [_Open(b"")]
        self.starts = True
        self.goes_on = False
        self.names_function = False
        self.heredocs: list[tuple[bytes, bool]] = []

    def ends(self) -> Iterator[int]:
        while self.at < len(self.data):
            otherwise = _OTHERWISE.get(self.open[-1].closes)
            if otherwise is not None:
                self._step_otherwise(otherwise)
            elif self._step() and len(self.open) == 1:
                yield self.at

    def _step_otherwise(self, pattern: re.Pattern[bytes]) -> None:
        match = pattern.match(self.data, self.at)
        text = match[0] if match is not None else b""
        self.at += len(text)
        kind = self.open[-1].closes
        if kind == b"sum" and text in b"()":
            self._opened(b"sum") if text == b"(" else self._closed()
        elif text == kind:
            self._closed()
        elif text in _INNER or text == b"$((":
            self._open(text)
        elif text == b'"':
            self._opened(b'"')
        elif text == b"`" or (text in _QUOTES and kind != b'"'):
            self._skip_quoted(text)

    def _step(self) -> bool:
        """Take one step; whether it ends a line that may end a command."""
        begins = self.at == 0 or self.data[self.at - 1] in _EDGES
        match = _STEP.match(self.data, self.at)
        if match is None:
            raise _UnsureError
        kind, text = match.lastgroup, match[0]
        self.at = match.end()
        if kind == "line":
            return self._line()
        if kind == "comment" and begins:
            end = self.data.find(b"\n", self.at)
            self.at = len(self.data) if end < 0 else end
        elif kind == "word" and begins and not self.open[-1].in_pattern:
            self._word(text)
        elif kind == "open":
            self._open(text)
        elif kind == "ends":
            self._separated(text)
        elif kind == "close":
            self._close(text)
        elif kind == "heredoc":
            self._heredoc(text)
        elif kind == "word" and begins and text == b"esac" and self._is_whole():
            self._closed(starts=True)
        elif kind != "blank" and text != b"\\\n":
            self.starts = self.goes_on = False
        return False

    def _line(self) -> bool:
        for delimiter, is_stripped in self.heredocs:
            self._skip_body(delimiter, is_stripped)
        self.heredocs = []
        self.starts = not self.open[-1].in_pattern
        return not self.goes_on

    def _heredoc(self, text: bytes) -> None:
        match = _DELIMITER.match(self.data, self.at)
        if match is None:
            raise _UnsureError
        self.at = match.end()
        self.heredocs.append((match[1].translate(None, b"'\"\\"), text.endswith(b"-")))
        self.starts = self.goes_on = False

    def _skip_body(self, delimiter: bytes, is_stripped: bool) -> None:
        while self.at < len(self.data):
            end = self.data.find(b"\n", self.at)
            end = len(self.data) if end < 0 else end
            line = self.data[self.at : end]
            self.at = min(end + 1, len(self.data))
            if (line.lstrip(b"\t") if is_stripped else line) == delimiter:
                return
        raise _UnsureError

    def _is_whole(self) -> bool:
        return self.at == len(self.data) or self.data[self.at] in _EDGES

    def _word(self, text: bytes) -> None:
        """A word that begins here; more of it may follow."""
        around = self.open[-1]
        is_keyword = self.starts and self._is_whole() and around.closes != b"words"
        self.starts = self.goes_on = self.names_function
        self.names_function = False
        if around.waits_for_in:
            around.in_pattern = text == b"in" and self._is_whole()
            around.waits_for_in = not around.in_pattern
        elif is_keyword and text in _CLOSING:
            if around.closes == text:
                self._closed(starts=True)
            elif len(self.open) > 1:
                raise _UnsureError
        elif is_keyword and text in _BLOCKS:
            self._opened(_BLOCKS[text], starts=text in _LEADING)
        elif is_keyword and text == b"coproc":
            raise _UnsureError
        elif is_keyword:
            self.starts = text in _LEADING
            self.names_function = text == b"function"

    def _open(self, text: bytes) -> None:
        starts, self.starts, self.goes_on = self.starts, False, False
        if text in _QUOTES:
            self._skip_quoted(text)
        elif text in (b'"', b'$"'):
            self._opened(b'"')
        elif text in _INNER:
            self._opened(_INNER[text], starts=text != b"${")
        elif text in (b"((", b"$(("):
            self._opened(b"sum")
            self._opened(b"sum")
        elif text == b"[[" and starts:
            self._opened(b"]]")
        elif text == b"{" and starts and self._is_whole():
            self._opened(b"}}", starts=True)
        elif text == b"(" and not self.open[-1].in_pattern:
            if self.data[self.at - 2 : self.at - 1] != b"=" and _CLOSES_AT_ONCE.match(self.data, self.at):
                self._opened(b"()")
            elif starts:
                self._opened(b")", starts=True)
            else:
                self._opened(b"words")

    def _close(self, text: bytes) -> None:
        around = self.open[-1]
        starts, self.starts, self.goes_on = self.starts, False, False
        if text == b")" and around.in_pattern:
            around.in_pattern, self.starts = False, True
        elif text == b")" and around.closes in (b")", b"$)", b"words", b"()"):
            self._closed(starts=around.closes in (b")", b"()"))
            self.goes_on = around.closes == b"()"
        elif text == b"}" and around.closes == b"}}" and starts:
            self._closed(starts=True)
        elif text == b")" and len(self.open) > 1:
            raise _UnsureError

    def _separated(self, text: bytes) -> None:
        around = self.open[-1]
        self.goes_on = text in (b"&&", b"||", b"|", b"|&")
        self.starts = not around.in_pattern
        if text in (b";;", b";&", b";;&") and len(self.open) > 1:
            if around.closes != b"esac":
                raise _UnsureError
            around.in_pattern, self.starts = True, False

    def _skip_quoted(self, opening: bytes) -> None:
        if opening == b"'":
            match = _PLAIN_STRING.match(self.data, self.at)
        elif opening == b"`":
            match = _BACKQUOTED.match(self.data, self.at)
        else:
            match = _ANSI_STRING.match(self.data, self.at)
        if match is None:
            raise _UnsureError
        self.at = match.end()
        self.starts = self.goes_on = False

    def _opened(self, closes: bytes, starts: bool = False) -> None:
        self.open.append(_Open(closes))
        self.starts = starts

    def _closed(self, starts: bool = False) -> None:
        self.open.pop()
        self.starts, self.goes_on = starts, False
