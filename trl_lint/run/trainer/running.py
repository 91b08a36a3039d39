"""What becomes of possibilities in a run: fields get the values of the command line and the recipe, tests come out.

Two sets of tests are held against each other here as well: possibilities whose tests contradict never meet.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.python.guards import Truth, evaluate, key_of
from trl_lint.python.values import literal
from trl_lint.run.effective import Setting, as_bool, of_default, of_flag, without_reason
from trl_lint.run.loaded_files import reader_of
from trl_lint.run.runs import Run
from trl_lint.run.trainer.made import Condition, Conditions, Made, Options

_PACKAGES = ("trl", "transformers")
# Functions of trl that give None unless one of these fields of their first argument is true. Read in 0.9.6 to 1.16.0.
_NONE_UNLESS = {
    "get_quantization_config": ("load_in_4bit", "load_in_8bit"),
    "get_kbit_device_map": (),
    "get_peft_config": ("use_peft",),
}
_DEEP = 6  # tests in tests; one further in is unknown


# -- values ---------------------------------------------------------------------------------------------------------


def setting_of(made: Made, run: Run) -> Setting | Missing:
    """What a field of a parser is in a run: the flag, the recipe, or the default of the newest release in use.

    Or an entry of a config file that the script loads itself.
    """
    if made.is_loaded:
        return _loaded(made, run)
    if made.kind != "field" or not isinstance(made.base, Made):
        return UNKNOWN
    parsed = made.base
    if isinstance(parsed.base, Made) and not _is_argparse(parsed.base):
        said = without_reason(run.config.given(made.origin)) if run.parser is not None else UNKNOWN
        return said if said is not ABSENT else _library_default(made.origin, run)
    if isinstance(parsed.base, Made):
        from trl_lint.run.trainer.argparsed import argparse_setting

        return argparse_setting(made, run)
    said = of_flag(run.launch, made.origin) if run.is_launched else UNKNOWN
    if said is not ABSENT:
        return said
    default = literal(_expression(made.node))
    is_plain = isinstance(default, (str, int, float, bool, type(None)))
    return Setting(default, "default", made.location) if is_plain else UNKNOWN


def _loaded(made: Made, run: Run) -> Setting | Missing:
    """What a file that the script loads says in a run; ABSENT where it certainly has no such key."""
    if not made.item or made.changes or not run.is_launched or not isinstance(made.node, ast.Call):
        return UNKNOWN
    read = reader_of(made.node, made.frame.module, run.launch, run.project)
    return read(".".join(map(str, made.item))) if read is not None else UNKNOWN


def _expression(node: ast.AST) -> ast.expr | None:
    return node if isinstance(node, ast.expr) else None


def _is_argparse(base: Made) -> bool:
    return base.name == "ArgumentParser"


def _library_default(name: str, run: Run) -> Setting | Missing:
    """The default of a field in the one class of a library among the parser's that has it."""
    from trl_lint.knowledge.api import resolve, signature

    versions: Mapping[str, str] = run.choices.newest(_PACKAGES)
    for dotted in run.parser.fields.bases if run.parser is not None else ():
        found = resolve(dotted, versions)
        known = signature(found, versions) if isinstance(found, str) else None
        parameter = known.parameters.get(name) if known is not None else None
        if parameter is not None:
            return of_default(parameter.default)
    return UNKNOWN


def value_in(made: Made, run: Run | None) -> object:
    """The value of a literal, or of a field in a run; UNKNOWN for everything else."""
    if made.kind == "literal":
        return made.value
    if made.kind == "absent":
        return None
    if run is not None and (made.kind == "field" or made.is_loaded):
        said = setting_of(made, run)
        return said.value if isinstance(said, Setting) else UNKNOWN
    return UNKNOWN


def is_on(made: Made, run: Run | None) -> bool:
    """Whether a switch is certainly on; a command gives it as a word."""
    value = value_in(made, run)
    return value is True or (made.kind == "field" and isinstance(value, str) and as_bool(value) is True)


def is_none_in(made: Made, run: Run | None) -> Truth:
    """Whether an object is None in a run; None as the answer where nobody can tell."""
    if made.kind in ("literal", "field", "absent") or made.is_loaded:
        value = value_in(made, run)
        return None if value is UNKNOWN else value is None
    if made.kind == "call" and made.name in _NONE_UNLESS:
        holders = made.argument("model_args", 0)
        needed = [one for name in _NONE_UNLESS[made.name] for holder in holders for one in holder.attribute(name)]
        values = [_truth_of(one, run) for one in needed]
        if not needed or None in values:
            return None
        return True not in values
    return False if made.is_given else None


# -- tests ----------------------------------------------------------------------------------------------------------


