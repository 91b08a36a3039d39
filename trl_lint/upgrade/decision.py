"""What an upgrade leaves to a person."""

from __future__ import annotations

from typing import Literal

from trl_lint.finding import Location
from trl_lint.records import NamedTuple

# "code": what the new release does not take; "behaviour": a default that is another one now; "pin" and "lock": what
# says which releases are installed.
Kind = Literal["code", "behaviour", "pin", "lock"]
KINDS: tuple[Kind, ...] = ("code", "behaviour", "pin", "lock")


class Decision(NamedTuple):
    """One thing to do by hand: what, at which places, and the finding behind it, if it is one.

    `code`: its rule, "" where it comes from none. `package`: whose release notes tell more, "" where none do.
    `is_unsafe`: there is a rewriting, which may change behaviour.
    """

    kind: Kind
    text: str
    places: tuple[Location, ...]
    code: str = ""
    package: str = ""
    is_unsafe: bool = False
