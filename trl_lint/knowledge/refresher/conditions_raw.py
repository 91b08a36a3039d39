"""A config as a dict that was read from a file: what validators of pydantic get before the fields are looked at, and
what the fields are afterwards.

Both are said with what stands in the file: `x` is the value of a key, None where there is none, and `root` the whole.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from trl_lint.knowledge.refresher.conditions_state import CONFIG
from trl_lint.knowledge.refresher.conditions_terms import (
    NONE,
    TRUE,
    Term,
    bounded,
    choice,
    compare,
    const,
    fold,
    is_const,
    literal,
    negation,
    operation,
    unknown,
)
from trl_lint.python.default_text import last_name

if TYPE_CHECKING:
    from trl_lint.knowledge.refresher.conditions_source import ClassSource, Sources
    from trl_lint.knowledge.refresher.conditions_state import Frame, Machine

DATA = Term("object", "data")
ROOT = Term("field", "root")
OF_MACHINE = "a fact about the machine or what is installed on it"
_CHANGED = "a dict or list changed in place"
# Methods that change nothing, of dicts, lists and texts.
_READING = frozenset({"get", "keys", "values", "items", "copy", "lower", "upper", "strip", "split", "startswith",
                      "endswith", "format", "join", "index", "count", "replace", "isdigit"})  # fmt: skip


def is_data(term: Term, frame: Frame) -> bool:
    """Whether a term is the dict itself."""
    return frame.machine.reads_dict and term == DATA


def read_key(machine: Machine, name: Term, default: Term = NONE) -> Term:
    """`data.get(name, default)`."""
    if machine.lost:
        return unknown(machine.lost)
    if not is_const(name):
        return unknown("a dynamic getattr")
    key = str(name.parts[0])
    held = machine.heap.get((CONFIG, key))
    plain = Term("field", key)
    absent = plain if default == NONE else operation("method", ROOT, name, default, names=("get",))
    return absent if held is None else with_field(held, plain, absent)


def has_key(machine: Machine, name: Term) -> Term:
    """`name in data`."""
    if machine.lost or not is_const(name) or (CONFIG, str(name.parts[0])) in machine.heap:
        return unknown("a key that is set by the package")
    return compare("in", name, ROOT)


def store_key(machine: Machine, name: Term, value: Term) -> None:
    """`data[name] = value`."""
    if is_const(name):
        machine.heap[CONFIG, str(name.parts[0])] = value
    else:
        spoil_all(machine, "a dynamic setattr")


def call_data(name: str, arguments: list[Term] | None, frame: Frame) -> Term:
    """A method of the dict."""
    if arguments is not None and name == "get" and arguments:
        return read_key(frame.machine, *arguments[:2])
    if name == "copy":
        return DATA
    if arguments is not None and name == "pop" and arguments:
        found = read_key(frame.machine, *arguments[:2])
        store_key(frame.machine, arguments[0], NONE)
        return found
    if name not in _READING:
        spoil_all(frame.machine, _CHANGED)
    return unknown("the whole config")


def spoil_all(machine: Machine, reason: str) -> None:
    """From here on nothing is known of the dict."""
    machine.lost = reason


def spoil_part(method: str, owner: Term, frame: Frame) -> None:
    """A method that may change a part of the dict: that part is unknown from here on."""
    if frame.machine.reads_dict and method not in _READING:
        spoil_fields(owner, frame.machine)


def spoil_fields(term: Term, machine: Machine) -> None:
    """What a term is made of is changed in place: nothing is known of it from here on."""
    for name in sorted(fields_in(term) - {"root"}):
        machine.heap[CONFIG, name] = unknown(_CHANGED)


def with_field(term: Term, field: Term, value: Term) -> Term:
    """A term with another one for a field."""
    if term == field:
        return value
    if field == value or not any(isinstance(part, Term) for part in term.parts):
        return term
    parts = [with_field(part, field, value) if isinstance(part, Term) else part for part in term.parts]
    if term.operator == "if":
        return choice(*parts)
    if any(part.operator == "unknown" for part in parts if isinstance(part, Term)) and term.operator not in (
        "and", "or", "not",
    ):  # fmt: skip
        return next(part for part in parts if isinstance(part, Term) and part.operator == "unknown")
    return bounded(Term(term.operator, *parts))


def fields_in(term: Term) -> set[str]:
    """The keys that a term mentions; of `root.get("x", …)` too."""
    if term.operator == "method" and term.parts[1] == ROOT and is_const(term.parts[2]):
        return {str(term.parts[2].parts[0])} | {name for part in term.parts[3:] for name in fields_in(part)}
    if term.operator == "field":
        return {str(term.parts[0])}
    return {name for part in term.terms for name in fields_in(part)}


# -- fields ----------------------------------------------------------------------------------------------------------


def field_of(machine: Machine, cls: ClassSource, name: str, node: ast.AnnAssign) -> Term:
    """What a field of the model is before any validator has changed it: what the file says, else the default."""
    if is_enum_of_objects(machine.sources, cls.module, node.annotation):
        return unknown("a member of an enum")
    default = NONE if is_required(node) else default_of(machine, cls, node)
    other = alias_of(node.value)
    if other:
        first = read_key(machine, const(other), NONE if default == NONE else default)
        own = read_key(machine, const(name), NONE if default == NONE else default)
        return first if first == own else choice(compare("in", const(other), ROOT), first, own)
    if default.operator != "unknown":
        return read_key(machine, const(name), default)
    return choice(has_key(machine, const(name)), read_key(machine, const(name)), default)


def default_of(machine: Machine, cls: ClassSource, node: ast.AnnAssign) -> Term:
    """The default of a field as a term, unknown where it is computed or where there is none."""
    value = default_node(node)
    if value is None:
        return unknown("a field without default")
    found = literal(value)
    if found is not None:
        return found
    if isinstance(value, ast.BinOp):
        folded = fold(ast.unparse(value))
        return folded if folded is not None else unknown("a default that is computed")
    if isinstance(value, (ast.List, ast.Dict, ast.Tuple)) and not ast.dump(value).count("Constant"):
        return Term({ast.List: "list", ast.Dict: "dict", ast.Tuple: "tuple"}[type(value)])
    return member_of_enum(machine.sources, cls, value) or unknown("a default that is computed")


def default_node(node: ast.AnnAssign) -> ast.expr | None:
    """The expression of a field's default."""
    value = node.value
    if isinstance(value, ast.Call) and last_name(value.func) in ("Field", "field"):
        return next((k.value for k in value.keywords if k.arg == "default"), value.args[0] if value.args else None)
    return value


