"""Command-line flags from `add_argument` calls, also those declared in a loop: `for p in ("actor", "critic"):
…f"--{p}.lr"`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from trl_lint.python.default_text import dotted, encode_node, last_name, read_string
from trl_lint.records import NamedTuple

_KEPT = ("type", "choices", "action", "nargs", "dest", "required", "const")


class Flag(NamedTuple):
    """A flag; `text` is its default and what else matters (`8 type=int`), `group` the variable it was added to.

    `call`: where it is declared. `is_whole`: nothing of the call is hidden in `**keywords`.
    """

    name: str
    text: str
    group: str
    call: ast.Call
    is_whole: bool


# Loops in loops repeat a statement for every choice of their items. The largest program that was read has 260 flags.
_MOST_REPEATED = 5000


def read_flags(tree: ast.Module) -> list[Flag] | None:
    """Every long or positional argument that a module declares, in the order of the file.

    None where loops repeat their statements so often that nobody can mean it.
    """
    found = declared_in(tree.body)
    return None if found is None else list({flag.name: flag for flag in found}.values())


def declared_in(body: list[ast.stmt], constants: Mapping[str, ast.expr] | None = None) -> list[Flag] | None:
    """Every long or positional argument that a block declares, as often as it does; None as in `read_flags`.

    `constants`: what names of the module stand for.
    """
    reader = _Reader(constants or {})
    try:
        reader.read_block(body, {})
    except _TooManyError:
        return None
    return reader.found


class _TooManyError(Exception):
    pass


class _Reader:
    def __init__(self, constants: Mapping[str, ast.expr]) -> None:
        self.found: list[Flag] = []
        self.repeated = 0
        self.constants = constants

    def read_block(self, body: list[ast.stmt], names: dict[str, ast.expr]) -> None:
        if names:
            self.repeated += len(body)
            if self.repeated > _MOST_REPEATED:
                raise _TooManyError
        for node in body:
            self._read_statement(node, names)

    def _read_statement(self, node: ast.stmt, names: dict[str, ast.expr]) -> None:
        if (
            isinstance(node, ast.For)
            and isinstance(node.target, ast.Name)
            and isinstance(node.iter, (ast.Tuple, ast.List))
        ):
            for item in node.iter.elts:
                self.read_block(node.body, {**names, node.target.id: item})
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.If, ast.With, ast.For, ast.While)):
            self.read_block(node.body, names)
            self.read_block(getattr(node, "orelse", []), names)
        elif isinstance(node, ast.Try):
            for block in (node.body, *(handler.body for handler in node.handlers), node.orelse):
                self.read_block(block, names)
        elif isinstance(node, (ast.Expr, ast.Assign)) and isinstance(node.value, ast.Call):
            _read_call(node.value, {**self.constants, **names} if self.constants else names, self.found)


def _read_call(call: ast.Call, names: dict[str, ast.expr], found: list[Flag]) -> None:
    if not (isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"):
        return
    given = {keyword.arg: _substitute(keyword.value, names) for keyword in call.keywords if keyword.arg}
    default = encode_node(given["default"], {}) if "default" in given else _implied_default(given)
    parts = [default.replace(" ", "") if default[:1] in "[({" else default]
    parts += [f"{key}={_describe(given[key])}" for key in _KEPT if key in given]
    group, is_whole = dotted(call.func.value), all(keyword.arg for keyword in call.keywords)
    for argument in call.args:
        text = _text(argument, names)
        if text.startswith("--"):
            found.append(Flag(text, " ".join(parts), group, call, is_whole))
            if "BooleanOptionalAction" in _describe(given.get("action", ast.Constant(""))):
                found.append(Flag(f"--no-{text[2:]}", " ".join(parts), group, call, is_whole))
        elif text and not text.startswith("-"):
            found.append(Flag(text, " ".join(["*", *parts[1:]]), group, call, is_whole))


def _implied_default(given: dict[str, ast.expr]) -> str:
    """argparse's own default where none is written."""
    action = read_string(given.get("action"))
    return {"store_true": "False", "store_false": "True"}.get(action, "None")


def _describe(node: ast.expr) -> str:
    text = read_string(node) or (
        last_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else encode_node(node, {})
    )
    return text.replace(", ", ",").replace(" ", "_")


def _text(node: ast.expr, names: dict[str, ast.expr]) -> str:
    """A string or an f-string whose parts are known, "" for others."""
    if isinstance(node, ast.JoinedStr):
        parts = [
            _text(part.value, names) if isinstance(part, ast.FormattedValue) else read_string(part)
            for part in node.values
        ]
        return "".join(parts) if all(parts) else ""
    return read_string(names.get(node.id) if isinstance(node, ast.Name) else node)


def _substitute(node: ast.expr, names: dict[str, ast.expr]) -> ast.expr:
    """An expression with the loop's name filled in: `1e-6 if prefix == "actor" else 9e-6`."""
    if isinstance(node, ast.Name):
        return names.get(node.id, node)
    if isinstance(node, ast.JoinedStr):
        text = _text(node, names)
        return ast.Constant(text) if text else node
    if isinstance(node, ast.IfExp) and isinstance(node.test, ast.Compare) and len(node.test.ops) == 1:
        left, right = (_substitute(side, names) for side in (node.test.left, node.test.comparators[0]))
        if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
            is_equal = left.value == right.value
            if isinstance(node.test.ops[0], ast.Eq):
                return node.body if is_equal else node.orelse
            if isinstance(node.test.ops[0], ast.NotEq):
                return node.orelse if is_equal else node.body
    return node
