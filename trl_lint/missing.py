"""Why there is no value: one pair of words for arguments, settings, and names of the recorded releases."""

from __future__ import annotations

import enum
from typing import Final


class Missing(enum.Enum):
    """ABSENT: it is certain that there is none. UNKNOWN: nobody can tell. Both are false."""

    ABSENT = "absent"
    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return self.name

    def __bool__(self) -> bool:
        return False


ABSENT: Final = Missing.ABSENT
UNKNOWN: Final = Missing.UNKNOWN
