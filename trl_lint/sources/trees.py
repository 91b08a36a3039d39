"""The readers of YAML, JSON, TOML and INI behind one name, for whoever works on the tree they share."""

from __future__ import annotations

from trl_lint.sources import Source
from trl_lint.sources.nodes import Node


def read_trees(source: Source) -> list[Node]:
    """The documents of a source, by its language ("yaml", "json", "toml", "ini"). Raises SourceError."""
    if source.language == "yaml":
        from trl_lint.sources.yaml import read_yaml

        return read_yaml(source)
    if source.language == "json":
        from trl_lint.sources.json import read_json

        return [read_json(source)]
    if source.language == "ini":
        from trl_lint.sources.ini import read_ini

        return [read_ini(source)]
    from trl_lint.sources.toml import read_toml

    return [read_toml(source)]
