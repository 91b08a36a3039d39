"""Code that is prepared for several releases: what it says about one of them proves nothing.

`try: from trl import X / except ImportError: …`, `if Version(trl.__version__) >= …:`, `if is_vllm_available():`,
`if TYPE_CHECKING:`, `with suppress(ImportError):`, `@pytest.mark.skipif(…)`, and what follows `if old: return`. A whole
file is prepared where the `__init__.py` beside it chooses between that file and another by the release.

`if HAS_TRL:` behind `try: import trl` is no such test for who asks in which releases the place is reached: in all that
have what was tried (`trials.py`).
"""

from __future__ import annotations

import ast
import builtins
import os
import re
from collections.abc import Iterator, Sequence
from itertools import chain

from trl_lint import tracked
from trl_lint.memos import per_module
from trl_lint.python.guards import EXPECTING, Assumption, bindings, is_expecting, key_of
from trl_lint.python.module import PythonModule
from trl_lint.python.trials import Trial, catches, is_of_failed_trial, passed_trials, trials
from trl_lint.python.version_tests import ends_with_an_error, is_requirement
from trl_lint.regexes import regex
from trl_lint.sources import Source, SourceError
from trl_lint.sources.text import SourceFile

# What a test has to say to be about releases or about what is installed.
_ABOUT_RELEASES = regex(
    r"version|hasattr|getattr|available|installed|TYPE_CHECKING|find_spec|signature|getfullargspec|__code__|"
    r"\b__fields__|dataclass_fields|importlib|sys\.modules|(?i:is_(?:new|old|legacy))|_(?:ge|gt|lt|le|gte|lte|eq)_|"
    r"(?i:\bhas_|_has_|supports?_|_supported|_exists\b|greater|at_least|min_ver)|"
    r"(?:trl|transformers|accelerate|peft|deepspeed|vllm|verl)_?(?:v?\d|new|old|legacy)",
    re.IGNORECASE,
)
_VERSION = regex("version", re.IGNORECASE)
# What it has to say to compare releases, and not only ask what the machine has or what somebody wants.
_COMPARES = regex(
    r"version|hasattr\(|find_spec|signature|getfullargspec|__code__|\b__fields__|dataclass_fields|TYPE_CHECKING|"
    r"is_(?:new|old|legacy)|_(?:ge|gt|lt|le|gte|lte|eq)_|at_least|min_ver|"
    r"(?:trl|transformers|accelerate|peft|deepspeed|vllm|verl)_?(?:v?\d|new|old|legacy|has|supports)",
    re.IGNORECASE,
)
_LEAVING_CALLS = frozenset({"exit", "_exit", "skip"})


def is_guarded(module: PythonModule, node: ast.AST, is_narrowed: bool = False) -> bool:
    """Whether a place only runs with some releases, or is prepared to fail with others.

    `is_narrowed`: whoever asks judges the place by the releases that the requirements and the tried imports before it
    leave (`project.stack.choices_at`), so that these are no guards.
    """
    child = node
    for parent in module.ancestors(node):
        if _decides(module, parent, child, is_narrowed) or _follows_a_check(module, parent, child, is_narrowed):
            return True
        child = parent
    return is_chosen(module)


def runs_with_some(module: PythonModule, node: ast.AST) -> bool:
    """Whether a place, or every call of the function that it stands in, runs with some releases only.

    Requirements are no such tests: whoever asks judges by what they leave (`project.stack.environment_at`).
    """
    return _any_release(module).reach(node) != "reached"


@per_module
def _any_release(module: PythonModule) -> Assumption:
    """Nothing is known of the releases, and tests speak about them that compare them."""

    def compares(test: ast.expr) -> bool:
        if test in _requirements(module):
            return False
        tried = _tried(module)
        is_tried = any(isinstance(one, ast.Name) and one.id in tried for one in ast.walk(test))
        return is_tried or is_about_releases(module, test, _COMPARES)

    return Assumption(module, lambda test: None, compares)


