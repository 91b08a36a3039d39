"""Runs in the scratch environment of `verify`, never in the tool: imports a package and prints what `inspect` sees."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import pkgutil
import sys
import types
from collections.abc import Callable


def spell(parameter: inspect.Parameter, field: dataclasses.Field[object] | None) -> str:
    """A default as the histories spell it: `*` for none, `?` for what has no literal."""
    value = parameter.default
    if field is not None and field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
    if value is inspect.Parameter.empty:
        return "*"
    try:
        is_literal = not isinstance(value, str) or type(value) is str
        return repr(value) if is_literal and eval(repr(value), {"__builtins__": {}}) == value else "?"
    except Exception:
        return "?"


def describe(thing: Callable[..., object]) -> dict[str, object] | None:
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return None
    fields = {field.name: field for field in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else {}
    own = thing.__dict__.get("__init__") if isinstance(thing, type) else None
    if (
        own is not None
        and "dataclass" not in getattr(own, "__qualname__", "")
        and own.__code__.co_filename != "<string>"
    ):
        fields = {}
    kinds = inspect.Parameter
    return {
        "kwargs": any(p.kind is kinds.VAR_KEYWORD for p in parameters),
        "parameters": {
            p.name: spell(p, fields.get(p.name))
            for p in parameters
            if p.kind not in (kinds.VAR_KEYWORD, kinds.VAR_POSITIONAL)
        },
    }


def main(package: str, modules: list[str]) -> None:
    callables: dict[str, object] = {}
    names: dict[str, list[str]] = {}
    root = importlib.import_module(package)
    found_modules = pkgutil.walk_packages(root.__path__, package + ".", lambda name: None)
    modules = modules or [package, *(info.name for info in found_modules)]
    for name in modules:
        if any(part.startswith("_") for part in name.split(".")) or ".tests" in name:
            continue
        try:
            module = importlib.import_module(name)
        except BaseException:
            continue
        for attribute in list(getattr(module, "__all__", None) or dir(module)):
            try:
                thing = getattr(module, attribute)
            except Exception:
                continue
            if attribute.startswith("_"):
                continue
            names.setdefault(name, []).append(attribute)
            if isinstance(thing, types.ModuleType) or not callable(thing):
                continue
            if (
                getattr(thing, "__module__", "").split(".")[0] == package
                and getattr(thing, "__name__", "") == attribute
            ):
                found = describe(thing)
                if found is not None:
                    callables[f"{name}.{attribute}"] = found
    print(json.dumps({"callables": callables, "names": names}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
