"""The values that a flag takes, as its dataclass declares them for HfArgumentParser: choices and types of argparse."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.knowledge.refresher.conditions_declared import allowed_values
from trl_lint.knowledge.refresher.conditions_source import ClassSource, Sources
from trl_lint.python.default_text import last_name

_SIMPLE = ("int", "float", "bool", "str")
_LISTS = ("List", "list")


def choices_of_flags(sources: Sources, modules: tuple[str, ...]) -> Iterator[tuple[ClassSource, str, str, int]]:
    """The dataclasses of `modules` (names, or beginnings with a star), each with a field, its values and the line.

    The values are texts, as a command gives them: None is `None`.
    """
    for cls, field, node in _fields(sources, modules):
        members = [term.parts[0] for term in allowed_values(sources, cls.module, node.annotation) or ()]
        members = members or _in_metadata(node.value)
        if members and not any(isinstance(member, bool) for member in members):
            yield cls, field, repr(tuple(map(str, members))), node.lineno


def types_of_flags(sources: Sources, modules: tuple[str, ...]) -> Iterator[tuple[ClassSource, str, str, int]]:
    """The same classes, each with a field, the type of its values and the line; `int+` takes one or more.

    Not those whose default says it: it is of that type. Nor texts, of which nothing is refused.
    """
    for cls, field, node in _fields(sources, modules):
        kind = flag_type(node.annotation)
        default = node.value.value if isinstance(node.value, ast.Constant) else None
        if kind not in ("", "str") and type(default).__name__ != kind:
            yield cls, field, kind, node.lineno


def flag_type(annotation: ast.expr) -> str:
    """`int` of `int`, `Optional[int]` and `int | None`, `int+` of `List[int]`, "" where it is none of these."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return flag_type(ast.parse(annotation.value, mode="eval").body)
        except SyntaxError:
            return ""
    parts = _parts(annotation)
    if len(parts) != 1:
        return ""
    if isinstance(parts[0], ast.Name):
        return parts[0].id if parts[0].id in _SIMPLE else ""
    if isinstance(parts[0], ast.Subscript) and last_name(parts[0].value) in _LISTS:
        inner = parts[0].slice
        return f"{inner.id}+" if isinstance(inner, ast.Name) and inner.id in _SIMPLE else ""
    return ""


def _parts(annotation: ast.expr) -> list[ast.expr]:
    """What a union is made of, without None."""
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return [*_parts(annotation.left), *_parts(annotation.right)]
    if isinstance(annotation, ast.Subscript) and last_name(annotation.value) in ("Optional", "Union"):
        items = annotation.slice
        return [each for item in (items.elts if isinstance(items, ast.Tuple) else [items]) for each in _parts(item)]
    is_none = isinstance(annotation, ast.Constant) and annotation.value is None
    return [] if is_none else [annotation]


def _fields(sources: Sources, modules: tuple[str, ...]) -> Iterator[tuple[ClassSource, str, ast.AnnAssign]]:
    """The fields of the dataclasses of modules: names, or beginnings with a star."""
    for name in sorted(sources.modules):
        if any(name.startswith(each[:-1]) if each.endswith("*") else name == each for each in modules):
            for cls in sources.modules[name].classes.values():
                for field, node in cls.fields.items() if cls.is_dataclass else ():
                    yield cls, field, node


def _in_metadata(default: ast.expr | None) -> list[object]:
    """`field(metadata={"choices": ["fp4", "nf4"]})`."""
    for keyword in default.keywords if isinstance(default, ast.Call) else ():
        if keyword.arg == "metadata" and isinstance(keyword.value, ast.Dict):
            for key, value in zip(keyword.value.keys, keyword.value.values, strict=True):
                if (
                    isinstance(key, ast.Constant)
                    and key.value == "choices"
                    and isinstance(value, (ast.List, ast.Tuple))
                ):
                    items = [item.value for item in value.elts if isinstance(item, ast.Constant)]
                    return list(items) if len(items) == len(value.elts) else []
    return []
