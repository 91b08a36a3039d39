"""Do the tests of a rule notice when the rule is changed? `python -m benchmarks.mutation`, see README.md.

A mutant is a copy of a rule's module with one small fault: another comparison, a condition turned round, a number that
is off by one, a statement left out. The tests of the rule run on each: its fixtures, its promises, and the files in
`tests/checks`, `tests/python` and `tests/knowledge` that name its code. A mutant that no test notices survives; some
survive because they mean the same as the original. The mutants follow from the module and the seed, so that two states
of the tests can be compared: `--checkout FOLDER` takes tests and code from there. Nothing in that folder is changed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = (
    "TRL101", "TRL103", "TRL104", "TRL106", "TRL107", "TRL113", "TRL203", "TRL204", "TRL301", "TRL302",
    "TRL305", "TRL404", "TRL405", "TRL501", "TRL504", "TRL506", "TRL601", "TRL602", "TRL701", "TRL703",
)  # fmt: skip
"""Twenty rules of all topics."""

_ROOMS = ("checks", "knowledge", "python")
_LIMIT = 300  # seconds of work for the tests of one mutant; a loop without end counts as noticed
_MADE = frozenset({"__pycache__", "build", "dist"})
_PREPARED = "pytest, hypothesis, jsonschema, yaml, libcst, tree_sitter, tree_sitter_bash, packaging.requirements"

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


class Mutant(NamedTuple):
    """A module with one fault, and the fault as `LINE: before -> after`."""

    fault: str
    text: str


class Score(NamedTuple):
    """How many mutants of a rule the tests noticed, of how many, and the faults that none of them did."""

    code: str
    noticed: int
    made: int
    survivors: tuple[str, ...]
    seconds: float


# -- making mutants ----------------------------------------------------------------------------------------------------


def mutants(text: str) -> list[Mutant]:
    """Every mutant of a module, in the order of its text; only what stands in functions is changed."""
    lines = text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    data, found = text.encode(), []
    for node, changed in _changes(ast.parse(text)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        before = " ".join(data[start:end].decode().split())
        mutated = (data[:start] + changed.encode() + data[end:]).decode()
        found.append(Mutant(f"{node.lineno}: {_short(before)} -> {_short(changed)}", mutated))
    return found


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _changes(module: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Nodes, and the code that takes their place."""
    for function in _outermost(module):
        for statement in function.body:
            for node in _inside(statement):
                yield from ((node, changed) for changed in _replaced(node))
                yield from ((test, f"(not {ast.unparse(test)})") for test in _conditions(node))


def _outermost(module: ast.AST) -> Iterator[ast.FunctionDef]:
    for node in ast.iter_child_nodes(module):
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _outermost(node)


def _inside(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """The statements and expressions at and below a node, but for annotations and messages: no test reads those."""
    if isinstance(node, (ast.JoinedStr, ast.arguments)):
        return
    if isinstance(node, ast.AnnAssign):
        if node.value is not None:
            yield from _inside(node.value)
        return
    if isinstance(node, (ast.expr, ast.stmt)):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _inside(child)


def _replaced(node: ast.expr | ast.stmt) -> Iterator[str]:
    match node:
        case ast.Compare(ops=[operator, *_]) if type(operator) in _COMPARED:
            changed = copy.deepcopy(node)
            changed.ops[0] = _COMPARED[type(operator)]()
            yield f"({ast.unparse(changed)})"
        case ast.BoolOp():
            changed_bool = copy.deepcopy(node)
            changed_bool.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
            yield f"({ast.unparse(changed_bool)})"
        case ast.UnaryOp(op=ast.Not()):
            yield f"({ast.unparse(node.operand)})"
        case ast.Constant(value=bool(flag)):
            yield repr(not flag)
        case ast.Constant(value=int(number)):
            yield repr(number + 1)
        case ast.Constant(value=str(word)) if re.fullmatch(r"[\w.-]+", word):
            yield repr(f"{word}_")
        case ast.Call(func=ast.Name(id="any" | "all" as name)):
            other = "all" if name == "any" else "any"
            yield f"{other}({', '.join(map(ast.unparse, node.args))})"
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield "return None"
        case ast.Continue() | ast.Break() | ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()):
            yield "pass"


def _conditions(node: ast.expr | ast.stmt) -> list[ast.expr]:
    """The conditions of a node that `_replaced` does not turn round by itself."""
    tests: list[ast.expr] = []
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        tests = [node.test]
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        tests = [test for part in node.generators for test in part.ifs]
    return [test for test in tests if isinstance(test, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))]


