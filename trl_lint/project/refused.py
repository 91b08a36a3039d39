"""What becomes of a file that somebody names and in which no reader finds anything of ours: it is read, or a note says
why nothing of it was checked.
"""

from __future__ import annotations

from trl_lint.project import Project, is_larger
from trl_lint.sources import Source, SourceError
from trl_lint.sources.text import MAX_BYTES

_UNREAD = "not checked: it cannot be read:"


def refusal(path: str, project: Project, as_config: bool) -> SourceError | str:
    """What is wrong with a YAML, JSON or TOML file: an error, words for a note, or "" if nothing is.

    `as_config`: a command gives it to a program; else a person names it, and it may be anything, data with several
    values or JSON with comments among them. Raises OSError.
    """
    if path.endswith(".toml"):
        return "" if as_config else _toml(path, project)
    try:
        document = project.recipe_in(path)
    except SourceError as error:
        if as_config or not path.endswith(".json"):
            return error
        return "" if _is_other_json(path, project) else f"{_UNREAD} {error.message}"
    if document is not None or not as_config:
        return ""
    is_data = is_larger(path, MAX_BYTES)
    return f"not checked: it {'is too large for a config' if is_data else 'holds no keys with values'}"


def _toml(path: str, project: Project) -> str:
    from trl_lint.sources.toml import read_toml

    try:
        read_toml(Source(project.files.get(path), "toml"))
    except SourceError as error:
        return f"{_UNREAD} {error.message}"
    return ""


def _is_other_json(path: str, project: Project) -> bool:
    """Whether a file is JSON with comments, or holds several values, one after the other."""
    from trl_lint.sources.json import read_json_text, read_value, without_comments

    try:
        text = without_comments(project.files.get(path).text)
        try:
            read_json_text(text)
        except SourceError as error:
            if error.message != "not JSON: extra data":
                return False
            read_value(text, error.offset)
    except SourceError:
        return False
    return True
