"""Well-known datasets on the hub and their columns: `rules/models/datasets.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

from trl_lint.knowledge.rows import read_rows
from trl_lint.records import NamedTuple

Kind = Literal["text", "messages", "from/value", "list", "number", "truth", "image", "images", "other"]


class HubDataset(NamedTuple):
    """One dataset; the fields are explained in the table."""

    ids: tuple[str, ...]
    columns: Mapping[str, Kind]
    source: str
    config: str = ""
    complete: bool = False


class _Table(NamedTuple):
    dataset: tuple[HubDataset, ...]


def hub_dataset(identifier: str, config: str = "") -> HubDataset | None:
    """The row of a dataset by its id on the hub, and the name of a configuration; None where there is none.

    Raises KnowledgeError if the table is malformed.
    """
    rows = _rows()
    return rows.get((identifier, config)) or rows.get((identifier, ""))


@cache
def _rows() -> dict[tuple[str, str], HubDataset]:
    table = read_rows("models/datasets.toml", _Table)
    return {(name, row.config): row for row in table.dataset for name in row.ids}
