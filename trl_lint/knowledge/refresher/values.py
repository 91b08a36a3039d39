"""Defaults as short text: a Python literal where the value is known, else the expression between backquotes.

`*` is a parameter without a default. A bar never occurs inside a value: the histories separate releases with it.
"""

from __future__ import annotations

import ast

REQUIRED = "*"
_LONGEST_LITERAL = 160
_LONGEST_EXPRESSION = 60
# Calls that give their argument back, in other clothes (DeepSpeed: an int that prints as 5e8).
_TRANSPARENT_CALLS = {"pp_int"}


def encode(value: object) -> str:
    """The text of a literal value."""
    text = repr(value)
    if len(text) > _LONGEST_LITERAL:
        return _expression(text)
    return text.replace("|", "\\x7c") if "'" in text or '"' in text else text


def _is_stable(value: object) -> bool:
    """Whether repr gives the same text in every run: that of a set of strings does not."""
    if isinstance(value, dict):
        return all(map(_is_stable, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_is_stable, value))
    return not isinstance(value, (set, frozenset)) or len(value) < 2


def _expression(text: str) -> str:
    text = " ".join(text.replace("|", "¦").replace("`", "'").split())
    return f"`{text[:_LONGEST_EXPRESSION]}…`" if len(text) > _LONGEST_EXPRESSION else f"`{text}`"


def encode_node(node: ast.expr | None, constants: dict[str, ast.expr]) -> str:
    """The text of a default; `constants` are the names a module assigns exactly once at its top level."""
    if node is None or (isinstance(node, ast.Constant) and node.value is ...):
        return REQUIRED
    try:
        value = ast.literal_eval(node)
        return encode(value) if _is_stable(value) else _expression(ast.unparse(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pass
    if isinstance(node, ast.Name) and node.id in constants:
        known = encode_node(constants[node.id], {})
        return known if is_literal(known) else _expression(node.id)
    if isinstance(node, ast.Call) and last_name(node.func) in _TRANSPARENT_CALLS and len(node.args) == 1:
        return encode_node(node.args[0], constants)
    if isinstance(node, ast.Call) and last_name(node.func) == "get_field" and len(node.args) == 2:
        # vLLM's way to spell the default of another dataclass's field.
        owner, field = node.args
        if isinstance(owner, ast.Name) and isinstance(field, ast.Constant):
            return _expression(f"{owner.id}.{read_string(field)}")
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Pow, ast.Add, ast.Sub)):
        left, right = (encode_node(side, constants) for side in (node.left, node.right))
        if is_number(left) and is_number(right):
            return encode(_arithmetic(node.op, ast.literal_eval(left), ast.literal_eval(right)))
    return _expression(ast.unparse(node))


def _arithmetic(operator: ast.operator, left: float, right: float) -> float:
    if isinstance(operator, ast.Mult):
        return left * right
    if isinstance(operator, ast.Add):
        return left + right
    if isinstance(operator, ast.Sub):
        return left - right
    return float("nan") if abs(right) > 64 else left**right


def is_literal(text: str) -> bool:
    """Whether an encoded default is a known value."""
    return text != REQUIRED and not text.startswith("`")


def is_number(text: str) -> bool:
    return text[:1].isdigit() or (text[:1] == "-" and text[1:2].isdigit())


def encode_field(node: ast.expr | None, constants: dict[str, ast.expr]) -> tuple[str, bool, list[str], str]:
    """What `name: type = node` in a class body says: (default, whether the constructor takes it, other names, help
    text).

    Understands `dataclasses.field`, pydantic's `Field` and msgspec's `field`.
    """
    if not isinstance(node, ast.Call) or last_name(node.func) not in ("field", "Field"):
        return encode_node(node, constants), True, [], ""
    given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    default = given.get("default", node.args[0] if node.args else None)
    if default is not None:
        text = encode_node(default, constants)
    elif "default_factory" in given:
        text = _encode_factory(given["default_factory"], constants)
    else:
        text = REQUIRED
    in_init = not (isinstance(given.get("init"), ast.Constant) and ast.literal_eval(given["init"]) is False)
    # `validation_alias` may also be an AliasChoices object; only plain names are taken.
    aliases = [read_string(given[key]) for key in ("alias", "validation_alias") if key in given]
    help_text = _read_help(given)
    return text, in_init, [alias for alias in aliases if alias], help_text


def _encode_factory(node: ast.expr, constants: dict[str, ast.expr]) -> str:
    if isinstance(node, ast.Lambda):
        return encode_node(node.body, constants)
    if isinstance(node, ast.Name) and node.id in ("dict", "list"):
        return {"dict": "{}", "list": "[]"}[node.id]
    return _expression(f"{ast.unparse(node)}()")


def _read_help(given: dict[str, ast.expr]) -> str:
    metadata = given.get("metadata")
    if isinstance(metadata, ast.Dict):
        for key, value in zip(metadata.keys, metadata.values, strict=False):
            if key is not None and read_string(key) == "help":
                return template(value) or ""
    if "description" in given:
        return template(given["description"]) or ""
    return ""


def read_string(node: ast.AST | None) -> str:
    """The text of a string constant, "" for anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def template(node: ast.expr) -> str | None:
    """The text a string expression gives, with {} for the parts only known at run time; None if it is no text."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(read_string(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        left = template(node.left)
        if isinstance(node.op, ast.Mod):
            return left
        right = template(node.right)
        return None if left is None and right is None else f"{left if left is not None else '{}'}{right or '{}'}"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("format", "strip"):
        return template(node.func.value)
    return None


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name, "" for other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def dotted(node: ast.expr) -> str:
    """A dotted name as text, "" for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""
