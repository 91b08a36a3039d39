"""The values that a flag takes, where its dataclass lists them: HfArgumentParser makes choices of argparse of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.knowledge.refresher.conditions_declared import allowed_values
from trl_lint.knowledge.refresher.conditions_source import ClassSource, Sources


def choices_of_flags(sources: Sources, modules: tuple[str, ...]) -> Iterator[tuple[ClassSource, str, str, int]]:
    """The dataclasses of `modules` (names, or beginnings with a star), each with a field, its values and the line.

    The values are texts, as a command gives them: None is `None`.
    """
    for name in sorted(sources.modules):
        if not any(name.startswith(each[:-1]) if each.endswith("*") else name == each for each in modules):
            continue
        for cls in sources.modules[name].classes.values():
            for field, node in cls.fields.items() if cls.is_dataclass else ():
                members = [term.parts[0] for term in allowed_values(sources, cls.module, node.annotation) or ()]
                members = members or _in_metadata(node.value)
                if members and not any(isinstance(member, bool) for member in members):
                    yield cls, field, repr(tuple(map(str, members))), node.lineno


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
