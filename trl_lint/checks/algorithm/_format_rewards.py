"""A reward for the form of answers whose expression cannot match the form that the prompt shows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.algorithm._reward_functions import made_once
from trl_lint.python.guards import key_of
from trl_lint.python.module import FunctionNode, PythonModule, own_nodes
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_SEARCHES = {"re.match": 2, "re.search": 2, "re.fullmatch": 2, "re.findall": 2, "re.compile": 1}  # place of the flags
_PART = regex(r"<(\w{1,40})>[ ]?\(?(?:\.[*+]\??)\)?[ ]?</\1>")
_LONGEST = 400  # characters that a prompt shows between two tags


class Unmatched(NamedTuple):
    """An expression whose dot ends with the line, and the tag that a prompt shows over several lines."""

    node: ast.expr
    tag: str

    @property
    def message(self) -> str:
        return (
            f"gives no reward for the form that the prompt shows: there `<{self.tag}>` goes over several lines, and "
            "`.` does not match the end of a line; give `re.DOTALL`"
        )


def unmatched_form(module: PythonModule, function: FunctionNode, prompts: tuple[PythonModule, ...]) -> Unmatched | None:
    """The first expression of a reward function that cannot match what a prompt in some modules shows."""
    for call, pattern in _patterns(module, function):
        for part in _PART.finditer(pattern):
            if any(_shows_lines(text, part[1]) for text in _texts(prompts)):
                return Unmatched(call, part[1])
    return None


def _patterns(module: PythonModule, function: FunctionNode) -> Iterator[tuple[ast.expr, str]]:
    """The calls that search with an expression that is written out, without flags."""
    for node in own_nodes(function):
        place = _SEARCHES.get(key_of(node.func)) if isinstance(node, ast.Call) else None
        if place is None or not isinstance(node, ast.Call) or not node.args or len(node.args) > place or node.keywords:
            continue
        if place == 2 and len(node.args) == 2 and isinstance(node.args[1], ast.Call):
            continue  # the text may be on one line by then
        first = node.args[0]
        made = made_once(function, first.id) if isinstance(first, ast.Name) else first
        value = module.value(made if made is not None else first)
        if isinstance(value, str) and "(?" not in value:
            yield node, value


def _texts(modules: tuple[PythonModule, ...]) -> Iterator[str]:
    for module in modules:
        for node in module.of(ast.Constant):
            if isinstance(node.value, str) and "\n" in node.value and isinstance(module.parents[node], ast.Assign):
                yield node.value


def _shows_lines(text: str, tag: str) -> bool:
    """Whether a prompt has a tag with a line end behind it, its answer, and its end."""
    start = text.find(f"<{tag}>\n")
    end = text.find(f"</{tag}>", start)
    return 0 <= start < end <= start + _LONGEST
