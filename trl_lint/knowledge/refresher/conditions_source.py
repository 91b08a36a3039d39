"""The classes, functions and constants of one release, by name: where the executor of conditions looks things up."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from trl_lint.knowledge.refresher.extract import module_name, walk_block
from trl_lint.knowledge.refresher.trees import parsed
from trl_lint.python.default_text import last_name
from trl_lint.records import NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef
Trees = dict[tuple[str, int], "Source | None"]

_DATACLASSES = {"dataclass", "config", "pydantic_dataclass"}
_ENUMS = {"Enum", "IntEnum", "StrEnum", "ExplicitEnum"}


class ClassSource(NamedTuple):
    """A class as written: `fields` with annotation, `values` are plain assignments, `functions` by name."""

    module: str
    name: str
    node: ast.ClassDef
    fields: dict[str, ast.AnnAssign]
    values: dict[str, ast.expr]
    functions: dict[str, Function]

    @property
    def reference(self) -> str:
        return f"{self.module}:{self.name}"

    @property
    def is_dataclass(self) -> bool:
        return any(
            last_name(d.func if isinstance(d, ast.Call) else d) in _DATACLASSES for d in self.node.decorator_list
        )


class Source(NamedTuple):
    """A module: classes and functions defined in it, `imports` (name -> `module:name`), names assigned once, and what
    it does when it is started as a program (`if __name__ == "__main__"`).
    """

    name: str
    classes: dict[str, ClassSource]
    functions: dict[str, Function]
    imports: dict[str, str]
    values: dict[str, ast.expr]
    main: list[ast.stmt]


def read_source(path: str, content: bytes) -> Source | None:
    """A module from its text, None where it cannot be parsed."""
    tree = parsed(content)
    if tree is None:
        return None
    name = module_name(path)
    package = name if path.endswith("/__init__.py") else name.rpartition(".")[0]
    found = Source(name, {}, {}, {}, {}, [])
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'":
            found.main.extend(node.body)
    assigned: dict[str, int] = {}
    for node in walk_block(tree.body):
        if isinstance(node, ast.ClassDef):
            found.classes[node.name] = _read_class(name, node)
        elif isinstance(node, Function):
            found.functions[node.name] = node
        elif isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                found.imports[alias.asname or top] = f"{alias.name if alias.asname else top}:"
        elif isinstance(node, ast.ImportFrom):
            home = import_home(package, node)
            for alias in node.names:
                found.imports[alias.asname or alias.name] = f"{home}:{alias.name}"
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    assigned[target.id] = assigned.get(target.id, 0) + 1
                    found.values[target.id] = node.value
    for twice in [each for each, count in assigned.items() if count > 1]:
        del found.values[twice]
    return found


def import_home(package: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    base = package.split(".")
    base = base[: len(base) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])


def _read_class(module: str, node: ast.ClassDef) -> ClassSource:
    found = ClassSource(module, node.name, node, {}, {}, {})
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            if "ClassVar" in ast.unparse(item.annotation) and item.value is not None:
                found.values[item.target.id] = item.value
            else:
                found.fields[item.target.id] = item
        elif isinstance(item, ast.Assign):
            for target in item.targets:
                if isinstance(target, ast.Name):
                    found.values[target.id] = item.value
        elif isinstance(item, Function) and not any(last_name(d) in ("setter", "deleter") for d in item.decorator_list):
            found.functions[item.name] = item
    return found


class Sources:
    """All modules of one release."""

    def __init__(self, package: str, modules: Mapping[str, Source]) -> None:
        self.package = package
        self.modules = modules
        self._orders: dict[str, list[ClassSource | str]] = {}

    def resolve(self, reference: str) -> str:
        """`module:name` followed through imports; a module is `module:`."""
        seen: set[str] = set()
        while reference not in seen:
            seen.add(reference)
            module, _, name = reference.partition(":")
            source = self.modules.get(module)
            if not name or source is None:
                return reference
            if name in source.classes or name in source.functions or name in source.values:
                return reference
            if name in source.imports:
                reference = source.imports[name]
                continue
            if f"{module}.{name}" in self.modules:
                return f"{module}.{name}:"
            return self._lazily(module, name) or reference
        return reference

    def _lazily(self, module: str, name: str) -> str:
        """A name of a package that loads its modules lazily: the one class or function of that name below it."""
        prefix = module + "."
        found = [
            f"{each}:{name}"
            for each, source in self.modules.items()
            if each.startswith(prefix) and (name in source.classes or name in source.functions)
        ]
        return found[0] if len(found) == 1 else ""

    def class_at(self, reference: str) -> ClassSource | None:
        module, _, name = self.resolve(reference).partition(":")
        source = self.modules.get(module)
        return source.classes.get(name) if source is not None else None

    def order(self, cls: ClassSource) -> list[ClassSource | str]:
        """The classes in which Python looks for a name, in order; those of other packages as references."""
        known = self._orders.get(cls.reference)
        if known is None:
            self._orders[cls.reference] = [cls]  # a class that is its own base
            found: list[ClassSource | str] = []
            for base in cls.node.bases:
                name = last_name(base) if not isinstance(base, ast.Subscript) else last_name(base.value)
                parent = self.class_at(f"{cls.module}:{name}")
                found += self.order(parent) if parent is not None else [self.resolve(f"{cls.module}:{name}")]
            known = self._orders[cls.reference] = [cls, *_last_ones(found)]
        return known

    def is_enum(self, cls: ClassSource) -> bool:
        names = [each.partition(":")[2] if isinstance(each, str) else each.name for each in self.order(cls)]
        return bool(_ENUMS & set(names))

    def is_text(self, cls: ClassSource) -> bool:
        """Whether the members of an enum are texts, so that they equal their values."""
        names = [each.partition(":")[2] if isinstance(each, str) else each.name for each in self.order(cls)]
        return bool({"str", "StrEnum", "ExplicitEnum"} & set(names))

    def external_bases(self, cls: ClassSource) -> list[str]:
        """The bases from other packages that may do something when an object is made."""
        neutral = {"object", "ABC", "Generic", "Protocol", "str", "Enum", "dict", "PushToHubMixin"}
        return [b for b in self.order(cls) if isinstance(b, str) and b.partition(":")[2] not in neutral]


def _last_ones(found: list[ClassSource | str]) -> list[ClassSource | str]:
    """Each once, where it comes last: a common base follows all that are derived from it."""
    keys = [each if isinstance(each, str) else each.reference for each in found]
    return [each for number, each in enumerate(found) if keys[number] not in keys[number + 1 :]]


def read_sources(package: str, members: Mapping[str, tuple[int, bytes]], known: Trees) -> Sources:
    """The modules of an archive. `known` keeps those that were parsed for another release."""
    modules: dict[str, Source] = {}
    for path, (crc, content) in members.items():
        if path.endswith(".py"):
            if (path, crc) not in known:
                known[path, crc] = read_source(path, content)
            source = known[path, crc]
            if source is not None:
                modules[source.name] = source
    return Sources(package, modules)
