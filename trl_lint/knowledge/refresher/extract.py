"""One module's facts from its source: names it binds, classes, functions, messages. Nothing is imported.

References to other things are written `module:Name`; `:Name` is a name of the module itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.knowledge.refresher import deprecations
from trl_lint.knowledge.refresher.deprecations import Announcements
from trl_lint.knowledge.refresher.lazy_tables import LazyTable, has_lazy_table, read_lazy_table
from trl_lint.knowledge.refresher.messages import Message, read_messages
from trl_lint.knowledge.refresher.served import global_names, makes_names, served_names
from trl_lint.knowledge.refresher.signatures import (
    Definition,
    Signature,
    has_decorator,
    is_property,
    read_signature,
    write_signature,
)
from trl_lint.knowledge.refresher.trees import parsed
from trl_lint.knowledge.refresher.values import encode_field
from trl_lint.python.default_text import dotted, last_name, read_string
from trl_lint.records import NamedTuple

OUTSIDE = "~"  # a name bound to something that is not followed
# vLLM's `@config` makes a (pydantic) dataclass; its keyword arguments only tell pydantic how strict to be.
_DATACLASS_DECORATORS = {"dataclass", "config", "pydantic_dataclass"}
_CONSTRUCTORS = ("__init__", "__post_init__")
_CLASS_DECORATORS = _DATACLASS_DECORATORS | {
    "add_start_docstrings", "add_end_docstrings", "auto_docstring", "deprecated", "experimental", "export", "final",
    "requires", "runtime_checkable", "total_ordering", "unique", "register_for_checkpointing", "Registry",
    "ExplicitEnum", "optional", "strict", "config_class", "register_quantizer", "register_quantization_config",
}  # fmt: skip


class Field(NamedTuple):
    """A field of a dataclass (or what is one if a base makes it so)."""

    name: str
    value: str
    in_init: bool
    aliases: tuple[str, ...]
    deprecated: str


class Class(NamedTuple):
    """A class as written. `kind` is "dataclass", "pydantic" (one of pydantic's dataclasses) or "" (its bases decide);
    `extra` is pydantic's setting.
    """

    bases: tuple[str, ...]
    kind: str
    extra: str
    fields: tuple[Field, ...]
    constructor: Signature | None
    post_init: dict[str, str]
    members: dict[str, str]
    announced: str
    unclear: bool


class Module(NamedTuple):
    """A module's facts. `bound`: name -> reference (`module:` for a module), "" for a class or function defined
    here, `~` for other values. `aliases`: names of submodules that are served although no such file exists.
    `has_getattr`: nobody knows for which names its `__getattr__` has an answer; `makes_names`: it binds names that it
    works out."""

    name: str
    bound: dict[str, str]
    stars: tuple[str, ...]
    lazy: LazyTable | None
    public: tuple[str, ...] | None
    has_getattr: bool
    classes: dict[str, Class]
    functions: dict[str, Signature]
    messages: tuple[Message, ...]
    aliases: tuple[str, ...]
    makes_names: bool


def module_name(path: str) -> str:
    """`trl/trainer/__init__.py` is `trl.trainer`."""
    name = path[: -len(".py")].replace("/", ".")
    return name[: -len(".__init__")] if name.endswith(".__init__") else name


def read_module(path: str, source: bytes, with_messages: bool = True) -> Module | None:
    """The facts of a module, None where this Python's `ast` cannot parse it."""
    tree = parsed(source)
    if tree is None:
        return None
    return _Reader(path, source, tree).read(with_messages)


class _Reader:
    def __init__(self, path: str, source: bytes, tree: ast.Module) -> None:
        self.name = module_name(path)
        self.package = self.name if path.endswith("/__init__.py") else self.name.rpartition(".")[0]
        self.tree = tree
        self.source = source
        self.announcements = Announcements(source)
        self.statements = list(walk_block(tree.body))
        self.bound: dict[str, str] = {}
        self.stars: list[str] = []
        self.classes: dict[str, Class] = {}
        self.functions: dict[str, Signature] = {}
        self.public: list[str] | None = None
        self.constants = _constants(self.statements)

    def read(self, with_messages: bool) -> Module:
        for node in self.statements:
            self._read_statement(node)
        served = served_names(self.statements, self.constants)
        for name in (*(served or ()), *global_names(self.tree)):
            self.bound.setdefault(name, OUTSIDE)
        return Module(
            self.name,
            self.bound,
            tuple(self.stars),
            read_lazy_table(self.tree, self.statements) if has_lazy_table(self.source) else None,
            None if self.public is None else tuple(self.public),
            "__getattr__" in self.functions and served is None,
            self.classes,
            self.functions,
            tuple(read_messages(self.tree)) if with_messages else (),
            _alias_names(self.tree) if self.package == self.name and b"sys.m" in self.source else (),
            makes_names(self.statements),
        )

    def _read_statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.split(".")[0]
                self.bound[name] = f"{alias.name if alias.asname else name}:"
        elif isinstance(node, ast.ImportFrom):
            self._read_import_from(node)
        elif isinstance(node, ast.ClassDef):
            self.bound[node.name] = ""
            self.classes[node.name] = self._read_class(node)
        elif isinstance(node, Definition):
            # `@overload` versions come first: the last definition that is none wins.
            if not has_decorator(node, "overload"):
                self.bound[node.name] = ""
                self.functions[node.name] = read_signature(node, self.constants, self.announcements, is_method=False)
        else:
            self._read_assignment(node)

    def _read_import_from(self, node: ast.ImportFrom) -> None:
        module = absolute(node, self.package)
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(module)
            else:
                self.bound[alias.asname or alias.name] = f"{module}:{alias.name}"

    def _read_assignment(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Delete):
            for deleted in node.targets:
                self.bound.pop(dotted(deleted), None)
            return
        value = getattr(node, "value", None)
        for target in targets(node):
            if target == "__all__":
                self._read_public(node, value)
            # `Old = New` keeps the reference to a class or function: aliases are followed.
            source = dotted(value) if isinstance(value, (ast.Name, ast.Attribute)) else ""
            known = self.bound.get(source)
            self.bound[target] = OUTSIDE if known is None else (known or f":{source}")

    def _read_public(self, node: ast.stmt, value: ast.expr | None) -> None:
        if isinstance(value, (ast.List, ast.Tuple)):
            names = [read_string(item) for item in value.elts]
            if isinstance(node, ast.AugAssign):
                names = [*(self.public or []), *names]
            self.public = [name for name in names if name]

    def reference(self, node: ast.expr) -> str:
        """What an expression names: `module:Name`, `:Name` for a name of this module, "" if unknown."""
        if isinstance(node, ast.Subscript):  # Generic[T], Base[Config]
            node = node.value
        if isinstance(node, ast.Call):
            return ""
        text = dotted(node)
        head, _, rest = text.partition(".")
        known = self.bound.get(head)
        if not text or known is None:
            return f"builtins:{text}" if text and not rest else ""
        if not rest:
            return known or f":{head}"
        if known in ("", OUTSIDE):
            return ""
        # `import torch.nn as nn` binds `torch.nn:`, `from . import core` binds `trl:core`.
        module, _, name = f"{known.rstrip(':').replace(':', '.')}.{rest}".rpartition(".")
        return f"{module}:{name}"

    def _read_class(self, node: ast.ClassDef) -> Class:
        fields: dict[str, Field] = {}
        members: dict[str, str] = {}
        constructor: Signature | None = None
        post_init: dict[str, str] = {}
        extra = ""
        body = list(walk_block(node.body))
        for part in body:
            if isinstance(part, Definition):
                if has_decorator(part, "overload"):
                    continue
                if part.name == "__init__" or (part.name == "__new__" and constructor is None):
                    constructor = read_signature(part, self.constants, self.announcements, is_method=True)
                    constructor = self._with_absolute_target(constructor)
                elif part.name == "__post_init__" and self.announcements.inside(part):
                    post_init = deprecations.warned_parameters(part.body, None)
                if not part.name.startswith("__"):
                    members[part.name] = self._member(part)
            elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                fields.pop(part.target.id, None)
                field = self._read_field(part)
                if field is None:
                    members.setdefault(part.target.id, "=")
                else:
                    fields[part.target.id] = field
            elif isinstance(part, ast.ClassDef):
                extra = extra or (_read_extra(part) if part.name == "Config" else "")
                members.setdefault(part.name, "=")
            elif isinstance(part, ast.ImportFrom):  # transformers' Trainer takes methods from another module
                members.update((alias.asname or alias.name, "=") for alias in part.names)
            else:
                extra = extra or _read_model_config(part)
                for target in targets(part):
                    members.setdefault(target, "=")
        warned = deprecations.moved(
            next((p.body for p in body if isinstance(p, Definition) and p.name in _CONSTRUCTORS), [])
        )
        decorators = {last_name(_called(d)) for d in node.decorator_list}
        kind = "dataclass" if decorators & _DATACLASS_DECORATORS else ""
        for decorator in node.decorator_list:
            if self.reference(_called(decorator)).startswith("pydantic."):
                # Unless it is told otherwise, it drops what is no field without a word, where a dataclass would fail.
                kind, extra = "pydantic", _read_decorator_extra(decorator) or "ignore"
        return Class(
            tuple(self.reference(base) for base in node.bases),
            kind,
            extra,
            tuple(fields.values()),
            constructor,
            post_init,
            members,
            warned or (constructor.announced if constructor else ""),
            bool(decorators - _CLASS_DECORATORS),
        )

    def _with_absolute_target(self, signature: Signature) -> Signature:
        if not signature.forwards or signature.forwards.startswith("super"):
            return signature
        target = self.reference(ast.parse(signature.forwards, mode="eval").body)
        return signature._replace(forwards=target, open=not target)

    def _member(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
        if is_property(node):
            return "="
        return write_signature(read_signature(node, self.constants, self.announcements, is_method=True))

    def _read_field(self, node: ast.AnnAssign) -> Field | None:
        assert isinstance(node.target, ast.Name)
        annotation = ast.unparse(node.annotation)
        name = node.target.id
        if "ClassVar" in annotation or "KW_ONLY" in annotation or name in ("model_config", "__slots__"):
            return None
        value, in_init, aliases, help_text = encode_field(node.value, self.constants)
        deprecated = deprecations.help_deprecation(help_text)
        return Field(name, value, in_init, tuple(aliases), deprecated)


def walk_block(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block in order, through if/try/with/for but not into functions and classes.

    Names that are bound in any branch count as bound: which branch runs depends on what is installed.
    """
    for node in body:
        if isinstance(node, (ast.If, ast.For, ast.While)):
            if isinstance(node, ast.For):
                yield node  # its target is a name like any other
            yield from walk_block(node.body)
            yield from walk_block(node.orelse)
        elif isinstance(node, ast.With):
            yield node
            yield from walk_block(node.body)
        elif isinstance(node, ast.Try):
            yield from walk_block(node.body)
            for handler in node.handlers:
                yield from walk_block(handler.body)
            yield from walk_block(node.orelse)
            yield from walk_block(node.finalbody)
        else:
            yield node


def absolute(node: ast.ImportFrom, package: str) -> str:
    """The module that an import statement of a package names."""
    if not node.level:
        return node.module or ""
    base = package.split(".")
    base = base[: len(base) - (node.level - 1)]
    return ".".join([*base, *([node.module] if node.module else [])])


def targets(node: ast.stmt) -> list[str]:
    """The plain names an assignment (or the head of a loop or `with`) binds."""
    bound: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        bound = list(node.targets)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For)):
        bound = [node.target]
    elif isinstance(node, ast.With):
        bound = [item.optional_vars for item in node.items if item.optional_vars is not None]
    names: list[str] = []
    while bound:
        target = bound.pop(0)
        if isinstance(target, (ast.Tuple, ast.List)):
            bound[:0] = target.elts
        elif isinstance(target, ast.Name):
            names.append(target.id)
    return names


def _constants(statements: list[ast.stmt]) -> dict[str, ast.expr]:
    """Names assigned exactly once at the top level, with their value."""
    found: dict[str, ast.expr | None] = {}
    for node in statements:
        for name in targets(node):
            value = getattr(node, "value", None)
            found[name] = value if name not in found and isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    return {name: value for name, value in found.items() if value is not None}


def _read_extra(node: ast.ClassDef) -> str:
    """`extra = "forbid"` of a pydantic `class Config`."""
    for part in node.body:
        if isinstance(part, ast.Assign) and "extra" in targets(part):
            return read_string(part.value) or last_name(part.value)
    return ""


def _read_model_config(node: ast.stmt) -> str:
    """`extra=` of a pydantic `model_config = ConfigDict(extra="forbid")`."""
    value = getattr(node, "value", None)
    if "model_config" not in targets(node) or not isinstance(value, ast.Call):
        return ""
    return next((read_string(k.value) for k in value.keywords if k.arg == "extra"), "")


def _called(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _read_decorator_extra(node: ast.expr) -> str:
    """`extra=` of a pydantic `@dataclass(config=ConfigDict(extra="forbid"))`."""
    configs = [k.value for k in node.keywords if k.arg == "config"] if isinstance(node, ast.Call) else []
    extras = [k for config in configs if isinstance(config, ast.Call) for k in config.keywords if k.arg == "extra"]
    return next((read_string(k.value) for k in extras), "")


def _alias_names(tree: ast.Module) -> tuple[str, ...]:
    """Every string of a package root that serves other module names through `sys.meta_path` or `sys.modules`.

    transformers 5 keeps `transformers.tokenization_utils_fast` importable that way although no such file exists.
    """
    uses_hook = any(
        isinstance(node, ast.Attribute)
        and node.attr in ("meta_path", "modules")
        and dotted(node) in ("sys.meta_path", "sys.modules")
        for node in ast.walk(tree)
    )
    if not uses_hook:
        return ()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict) and node.keys:
            keys = [read_string(key) for key in node.keys]
            values = [read_string(value) for value in node.values]
            if all(keys) and all(values):
                found.update(keys)
        elif isinstance(node, ast.Subscript) and dotted(node.value) == "sys.modules":
            if isinstance(node.slice, ast.JoinedStr) and isinstance(node.slice.values[-1], ast.Constant):
                found.add(str(node.slice.values[-1].value).lstrip("."))
            elif read_string(node.slice):
                found.add(read_string(node.slice).rpartition(".")[2])
    return tuple(sorted(found))
