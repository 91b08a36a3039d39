"""The places of a project that set environment variables, each with its value and with what it takes to rename it."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from collections.abc import Mapping as Values
from functools import lru_cache

from trl_lint.finding import Edit, Location
from trl_lint.project.documents import Document
from trl_lint.project.launches import Launch
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.nodes import Mapping, Scalar, find
from trl_lint.sources.shell import Word

# A variable that is used, or a word that is more than the name in an assignment.
_USED = regex(r"\$\{?!?(?P<used>[A-Za-z_]\w*)|(?<![\w$])(?P<named>[A-Za-z_]\w*)\b(?!=)")


class Setting(NamedTuple):
    """`name=value`, where it stands.

    `value` is None where nobody can tell. `beside` are the variables that are set for the same program, by name, and in
    Python, as empty, the names that stand in the file;
    `rename` gives the edit for another name, None where the name is used elsewhere too or is not written there.
    """

    name: str
    value: str | None
    location: Location
    beside: Values[str, str | None]
    rename: Callable[[str], Edit] | None


def launch_settings(launch: Launch) -> Iterator[Setting]:
    """The variables that a command certainly gets, and which the text of its file sets."""
    from trl_lint.knowledge.variables import is_known

    known = [name for name in launch.env.names() if is_known(name)]
    words = {name: launch.env.get(name) for name in launch.env.names()} if known else {}
    beside = {name: word.text for name, word in words.items() if word is not None}
    for name in known:
        word = words[name]
        if word is not None and word.text is not None:
            yield _of_word(name, word, launch.source, beside)


def _of_word(name: str, word: Word, source: Source, beside: Values[str, str | None]) -> Setting:
    start = word.start - len(name) - 1
    text = source.text
    is_written = start >= 0 and text[start : word.start] == f"{name}="
    location = source.location(start if is_written else word.start, word.end)
    rename = None
    if is_written and name not in names_used(text):
        rename = _renaming(source, start, word.start - 1)
    return Setting(name, word.text, location, beside, rename)


def _renaming(source: Source, start: int, end: int) -> Callable[[str], Edit]:
    return lambda name: source.edit(start, end, name)


@lru_cache(maxsize=4)
def names_used(text: str) -> frozenset[str]:
    """The words of a shell text that are more than assigned: variables that it uses, and all other names."""
    return frozenset(found["used"] or found["named"] for found in _USED.finditer(text))


def dockerfile_settings(source: Source) -> Iterator[Setting]:
    """The variables of the ENV instructions of a Dockerfile."""
    from trl_lint.sources.dockerfile import environment_variables

    found = list(environment_variables(source))
    beside = {name: word.text for name, word in found}
    for name, word in found:
        yield _of_word(name, word, source, beside)


def recipe_settings(document: Document) -> Iterator[Setting]:
    """The variables that the command line of TRL sets for a recipe: its `env:`."""
    table = find(document.root, document.definition.holds.environment)
    entries = [one for one in table.entries if isinstance(one.value, Scalar)] if isinstance(table, Mapping) else []
    # TRL puts `str(value)` into the environment.
    beside = {
        entry.key.value: None if entry.value.value is None else str(entry.value.value)
        for entry in entries
        if isinstance(entry.key.value, str) and isinstance(entry.value, Scalar)
    }
    for entry in entries:
        if not isinstance(entry.key.value, str):
            continue
        value = beside[entry.key.value]
        place = document.source.location(entry.key.start, entry.value.end)
        rename = None if entry.key.quoted else _renaming(document.source, entry.key.start, entry.key.end)
        yield Setting(entry.key.value, value, place, beside, rename)


def python_settings(module: PythonModule) -> Iterator[Setting]:
    """What a Python file sets: `os.environ["X"] = …`, `os.environ.setdefault("X", …)`, `os.putenv("X", …)`, and
    `{"env_vars": {"X": …}}`, as Ray has it.
    """
    from trl_lint.python.version_guards import is_guarded

    uses: dict[str, int] = {}
    for constant in module.of(ast.Constant):
        if isinstance(constant.value, str):
            uses[constant.value] = uses.get(constant.value, 0) + 1
    assigned = [(node, key, module.value(value)) for node, key, value in _all_assigned(module)]
    beside = dict.fromkeys(uses, "") | {
        key.value: found if isinstance(found, str) else None for _, key, found in assigned if isinstance(key.value, str)
    }
    for node, key, found in assigned:
        if not isinstance(key.value, str) or is_guarded(module, node):
            continue
        start, end = module.span(key)
        quote = module.source.text[start]
        plain = module.source.text[start:end] == f"{quote}{key.value}{quote}" and uses[key.value] == 1
        yield Setting(
            key.value,
            found if isinstance(found, str) else None,
            module.location(node),
            beside,
            _renaming(module.source, start + 1, end - 1) if plain else None,
        )


def _all_assigned(module: PythonModule) -> Iterator[tuple[ast.AST, ast.Constant, ast.expr]]:
    """Where a variable is set, its name and its value."""
    for node in ast.walk(module.tree):
        key: ast.expr | None = None
        value: ast.expr
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
            target = node.targets[0]
            if "os.environ" in module.names.origins(target.value):
                key, value = target.slice, node.value
        elif isinstance(node, ast.Call) and len(node.args) == 2:
            if module.names.origins(node.func) & {"os.environ.setdefault", "os.putenv"}:
                key, value = node.args
        elif isinstance(node, ast.Dict):
            for name, one in _ray_variables(node):
                yield name, name, one
        if isinstance(key, ast.Constant):
            yield node, key, value


def _ray_variables(node: ast.Dict) -> Iterator[tuple[ast.Constant, ast.expr]]:
    for key, held in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == "env_vars" and isinstance(held, ast.Dict):
            for name, value in zip(held.keys, held.values, strict=True):
                if isinstance(name, ast.Constant):
                    yield name, value


def is_dockerfile(path: str) -> bool:
    from trl_lint.project.pins import kind_of

    return kind_of(os.path.normpath(path)) == "dockerfile"
