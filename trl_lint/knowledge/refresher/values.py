"""What a field of a class says of its default, and the text of messages, as the histories write them down."""

from __future__ import annotations

import ast

from trl_lint.python.default_text import REQUIRED, encode_node, expression, last_name, read_string


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
    return expression(f"{ast.unparse(node)}()")


def _read_help(given: dict[str, ast.expr]) -> str:
    metadata = given.get("metadata")
    if isinstance(metadata, ast.Dict):
        for key, value in zip(metadata.keys, metadata.values, strict=False):
            if key is not None and read_string(key) == "help":
                return template(value) or ""
    if "description" in given:
        return template(given["description"]) or ""
    return ""


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