def member_of_enum(sources: Sources, cls: ClassSource, value: ast.expr | None) -> Term | None:
    """The text for which a member of an enum stands that is written in a class, None for all else."""
    if not isinstance(value, ast.Attribute):
        return None
    owner = sources.class_at(f"{cls.module}:{last_name(value.value)}")
    is_text = owner is not None and sources.is_enum(owner) and sources.is_text(owner)
    member = owner.values.get(value.attr) if owner is not None and is_text else None
    return literal(member) if member is not None else None


def is_required(node: ast.AnnAssign) -> bool:
    """Whether a field of a pydantic model has to be given."""
    value = node.value
    if isinstance(value, ast.Call) and last_name(value.func) == "Field":
        names = {k.arg for k in value.keywords}
        first = value.args[0] if value.args else None
        is_dots = isinstance(first, ast.Constant) and first.value is ...
        return not names & {"default", "default_factory", None} and (first is None or is_dots)
    return value is None


def alias_of(call: ast.expr | None) -> str:
    """The name that `Field(alias=…)` gives a field, "" if it gives none."""
    for keyword in call.keywords if isinstance(call, ast.Call) and last_name(call.func) == "Field" else ():
        if keyword.arg == "alias" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    return ""


def is_enum_of_objects(sources: Sources, module: str, annotation: ast.expr) -> bool:
    """Whether a field may hold a member of an enum that is no text."""
    return any(not sources.is_text(cls) for cls in _enums_in(sources, module, annotation))


def _has_enum(sources: Sources, module: str, annotation: ast.expr) -> bool:
    """Whether a field may hold a member of an enum, or of a class that nobody has read."""
    return any(True for _ in _enums_in(sources, module, annotation)) or any(
        ":" in sources.resolve(f"{module}:{node.id}")
        and not sources.resolve(f"{module}:{node.id}").startswith(
            (f"{sources.package}.", "typing:", "builtins:", f"{module}:")
        )
        for node in ast.walk(annotation)
        if isinstance(node, ast.Name)
    )


def _enums_in(sources: Sources, module: str, annotation: ast.expr) -> list[ClassSource]:
    names = [node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)]
    found = [sources.class_at(f"{module}:{name}") for name in names]
    return [cls for cls in found if cls is not None and sources.is_enum(cls)]


def is_dict(kinds: Term) -> Term:
    """`isinstance(data, kinds)`."""
    classes = kinds.parts if kinds.operator in ("tuple", "list", "union") else (kinds,)
    names = {cls.parts[0].rpartition(":")[2] for cls in classes if isinstance(cls, Term) and cls.operator == "class"}
    return TRUE if names & {"dict", "Mapping", "MutableMapping"} else unknown("the class of an object")


def may_be_member(term: Term, frame: Frame) -> bool:
    """Whether a value may be the member of an enum, whose text is another than its value."""
    sources, cls = frame.machine.sources, frame.machine.classes.get(CONFIG)
    names = fields_in(term)
    order = sources.order(cls) if cls is not None else []
    for each in [each for each in order if not isinstance(each, str)]:
        for name, node in each.fields.items():
            if name in names and _has_enum(sources, each.module, node.annotation):
                return True
    return False


def plain(condition: Term) -> Term:
    """A condition of which only the truth matters: without double negations, and defaults that change nothing."""
    if condition.operator in ("and", "or"):
        return Term(condition.operator, *map(plain, condition.parts))
    if condition.operator == "not":
        inner = plain(condition.parts[0])
        return inner.parts[0] if inner.operator == "not" else Term("not", inner)
    if condition.operator == "method" and condition.parts[:2] == ("get", ROOT):
        key, *default = condition.parts[2:]
        if is_const(key) and all(is_const(each) and not each.parts[0] for each in default):
            return Term("field", key.parts[0])
    return condition


def without_machine(condition: Term, kept: frozenset[str] = frozenset()) -> Term:
    """A condition in which facts about the machine are unknown, but for those that are `kept`."""
    if condition.operator in ("and", "or"):
        return Term(condition.operator, *(without_machine(part, kept) for part in condition.parts))
    if condition.operator == "not":
        return negation(without_machine(condition.parts[0], kept))
    return unknown(OF_MACHINE) if not _facts_in(condition) <= kept else condition


def _facts_in(term: Term) -> set[str]:
    own = {str(term.parts[0])} if term.operator == "fact" else set()
    return own.union(*map(_facts_in, term.terms))
