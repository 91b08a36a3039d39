"""YAML with places, read as `yaml.safe_load` reads it (YAML 1.1), because that is what the training libraries call.

So `no` is False, `017` is 15, and `1e-6` (no dot, no sign) is a string. The tree is built from the parser's events, not
composed by PyYAML: a composed alias carries the place of its anchor, a composed node begins at its anchor or tag, and
a deep file ends in a RecursionError.
"""

from __future__ import annotations

from typing import Any

from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.nodes import MAX_DEPTH, Entry, Mapping, Node, Scalar, Sequence, Value
from trl_lint.sources.text import SourceError
from trl_lint.words import is_countable

_CORE = "tag:yaml.org,2002:"
_PROPERTY = regex(r"(?:&[^\s,\[\]{}]+|!<[^>\s]*>|![^\s,\[\]{}]*)(?:\s|#[^\r\n]*)*")
_TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"
_SPACE = " \t\r\n\x85\u2028\u2029"


def read_yaml(source: Source) -> list[Node]:
    """The root node of each document of a YAML text.

    Raises SourceError where `yaml.safe_load_all` cannot read the structure. Tags of the project's own are kept (`tag`),
    though safe_load refuses them: who reads such a file is not for this reader to say.
    """
    import yaml

    # A second byte order mark would shift every offset of the C parser by one.
    skipped = 1 if source.text.startswith("\ufeff") else 0
    text = source.text[skipped:]
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        builder = _Builder(text)
        for event in yaml.parse(text, Loader=loader):
            builder.take(event)
    except SourceError as error:
        raise SourceError(error.message, error.offset + skipped) from None
    except yaml.reader.ReaderError as error:
        match = yaml.reader.Reader.NON_PRINTABLE.search(text)
        character = f"character U+{ord(match[0]):04X}" if match else str(error.reason)
        raise SourceError(f"not YAML: {character} is not allowed", skipped + (match.start() if match else 0)) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        offset = min(mark.index, len(text)) if mark else 0
        reason = ", ".join(str(part) for part in (error.context, error.problem) if part)
        if "maximum nesting depth" in reason:  # libyaml's own limit, since PyYAML 6.0.4; it reads ahead of ours
            raise SourceError(_TOO_DEEP, offset + skipped) from None
        raise SourceError(f"not YAML: {reason}", offset + skipped) from None
    except UnicodeEncodeError as error:
        raise SourceError("not YAML: a lone surrogate is not allowed", error.start + skipped) from None
    if skipped:
        for document in builder.documents:
            _shift(document, skipped)
    return builder.documents


class _Open:
    """A collection whose end has not been reached."""

    __slots__ = ("block", "key", "node")

    def __init__(self, node: Mapping | Sequence, block: bool) -> None:
        self.node = node
        self.block = block
        self.key: Scalar | None = None


