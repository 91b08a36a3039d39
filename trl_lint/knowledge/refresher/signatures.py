"""What a callable accepts: parameters, defaults, and where its `**kwargs` go."""

from __future__ import annotations

import ast

from trl_lint.knowledge.refresher import deprecations
from trl_lint.python.default_text import dotted, encode_node, last_name, read_string
from trl_lint.records import NamedTuple

# Decorators that leave the signature as it is. Any other one makes it unknown.
_TRANSPARENT_DECORATORS = {
    "abstractmethod", "add_end_docstrings", "add_model_info_to_auto_map", "add_start_docstrings",
    "add_start_docstrings_to_model_forward", "asynccontextmanager", "auto_docstring", "auto_class_docstring", "cache",
    "cached",
    "can_return_tuple", "classmethod", "contextmanager", "copy_func", "deprecate_kwarg", "deprecated",
    "_deprecate_arguments", "_deprecate_positional_args", "_deprecate_method", "deprecate_inference_args",
    "deprecate_method", "deprecate_function", "empty_device_cache", "experimental", "final", "instrument_w_nvtx",
    "inference_mode", "lru_cache", "no_grad", "on_main_process", "on_local_main_process", "on_last_process",
    "on_process", "on_local_process", "overload", "override", "parse_flag_from_env", "post_init", "profiling_decorator",
    "record_function", "replace_return_docstrings", "require_torch", "requires", "retry", "staticmethod",
    "strict", "timer", "total_ordering", "torch_required", "verify_operation", "wraps",
}  # fmt: skip
_PROPERTY_DECORATORS = {"property", "cached_property", "setter", "deleter", "getter"}


class Parameter(NamedTuple):
    """One parameter: its default as text (see `values`), and whether only a keyword can give it."""

    name: str
    value: str
    keyword_only: bool


class Signature(NamedTuple):
    """What a callable accepts.

    `forwards`: where `**kwargs` go: "super", "self.method" or a dotted name as written. `open`: anything may be passed.
    `accepted`: names taken from `**kwargs` or added by a decorator. `deprecated`: name -> successor.
    """

    parameters: tuple[Parameter, ...]
    var_positional: bool
    forwards: str
    open: bool
    accepted: tuple[str, ...]
    deprecated: dict[str, str]
    announced: str


Definition = (ast.FunctionDef, ast.AsyncFunctionDef)


