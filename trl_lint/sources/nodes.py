"""The one tree for YAML, JSON and TOML: values with the place of each in the text it was read from."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.records import NamedTuple

# Deep enough for every real configuration, shallow enough for a recursive reader of the tree.
MAX_DEPTH = 200

Value = str | int | float | bool | None

# The value of a scalar of which nobody can tell what a reader gets: a text that stands for one nobody knows.
UNSETTLED = "${<<}"


class Scalar:
    """A single value, as the program that reads the file will see it.

    `raw` is the text from `start` to `end` (quotes included). What has no Python value of the types of `Value` (a date,
    a value with a tag of its own) is a str. `tag` is the tag written in front of a YAML value (`!!float`, `!ENV`), else
    "". `alias` says that the place holds a YAML alias (`*name`), so `raw` is the alias and not the value.
    """

    __slots__ = ("alias", "end", "quoted", "raw", "start", "tag", "value")

    def __init__(
        self, value: Value, raw: str, quoted: bool, start: int, end: int, tag: str = "", alias: bool = False
    ) -> None:
        self.value = value
        self.raw = raw
        self.quoted = quoted
        self.start = start
        self.end = end
        self.tag = tag
        self.alias = alias

    def __repr__(self) -> str:
        return f"Scalar({self.value!r}, {self.start}:{self.end})"


class Entry(NamedTuple):
    """One key of a mapping with its value."""

    key: Scalar
    value: Node


_MANY = 32  # entries, from which on they are looked up by name


class Mapping:
    """Keys and values in the order of the text; a key that is written twice is there twice.

    A YAML alias shares the list of `entries` with its anchor, so that a file of aliases stays as small as it is. The
    sharing can be circular: whoever descends must remember the lists already seen (`walk` does).

    `merged` is what merge keys (`<<`) take in, the strongest first. `has_rivals`: a merge key has a list of several.
    Where two of them have a key, the first one wins up to PyYAML 6.0.3, and mostly the last one in 6.0.4
    (https://github.com/yaml/pyyaml/issues/953).
    """

    __slots__ = ("_by_name", "alias", "end", "entries", "has_rivals", "merged", "start", "tag")

    def __init__(self, entries: list[Entry], start: int, end: int, tag: str = "", alias: bool = False) -> None:
        self.entries = entries
        self.start = start
        self.end = end
        self.tag = tag
        self.alias = alias
        self.merged: list[Mapping] = []
        self._by_name: tuple[int, dict[str, Entry]] | None = None
        self.has_rivals = False

    def entry(self, name: str) -> Entry | None:
        """The entry a reader gets for a key: the last one written, else one taken in by a YAML merge key (`<<`).

        Its value is `UNSETTLED` where the release of PyYAML decides which of several that is.
        """
        first: Entry | None = None
        has_rivals = False
        seen: set[int] = set()
        waiting = [self]
        while waiting:
            mapping = waiting.pop()
            if id(mapping.entries) in seen:
                continue
            seen.add(id(mapping.entries))
            found = mapping.written(name)
            if found is None:
                has_rivals = has_rivals or mapping.has_rivals
                waiting.extend(reversed(mapping.merged))
            elif not has_rivals:
                return found
            elif first is not None and not _is_same(first.value, found.value):
                start, end = first.value.start, first.value.end
                return Entry(first.key, Scalar(UNSETTLED, UNSETTLED, False, start, end, alias=True))
            first = first or found
        return first

    def written(self, name: str) -> Entry | None:
        """The entry that is written here for a key, without merge keys."""
        if len(self.entries) < _MANY:
            return next((entry for entry in reversed(self.entries) if entry.key.value == name), None)
        if self._by_name is None or self._by_name[0] != len(self.entries):  # it may have grown since
            named = {entry.key.value: entry for entry in self.entries if isinstance(entry.key.value, str)}
            self._by_name = len(self.entries), named
        return self._by_name[1].get(name)

    def get(self, name: str) -> Node | None:
        entry = self.entry(name)
        return None if entry is None else entry.value

    def keys(self) -> set[str]:
        """The keys that are strings, merged ones not counted."""
        return {entry.key.value for entry in self.entries if isinstance(entry.key.value, str)}

    def __repr__(self) -> str:
        return f"Mapping({len(self.entries)} entries, {self.start}:{self.end})"


class Sequence:
    """A list. A YAML alias shares `items` with its anchor, as the entries of a Mapping."""

    __slots__ = ("alias", "end", "items", "start", "tag")

    def __init__(self, items: list[Node], start: int, end: int, tag: str = "", alias: bool = False) -> None:
        self.items = items
        self.start = start
        self.end = end
        self.tag = tag
        self.alias = alias

    def __repr__(self) -> str:
        return f"Sequence({len(self.items)} items, {self.start}:{self.end})"


Node = Scalar | Mapping | Sequence


def _is_same(one: Node, other: Node) -> bool:
    """Whether two nodes are one value for sure."""
    if isinstance(one, Scalar) and isinstance(other, Scalar):
        return type(one.value) is type(other.value) and one.value == other.value and one.tag == other.tag
    return one is other


def find(root: Node | None, path: str) -> Node | None:
    """The node at a dotted path of keys (`"zero_optimization.stage"`), None where there is none."""
    node: Node | None = root
    for name in path.split("."):
        if not isinstance(node, Mapping):
            return None
        node = node.get(name)
    return node


def find_entry(root: Node | None, path: str) -> Entry | None:
    """The entry at a dotted path of keys, for the place of key and value together; None where there is none."""
    above, _, name = path.rpartition(".")
    owner = find(root, above) if above else root
    return owner.entry(name) if isinstance(owner, Mapping) else None


def value_of(node: Node | None) -> Value:
    """The value of a scalar; None for everything else."""
    return node.value if isinstance(node, Scalar) else None


def walk(root: Node) -> Iterator[tuple[tuple[str, ...], Scalar]]:
    """Every scalar value below a node with the path of keys that leads to it, in the order of the text.

    The items of a list have the path of the list. What YAML aliases share is visited once, by its first path.
    """
    seen: set[int] = set()
    waiting: list[tuple[tuple[str, ...], Node]] = [((), root)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, Scalar):
            yield path, node
            continue
        children: list[Entry] | list[Node] = node.entries if isinstance(node, Mapping) else node.items
        if id(children) in seen:
            continue
        seen.add(id(children))
        if isinstance(node, Mapping):
            waiting.extend(((*path, str(entry.key.value)), entry.value) for entry in reversed(node.entries))
        else:
            waiting.extend((path, item) for item in reversed(node.items))
