"""Regular expressions that are compiled when they are first used.

A run imports some hundred of them at 0.1 to 0.5 ms each, and uses a few.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` gives, for a constant of a module. An error in `text` shows at first use: tests compile all."""
    return _Regex(text, flags)  # type: ignore[return-value]


class _Regex:
    """Stands for a compiled pattern, and has each attribute of it from the time when that is first asked for."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._given: tuple[Any, int] = (text, flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._given), name)  # which `re` keeps
        setattr(self, name, value)
        return value

    def __repr__(self) -> str:
        return f"regex{self._given!r}"
