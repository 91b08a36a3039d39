"""The values that a flag takes, where its dataclass lists them: HfArgumentParser makes choices of argparse of them."""

from __future__ import annotations

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
                members = allowed_values(sources, cls.module, node.annotation)
                if members and not any(isinstance(member.parts[0], bool) for member in members):
                    values = tuple(str(member.parts[0]) for member in members)
                    yield cls, field, repr(values), node.lineno
