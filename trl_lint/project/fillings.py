"""What a file fills into its commands and defines itself: `${{ env.X }}`, `${{ matrix.X }}`, `$(X)`, `{{.X}}`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Sequence as Ordered

from trl_lint.knowledge.wrappers import HoldingFile, keys_of
from trl_lint.regexes import regex
from trl_lint.sources.nodes import Mapping, Node, Scalar, Sequence, value_of
from trl_lint.sources.shell import Word
from trl_lint.sources.shell_options import MOST_OPTIONS, Texts, concatenated, new_decision, new_each
from trl_lint.sources.shell_state import State
from trl_lint.sources.shell_values import HOLE, Option

BLANKS = {
    "$X": regex(r"\$\$?(?:\{[^{}]*\}|\w+)?"),
    "${X}": regex(r"\$\{[^{}]*\}"),
    "${{ X }}": regex(r"\$\{\{.*?(?:\}\}|\Z)", re.DOTALL),
    "$(X)": regex(r"\$\([\w.-]+\)"),
    "{{ X }}": regex(r"\{\{.*?(?:\}\}|\Z)", re.DOTALL),
    "{X}": regex(r"(?<!\$)\{[A-Za-z_][^{}\n]*\}"),
}
_NAME = regex(r"\.?[A-Za-z_][\w.-]*")
_NO_KEY: frozenset[tuple[int, int]] = frozenset()


class Fillings:
    """What stands for the blanks of a block of a file. `levels`: the mappings around it, outermost first."""

    def __init__(self, kind: HoldingFile, levels: Ordered[Mapping], text: str) -> None:
        self._kind = kind
        self._levels = levels
        self._text = text
        self._known: dict[str, Texts] = {}
        self._is_chosen = any(at_path(level, key) is not None for level in levels for key in kind.chosen)

    def of_script(self, blank: str, state: State) -> str:
        """The text that a shell gets for a blank: its value, or a variable that has its values."""
        texts = self.texts(blank)
        if len(texts) == 1:
            return texts[0][1]
        if not texts:
            return HOLE
        name = f"__filled_{min(decision for key, _ in texts for decision, _ in key)}__"
        words = [Option(key, (Word(text, text, 0, 0),)) for key, text in texts]
        state.set(name, Word(None, "", 0, 0, False, "", tuple(words)), True)
        return f"${{{name}}}"

    def of_word(self, value: str) -> tuple[str, Texts]:
        """A word with its blanks filled: its text with `HOLE` for what is not known, and all texts that it may be."""
        found = BLANKS[self._kind.blank]
        parts: list[Texts] = []
        template = ""
        position = 0
        for match in found.finditer(value):
            texts = self.texts(match[0])
            before = value[position : match.start()]
            template += before + (texts[0][1] if len(texts) == 1 else HOLE)
            parts += [((_NO_KEY, before),), texts]
            position = match.end()
        parts.append(((_NO_KEY, value[position:]),))
        return template + value[position:], concatenated(parts) if all(parts) else ()

    def texts(self, blank: str) -> Texts:
        """The texts that a blank may stand for; none where that is not known."""
        if blank not in self._known:
            values = list(dict.fromkeys(self._values(blank.strip("${}() "))))
            if len(values) > MOST_OPTIONS:
                values = []
            if len(values) > 1:
                decision = new_decision() if self._is_chosen else new_each()
                self._known[blank] = tuple((frozenset({(decision, way)}), text) for way, text in enumerate(values))
            else:
                self._known[blank] = tuple((_NO_KEY, text) for text in values)
        return self._known[blank]

    def _values(self, name: str) -> list[str]:
        if _NAME.fullmatch(name) is None:
            return []
        for beginning, keys in self._kind.defined.items():
            if not name.startswith(beginning):
                continue
            for level in reversed(self._levels):
                for key in keys:
                    block = at_path(level, key)
                    node = _named(block, name[len(beginning) :])
                    if node is not None:
                        found = [*_choices(node), *_included(block, name[len(beginning) :])]
                        texts = [self._shown(one) for one in found]
                        return [text for text in texts if text is not None] if None not in texts else []
        return []

    def _shown(self, node: Node) -> str | None:
        """A value as it is filled in; None where that is not known, or something is filled into it in turn."""
        if not isinstance(node, Scalar) or node.tag or node.value is None:
            return None
        text = str(node.value) if isinstance(node.value, str) or node.alias else self._text[node.start : node.end]
        if node.alias and not isinstance(node.value, str):
            return None
        return None if "\n" in text or BLANKS[self._kind.blank].search(text) else text


def at_path(node: Node | None, path: str) -> Node | None:
    """The node at a dotted path of keys of the table."""
    for key in keys_of(path):
        if not isinstance(node, Mapping):
            return None
        node = node.get(key)
    return node


def _named(block: Node | None, name: str) -> Node | None:
    """The value of a name in a block, or in a list of blocks with `name` and `value`."""
    if isinstance(block, Mapping):
        return block.get(name)
    for item in block.items if isinstance(block, Sequence) else ():
        if isinstance(item, Mapping) and value_of(item.get("name")) == name:
            return item.get("value")
    return None


def _choices(node: Node) -> Iterator[Node]:
    """A value, those of a list, or those of a block that has them under `value` or `values`."""
    if isinstance(node, Mapping):
        inner = node.get("value") or node.get("values") or node.get("default")
        node = inner if isinstance(inner, (Scalar, Sequence)) else node
    yield from node.items if isinstance(node, Sequence) else [node]


def _included(block: Node | None, name: str) -> Iterator[Node]:
    """What the entries of `include` beside the lists of a matrix add to one of them."""
    more = block.get("include") if isinstance(block, Mapping) else None
    for item in more.items if isinstance(more, Sequence) else ():
        node = item.get(name) if isinstance(item, Mapping) else None
        if node is not None:
            yield node
