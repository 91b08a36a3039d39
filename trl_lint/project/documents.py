"""Configuration documents of training programs, recognised by what stands in them, not by their names.

What documents of a kind look like stands in `rules/families`. It was measured on some two thousand YAML and JSON files
of training projects and of others (Kubernetes, workflows, compose files, model configs): a kind needs several keys that
only its program uses.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from trl_lint.finding import Location
from trl_lint.knowledge.families import document_kind, document_kinds
from trl_lint.knowledge.needles import MAX_BYTES, may_be_document
from trl_lint.sources import Source, SourceError, SourceFile
from trl_lint.sources.nodes import Entry, Mapping, Node, Sequence, Value, find, value_of

if TYPE_CHECKING:
    from trl_lint.knowledge.families import DocumentKind, Shape


class Document:
    """A recognised document: what kind it is, the text it stands in, and its tree."""

    __slots__ = ("kind", "root", "source")

    def __init__(self, kind: str, source: Source, root: Node) -> None:
        self.kind = kind
        self.source = source
        self.root = root

    @property
    def path(self) -> str:
        return self.source.path

    @property
    def mapping(self) -> Mapping | None:
        """The root, if it is a mapping."""
        return self.root if isinstance(self.root, Mapping) else None

    @property
    def definition(self) -> DocumentKind:
        """What `rules/families` says of documents of this kind; of the kind "other" next to nothing."""
        return document_kind(self.kind)

    def value(self, path: str) -> Value:
        """The scalar at a dotted path of keys; None where there is none."""
        return value_of(find(self.root, path))

    def place(self, entry: Entry, message: str = "") -> Location:
        """Where a key and its value stand."""
        return self.source.location(entry.key.start, max(entry.key.end, entry.value.end), message)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.path}>"


def read_document(file: SourceFile) -> Document | None:
    """The document in a YAML or JSON file; None for a file that cannot be one (its bytes name nothing of ours).

    `kind` is "other" for what names something of ours and is none of the known kinds. Raises SourceError where a
    candidate is malformed; whether it is broken, or a template, is for `templates.py` to say.
    """
    extension = os.path.splitext(file.path)[1].lower()
    if extension not in (".yaml", ".yml", ".json") or not may_be_document(file.searched) or _is_of_editor(file.path):
        return None
    return _document(Source(file, "json" if extension == ".json" else "yaml"))


def _is_of_editor(path: str) -> bool:
    """Whether a file is JSON as editors read it, with comments: they may hold commands, and are no config."""
    folder, name = os.path.split(path)
    return os.path.basename(folder) == ".vscode" or name in ("devcontainer.json", ".devcontainer.json")


def read_recipe(file: SourceFile) -> Document | None:
    """A YAML or JSON file as the recipe of a script that is known to read it; None unless it is one mapping.

    Raises SourceError where it is malformed.
    """
    from trl_lint.sources.trees import read_trees

    if len(file.data) > MAX_BYTES:
        return None  # data, as everywhere else
    source = Source(file, "json" if file.path.lower().endswith(".json") else "yaml")
    roots = read_trees(source)
    kind = next(kind.kind for kind in document_kinds() if kind.recipe and kind.holds.script_fields)
    return Document(kind, source, roots[0]) if len(roots) == 1 and isinstance(roots[0], Mapping) else None


def documents_shown(file: SourceFile) -> list[Document]:
    """The documents in the YAML and JSON that a page of Markdown shows; what cannot be read is an excerpt."""
    from trl_lint.python.fences import blocks_shown

    found = []
    for fence in blocks_shown(file, "yaml", "json") if may_be_document(file.data) else ():
        if may_be_document(fence.text.encode("utf-8", "replace")):
            with suppress(SourceError, RecursionError):
                found.append(_document(fence))
    return [document for document in found if document is not None]


def _document(source: Source) -> Document | None:
    from trl_lint.sources.trees import read_trees

    roots = read_trees(source)
    if not roots:
        return None
    # The programs read one document; several in a file are somebody else's format.
    kind = recognise(roots[0]) if len(roots) == 1 else "other"
    return Document(kind, source, roots[0])


def recognise(root: Node) -> str:
    """Whose document a tree is, "other" where it is nobody's of ours."""
    if not isinstance(root, Mapping):
        return "other"
    keys = root.keys()
    found = (kind.kind for kind in document_kinds() if any(_fits(root, keys, shape, kind) for shape in kind.shape))
    return next(found, "other")


def _fits(root: Mapping, keys: set[str], shape: Shape, kind: DocumentKind) -> bool:
    """Whether a tree has a shape. What is cheap to tell comes first."""
    return (
        keys.issuperset(shape.has)
        and keys.isdisjoint(shape.without)
        and (not shape.any_of or not keys.isdisjoint(shape.any_of))
        and all(_is_one_of(root.get(key), values) for key, values in shape.values.items())
        and all(isinstance(value_of(root.get(key)), str) for key in shape.text)
        and all(isinstance(root.get(key), Mapping) for key in shape.mapping)
        and not any(isinstance(root.get(key), Mapping) for key in shape.no_mapping)
        and (not shape.some_mapping or any(isinstance(root.get(key), Mapping) for key in shape.some_mapping))
        and all(_holds_one_of(root.get(key), items) for key, items in shape.items.items())
        and _knows_enough(keys, shape, kind)
    )


def _is_one_of(node: Node | None, values: tuple[Value, ...]) -> bool:
    """Whether a node is one of these values, of the same type: False is 0 for Python, and not for a config."""
    value = value_of(node)
    return any(type(value) is type(one) and value == one for one in values)


def _holds_one_of(node: Node | None, items: tuple[str, ...]) -> bool:
    return isinstance(node, Sequence) and any(value_of(item) in items for item in node.items)


def _knows_enough(keys: set[str], shape: Shape, kind: DocumentKind) -> bool:
    known = len(kind.keys.intersection(keys))
    return known >= shape.known or (known == len(keys) == shape.alone)