class _Builder:
    """Builds the documents from parser events, one open collection per level of nesting."""

    def __init__(self, text: str) -> None:
        import yaml

        self.documents: list[Node] = []
        self._text = text
        self._yaml = yaml
        self._resolver: Any = yaml.resolver.Resolver()
        self._constructor = yaml.constructor.SafeConstructor()
        self._anchors: dict[str, Node] = {}
        self._open: list[_Open] = []

    def take(self, event: Any) -> None:
        yaml = self._yaml
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._add(self._scalar(event), event.anchor, event.start_mark.index)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            self._begin(event, is_mapping=kind is yaml.MappingStartEvent)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._finish(event.end_mark.index)
        elif kind is yaml.AliasEvent:
            self._add(self._alias(event), None, event.start_mark.index)
        elif kind is yaml.DocumentStartEvent:
            self._anchors = {}

    def _begin(self, event: Any, is_mapping: bool) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise SourceError(_TOO_DEEP, event.start_mark.index)
        start = self._value_start(event)
        tag = event.tag or ""
        node: Mapping | Sequence = Mapping([], start, start, tag) if is_mapping else Sequence([], start, start, tag)
        self._add(node, event.anchor, event.start_mark.index)
        self._open.append(_Open(node, block=not event.flow_style))

    def _finish(self, end: int) -> None:
        closed = self._open.pop()
        node = closed.node
        # The parser sees the end of a block only at the next token, behind blank lines and comments.
        node.end = _children_end(node) if closed.block else end
        if isinstance(node, Mapping):
            node.merged.extend(_merged(node))
            node.has_rivals = _has_rivals(node)

    def _add(self, node: Node, anchor: str | None, offset: int) -> None:
        if anchor is not None:
            if anchor in self._anchors:  # refused by yaml.safe_load as well
                raise SourceError(f"not YAML: anchor &{anchor} is defined twice", offset)
            self._anchors[anchor] = node
        if not self._open:
            self.documents.append(node)
            return
        parent = self._open[-1]
        if isinstance(parent.node, Sequence):
            parent.node.items.append(node)
        elif parent.key is None:
            parent.key = self._key(node)
        else:
            parent.node.entries.append(Entry(parent.key, node))
            parent.key = None

    def _key(self, node: Node) -> Scalar:
        """A key is a scalar; one that is a collection (a template's `{{ name }}`) can match no name."""
        if isinstance(node, Scalar):
            return node
        return Scalar(None, self._text[node.start : node.end], False, node.start, node.end, node.tag)

    def _alias(self, event: Any) -> Node:
        start, end = event.start_mark.index, event.end_mark.index
        target = self._anchors.get(event.anchor)
        if target is None:
            raise SourceError(f"not YAML: alias *{event.anchor} has no anchor", start)
        if isinstance(target, Scalar):
            return Scalar(target.value, self._text[start:end], target.quoted, start, end, target.tag, alias=True)
        if isinstance(target, Sequence):
            return Sequence(target.items, start, end, target.tag, alias=True)
        mapping = Mapping(target.entries, start, end, target.tag, alias=True)
        mapping.merged = target.merged
        mapping.has_rivals = target.has_rivals
        return mapping

    def _scalar(self, event: Any) -> Scalar:
        start, end = self._value_start(event), event.end_mark.index
        if event.style in ("|", ">"):  # the end mark lies behind the blank lines that follow
            end = start + len(self._text[start:end].rstrip(_SPACE))
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._resolver.resolve(self._yaml.ScalarNode, event.value, event.implicit)
        quoted = event.style in ("'", '"', "|", ">")
        value = self._value(event, tag)
        return Scalar(value, self._text[start:end], quoted, start, end, _short_tag(event.tag))

    def _value(self, event: Any, tag: str) -> Value:
        make = self._constructor
        text: str = event.value
        if tag == _CORE + "str":
            return text
        node = self._yaml.ScalarNode(tag, text)
        try:
            if tag == _CORE + "bool":
                return bool(make.construct_yaml_bool(node))
            if tag == _CORE + "int":
                number = int(make.construct_yaml_int(node))
                return number if is_countable(number) else text
            if tag == _CORE + "float":
                return float(make.construct_yaml_float(node))
        except (
            ValueError,
            ArithmeticError,
            LookupError,
        ):  # `!!int many`, more digits than Python converts, 60 to the 180th
            return text
        return None if tag == _CORE + "null" else text

    def _value_start(self, event: Any) -> int:
        """Where the value itself begins, behind its anchor and its tag."""
        start, end = event.start_mark.index, event.end_mark.index
        if event.anchor is None and event.tag is None:
            return int(start)
        for _ in range(2):
            match = _PROPERTY.match(self._text, start)
            if match is None:
                break
            start = match.end()
        return int(min(start, end))


def _short_tag(tag: str | None) -> str:
    if tag is None:
        return ""
    return "!!" + tag[len(_CORE) :] if tag.startswith(_CORE) else tag


def _children_end(node: Mapping | Sequence) -> int:
    if isinstance(node, Mapping):
        return node.entries[-1].value.end if node.entries else node.start
    return node.items[-1].end if node.items else node.start


def _merged(mapping: Mapping) -> list[Mapping]:
    """What merge keys take in, the strongest first: a later `<<` before an earlier one, a list in its order."""
    found: list[Mapping] = []
    for value in reversed(_merge_values(mapping)):
        if isinstance(value, Mapping):
            found.append(value)
        elif isinstance(value, Sequence):
            found.extend(item for item in value.items if isinstance(item, Mapping))
    return found


def _has_rivals(mapping: Mapping) -> bool:
    return any(isinstance(value, Sequence) and len(value.items) > 1 for value in _merge_values(mapping))


def _merge_values(mapping: Mapping) -> list[Node]:
    return [value for key, value in mapping.entries if key.value == "<<" and not key.quoted]


def _shift(root: Node, by: int) -> None:
    """Move every place below a node, shared lists once."""
    seen: set[int] = set()
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        node.start += by
        node.end += by
        if isinstance(node, Mapping):
            for key, value in node.entries:
                waiting += (key, value)
        elif isinstance(node, Sequence):
            waiting += node.items
