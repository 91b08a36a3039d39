"""Files that `torch.load` reads and the same project writes with `torch.save`."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from trl_lint import budget
from trl_lint.finding import Location
from trl_lint.memos import per_module, read_per_project
from trl_lint.paths import is_test_file
from trl_lint.project import Project
from trl_lint.python.guards import bindings, key_of, last_name
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import SourceError

_NAMES_DEEP = 5  # from name to name; then it is no checkpoint that is known
_MOST_VALUES = 3  # of a name; one with more is unknown
_MOST_SAVED = 200
_HOLE = "{}"
# Calls that change where a file is, and not which file it is.
_SAME_FILE = regex(r"(?:^|_)(?:Path|str|fspath|abspath|realpath|normpath|expanduser|open|copy|local)(?:$|_)")
# The formats in which weights are handed around: a file of this name may come from anybody.
_EXCHANGED = (".bin", ".safetensors", ".gguf", ".npz")
_FEWEST_KEYS = 2
# A module that fetches models may read such a file of one that somebody else has trained.
_FETCHES = ("from_pretrained(", "snapshot_download", "hf_hub_download", "cached_file", "load_state_dict_from_url")


class Saved(NamedTuple):
    """A `torch.save`: what the name of the file looks like (`{}` for what is not known), and the keys of its dict.

    `written`: how the file is written, with the function in which it is. `is_state`: what is saved are states, and
    literals beside them, which torch loads without unpickling anything else.
    """

    path: str
    names: frozenset[str]
    keys: frozenset[str]
    place: Location
    written: tuple[str, str]
    is_state: bool


def written_by_project(call: ast.Call, module: PythonModule, project: Project) -> Saved | None:
    """Where the project writes the file that a `torch.load` reads, as far as its name or its keys tell; else None.

    A name with a part that is not known (`rank_{}.pt`) tells everywhere, a plain one (`data.pt`) in its own module, if
    that fetches no models; the same expression tells in its own function. A dict tells by the keys that are read of it:
    all of them were saved together.
    """
    written = _written(argument(call, "f", 0), module, call)
    fetches = any(word in module.text for word in _FETCHES)
    names, keys = _names_of(argument(call, "f", 0), module, call), _keys_read(call, module)
    for saved in _all_saved(project):
        shared = names & saved.names
        is_own_name = any(_HOLE in name or (saved.path == module.path and not fetches) for name in shared)
        is_same = bool(written[0]) and saved.path == module.path and saved.written == written
        if is_same or is_own_name or (len(keys) >= _FEWEST_KEYS and keys <= saved.keys):
            return saved
    return None


@read_per_project
def _all_saved(project: Project) -> list[Saved]:
    """What the files of the project save."""
    paths = [path for path in project.paths if path.endswith(".py") and not is_test_file(path)]
    found = (saved for path in paths if _saves(path, project) for saved in _read_saved(path, project))
    first = list(islice(found, _MOST_SAVED + 1))
    if len(first) > _MOST_SAVED:
        what = "files of its project save more than {} checkpoints; the others were not looked at"
        budget.limit(_MOST_SAVED, what, first[-1].path)
    return first[:_MOST_SAVED]


def _saves(path: str, project: Project) -> bool:
    with suppress(OSError, SourceError):
        return project.files.holds(path, b"torch.save(")
    return False


def _read_saved(path: str, project: Project) -> list[Saved]:
    with suppress(OSError, SourceError):
        return list(_saved_in(project.module_in(path)))
    return []


def _saved_in(module: PythonModule) -> Iterator[Saved]:
    for call in module.calls:
        if "torch.save" in module.names.origins(call.func):
            names = _names_of(argument(call, "f", 1), module, call)
            place = module.location(call, "this project writes such a file")
            saved = argument(call, "obj", 0)
            yield Saved(
                module.path,
                names,
                _keys_written(saved, module, call),
                place,
                _written(argument(call, "f", 1), module, call),
                isinstance(saved, ast.expr) and _is_state(saved, module, call, 0),
            )


def _written(node: object, module: PythonModule, near: ast.AST) -> tuple[str, str]:
    """An expression as it is written, and the function around a place; "" for what is none."""
    function = module.function(near)
    name = f"{function.name}:{function.lineno}" if function is not None else ""
    return (ast.unparse(node) if isinstance(node, ast.expr) else "", name)


def _is_state(node: ast.expr, module: PythonModule, near: ast.AST, depth: int) -> bool:
    """Whether a value is certainly a `state_dict()`, or a dict of such and of literals."""
    if isinstance(node, ast.Call):
        return last_name(node.func) == "state_dict"
    if isinstance(node, ast.Dict):
        return any(not isinstance(value, ast.Constant) for value in node.values) and all(
            isinstance(value, ast.Constant) or _is_state(value, module, near, depth) for value in node.values
        )
    values = _bound(node, module, near) if isinstance(node, ast.Name) and depth < _NAMES_DEEP else []
    return bool(values) and all(_is_state(value, module, near, depth + 1) for value in values)


# -- names ------------------------------------------------------------------------------------------------------------


def _names_of(node: object, module: PythonModule, near: ast.AST) -> frozenset[str]:
    found = _names(node, module, near, 0) if isinstance(node, ast.expr) else frozenset[str]()
    return frozenset(name for name in found if name.replace(_HOLE, "") not in ("", ".pt", ".pth", ".ckpt"))


def _names(node: ast.expr, module: PythonModule, near: ast.AST, depth: int) -> frozenset[str]:
    """What the last part of a path may look like."""
    text = _text(node)
    if text is not None:
        name = os.path.basename(text)
        return frozenset() if name.endswith(_EXCHANGED) or name == _HOLE else frozenset({name})
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Add)):
        return _names(node.right, module, near, depth)
    if isinstance(node, ast.Call) and node.args and depth < _NAMES_DEEP:
        name = last_name(node.func)
        if name == "join":
            return _names(node.args[-1], module, near, depth)
        return _names(node.args[0], module, near, depth + 1) if _SAME_FILE.search(name) else frozenset()
    values = _bound(node, module, near) if depth < _NAMES_DEEP else []
    return frozenset(name for value in values for name in _names(value, module, near, depth + 1))


def _bound(node: ast.expr, module: PythonModule, near: ast.AST) -> list[ast.expr]:
    """What a name is assigned in the function of a place, else anywhere in the module."""
    values = bindings(module).get(key_of(node), [])
    function = module.function(near)
    found = [value for value in values if module.function(value) is function] or values
    return found if len(found) <= _MOST_VALUES else []


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not isinstance(node, ast.JoinedStr):
        return None
    return "".join(str(part.value) if isinstance(part, ast.Constant) else _HOLE for part in node.values)


# -- keys -------------------------------------------------------------------------------------------------------------


def _keys_written(node: object, module: PythonModule, near: ast.AST) -> frozenset[str]:
    values = [node] if isinstance(node, ast.Dict) else _bound(node, module, near) if isinstance(node, ast.Name) else []
    keys = [key for value in values if isinstance(value, ast.Dict) for key in value.keys]
    return frozenset(key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


def _keys_read(call: ast.Call, module: PythonModule) -> frozenset[str]:
    """The keys that a function reads of what it loads: `state = torch.load(…); state["step"], state["model"]`."""
    assign = module.parents.get(call)
    name = key_of(assign.targets[0]) if isinstance(assign, ast.Assign) else ""
    return _read_by_name(module).get((module.function(call), name), frozenset()) if name else frozenset()


@per_module
def _read_by_name(module: PythonModule) -> dict[tuple[ast.AST | None, str], frozenset[str]]:
    """The literal keys that are read in each function, by what they are read of."""
    table: dict[tuple[ast.AST | None, str], set[str]] = {}
    for node in module.of(ast.Subscript):
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            table.setdefault((module.function(node), key_of(node.value)), set()).add(node.slice.value)
    return {place: frozenset(keys) for place, keys in table.items()}
