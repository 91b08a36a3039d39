"""What a script hands to its config out of a command that it reads itself: `SFTConfig(learning_rate=args.lr)`."""

from __future__ import annotations

import ast

from trl_lint.memos import per_module
from trl_lint.missing import UNKNOWN
from trl_lint.project import Project
from trl_lint.project.modules import imported_name
from trl_lint.python.guards import bindings, calls_by_name, functions_named
from trl_lint.python.module import FunctionNode, PythonModule, nodes_in
from trl_lint.run.config_changes import Changes, changes_in
from trl_lint.run.effective import Setting
from trl_lint.run.inputs import Inputs
from trl_lint.run.readers.argparse_flags import converted
from trl_lint.run.readers.own_argparse import OwnParser, arguments_of_launch, parser_of_launch
from trl_lint.sources import SourceError

_DEEP = 3  # functions in functions that what was parsed is handed to
_ELSEWHERE = (b"set_defaults", b"argument_default", b"fromfile_prefix_chars")
_PLAIN = (str, int, float, bool, type(None))


def of_command(node: ast.expr, module: PythonModule, inputs: Inputs) -> Setting | None:
    """The value of `args.x`, where `args` is what argparse makes of the command; None where nobody can tell.

    A default has the place at which the script hands it on.
    """
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return None
    project = inputs.project
    if not _is_parsed(node.value, module, project, 0):
        return None
    if any(one.is_open or node.attr in one.fields for one in _changes(module, project)):
        return None
    parser = parser_of_launch(inputs.launch, project)
    try:
        if not isinstance(parser, OwnParser) or project.files.holds(parser.location.path, *_ELSEWHERE):
            return None
    except (OSError, SourceError):
        return None
    names = parser.fields.get(node.attr, ())
    short = tuple(name for name in names if not name.startswith("--"))
    if short and any((word.text or "").startswith(short) for word in inputs.launch.args):
        return None
    names = tuple(name for name in names if name.startswith("--"))
    arguments = arguments_of_launch(inputs.launch, parser)
    if not names or arguments.hidden or arguments.faults:
        return None
    given = [name for name in names if name in arguments.words]
    flag, source = parser.flags[given[0] if given else names[0]], inputs.launch.source
    if len(given) > 1:
        return None
    if given:
        word = arguments.words[flag.name]
        value, place = arguments.values.get(flag.name, UNKNOWN), source.location(word.start, word.end)
        return Setting(value, "flag", place) if isinstance(value, _PLAIN) else None
    default = flag.default
    if flag.is_required or flag.action not in ("store", "store_true", "store_false"):
        return None
    if isinstance(default, str):
        default = converted(flag, default)
    return Setting(default, "script", module.location(node)) if isinstance(default, _PLAIN) else None


def _is_parsed(name: ast.Name, module: PythonModule, project: Project, depth: int) -> bool:
    """Whether a name certainly holds what a parser made of the command line."""
    around = next((one for one in module.functions_around(name) if name.id in _parameters(one)), None)
    if around is not None:
        calls = calls_by_name(module).get((ast.Name, around.name), [])
        given = [_argument(call, name.id, _parameters(around)) for call in calls]
        return depth < _DEEP and bool(given) and all(_gives_parsed(one, module, project, depth + 1) for one in given)
    stores = [use for use in module.named(name.id) if not isinstance(use.ctx, ast.Load)]
    values = bindings(module).get(name.id, [])
    if len(stores) != 1 or len(values) != 1 or module.function(values[0]) not in (None, *module.functions_around(name)):
        return False
    return _gives_parsed(values[0], module, project, depth)


def _gives_parsed(node: ast.expr | None, module: PythonModule, project: Project, depth: int) -> bool:
    if isinstance(node, ast.Name):
        return _is_parsed(node, module, project, depth)
    if not isinstance(node, ast.Call) or depth > _DEEP:
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "parse_args":
        return True  # of the one parser that was read
    if not isinstance(node.func, ast.Name):
        return False
    owner, name = imported_name(module, node.func, project) or (module, node.func.id)
    functions = functions_named(owner, name)
    returned = [one.value for one in nodes_in(functions[0]) if isinstance(one, ast.Return)] if functions else []
    return (
        len(functions) == 1
        and bool(returned)
        and all(_gives_parsed(value, owner, project, depth + 1) for value in returned)
    )


@per_module
def _changes(module: PythonModule, project: Project) -> list[Changes]:
    """What the script, and the functions of the project that get what was parsed, may set."""
    changes = [changes_in(module, project)]
    for call in module.calls:
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if any(isinstance(one, ast.Name) and _is_parsed(one, module, project, 0) for one in given):
            found = imported_name(module, call.func, project)
            changes += [changes_in(found[0], project)] if found is not None else []
    return changes


def _parameters(function: FunctionNode) -> list[str]:
    given = function.args
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _argument(call: ast.Call, name: str, parameters: list[str]) -> ast.expr | None:
    named = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
    at = parameters.index(name)
    return named or (call.args[at] if at < len(call.args) else None)
