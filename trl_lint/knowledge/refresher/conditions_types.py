"""The types that pydantic asks of a field, as text: `None|int`, `list[str]|str`, `'auto'|bool`; "" for any other."""

from __future__ import annotations

import ast

from trl_lint.knowledge.refresher.conditions_declared import allowed_values, is_model, validator_mode, validators
from trl_lint.knowledge.refresher.conditions_source import ClassSource, Sources
from trl_lint.python.default_text import last_name

_PLAIN = {
    "bool": "bool", "int": "int", "float": "float", "str": "str", "dict": "dict", "Dict": "dict", "list": "list",
    "List": "list", "PositiveInt": "int", "NonNegativeInt": "int", "PositiveFloat": "float",
    "NonNegativeFloat": "float",
}  # fmt: skip
_DEEPEST = 8
_LONGEST = 120  # characters of a type; longer ones list what a library offers


def type_of(sources: Sources, module: str, annotation: ast.expr) -> str:
    """The type of an annotation. A model is `dict`, unless a validator of its own may take something else."""
    found = _members(sources, module, annotation, 0)
    text = "|".join(sorted(set(found))) if found and "" not in found else ""
    return text if len(text) <= _LONGEST else ""


def _members(sources: Sources, module: str, node: ast.expr, depth: int) -> list[str]:
    """What a union is made of; "" for a part that is not known."""
    if depth > _DEEPEST:
        return [""]
    if isinstance(node, ast.Constant) and node.value is None:
        return ["None"]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return _members(sources, module, ast.parse(node.value, mode="eval").body, depth + 1)
        except SyntaxError:
            return [""]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [each for part in (node.left, node.right) for each in _members(sources, module, part, depth + 1)]
    values = allowed_values(sources, module, node)
    if values:
        return [repr(value.parts[0]) for value in values]
    if isinstance(node, ast.Subscript):
        return _subscript(sources, module, node, depth)
    name = last_name(node)
    home, _, original = sources.resolve(f"{module}:{name}").partition(":")
    source = sources.modules.get(home)
    if source is not None and original in source.classes:
        return [_of_class(sources, source.classes[original])]
    if source is not None and original in source.values:
        return _members(sources, home, source.values[original], depth + 1)
    return [_PLAIN.get(name, "")]


def _subscript(sources: Sources, module: str, node: ast.Subscript, depth: int) -> list[str]:
    name = last_name(node.value)
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name in ("Optional", "Union"):
        found = [each for item in items for each in _members(sources, module, item, depth + 1)]
        return [*found, "None"] if name == "Optional" else found
    if name == "Annotated":
        # What stands beside the type may only narrow it, but a validator may take what the type does not.
        calls = {last_name(each.func) for each in items[1:] if isinstance(each, ast.Call)}
        is_plain = calls <= {"Field", "MinLen", "MaxLen", "Ge", "Gt", "Le", "Lt", "StringConstraints"}
        return _members(sources, module, items[0], depth + 1) if is_plain else [""]
    if name in ("list", "List"):
        inner = type_of(sources, module, items[0])
        return [f"list[{inner}]" if inner else "list"]
    return ["dict"] if name in ("dict", "Dict") else [""]


def _of_class(sources: Sources, cls: ClassSource) -> str:
    return "dict" if is_model(sources, cls) and not takes_others(sources, cls) else ""


def takes_others(sources: Sources, cls: ClassSource) -> bool:
    """Whether a model may make something of its values before it looks at their types, or be made of no mapping."""
    own = [each for each in sources.order(cls) if isinstance(each, ClassSource)]
    if any("__get_pydantic_core_schema__" in each.functions for each in own):
        return True
    return any(validator_mode(call)[1] not in ("after", "") for each in own for _, call in validators(each))
