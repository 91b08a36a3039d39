"""JSON with places, accepting exactly what `json.loads` accepts: no comments, no trailing commas, but NaN.

DeepSpeed reads its own files more leniently (comments); transformers and accelerate do not, and they open them first.
"""

from __future__ import annotations

import re

from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.nodes import MAX_DEPTH, Entry, Mapping, Node, Scalar, Sequence, Value
from trl_lint.sources.text import SourceError

_SPACE = regex(r"[ \t\n\r]*")
_NUMBER = regex(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Value] = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}
_WORD = regex("|".join(_WORDS))
_TOKEN = regex(r"[^\s]")
_STRING_REST = regex(r'(?:[^"\\]|\\.)*"?', re.DOTALL)
_NO_LINE_END = regex(r"[^\r\n]")


def read_json(source: Source) -> Node:
    """The root node of a JSON text. Raises SourceError with the place json.loads would stop at."""
    return read_json_text(source.text)


def read_json_text(text: str, skipped: frozenset[str] = frozenset()) -> Node:
    """As `read_json`, for a text that is not yet a Source.

    The values of keys that are `skipped` are checked, but nothing is kept of them: null stands in their place.
    """
    start = _skip(text, 0)
    root, end = _read_document(text, start, skipped)
    end = _skip(text, end)
    if end != len(text):
        raise SourceError("not JSON: extra data", end)
    return root


def without_comments(text: str) -> str:
    """A text as editors read it (JSON with comments), with blanks for comments and for commas behind a last item."""
    blank: list[tuple[int, int]] = []
    at = 0
    comma = -1  # behind which only white space and comments have been seen
    while (match := _TOKEN.search(text, at)) is not None:
        start, at = match.span()
        if text.startswith(("//", "/*"), start):
            end = text.find("\n", start) if text[start + 1] == "/" else text.find("*/", start + 2) + 2
            at = end if end > start else len(text)
            blank.append((start, at))
            continue
        if match[0] == '"':
            rest = _STRING_REST.match(text, at)
            at = rest.end() if rest is not None else len(text)
        if match[0] in "]}" and comma >= 0:
            blank.append((comma, comma + 1))
        comma = start if match[0] == "," else -1
    found: list[str] = []
    kept = 0
    for start, end in sorted(blank):
        found += [text[kept:start], _NO_LINE_END.sub(" ", text[start:end])]
        kept = end
    return "".join((*found, text[kept:]))


def read_value(text: str, start: int) -> Node:
    """The node of the one value that begins at an offset. Raises SourceError."""
    return _read_document(text, start, frozenset())[0]


def _skip(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    return match.end() if match else offset


def _read_document(text: str, start: int, skipped: frozenset[str]) -> tuple[Node, int]:
    """Read one value from `start` without recursion; the open collections are on a stack."""
    stack: list[Mapping | Sequence] = []
    keys: list[Scalar] = []
    offset = start
    while True:
        # Here a value begins.
        opening = text[offset : offset + 1]
        node: Node | None = None
        if skipped and keys and isinstance(stack[-1], Mapping) and keys[-1].value in skipped:
            node = _checked(text, offset)
        if node is not None:
            offset = node.end
        elif opening in ("{", "["):
            if len(stack) >= MAX_DEPTH:
                raise SourceError(f"nested more than {MAX_DEPTH} levels deep", offset)
            node = Mapping([], offset, offset) if opening == "{" else Sequence([], offset, offset)
            offset = _skip(text, offset + 1)
            if text[offset : offset + 1] != ("}" if opening == "{" else "]"):
                stack.append(node)
                if isinstance(node, Mapping):
                    key, offset = _key(text, offset)
                    keys.append(key)
                continue
            offset += 1
            node.end = offset
        else:
            node, offset = _scalar(text, offset)
        # Here a value has ended: it goes into its collection, and closes those that end with it.
        while stack:
            parent = stack[-1]
            offset = _skip(text, offset)
            if isinstance(parent, Mapping):
                parent.entries.append(Entry(keys.pop(), node))
            else:
                parent.items.append(node)
            follower = text[offset : offset + 1]
            if follower == ",":
                comma = offset
                offset = _skip(text, offset + 1)
                if text[offset : offset + 1] in ("}", "]"):
                    raise SourceError("not JSON: trailing comma", comma)
                if isinstance(parent, Mapping):
                    key, offset = _key(text, offset)
                    keys.append(key)
                break
            if follower != ("}" if isinstance(parent, Mapping) else "]"):
                raise SourceError("not JSON: expecting ',' delimiter", offset)
            offset += 1
            node = stack.pop()
            node.end = offset
        else:
            return node, offset


def _checked(text: str, offset: int) -> Scalar | None:
    """Null in the place of a value, which the scanner of `json` has read; None where that one refuses it.

    It is written in C, and thirty times as fast as what keeps places.
    """
    from json import JSONDecoder

    try:
        _, end = JSONDecoder().scan_once(text, offset)  # type: ignore[attr-defined]
    except (ValueError, StopIteration, RecursionError):
        return None  # what is wrong, and where, is told by our own reading
    return Scalar(None, "", False, offset, end)


def _key(text: str, offset: int) -> tuple[Scalar, int]:
    """A key and the offset of the value behind its colon."""
    if text[offset : offset + 1] != '"':
        raise SourceError("not JSON: expecting property name enclosed in double quotes", offset)
    key, offset = _scalar(text, offset)
    offset = _skip(text, offset)
    if text[offset : offset + 1] != ":":
        raise SourceError("not JSON: expecting ':' delimiter", offset)
    return key, _skip(text, offset + 1)


def _scalar(text: str, start: int) -> tuple[Scalar, int]:
    value: Value
    if text[start : start + 1] == '"':
        value, end = _string(text, start)
        return Scalar(value, text[start:end], True, start, end), end
    if match := _WORD.match(text, start):
        value = _WORDS[match[0]]
    elif match := _NUMBER.match(text, start):
        try:
            value = float(match[0]) if match[2] or match[3] else int(match[1])
        except ValueError:  # more digits than Python converts: json.loads fails too
            raise SourceError("not JSON: too many digits", start) from None
    else:
        raise SourceError(f"not JSON: {_found(text, start)}", start)
    return Scalar(value, match[0], False, start, match.end()), match.end()


def _found(text: str, offset: int) -> str:
    if offset >= len(text):
        return "the text ends where a value is expected"
    if text.startswith(("//", "/*", "#"), offset):
        return "comments are not allowed"
    return "expecting a value"


def _string(text: str, start: int) -> tuple[str, int]:
    from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]

    try:
        value, end = scanstring(text, start + 1, True)
    except JSONDecodeError as error:
        raise SourceError(
            f"not JSON: {error.msg[:1].lower()}{error.msg[1:].removesuffix(' at')}", min(error.pos, len(text))
        ) from None
    return value, end
