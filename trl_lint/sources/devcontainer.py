"""devcontainer.json: the commands that run while a container is made (containers.dev, "Lifecycle scripts")."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.json import read_json_text
from trl_lint.sources.nodes import Mapping, Node, Scalar, Sequence
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.shell import Command, read_commands
from trl_lint.sources.shell_state import State
from trl_lint.sources.text import SourceError

_KEYS = ("onCreateCommand", "updateContentCommand", "postCreateCommand", "postStartCommand")
_COMMENT = regex(r"^[ \t]*//[^\n]*", re.MULTILINE)


def create_commands(source: Source) -> list[Command]:
    """The commands of all life-cycle keys, in their order. A file that is no JSON, but for comments, has none."""
    try:
        root = read_json_text(_COMMENT.sub(lambda match: " " * len(match[0]), source.text))
    except SourceError:
        return []
    if not isinstance(root, Mapping):
        return []
    scripts = (script for key in _KEYS for script in _scripts(root.get(key), source.text))
    return [
        command for script in scripts for command in read_commands(script.text, script, State(), original=source.text)
    ]


def _scripts(node: Node | None, text: str) -> Iterator[Pieces]:
    """A command is a line for a shell, the words of one program, or several of these by name."""
    if isinstance(node, Mapping):
        for entry in node.entries:
            yield from _scripts(entry.value, text)
    elif isinstance(node, Scalar) and isinstance(node.value, str):
        script = Pieces()
        _put(script, node, text)
        yield script
    elif isinstance(node, Sequence):
        words = [item for item in node.items if isinstance(item, Scalar) and isinstance(item.value, str)]
        script = Pieces()
        if len(words) == 3 and words[1].value in ("-c", "-lc"):
            _put(script, words[2], text)
        else:
            for word in words:
                _put(script, word, text)
                script.put(" ", word.end, word.end)
        yield script


def _put(script: Pieces, node: Scalar, text: str) -> None:
    inside = text[node.start + 1 : node.end - 1]
    if inside == node.value:
        script.copy(text, node.start + 1, node.end - 1)
    else:
        script.put(re.sub(r"[\r\n]", " ", str(node.value)), node.start, node.end)
