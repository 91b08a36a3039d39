"""The syntax trees of a shell text, in a time that grows with its length.

tree-sitter repairs broken syntax in a time that grows with the square of its length. Where a text is broken, each of
its complete commands is parsed by itself: an error spoils the command it stands in, and what a shell runs before and
behind it stays what it is. What still cannot be parsed in time is left out, and whoever asks is told.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from time import thread_time
from typing import Any

from tree_sitter import Language, Node, Parser, Range

from trl_lint.records import NamedTuple

# Seconds for the trees of a text, and more for each of its bytes: twenty times what fine syntax takes.
_SECONDS = 0.2
_SECONDS_PER_BYTE = 5e-6
# Bytes that take no time worth watching, however broken they are; and those behind which it matters that no clock can
# stop the last step of a repair.
_SHORT, _LONG = 2000, 16_000
_SLOW = 0.1  # seconds for so many bytes: ten times what fine syntax takes
_CHUNK = 4096
_MOST_KEPT = 4  # texts that are kept


class Stretch(NamedTuple):
    """A part of a text, by its bytes: its tree has this root, and none where it could not be parsed in time."""

    start: int
    end: int
    root: Node | None


# The broken texts of late, since several readers and rules ask for the trees of one script.
_kept: OrderedDict[bytes, list[Stretch]] = OrderedDict()


def parse(data: bytes) -> list[Stretch]:
    """The trees of a shell text in UTF-8, with offsets in it; mostly one. Broken syntax gives ERROR nodes."""
    data = data.replace(b"\0", b" ")  # the end of a text for the grammar, and nothing for a shell
    known = _kept.get(data)
    if known is not None:
        return known
    limit = seconds_for(len(data))
    parser = _parser()
    root = _tree(parser, data, 0, len(data), limit)
    if root is not None and not root.has_error:
        return [Stretch(0, len(data), root)]
    from trl_lint.sources.shell_cut import ends_of_commands

    ends = ends_of_commands(data)
    found = [Stretch(0, len(data), root)] if len(ends) == 1 else _each(parser, data, ends, limit)
    _kept[data] = found
    if len(_kept) > _MOST_KEPT:
        _kept.popitem(last=False)
    return found


def seconds_for(size: int) -> float:
    """How long a text of so many bytes may take, at first as a whole and then in parts."""
    return _SECONDS + size * _SECONDS_PER_BYTE


def _each(parser: Parser, data: bytes, ends: list[int], limit: float) -> list[Stretch]:
    """The trees of the commands that end at these offsets."""
    begun, start, row = thread_time(), 0, 0
    found: list[Stretch] = []
    for end in ends:
        below = row + data.count(b"\n", start, end)
        left = limit - (thread_time() - begun)
        root = None
        if left > 0:
            last = end - (data.rfind(b"\n", start, end) + 1 or start)
            parser.included_ranges = [Range((row, 0), (below, last), start, end)]
            root = _tree(parser, data, start, end, left)
        if root is None and found and found[-1].root is None:
            found[-1] = found[-1]._replace(end=end)
        else:
            found.append(Stretch(start, end, root))
        start, row = end, below
    return found


def _is_quick(data: bytes, start: int, end: int) -> bool:
    """Whether none of the parts of a long stretch, cut anywhere, takes long to parse."""
    parser = _parser()
    for at in range(start, end, _LONG):
        begun = thread_time()
        _tree(parser, data[at : min(at + _LONG, end)], 0, min(_LONG, end - at), _SLOW)
        if thread_time() - begun > _SLOW:
            return False
    return True


def _parser() -> Parser:
    import tree_sitter_bash

    return Parser(Language(tree_sitter_bash.language()))


def _tree(parser: Any, data: bytes, start: int, end: int, limit: float) -> Node | None:
    """The root of the tree of a stretch; None if it takes longer."""
    if end - start <= _SHORT:
        root: Node = parser.parse(data).root_node
        return root
    if end - start > _LONG and not _is_quick(data, start, end):
        return None
    try:
        if hasattr(parser, "timeout_micros"):  # before tree-sitter 0.26, whose callbacks crash in 0.25
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                parser.timeout_micros = max(1, int(limit * 1e6))
            root = parser.parse(data).root_node
        else:
            until = thread_time() + limit
            root = parser.parse(
                lambda offset, _: data[offset : offset + _CHUNK],
                progress_callback=lambda *_: thread_time() > until,
            ).root_node
    except ValueError:  # stopped
        parser.reset()
        return None
    return root
