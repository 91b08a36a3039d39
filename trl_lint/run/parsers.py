"""The arguments a training script reads: the dataclasses it hands to `TrlParser` or `HfArgumentParser`.

Classes are looked up by import, never by their bare name: a script's `GRPOConfig` may be its own subclass of TRL's.
A parser of which one class is not understood is not understood at all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import Literal

from trl_lint import budget
from trl_lint.finding import Location
from trl_lint.memos import per_project
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project import CONTEXT_FILE_BYTES, Project, is_larger
from trl_lint.project.launch import Launch
from trl_lint.project.modules import module_file
from trl_lint.project.stack import PACKAGES
from trl_lint.python.guards import bindings, key_of
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument, default_of, is_none
from trl_lint.records import NamedTuple
from trl_lint.sources import SourceError, SourceFile

_KINDS: dict[str, Literal["trl", "transformers"]] = {"TrlParser": "trl", "HfArgumentParser": "transformers"}
PARSER_NAMES = tuple(f"{name}(".encode() for name in _KINDS)
_OF_FILES = frozenset({"parse_args_and_config", "parse_yaml_file", "parse_json_file", "parse_dict"})
_OF_COMMANDS = frozenset({"parse_args_and_config", "parse_args_into_dataclasses"})
PARSING = _OF_FILES | _OF_COMMANDS
# Whoever calls these reads arguments in a way of its own.
_FOREIGN = frozenset(
    {"ArgumentParser", "parse_known_args", "parse_args", "add_arguments", "add_subparsers", "set_defaults"}
)
# What makes a parser pass over names that it does not know, and the value that does not: in files alone, or everywhere.
_PASSES_KEYS = {"allow_extra_keys": False, "ignore_extra_args": False, "fail_with_unknown_args": True}
_PASSES_ALL = {"return_remaining_strings": False}
OF_THE_PARSER = frozenset({"config", "env", "help"})  # what parsers read as well
_DEEP = 8
# Functions of a class that decide what an object of it holds, or what it refuses.
_CONSTRUCTION = frozenset({"__init__", "__new__", "__post_init__", "__setattr__", "__getattribute__"})


CONFIG_NAMES = ("Config", "TrainingArguments")  # how those of the classes that hold training arguments end
_OTHER_CONFIGS = frozenset({"ModelConfig", "DatasetMixtureConfig"})  # those of trl that are for something else


class Own(NamedTuple):
    """A field that a class of the project declares: its default (UNKNOWN if none can be read) and its place."""

    value: object
    location: Location


class Fields(NamedTuple):
    """The names a dataclass accepts: its own, and those of the library classes (dotted names) it is built on.

    `is_changed`: a class of the project that is built on one of a library does something of its own when it is made.
    """

    own: dict[str, Own]
    bases: tuple[str, ...] = ()
    is_changed: bool = False

    def joined(self, other: Fields) -> Fields:
        """Both together; where both declare a field, this one counts."""
        is_changed = self.is_changed or other.is_changed
        return Fields({**other.own, **self.own}, tuple(dict.fromkeys((*self.bases, *other.bases))), is_changed)


def training_class(fields: Fields) -> str:
    """The library class among the fields that holds the training arguments, "" if there is not just one."""
    found = [dotted for dotted in fields.bases if is_training_class(dotted)]
    return found[0] if len(found) == 1 else ""


def is_training_class(dotted: str) -> bool:
    """Whether a class of a library holds training arguments: those of transformers, and the configs of trl."""
    package, name = dotted.partition(".")[0], dotted.rpartition(".")[2]
    if package not in ("trl", "transformers"):
        return False
    is_config = package == "trl" and name.endswith("Config") and name not in _OTHER_CONFIGS
    return is_config or name.endswith("TrainingArguments")


class ScriptParser(NamedTuple):
    """What a program accepts on its command line and in its config file.

    `path`: the script (the file whose environment it runs in). `name`: how a message calls it. `kind`: whose parser
    it is. `location`: where it is built, None for a command of a library. `reads_files`: whether it takes a config
    file. `flags` are accepted beside the fields. `passes_keys`, `passes_flags`: whether the script asks it to pass over
    the names that it does not know in a file or on the command line.
    """

    path: str
    name: str
    kind: Literal["trl", "transformers", "trl-command"]
    location: Location | None
    fields: Fields
    reads_files: bool
    passes_keys: bool
    passes_flags: bool
    flags: frozenset[str] = frozenset()


def parser_in(path: str, project: Project) -> ScriptParser | None:
    """What the script at `path` reads its arguments with; None where it has no parser that is understood."""

    def read(file: SourceFile) -> ScriptParser | None:
        named = any(name in file.data for name in PARSER_NAMES)
        return read_parser(project.module_in(path), project) if named else None

    with suppress(OSError, SourceError):  # reported when the file itself is checked
        return project.readings.read("parser", path, read) if path.endswith(".py") else None
    return None


@per_project
def parsers_of(project: Project) -> list[ScriptParser]:
    """The parsers of all scripts of a project, as far as they are understood."""
    return budget.shared("reading all arguments of the project", project.root, partial(_read_all, project))


def _read_all(project: Project) -> list[ScriptParser]:
    scripts = [path for path in project.paths if not is_larger(path, CONTEXT_FILE_BYTES)]
    return [found for path in scripts if (found := parser_in(path, project)) is not None]


def read_parser(module: PythonModule, project: Project) -> ScriptParser | None:
    """The parser of a script; None if it has none, more than one, or one that is not understood."""
    calls = list(_parser_calls(module))
    names = {call.func.attr if isinstance(call.func, ast.Attribute) else key_of(call.func) for call in module.calls}
    if len(calls) != 1 or names & _FOREIGN or names.isdisjoint(PARSING) or writes_arguments(module):
        return None
    ((call, kind),) = calls
    if kind is None:
        return None
    keywords = _parser_keywords(module, call)
    fields = _dataclasses(call, module, project)
    flags = _added_flags(module)
    if keywords is None or fields is None or flags is None or _has_own_arguments(module):
        return None
    passes_all = _departs(keywords, _PASSES_ALL, module)
    return ScriptParser(
        path=module.path,
        name=module.path.replace("\\", "/").rpartition("/")[2],
        kind=kind,
        location=module.location(call),
        fields=fields,
        reads_files=not names.isdisjoint(_OF_FILES),
        passes_keys=passes_all or _departs(keywords, _PASSES_KEYS, module),
        passes_flags=passes_all,
        flags=flags,
    )


def _departs(keywords: dict[str, ast.expr], strict: dict[str, bool], module: PythonModule) -> bool:
    """Whether one of the keywords has, or may have, another value than the one that lets nothing pass."""
    return any(module.value(keywords[name]) is not value for name, value in strict.items() if name in keywords)


def _parser_calls(module: PythonModule) -> Iterator[tuple[ast.Call, Literal["trl", "transformers"] | None]]:
    """The calls that build a parser, and whose parser it is: None for one of the same name from elsewhere."""
    for call in module.calls:
        name = key_of(call.func).rpartition(".")[2]
        if name in _KINDS:
            origins = {origin.partition(".")[0] for origin in module.names.origins(call.func)}
            is_known = origins == {_KINDS[name]} and module.names.is_certain(call.func)
            yield call, _KINDS[name] if is_known else None


def writes_arguments(module: PythonModule) -> bool:
    """Whether the script changes `sys.argv` before it is parsed."""
    if "argv" not in module.text:
        return False
    return any(
        isinstance(node, (ast.Attribute, ast.Subscript))
        and isinstance(node.ctx, (ast.Store, ast.Del))
        and key_of(node).startswith("sys.argv")
        for node in module.parents
    ) or any(key_of(call.func).startswith("sys.argv.") for call in module.calls)


def _has_own_arguments(module: PythonModule) -> bool:
    """Whether the parser gets other words than those of the command line: `parse_args_and_config(["--lr", …])`."""
    return any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr in _OF_COMMANDS
        and not is_command_line(argument(call, "args", 0), call, module)
        for call in module.calls
    )


def is_command_line(given: ast.expr | Missing, call: ast.Call, module: PythonModule) -> bool:
    """Whether what a parser is given is nothing, the words of the command, or a parameter that is None by default."""
    if isinstance(given, Missing):
        return given is ABSENT
    if isinstance(given, ast.Name) and (function := module.function(call)) is not None:
        return is_none(default_of(function, given.id))
    return is_none(given) or ast.unparse(given) == "sys.argv[1:]"


def _parser_keywords(module: PythonModule, parser: ast.Call) -> dict[str, ast.expr] | None:
    """The keywords with which the parser is built and used; None if some are hidden."""
    found: dict[str, ast.expr] = {}
    for call in module.calls:
        if call is not parser and not (isinstance(call.func, ast.Attribute) and call.func.attr in PARSING):
            continue
        if any(keyword.arg is None for keyword in call.keywords) or (call is not parser and len(call.args) > 1):
            return None
        found.update({keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None})
    return found


def _added_flags(module: PythonModule) -> frozenset[str] | None:
    found = set()
    for call in module.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
            texts = [module.value(argument) for argument in call.args]
            if not all(isinstance(text, str) for text in texts):
                return None
            found |= {str(text).lstrip("-").replace("-", "_") for text in texts}
    return frozenset(found)


def command_parser(launch: Launch) -> ScriptParser | None:
    """The parser behind `trl sft`, `trl grpo` and the like."""
    from trl_lint.knowledge.commands import command_classes

    command = launch.subcommand or ""
    classes = command_classes(command) if launch.launcher == "trl" else ()
    if not classes:
        return None
    fields = Fields({}, classes)
    return ScriptParser(launch.source.path, f"trl {command}", "trl-command", None, fields, True, False, False)


def beginnings(launch: Launch, parser: ScriptParser, versions: Mapping[str, str]) -> tuple[str, ...]:
    """The flags of a command, without dashes, that are none of its parser's with these releases.

    argparse takes the beginning of a flag for the flag: `--num_gen 8`.
    """
    texts = (word.text.partition("=")[0] for word in launch.args if word.text is not None)
    given = {text[2:].replace("-", "_") for text in texts if text.startswith("--")} - OF_THE_PARSER
    given -= parser.fields.own.keys() | parser.flags
    for dotted in parser.fields.bases if given else ():
        given -= _names(dotted, tuple(versions.items()))
    return tuple(sorted(given))


@lru_cache(maxsize=256)
def _names(dotted: str, versions: tuple[tuple[str, str], ...]) -> frozenset[str]:
    from trl_lint.knowledge.api import resolve, signature

    found = resolve(dotted, dict(versions))
    return frozenset(signature(found, dict(versions)).parameters) if isinstance(found, str) else frozenset()


# -- dataclasses ----------------------------------------------------------------------------------------------------


def _dataclasses(call: ast.Call, module: PythonModule, project: Project) -> Fields | None:
    items = dataclass_types(call, module)
    fields = Fields({})
    for item in items or ():
        one = fields_of(item, module, project)
        if one is None:
            return None
        fields = fields.joined(one)
    return fields if items else None


def dataclass_types(call: ast.Call, module: PythonModule) -> list[ast.expr] | None:
    """The classes that a call builds a parser for, in their order; None if they are not written down."""
    given = [*call.args, *(k.value for k in call.keywords if k.arg in ("dataclass_types", "parsers"))]
    if not given:
        return None
    value = given[0]
    if isinstance(value, ast.Name) and not module.names.is_imported(value.id) and value.id not in _class_names(module):
        values = bindings(module).get(value.id, [])
        if len(values) != 1 or not module.names.is_literal_only(value.id):
            return None
        value = values[0]
    if isinstance(value, ast.Call) and key_of(value.func) in ("tuple", "list") and len(value.args) == 1:
        value = value.args[0]
    return value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]


def _class_names(module: PythonModule) -> set[str]:
    return {cls.name for cls in module.classes}


def fields_of(node: ast.expr, module: PythonModule, project: Project, depth: int = 0) -> Fields | None:
    """The names that the dataclass an expression stands for accepts; None if that is not known."""
    if depth > _DEEP:
        budget.limit(_DEEP, "bases of a dataclass more than {} classes away were not read", module.path)
        return None
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return None
    if isinstance(node, ast.Name) and not module.names.is_imported(node.id):
        same = [cls for cls in module.classes if cls.name == node.id]
        return _fields_of_class(same[0], module, project, depth) if len(same) == 1 else None
    origins = module.names.origins(node)
    if len(origins) != 1 or not module.names.is_certain(node):
        return None
    (origin,) = origins
    home, _, name = origin.rpartition(".")
    if origin.partition(".")[0] in PACKAGES:
        return Fields({}, (origin,))
    path = module_file(home or ".", module.path, project) if home else None
    if path is None:
        return None
    with suppress(OSError, SourceError):
        return fields_of(ast.Name(name, ast.Load()), project.module_in(path), project, depth + 1)
    return None


def _fields_of_class(cls: ast.ClassDef, module: PythonModule, project: Project, depth: int) -> Fields | None:
    fields = Fields(dict(_annotated(cls.body, module)))
    for base in cls.bases:
        if key_of(base) in ("object", "ABC", "abc.ABC"):
            continue
        inherited = fields_of(base, module, project, depth + 1)
        if inherited is None:
            return None
        fields = fields.joined(inherited)
    functions = {item.name for item in cls.body if isinstance(item, ast.FunctionDef)}
    return fields._replace(is_changed=True) if fields.bases and functions & _CONSTRUCTION else fields


def _annotated(body: list[ast.stmt], module: PythonModule) -> Iterator[tuple[str, Own]]:
    """The annotated names of a class body, whether or not it is decorated: one name too many is harmless."""
    for statement in body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, Own(_default(statement.value, module), module.location(statement))
        elif isinstance(statement, ast.If):
            yield from _annotated([*statement.body, *statement.orelse], module)


def _default(value: ast.expr | None, module: PythonModule) -> object:
    if isinstance(value, ast.Call) and key_of(value.func).rpartition(".")[2] == "field":
        value = next((keyword.value for keyword in value.keywords if keyword.arg == "default"), None)
    return module.value(value) if value is not None else UNKNOWN
