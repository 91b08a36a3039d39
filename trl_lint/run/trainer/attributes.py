"""What an attribute of an object is: members of the project's classes and modules, fields of parsers, names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.memos import per_module
from trl_lint.python.guards import key_of
from trl_lint.python.module import FUNCTIONS, PythonModule
from trl_lint.python.reaching import branches_around, place_of
from trl_lint.run.trainer import calls, entries, names
from trl_lint.run.trainer.changes import changes_between
from trl_lint.run.trainer.made import Change, Frame, Made, Options, Resolver, Stay, beneath

_DEEP = 6  # bases of bases
_SETTING = ("set_", "update", "add_special_tokens", "add_tokens", "load", "__setattr__")  # methods that set attributes
_RECORDS = frozenset({"dataclass", "dataclasses.dataclass", "attrs.define", "attr.s", "define"})


def of_attribute(resolver: Resolver, node: ast.Attribute, frame: Frame) -> Options:
    found: list[Made] = []
    for made in resolver.options(node.value, frame):
        if made.kind == "self":
            near = _set_before(resolver, made, node, frame)
            found += near if near is not None else attribute(resolver, made, node.attr, node, frame)
        else:
            found += beneath(attribute(resolver, made, node.attr, node, frame), made.under)
    owner = key_of(node)
    if owner.startswith("self.") and owner.count(".") == 1:
        changes = changes_between(resolver, owner, _last_set(node, frame), node, frame)
        stay = Stay(owner, None, node, frame)
        return tuple(made.after(changes, stay) for made in found)
    return tuple(found)


def attribute(
    resolver: Resolver, made: Made, name: str, node: ast.AST | None = None, frame: Frame | None = None
) -> Options:
    """What an attribute of an object is, after what was changed in place."""
    node, frame = node or made.node, frame or made.frame
    layers = entries.Layers(resolver, node, frame)
    parent = frame.module.parents.get(node)
    is_method = isinstance(parent, ast.Call) and parent.func is node  # few are set to something else
    for change in reversed(made.changes):
        if not layers.is_open:
            break
        if change.kind == "set" and change.path == name and change.value is not None:
            layers.put(resolver.options(change.value, change.frame), change.under)
        elif _may_set(change, name, is_method):
            layers.put((resolver.unknown(change.statement, change.frame),), change.under)
    return layers.over(_own(resolver, made, name, node, frame) if layers.is_open else ())


def _may_set(change: Change, name: str, is_method: bool) -> bool:
    """Whether a change may set an attribute, or a method, to what is not written down."""
    if change.kind == "call":
        return not is_method and "." not in change.path and change.path.startswith(_SETTING)
    if change.kind != "other":
        return False
    return change.path == name or (not is_method and (change.path == "" or change.path.startswith(f"{name}.")))


def _own(resolver: Resolver, made: Made, name: str, node: ast.AST, frame: Frame) -> Options:
    if made.kind == "name":
        return (Made("name", node, frame, f"{made.origin}.{name}"),)
    if made.kind == "module":
        found = names.in_module(resolver, made.frame.module, name)
        if found is not None:
            return found
        inner = names.read_module(resolver, f".{name}", made.frame.module)
        return (Made("module", node, resolver.frame(inner), name) if inner else resolver.unknown(node, frame),)
    if made.kind == "parsed":
        return (Made("field", node, frame, name, base=made),)
    if made.kind in ("class", "instance", "self"):
        return member(resolver, made, name) or (Made("part", node, frame, name, base=made),)
    if made.kind == "call" and not made.item and made.name.endswith(("Config", "Arguments")):
        return entries.argument(resolver, made, name, None)  # an object that holds what it was given
    if made.kind in ("call", "part", "dict", "list", "field", "literal"):
        return (Made("part", node, frame, name, base=made),)
    return (resolver.unknown(node, frame),)


# -- classes of the project -----------------------------------------------------------------------------------------


def class_of(made: Made) -> Made | None:
    """The class of an instance, of what a method is called on, or the class itself."""
    if made.kind == "class":
        return made
    return made.base if made.kind in ("instance", "self") and isinstance(made.base, Made) else None


def bases_of(resolver: Resolver, cls: Made, depth: int = 0) -> Iterator[Made]:
    """The classes that a class of the project is built on, nearest first: those of libraries have the kind "name"."""
    node = cls.node
    if not isinstance(node, ast.ClassDef) or depth > _DEEP:
        return
    for base in node.bases:
        for made in resolver.options(base, cls.frame):
            if made.kind in ("class", "name"):
                yield made
                yield from bases_of(resolver, made, depth + 1)


def member(resolver: Resolver, made: Made, name: str) -> Options | None:
    """What a class of the project, or a class that it is built on, says of an attribute; None where none does."""
    cls = class_of(made)
    if cls is None:
        return None
    for one in (cls, *bases_of(resolver, cls)):
        found = _member_of(resolver, one, made, name) if one.kind == "class" else None
        if found is not None:
            return found
    return None


def _member_of(resolver: Resolver, cls: Made, made: Made, name: str) -> Options | None:
    node, module = cls.node, cls.frame.module
    assert isinstance(node, ast.ClassDef)
    body = _bodies(module).get(node, {})
    defined = body.get(name)
    if isinstance(defined, FUNCTIONS):
        function = Made("function", defined, resolver.frame(module), name, base=made)
        is_property = any(
            key_of(item).rpartition(".")[2] in ("property", "cached_property") for item in defined.decorator_list
        )
        return calls.returned(resolver, function, None, cls.frame) if is_property else (function,)
    stores = _stores(module).get((node, name), [])
    if stores:
        return tuple(one for store in _lasting(module, stores) for one in _stored(resolver, store, made, cls))
    if defined is None:
        return None
    if made.kind == "instance" and isinstance(made.node, ast.Call) and is_record(node):
        layers = entries.Layers(resolver, made.node, made.frame)
        layers.lay(entries.given(resolver, made.node, made.frame, name, list(body).index(name)))
        return layers.over(_default_of(resolver, defined, cls)) if layers.is_open else layers.over(())
    return _default_of(resolver, defined, cls)


def _default_of(resolver: Resolver, defined: ast.stmt, cls: Made) -> Options:
    """What the body of a class sets an attribute to."""
    value = defined.value if isinstance(defined, (ast.Assign, ast.AnnAssign)) else None
    return resolver.options(value, cls.frame) if value is not None else (resolver.unknown(defined, cls.frame),)


def is_true(resolver: Resolver, made: Made) -> bool:
    """Whether an object is certainly true: one of a class of the project that does not say when it is."""
    if made.kind != "instance" or not isinstance(made.base, Made):
        return False
    classes = [made.base, *bases_of(resolver, made.base)]
    asked = ("__bool__", "__len__")
    return all(one.kind == "class" and not any(member(resolver, one, name) for name in asked) for one in classes)


def is_record(node: ast.ClassDef) -> bool:
    """Whether the class takes its fields as arguments: a dataclass or the like."""
    decorators = [key_of(item.func if isinstance(item, ast.Call) else item) for item in node.decorator_list]
    return any(item in _RECORDS for item in decorators)


def _stored(resolver: Resolver, store: ast.Attribute, made: Made, cls: Made) -> Options:
    """What a `self.x = …` in a method sets, for this object."""
    module = cls.frame.module
    function = module.function(store)
    frame = resolver.frame(module, function)
    if function is not None and function.name == "__init__" and made.kind == "instance":
        frame = calls.frame_of(resolver, Made("function", function, resolver.frame(module), base=made), made)
    under = resolver.conditions(branches_around(module, store), frame)
    return beneath(names.assigned(resolver, store, frame), under)


def _lasting(module: PythonModule, stores: list[ast.Attribute]) -> list[ast.Attribute]:
    """The stores that may be the last one: what comes before an unconditional one in the same method is gone."""
    kept: dict[ast.AST | None, list[ast.Attribute]] = {}
    for store in stores:
        of_method = kept.setdefault(module.function(store), [])
        if not branches_around(module, store):
            of_method.clear()
        of_method.append(store)
    last = {store for several in kept.values() for store in several}
    return [store for store in stores if store in last]


def _set_before(resolver: Resolver, made: Made, node: ast.Attribute, frame: Frame) -> Options | None:
    """What the method itself has set the attribute to before it uses it; None where that is not all of it."""
    cls = class_of(made)
    if cls is None or not isinstance(cls.node, ast.ClassDef):
        return None
    module = frame.module
    place = place_of(module.statement(node) or node)
    own = [
        store
        for store in _stores(module).get((cls.node, node.attr), [])
        if module.function(store) is frame.function and place_of(module.statement(store) or store) < place
    ]
    near = _lasting(module, own)
    if not near:
        return None
    around = branches_around(module, node)
    if any(branch not in around for branch in branches_around(module, near[0])):
        return None
    found: list[Made] = []
    for store in near:
        own_branches = [branch for branch in branches_around(module, store) if branch not in around]
        under = resolver.conditions(tuple(own_branches), frame)
        found += beneath(names.assigned(resolver, store, frame), under)
    return tuple(found)


def _last_set(node: ast.Attribute, frame: Frame) -> tuple[int, int]:
    """The place of the last `self.x = …` before a use in the same function; the beginning where there is none."""
    module = frame.module
    places = _places_of_stores(module).get((frame.function, node.attr), [])
    return max((place for place in places if place < place_of(node)), default=(0, 0))


@per_module
def _places_of_stores(module: PythonModule) -> dict[tuple[ast.AST | None, str], list[tuple[int, int]]]:
    """Where each function assigns to `self.x`, by the attribute."""
    table: dict[tuple[ast.AST | None, str], list[tuple[int, int]]] = {}
    for (_, name), stores in _stores(module).items():
        for store in stores:
            table.setdefault((module.function(store), name), []).append(place_of(store))
    return table


@per_module
def _bodies(module: PythonModule) -> dict[ast.ClassDef, dict[str, ast.stmt]]:
    """What each class defines in its body, by name, the last of each."""
    table: dict[ast.ClassDef, dict[str, ast.stmt]] = {}
    for cls in module.classes:
        found = table[cls] = {}
        for statement in cls.body:
            if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
                found[statement.name] = statement
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                found[statement.target.id] = statement
            elif isinstance(statement, ast.Assign):
                found.update((target.id, statement) for target in statement.targets if isinstance(target, ast.Name))
    return table


@per_module
def _stores(module: PythonModule) -> dict[tuple[ast.ClassDef, str], list[ast.Attribute]]:
    """Where methods assign to `self.x`, by class and attribute, in the order of the text."""
    table: dict[tuple[ast.ClassDef, str], list[ast.Attribute]] = {}
    for node in module.of(ast.Attribute):
        if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self":
            cls = module.class_of(node)
            if cls is not None:
                table.setdefault((cls, node.attr), []).append(node)
    for stores in table.values():
        stores.sort(key=place_of)
    return table