def truth_in(condition: Condition, run: Run | None, depth: int = 0) -> Truth:
    """Whether a condition holds in a run, or without one by what is written alone; None where nobody can tell."""
    if not isinstance(condition.test, ast.expr):
        return None

    def atom(test: ast.expr) -> Truth:
        return _atom(test, condition, run, depth)

    known, key = condition.frame.resolver.truths, (condition.test, condition.frame, run)
    if depth or key not in known:
        truth = evaluate(condition.test, atom)
        if not depth:
            known[key] = truth
    else:
        truth = known[key]
    return None if truth is None else truth is condition.truth


def holds_in(conditions: Conditions, run: Run | None) -> Truth:
    """Whether all of some conditions hold: True, False as soon as one does not, None where it is open."""
    found = [truth_in(condition, run) for condition in conditions]
    return False if False in found else None if None in found else True


def possible_in(options: Options, run: Run | None) -> Options:
    """The possibilities whose tests may hold in a run, without the tests that certainly do."""
    found = []
    for made in options:
        answers = [truth_in(condition, run) for condition in made.under]
        if run is not None and made.is_loaded and setting_of(made, run) is ABSENT:
            made = made._replace(kind="absent", origin="", item=())
        if False not in answers:
            open_ones = tuple(one for one, answer in zip(made.under, answers, strict=True) if answer is None)
            found.append(made._replace(under=open_ones))
    return tuple(found)


def _atom(test: ast.expr, condition: Condition, run: Run | None, depth: int) -> Truth:
    resolver, frame = condition.frame.resolver, condition.frame
    if depth > _DEEP:
        return None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, op, right = test.left, test.ops[0], literal(test.comparators[0])
        options = possible(resolver.options(left, frame), run, depth)
        if isinstance(op, (ast.Is, ast.IsNot)) and right is None:
            answers = {is_none_in(made, run) for made in options}
            only = answers.pop() if len(answers) == 1 else None
            return None if only is None else only is isinstance(op, ast.Is)
        if isinstance(op, (ast.Eq, ast.NotEq)) and right is not UNKNOWN:
            values = [value_in(made, run) for made in options]
            if not values or any(value is UNKNOWN for value in values):
                return None
            equal = {_is_equal(value, right) for value in values}
            return None if len(equal) != 1 else equal.pop() is isinstance(op, ast.Eq)
        return None
    if isinstance(test, (ast.Name, ast.Attribute, ast.IfExp)):
        answers = {_truth_of(made, run) for made in possible(resolver.options(test, frame), run, depth)}
        return answers.pop() if len(answers) == 1 else None
    return None


def possible(options: Options, run: Run | None, depth: int) -> Options:
    """The possibilities whose tests may hold, looked at from inside a test."""
    return tuple(
        made for made in options if not any(truth_in(one, run, depth + 1) is False for one in made.under[-_DEEP:])
    )


def _is_equal(value: object, right: object) -> bool:
    return value == right or (isinstance(value, str) and not isinstance(right, str) and value == str(right))


def _truth_of(made: Made, run: Run | None) -> Truth:
    if made.kind == "field" and run is not None:
        said = setting_of(made, run)
        if isinstance(said, Setting) and said.is_known:
            return as_bool(said.value) if isinstance(said.value, str) and said.origin == "flag" else bool(said.value)
        return None
    if made.kind == "literal":
        return None if made.value is UNKNOWN else bool(made.value)
    if made.kind in ("call", "instance"):
        none = is_none_in(made, run)
        return None if none is None or made.name not in _NONE_UNLESS else not none
    return None


# -- tests against tests --------------------------------------------------------------------------------------------

Fact = tuple[str, str, str]


def are_compatible(one: Conditions, other: Conditions) -> bool:
    """Whether both sets of tests may hold at once: False where one asks for what the other rules out."""
    facts = {fact: truth for condition in one for fact, truth in facts_of(condition)}
    return all(facts.get(fact, truth) is truth for condition in other for fact, truth in facts_of(condition))


def facts_of(condition: Condition) -> Iterator[tuple[Fact, bool]]:
    """The single statements that a condition consists of, in one spelling: where, what, and whether it is true."""
    function = condition.frame.function
    scope = "" if function is None else getattr(function, "name", "lambda")
    if isinstance(condition.test, ast.expr):
        yield from _facts(condition.test, condition.truth, condition.frame.module.path, scope)
    else:
        where = f"{type(condition.test).__name__}:{getattr(condition.test, 'lineno', 0)}"
        yield (condition.frame.module.path, scope, where), condition.truth


def _facts(test: ast.expr, truth: bool, path: str, scope: str) -> Iterator[tuple[Fact, bool]]:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _facts(test.operand, not truth, path, scope)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is truth:
        for value in test.values:  # all of an `and` that holds, none of an `or` that does not
            yield from _facts(value, truth, path, scope)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.IsNot, ast.NotEq)):
        sign = "is" if isinstance(test.ops[0], ast.IsNot) else "=="
        yield (path, scope, f"{ast.unparse(test.left)} {sign} {ast.unparse(test.comparators[0])}"), not truth
    else:
        yield (path, scope, key_of(test) or ast.unparse(test)), truth
