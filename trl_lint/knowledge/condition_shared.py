"""Parts that many lines of `rules/conditions` share, put back in their place (`refresher.conditions_shared`)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from trl_lint.regexes import regex

_NAME = regex(r"\$(?:\$|[0-9a-z]{4})")


def expanded(text: str, parts: Mapping[str, str]) -> str:
    """A text with what its names stand for; `$$` is a dollar sign. Raises KeyError for a name that is none."""

    def fill(match: re.Match[str]) -> str:
        return "$" if match[0] == "$$" else expanded(parts[match[0]], parts)

    return _NAME.sub(fill, text) if "$" in text else text