def sample(code: str, text: str, number: int, seed: int) -> list[Mutant]:
    """As many mutants as wanted, the same ones for the same module, code and seed."""
    everything = mutants(text)
    chosen = random.Random(f"{seed}:{code}").sample(range(len(everything)), min(number, len(everything)))
    return [everything[index] for index in sorted(chosen)]


# -- running tests -----------------------------------------------------------------------------------------------------


def module_of(checkout: Path, code: str) -> Path:
    """The module of a rule: it is named after the page."""
    (page,) = (checkout / "rules" / "pages").glob(f"{code}-*.md")
    name = page.stem.partition("-")[2].replace("-", "_")
    (module,) = (checkout / "trl_lint" / "checks").glob(f"*/{name}.py")
    return module


def tests_of(checkout: Path, code: str) -> tuple[list[str], list[str]]:
    """The arguments of pytest: for the cases that have the code in their name, and for the files that name it."""
    files = [path for room in _ROOMS for path in sorted((checkout / "tests" / room).glob("test_*.py"))]
    own = [str(path.relative_to(checkout)) for path in files if re.search(rf"\b{code}\b", path.read_text("utf-8"))]
    return ["tests/test_fixtures.py", "tests/test_promises.py", "tests/test_pages.py", "-k", code], own


def is_noticed(checkout: Path, arguments: Sequence[Sequence[str]]) -> bool:
    """Whether a test fails of those that each of the arguments of pytest selects."""
    return any(_fail(checkout, selected) for selected in arguments)


def _fail(checkout: Path, selected: Sequence[str]) -> bool:
    """Whether tests fail. They run in a fork of this process, so that not every mutant imports everything anew."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (_LIMIT, _LIMIT))
        os._exit(_run_tests(checkout, selected))
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) != 0


def _run_tests(checkout: Path, selected: Sequence[str]) -> int:
    import pytest

    os.chdir(checkout)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("benchmarks", "trl_lint")]:
        del sys.modules[name]
    sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != ROOT]
    sys.path.insert(0, str(checkout))
    os.environ["PYTHONPATH"] = str(checkout)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    status = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=", *selected])
    return int(status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED))


def _left_out(root: Path, folder: str, names: list[str]) -> set[str]:
    """What a copy of a checkout does without: what was made, and the environment. Fixtures have a `.github` each."""
    is_root = Path(folder).resolve() == root
    return {name for name in names if name in _MADE or (is_root and name.startswith("."))}


def score(checkout: Path, code: str, number: int, seed: int, more: Sequence[str]) -> Score:
    """Try the mutants of one rule in a checkout that may be changed.

    Raises:
        RuntimeError: the tests fail without any fault
    """
    began = time.monotonic()
    module = module_of(checkout, code)
    text = module.read_text("utf-8")
    cases, own = tests_of(checkout, code)
    arguments = [[*more, *cases], *([[*more, *own]] if own else [])]
    if is_noticed(checkout, arguments):
        raise RuntimeError(f"{code}: its tests fail on the module as it is")
    survivors, made = [], sample(code, text, number, seed)
    try:
        for mutant in made:
            module.write_text(mutant.text, "utf-8")
            if not is_noticed(checkout, arguments):
                survivors.append(mutant.fault)
    finally:
        module.write_text(text, "utf-8")
    return Score(code, len(made) - len(survivors), len(made), tuple(survivors), time.monotonic() - began)


def main(argv: Sequence[str] | None = None) -> int:
    """The command line: one line for each rule, and the survivors below it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutation", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rules", nargs="*", metavar="CODE", help="the rules to change; otherwise a sample of twenty")
    parser.add_argument("--mutants", type=int, default=15, metavar="N", help="mutants of each rule, at most")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument(
        "--checkout", type=Path, default=ROOT, metavar="FOLDER", help="tests and code are taken from there"
    )
    parser.add_argument("--tests", default="", metavar="EXPRESSION", help='as `pytest -m`, such as "not slow"')
    options = parser.parse_args(argv)
    # A module that is written twice in a second has to be compiled twice.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    for name in _PREPARED.split(", "):
        __import__(name)
    noticed = made = 0
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder).resolve() / "checkout"
        shutil.copytree(options.checkout, checkout, ignore=partial(_left_out, options.checkout.resolve()))
        for code in options.rules or SAMPLE:
            try:
                result = score(checkout, code, options.mutants, options.seed, ["-m", options.tests])
            except RuntimeError as error:
                print(error, file=sys.stderr, flush=True)
                failed = True
                continue
            noticed, made = noticed + result.noticed, made + result.made
            print(f"{code} {result.noticed}/{result.made} in {result.seconds:.0f} s", flush=True)
            for fault in result.survivors:
                print(f"    {fault}", flush=True)
    print(f"all {noticed}/{made}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
