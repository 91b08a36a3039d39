"""Where a value lives: the values of the device lattice, how they join, and what a container gives back.

A tensor on the CPU (`cpu`, with its `rank`), one on a stated device (`placed`), an output of a model (`model`), one
that the caller passed (`param`), a tensor of an unknown place (`tensor`), a thing that mixes with every device
(`host`: numbers, strings, sizes), the device of something (`place`), containers of these (`record` with known keys,
`list` without), or unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Literal

from trl_lint.records import NamedTuple

Kind = Literal["cpu", "placed", "model", "param", "tensor", "host", "place", "record", "list", "unknown"]
# Whether a CPU tensor has dimensions, and whether certainly two: one that has none meets every device in arithmetic.
Rank = Literal["many", "some", "none", "unsure"]

_MOST_MEMBERS = 8  # that differ; a list with more is unknown
TENSORS: frozenset[Kind] = frozenset({"placed", "model", "param", "tensor"})
# From the best evidence that a tensor is not on the CPU to none.
_EVIDENCE: tuple[Kind, ...] = ("placed", "model", "param", "tensor")
CONTAINERS: frozenset[Kind] = frozenset({"record", "list"})


class Value(NamedTuple):
    """`anchor` is the tensor (as written) a size or a factory took its size from; `device` a device expression.

    `factory` is the call that made a CPU tensor, `known` the names bound when it ran (none are, once the tensor has
    left its function), `remedy` the device it should have been given, if that is certain where it is made. `items` are
    the members of a container, with the key None where it is not known. A CPU tensor without a factory was put there on
    purpose; one that `is_partial` is there on one of several ways (what it is on another is in `items`); one that
    `is_doubtful` was made of data nobody knows, which, if it was a tensor, kept its device; one that `is_state` was
    left in `self` by `__init__`. A `placed` one with a factory was moved from the CPU, and one that `is_relative` is
    where another tensor is (`device=x.device`).
    """

    kind: Kind
    anchor: str = ""
    device: str = ""
    factory: ast.Call | None = None
    known: frozenset[str] = frozenset()
    remedy: str = ""
    rank: Rank = "some"
    is_doubtful: bool = False
    is_partial: bool = False
    is_state: bool = False
    is_relative: bool = False
    items: tuple[tuple[object, Value], ...] = ()

    @property
    def has_rank(self) -> bool:
        return self.rank in ("some", "many")

    @property
    def members(self) -> tuple[Value, ...]:
        return tuple(value for _, value in self.items)


UNKNOWN = Value("unknown")
HOST = Value("host")
NONE = Value("host", device="None")
MODEL = Value("model")
TENSOR = Value("tensor")
ON_CPU = Value("cpu", rank="unsure")
# What a tokenizer gives: fields, by names or by keys, that are all on the CPU.
BATCH = Value("list", items=((None, ON_CPU),))


def join(left: Value, right: Value) -> Value:
    """What holds for both."""
    if left == right:
        return left
    if left.kind == right.kind:
        if left.kind == "record":
            return _join_records(left, right)
        if left.kind == "place":
            return UNKNOWN
        if left.kind == "list":
            return _join_lists(left.members, right.members)
        if left.kind == "cpu" and left.factory is not right.factory:
            return left._replace(factory=None, rank="unsure")  # which of the two it is decides what to say
        return left._replace(
            anchor=left.anchor if left.anchor == right.anchor else "",
            device=left.device if left.device == right.device else "",
            rank=_common_rank(left.rank, right.rank),
        )
    if {left.kind, right.kind} == CONTAINERS:
        return _join_lists(left.members, right.members)
    if {left.kind, right.kind} <= TENSORS:
        return max(left, right, key=lambda value: _EVIDENCE.index(value.kind))
    return UNKNOWN


def _common_rank(left: Rank, right: Rank) -> Rank:
    if left == right:
        return left
    return "some" if {left, right} == {"some", "many"} else "unsure"


def merge(left: Value, right: Value) -> Value:
    """What a name holds after two ways through a function of which either may have been taken.

    A tensor that is on the CPU on one of them stays one. Where the other way moved that same tensor, a test about the
    device may have chosen, and nothing is known.
    """
    for stray, other in ((left, right), (right, left)):
        if other == NONE and (stray.kind in TENSORS or stray.kind in CONTAINERS or stray.kind == "cpu"):
            return stray._replace(known=frozenset(), is_partial=stray.kind == "cpu")  # None takes part in no operation
        if stray.kind == "cpu" and stray.factory is not None and other.kind in TENSORS:
            is_other = other.factory is None and not stray.is_doubtful
            way = ((None, other._replace(items=())),)
            return stray._replace(known=frozenset(), is_partial=True, items=way) if is_other else UNKNOWN
    return join(left, right)


def _join_records(left: Value, right: Value) -> Value:
    keys = [[key for key, _ in value.items] for value in (left, right)]
    if keys[0] != keys[1]:
        is_list = all(isinstance(key, int) for key in keys[0] + keys[1])
        return _join_lists(left.members, right.members) if is_list else UNKNOWN
    pairs = zip(left.items, right.items, strict=True)
    return record((key, join(one, other)) for (key, one), (_, other) in pairs)


def _join_lists(left: tuple[Value, ...], right: tuple[Value, ...]) -> Value:
    """A loop that appends makes the longer one of the shorter. Two different lists are of different branches."""
    longer, shorter = (left, right) if len(left) >= len(right) else (right, left)
    return listed(longer) if set(shorter) <= set(longer) else UNKNOWN


def place_of(value: Value, device: str) -> Value:
    """`value.device`, written as `device`."""
    return Value("place", device=device, items=((None, value),))


def strongest(values: Sequence[Value]) -> Value:
    """Of tensors that must share a place, the one about which most is known."""
    return min(values, key=lambda value: _EVIDENCE.index(value.kind))


def is_surely_on_cpu(value: Value) -> bool:
    """Whether a tensor is on the CPU on every way, or all the tensors of a container are."""
    if value.kind in CONTAINERS:
        return bool(value.items) and all(map(is_surely_on_cpu, value.members))
    return value.kind == "cpu" and not value.is_partial and not value.is_doubtful


def joined(values: Iterable[Value]) -> Value:
    found = list(values)
    result = found[0] if found else UNKNOWN
    for value in found[1:]:
        result = join(result, value)
    return result


def record(items: Iterable[tuple[object, Value]]) -> Value:
    """A tuple, a dict with literal keys, a dataclass: parts with a name or a number each."""
    return Value("record", items=tuple(items))


def iterated(value: Value) -> Value:
    """What a loop over a value goes through, item by item where they are known."""
    return record(enumerate(value.members)) if value.kind == "record" else listed(value.members)


def listed(values: Iterable[Value]) -> Value:
    """A list of these, in any number and order."""
    distinct = tuple(dict.fromkeys(values))
    if len(distinct) > _MOST_MEMBERS:
        return UNKNOWN
    return Value("list", items=tuple((None, value) for value in distinct))


def part(value: Value, key: object) -> Value:
    """`value[key]` for a key that is a literal; the tensors, and unknown, need other rules."""
    if value.kind == "record":
        if isinstance(key, int) and not isinstance(key, bool) and key < 0:
            key += len(value.items)
        return next((item for name, item in value.items if name == key), UNKNOWN)
    return element(value)


def with_part(value: Value, key: object, item: Value) -> Value:
    """A record after `value[key] = item`."""
    if any(name == key for name, _ in value.items):
        return record((name, item if name == key else known) for name, known in value.items)
    return record([*value.items, (key, item)])


def element(value: Value) -> Value:
    """One item of an iterable."""
    if value.kind in CONTAINERS:
        return joined(value.members)
    return value if value.kind in ("model", "placed", "tensor", "host") else UNKNOWN


def abroad(value: Value) -> Value:
    """A value as another function sees it: the names it speaks of are not bound there."""
    if value.kind in CONTAINERS or value.kind == "place":
        items = tuple((key, abroad(item)) for key, item in value.items)
        return value._replace(items=items, device="")
    if value.kind == "cpu":
        return value._replace(known=frozenset(), items=tuple((key, abroad(item)) for key, item in value.items))
    return value._replace(anchor="", device="")
