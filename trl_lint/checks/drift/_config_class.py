"""Moving an argument of a trainer to a config that is of another class, comes from a parser, or is not there yet.

Imported where a finding is written.
"""

from __future__ import annotations

import ast

from trl_lint.checks.drift._classes import Argument, Callee, imported
from trl_lint.checks.drift._import_edits import edit_unimport
from trl_lint.checks.drift._moves import edit_insertion, edit_removal, is_everywhere, is_known_at, is_settled
from trl_lint.checks.drift._objects import class_named, construction
from trl_lint.checks.drift._past import Past
from trl_lint.finding import Edit, Fix
from trl_lint.knowledge.api import resolve
from trl_lint.knowledge.renames import Move, move_of
from trl_lint.missing import UNKNOWN
from trl_lint.project.stack import Choices
from trl_lint.python.module import PythonModule
from trl_lint.python.scopes import scopes

PLAIN = frozenset({"transformers.TrainingArguments", "transformers.training_args.TrainingArguments"})
# What trainers made for themselves where they got no config (sft_trainer.py of 0.11.4 and 0.12.2).
_MADE = {"SFTTrainer": 'output_dir="tmp_trainer"'}


def edit_elsewhere(
    call: ast.Call, argument: Argument, callee: Callee, past: Past | None, known: Choices, module: PythonModule
) -> Fix | None:
    """Write an argument into the config of its trainer before the trainer is built, as older trainers did themselves.

    A config of `TrainingArguments` becomes one of the trainer's own class, and a trainer without one gets it. Both are
    unsafe: this class has other defaults. Withheld where the class of the config is not certain, where another trainer
    gets it, and where some allowed release lacks the field.
    """
    move, node = move_of(callee.package, callee.name, argument.name), argument.node
    if move is None or past is None or not isinstance(node, ast.keyword) or node not in call.keywords or callee.own:
        return None
    home, name = callee.dotted.rpartition(".")[0], node.arg or ""
    dotted = f"{home}.{move.config}"
    field = _field(move, name, dotted, known)
    removal = edit_removal(call, node, module)
    if field is None or removal is None or not all(keyword.arg for keyword in call.keywords):
        return None
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "args"), None)
    title = f"Set `{field}` of `{move.config}`"
    if given is None:
        edits = _edit_new(call, move, dotted, known, module)
        return Fix(title, "unsafe", edits) if edits else None
    written = _edit_assignment(call, given, node.value, field, module)
    if written is None or not goes_to_one(call, given, module):
        return None
    cls = class_named(given, module)
    named = imported(cls, module) if cls is not None else None
    if cls is None or named is None:
        return None
    if named.dotted in PLAIN:
        swap = () if _is_compared(cls, module) else edit_class(call.func, cls, move.config, known, module)
        config = construction(given, module)
        is_there = config is not None and config.func is cls and is_known_at(node.value, config, given, module)
        if config is not None and is_there and not _is_touched(given, field, module):
            written = edit_insertion(config, field, module.segment(node.value), module) or written
        return Fix(title, "unsafe", (removal, written, *swap)) if swap else None
    if (named.package, named.name) != (move.package, move.config):
        return None
    is_written = module.value(node.value) is not UNKNOWN
    is_safe = is_written and is_settled(dotted, field, past.elsewhere.package, known)
    return Fix(title, "safe" if is_safe else "unsafe", (removal, written))


def _is_compared(cls: ast.expr, module: PythonModule) -> bool:
    """Whether the module asks for this very class: `type(args) is TrainingArguments`."""
    names = module.named(cls.id) if isinstance(cls, ast.Name) else ()
    return any(isinstance(module.parents[name], ast.Compare) for name in names)


def _is_touched(given: ast.expr, field: str, module: PythonModule) -> bool:
    """Whether the module reads or sets the field of the config itself, and so before the trainer would."""
    names = module.named(given.id) if isinstance(given, ast.Name) else ()
    parents = (module.parents[name] for name in names)
    return any(isinstance(parent, ast.Attribute) and parent.attr == field for parent in parents)


def edit_class(trainer: ast.expr, cls: ast.expr, config: str, known: Choices, module: PythonModule) -> tuple[Edit, ...]:
    """Name the config of a trainer in place of the class `cls`, and import it; nothing where that is not certain."""
    found = config_beside(trainer, config, known, module)
    if found is None:
        return ()
    spelled, edits = found
    return (module.source.edit(*module.span(cls), spelled), *edits, *_edit_unused(cls, module))


