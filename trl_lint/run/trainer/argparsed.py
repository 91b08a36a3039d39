"""What a field of a parser of `argparse` is in a run: what the command line says, else the default it declares.

Where the parser may give another value than what is read here (a required argument, one without a flag, `set_defaults`,
an action of its own), the field is unknown.
"""

from __future__ import annotations

import ast

from trl_lint.memos import per_module
from trl_lint.missing import UNKNOWN, Missing
from trl_lint.project.launch import Launch
from trl_lint.python.guards import calls_by_name, key_of
from trl_lint.python.module import PythonModule
from trl_lint.python.values import literal
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.run.trainer.made import Made

# What a bare flag gives, and what the field is without it.
_SWITCHES = {"store_true": (True, False), "store_false": (False, True)}
_WITHOUT_FLAG = ("store", "append", "extend", "count", "store_const", "append_const")


def argparse_setting(made: Made, run: Run) -> Setting | Missing:
    """The value of a field of what `parse_args` gives; UNKNOWN where nobody can tell."""
    declared = _declared(made.base.frame.module).get(made.origin, [])
    if len(declared) != 1 or not run.is_launched or not _reads_command_line(made.base):
        return UNKNOWN
    (call,) = declared
    flags = _flags(call)
    given: dict[str, ast.expr] = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    if not flags or len(given) < len(call.keywords):
        return UNKNOWN
    action = _action(given.get("action"))
    said = _said(run.launch, flags, action)
    if said is not None:
        return said
    later = _set_later(made.base.frame.module)
    default = UNKNOWN if later is None or made.origin in later else _default(given, action)
    is_plain = isinstance(default, (str, int, float, bool, type(None)))
    return Setting(default, "default", made.location) if is_plain else UNKNOWN  # type: ignore[arg-type]


def default_of(made: Made) -> object:
    """What a field is where a command does not say so, by the one literal that declares it; UNKNOWN where none does."""
    if made.kind != "field" or not isinstance(made.base, Made):
        return UNKNOWN
    if not isinstance(made.base.base, Made) or made.base.base.name != "ArgumentParser":
        return literal(made.node) if isinstance(made.node, ast.expr) else UNKNOWN
    declared = _declared(made.base.frame.module).get(made.origin, [])
    given = (
        [keyword.value for keyword in declared[0].keywords if keyword.arg == "default"] if len(declared) == 1 else []
    )
    later = _set_later(made.base.frame.module)
    return literal(given[0]) if given and later is not None and made.origin not in later else UNKNOWN


def _reads_command_line(parsed: Made) -> bool:
    """Whether `parse_args` gets no words or defaults of its own, nor the parser."""
    node, parser = parsed.node, parsed.base.node if isinstance(parsed.base, Made) else None
    if not isinstance(node, ast.Call) or not isinstance(parser, ast.Call):
        return False
    if any(keyword.arg in (None, "argument_default") for keyword in parser.keywords):
        return False
    words = [*node.args, *(keyword.value for keyword in node.keywords)]
    return all(literal(word) is None or ast.unparse(word) == "sys.argv[1:]" for word in words)


def _said(launch: Launch, flags: list[str], action: str | None) -> Setting | Missing | None:
    """What the command line says by any of the flags, None where it certainly gives none of them."""
    negated = [f"--no-{flag[2:]}" for flag in flags if flag.startswith("--")] if action == "optional" else []
    found: list[Setting] = []
    for flag in (*flags, *negated):
        word = launch.flag(flag)
        if word is UNKNOWN:
            return UNKNOWN
        if isinstance(word, Missing):
            continue
        value: object = UNKNOWN if word.text is None else word.text
        if word.text == flag:  # no value behind it
            value = flag not in negated if action == "optional" else _SWITCHES.get(action or "", (UNKNOWN, None))[0]
        elif action != "store":
            value = UNKNOWN
        found.append(Setting(value, "flag", launch.source.location(word.start, word.end)))  # type: ignore[arg-type]
    return None if not found else found[0] if len(found) == 1 and found[0].is_known else UNKNOWN


def _default(given: dict[str, ast.expr], action: str | None) -> object:
    if "required" in given and literal(given["required"]) is not False:
        return UNKNOWN
    if "default" in given:
        value = literal(given["default"])
        is_turned = isinstance(value, str) and "type" in given and key_of(given["type"]) != "str"
        return UNKNOWN if is_turned else value
    if action in _SWITCHES:
        return _SWITCHES[action][1]
    return None if action == "optional" or action in _WITHOUT_FLAG else UNKNOWN


def _action(node: ast.expr | None) -> str | None:
    if node is None:
        return "store"
    if key_of(node).rpartition(".")[2] == "BooleanOptionalAction":
        return "optional"
    name = literal(node)
    return name if isinstance(name, str) else None


def _flags(call: ast.Call) -> list[str]:
    """The flags of an argument; none for one that goes by its position, or whose names are not written down."""
    names = [literal(node) for node in call.args]
    return [name for name in names if isinstance(name, str)] if all(_is_flag(name) for name in names) else []


def _is_flag(name: object) -> bool:
    return isinstance(name, str) and name.startswith("-")


@per_module
def _declared(module: PythonModule) -> dict[str, list[ast.Call]]:
    """The calls of `add_argument` of a module by the field that each declares."""
    table: dict[str, list[ast.Call]] = {}
    for call in calls_by_name(module).get((ast.Attribute, "add_argument"), []):
        names = [name for name in map(literal, call.args) if isinstance(name, str)]
        said = [literal(keyword.value) for keyword in call.keywords if keyword.arg == "dest"]
        long = [name for name in names if name.startswith("--")]
        field = said[0] if said else (long or names or [""])[0].lstrip("-").replace("-", "_")
        if isinstance(field, str):
            table.setdefault(field, []).append(call)
    return table


@per_module
def _set_later(module: PythonModule) -> frozenset[str] | None:
    """The fields for which `set_defaults` of a parser gives another default; None where they are not written down."""
    calls = calls_by_name(module).get((ast.Attribute, "set_defaults"), [])
    names = [keyword.arg for call in calls for keyword in call.keywords]
    return None if None in names else frozenset(name for name in names if name is not None)
