"""The files of a release as syntax trees: the one place where the refresher parses them. Nothing is run."""

from __future__ import annotations

import ast
import warnings

from trl_lint.knowledge.refresher.index import Members


def parsed(source: bytes) -> ast.Module | None:
    """The tree of a file, None where this Python cannot parse it; what Python would warn about is not said."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


def tree_of(members: Members, path: str) -> ast.Module | None:
    """The tree of a file among those that were read of an archive, None where it is not there or cannot be parsed."""
    return parsed(members[path][1]) if path in members else None
