"""What conditions come to in worlds that differ little: one run with release after release, or runs that are alike.

Of a hundred releases most say the same, and have the same defaults; the scripts of a project give the same arguments.
So what was read to answer a condition is kept with the answer, and it is evaluated anew only where something of that is
different.
"""

from __future__ import annotations

from collections.abc import Callable

from trl_lint.knowledge.condition_language import Mark, World, truth_of, value_of

_Read = tuple[str, tuple[object, ...], object]  # a method of a world, its arguments, and what it answered
_Known = list[tuple[list[_Read], object]]

_PLAIN = (str, int, float, bool, type(None), Mark)
_MOST_ANSWERS = 8  # of one condition that are compared before it is evaluated


class Answers:
    """Truths and values of conditions that were worked out before. They are those of `truth_of` and `value_of`.

    `common` are shared with other runs: they get the answers that rest on plain values alone. An object, or a list,
    belongs to one run, and must not outlive it.
    """

    def __init__(self, common: Answers | None = None) -> None:
        self._truths: dict[str, _Known] = {}
        self._values: dict[str, _Known] = {}
        self._common = common  # not itself, which would keep it in memory for good

    def truth(self, text: str, world: World) -> object:
        """True, False, UNKNOWN or CRASH."""
        common = self._common or self
        return _answer(self._truths, common._truths, text, world, truth_of)

    def value(self, text: str, world: World) -> object:
        """A plain value, UNKNOWN or CRASH."""
        common = self._common or self
        return _answer(self._values, common._values, text, world, value_of)


def _answer(
    own: dict[str, _Known],
    common: dict[str, _Known],
    text: str,
    world: World,
    evaluate: Callable[[str, World], object],
) -> object:
    for known in (common, own) if own is not common else (own,):
        for reads, answer in reversed(known.get(text, ())):
            for how, arguments, read in reads:
                if not _is_same(getattr(world, how)(*arguments), read):
                    break
            else:
                return answer
    recording = _Recording(world)
    found = evaluate(text, recording)
    answers = (common if _is_plain(found) and all(map(_is_plain_read, recording.reads)) else own).setdefault(text, [])
    if len(answers) == _MOST_ANSWERS:
        del answers[0]
    answers.append((recording.reads, found))
    return found


def _is_plain(value: object) -> bool:
    return isinstance(value, _PLAIN)


def _is_plain_read(read: _Read) -> bool:
    _, arguments, found = read
    return _is_plain(found) and all(
        all(map(_is_plain, each)) if isinstance(each, tuple) else _is_plain(each) for each in arguments
    )


def _is_same(one: object, other: object) -> bool:
    """Whether two values are as good as one; of lists and the like only one and the same, as `[1] == [True]`."""
    return one is other or (type(one) is type(other) and isinstance(one, _PLAIN) and one == other)


class _Recording:
    """A world, and what is read of it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.reads: list[_Read] = []

    def field(self, name: str) -> object:
        return self._read("field", (name,), self._world.field(name))

    def base(self, name: str) -> object:
        return self._read("base", (name,), self._world.base(name))

    def arg(self, name: str) -> object:
        return self._read("arg", (name,), self._world.arg(name))

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        return self._read("fact", (name, arguments), self._world.fact(name, arguments))

    def _read(self, how: str, arguments: tuple[object, ...], found: object) -> object:
        self.reads.append((how, arguments, found))
        return found
