"""A config document of a command as a tree of settings: what the release that reads it finds there."""

from __future__ import annotations

from trl_lint.knowledge.condition_language import UNKNOWN, Block
from trl_lint.run.effective import as_bool, as_number
from trl_lint.sources.nodes import Mapping, Node, Scalar
from trl_lint.sources.placeholders import is_marked


def block_of(root: Mapping) -> Block | None:
    """The settings of a document; None where it may have others than those that stand in it."""
    found = _Reader().read(root, "")
    return found if isinstance(found, Block) else None


class _Reader:
    """Reads each shared part of a tree once: YAML aliases can make a small text a large tree, or a circle."""

    def __init__(self) -> None:
        self._known: dict[int, object] = {}

    def read(self, node: Node, path: str) -> object:
        """A plain value, a Block, a list, or UNKNOWN."""
        if isinstance(node, Scalar):
            return _scalar(node)
        key = id(node.entries if isinstance(node, Mapping) else node.items)
        if key not in self._known:
            self._known[key] = UNKNOWN  # what holds itself
            if isinstance(node, Mapping):
                self._known[key] = self._block(node, path)
            else:
                self._known[key] = UNKNOWN if node.tag else [self.read(item, path) for item in node.items]
        return self._known[key]

    def _block(self, node: Mapping, path: str) -> object:
        if node.tag or node.merged:
            return UNKNOWN
        found = Block(path, {})
        for entry in node.entries:
            name = entry.key.value
            if isinstance(name, str) and (is_marked(name) or name == "<<"):
                return UNKNOWN  # it may be any key
            found[str(name)] = self.read(entry.value, f"{path}.{name}".lstrip("."))
        return found


def _scalar(node: Scalar) -> object:
    """The value of a scalar; unknown where its reader may make another one of a text: a number, a truth."""
    value = node.value
    if node.tag:
        return UNKNOWN
    if isinstance(value, str) and (is_marked(value) or as_number(value) is not None or as_bool(value) is not None):
        return UNKNOWN
    return value
