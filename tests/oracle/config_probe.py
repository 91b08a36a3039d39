"""Ask a library whether it takes configs: run by the interpreter of an environment that has it, with nothing of ours.

Reads {"classes": ["trl:GRPOConfig", …], "modules": […]} and answers {"versions": {package: version},
"fields": {class: {name: [default or null, annotation, true if it must be given]}},
"missing": {class: why it cannot be asked}}; then reads {class: [{field: value}, …]} and answers
{class: [null or [exception, text], …]}: one line of JSON each. A class is looked for in the module before the colon and
in `modules`. A program has no name behind the colon:
`<package>_program.py` beside this file runs it.
"""

import dataclasses
import enum
import fcntl
import importlib
import importlib.metadata
import inspect
import json
import logging
import os
import tempfile
import warnings
from typing import TextIO

import stubs

_FAR = 777  # the first number of a file of ours


def main() -> None:
    heard, out = _own(0, "r"), _own(1, "w")
    asked = json.loads(heard.readline())
    os.environ.update({"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""})
    os.chdir(tempfile.mkdtemp())  # what a config writes or looks for is in no one's way
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    fields, build, missing = {}, {}, {}
    for each in asked["classes"]:
        try:
            fields[each], build[each] = _open(each, asked["modules"])
        except Exception as error:  # what a class needs is not there
            missing[each] = f"{type(error).__name__}: {str(error)[:200]}"
    print(json.dumps({"versions": _versions(), "fields": fields, "missing": missing}), file=out, flush=True)
    configs = json.loads(heard.readline())
    answers = {each: [_answer(build[each], values) for values in given] for each, given in configs.items()}
    print(json.dumps(answers), file=out, flush=True)


def _own(stream: int, mode: str) -> TextIO:
    """A standard stream for us alone, out of reach of a config that prints, or opens a small number as a file."""
    found = os.fdopen(fcntl.fcntl(stream, fcntl.F_DUPFD, _FAR), mode, encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDWR), stream)
    return found


def _open(asked: str, modules: "list[str]") -> "tuple[dict[str, list[object]], object]":
    module, _, name = asked.partition(":")
    package = module.partition(".")[0]
    stubs.install(package)
    if name:
        return _of_class(_class_in([module, *modules], name))
    return importlib.import_module(f"{package}_program").open_program(module)


def _versions() -> "dict[str, str]":
    """What is installed; of two copies the one that Python imports."""
    found: dict[str, str] = {}
    for each in importlib.metadata.distributions():
        name = each.metadata["Name"].lower().replace("_", "-")
        found.setdefault(name, each.version.partition("+")[0])
    return found


def _class_in(modules: "list[str]", name: str) -> type:
    for each in modules:
        try:
            found = getattr(importlib.import_module(each), name, None)
        except ModuleNotFoundError:
            continue  # not in this release
        if found is not None:
            return found
    raise AttributeError(f"{name} is in none of {', '.join(modules)}")


def _of_class(config: type) -> "tuple[dict[str, list[object]], object]":
    """The fields of a class, with defaults and annotations, and the class."""
    fields = [each for each in dataclasses.fields(config) if each.init] if dataclasses.is_dataclass(config) else []
    if fields and {each.name for each in fields} >= set(inspect.signature(config).parameters):
        return {each.name: [plain(each.default), str(each.type), *_is_needed(each)] for each in fields}, config
    models = getattr(config, "model_fields", None) or getattr(config, "__fields__", None)
    if models:  # of pydantic
        return {name: [plain(each.default), str(getattr(each, "annotation", ""))] for name, each in models.items()}, (
            lambda **values: config(**values)
        )
    open_ended = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = [each for each in inspect.signature(config).parameters.values() if each.kind not in open_ended]
    return {
        each.name: [plain(each.default), str(each.annotation), *([True] if each.default is each.empty else [])]
        for each in parameters
    }, config


def _is_needed(field: "dataclasses.Field[object]") -> "list[bool]":
    return [True] if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING else []


def plain(value: object) -> object:
    value = value.value if isinstance(value, enum.Enum) else value
    return value if isinstance(value, (str, int, float, bool)) else None


def _answer(build: object, values: "dict[str, object]") -> "list[str] | None":
    try:
        build(**values)
    except BaseException as error:  # a library may raise anything
        while type(error).__name__ == "InstantiationException" and error.__cause__ is not None:
            error = error.__cause__  # hydra tells where it was
        return [type(error).__name__, " ".join(_text(error).split())[:160]]
    return None


def _text(error: BaseException) -> str:
    """What an error says; one of pydantic field by field."""
    if type(error).__name__ != "ValidationError" or not hasattr(error, "errors"):
        return str(error)
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())


if __name__ == "__main__":
    main()