def read_signature(
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    constants: dict[str, ast.expr],
    announcements: deprecations.Announcements,
    is_method: bool,
) -> Signature:
    """The signature of a function; of a method without `self` or `cls`."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    padding: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    defaults = [*padding, *arguments.defaults]
    if is_method and not has_decorator(node, "staticmethod"):
        positional, defaults = positional[1:], defaults[1:]
    parameters = [
        Parameter(argument.arg, encode_node(default, constants), False)
        for argument, default in zip(positional, defaults, strict=False)
    ]
    parameters += [
        Parameter(argument.arg, encode_node(default, constants), True)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=False)
    ]
    forwards, is_open, accepted = "", False, set[str]()
    if arguments.kwarg is not None:
        forwards, is_open, accepted = _follow_kwargs(node, arguments.kwarg.arg)
    if any(_decorator_name(d) not in _TRANSPARENT_DECORATORS | _PROPERTY_DECORATORS for d in node.decorator_list):
        is_open = True
    renames = deprecations.decorated_renames(node.decorator_list)
    names = {parameter.name for parameter in parameters}
    accepted |= set(renames)
    found, announced = renames, _decorated_deprecation(node.decorator_list)
    if announcements.inside(node):
        found = {**deprecations.warned_parameters(node.body, names | accepted), **renames}
        announced = deprecations.moved(node.body) or announced
    found.update(deprecations.decorated_arguments(node.decorator_list))
    return Signature(
        tuple(parameters),
        arguments.vararg is not None,
        forwards,
        is_open,
        tuple(sorted(accepted - names)),
        found,
        announced,
    )


def _decorator_name(node: ast.expr) -> str:
    return last_name(node.func if isinstance(node, ast.Call) else node)


def has_decorator(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, *names: str) -> bool:
    return any(_decorator_name(decorator) in names for decorator in node.decorator_list)


def is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return has_decorator(node, *_PROPERTY_DECORATORS)


def _decorated_deprecation(decorators: list[ast.expr]) -> str:
    """`@deprecated("…")` (typing_extensions, PEP 702)."""
    for node in decorators:
        if isinstance(node, ast.Call) and last_name(node.func) == "deprecated":
            text = read_string(node.args[0]) if node.args else ""
            return deprecations.moved_to(text)
    return ""


def _follow_kwargs(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> tuple[str, bool, set[str]]:
    """Where `**name` goes: (target, whether that is unknown, names taken out of it).

    Uses that only look at one key accept that key. Anything else that is done with the dict makes it unknown, and so
    does doing nothing with it (every keyword is then swallowed).
    """
    targets: set[str] = set()
    accepted: set[str] = set()
    harmless: set[int] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            for keyword in part.keywords:
                if keyword.arg is None and isinstance(keyword.value, ast.Name) and keyword.value.id == name:
                    targets.add(_target(part.func))
                    harmless.add(id(keyword.value))
            key = _key_of_method(part, name)
            if key:
                accepted.add(key)
                assert isinstance(part.func, ast.Attribute)
                harmless.add(id(part.func.value))
        elif isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name) and part.value.id == name:
            key = read_string(part.slice)
            if key:
                harmless.add(id(part.value))
                if isinstance(part.ctx, ast.Load):
                    accepted.add(key)
        elif isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], (ast.In, ast.NotIn)):
            right = part.comparators[0]
            if read_string(part.left) and isinstance(right, ast.Name) and right.id == name:
                accepted.add(read_string(part.left))
                harmless.add(id(right))
    others = any(isinstance(p, ast.Name) and p.id == name and id(p) not in harmless for p in ast.walk(node))
    if others or len(targets) != 1 or "" in targets:
        return "", True, accepted
    return targets.pop(), False, accepted


def _key_of_method(call: ast.Call, name: str) -> str:
    """`x` of `kwargs.pop("x", …)` and `kwargs.get("x")`."""
    function = call.func
    if not (isinstance(function, ast.Attribute) and function.attr in ("pop", "get", "setdefault") and call.args):
        return ""
    is_ours = isinstance(function.value, ast.Name) and function.value.id == name
    return read_string(call.args[0]) if is_ours else ""


def _target(function: ast.expr) -> str:
    """A callable as written: "super" for the same method of a base, else a dotted name; "" where unknown."""
    if isinstance(function, ast.Attribute):
        if isinstance(function.value, ast.Call) and last_name(function.value.func) == "super":
            return "super" if function.attr == "__init__" else f"super.{function.attr}"
        name = dotted(function)
        # `Base.__init__(self, **kwargs)` constructs a Base.
        return name[: -len(".__init__")] if name.endswith(".__init__") else name
    return "" if isinstance(function, ast.Name) and function.id in ("dict", "print", "partial") else dotted(function)


def write_signature(signature: Signature) -> str:
    """A method as one fact: `(a, b=1, *, c=None, **super) !old=new`."""
    parts: list[str] = []
    marked = False
    for parameter in signature.parameters:
        if parameter.keyword_only and not marked:
            parts.append("*args" if signature.var_positional else "*")
            marked = True
        parts.append(parameter.name if parameter.value == "*" else f"{parameter.name}={parameter.value}")
    if signature.var_positional and not marked:
        parts.append("*args")
    parts += [f"{name}=`?`" for name in signature.accepted]
    if signature.open:
        parts.append("**")
    elif signature.forwards:
        parts.append(f"**{signature.forwards if signature.forwards.startswith('super') else ''}")
    marks = [f" !{name}={new}" for name, new in sorted(signature.deprecated.items())]
    if signature.announced:
        marks.append(f" !={signature.announced}")
    return f"({', '.join(parts)}){''.join(marks)}"
