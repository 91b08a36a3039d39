"""Objects that are no plain values, as conditions of releases ask about them: of which classes they are.

A model, a tokenizer or a data set is never None and equals nothing that is known. Two of them are the same object only
where they are the same `Thing`; two `Thing`s may still be one.
"""

from __future__ import annotations

from collections.abc import Callable

_PLAIN_TYPES = frozenset({"str", "int", "float", "bool", "list", "dict", "tuple", "set", "Mapping"})


class Thing:
    """An object. `kinds`: names of classes that it is certainly an instance of; `is_whole`: of no others that a library
    has a name for. `is_true`: whether it counts as true, None if that is not known. `keys`: of a data set, what is
    known of its columns.
    """

    __slots__ = ("is_true", "is_whole", "keys", "kinds")

    def __init__(
        self,
        kinds: frozenset[str],
        is_whole: bool = False,
        is_true: bool | None = None,
        keys: Callable[[], Keys] | None = None,
    ) -> None:
        self.kinds = kinds
        self.is_whole = is_whole
        self.is_true = is_true
        self.keys = keys

    def attribute(self, name: str) -> Thing | None:
        """What an attribute is: of a data set its first row and the names of its columns; None if that is not known."""
        return self.keys() if self.keys is not None and name in ("first_row", "column_names") else None

    def is_instance(self, names: list[str]) -> bool | None:
        """Whether it is an instance of one of the classes; None if that is not known."""
        if self.kinds & set(names) or "object" in names:
            return True
        return False if self.is_whole or _PLAIN_TYPES.issuperset(names) else None

    def or_else(self, other: Thing) -> Thing:
        """What is certain of an object that is one of two."""
        if other is self:
            return self
        both = self.is_whole and other.is_whole and self.kinds == other.kinds
        return Thing(self.kinds & other.kinds, both, self.is_true if self.is_true is other.is_true else None)


class Keys(Thing):
    """The names in a row or a list. `has` tells of a name whether it is there, None if that is not known."""

    __slots__ = ("has",)

    def __init__(self, has: Callable[[str], bool | None]) -> None:
        super().__init__(frozenset())
        self.has = has


def are_told_apart(left: object, right: object) -> bool:
    """Whether it is known if two values are one object: texts, numbers and two objects may be, or be equal only."""
    if isinstance(left, Thing) and isinstance(right, Thing):
        return left is right
    return (
        left is None or right is None or isinstance(right, bool) or isinstance(left, Thing) or isinstance(right, Thing)
    )


def is_thing(value: object) -> bool:
    """Whether a value is an object, or a list or dict that holds one."""
    if isinstance(value, (list, tuple, set)):
        return any(map(is_thing, value))
    return isinstance(value, Thing) or (isinstance(value, dict) and any(map(is_thing, value.values())))
