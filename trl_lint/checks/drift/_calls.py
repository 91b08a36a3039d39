"""Calls of classes and functions whose releases are known, and what each release says about their keywords."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from trl_lint.knowledge.api import Missing as Unknown
from trl_lint.knowledge.api import resolve, signature
from trl_lint.knowledge.signatures import Parameter, Signature
from trl_lint.project.stack import PACKAGES
from trl_lint.python.guards import key_of
from trl_lint.python.module import PythonModule

_CLASSES_DEEP = 4


class Argument(NamedTuple):
    """A keyword that a call passes: its name, and the node that spells it (a keyword, or the key of a `**{…}`)."""

    name: str
    node: ast.keyword | ast.expr


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


def known_calls(module: PythonModule) -> list[tuple[ast.Call, Callee]]:
    """The calls of the module whose callee is certain and belongs to a package whose releases are recorded."""
    cached = module.memo.get(("known calls", module.tree))
    if cached is None:
        cached = module.memo["known calls", module.tree] = list(_known_calls(module))
    return cached  # type: ignore[return-value]


def _known_calls(module: PythonModule) -> Iterator[tuple[ast.Call, Callee]]:
    if is_patched(module):
        return
    counts = Counter(cls.name for cls in module.classes)
    classes = {cls.name: cls for cls in module.classes if counts[cls.name] == 1}
    wanted = module.names.imported_from(PACKAGES) | classes.keys()
    rewritten = ("trl", "transformers") if is_unsloth(module) else ()
    for call in module.calls:
        first = root_of(call.func)
        # Of a thousand calls a dozen are ours, so the rest is let go by a look at the first name.
        if first.id not in wanted if isinstance(first, ast.Name) else not isinstance(first, ast.Call):
            continue
        callee = callee_of(call, module, classes)
        if callee is not None and callee.package not in rewritten:
            yield call, callee


def root_of(node: ast.expr) -> ast.expr:
    """What stands before the first dot: the `trl` of `trl.trainer.GRPOConfig`."""
    while type(node) is ast.Attribute:
        node = node.value
    return node


def is_unsloth(module: PythonModule) -> bool:
    # unsloth rewrites the trainers and configs of trl, and takes the keywords of older releases.
    return "unsloth" in module.names.modules()


def is_patched(module: PythonModule) -> bool:
    """Whether the file replaces a constructor (`SFTTrainer.__init__ = …`)."""
    return "__init__ =" in module.text and any(
        isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr == "__init__"
        for node in module.parents
    )


def callee_of(call: ast.Call, module: PythonModule, classes: dict[str, ast.ClassDef]) -> Callee | None:
    func = call.func
    if isinstance(func, ast.Attribute) and _is_super(func.value):
        cls = module.class_of(call)
        base = base_of(cls, module, classes) if cls is not None else None
        if base is None or (base.own and func.attr == "__init__"):
            return None
        return base if func.attr == "__init__" else Callee(f"{base.dotted}.{func.attr}", frozenset())
    if isinstance(func, ast.Name) and func.id in classes and not module.names.is_imported(func.id):
        return constructed(classes[func.id], module, classes)
    return imported(func, module)


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


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and key_of(node.func) == "super" and not node.args


def constructed(
    cls: ast.ClassDef, module: PythonModule, classes: dict[str, ast.ClassDef], depth: int = 0
) -> Callee | None:
    """What constructing a class of the file calls; None if the class has its own say in that."""
    names = [getattr(statement, "name", "") for statement in cls.body]
    if "__init__" in names or "__new__" in names or cls.keywords or depth > _CLASSES_DEEP:
        return None
    base = base_of(cls, module, classes, depth)
    decorators = [key_of(d.func if isinstance(d, ast.Call) else d).rpartition(".")[2] for d in cls.decorator_list]
    if base is None or any(name != "dataclass" for name in decorators):
        return None
    fields = {
        statement.target.id
        for statement in cls.body
        if decorators and isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }
    return Callee(base.dotted, base.own | fields)


def base_of(cls: ast.ClassDef, module: PythonModule, classes: dict[str, ast.ClassDef], depth: int = 0) -> Callee | None:
    """The constructor that a class with exactly one base inherits."""
    if len(cls.bases) != 1 or depth > _CLASSES_DEEP:
        return None
    base = cls.bases[0]
    if isinstance(base, ast.Name) and base.id in classes and not module.names.is_imported(base.id):
        return constructed(classes[base.id], module, classes, depth + 1) if classes[base.id] is not cls else None
    return imported(base, module)


def arguments(call: ast.Call) -> Iterator[Argument]:
    """The keywords that a call certainly passes, `**{"key": …}` and `**dict(key=…)` included."""
    for keyword in call.keywords:
        value = keyword.value
        if keyword.arg is not None:
            yield Argument(keyword.arg, keyword)
        elif isinstance(value, ast.Dict):
            for key in value.keys:
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield Argument(key.value, key)
        elif isinstance(value, ast.Call) and key_of(value.func) == "dict":
            for inner in value.keywords:
                if inner.arg is not None:
                    yield Argument(inner.arg, inner)


def accepts(dotted: str, keyword: str, versions: dict[str, str]) -> bool | None:
    """Whether a callable takes a keyword with these versions; None if it is not known, or takes anything."""
    found = signature_of(dotted, versions)
    if found is None:
        return None
    return True if keyword in found.parameters else (None if found.open else False)


def parameter(dotted: str, keyword: str, versions: dict[str, str]) -> Parameter | None:
    found = signature_of(dotted, versions)
    return None if found is None else found.parameters.get(keyword)


def signature_of(dotted: str, versions: dict[str, str]) -> Signature | None:
    """What a dotted name takes when it is called; None if there is no such thing or nobody knows."""
    return _signature_of(dotted, tuple(sorted(versions.items())))


@lru_cache(maxsize=4096)
def _signature_of(dotted: str, versions: tuple[tuple[str, str], ...]) -> Signature | None:
    found = resolve(dotted, dict(versions))
    if isinstance(found, Unknown) or found.endswith(":"):
        return None
    return signature(found, dict(versions))
