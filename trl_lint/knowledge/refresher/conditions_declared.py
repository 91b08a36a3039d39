"""What a class declares of its fields and its library enforces: bounds, allowed values, validators (pydantic)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.knowledge.refresher.conditions_raw import alias_of
from trl_lint.knowledge.refresher.conditions_source import ClassSource, Sources
from trl_lint.knowledge.refresher.conditions_state import CONFIG, Closure, Found, Frame, Machine
from trl_lint.knowledge.refresher.conditions_terms import (
    NONE,
    Term,
    compare,
    conjunction,
    const,
    is_const,
    literal,
    negation,
    render,
    unknown,
)
from trl_lint.python.default_text import last_name

_MODELS = frozenset({"BaseModel"})
# The argument of Field, how it compares, and how pydantic says it.
_BOUNDS = {
    "gt": (">", "greater than"), "ge": (">=", "greater than or equal to"),
    "lt": ("<", "less than"), "le": ("<=", "less than or equal to"),
}  # fmt: skip
_MOST_MEMBERS = 60


def is_model(sources: Sources, cls: ClassSource) -> bool:
    """Whether pydantic makes the objects of a class, and so looks at what the fields are."""
    for each in sources.order(cls):
        if isinstance(each, str):
            if each.partition(":")[2] in _MODELS:
                return True
            continue
        for decorator in each.node.decorator_list:
            name = last_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
            home = sources.resolve(f"{each.module}:{name}")
            if name in ("dataclass", "pydantic_dataclass") and home.startswith("pydantic"):
                return True
            if name == "config" and len(each.node.decorator_list) == 1:
                return True  # vllm.config.utils.config makes a dataclass of pydantic by itself
    return False


def declares(sources: Sources, cls: ClassSource) -> bool:
    """Whether there is something to say of a class before its constructor runs."""
    return is_model(sources, cls) and any(
        isinstance(each, ClassSource) and (each.fields or validators(each)) for each in sources.order(cls)
    )


def tell_declared(machine: Machine, cls: ClassSource) -> None:
    """Tell the machine what the fields of a class must be."""
    told: set[str] = set()
    for each in machine.sources.order(cls):
        if isinstance(each, str):
            continue
        for name, node in each.fields.items():
            if name in told or name == "model_config":
                continue
            told.add(name)
            for condition, words in _of_field(machine.sources, each.module, name, node):
                machine.facts.append(Found("refuse", condition, f"ValidationError: {words}", each.name, node.lineno))


def run_validators(machine: Machine, cls: ClassSource, frame: Frame) -> None:
    """Run the validators of a class: those of fields with the field, those of the model with the object."""
    from trl_lint.knowledge.refresher.conditions_statements import call_function

    this = Term("object", CONFIG)
    owners = [each for each in machine.sources.order(cls) if isinstance(each, ClassSource)]
    for each in reversed(owners):
        for name, call in validators(each):
            kind = last_name(call.func)
            mode = next(
                (str(k.value.value) for k in call.keywords if k.arg == "mode" and isinstance(k.value, ast.Constant)), ""
            )
            closure = Closure(each.module, each.functions[name], each, None)
            depth = len(machine.path)
            if kind == "model_validator" and mode == "after":
                call_function(machine.function(closure, this), [], {}, frame)
            elif kind == "field_validator" and mode in ("", "after"):
                for item in call.args:
                    field = literal(item)
                    if field is not None and len(each.functions[name].args.args) >= 2:
                        value = Term("field", str(field.parts[0]))
                        held = machine.heap.get((CONFIG, str(field.parts[0])), value)
                        given = [Term("class", each.reference), held]
                        machine.heap[CONFIG, str(field.parts[0])] = call_function(
                            machine.function(closure, None), given, {}, frame
                        )
            else:
                machine.path.append(unknown(f"a validator of the kind {mode or kind}"))
                call_function(machine.function(closure, None), [], {"**": NONE}, frame)
            del machine.path[depth:]


def validators(cls: ClassSource) -> list[tuple[str, ast.Call]]:
    """The validators that a class has itself, by name, with what declares them."""
    found = []
    for name, function in cls.functions.items():
        for decorator in function.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else ast.Call(decorator, [], [])
            if last_name(call.func) in ("model_validator", "field_validator", "validator", "root_validator"):
                found.append((name, call))
    return found


def validator_mode(call: ast.Call) -> tuple[str, str, tuple[str, ...]]:
    """The kind of a validator, when it runs, and the fields that it names."""
    kind = last_name(call.func)
    mode = next(
        (str(k.value.value) for k in call.keywords if k.arg == "mode" and isinstance(k.value, ast.Constant)), ""
    )
    fields = tuple(str(item.value) for item in call.args if isinstance(item, ast.Constant))
    return kind, mode or ("after" if kind == "field_validator" else ""), fields


def _of_field(sources: Sources, module: str, name: str, node: ast.AnnAssign) -> Iterator[tuple[Term, str]]:
    name = alias_of(node.value) or name  # by which everybody writes it
    field = Term("field", name)
    yield from bounds_of(field, name, node)
    yield from outside_of(sources, module, field, name, node.annotation)


def outside_of(
    sources: Sources, module: str, field: Term, name: str, annotation: ast.expr
) -> Iterator[tuple[Term, str]]:
    """The values that a field declares: when it has another one, and how pydantic says it."""
    members, beginnings = _choices(sources, module, annotation)
    if members:
        shown = ", ".join(repr(m.parts[0]) for m in members if m != NONE)
        outside = compare("not in", field, Term("tuple", *members))
        if not any(isinstance(m.parts[0], str) for m in members):
            # A number may be written as text.
            text = Term("call", "isinstance", field, Term("variable", "str"))
            outside = conjunction([negation(text), outside])
        for each in beginnings:
            outside = conjunction([outside, negation(Term("method", "startswith", field, const(each)))])
            shown += f" or begin with {each!r}"
        yield outside, f"{name}: Input should be one of {shown}".replace("{", "{{").replace("}", "}}")


def takes_none(sources: Sources, module: str, annotation: ast.expr) -> bool:
    """Whether None is one of the values that an annotation lists."""
    return NONE in _choices(sources, module, annotation)[0]


def _choices(sources: Sources, module: str, annotation: ast.expr) -> tuple[list[Term], list[str]]:
    """The values that an annotation allows, and the beginnings of texts that it allows beside them."""
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        parts = [annotation.left, annotation.right]
    elif isinstance(annotation, ast.Subscript) and last_name(annotation.value) in ("Optional", "Union"):
        items = annotation.slice
        parts = items.elts if isinstance(items, ast.Tuple) else [items]
        parts = [*parts, ast.Constant(None)] if last_name(annotation.value) == "Optional" else parts
    else:
        beginning = _beginning(annotation)
        return ([], [beginning]) if beginning else (allowed_values(sources, module, annotation), [])
    found = [_choices(sources, module, part) for part in parts]
    if not all(members or beginnings for members, beginnings in found):
        return [], []
    members = list(dict.fromkeys(term for each, _ in found for term in each))
    return members, [text for _, each in found for text in each]


def _beginning(annotation: ast.expr) -> str:
    """`x_` of `Annotated[str, StringConstraints(pattern="^x_")]`, "" for other annotations."""
    for call in _annotated(annotation):
        for keyword in call.keywords if isinstance(call, ast.Call) else ():
            text = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
            if keyword.arg == "pattern" and isinstance(text, str) and text[:1] == "^" and text[1:].isidentifier():
                return text[1:]
    return ""


def bounds_of(field: Term, name: str, node: ast.AnnAssign) -> Iterator[tuple[Term, str]]:
    """The bounds of a number that a field declares: when it is outside, and how pydantic says it."""
    for call in [node.value, *_annotated(node.annotation)]:
        if isinstance(call, ast.Call) and last_name(call.func) in ("Field", "conint", "confloat", "Meta"):
            for keyword in call.keywords:
                bound = _number(keyword.value)
                if keyword.arg in _BOUNDS and bound is not None:
                    operator, words = _BOUNDS[keyword.arg]
                    is_number = Term(
                        "call", "isinstance", field, Term("tuple", Term("variable", "int"), Term("variable", "float"))
                    )
                    outside = negation(compare(operator, field, bound))
                    yield conjunction([is_number, outside]), f"{name}: Input should be {words} {render(bound)}"


def _annotated(annotation: ast.expr) -> list[ast.expr]:
    """What `Annotated[int, Field(ge=1)]` says beside the type."""
    if isinstance(annotation, ast.Subscript) and last_name(annotation.value) == "Annotated":
        return annotation.slice.elts[1:] if isinstance(annotation.slice, ast.Tuple) else []
    return []


def _number(node: ast.expr) -> Term | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        found = _number(node.operand)
        return const(-found.parts[0]) if found is not None else None
    found = literal(node)
    is_number = found is not None and isinstance(found.parts[0], (int, float)) and not isinstance(found.parts[0], bool)
    return found if is_number else None


def allowed_values(sources: Sources, module: str, annotation: ast.expr, depth: int = 0) -> list[Term]:
    """The values that an annotation allows, where it is nothing but `Literal`, an enum and None; else none."""
    if depth > 8:
        return []
    if isinstance(annotation, ast.Constant):
        if annotation.value is None:
            return [NONE]
        if isinstance(annotation.value, str):
            try:
                return allowed_values(sources, module, ast.parse(annotation.value, mode="eval").body, depth + 1)
            except SyntaxError:
                return []
        return []
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return _all_of(sources, module, [annotation.left, annotation.right], depth)
    if isinstance(annotation, ast.Subscript):
        name = last_name(annotation.value)
        items = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        if name == "Literal":
            return _members(sources, module, items, depth)
        if name == "Optional":
            found = allowed_values(sources, module, items[0], depth + 1)
            return [*found, NONE] if found else []
        if name == "Union":
            return _all_of(sources, module, items, depth)
        if name == "Annotated":
            return allowed_values(sources, module, items[0], depth + 1)
        return []
    if isinstance(annotation, (ast.Name, ast.Attribute)):
        return _named(sources, module, last_name(annotation), depth)
    return []


def _all_of(sources: Sources, module: str, items: list[ast.expr], depth: int) -> list[Term]:
    found = [allowed_values(sources, module, item, depth + 1) for item in items]
    return list(dict.fromkeys(term for each in found for term in each)) if all(found) else []


def _members(sources: Sources, module: str, items: list[ast.expr], depth: int) -> list[Term]:
    found: list[Term] = []
    for item in items:
        value = literal(item) if not isinstance(item, ast.UnaryOp) else _number(item)
        if value is not None:
            found.append(value)
            continue
        inner = allowed_values(sources, module, item, depth + 1)  # `Literal[OTHER, "x"]`
        if not inner:
            return []
        found += inner
    return found if len(found) <= _MOST_MEMBERS else []


def _named(sources: Sources, module: str, name: str, depth: int) -> list[Term]:
    home, _, original = sources.resolve(f"{module}:{name}").partition(":")
    source = sources.modules.get(home)
    if source is None or not original:
        return []
    if original in source.values:
        return allowed_values(sources, home, source.values[original], depth + 1)
    cls = source.classes.get(original)
    if cls is None or not sources.is_enum(cls):
        return []
    members = [literal(value) for each, value in cls.values.items() if not each.startswith("_")]
    return list(dict.fromkeys(m for m in members if m is not None and is_const(m))) if all(members) else []
