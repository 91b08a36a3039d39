"""Whether matching a regular expression can take more than linear time, told from the expression alone.

Matching goes back over what it has read where two ways through an expression read the same text: twice around one loop
(exponential), or around one loop and then around another (polynomial). A search is a loop before the expression, since
it begins anew at every place: `a+b` searched in `aaaa…` is quadratic. Both are found in the product of the automaton
with itself (Weber and Seidl 1991; Weideman et al. 2016), with these readings:

* A state knows the character before it, so that `^`, `$`, `\\b` and looks at one character are exact. A longer look may
  hold or not, and a reference to a group is whatever the group may be.
* A loop is harmless if the expression may end wherever the loop does: what it reads is taken, and not read again.
* More than twelve repetitions count as any number, but a loop with an end multiplies the work only by its number: one
  is harmless up to `BOUNDED`, two up to the product `_BOUNDED_BOTH`.

`regexploit` (1.0.0, the last release, 2021) was tried first. It looks for repetitions beside each other, and knows no
search: it finds nothing in `a+b`, and stands on a module that Python is removing. So the analysis is our own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from pattern_automaton import BOUNDED, MOST_STATES, Alphabet, Automaton, TooComplexError, is_word

_BOUNDED_BOTH = 25_000
_MOST_PAIRS = 400_000

State = tuple[int, int]  # a node of the automaton, and the class of the character before
ANYWHERE = -1  # the loop before an expression that is searched


class Danger(NamedTuple):
    """A text on which matching goes back: `prefix`, any number of `pump`, and an end that does not fit."""

    kind: str
    prefix: str
    pump: str


def danger_in(pattern: str | bytes, flags: int, use: str) -> Danger | None:
    """The first danger; `use` is "match", "fullmatch", "search" (the first place) or "all" (every place).

    Raises TooComplexError.
    """
    return _Analysis(pattern, flags, use).danger()


def loops_in(pattern: str | bytes, flags: int, use: str) -> list[Danger]:
    """A text for each loop, dangerous or not."""
    analysis = _Analysis(pattern, flags, use)
    found = []
    for part in analysis.parts():
        if ANYWHERE in {node for node, _ in part}:
            continue
        state = min(part)
        pump = analysis.word_between(state, state, part)
        found.append(Danger("loop", analysis.prefix_to(state), pump))
    return found


class _Analysis:
    def __init__(self, pattern: str | bytes, flags: int, use: str) -> None:
        self.use = use
        self.automaton = Automaton(pattern, flags, use)
        self.alphabet = Alphabet(self.automaton.tests, self.automaton.marks, isinstance(pattern, bytes)).characters
        self._closures: dict[tuple[int, int, int], dict[int, tuple[int, bool]]] = {}
        self._next: dict[State, dict[int, dict[State, int]]] = {}
        first = ANYWHERE if use in ("search", "all") else self.automaton.start
        self.first: State = (first, -1)
        self.came: dict[State, tuple[State, int]] = {}
        self.states = self._reachable()

    def _character(self, index: int) -> str | None:
        return self.alphabet[index] if 0 <= index < len(self.alphabet) else None

    def _closure(self, node: int, before: int, behind: int) -> dict[int, tuple[int, bool]]:
        """The nodes that are reached between two characters: in how many ways, and whether one of them is sure."""
        key = (node, before, behind)
        found = self._closures.get(key)
        if found is None:
            found = self._closures[key] = {}
            self._walk(node, self._character(before), self._character(behind), True, (), found, [3000])
        return found

    def _walk(
        self,
        node: int,
        before: str | None,
        behind: str | None,
        is_sure: bool,
        path: tuple[int, ...],
        found: dict[int, tuple[int, bool]],
        left: list[int],
    ) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise TooComplexError
        count, was_sure = found.get(node, (0, False))
        found[node] = count + 1, was_sure or is_sure
        for step in self.automaton.steps[node]:
            if step.target in path:
                continue
            if step.before is not None and not step.before(before):
                continue
            if step.behind is not None and not step.behind(behind):
                continue
            if step.boundary is not None and (is_word(before) != is_word(behind)) is not step.boundary:
                continue
            self._walk(step.target, before, behind, is_sure and not step.is_open, (*path, node), found, left)

    def next(self, state: State) -> dict[int, dict[State, int]]:
        """By the next character, the states that it leads to, and in how many ways."""
        known = self._next.get(state)
        if known is None:
            known = self._next[state] = {}
            node, before = state
            for index, character in enumerate(self.alphabet):
                targets: dict[State, int] = {}
                if node == ANYWHERE:
                    targets[ANYWHERE, index] = 1
                begin = self.automaton.start if node == ANYWHERE else node
                for reader, (count, _) in self._closure(begin, before, index).items():
                    for test, target in self.automaton.reads[reader]:
                        if test(character):
                            targets[target, index] = targets.get((target, index), 0) + count
                if targets:
                    known[index] = targets
        return known

    def _reachable(self) -> list[State]:
        order, seen = [self.first], {self.first}
        for state in order:
            for index, targets in self.next(state).items():
                for target in targets:
                    if target not in seen:
                        seen.add(target)
                        self.came[target] = state, index
                        order.append(target)
                        if len(order) > MOST_STATES:
                            raise TooComplexError
        return order

    def prefix_to(self, state: State) -> str:
        found = []
        while state in self.came:
            state, index = self.came[state]
            found.append(self.alphabet[index])
        return "".join(reversed(found))

    def parts(self) -> list[set[State]]:
        """The loops: sets of states that reach each other."""
        edges = {state: {t for targets in self.next(state).values() for t in targets} for state in self.states}
        return [part for part in _components(edges) if len(part) > 1 or any(s in edges[s] for s in part)]

    def word_between(self, source: State, target: State, inside: set[State]) -> str:
        """A shortest text, not empty, that leads from one state of a loop to another."""
        came: dict[State, tuple[State, int]] = {}
        queue = deque([source])
        while queue:
            state = queue.popleft()
            for index, targets in self.next(state).items():
                for one in targets:
                    if one in inside and one not in came:
                        came[one] = state, index
                        queue.append(one)
                        if one == target:
                            return self._read_back(came, source, target)
        raise TooComplexError

    def _read_back(self, came: dict[Any, tuple[Any, int]], source: Any, target: Any) -> str:
        found = []
        state = target
        while True:
            state, index = came[state]
            found.append(self.alphabet[index])
            if state == source:
                return "".join(reversed(found))

    def danger(self) -> Danger | None:
        parts = self.parts()
        return next(self._dangers(parts), None)

    def _reached_from(self, part: set[State]) -> set[State]:
        seen, waiting = set(part), list(part)
        while waiting:
            for targets in self.next(waiting.pop()).values():
                for target in targets:
                    if target not in seen:
                        seen.add(target)
                        waiting.append(target)
        return seen

    def _dangers(self, parts: list[set[State]]) -> Iterator[Danger]:
        for part in parts:
            if all(node != ANYWHERE for node, _ in part) and not all(self._is_taken(state, part) for state in part):
                yield from self._twice_around(part)
        for part in parts:
            reached = self._reached_from(part)
            for other in parts:
                if not reached.issuperset(other):
                    continue
                ends = [self._end_of(one) for one in (part, other)]
                if any(ends) and (not all(ends) or ends[0] * ends[1] <= _BOUNDED_BOTH):
                    continue
                if part is not other and all(node != ANYWHERE for node, _ in other):
                    yield from self._around_both(part, other)

    def _end_of(self, part: set[State]) -> int:
        """How often one goes around a loop at most, 0 for any number."""
        ends = [self.automaton.bounded[node] if node != ANYWHERE else 0 for node, _ in part]
        return 0 if 0 in ends or max(ends) > BOUNDED else max(ends)

    def _twice_around(self, part: set[State]) -> Iterator[Danger]:
        """Two ways around one loop with the same text."""
        for state in sorted(part):
            for index, targets in self.next(state).items():
                for target, count in targets.items():
                    if target in part and count > 1:
                        back = "" if target == state else self.word_between(target, state, part)
                        yield Danger("exponential", self.prefix_to(state), self.alphabet[index] + back)
                        return
        if len(part) ** 2 > _MOST_PAIRS:
            raise TooComplexError
        edges: dict[tuple[State, State], set[tuple[State, State]]] = {}
        queue = [(state, state) for state in part]
        for pair in queue:
            if pair in edges:
                continue
            edges[pair] = set()
            one, other = self.next(pair[0]), self.next(pair[1])
            for index in one.keys() & other.keys():
                for a in one[index]:
                    for b in other[index]:
                        if a in part and b in part:
                            edges[pair].add((a, b))
                            queue.append((a, b))
            if len(edges) > _MOST_PAIRS:
                raise TooComplexError
        for component in _components(edges):
            same = [pair for pair in component if pair[0] == pair[1]]
            if same and len(same) < len(component):
                state = min(same)[0]
                pump = self._pump_through((state, state), component)
                yield Danger("exponential", self.prefix_to(state), pump)
                return

    def _pump_through(self, pair: tuple[State, State], component: set[tuple[State, State]]) -> str:
        """A text around a loop of pairs, through two states that differ."""
        came: dict[Any, tuple[Any, int]] = {}
        queue = deque([(pair, False)])
        while queue:
            here = queue.popleft()
            (first, second), split = here
            one, other = self.next(first), self.next(second)
            for index in one.keys() & other.keys():
                for a in one[index]:
                    for b in other[index]:
                        there = ((a, b), split or a != b)
                        if (a, b) in component and there not in came:
                            came[there] = here, index
                            queue.append(there)
                            if there == (pair, True):
                                return self._read_back(came, (pair, False), there)
        raise TooComplexError

    def _around_both(self, first: set[State], second: set[State]) -> Iterator[Danger]:
        """A text that leads around one loop, from it to another, and around the other."""
        searched = any(node == ANYWHERE for node, _ in first)
        steps = 0
        for q in sorted(second):
            if self._is_taken(q, second):
                continue
            for p in [state for state in sorted(first) if state[1] == q[1]]:
                # The places of three readers of one text: around the first loop, on the way, around the second.
                begin = (p, p, q)
                came: dict[Any, tuple[Any, int]] = {}
                queue = deque([begin])
                while queue:
                    here = queue.popleft()
                    steps += 1
                    if steps > _MOST_PAIRS:
                        raise TooComplexError
                    nexts = [self.next(state) for state in here]
                    for index in nexts[0].keys() & nexts[1].keys() & nexts[2].keys():
                        ones = [(ANYWHERE, index)] if searched else [s for s in nexts[0][index] if s in first]
                        for a in ones:
                            for b in nexts[1][index]:
                                for c in nexts[2][index]:
                                    there = (a, b, c)
                                    if c in second and there not in came:
                                        came[there] = here, index
                                        queue.append(there)
                                        if there == (p, q, q):
                                            pump = self._read_back(came, begin, there)
                                            found = Danger("polynomial", self.prefix_to(p), pump)
                                            if not self._is_found_early(found):
                                                yield found
                                                return
                if searched:
                    break  # the loop before a search is the same from everywhere

    def _is_taken(self, state: State, part: set[State]) -> bool:
        """Whether the expression ends wherever the text leaves a loop, so that nothing is read again."""
        going_on = {index for index, targets in self.next(state).items() if any(t in part for t in targets)}
        ends = [index for index in range(-1, len(self.alphabet)) if index not in going_on]
        return all(self._is_end(state, index) for index in ends)

    def _is_end(self, state: State, behind: int) -> bool:
        """Whether the expression ends at a state, or with the character behind it."""
        if self._ends_at(state, behind):
            return True
        for reader, (_, is_sure) in self._closure(state[0], state[1], behind).items():
            for test, target in self.automaton.reads[reader] if is_sure and behind >= 0 else ():
                if test(self.alphabet[behind]) and self._ends_before_all((target, behind)):
                    return True
        return False

    def _ends_at(self, state: State, behind: int) -> bool:
        return self._closure(state[0], state[1], behind).get(self.automaton.end, (0, False))[1]

    def _ends_before_all(self, state: State) -> bool:
        return all(self._ends_at(state, index) for index in range(-1, len(self.alphabet)))

    def _is_found_early(self, danger: Danger) -> bool:
        """Whether a search for the first place has found one before it gets to the loop."""
        if self.use != "search":
            return False
        index_of = {character: index for index, character in enumerate(self.alphabet)}
        text = [index_of[c] for c in danger.prefix + danger.pump * 3]
        states = {self.first}
        for place, index in enumerate(text):
            states = {t for state in states for t in self.next(state).get(index, ())}
            if place + 1 == len(text):
                break  # what comes behind is not said
            behind = text[place + 1]
            if any(node != ANYWHERE and self._is_end((node, before), behind) for node, before in states):
                return True
        return False


def _components(edges: dict[Any, set[Any]]) -> list[set[Any]]:
    """The strongly connected parts of a graph (Tarjan), without recursion."""
    number: dict[Any, int] = {}
    low: dict[Any, int] = {}
    stack: list[Any] = []
    on_stack: set[Any] = set()
    found: list[set[Any]] = []
    for root in edges:
        if root in number:
            continue
        work = [(root, iter(edges[root]))]
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in edges:
                    continue
                if target not in number:
                    number[target] = low[target] = len(number)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(edges[target])))
                    break
                if target in on_stack:
                    low[node] = min(low[node], number[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    part = set()
                    while True:
                        one = stack.pop()
                        on_stack.discard(one)
                        part.add(one)
                        if one == node:
                            break
                    found.append(part)
    return found
