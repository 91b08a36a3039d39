"""Calls: built-in functions, tests of what is installed, functions that are followed, and refusals inside of calls."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from trl_lint.knowledge.refresher.conditions_blocks import ask_block, call_made, is_block, is_made, make
from trl_lint.knowledge.refresher.conditions_made import (
    as_made,
    changed,
    is_adapted,
    is_changed,
    is_instance,
    iterated_by,
    keep_given,
    of_same_length,
)
from trl_lint.knowledge.refresher.conditions_objects import call, read_attribute
from trl_lint.knowledge.refresher.conditions_raw import call_data, is_data, is_dict, may_be_member, spoil_part
from trl_lint.knowledge.refresher.conditions_terms import (
    FALSE,
    NONE,
    TRUE,
    Term,
    bounded,
    choice,
    compare,
    conjunction,
    const,
    disjunction,
    is_const,
    negation,
    operation,
    unknown,
)
from trl_lint.python.default_text import dotted, last_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from trl_lint.knowledge.refresher.conditions_state import Frame

    Evaluate = Callable[[ast.expr, Frame], Term]

_PLAIN = frozenset({"len", "int", "float", "str", "abs", "min", "max", "sum", "set", "list", "tuple", "dict", "range",
                    "round", "bool", "sorted"})  # fmt: skip
_METHODS = frozenset({"startswith", "endswith", "lower", "upper", "split", "strip", "keys", "values", "get", "replace",
                      "lstrip", "rstrip", "items", "isdigit"})  # fmt: skip
_SIZED = ("str", "list", "tuple", "dict", "set")  # what a field may be that has a length
_WARNERS = re.compile(r"(warnings|logger|logging)\.(warn|warning|warning_once|warning_rank0)")
_RUN_TESTS = {
    "is_deepspeed_zero3_enabled": "zero3", "is_fsdp_managed_module": "fsdp", "is_fsdp_enabled": "fsdp",
    "is_torch_bf16_gpu_available": "bf16_gpu", "is_torch_tf32_available": "tf32", "is_peft_model": "is_peft_model",
    "is_mp": "device_map",
}  # fmt: skip
_RUN_CALLS = {
    "torch.cuda.is_available": "cuda", "torch.cuda.device_count": "cuda_device_count",
    "torch.cuda.is_bf16_supported": "bf16_gpu", "torch.backends.mps.is_available": "mps",
    "platform.system": "platform", "os.path.exists": "file_exists", "os.path.isfile": "file_exists",
    "os.path.isdir": "file_exists", "find_spec": "spec",
}  # fmt: skip
_VERSIONS = frozenset({"Version", "version.parse", "packaging.version.parse", "parse_version"})
_METADATA = frozenset({"importlib.metadata.version", "metadata.version", "importlib_metadata.version"})


def evaluate_call(node: ast.Call, frame: Frame, evaluate: Evaluate) -> Term:
    """The value of a call."""
    name = dotted(node.func)
    if _WARNERS.fullmatch(name):
        _tell_warning(node, frame, evaluate)
        return NONE
    if _is_super(node.func):
        return _call_super(node, frame, evaluate)
    known = _test_of_run(name, node, frame, evaluate)
    if known is not None:
        return known
    iterated = iterated_by(node) if name == "next" else None
    if iterated is not None:
        return operation("attribute", evaluate(iterated, frame), names=("first_row",))
    if name == "object.__setattr__" and len(node.args) == 3 and not node.keywords:
        return _setattr([evaluate(item, frame) for item in node.args], frame)
    if isinstance(node.func, ast.Name) and node.func.id not in frame.names:
        found = _builtin(node, frame, evaluate)
        if found is not None:
            return found
    return as_made(name, _call_value(node, frame, evaluate))


def arguments_of(node: ast.Call, frame: Frame, evaluate: Evaluate) -> tuple[list[Term], dict[str, Term]] | None:
    """The arguments of a call; None where some are not written out."""
    arguments, named = [], {}
    is_open = False
    for item in node.args:
        if isinstance(item, ast.Starred):
            is_open = True
        else:
            arguments.append(evaluate(item, frame))
    for keyword in node.keywords:
        if keyword.arg is None:
            is_open = True
        else:
            named[keyword.arg] = evaluate(keyword.value, frame)
    return None if is_open else (arguments, named)


def _tell_warning(node: ast.Call, frame: Frame, evaluate: Evaluate) -> None:
    from trl_lint.knowledge.refresher.conditions_expressions import sentence_of

    if not node.args:
        return
    text = sentence_of(evaluate(node.args[0], frame), frame.machine.has_blocks)
    category = (
        node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg == "category"), None)
    )
    kind = last_name(category) if category is not None and dotted(node.func).startswith("warnings") else ""
    frame.machine.tell("warn", TRUE, f"{kind or 'warning'}: {text}", frame, node)


def _is_super(func: ast.expr) -> bool:
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Call) and dotted(func.value.func) == "super"


def _call_super(node: ast.Call, frame: Frame, evaluate: Evaluate) -> Term:
    """`super().name(…)`: of the next class that has it; a base from another package is noted and not followed."""
    from trl_lint.knowledge.refresher.conditions_state import Closure

    assert isinstance(node.func, ast.Attribute)
    given = arguments_of(node, frame, evaluate)
    this, owner = frame.names.get("self"), frame.closure.owner
    if this is None or this.operator != "object" or owner is None:
        return unknown("a base class")
    machine = frame.machine
    order = machine.sources.order(machine.classes[this.parts[0]])
    keys = [each if isinstance(each, str) else each.reference for each in order]
    start = keys.index(owner.reference) + 1 if owner.reference in keys else len(keys)
    for each in order[start:]:
        if isinstance(each, str):
            if each in machine.sources.external_bases(owner):
                if given is not None and node.func.attr == "__init__" and each.endswith("Trainer"):
                    keep_given(this.parts[0], given[1], machine)
                return run_base(each, node.func.attr, this.parts[0], frame)
        elif node.func.attr in each.functions:
            method = machine.function(Closure(each.module, each.functions[node.func.attr], each, None), this)
            return call(method, *(given or ([], {"**": TRUE})), frame)
    return NONE


def run_base(base: str, method: str, owner: str, frame: Frame) -> Term:
    """A constructor of another package runs: what its fields were before is kept, what they are after is `base.x`.

    Fields that it does not know stay what they are.
    """
    machine = frame.machine
    if method in ("__post_init__", "__init__") and owner == "config":
        for (holder, name), value in list(machine.heap.items()):
            if holder == owner and machine.may_change(base, name):
                machine.before[name] = value
                del machine.heap[holder, name]
        machine.ran.add(owner)
        machine.bases[f"{base.partition('.')[0].partition(':')[0]}:{base.partition(':')[2]}"] = None
    return unknown("a call into another package")


def _test_of_run(name: str, node: ast.Call, frame: Frame, evaluate: Evaluate) -> Term | None:
    last = name.rpartition(".")[2]
    if name in ("os.environ.get", "os.getenv", "environ.get") and node.args:
        return operation("fact", *[evaluate(item, frame) for item in node.args], names=("env",))
    if last in _RUN_TESTS:
        return _fact(_RUN_TESTS[last], node, frame, evaluate)
    if name in _RUN_CALLS:
        return _fact(_RUN_CALLS[name], node, frame, evaluate)
    if name in _METADATA:
        return _fact("version", node, frame, evaluate)
    if last in ("is_torch_version", "compare_versions"):
        return _compared_version(last, node, frame, evaluate)
    if last == "get_args" and len(node.args) == 1:
        from trl_lint.knowledge.refresher.conditions_declared import allowed_values

        members = allowed_values(frame.machine.sources, frame.module, node.args[0])
        return Term("tuple", *members) if members else unknown("get_args of a type that is not written out")
    if name in _VERSIONS and node.args:
        value = evaluate(node.args[0], frame)
        return operation("call", value, names=("ver",))
    name = last.lstrip("_")
    is_own = isinstance(node.func, ast.Attribute) and _is_own(node.func, frame)
    if name.startswith("is_") and name.endswith("_available") and len(name) > len("is__available") and not is_own:
        return Term("fact", "installed", const(name[len("is_") : -len("_available")].replace("_", "-")))
    return None


def _compared_version(name: str, node: ast.Call, frame: Frame, evaluate: Evaluate) -> Term:
    """`is_torch_version(">=", "2.6.0")` and `compare_versions("peft", ">=", "0.3")` of accelerate."""
    terms = [evaluate(item, frame) for item in node.args]
    if name == "is_torch_version":
        terms = [const("torch"), *terms]
    if len(terms) != 3 or not all(map(is_const, terms)):
        return unknown("a release that is not written out")
    package, operator, release = terms
    version = Term("call", "ver", Term("fact", "version", package))
    return compare(str(operator.parts[0]), version, Term("call", "ver", release))


def _is_own(func: ast.Attribute, frame: Frame) -> bool:
    return isinstance(func.value, ast.Name) and func.value.id == "self"


def _fact(name: str, node: ast.Call, frame: Frame, evaluate: Evaluate) -> Term:
    terms = [evaluate(item, frame) for item in node.args]
    if name == "is_peft_model" and len(terms) == 1:
        return is_adapted(terms[0])
    if any(term.operator in ("unknown", "object", "class", "function", "module", "text") for term in terms):
        return unknown("a fact about an object")
    return Term("fact", name, *terms)


def _builtin(node: ast.Call, frame: Frame, evaluate: Evaluate) -> Term | None:
    from trl_lint.knowledge.refresher.conditions_expressions import each_of

    assert isinstance(node.func, ast.Name)
    name = node.func.id
    if name not in _PLAIN | {"isinstance", "hasattr", "getattr", "setattr", "any", "all", "callable", "type", "super"}:
        return None
    if name in ("super", "callable", "type"):
        return unknown(f"{name}()")
    if node.keywords or any(isinstance(item, ast.Starred) for item in node.args):
        if name == "dict" and not node.args and all(keyword.arg for keyword in node.keywords):
            parts = [t for k in node.keywords for t in (const(k.arg), evaluate(k.value, frame))]
            return bounded(Term("dict", *parts))
        return unknown("arguments that are not written out")
    terms = [evaluate(item, frame) for item in node.args]
    if name == "isinstance":
        if len(terms) == 2 and is_data(terms[0], frame):
            return is_dict(terms[1])
        return is_instance(terms[0], terms[1], frame) if len(terms) == 2 else unknown("isinstance")
    if name in ("getattr", "hasattr"):
        return _getattr(name, terms, frame)
    if name == "setattr":
        return _setattr(terms, frame)
    if terms and terms[0].operator == "picked":
        return _of_picked(name, terms[0])
    if name == "str" and terms and frame.machine.reads_dict and may_be_member(terms[0], frame):
        return unknown("the text of a member of an enum")
    if name in ("any", "all") and len(terms) == 1:
        term = terms[0]
        if term.operator == "each" and term.parts[0] == "list":
            return each_of(name, *term.parts[1:])
        if term.operator in ("list", "tuple"):
            parts = [part if name == "any" else negation(part) for part in term.terms]
            found = disjunction(parts)
            return found if name == "any" else negation(found)
    if name == "list" and len(terms) == 1 and terms[0].operator == "class":
        members = enum_members(terms[0], frame)
        return Term("list", *members) if members else unknown("a class as a value")
    if name in ("tuple", "list", "set") and len(terms) == 1 and terms[0].operator in ("list", "tuple"):
        return Term(name, *terms[0].parts)
    if name == "len" and terms:
        held = of_same_length(terms[0])
        return const(len(held.parts)) if held.operator in ("list", "tuple") else operation("call", held, names=(name,))
    return operation("call", *terms, names=(name,))


def _of_picked(name: str, picked: Term) -> Term:
    """`any`, `len` or `sum` of what was picked from a list that is written out."""
    conditions, elements = picked.parts[::2], picked.parts[1::2]
    if name == "any":
        parts = zip(conditions, elements, strict=True)
        return disjunction([conjunction([condition, element]) for condition, element in parts])
    if name in ("list", "tuple"):
        return picked
    if name == "len" or (name == "sum" and all(element == const(1) for element in elements)):
        found = operation("call", conditions[0], names=("bool",))
        for condition in conditions[1:]:
            found = operation("binary", found, operation("call", condition, names=("bool",)), names=("+",))
        return found
    return unknown("a list of some")


def _getattr(name: str, terms: list[Term], frame: Frame) -> Term:
    if len(terms) < 2 or not is_const(terms[1]) or not isinstance(terms[1].parts[0], str):
        return unknown("a dynamic getattr")
    if is_block(terms[0], frame):
        return ask_block(terms[0], terms[1], None if name == "hasattr" else terms[2] if len(terms) > 2 else NONE, frame)
    if name == "hasattr" and terms[1].parts[0] == "__len__" and terms[0].operator in ("field", "base"):
        return is_instance(terms[0], Term("tuple", *(Term("class", each) for each in _SIZED)), frame)
    if terms[0].operator == "if":
        condition, first, second = terms[0].parts
        parts = [_getattr(name, [part, *terms[1:]], frame) for part in (first, second)]
        return choice(condition, *parts)
    if is_changed(terms[0], frame.machine):
        return changed(terms[0])
    if terms[0].operator in ("arg", "attribute"):
        return operation("call", *terms, names=(name,))
    if terms[0].operator != "object":
        return unknown("getattr on an object")
    found = read_attribute(terms[0], terms[1].parts[0], frame)
    if found.operator == "unknown" and _is_certainly_without(terms[0].parts[0], terms[1].parts[0], frame):
        return FALSE if name == "hasattr" else terms[2] if len(terms) > 2 else found
    if name == "hasattr":
        return TRUE if found.operator != "unknown" else found
    return found


def _is_certainly_without(owner: str, name: str, frame: Frame) -> bool:
    """Whether nothing ever gives an object that is made of a block such an attribute."""
    machine = frame.machine
    if owner not in machine.made or (owner, name) in machine.heap:
        return False
    cls = machine.classes[owner]
    order = machine.sources.order(cls)
    return not machine.sources.external_bases(cls) and not any(
        isinstance(each, str) or name in each.fields or name in each.values or name in each.functions for each in order
    )


def _setattr(terms: list[Term], frame: Frame) -> Term:
    if len(terms) == 3 and is_block(terms[0], frame) and terms[0].operator == "field" and is_const(terms[1]):
        frame.machine.heap["config", f"{terms[0].parts[0]}.{terms[1].parts[0]}"] = terms[2]
    elif len(terms) == 3 and terms[0].operator == "object" and is_const(terms[1]):
        frame.machine.heap[terms[0].parts[0], str(terms[1].parts[0])] = terms[2]
    elif terms and terms[0].operator == "object":
        for key in list(frame.machine.heap):
            frame.machine.heap[key] = unknown("a dynamic setattr")
        frame.machine.ran.add(f"{terms[0].parts[0]} changed")
    return NONE


def enum_members(cls: Term, frame: Frame) -> list[Term]:
    """The values of an enum of the package, none for another class."""
    sources = frame.machine.sources
    found = sources.class_at(cls.parts[0]) if ":" in cls.parts[0] else None
    if found is None or not sources.is_enum(found):
        return []
    members = [read_attribute(cls, name, frame) for name in found.values if not name.startswith("_")]
    return members if all(is_const(member) for member in members) else []


def _call_value(node: ast.Call, frame: Frame, evaluate: Evaluate) -> Term:
    function = evaluate(node.func, frame) if not isinstance(node.func, ast.Attribute) else None
    given = None
    if isinstance(node.func, ast.Attribute):
        owner = evaluate(node.func.value, frame)
        name = node.func.attr
        given = arguments_of(node, frame, evaluate)
        if is_data(owner, frame):
            return call_data(name, given[0] if given is not None and not given[1] else None, frame)
        spoil_part(name, owner, frame)
        if given is not None and is_made(owner, frame):
            return call_made(owner, name, *given, frame)
        if name == "get" and is_block(owner, frame) and given is not None and given[0] and not given[1]:
            return ask_block(owner, given[0][0], given[0][1] if len(given[0]) > 1 else NONE, frame)
        if owner.operator in ("object", "module", "class"):
            function = read_attribute(owner, name, frame)
            if owner.operator == "class" and function.operator == "unknown" and name == "__post_init__":
                return run_base(owner.parts[0], name, "config", frame)
        else:
            if name in _METHODS and given is not None and not given[1]:
                return _method(name, owner, given[0])
            if name == "format" and (owner.operator == "text" or is_const(owner)):
                return Term("text", owner)
            return unknown("a method of a value or an object")
    else:
        given = arguments_of(node, frame, evaluate)
    assert function is not None
    made = make(dotted(node.func).rpartition(".")[2], given[0], frame) if given is not None else None
    if made is not None:
        return made
    if function.operator == "function":
        return call(function, *(given or ([], {"**": TRUE})), frame)
    if function.operator == "class":
        members = enum_members(function, frame)
        if members and given is not None and len(given[0]) == 1:
            value = given[0][0]
            name = function.parts[0].rpartition(":")[2]
            if value.operator == "variable":
                return value
            bad = compare("not in", value, Term("tuple", *members))
            frame.machine.tell("refuse", bad, f"ValueError: {{}} is not a valid {name}", frame, node)
            return value
        return unknown("an object made in the constructor")
    if function.operator == "unknown":
        return function
    return unknown("a call into another package" if function.operator == "module" else "a call of a value")


def _method(name: str, owner: Term, arguments: list[Term]) -> Term:
    """A method of a text, a list or a dict; that of a dict that is written out is looked up."""
    if owner.operator == "dict" and name == "get" and arguments:
        default = arguments[1] if len(arguments) > 1 else NONE
        found = default
        for key, value in reversed(list(zip(owner.parts[::2], owner.parts[1::2], strict=True))):
            found = choice(compare("==", arguments[0], key), value, found)
        return found
    if owner.operator == "fact" and owner.parts == ("environment",):
        return operation("fact", *arguments, names=("env",))
    return operation("method", owner, *arguments, names=(name,))
