"""Classes whose releases are known: named by an import, or classes of the file below one of those."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from trl_lint import budget
from trl_lint.finding import Location
from trl_lint.memos import per_module
from trl_lint.project.stack import PACKAGES
from trl_lint.python.guards import key_of
from trl_lint.python.module import PythonModule, nodes_in
from trl_lint.records import NamedTuple

_CLASSES_DEEP = 4
# What lets a class have attributes that cannot be read from its body.
_OPEN = frozenset(
    {"__new__", "__getattr__", "__getattribute__", "__init_subclass__", "__dict__", "setattr", "vars", "delattr"}
)


class Argument(NamedTuple):
    """A keyword that a call passes: its name, and the node that spells it (a keyword, or the key of a `**{…}`).

    `home`: the module of the node, if that is another than the one of the call.
    """

    name: str
    node: ast.keyword | ast.expr
    home: PythonModule | None = None

    def place(self, module: PythonModule) -> Location:
        """Where it is spelled; `module`: that of the call."""
        return (self.home or module).location(self.node)


class Callee(NamedTuple):
    """What a call reaches: a dotted public name, and the keywords that a class of the file adds to it."""

    dotted: str
    own: frozenset[str]

    @property
    def package(self) -> str:
        return self.dotted.partition(".")[0]

    @property
    def name(self) -> str:
        return self.dotted.rpartition(".")[2]

    @property
    def title(self) -> str:
        """The name for a reader: `LLM.generate` for a method."""
        owner = self.dotted.rpartition(".")[0].rpartition(".")[2]
        return f"{owner}.{self.name}" if owner[:1].isupper() else self.name


def imported(node: ast.expr, module: PythonModule) -> Callee | None:
    """The name of a package that an expression certainly stands for."""
    first = key_of(node).partition(".")[0]
    if not first or not module.names.is_imported(first) or not module.names.is_certain(node):
        return None
    origins = module.names.origins(node)
    if len(origins) != 1:  # two names that are assigned to each other
        return None
    (origin,) = origins
    return Callee(origin, frozenset()) if origin.partition(".")[0] in PACKAGES and "." in origin else None


def may_name_known(node: ast.expr, module: PythonModule) -> bool:
    """Whether an expression may name something of a known package or a class of the file, by its first name.

    Of a thousand calls a dozen are ours; this lets the others go at the price of a look into a set.
    """
    first = root_of(node)
    return isinstance(first, ast.Name) and first.id in _first_names(module)


@per_module
def _first_names(module: PythonModule) -> set[str]:
    """The names that something of a known package, or a class of the file, may begin with."""
    return module.names.imported_from(PACKAGES) | {cls.name for cls in module.classes}


def root_of(node: ast.expr) -> ast.expr:
    """What stands before the first dot: the `trl` of `trl.trainer.GRPOConfig`."""
    while type(node) is ast.Attribute:
        node = node.value
    return node


@per_module
def own_classes(module: PythonModule) -> dict[str, ast.ClassDef]:
    """The classes of the file by name; of two with one name none."""
    counts = Counter(cls.name for cls in module.classes)
    return {cls.name: cls for cls in module.classes if counts[cls.name] == 1}


def own_class(node: ast.expr, module: PythonModule) -> ast.ClassDef | None:
    """The class of the file that an expression names."""
    if not isinstance(node, ast.Name) or module.names.is_imported(node.id):
        return None
    return own_classes(module).get(node.id)


def _is_too_deep(depth: int, cls: ast.ClassDef, module: PythonModule) -> bool:
    if depth <= _CLASSES_DEEP:
        return False
    start, _ = module.span(cls)
    budget.limit(_CLASSES_DEEP + 1, "bases of bases more than {} classes away were not read", module.path, start)
    return True


def constructed(cls: ast.ClassDef, module: PythonModule, depth: int = 0) -> Callee | None:
    """What constructing a class of the file calls; None if the class has its own say in that."""
    names = [getattr(statement, "name", "") for statement in cls.body]
    if "__init__" in names or "__new__" in names or cls.keywords or _is_too_deep(depth, cls, module):
        return None
    base = base_of(cls, module, depth)
    decorators = _decorators(cls)
    if base is None or any(name != "dataclass" for name in decorators):
        return None
    fields = {
        statement.target.id
        for statement in cls.body
        if decorators and isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }
    return Callee(base.dotted, base.own | fields)


def base_of(cls: ast.ClassDef, module: PythonModule, depth: int = 0) -> Callee | None:
    """The constructor that a class with exactly one base inherits."""
    if len(cls.bases) != 1 or _is_too_deep(depth, cls, module):
        return None
    base = own_class(cls.bases[0], module)
    if base is not None:
        return constructed(base, module, depth + 1) if base is not cls else None
    return imported(cls.bases[0], module)


def instances(node: ast.expr, module: PythonModule, depth: int = 0) -> Callee | None:
    """What the objects of a class are made of: the imported class, and all that classes of the file add to it.

    None where the class is not understood: several bases, a metaclass, a decorator, a say in how attributes are found.
    """
    cls = own_class(node, module)
    if cls is None:
        return imported(node, module)
    if len(cls.bases) != 1 or cls.keywords or _is_too_deep(depth, cls, module):
        return None
    if any(name != "dataclass" for name in _decorators(cls)):
        return None
    own = _names_in(cls, module)
    if own & _OPEN:
        return None
    base = instances(cls.bases[0], module, depth + 1)
    return None if base is None else Callee(base.dotted, base.own | own)


@per_module
def _names_in(cls: ast.ClassDef, module: PythonModule) -> set[str]:
    """What a class defines or assigns anywhere, and what it uses of the ways to say how attributes are found."""
    own: set[str] = set()
    for part in nodes_in(cls):
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            own.add(part.name)
        elif isinstance(part, ast.Name) and (part.id in _OPEN or isinstance(part.ctx, ast.Store)):
            own.add(part.id)
        elif isinstance(part, ast.Attribute) and (part.attr in _OPEN or isinstance(part.ctx, ast.Store)):
            own.add(part.attr)
    return own


def _decorators(cls: ast.ClassDef) -> list[str]:
    return [key_of(d.func if isinstance(d, ast.Call) else d).rpartition(".")[2] for d in cls.decorator_list]


class Use(NamedTuple):
    """A dotted name of a package, the node that needs it, and the node that is to be marked."""

    dotted: str
    node: ast.AST
    place: ast.AST


def imported_names(module: PythonModule) -> Iterator[Use]:
    """What the import statements of the module name, of the packages whose releases are known."""
    for node in module.imports:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if "." in alias.name and alias.name.partition(".")[0] in PACKAGES:
                    yield Use(alias.name, node, alias)
        elif not node.level and node.module and node.module.partition(".")[0] in PACKAGES:
            for alias in node.names:
                if alias.name != "*":
                    yield Use(f"{node.module}.{alias.name}", node, alias)
                elif "." in node.module:
                    yield Use(node.module, node, alias)
