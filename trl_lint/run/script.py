"""How a training script is configured: by the parser it uses or by the config it builds, and what it changes later."""

from __future__ import annotations

import ast

from trl_lint.coverage import OUTSIDE, REWRITTEN
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.python.guards import bindings, key_of
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple
from trl_lint.run.config_changes import Changes, changes_in, setting_of
from trl_lint.run.effective import Said, Setting, Unknown
from trl_lint.run.parsers import CONFIG_NAMES, ScriptParser, fields_of, parser_in, training_class
from trl_lint.sources import SourceError


class Script(NamedTuple):
    """A script of a run.

    `parser`: what it reads its arguments with, None if it has none that is understood. `config`: the dotted name of the
    class that holds the training arguments ("" if it is not known). `call`: where it builds that config itself.
    `changed`: the fields that the script assigns to afterwards, with what is known about the value; `changes_any`: it
    sets fields whose names cannot be read. `spread`: what the call gets out of dicts that are written out here or in
    another file (`**COMMON`); None where it gets something out of one that is not understood.
    """

    path: str
    parser: ScriptParser | None
    config: str
    call: ast.Call | None
    module: PythonModule
    changed: dict[str, Setting]
    changes_any: bool
    spread: dict[str, Setting] | None

    def given(self) -> tuple[dict[str, Setting], Said]:
        """What the script itself says of fields of its training arguments, and what that means for all other names."""
        given: dict[str, Setting] = {}
        hides: Said = ABSENT
        for keyword in self.call.keywords if self.call is not None else ():
            if keyword.arg is not None:
                given[keyword.arg] = setting_of(self.module.value(keyword.value), self.module.location(keyword.value))
            elif self.call is not None and self.spread is None:
                hides = Unknown(OUTSIDE, self.module.location(self.call))
        given |= self.spread or {}
        if self.changes_any:
            given, hides = {}, Unknown(REWRITTEN)
        return {**given, **self.changed}, hides


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
    parser = parser_in(path, project)
    call = None
    if parser is not None:
        config = training_class(parser.fields)
    else:
        built = _config_calls(module, project)
        if len(built) != 1 or _reads_arguments(module):
            return None
        ((call, config),) = built
    changes = changes_in(module, project)
    spread = _spread(call, module, project) if call is not None else {}
    return Script(path, parser, config, call, module, changes.fields, changes.is_open, spread)


def scripts_of_configs(path: str, project: Project) -> list[Script]:
    """A script, once for each config that it builds: of a trainer, or the model; none where it cannot be read."""
    try:
        module = project.module_in(path)
    except (OSError, SourceError):
        return []
    built = _config_calls(module, project, frozenset({"ModelConfig"}))
    changes = changes_in(module, project) if built else Changes({}, False)
    return [
        Script(path, None, config, call, module, changes.fields, changes.is_open, _spread(call, module, project))
        for call, config in built
    ]


def _spread(call: ast.Call, module: PythonModule, project: Project) -> dict[str, Setting] | None:
    """The keywords that a call certainly gets out of dicts; None where one of them is not understood."""
    found: dict[str, Setting] = {}
    for keyword in call.keywords:
        if keyword.arg is not None:
            continue
        written = _written(keyword.value, module) or _imported(keyword.value, module, project)
        if written is None:
            return None
        owner, entries = written
        found |= {name: setting_of(owner.value(value), owner.location(value)) for name, value in entries.items()}
    return found


def _imported(
    node: ast.expr, module: PythonModule, project: Project
) -> tuple[PythonModule, dict[str, ast.expr]] | None:
    from trl_lint.project.modules import imported_name

    if not isinstance(node, ast.Name) or not _is_only_spread(node.id, module):
        return None
    found = imported_name(module, node, project)
    return _written(ast.Name(found[1], ast.Load()), found[0]) if found is not None else None


def _written(node: ast.expr, module: PythonModule) -> tuple[PythonModule, dict[str, ast.expr]] | None:
    """The entries of a dict that is written out, or of a name that is bound to one and only handed on by `**`."""
    if isinstance(node, ast.Name):
        values = bindings(module).get(node.id, [])
        if len(values) != 1 or not _is_only_spread(node.id, module):
            return None
        node = values[0]
    if isinstance(node, ast.Call) and key_of(node.func) == "dict" and not node.args:
        entries = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        return (module, entries) if len(entries) == len(node.keywords) else None
    if not isinstance(node, ast.Dict):
        return None
    keys = [key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return (module, dict(zip(keys, node.values, strict=True))) if len(keys) == len(node.keys) else None


@per_module
def _is_only_spread(name: str, module: PythonModule) -> bool:
    """Whether all uses of a name bind it once or unpack it into a call, so that nothing changes what it holds."""
    uses = [use for use in module.named(name) if not isinstance(use.ctx, ast.Store)]
    stores = len(module.named(name)) - len(uses)
    return stores <= 1 and all(
        isinstance(parent := module.parents.get(use), ast.keyword) and parent.arg is None for use in uses
    )


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
    return [call for call in module.calls if key_of(call.func).endswith(CONFIG_NAMES)]


def _reads_arguments(module: PythonModule) -> bool:
    """Whether there is a parser of transformers or TRL that was not understood: then the config may come from it."""
    return any(key_of(call.func).rpartition(".")[2] in ("TrlParser", "HfArgumentParser") for call in module.calls)
