"""Arguments of calls, entries of dicts and items of lists, also where a dict was built in steps."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from trl_lint.missing import UNKNOWN
from trl_lint.run.trainer.made import Change, Condition, Conditions, Frame, Made, Options, Resolver, beneath

_MOST_LAID = 24  # possibilities for one entry, and ways to reach what is beneath


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
    layers = Layers(resolver, call, frame)
    for keyword in call.keywords:
        if keyword.arg is None and layers.is_open:
            options = resolver.options(keyword.value, frame)
            layers.lay(tuple(one for made in options for one in _in_spread(resolver, made, name)))
    return layers.over((resolver.absent(call, frame),))


class Layers:
    """The possibilities for an entry of what is put together in layers, the last one first.

    Where a layer may leave the entry as it is, the one beneath counts, under the tests by which it does.
    """

    def __init__(self, resolver: Resolver, node: ast.AST, frame: Frame) -> None:
        self._resolver, self._node, self._frame = resolver, node, frame
        self._found: list[Made] = []
        self._gaps: list[Conditions] = [()]  # the ways in which no layer has said anything yet

    @property
    def is_open(self) -> bool:
        """Whether a layer beneath may still count."""
        return bool(self._gaps)

    def lay(self, options: Options, under: Conditions = ()) -> None:
        """Put a layer beneath the others: what it holds, where "absent" leaves the entry as it is.

        `under` are the tests by which there is the layer at all.
        """
        through = [made.under for made in options if made.kind == "absent"]
        said = [made for made in options if made.kind != "absent"]
        if said:
            self._put(said, under, [(*under, *one) for one in through])

    def put(self, options: Options, under: Conditions = ()) -> None:
        """The same for a layer that says all of the entry: "absent" takes it away."""
        self._put(options, under, [])

    def over(self, last: Options) -> Options:
        """All possibilities, with what is beneath all layers."""
        self._put(last, (), [])
        return self._resolver.limited(tuple(self._found), self._node, self._frame)

    def _put(self, said: Iterable[Made], under: Conditions, through: list[Conditions]) -> None:
        if len(under) == 1:
            through.append((Condition(under[0].test, not under[0].truth, under[0].frame),))
        elif under:
            through.append(())
        self._found += [made.beneath((*gap, *under)) for gap in self._gaps for made in said]
        self._gaps = [(*gap, *one) for gap in self._gaps for one in through]
        if len(self._gaps) + len(self._found) > _MOST_LAID:
            self._found.append(self._resolver.unknown(self._node, self._frame))
            self._gaps = []


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
        if made.is_loaded and not made.changes:
            return (made._replace(item=(*made.item, key)),)
        return (resolver.unknown(made.node, made.frame),)
    layers = Layers(resolver, made.node, made.frame)
    for change in reversed(made.changes):
        if layers.is_open:
            _lay_change(resolver, layers, change, key)
    return layers.over(_literal_entry(resolver, made, key) if layers.is_open else ())


def _lay_change(resolver: Resolver, layers: Layers, change: Change, key: str) -> None:
    """Lay what a change makes of an entry; nothing where it leaves it as it is."""
    if change.kind == "set" or (change.kind == "item" and change.path not in ("", key)):
        return
    if change.kind == "item" and change.path == key and change.value is not None:
        layers.put(resolver.options(change.value, change.frame), change.under)
    elif change.kind == "call" and isinstance(change.value, ast.Call):
        _lay_call(resolver, layers, change.path, change.value, change, key)
    else:
        layers.lay((resolver.unknown(change.statement, change.frame),), change.under)


def _lay_call(resolver: Resolver, layers: Layers, method: str, call: ast.Call, change: Change, key: str) -> None:
    if method in ("get", "keys", "items", "values", "copy"):
        return
    if method == "update":
        layers.lay(given(resolver, call, change.frame, key), change.under)
        if call.args:
            options = resolver.options(call.args[0], change.frame)
            layers.lay(tuple(one for made in options for one in _in_spread(resolver, made, key)), change.under)
        return
    named = change.frame.module.value(call.args[0]) if method in ("pop", "setdefault") and call.args else UNKNOWN
    if named == key and method == "pop":
        layers.put((resolver.absent(call, change.frame),), change.under)
    elif named == key or not isinstance(named, str):
        layers.lay((resolver.unknown(call, change.frame),), change.under)


def _literal_entry(resolver: Resolver, made: Made, key: str) -> Options:
    node, frame = made.node, made.frame
    layers = Layers(resolver, node, frame)
    if isinstance(node, ast.Call):  # dict(a=1, **other), dict(other)
        layers.lay(given(resolver, node, frame, key))
        if layers.is_open and node.args and made.origin != "**":
            options = resolver.options(node.args[0], frame)
            layers.lay(tuple(one for base in options for one in _in_spread(resolver, base, key)))
        return layers.over((resolver.absent(node, frame),))
    if not isinstance(node, ast.Dict):
        return (resolver.unknown(node, frame),)
    for name, value in reversed(list(zip(node.keys, node.values, strict=True))):
        known = key if name is None else frame.module.value(name)
        if name is None:
            options = resolver.options(value, frame)
            layers.lay(tuple(one for base in options for one in _in_spread(resolver, base, key)))
        elif known is UNKNOWN:
            layers.lay((resolver.unknown(name, frame),))
        elif known == key:
            layers.put(resolver.options(value, frame))
        if not layers.is_open:
            break
    return layers.over((resolver.absent(node, frame),))


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
    if _is_beginning(node.slice) and all(made.kind == "parsed" for made in options):
        return options  # `a, b = parser.parse_args_into_dataclasses(…)[:2]`
    slices = [made.value for made in resolver.options(node.slice, frame)] if not _is_slice(node.slice) else []
    if len(slices) == 1 and isinstance(slices[0], (str, int)):
        return part(resolver, options, slices[0], node, frame)
    if all(made.kind in ("call", "part") for made in options):  # `dataset["train"][:100]`, `dataset[args.split]`
        return tuple(made._replace(item=(*made.item, UNKNOWN)) for made in options)
    return (resolver.unknown(node, frame),)


def _is_beginning(node: ast.expr) -> bool:
    """Whether it is `[:3]`, the first of some parts."""
    if not isinstance(node, ast.Slice) or node.lower is not None or node.step is not None:
        return False
    return isinstance(node.upper, ast.Constant) and isinstance(node.upper.value, int) and node.upper.value > 0


def _is_slice(node: ast.expr) -> bool:
    return isinstance(node, (ast.Slice, ast.Tuple))
