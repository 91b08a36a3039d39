"""Ask a library whether it takes configs: run by the interpreter of an environment that has it, with nothing of ours.

Reads {"class": "trl:GRPOConfig", "configs": [{field: value}, …], "out": file} from standard input and writes to `out`
{"versions": {package: version}, "fields": {name: [default or null, annotation]},
"answers": [null or [exception, text], …]}.
"""

import dataclasses
import importlib
import importlib.metadata
import json
import logging
import os
import sys
import tempfile
import warnings


def main() -> None:
    asked = json.load(sys.stdin)
    os.environ.update({"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""})
    os.chdir(tempfile.mkdtemp())  # what a config writes or looks for is in no one's way
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    module, _, name = asked["class"].partition(":")
    config = getattr(importlib.import_module(module), name)
    found = {
        "versions": _versions(),
        "fields": {
            field.name: [_default(field), str(field.type)] for field in dataclasses.fields(config) if field.init
        },
        "answers": [_answer(config, values) for values in asked["configs"]],
    }
    with open(asked["out"], "w", encoding="utf-8") as stream:  # a config may have closed the standard streams
        json.dump(found, stream)


def _versions() -> "dict[str, str]":
    """What is installed; of two copies the one that Python imports."""
    found: dict[str, str] = {}
    for each in importlib.metadata.distributions():
        name = each.metadata["Name"].lower().replace("_", "-")
        found.setdefault(name, each.version.partition("+")[0])
    return found


def _default(field: "dataclasses.Field[object]") -> object:
    value = field.default if field.default is not dataclasses.MISSING else None
    value = getattr(value, "value", value)  # an enum
    return value if isinstance(value, (str, int, float, bool)) else None


def _answer(config: type, values: "dict[str, object]") -> "list[str] | None":
    try:
        config(**values)
    except BaseException as error:  # a library may raise anything
        return [type(error).__name__, " ".join(str(error).split())[:160]]
    return None


if __name__ == "__main__":
    main()