def config_beside(
    trainer: ast.expr, config: str, known: Choices, module: PythonModule
) -> tuple[str, tuple[Edit, ...]] | None:
    """How a config is spelled that comes from where a trainer does, and the edits that import it."""
    if isinstance(trainer, ast.Attribute):
        return f"{module.segment(trainer.value)}.{config}", ()
    if not isinstance(trainer, ast.Name):
        return None
    froms = [node for node in module.imports if isinstance(node, ast.ImportFrom) and not node.level and node.module]
    ours = [node for node in froms if (node.module or "").partition(".")[0] == "trl"]
    there = [alias for node in ours for alias in node.names if alias.name == config]
    if there:
        return there[0].asname or config, ()
    found = [(node, alias) for node in ours for alias in node.names if (alias.asname or alias.name) == trainer.id]
    if len(found) != 1 or scopes(module).binds(config):
        return None
    node, alias = found[0]
    if not resolve(f"{node.module}.{config}", known.newest(["trl"])):
        return None
    start = module.span(alias)[0]
    line_start = module.text.rfind("\n", 0, start) + 1
    indent = module.text[line_start:start]
    is_alone = not indent.strip() and line_start > module.span(node)[0]
    return config, (module.source.edit(start, start, f"{config},\n{indent}" if is_alone else f"{config}, "),)


def _edit_unused(cls: ast.expr, module: PythonModule) -> tuple[Edit, ...]:
    """Take the class out of the import of it that nothing else needs."""
    if not isinstance(cls, ast.Name) or len(module.named(cls.id)) != 1:
        return ()
    if any(isinstance(node.value, str) and cls.id in node.value for node in module.of(ast.Constant)):
        return ()
    for node in module.imports:
        if isinstance(node, ast.ImportFrom) and (found := [a for a in node.names if (a.asname or a.name) == cls.id]):
            removed = edit_unimport(node, found[0], module)
            return (removed[0],) if removed is not None else ()
    return ()


def _edit_new(call: ast.Call, move: Move, dotted: str, known: Choices, module: PythonModule) -> tuple[Edit, ...]:
    """Give the trainer a config with all arguments that have moved there, in the place of the first one."""
    made = _MADE.get(move.trainer)
    found = config_beside(call.func, move.config, known, module) if made and len(call.args) < 2 else None
    if found is None:
        return ()
    spelled, edits = found
    moved = [keyword for keyword in call.keywords if keyword.arg in move.arguments]
    given = [
        keyword for keyword in moved if not (isinstance(keyword.value, ast.Constant) and keyword.value.value is None)
    ]
    fields = [_field(move, keyword.arg or "", dotted, known) for keyword in given]
    removals = [edit_removal(call, keyword, module) for keyword in given[1:]]
    if None in removals or None in fields:
        return ()
    values = [f"{field}={module.segment(keyword.value)}" for field, keyword in zip(fields, given, strict=True)]
    content = f"args={spelled}({', '.join([made or '', *values])})"
    removed = (removal for removal in removals if removal is not None)
    return (module.source.edit(*module.span(given[0]), content), *removed, *edits)


def _field(move: Move, name: str, dotted: str, known: Choices) -> str | None:
    """The field of a config that takes an argument in every allowed release."""
    return next((field for field in move.arguments[name] if is_everywhere(dotted, field, known)), None)


def _edit_assignment(call: ast.Call, given: ast.expr, value: ast.expr, field: str, module: PythonModule) -> Edit | None:
    """Set the field on the config in a line of its own before the statement that builds the trainer."""
    if isinstance(given, ast.Call):
        return None
    text, shown = module.text, module.segment(value)
    statement: ast.AST = call
    while not isinstance(statement, ast.stmt):
        statement = module.parents[statement]
    if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)) or "\n" in shown:
        return None
    if any(isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for part in ast.walk(value)):
        return None
    start = module.span(statement)[0]
    line_start = text.rfind("\n", 0, start) + 1
    indent = text[line_start:start]
    if indent.strip():
        return None
    return module.source.edit(line_start, line_start, f"{indent}{module.segment(given)}.{field} = {shown}\n")


def goes_to_one(call: ast.Call, given: ast.expr, module: PythonModule) -> bool:
    """Whether no other trainer gets the config."""
    if not isinstance(given, ast.Name):
        return False
    for node in module.named(given.id):
        parent = module.parents[node]
        if node is given or not isinstance(parent, (ast.keyword, ast.Call)):
            continue
        around = module.parents[parent] if isinstance(parent, ast.keyword) else parent
        if isinstance(around, ast.Call) and module.segment(around.func).endswith("Trainer"):
            return False
    return True
