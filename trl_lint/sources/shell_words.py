"""What the words of a command are, put together from their parts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from trl_lint import budget
from trl_lint.sources.shell_fragments import (
    Fragment,
    Fragments,
    is_known,
    options_of_parts,
    subscript,
    template_of,
)
from trl_lint.sources.shell_options import Texts
from trl_lint.sources.shell_text import ShellText
from trl_lint.sources.shell_values import HOLE as UNKNOWN_TEXT
from trl_lint.sources.shell_values import Array, Option, Word

_MOST_PIECES = 300  # words of a variable that is only known in part
_MOST_SPREAD = 10_000  # words that the variables of one text stand for, in all of its commands


class Words:
    """Turns the nodes of words into `Word`s, by their fragments."""

    __slots__ = ("_spread", "fragments", "shell")

    def __init__(self, shell: ShellText, fragments: Fragments) -> None:
        self.shell = shell
        self.fragments = fragments
        self._spread = 0

    def one_word(self, node: Node) -> Word:
        """The value of an assignment: no splitting there."""
        parts = self.fragments.of(node)
        if not is_known(parts):
            options = tuple(Option(key, (self.shell.word(node, text),)) for key, text in options_of_parts(parts))
            return self.shell.word(node, None, False, template_of(parts))._replace(options=options)
        return self.shell.word(node, "".join(part.text or "" for part in parts))

    def of(self, node: Node) -> list[Word]:
        """The words a node stands for: one, or none or several where an unquoted value is split."""
        if not node.is_named:
            return []
        items = self._array(node)
        if items is not None:
            return self._bounded(node, items)
        parts = self.fragments.of(node)
        if not is_known(parts):
            return self._unknown(node, parts)
        if not any(part.splits and (part.text == "" or _has_space(part.text)) for part in parts):
            return [self.shell.word(node, "".join(part.text or "" for part in parts))]
        return self._bounded(node, [self.shell.word(node, text) for text in _split(parts)])

    def _bounded(self, node: Node, words: Sequence[Word]) -> list[Word]:
        """The words of a variable, as long as those of the text are not too many."""
        self._spread += len(words)
        if self._spread <= _MOST_SPREAD:
            return list(words)
        budget.limit(_MOST_SPREAD, "of the words that its variables stand for the first {} were read")
        return [self.shell.word(node, None, True)]

    def _unknown(self, node: Node, parts: list[Fragment]) -> list[Word]:
        """The words of a node of which a part is not known; those that are known where a variable holds several."""
        template = template_of(parts)
        pieces = template.split() if len(parts) == 1 and parts[0].splits else []
        if 1 < len(pieces) <= _MOST_PIECES:
            found = [self._piece(node, piece) for piece in pieces]
            return self._guessed(node, found, options_of_parts(parts))
        word = self.shell.word(node, None, all(part.splits for part in parts), template)
        return [word._replace(options=self._split_options(node, parts))]

    def _split_options(self, node: Node, parts: list[Fragment]) -> tuple[Option, ...]:
        """The words for each option of an unknown word."""
        options = options_of_parts(parts)
        splits = any(part.splits for part in parts)
        if splits and len(parts) > 1 and any(text == "" or _has_space(text) for _, text in options):
            return ()  # which part the blanks come from decides where it is split
        pieces = ((key, text.split() if splits else [text]) for key, text in options)
        return tuple(Option(key, tuple(self.shell.word(node, piece) for piece in words)) for key, words in pieces)

    def _guessed(self, node: Node, pieces: list[Word], options: Texts) -> list[Word]:
        """Pieces, of which those that are not known have the one value that each can have, if it is one."""
        if len(options) != 1:
            return pieces
        ((key, text),) = options
        texts = text.split()
        if len(texts) != len(pieces):
            return pieces  # what is not known holds blanks, or nothing
        return [
            piece if piece.text is not None else piece._replace(options=(Option(key, (self.shell.word(node, value),)),))
            for piece, value in zip(pieces, texts, strict=True)
        ]

    def _piece(self, node: Node, piece: str) -> Word:
        if piece == UNKNOWN_TEXT:
            return self.shell.word(node, None, True)
        return self.shell.word(node, None, False, piece) if UNKNOWN_TEXT in piece else self.shell.word(node, piece)

    def _array(self, node: Node) -> tuple[Word, ...] | None:
        """The items that `"${A[@]}"` or `${A[@]}` stands for, if the array is known."""
        if node.type == "string" and node.named_child_count == 1 and node.child_count == 3:
            node = node.named_children[0]
            if node.parent is None or node.start_byte != node.parent.start_byte + 1:
                return None
        name, index = subscript(node)
        if name is None or index is None or self.shell.slice(index) != "@":
            return None
        value = self.fragments.state.get(self.shell.slice(name))
        if isinstance(value, Word) and value.options:
            return (self.shell.word(node, None, True)._replace(options=value.options),)
        return value.items if isinstance(value, Array) else None


def _has_space(text: str | None) -> bool:
    return text is not None and any(char.isspace() for char in text)


def _split(parts: list[Fragment]) -> list[str]:
    words: list[str] = []
    current: list[str] | None = None
    for part in parts:
        text = part.text or ""
        if not part.splits:
            current = [*(current or []), text]
            continue
        pieces = re.split(r"\s+", text)
        for index, piece in enumerate(pieces):
            if index and current is not None:
                words.append("".join(current))
                current = None
            if piece:
                current = [*(current or []), piece]
    if current is not None:
        words.append("".join(current))
    return words
