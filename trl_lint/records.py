"""`NamedTuple` for a program that is started for every file: the same in use, and a tenth of its cost to define.

`typing.NamedTuple` compiles every annotation and generates a constructor when the class statement runs, 0.1 ms a class.
A run imports a hundred of them and makes objects of a third. Here a class gets a constructor, that of
`collections.namedtuple`, when an object is first made with names or defaults.

Type checkers see `typing.NamedTuple`.
"""

from __future__ import annotations

from collections import namedtuple
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    try:
        from _collections import _tuplegetter as _field
    except ImportError:  # an interpreter other than CPython

        def _field(index: int, doc: None) -> property:
            return property(itemgetter(index))

    class _Record(tuple):
        __slots__ = ()

        def __new__(cls, /, *values: Any, **named: Any) -> Any:
            if not named and len(values) == len(cls._fields):
                return tuple.__new__(cls, values)
            # With names or defaults it is worth a constructor of its own, which the class has from now on.
            made = namedtuple(cls.__name__, cls._fields, defaults=cls._field_defaults.values()).__new__
            cls.__new__ = staticmethod(made)
            return made(cls, *values, **named)

        def __repr__(self) -> str:
            shown = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({shown})"

        def __getnewargs__(self) -> tuple[Any, ...]:  # copies and pickles are made through the constructor
            return tuple(self)

        def _replace(self, /, **changes: Any) -> Any:
            """The same record with other values in some fields."""
            made = tuple.__new__(type(self), map(changes.pop, self._fields, self))
            if changes:
                raise TypeError(f"{type(self).__name__} has no field {', '.join(map(repr, changes))}")
            return made

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

    class _RecordType(type):
        def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(mcs, name, bases, namespace)
            # Like `typing.NamedTuple`, this one is no base of the class: what is made is a plain subclass of tuple.
            fields = tuple(namespace["__annotations__"])
            defaults = {field: namespace[field] for field in fields if field in namespace}
            getters = {field: _field(index, None) for index, field in enumerate(fields)}
            made = {"__slots__": (), "__match_args__": fields, "_fields": fields, "_field_defaults": defaults}
            return type(name, (_Record,), {**namespace, **getters, **made})

    class NamedTuple(metaclass=_RecordType):
        """The base of a record whose fields are the annotations of its class, in modules with `annotations` as text."""
