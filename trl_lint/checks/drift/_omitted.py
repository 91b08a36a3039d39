"""What a Python call passes and what it certainly leaves to the defaults."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trl_lint.checks.drift._calls import arguments
from trl_lint.checks.drift._defaults import Given
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.python.guards import bindings, key_of, last_name
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument
from trl_lint.regexes import regex
from trl_lint.words import words

# Methods of TrainingArguments that set several fields at once.
_SETTERS = words("""
    set_dataloader set_evaluate set_logging set_lr_scheduler set_optimizer set_push_to_hub set_save set_testing
    set_training
""")
_CASTS = frozenset(("half", "bfloat16", "float", "double"))
_DTYPE = regex(r"dtype|float|half")


def reader(call: ast.Call, module: PythonModule) -> Given:
    """What a call of a config class passes for an argument.

    UNKNOWN where a `**mapping` may hold it, where positions might, and where the file sets an attribute of that name.
    """
    known = {found.name: _value(found.node, module) for found in arguments(call)}
    names = stored(module)
    is_open = "*" in names or len(call.args) > 1 or any(isinstance(a, ast.Starred) for a in call.args)
    is_open = is_open or any(_is_opaque(keyword) for keyword in call.keywords)

    def given(name: str) -> object:
        if name in names:
            return UNKNOWN
        return known.get(name, UNKNOWN if is_open else ABSENT)

    return given


def reader_of_loading(call: ast.Call, module: PythonModule) -> Given:
    """What a `from_pretrained` passes, where the model is trained in the same file; else everything is UNKNOWN.

    A model that the file casts has the type it is cast to.
    """
    if not _is_trained(call, module) or _is_casting(module):
        return _nothing_known
    names = {found.name for found in arguments(call)}
    is_open = any(_is_opaque(keyword) for keyword in call.keywords)
    return lambda name: UNKNOWN if name in names or is_open else ABSENT


def reader_inside(call: ast.Call, name: str, module: PythonModule) -> Given:
    """What a trainer that gets its model by name finds in the dictionary `name` of its config.

    Everything is UNKNOWN unless the model is a written string and the config is written in the same file.
    """
    model = argument(call, "model", 0)
    config = argument(call, "args")
    if not isinstance(model, ast.expr) or not isinstance(module.value(model), str) or config is UNKNOWN:
        return _nothing_known
    if argument(call, name) is not ABSENT:
        return _nothing_known
    if config is ABSENT:
        return _nothing_given if len(call.args) == 1 or not call.args else _nothing_known
    built = _built(config, module)
    if built is None:
        return _nothing_known
    if reader(built, module)(name) is ABSENT:
        return _nothing_given
    written = argument(built, name)
    if name in stored(module) or not isinstance(written, ast.Dict):
        return _nothing_known
    keys = {key.value if isinstance(key, ast.Constant) else UNKNOWN for key in written.keys}
    return lambda key: UNKNOWN if key in keys or UNKNOWN in keys else ABSENT


def _built(config: object, module: PythonModule) -> ast.Call | None:
    """The one call that makes the config of a trainer."""
    if isinstance(config, ast.Name):
        values = bindings(module).get(config.id, [])
        config = values[0] if len(values) == 1 and module.names.is_literal_only(config.id) else None
    return config if isinstance(config, ast.Call) and last_name(config.func).endswith("Config") else None


def _nothing_known(name: str) -> object:
    return UNKNOWN


def _nothing_given(name: str) -> object:
    return ABSENT


def _value(node: ast.keyword | ast.expr, module: PythonModule) -> object:
    return module.value(node.value) if isinstance(node, ast.keyword) else UNKNOWN


def _is_opaque(keyword: ast.keyword) -> bool:
    """Whether a keyword is a `**mapping` whose keys are not all written in it."""
    if keyword.arg is not None:
        return False
    value = keyword.value
    if isinstance(value, ast.Dict):
        return not all(isinstance(key, ast.Constant) for key in value.keys)
    if not isinstance(value, ast.Call) or key_of(value.func) != "dict" or value.args:
        return True
    return any(inner.arg is None for inner in value.keywords)


@per_module
def stored(module: PythonModule) -> frozenset[str]:
    """The attributes that the file sets on something, `*` if it sets attributes whose names nobody can tell."""
    return frozenset(_attributes(module))


def _attributes(module: PythonModule) -> Iterator[str]:
    if "__dict__" in module.text or "vars(" in module.text:
        yield "*"
    for node in module.parents:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and not _is_own_attribute(node, module):
            yield node.attr
    for call in module.calls:
        name = last_name(call.func)
        if name == "setattr":
            value = module.value(call.args[1]) if len(call.args) > 1 else UNKNOWN
            yield value if isinstance(value, str) else "*"
        elif name in _SETTERS:
            yield "*"
        elif name == "replace":
            yield from (keyword.arg or "*" for keyword in call.keywords)


def _is_own_attribute(node: ast.Attribute, module: PythonModule) -> bool:
    """Whether it is the attribute of an object of the file that is no config: `self.beta = …` in a trainer."""
    cls = module.class_of(node)
    return key_of(node.value) == "self" and cls is not None and not re.search(r"Config|Argument", cls.name)


def _is_trained(call: ast.Call, module: PythonModule) -> bool:
    """Whether a trainer of the file gets what the call returns."""
    statement = module.statement(call)
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return False
    names = {key_of(target) for target in statement.targets} - {""}
    return not names.isdisjoint(_handed_to_trainers(module))


@per_module
def _handed_to_trainers(module: PythonModule) -> frozenset[str]:
    """The names that a trainer of the file is given."""
    trainers = (found for found in module.calls if last_name(found.func).endswith("Trainer"))
    values = (value for found in trainers for value in (*found.args, *(k.value for k in found.keywords)))
    return frozenset(map(key_of, values)) - {""}


@per_module
def _is_casting(module: PythonModule) -> bool:
    if "set_default_dtype" in module.text:
        return True
    return any(
        isinstance(call.func, ast.Attribute)
        and (
            (call.func.attr in _CASTS and not call.args)
            or (call.func.attr == "to" and any(_DTYPE.search(module.segment(n)) for n in (*call.args, *call.keywords)))
        )
        for call in module.calls
    )
