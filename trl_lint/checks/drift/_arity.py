"""How many arguments a call passes by position, and which of those that a callable needs it leaves out."""

from __future__ import annotations

import ast
from functools import partial

from trl_lint.checks.drift._calls import is_absent, signature_of
from trl_lint.checks.drift._classes import Callee, imported
from trl_lint.checks.drift._past import elsewhere, successors
from trl_lint.checks.drift._wording import next_release, sentence
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Verdict, judge
from trl_lint.knowledge.api import resolve
from trl_lint.knowledge.members import fills_its_fields
from trl_lint.knowledge.presence import Lookup, points_of_signature
from trl_lint.knowledge.signatures import Signature
from trl_lint.missing import Missing
from trl_lint.project.stack import Choices
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple


class Shape(NamedTuple):
    """How many arguments come by position (None: `*args` hides it), and the keywords (None: `**kwargs` does)."""

    positional: int | None
    keywords: frozenset[str] | None


class Misfit(NamedTuple):
    """A call that does not fit: what is to be marked, the verdict, and what to say."""

    node: ast.expr
    verdict: Verdict
    message: str


def read_shape(call: ast.Call) -> Shape | None:
    """The shape of a call; None for a sketch with `...` in it."""
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    if any(isinstance(value, ast.Constant) and value.value is ... for value in values):
        return None
    is_starred = any(isinstance(value, ast.Starred) for value in call.args)
    names = [keyword.arg for keyword in call.keywords]
    keywords = None if None in names else frozenset(name for name in names if name is not None)
    return Shape(None if is_starred else len(call.args), keywords)


def takes_positional(dotted: str, positional: int, versions: dict[str, str]) -> bool | None:
    """Whether a callable takes so many arguments by position; None where nobody knows."""
    found = signature_of(dotted, versions)
    if found is None or found.open or found.positional is None:
        return None
    return positional <= found.positional


def is_complete(dotted: str, shape: Shape, own: frozenset[str], versions: dict[str, str]) -> bool | None:
    """Whether a call of this shape passes everything that a callable needs; None where nobody knows."""
    found = signature_of(dotted, versions)
    if found is None or found.open or shape.positional is None or shape.keywords is None:
        return None
    if fills_its_fields(dotted, versions):
        return None
    # Which parameters the positions fill is not recorded for constructors; each fills one of the missing at most.
    return len(left_out(found, shape.keywords, own)) <= shape.positional


def left_out(signature: Signature, keywords: frozenset[str], own: frozenset[str]) -> list[str]:
    """The required parameters that no keyword gives, neither under its own name nor under one it replaced."""
    known = signature.parameters
    given = keywords | own | {known[name].successor for name in keywords if name in known and known[name].deprecated}
    return [name for name, parameter in known.items() if parameter.required and name not in given]


def misfit(call: ast.Call, callee: Callee, known: Choices, module: PythonModule, rule: Rule) -> Misfit | None:
    """Too many positional arguments, or required ones that are missing, in the newest release in use."""
    shape = read_shape(call)
    if shape is None or callee.package not in known or (shape.positional is None and shape.keywords is None):
        return None
    if not may_misfit(shape, callee, known):
        return None
    points = points_of_signature(callee.dotted)
    newest = known.newest(points)
    if is_unbound(call, callee, newest, module):
        return None
    if shape.positional and not callee.own:
        fits = partial(takes_positional, callee.dotted, shape.positional)
        if fits(newest) is False and (verdict := _judge(callee, fits, known, rule)) is not None:
            return Misfit(
                call.args[_most(callee, newest)], verdict, _word_surplus(callee, shape, verdict, newest, fits)
            )
    if shape.keywords:  # a renamed keyword has a finding of its own
        renamed = successors(callee.dotted, shape.keywords, newest)
        shape = shape._replace(keywords=shape.keywords | renamed)
    fits = partial(is_complete, callee.dotted, shape, callee.own)
    if fits(newest) is False and (verdict := _judge(callee, fits, known, rule)) is not None:
        return Misfit(call.func, verdict, _word_missing(callee, shape, verdict, newest, fits))
    return None


def may_misfit(shape: Shape, callee: Callee, known: Choices) -> bool:
    """Whether a call does not fit the newest release in use as it stands; nearly all calls do."""
    found = known.remembered(("signature", callee.dotted), lambda: _newest_signature(callee.dotted, known))
    if found is None or found.open:
        return False
    if shape.positional and not callee.own and found.positional is not None and shape.positional > found.positional:
        return True
    if shape.positional is None or shape.keywords is None:
        return False
    return len(left_out(found, shape.keywords, callee.own)) > shape.positional


def _newest_signature(dotted: str, known: Choices) -> Signature | None:
    return signature_of(dotted, known.newest(points_of_signature(dotted)))


def is_unbound(call: ast.Call, callee: Callee, versions: dict[str, str], module: PythonModule) -> bool:
    """Whether a method is called on its class: then the object may be the first argument."""
    found = resolve(callee.dotted, versions)
    is_method = not isinstance(found, Missing) and "." in found.partition(":")[2]
    return is_method and imported(call.func, module) is not None


def _judge(callee: Callee, fits: Lookup, known: Choices, rule: Rule) -> Verdict | None:
    points = points_of_signature(callee.dotted)
    past = elsewhere(callee.dotted, points, known.newest(points), fits)
    named = past.package if past is not None else callee.package
    return judge(known, points, fits, rule, named, is_without=partial(is_absent, callee.dotted))


def _most(callee: Callee, versions: dict[str, str]) -> int:
    found = signature_of(callee.dotted, versions)
    return found.positional or 0 if found is not None else 0


def _word_surplus(callee: Callee, shape: Shape, verdict: Verdict, newest: dict[str, str], fits: Lookup) -> str:
    most = _most(callee, newest)
    many = f"at most {most} positional argument{'s' if most != 1 else ''}" if most else "no positional arguments"
    happened = f"`{callee.title}` takes {many}{_since(callee, newest, fits)}, but this call has {shape.positional}"
    return sentence(happened, "", verdict.basis)


def _word_missing(callee: Callee, shape: Shape, verdict: Verdict, newest: dict[str, str], fits: Lookup) -> str:
    found = signature_of(callee.dotted, newest)
    names = [f"`{name}`" for name in left_out(found, shape.keywords or frozenset(), callee.own)] if found else []
    some = f"all of {', '.join(names)}" if shape.positional else ", ".join(names)
    return sentence(f"`{callee.title}` needs {some}{_since(callee, newest, fits)}", "", verdict.basis)


def _since(callee: Callee, newest: dict[str, str], fits: Lookup) -> str:
    """Since when the call does not fit: ` since trl 0.12.0`, "" where it never did."""
    past = elsewhere(callee.dotted, points_of_signature(callee.dotted), newest, fits)
    return f" since {past.package} {next_release(past.package, past.older)}" if past is not None and past.older else ""
