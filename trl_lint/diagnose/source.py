"""Why a line raised: the tests that stand above it in the file that the traceback names.

Only a file that lies on this machine and has the quoted statement at that line, in that function, is asked; its text is
read, and nothing is imported or run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress

from trl_lint import tracked
from trl_lint.diagnose.failures import Failure, Frame
from trl_lint.records import NamedTuple

_MOST_TESTS, _MOST_VALUES, _LONGEST = 3, 8, 200
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


class _Place(NamedTuple):
    """A statement, and what it stands in, innermost last."""

    statement: ast.stmt
    around: tuple[ast.AST, ...]

    @property
    def function(self) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        return next((one for one in reversed(self.around) if isinstance(one, _Function)), None)


def condition_of(failure: Failure) -> str:
    """Under which condition the innermost frame raised, and what its names are in the call; "" where nothing tells."""
    with suppress(RecursionError):
        return _condition(failure.main.frames)
    return ""


def _condition(frames: list[Frame]) -> str:
    place = _place(frames[-1]) if frames else None
    if place is None or not isinstance(place.statement, (ast.Raise, ast.Assert)):
        return ""
    tests = list(_tests(place))[-_MOST_TESTS:]
    if not tests:
        return ""
    found = f"it does so where {' and '.join(f'`{_short(test)}`' for test in tests)}"
    given = _given(place, frames[-2]) if len(frames) > 1 else {}
    named = [f"`{name}` is `{_short(value)}`" for name, value in given.items() if any(name in test for test in tests)]
    return ", and ".join([found, *named])


def _place(frame: Frame) -> _Place | None:
    """The statement of a frame; None where its file is not here, or is another than the one that ran."""
    from trl_lint.project import CONTEXT_FILE_BYTES

    path = frame.path
    if not (path.startswith("/") or path[1:3] == ":\\") or not path.endswith(".py") or not frame.code:
        return None
    if not tracked.is_file(path) or tracked.is_larger(path, CONTEXT_FILE_BYTES):
        return None
    try:
        text = tracked.read_text(path)
        lines, tree = text.split("\n"), ast.parse(text)
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    if not 0 < frame.line <= len(lines) or lines[frame.line - 1].strip() != frame.code.strip():
        return None
    around: list[ast.AST] = []
    node: ast.AST = tree
    while inner := _inside(node, frame.line):
        around.append(node)
        node = inner
    place = _Place(node, tuple(around)) if isinstance(node, ast.stmt) else None
    is_named = place is not None and (place.function.name if place.function else "<module>") == frame.function
    return place if is_named else None


def _inside(node: ast.AST, line: int) -> ast.stmt | None:
    """The statement directly inside of another one that a line belongs to."""
    for child in ast.iter_child_nodes(node):
        for one in (child,) if isinstance(child, ast.stmt) else ast.iter_child_nodes(child):
            if isinstance(one, ast.stmt) and one.lineno <= line <= (one.end_lineno or one.lineno):
                return one
    return None


def _tests(place: _Place) -> Iterator[str]:
    """The tests that lead to a statement, outermost first, as far as its function goes."""
    way = [*place.around, place.statement]
    start = max((number for number, one in enumerate(way) if isinstance(one, _Function)), default=0)
    skipped: list[ast.If] = []
    for outer, inner in zip(way[start:], way[start + 1 :], strict=False):
        if not isinstance(outer, ast.If):
            continue
        if inner in outer.body:
            yield from _none_of(skipped)
            skipped = []
            yield ast.unparse(outer.test)
        else:
            skipped.append(outer)
    yield from _none_of(skipped)
    if isinstance(place.statement, ast.Assert):
        yield f"not ({ast.unparse(place.statement.test)})"


def _none_of(skipped: list[ast.If]) -> Iterator[str]:
    """What holds where none of some branches was taken: `x` is none of their values, or each test is false."""
    pairs = [_compared(one.test) for one in skipped]
    subjects = {pair[0] for pair in pairs if pair is not None}
    if len(skipped) > 1 and len(subjects) == 1 and None not in pairs:
        values = [value for pair in pairs if pair is not None for value in pair[1]]
        more = ", …" if len(values) > _MOST_VALUES else ""
        yield f"{subjects.pop()} is none of {', '.join(values[:_MOST_VALUES])}{more}"
        return
    yield from (f"not ({ast.unparse(one.test)})" for one in skipped)


def _compared(test: ast.expr) -> tuple[str, list[str]] | None:
    """The subject and the values of `x == a` and `x in [a, b]`."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    value = test.comparators[0]
    if isinstance(test.ops[0], ast.In) and isinstance(value, (ast.List, ast.Tuple, ast.Set)):
        return ast.unparse(test.left), [ast.unparse(one) for one in value.elts]
    return (ast.unparse(test.left), [ast.unparse(value)]) if isinstance(test.ops[0], ast.Eq) else None


def _given(place: _Place, caller: Frame) -> dict[str, str]:
    """What the call in the frame above hands to the parameters of a function."""
    outer, function = _place(caller), place.function
    if outer is None or function is None:
        return {}
    calls = [one for one in ast.walk(outer.statement) if isinstance(one, ast.Call)]
    if len(calls) > 1:
        calls = [
            one for one in calls if ast.unparse(one.func).rpartition(".")[2].strip("_") == function.name.strip("_")
        ]
    if len(calls) != 1:
        return {}
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if names[:1] in (["self"], ["cls"]):
        names = names[1:]
    if any(isinstance(one, ast.Starred) for one in calls[0].args):
        names = []
    given = dict(zip(names, calls[0].args, strict=False))
    given |= {one.arg: one.value for one in calls[0].keywords if one.arg}
    found = {name: ast.unparse(_assigned(value, outer)) for name, value in given.items()}
    return {name: value for name, value in found.items() if value != name}


def _assigned(value: ast.expr, place: _Place) -> ast.expr:
    """What a name is assigned in the function of a statement, where that is done once; the value itself elsewhere."""
    if not isinstance(value, ast.Name) or place.function is None:
        return value
    found = [
        one.value
        for one in ast.walk(place.function)
        if isinstance(one, ast.Assign)
        and any(
            isinstance(name, ast.Name) and name.id == value.id for target in one.targets for name in ast.walk(target)
        )
    ]
    return found[0] if len(found) == 1 else value


def _short(text: str) -> str:
    text = " ".join(text.replace("`", "'").split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
