"""How a training script is configured: by the parser it uses or by the config it builds, and what it changes later."""

from __future__ import annotations

import ast
from collections import Counter

from trl_lint.finding import Location
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project import Project
from trl_lint.project.effective import Setting
from trl_lint.project.parsers import Fields, ScriptParser, fields_of
from trl_lint.python.guards import key_of
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument
from trl_lint.records import NamedTuple
from trl_lint.sources import SourceError

_TRAINING_CLASS = ("Config", "TrainingArguments")  # how their names end
# Configs that are not those of a trainer.
_OTHER_CONFIGS = frozenset(
    {"ModelConfig", "DatasetMixtureConfig", "LoraConfig", "BitsAndBytesConfig", "GenerationConfig", "PeftConfig"}
)


class Script(NamedTuple):
    """A script of a run.

    `parser`: what it reads its arguments with, None if it has none that is understood. `config`: the dotted name of the
    class that holds the training arguments ("" if it is not known). `call`: where it builds that config itself.
    `changed`: the fields that the script assigns to afterwards, with what is known about the value; `changes_any`: it
    sets fields whose names cannot be read.
    """

    path: str
    parser: ScriptParser | None
    config: str
    call: ast.Call | None
    module: PythonModule
    changed: dict[str, Setting]
    changes_any: bool

    def setting(self, name: str) -> Setting | Missing:
        """What the script itself says about a field of its training arguments."""
        if name in self.changed:
            return self.changed[name]
        if self.changes_any:
            return UNKNOWN
        if self.call is None:
            return ABSENT
        given = argument(self.call, name)
        if isinstance(given, Missing):
            return given
        return _setting(self.module.value(given), self.module.location(given))


def _setting(value: object, location: Location) -> Setting:
    return Setting(value if isinstance(value, (str, int, float, type(None))) else UNKNOWN, "script", location)


def read_script(path: str, project: Project, is_launched: bool = False) -> Script | None:
    """How the script at `path` is configured; None if it cannot be read or nothing is known."""
    try:
        module = project.module_in(path)
    except (OSError, SourceError):
        return None
    return _launched(module, path, project) if is_launched else _script_of(module, path, project)


@per_module
def _launched(module: PythonModule, path: str, project: Project) -> Script | None:
    """The script of a module, which each of its launches asks for."""
    return _script_of(module, path, project)


def _script_of(module: PythonModule, path: str, project: Project) -> Script | None:
    parser = project.parser_in(path)
    call = None
    if parser is not None:
        config = training_class(parser.fields)
    else:
        built = _config_calls(module, project)
        if len(built) != 1 or _reads_arguments(module):
            return None
        ((call, config),) = built
    return Script(path, parser, config, call, module, dict(_assigned(module)), _sets_any(module))


def training_class(fields: Fields) -> str:
    """The library class among the fields that holds the training arguments, "" if there is not just one."""
    found = [dotted for dotted in fields.bases if _is_training_class(dotted)]
    return found[0] if len(found) == 1 else ""


def _is_training_class(dotted: str) -> bool:
    name = dotted.rpartition(".")[2]
    is_ours = dotted.partition(".")[0] in ("trl", "transformers")
    return is_ours and name.endswith(_TRAINING_CLASS) and name not in _OTHER_CONFIGS


def scripts_of_configs(path: str, project: Project) -> list[Script]:
    """A script, once for each config that it builds: of a trainer, or the model; none where it cannot be read."""
    try:
        module = project.module_in(path)
    except (OSError, SourceError):
        return []
    built = _config_calls(module, project, frozenset({"ModelConfig"}))
    changed, changes_any = (dict(_assigned(module)), _sets_any(module)) if built else ({}, False)
    return [Script(path, None, config, call, module, changed, changes_any) for call, config in built]


def _config_calls(
    module: PythonModule, project: Project, besides: frozenset[str] = frozenset()
) -> list[tuple[ast.Call, str]]:
    """The calls that build a config of a trainer, or one of these classes, with the dotted names of what they build."""
    found = []
    for call in _calls_named_as_configs(module):
        fields = fields_of(call.func, module, project)
        if fields is None:
            continue
        other = next((each for each in fields.bases if besides and each.rpartition(".")[2] in besides), "")
        if config := training_class(fields) or other:
            found.append((call, config))
    return found


@per_module
def _calls_named_as_configs(module: PythonModule) -> list[ast.Call]:
    return [call for call in module.calls if key_of(call.func).endswith(_TRAINING_CLASS)]


def _reads_arguments(module: PythonModule) -> bool:
    """Whether there is a parser of transformers or TRL that was not understood: then the config may come from it."""
    return any(key_of(call.func).rpartition(".")[2] in ("TrlParser", "HfArgumentParser") for call in module.calls)


@per_module
def _assigned(module: PythonModule) -> list[tuple[str, Setting]]:
    """The attributes that a script assigns to by name, and the keywords of `replace(…)` calls."""
    found = []
    for node in module.of(ast.Attribute):
        if not isinstance(node.ctx, ast.Store) or _is_self(node.value):
            continue
        parent = module.parents[node]
        value: object = UNKNOWN
        if isinstance(parent, ast.Assign) and not _is_conditional(module, parent):
            value = module.value(parent.value)
        found.append((node.attr, _setting(value, module.location(node))))
    twice = {name for name, count in Counter(name for name, _ in found).items() if count > 1}
    found = [(name, one._replace(value=UNKNOWN) if name in twice else one) for name, one in found]
    for call in module.calls:
        name = key_of(call.func).rpartition(".")[2]
        if name == "replace" or name.startswith("set_"):  # dataclasses.replace, TrainingArguments.set_training
            given = [keyword.arg for keyword in call.keywords if keyword.arg is not None]
        else:
            given = [_set_by(call, module)] if name == "setattr" else []
        found += [(name, Setting(UNKNOWN, "script", module.location(call))) for name in given if name]
    return found


def _set_by(call: ast.Call, module: PythonModule) -> str:
    """The field that a `setattr(x, name, value)` sets, "" if its name cannot be read."""
    name = module.value(call.args[1]) if len(call.args) == 3 else UNKNOWN
    return name if isinstance(name, str) else ""


def _sets_any(module: PythonModule) -> bool:
    return any(
        key_of(call.func) == "setattr" and not _set_by(call, module) and not (call.args and _is_self(call.args[0]))
        for call in module.calls
    )


def _is_self(node: ast.expr) -> bool:
    return key_of(node).partition(".")[0] in ("self", "cls")


def _is_conditional(module: PythonModule, node: ast.AST) -> bool:
    for parent in module.ancestors(node):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            return False
        if not isinstance(parent, (ast.With, ast.If)) or (isinstance(parent, ast.If) and not _is_main(parent)):
            return True
    return False


def _is_main(node: ast.If) -> bool:
    return isinstance(node.test, ast.Compare) and key_of(node.test.left) == "__name__"
