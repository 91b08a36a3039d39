"""Arguments of calls, entries of dicts and items of lists, also where a dict was built in steps."""

from __future__ import annotations

import ast

from trl_lint.missing import UNKNOWN
from trl_lint.project.trainercall.made import Change, Condition, Conditions, Frame, Made, Options, Resolver, beneath


def argument(resolver: Resolver, made: Made, name: str, position: int | None) -> Options:
    """What a call was given for a parameter; see `Made.argument`."""
    call = made.node
    if made.kind not in ("call", "instance") or not isinstance(call, ast.Call):
        return (resolver.unknown(call, made.frame),)
    return given(resolver, call, made.frame, name, position)


def given(resolver: Resolver, call: ast.Call, frame: Frame, name: str, position: int | None = None) -> Options:
    """What a call passes for a parameter."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return resolver.options(keyword.value, frame)
    if position is not None:
        for index, value in enumerate(call.args):
            if isinstance(value, ast.Starred):
                spread = resolver.options(value.value, frame)
                held = [items(resolver, made) for made in spread]
                if all(one is not None and len(one) <= position - index for one in held):
                    break
                return part(resolver, spread, position - index, value, frame)
            if index == position:
                return resolver.options(value, frame)
    for keyword in call.keywords:
        if keyword.arg is None:
            options = resolver.options(keyword.value, frame)
            spread = tuple(one for made in options for one in _in_spread(resolver, made, name))
            if any(one.kind != "absent" for one in spread):
                return resolver.limited(spread, call, frame)
    return (resolver.absent(call, frame),)


def _in_spread(resolver: Resolver, made: Made, name: str) -> Options:
    return beneath(entry(resolver, made, name), made.under)


def keywords(resolver: Resolver, call: ast.Call, frame: Frame) -> list[str] | None:
    """The keywords that a call is written with, those of dict literals spread into it too; None if some are hidden."""
    found: list[str] = []
    for keyword in call.keywords:
        if keyword.arg is not None:
            found.append(keyword.arg)
            continue
        for made in resolver.options(keyword.value, frame):
            keys = _keys(resolver, made)
            if keys is None:
                return None
            found += keys
    return list(dict.fromkeys(found))


def _keys(resolver: Resolver, made: Made) -> list[str] | None:
    if made.kind != "dict" or any(change.kind != "item" or not change.path for change in made.changes):
        return None
    found = [change.path for change in made.changes]
    if isinstance(made.node, ast.Call):
        own = keywords(resolver, made.node, made.frame) if not made.node.args else None
        return None if own is None else [*own, *found]
    if isinstance(made.node, ast.Dict):
        for key in made.node.keys:
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                return None
            found.append(key.value)
    return found


# -- dicts ----------------------------------------------------------------------------------------------------------


def entry(resolver: Resolver, made: Made, key: str) -> Options:
    """What a dict holds under a key: by its literal, or by the last statement that set it."""
    if made.kind != "dict":
        if made.is_none:
            return (resolver.absent(made.node, made.frame),)
        return (resolver.unknown(made.node, made.frame),)
    found: list[Made] = []
    missed: Conditions = ()
    for change in reversed(made.changes):
        said = _changed(resolver, change, key)
        if said is None:
            continue
        found += beneath(said, (*missed, *change.under))
        if not change.under:
            return tuple(found)
        if len(change.under) == 1:
            only = change.under[0]
            missed = (*missed, Condition(only.test, not only.truth, only.frame))
    return resolver.limited((*found, *beneath(_literal_entry(resolver, made, key), missed)), made.node, made.frame)


def _changed(resolver: Resolver, change: Change, key: str) -> Options | None:
    """What a change makes of an entry; None where it leaves it as it is."""
    if change.kind == "item":
        if change.path not in ("", key):
            return None
        if change.path == key and change.value is not None:
            return resolver.options(change.value, change.frame)
    elif change.kind == "call" and isinstance(change.value, ast.Call):
        return _called(resolver, change.path, change.value, change, key)
    elif change.kind == "set":
        return None
    return (resolver.unknown(change.statement, change.frame),)


def _called(resolver: Resolver, method: str, call: ast.Call, change: Change, key: str) -> Options | None:
    if method == "update":
        if call.args:
            found = [one for made in resolver.options(call.args[0], change.frame) for one in entry(resolver, made, key)]
        else:
            found = list(given(resolver, call, change.frame, key))
        return None if all(one.kind == "absent" for one in found) else tuple(found)
    if method in ("pop", "setdefault"):
        named = change.frame.module.value(call.args[0]) if call.args else UNKNOWN
        if isinstance(named, str) and named != key:
            return None
        if method == "pop" and named == key:
            return (resolver.absent(call, change.frame),)
    if method in ("get", "keys", "items", "values", "copy"):
        return None
    return (resolver.unknown(call, change.frame),)


def _literal_entry(resolver: Resolver, made: Made, key: str) -> Options:
    node, frame = made.node, made.frame
    if isinstance(node, ast.Call):  # dict(a=1, **other), dict(other)
        found = given(resolver, node, frame, key)
        if all(one.kind == "absent" for one in found) and node.args and made.origin != "**":
            return tuple(one for base in resolver.options(node.args[0], frame) for one in entry(resolver, base, key))
        return found
    if not isinstance(node, ast.Dict):
        return (resolver.unknown(node, frame),)
    for name, value in reversed(list(zip(node.keys, node.values, strict=True))):
        if name is None:
            spread = [one for base in resolver.options(value, frame) for one in _in_spread(resolver, base, key)]
            if any(one.kind != "absent" for one in spread):
                return tuple(spread)
        else:
            known = frame.module.value(name)
            if known is UNKNOWN:
                return (resolver.unknown(name, frame),)
            if known == key:
                return resolver.options(value, frame)
    return (resolver.absent(node, frame),)


# -- parts ----------------------------------------------------------------------------------------------------------


def items(resolver: Resolver, made: Made) -> tuple[Options, ...] | None:
    """What a list or tuple holds, one after the other; None where that is not known."""
    node = made.node
    if made.kind != "list" or not isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return None
    found = [resolver.options(item, made.frame) for item in node.elts if not isinstance(item, ast.Starred)]
    if len(found) < len(node.elts):
        return None
    for change in made.changes:
        call = change.value
        if change.kind != "call" or change.path != "append" or not isinstance(call, ast.Call) or len(call.args) != 1:
            return None
        found.append(beneath(resolver.options(call.args[0], change.frame), change.under))
    return tuple(found)


def part(resolver: Resolver, options: Options, index: object, node: ast.AST, frame: Frame) -> Options:
    """One item of what was made, by its number or its key."""
    found: list[Made] = []
    for made in options:
        held = items(resolver, made) if isinstance(index, int) else None
        if held is not None and isinstance(index, int) and -len(held) <= index < len(held):
            found += beneath(held[index], made.under)
        elif made.kind == "dict" and isinstance(index, str):
            found += beneath(entry(resolver, made, index), made.under)
        elif made.kind in ("call", "parsed", "instance"):
            found.append(made._replace(item=(*made.item, index)))
        else:
            found.append(resolver.unknown(node, frame).beneath(made.under))
    return tuple(found)


def of_subscript(resolver: Resolver, node: ast.Subscript, frame: Frame) -> Options:
    options = resolver.options(node.value, frame)
    slices = [made.value for made in resolver.options(node.slice, frame)] if not _is_slice(node.slice) else []
    if len(slices) == 1 and isinstance(slices[0], (str, int)):
        return part(resolver, options, slices[0], node, frame)
    if all(made.kind in ("call", "part") for made in options):  # `dataset["train"][:100]`, `dataset[args.split]`
        return tuple(made._replace(item=(*made.item, UNKNOWN)) for made in options)
    return (resolver.unknown(node, frame),)


def _is_slice(node: ast.expr) -> bool:
    return isinstance(node, (ast.Slice, ast.Tuple))