@per_module
def _requirements(module: PythonModule) -> frozenset[ast.expr]:
    """The tests of the statements that end a program unless certain releases are installed."""
    statements: tuple[ast.Assert | ast.If, ...] = (*module.of(ast.Assert), *module.of(ast.If))
    return frozenset(statement.test for statement in statements if is_requirement(module, statement))


@per_module
def _tried(module: PythonModule) -> frozenset[str]:
    """The names that tell whether an import went well: those imported by trial, and what the handlers bind."""
    found = set[str]()
    for trial in module.of(ast.Try):
        if not any(map(catches, trial.handlers)):
            continue
        imports = [node for node in trial.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        if imports:
            found |= {alias.asname or alias.name.partition(".")[0] for node in imports for alias in node.names}
            bound = (node for handler in trial.handlers for node in handler.body if isinstance(node, ast.Assign))
            found |= {target.id for node in bound for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(found)


@per_module
def is_chosen(module: PythonModule) -> bool:
    """Whether the package that the file belongs to imports it with some releases only.

    `if version("vllm") <= "0.6.3": from .old import Rollout` and `else: from .new import Rollout` in its `__init__.py`.
    """
    return _is_chosen(module.path)


def _is_chosen(path: str) -> bool:
    folder, name = os.path.split(path)
    stem, kind = os.path.splitext(name)
    if kind != ".py" or stem == "__init__":
        return False
    beside = os.path.join(folder, "__init__.py")
    try:
        data = tracked.read(beside, by=path)
        if f".{stem} import".encode() not in data:
            return False
        tracked.note_name(os.path.basename(folder))
        package = PythonModule(Source(SourceFile(beside, data), "python"))
    except (OSError, SourceError):
        return False
    uses = [node for node in package.imports if isinstance(node, ast.ImportFrom) and _names(node, folder, stem)]
    # `if TYPE_CHECKING:` in the __init__ of a lazy package, or whether vLLM is installed at all, chooses no release.
    return bool(uses) and all(
        isinstance(parent, ast.If) and is_about_releases(package, parent.test, _VERSION)
        for parent in map(package.parents.get, uses)
    )


def _names(node: ast.ImportFrom, folder: str, stem: str) -> bool:
    """Whether an import of an `__init__.py` takes something from the module `stem` beside it."""
    if node.level:
        return node.level == 1 and node.module == stem
    return (node.module or "").endswith(f"{os.path.basename(folder)}.{stem}")


def trials_before(module: PythonModule, node: ast.AST) -> Iterator[Trial]:
    """The tried imports that went well wherever a place is reached, by the tests around it and before it.

    Where the program stops with an error otherwise, that is no way of other releases.
    """
    if not trials(module):
        return
    child = node
    for parent in module.ancestors(node):
        for test, outcome in _tests_of(parent, child):
            yield from _passed(module, test, outcome) or ()
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and child in block:
                ways_out = (one for one in block[: block.index(child)] if isinstance(one, ast.If) and _goes_on(one))
                for test, outcome in chain.from_iterable(map(_tests_of_check, ways_out)):
                    yield from _passed(module, test, outcome) or ()
        child = parent


def _goes_on(statement: ast.If) -> bool:
    """Whether the program goes on elsewhere where a statement leaves its block."""
    return not ends_with_an_error(statement.body)


def _decides(module: PythonModule, parent: ast.AST, child: ast.AST, is_narrowed: bool) -> bool:
    if isinstance(parent, ast.Try):
        # The handler is the way of the other releases, and so is the `else` behind a tried import. One that only says
        # the same in other words is no way.
        ways = [handler for handler in parent.handlers if catches(handler) and not _fails_as_well(handler)]
        return (bool(ways) or child in parent.handlers) and child not in parent.finalbody
    if any(_is_guard(module, test, outcome, is_narrowed) for test, outcome in _tests_of(parent, child)):
        return True
    if isinstance(parent, (ast.With, ast.AsyncWith)):
        return child in parent.body and is_expecting(module, parent)
    if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return any(
            EXPECTING.search(text) or _ABOUT_RELEASES.search(text)
            for text in map(module.segment, parent.decorator_list)
        )
    return False


def _fails_as_well(handler: ast.ExceptHandler) -> bool:
    """Whether a handler stops with an error itself, and not with one of the project's that says where to go on."""
    last = handler.body[-1]
    if not isinstance(last, ast.Raise):
        return ends_with_an_error(handler.body)
    raised = last.exc.func if isinstance(last.exc, ast.Call) else last.exc
    name = key_of(raised)
    return raised is None or name == handler.name or isinstance(getattr(builtins, name or "_", None), type)


def _tests_of(parent: ast.AST, child: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """The tests by which a statement or an expression decides about what stands in it, each with the outcome for it."""
    if isinstance(parent, (ast.If, ast.IfExp, ast.While)) and child is not parent.test:
        yield parent.test, child is parent.body or (isinstance(parent.body, list) and child in parent.body)
    elif isinstance(parent, ast.BoolOp) and child in parent.values:
        for value in parent.values[: parent.values.index(child)]:
            yield value, isinstance(parent.op, ast.And)


def _is_guard(module: PythonModule, test: ast.expr, outcome: bool, is_narrowed: bool) -> bool:
    """Whether a test that has this outcome says for which releases something is."""
    if is_of_failed_trial(module, test, outcome):
        return True
    return is_about_releases(module, test) and not (is_narrowed and _passed(module, test, outcome) is not None)


def _passed(module: PythonModule, test: ast.expr, outcome: bool) -> list[Trial] | None:
    return passed_trials(module, test, outcome, lambda part: is_about_releases(module, part))


def _follows_a_check(module: PythonModule, parent: ast.AST, child: ast.AST, is_narrowed: bool) -> bool:
    """Whether an earlier statement of the block leaves or fails for some releases."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if not isinstance(block, list):
            continue
        first = _first_check(module, parent, name, is_narrowed)
        if first < len(block) and child in block:  # where a child stands is looked up in blocks with a check alone
            return first < block.index(child)
    return False


@per_module
def _first_check(module: PythonModule, parent: ast.AST, name: str, is_narrowed: bool) -> int:
    """Which statement of a block is its first check; how many there are if none is one."""
    block: list[ast.stmt] = getattr(parent, name)
    checks = (index for index, statement in enumerate(block) if _is_check(module, statement, is_narrowed))
    return next(checks, len(block))


def _is_check(module: PythonModule, statement: ast.stmt, is_narrowed: bool) -> bool:
    tests = _tests_of_check(statement)
    is_check = any(_is_guard(module, test, outcome, is_narrowed) for test, outcome in tests)
    return is_check and not (is_narrowed and is_requirement(module, statement))


def _tests_of_check(statement: ast.stmt) -> Iterator[tuple[ast.expr, bool]]:
    """The test of a statement that leaves its block or fails, with the outcome with which it does not."""
    if isinstance(statement, ast.If) and _leaves(statement.body):
        yield statement.test, False
    elif isinstance(statement, ast.Assert):
        yield statement.test, True


def _leaves(block: list[ast.stmt]) -> bool:
    last = block[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return key_of(last.value.func).rpartition(".")[2] in _LEAVING_CALLS
    return isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break))


def is_about_releases(module: PythonModule, test: ast.expr, words: re.Pattern[str] = _ABOUT_RELEASES) -> bool:
    """Whether a test asks for a release or for what is installed, itself or through a name it was stored in."""
    if words.search(module.segment(test)):
        return True
    stored = _stored(module, [test])
    compared = [value for value in stored if isinstance(value, (ast.Compare, ast.BoolOp, ast.UnaryOp))]
    return any(words.search(module.segment(value)) for value in (*stored, *_stored(module, compared)))


def _stored(module: PythonModule, nodes: Sequence[ast.expr]) -> list[ast.expr]:
    """What the names in some expressions are assigned: `v = version("trl")`, then `NEW = parse(v) >= parse("1")`."""
    table = bindings(module)
    names = dict.fromkeys(node.id for value in nodes for node in ast.walk(value) if isinstance(node, ast.Name))
    return [value for name in names for value in table.get(name, ())]
