"""Pipfile and Pipfile.lock of pipenv: `packages` and `dev-packages`, and the releases that were locked.

Notation: https://github.com/pypa/pipfile; what pipenv writes into `default` and `develop` of the lock.
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.project.manifests.poetry import address_of
from trl_lint.project.pins import Kind, Manifest, Pin
from trl_lint.sources import Source, SourceFile
from trl_lint.sources.nodes import Entry, Mapping, Node, Scalar, value_of
from trl_lint.sources.requirements import normalised
from trl_lint.sources.trees import read_trees

_TABLES: tuple[tuple[str, Kind, str], ...] = (("packages", "requirement", ""), ("dev-packages", "group", "dev"))
_LOCKED: tuple[tuple[str, Kind], ...] = (("default", "lock"), ("develop", "lock"))


def read(file: SourceFile, kind: str) -> Manifest | None:
    """The pins of a Pipfile, or of its lock. Raises SourceError where it cannot be read."""
    is_lock = kind == "pipfile-lock"
    source = Source(file, "json" if is_lock else "toml")
    roots = read_trees(source)
    root = roots[0] if roots else None
    if not isinstance(root, Mapping):
        return None
    pins = tuple(_locked(source, root) if is_lock else _asked(source, root))
    return Manifest(file.path, kind, pins) if pins else None


def _asked(source: Source, root: Mapping) -> Iterator[Pin]:
    for name, kind, group in _TABLES:
        for entry in _entries(root.get(name)):
            pin = _pin(source, entry, kind, group)
            if pin is not None:
                yield pin


def _locked(source: Source, root: Mapping) -> Iterator[Pin]:
    for name, kind in _LOCKED:
        for entry in _entries(root.get(name)):
            pin = _pin(source, entry, kind, "")
            # An address and a package of the project have no release there.
            if pin is not None and (pin.url or pin.specifier.startswith("==")):
                yield pin


def _entries(node: Node | None) -> tuple[Entry, ...]:
    return tuple(node.entries) if isinstance(node, Mapping) else ()


def _pin(source: Source, entry: Entry, kind: Kind, group: str) -> Pin | None:
    """The pin of one line: `"==1.0"`, `"*"`, or a table with `version` or an address; None where it is neither."""
    table = entry.value if isinstance(entry.value, Mapping) else None
    version = table.get("version") if table is not None else entry.value
    url = address_of(table) if table is not None else ""
    text = version.value if isinstance(version, Scalar) and isinstance(version.value, str) else None
    if text is None and not url:
        return None
    extras = table.get("extras") if table is not None else None
    marker = str(value_of(table.get("markers")) or "") if table is not None else ""
    return Pin(
        package=normalised(str(entry.key.value)),
        specifier="" if url or text in (None, "*") else str(text).replace(" ", ""),
        location=source.location(entry.key.start, entry.value.end if kind != "lock" else entry.key.end),
        kind="url" if url else kind,
        extras=frozenset(normalised(str(value_of(item))) for item in getattr(extras, "items", ())),
        # A lock holds what one machine takes: its markers are those of others.
        marker="" if kind == "lock" else marker,
        text=f"{entry.key.value} {str(text).removeprefix('==')}"
        if kind == "lock"
        else source.text[entry.key.start : entry.value.end],
        group=group,
        url=url,
    )
