"""The published meta-model of the protocol (`metaModel.json`), and whether a value is what it says.

Nothing of the model is kept here: with `LSP_META_MODEL=metaModel.json` in the environment, the client of the tests
compares every message of the server with it, beside the types that `lsprotocol` has made of one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

_BASES: dict[str, tuple[type, ...]] = {
    "string": (str,), "URI": (str,), "DocumentUri": (str,), "RegExp": (str,), "boolean": (bool,), "null": (type(None),),
    "decimal": (int, float), "integer": (int,), "uinteger": (int,),
}  # fmt: skip
_ANYTHING = {"LSPAny", "LSPObject", "LSPArray"}


class Model:
    """A meta-model, as its JSON has it."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._named = {
            one["name"]: (kind, one) for kind in ("structures", "enumerations", "typeAliases") for one in data[kind]
        }
        self._messages = {one["method"]: one for kind in ("requests", "notifications") for one in data[kind]}

    def wrong(self, message: dict[str, Any], method: str) -> list[str]:
        """What is wrong with a message of a server: a question or a notice, or the answer to a method."""
        said = self._messages[method]
        if "method" in message:
            return list(self._params(said, message.get("params")))
        if "error" in message:
            error = message["error"]
            return [] if isinstance(error.get("code"), int) and isinstance(error.get("message"), str) else ["error"]
        return list(self._wrong(said["result"], message.get("result"), "result"))

    def _params(self, said: dict[str, Any], params: Any) -> Iterator[str]:
        if "params" in said:
            yield from self._wrong(said["params"], params, "params")
        elif params is not None:
            yield "params: there are none"

    def _wrong(self, kind: dict[str, Any], value: Any, at: str) -> Iterator[str]:
        how = kind["kind"]
        if how == "base":
            is_it = isinstance(value, _BASES[kind["name"]]) and (kind["name"] == "boolean" or value is not True)
            if not is_it or (kind["name"] == "uinteger" and value < 0):
                yield f"{at}: {value!r} is no {kind['name']}"
        elif how == "reference":
            yield from self._wrong_named(kind["name"], value, at)
        elif how == "array":
            yield from self._wrong_items([kind["element"]] * len(value) if isinstance(value, list) else [], value, at)
        elif how == "tuple":
            yield from self._wrong_items(kind["items"], value, at)
        elif how == "or":
            tried = [list(self._wrong(one, value, at)) for one in kind["items"]]
            if all(tried):
                yield from min(tried, key=len)
        elif how == "and":
            raise NotImplementedError(at)  # only of what is registered
        elif how == "map":
            for name, inner in value.items() if isinstance(value, dict) else [("", None)]:
                yield from self._wrong(kind["value"], inner, f"{at}[{name}]")
        elif how == "literal":
            yield from self._wrong_fields(kind["value"]["properties"], value, at)
        elif value != kind["value"]:
            yield f"{at}: {value!r} is not {kind['value']!r}"

    def _wrong_items(self, kinds: list[dict[str, Any]], value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, list) or len(kinds) != len(value):
            yield f"{at}: {value!r} is no list of that length"
            return
        for number, (kind, one) in enumerate(zip(kinds, value, strict=True)):
            yield from self._wrong(kind, one, f"{at}[{number}]")

    def _wrong_named(self, name: str, value: Any, at: str) -> Iterator[str]:
        if name in _ANYTHING:
            return
        kind, one = self._named[name]
        if kind == "typeAliases":
            yield from self._wrong(one["type"], value, at)
        elif kind == "structures":
            yield from self._wrong_fields(list(self._properties(name)), value, at)
        elif not one.get("supportsCustomValues") and value not in [each["value"] for each in one["values"]]:
            yield f"{at}: {value!r} is no {name}"
        elif not isinstance(value, _BASES[one["type"]["name"]]):
            yield f"{at}: {value!r} is no {one['type']['name']}"

    def _properties(self, name: str) -> Iterator[dict[str, Any]]:
        one = self._named[name][1]
        for other in (*one.get("extends", ()), *one.get("mixins", ())):
            yield from self._properties(other["name"])
        yield from one["properties"]

    def _wrong_fields(self, properties: list[dict[str, Any]], value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{at}: {value!r} is no object"
            return
        fields = {one["name"]: one for one in properties}
        yield from (f"{at}: unknown {name}" for name in value if name not in fields)
        for name, field in fields.items():
            if name in value:
                yield from self._wrong(field["type"], value[name], f"{at}.{name}")
            elif not field.get("optional"):
                yield f"{at}: no {name}"


@cache
def read(path: str) -> Model:
    return Model(json.loads(Path(path).read_text("utf-8")))
