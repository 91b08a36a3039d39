"""The configuration of a program that merges its command line into a dataclass of the project, as OmegaConf does it.

`OmegaConf.merge(OmegaConf.structured(Config()), OmegaConf.from_cli())`: a key that no class has stops the program
(ConfigKeyError, omegaconf/dictconfig.py of 2.3.0), a value of another kind is not judged here.
"""

from __future__ import annotations

import ast
from contextlib import suppress

from trl_lint import budget
from trl_lint.memos import per_module, per_project
from trl_lint.missing import UNKNOWN
from trl_lint.project import Project
from trl_lint.project.modules import imported_name
from trl_lint.python.guards import key_of
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple
from trl_lint.run.readers.hydra import Tree
from trl_lint.sources import SourceError

_DEEPEST = 12
_MOST_FIELDS = 5000
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
        tree = _Keys(project).of_class(*found, 0) if found is not None else None
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
    made, words = _Given(module), _Given(module)
    made.add(structured)
    for call in _calls(module, "from_cli"):
        words.add(call)
    is_merged = False
    for merge in sorted(_calls(module, "merge"), key=lambda call: (call.lineno, call.col_offset)):
        if made.has(merge.args[:1]):
            made.add(merge)
            is_merged = is_merged or words.has(merge.args[1:])
    return is_merged


class _Given:
    """Calls, and the names that are given what they return."""

    def __init__(self, module: PythonModule) -> None:
        self._module = module
        self._known: set[ast.expr | str] = set()

    def add(self, call: ast.Call) -> None:
        parent = self._module.parents.get(call)
        self._known |= {call, *(map(key_of, parent.targets) if isinstance(parent, ast.Assign) else ())}

    def has(self, given: list[ast.expr]) -> bool:
        """Whether one of some arguments is such a call, or such a name."""
        return any(one in self._known or (key_of(one) or None) in self._known for one in given)


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
            same = _classes(module).get(name, [])
            return (same[0], module) if len(same) == 1 else None
        found = imported_name(module, node, project)
        if found is None:
            return None
        module, name = found
        node = ast.Name(name, ast.Load())
    return None


@per_module
def _classes(module: PythonModule) -> dict[str, list[ast.ClassDef]]:
    found: dict[str, list[ast.ClassDef]] = {}
    for cls in module.classes:
        found.setdefault(cls.name, []).append(cls)
    return found


class _Keys:
    """Reads the keys of dataclasses, so many fields in all as one configuration may have."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.left = _MOST_FIELDS

    def of_class(self, cls: ast.ClassDef, module: PythonModule, depth: int) -> Tree | None:
        """Those of a dataclass, those of its bases before its own; None where one of these is not known."""
        if depth > _DEEPEST:
            budget.limit(_DEEPEST, "dataclasses more than {} deep in each other were not read", module.path)
            return None
        if not any(_last(one.func if isinstance(one, ast.Call) else one) == "dataclass" for one in cls.decorator_list):
            return None
        tree: Tree = {}
        for base in cls.bases:
            inherited = self.of_named(base, module, depth)
            if inherited is None:
                return None
            tree.update(inherited)
        for statement in cls.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                tree[statement.target.id] = self.of_field(statement.annotation, module, depth)
        return tree

    def of_field(self, annotation: ast.expr, module: PythonModule, depth: int) -> object:
        """Those below a field; None for a plain value, which has none, UNKNOWN where anything may be."""
        self.left -= 1
        if isinstance(annotation, ast.Name) and annotation.id in _PLAIN:
            return None
        if self.left <= 0:
            budget.limit(
                _MOST_FIELDS, "dataclasses with more than {} fields in all were not read to their end", module.path
            )
            return UNKNOWN
        below = self.of_named(annotation, module, depth)
        return UNKNOWN if below is None else below

    def of_named(self, node: ast.expr, module: PythonModule, depth: int) -> Tree | None:
        found = _class_of(node, module, self.project)
        return self.of_class(*found, depth + 1) if found is not None else None
