"""What gradients flow through: the values of the gradient lattice, and their arithmetic.

A value is a linear form over *atoms*, numbers that stand for what some expression evaluates to; `live` is the part of
it that gradients flow through. So `x - x` is zero in both, `x - x.detach()` is zero but live in x, a result of
`no_grad` is live in nothing, and where `live` is None nobody can tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from trl_lint.records import NamedTuple

Form = frozenset[tuple[int, float]]
Kind = Literal["value", "record", "either"]

ZERO: Form = frozenset()
# The atom of the number 1.
ONE = 0
# Alternatives that a value may have after a branch, before it is given up; and terms of a form.
_MOST_OPTIONS = 3
_MOST_TERMS = 24  # of a sum; the form of a longer one is unknown


class Flow(NamedTuple):
    """A value: `form` is what it evaluates to, `live` what its gradient is; `is_inference` if it certainly is an
    inference tensor. A `record` has parts with names or numbers, an `either` is one of its parts.
    """

    kind: Kind = "value"
    form: Form | None = None
    live: Form | None = None
    is_inference: bool = False
    items: tuple[tuple[object, Flow], ...] = ()

    @property
    def options(self) -> tuple[Flow, ...]:
        return tuple(flow for _, flow in self.items) if self.kind == "either" else (self,)

    @property
    def is_null(self) -> bool:
        """Zero whatever the numbers are, with a gradient that is zero as well."""
        return self.form == ZERO and self.live == ZERO


UNKNOWN = Flow()


def number(value: float) -> Flow:
    return Flow(form=frozenset({(ONE, value)}), live=ZERO)


def is_number(flow: Flow) -> bool:
    return flow.form is not None and all(atom == ONE for atom, _ in flow.form) and flow.form != ZERO


def combined(left: Form | None, right: Form | None, factor: float) -> Form | None:
    """left + factor * right"""
    if left is None or right is None or len(left) + len(right) > _MOST_TERMS:
        return None
    terms = dict(left)
    for atom, coefficient in right:
        terms[atom] = terms.get(atom, 0.0) + factor * coefficient
    return frozenset((atom, coefficient) for atom, coefficient in terms.items() if coefficient)


def added(left: Flow, right: Flow, factor: float) -> Flow:
    """left + factor * right; of values that are one of several, the sums are."""
    if left.kind == "either" and right.kind == "either":
        return UNKNOWN  # the same test may have chosen both
    if left.kind == "either" or right.kind == "either":
        return either(added(one, other, factor) for one in left.options for other in right.options)
    if left.kind == "record" or right.kind == "record":
        return UNKNOWN
    return Flow(form=combined(left.form, right.form, factor), live=combined(left.live, right.live, factor))


def scaled(flow: Flow, factor: float) -> Flow:
    return added(Flow(form=ZERO, live=ZERO), flow, factor)


def detached(flow: Flow) -> Flow:
    """The same numbers without a gradient."""
    if flow.kind == "either":
        return either(detached(option) for option in flow.options)
    return flow._replace(live=ZERO, items=()) if flow.kind == "value" else UNKNOWN


def either(flows: Iterable[Flow]) -> Flow:
    options = tuple(dict.fromkeys(option for flow in flows for option in flow.options))
    if len(options) == 1:
        return options[0]
    # With an unknown one nothing is known, and a loop that gives up a name has come to its end.
    if len(options) > _MOST_OPTIONS or any(option.form is None for option in options):
        return UNKNOWN
    return Flow("either", items=tuple((None, option) for option in options))


def record(items: Iterable[tuple[object, Flow]]) -> Flow:
    return Flow("record", items=tuple(items))


def join(left: Flow, right: Flow) -> Flow:
    """What a name holds after two ways of which either may have been taken."""
    if "record" in (left.kind, right.kind):
        if left.kind != right.kind or [key for key, _ in left.items] != [key for key, _ in right.items]:
            return UNKNOWN
        pairs = zip(left.items, right.items, strict=True)
        return record((key, join(one, other)) for (key, one), (_, other) in pairs)
    return either((left, right))


def aged(flow: Flow, first: int) -> Flow:
    """A value of an earlier round of a loop: atoms from `first` on mean something else in the next."""
    if flow.kind != "value":
        return flow._replace(items=tuple((key, aged(item, first)) for key, item in flow.items))
    atoms = [atom for form in (flow.form, flow.live) if form is not None for atom, _ in form]
    return flow._replace(form=None, live=None) if any(atom >= first for atom in atoms) else flow
