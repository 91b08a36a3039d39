"""Conditions on the values of a run, each true, false or unknown, as `rules/semantics/contradictions.toml` has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trl_lint.knowledge.contradictions import Condition, Literal
from trl_lint.missing import UNKNOWN, Missing
from trl_lint.run.effective import Setting

Read = Callable[[str], "Setting | Missing"]

_NOTHING = ("None", "null")


def all_hold(conditions: Iterable[Condition], read: Read) -> bool | None:
    """Whether every condition is true; None where one is not known and none is false."""
    verdict: bool | None = True
    for condition in conditions:
        found = is_met(condition, read)
        if found is False:
            return False
        verdict = None if found is None else verdict
    return verdict


def is_met(condition: Condition, read: Read) -> bool | None:
    """Whether a condition is true of what `read` says about its fields; None if that is not known."""
    said = read(condition.field)
    if said is UNKNOWN or (isinstance(said, Setting) and not said.is_known):
        return None
    setting = said if isinstance(said, Setting) else Setting(None, "default", None)
    return _OPERATORS[condition.operator](setting, condition, read)


def _is_null(setting: Setting) -> bool:
    return setting.value is None or setting.value in _NOTHING


def _is(setting: Setting, condition: Condition, read: Read) -> bool | None:
    operand = condition.operand
    answers = [_equals(setting, each) for each in (operand if isinstance(operand, tuple) else (operand,))]
    return True if True in answers else None if None in answers else False


def _is_not(setting: Setting, condition: Condition, read: Read) -> bool | None:
    found = _is(setting, condition, read)
    return None if found is None or _is_null(setting) else not found


def _equals(setting: Setting, wanted: Literal) -> bool | None:
    if _is_null(setting):
        return False
    if isinstance(wanted, bool):
        return None if setting.truth is None else setting.truth is wanted
    if isinstance(wanted, str):
        return setting.value == wanted if isinstance(setting.value, str) else None
    return None if setting.number is None else setting.number == wanted


def _null(setting: Setting, condition: Condition, read: Read) -> bool | None:
    return _is_null(setting) is condition.operand


def _above(setting: Setting, condition: Condition, read: Read) -> bool | None:
    return _compare(setting, condition, lambda ours, theirs: ours > theirs)


def _below(setting: Setting, condition: Condition, read: Read) -> bool | None:
    return _compare(setting, condition, lambda ours, theirs: ours < theirs)


def _compare(setting: Setting, condition: Condition, test: Callable[[float, float], bool]) -> bool | None:
    if _is_null(setting):
        return False
    limit = condition.operand
    if setting.number is None or not isinstance(limit, (int, float)):
        return None
    return test(setting.number, limit)


def _written(setting: Setting, condition: Condition, read: Read) -> bool | None:
    return (setting.origin != "default") is condition.operand


def _other(condition: Condition, read: Read) -> Setting | None:
    """The field that a condition compares with, None if its value is not known or None."""
    other = read(str(condition.operand))
    return other if isinstance(other, Setting) and other.is_known and not _is_null(other) else None


def _same_as(setting: Setting, condition: Condition, read: Read) -> bool | None:
    other = _other(condition, read)
    if other is None or not isinstance(setting.value, str) or not isinstance(other.value, str):
        return None
    return setting.value == other.value


def _differs_from(setting: Setting, condition: Condition, read: Read) -> bool | None:
    same = _same_as(setting, condition, read)
    return None if same is None else not same


def _not_below(setting: Setting, condition: Condition, read: Read) -> bool | None:
    other = _other(condition, read)
    if other is None or setting.number is None or other.number is None:
        return None
    return setting.number >= other.number


def _no_multiple_of(setting: Setting, condition: Condition, read: Read) -> bool | None:
    other = _other(condition, read)
    if other is None or (ours := setting.integer) is None or (theirs := other.integer) is None:
        return None
    return ours % theirs != 0 if ours > 0 and theirs > 0 else None


_OPERATORS: dict[str, Callable[[Setting, Condition, Read], bool | None]] = {
    "is": _is,
    "is_not": _is_not,
    "null": _null,
    "above": _above,
    "below": _below,
    "same_as": _same_as,
    "differs_from": _differs_from,
    "not_below": _not_below,
    "no_multiple_of": _no_multiple_of,
    "written": _written,
}
