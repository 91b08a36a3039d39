"""The configuration of a program that merges its command line into a dataclass of the project, as OmegaConf does it.

`OmegaConf.merge(OmegaConf.structured(Config()), OmegaConf.from_cli())`: a key that no class has stops the program
(ConfigKeyError, omegaconf/dictconfig.py of 2.3.0), a value of another kind is not judged here.
"""

from __future__ import annotations

import ast
from contextlib import suppress

from trl_lint import budget
from trl_lint.memos import per_project
from trl_lint.missing import UNKNOWN
from trl_lint.project import Project
from trl_lint.project.modules import imported_name
from trl_lint.python.guards import key_of
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple
from trl_lint.run.readers.hydra import Tree
from trl_lint.sources import SourceError

_DEEPEST = 12
_OPENING = frozenset(("set_struct", "open_dict", "update", "masked_copy", "setattr", "delattr"))
_PLAIN = frozenset(("int", "float", "str", "bool", "bytes", "Path"))


class Structured(NamedTuple):
    """The keys that such a program takes, the file of their outermost class, and what it takes off the words itself."""

    tree: Tree
    path: str
    taken_off: frozenset[str]


@per_project
def read_structured(path: str, project: Project) -> Structured | None:
    """What the script at `path` merges its words into; None for all else."""
    with suppress(OSError, SourceError):
        if not project.files.holds(path, b"OmegaConf.from_cli(") or not project.files.holds(
            path, b"OmegaConf.structured("
        ):
            return None
        module = project.module_in(path)
        made_from = _calls(module, "structured")
        if len(made_from) != 1 or not _is_merged(made_from[0], module) or _is_open(module):
            return None
        (made,) = made_from[0].args[:1] or (None,)
        found = _class_of(made.func if isinstance(made, ast.Call) else made, module, project)
        tree = _tree(*found, project, 0) if found is not None else None
        if found is None or not isinstance(tree, dict):
            return None
        taken = (call.args[0] for call in module.calls if _last(call.func) == "pop" and call.args)
        names = frozenset(str(one.value) for one in taken if isinstance(one, ast.Constant))
        return Structured(tree, found[1].path, names)
    return None


def _calls(module: PythonModule, name: str) -> list[ast.Call]:
    return [call for call in module.calls if key_of(call.func) == f"OmegaConf.{name}"]


def _is_merged(structured: ast.Call, module: PythonModule) -> bool:
    """Whether the words of the command are merged into what was made of the class, which comes before all else."""
    made: set[ast.expr] = {structured}
    words: set[ast.expr] = set(_calls(module, "from_cli"))
    merges = _calls(module, "merge")
    for _ in merges:
        made |= {one for one in merges if _stands_for(one.args[:1], made, module)}
    return any(one in made and _stands_for(one.args[1:], words, module) for one in merges)


def _stands_for(given: list[ast.expr], calls: set[ast.expr], module: PythonModule) -> bool:
    """Whether an argument is one of these calls, or a name that one of them is given to."""
    names = {
        key_of(target)
        for call in calls
        if isinstance(parent := module.parents.get(call), ast.Assign)
        for target in parent.targets
    }
    return any(one in calls or (key_of(one) and key_of(one) in names) for one in given)


def _is_open(module: PythonModule) -> bool:
    """Whether the script lets keys pass that no class has, or takes words away in another way."""
    return any(_last(call.func) in _OPENING for call in module.calls) or bool(module.of(ast.Delete))


def _last(node: ast.expr) -> str:
    return key_of(node).rpartition(".")[2]


def _class_of(
    node: ast.expr | None, module: PythonModule, project: Project
) -> tuple[ast.ClassDef, PythonModule] | None:
    """The class of the project that an expression names, and its module; by way of packages that hand it on."""
    for _ in range(_DEEPEST):
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return None
        name = _last(node)
        if isinstance(node, ast.Name) and not module.names.is_imported(node.id):
            same = [cls for cls in module.classes if cls.name == name]
            return (same[0], module) if len(same) == 1 else None
        found = imported_name(module, node, project)
        if found is None:
            return None
        module, name = found
        node = ast.Name(name, ast.Load())
    return None


def _tree(cls: ast.ClassDef, module: PythonModule, project: Project, depth: int) -> Tree | None:
    """The keys of a dataclass, those of its bases before its own; None where one of these is not known."""
    if depth > _DEEPEST:
        budget.limit(_DEEPEST, "dataclasses more than {} deep in each other were not read", module.path)
        return None
    if not any(_last(one.func if isinstance(one, ast.Call) else one) == "dataclass" for one in cls.decorator_list):
        return None
    tree: Tree = {}
    for base in cls.bases:
        found = _class_of(base, module, project)
        inherited = _tree(*found, project, depth + 1) if found is not None else None
        if inherited is None:
            return None
        tree.update(inherited)
    for statement in cls.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            tree[statement.target.id] = _field(statement.annotation, module, project, depth)
    return tree


def _field(annotation: ast.expr, module: PythonModule, project: Project, depth: int) -> object:
    """The keys below a field; None for a plain value, which has none, UNKNOWN where anything may be."""
    if isinstance(annotation, ast.Name) and annotation.id in _PLAIN:
        return None
    found = _class_of(annotation, module, project)
    below = _tree(*found, project, depth + 1) if found is not None else None
    return UNKNOWN if below is None else below
