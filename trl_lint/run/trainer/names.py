"""What a name stands for: the places that bind it and reach its use, each read for what it binds."""

from __future__ import annotations

import ast
import builtins
from contextlib import suppress

from trl_lint.project.modules import known_file
from trl_lint.python.module import FUNCTIONS, PythonModule
from trl_lint.python.reaching import final, reaching
from trl_lint.run.trainer import entries, parameters
from trl_lint.run.trainer.changes import changes_of
from trl_lint.run.trainer.made import Frame, Made, Options, Resolver, Stay
from trl_lint.sources import SourceError

# Names of these are theirs, also in a project that has a package of the name: its releases are what rules know.
LIBRARIES = frozenset(
    {
        "accelerate", "bitsandbytes", "datasets", "deepspeed", "peft", "torch", "transformers", "trl", "unsloth",
        "vllm",
    }
)  # fmt: skip
_DEEP = 4  # packages that import a name from each other


def of_name(resolver: Resolver, node: ast.Name, frame: Frame) -> Options:
    found = reaching(frame.module, node.id, node)
    if not found.sites:
        is_builtin = hasattr(builtins, node.id)
        return (Made("name", node, frame, node.id) if is_builtin else resolver.unknown(node, frame),)
    options: list[Made] = []
    for one in found.sites:
        home = resolver.frame_at(one.site, frame)
        made = bound_at(resolver, one.site, node.id, home)
        under = resolver.conditions(one.under, home)
        changes = changes_of(resolver, node.id, one.site, node, home) if found.in_order else ()
        stay = Stay(node.id, one.site, node, home)
        options += [each.beneath(under).after(changes, stay) for each in made]
    if found.is_cut:
        options.append(resolver.unknown(node, frame))
    return tuple(options)


def bound_at(resolver: Resolver, site: ast.AST, name: str, frame: Frame) -> Options:
    """What a place binds a name to."""
    if isinstance(site, ast.arg):
        return parameters.of_parameter(resolver, site, frame)
    if isinstance(site, (ast.Import, ast.ImportFrom)):
        return _imported(resolver, site, name, frame)
    if isinstance(site, FUNCTIONS):
        return (Made("function", site, frame, name),)
    if isinstance(site, ast.ClassDef):
        return (Made("class", site, frame, name),)
    if isinstance(site, ast.Name):
        return assigned(resolver, site, frame)
    return (resolver.unknown(site, frame),)


def assigned(resolver: Resolver, site: ast.expr, frame: Frame) -> Options:
    """What an assignment, or a statement that binds on its way, gives a name."""
    parents = frame.module.parents
    path: list[int] = []
    node: ast.AST = site
    parent = parents[node]
    while isinstance(parent, (ast.Tuple, ast.List)):
        if any(isinstance(item, ast.Starred) for item in parent.elts[: parent.elts.index(node) + 1]):  # type: ignore[arg-type]
            return (resolver.unknown(site, frame),)
        path.insert(0, parent.elts.index(node))  # type: ignore[arg-type]
        node, parent = parent, parents[parent]
    if isinstance(parent, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
        if parent.value is None:
            return (resolver.unknown(site, frame),)
        options = resolver.options(parent.value, frame)
        for index in path:
            options = entries.part(resolver, options, index, site, frame)
        return options
    if isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension)) and not path:
        found = [entries.items(resolver, made) for made in resolver.options(parent.iter, frame)]
        if all(one is not None for one in found):
            return tuple(made for one in found for item in one or () for made in item)
    return (resolver.unknown(site, frame),)


# -- imports --------------------------------------------------------------------------------------------------------


def _imported(resolver: Resolver, site: ast.Import | ast.ImportFrom, name: str, frame: Frame) -> Options:
    for alias in site.names:
        if (alias.asname or alias.name.partition(".")[0]) != name:
            continue
        if isinstance(site, ast.ImportFrom):
            base = "." * site.level + (site.module or "")
            return of_module_name(resolver, base, alias.name, frame, site, 0)
        dotted = alias.name if alias.asname else alias.name.partition(".")[0]
        found = _module(resolver, dotted, frame, site)
        if found is None and _is_own(resolver, dotted, frame.module):
            return (resolver.unknown(site, frame),)
        return (found or Made("name", site, frame, dotted),)
    return (resolver.unknown(site, frame),)  # a star


def _module(resolver: Resolver, dotted: str, frame: Frame, site: ast.AST) -> Made | None:
    """The module of the project that a dotted name stands for."""
    if dotted.partition(".")[0] in LIBRARIES:
        return None
    other = read_module(resolver, dotted, frame.module)
    return None if other is None else Made("module", site, resolver.frame(other), dotted)


def read_module(resolver: Resolver, dotted: str, module: PythonModule) -> PythonModule | None:
    """The module of the project that a name means in another one, None where there is none that can be read."""
    path = known_file(dotted, module.path, resolver.project)
    if path is None or path == module.path:
        return None
    with suppress(OSError, SourceError):  # reported when the file itself is checked
        return resolver.project.module_in(path, by=module.path)
    return None


def _is_own(resolver: Resolver, dotted: str, module: PythonModule) -> bool:
    """Whether a module is one of the project, also where it cannot be read."""
    if dotted.startswith("."):
        return True
    return dotted.partition(".")[0] not in LIBRARIES and known_file(dotted, module.path, resolver.project) is not None


def of_module_name(resolver: Resolver, base: str, name: str, frame: Frame, site: ast.AST, depth: int) -> Options:
    """What `from base import name` gives, in the module of a frame."""
    separator = "" if base.endswith(".") else "."
    library = Made("name", site, frame, f"{base}{separator}{name}")
    if base.partition(".")[0] in LIBRARIES:
        return (library,)
    other = read_module(resolver, base, frame.module)
    if other is not None:
        found = in_module(resolver, other, name, depth)
        if found is not None:
            return found
    inner = _module(resolver, f"{base}{separator}{name}", frame, site)
    if inner is not None:
        return (inner,)
    is_own = other is not None or _is_own(resolver, base, frame.module)
    return (resolver.unknown(site, frame) if is_own else library,)


def in_module(resolver: Resolver, module: PythonModule, name: str, depth: int = 0) -> Options | None:
    """What a name of a module is when all of it has run; None where the module does not bind it."""
    found = final(module, name)
    if not found.sites or depth > _DEEP:
        return None
    home = resolver.frame(module)
    options: list[Made] = []
    for one in found.sites:
        under = resolver.conditions(one.under, home)
        options += [made.beneath(under) for made in bound_at(resolver, one.site, name, home)]
    return tuple(options)
