"""Which imports and calls of Python files the installed libraries refuse, found without running the files.

Run by the Python of a scratch environment, for files one names on the command line: `python bound_calls.py FILE...`.
Prints a JSON object: by file, a list of [first line, last line, what is refused].

Every import of a package of the stack is made for real, and every call of something that was imported is bound to its
real signature, with stand-ins for all values. An import inside of a `try` may fail.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import sys
from collections.abc import Iterator
from typing import Any

_STACK = ("trl", "transformers", "peft", "accelerate")
Fault = tuple[int, int, str]


def faults(text: str) -> Iterator[Fault]:
    """What the installed releases refuse of a file."""
    tree = ast.parse(text)
    guarded = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.Try) for inner in ast.walk(node)}
    names: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from _imported(node, names, id(node) in guarded)
    rebound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own = {node.name for node in ast.walk(tree) if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    for name in rebound | own:
        names.pop(name, None)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _bound(node, names)


def _imported(node: ast.Import | ast.ImportFrom, names: dict[str, Any], is_guarded: bool) -> Iterator[Fault]:
    for alias in node.names:
        module = alias.name if isinstance(node, ast.Import) else node.module or ""
        if module.partition(".")[0] not in _STACK or (isinstance(node, ast.ImportFrom) and node.level):
            continue
        try:
            found = importlib.import_module(module)
            if isinstance(node, ast.ImportFrom):
                found = _member(found, alias.name)
            elif alias.asname is None:
                found = importlib.import_module(module.partition(".")[0])
        except Exception as error:  # whatever an import of the library raises
            if not is_guarded:
                yield node.lineno, node.end_lineno or node.lineno, f"{type(error).__name__}: {error}"[:300]
            continue
        names[alias.asname or alias.name.partition(".")[0]] = found


def _member(module: Any, name: str) -> Any:
    try:
        return getattr(module, name)
    except AttributeError:
        try:
            return importlib.import_module(f"{module.__name__}.{name}")
        except ModuleNotFoundError:
            raise ImportError(f"cannot import name {name!r} from {module.__name__!r}") from None


def _bound(call: ast.Call, names: dict[str, Any]) -> Iterator[Fault]:
    found = _resolved(call.func, names)
    if found is None or not callable(found):
        return
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return
    keywords = {keyword.arg: None for keyword in call.keywords if keyword.arg is not None}
    is_open = any(keyword.arg is None for keyword in call.keywords)
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):
        return
    try:
        bind = signature.bind_partial if is_open else signature.bind
        bind(*([None] * len(call.args)), **keywords)
    except TypeError as error:
        yield call.lineno, call.end_lineno or call.lineno, f"{getattr(found, '__name__', found)}: {error}"


def _resolved(node: ast.expr, names: dict[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _resolved(node.value, names)
        return getattr(owner, node.attr, None) if owner is not None else None
    return None


if __name__ == "__main__":
    answers = {}
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as stream:
            answers[path] = list(faults(stream.read()))
    json.dump(answers, sys.stdout)
