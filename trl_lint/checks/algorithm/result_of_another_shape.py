"""TRL764: a function gives another number or kind of objects than whoever takes them expects."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule
from trl_lint.checks.algorithm._reward_functions import kind_of, returns_of
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding
from trl_lint.knowledge.results import Result, results
from trl_lint.project import Project
from trl_lint.project.stack import environment_at
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.names import is_from
from trl_lint.python.version_guards import is_guarded
from trl_lint.run.trainer import TrainerCall
from trl_lint.run.trainer.models import is_off, only

# sft_trainer.py of every release from 0.8.0 to 1.16.0: a list before 0.15.0, either in 0.15 and 0.16, one text since.
_ONE_TEXT = ">=0.17.0"
_A_LIST = "<0.15.0"
_AS_ONE = frozenset({"model", "ref_model", "tokenizer", "processing_class"})


class ResultOfAnotherShape(TrainerRule):
    code = "TRL764"
    needles = (b"formatting_func", b"setup_chat_format", b"clone_chat_template")

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        if "formatting_func" in module.text:
            yield from super().check_module(module, project)
        for call in module.calls if "chat_" in module.text else ():
            rows = _rows(call, module)
            statement = module.parents.get(call)
            if rows and isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                yield from self._taken(call, statement, rows, module, project)

    def _taken(
        self, call: ast.Call, statement: ast.Assign, rows: list[Result], module: PythonModule, project: Project
    ) -> Iterator[Finding]:
        target = statement.targets[0]
        if isinstance(target, (ast.Tuple, ast.List)):
            if any(isinstance(one, ast.Starred) for one in target.elts):
                return
            number = len(target.elts)
        elif isinstance(target, ast.Name) and _is_used_as_one(target, statement, module):
            number = 1
        else:
            return
        environment = environment_at(module, call, project, "trl") or project.environment(module.path)
        for row in rows:
            verdict = (
                None if row.number == number else judge_pins(environment, {row.package: row.releases}, Level(self))
            )
            if verdict is None or is_guarded(module, call, is_narrowed=True):
                continue
            name = row.call.rpartition(".")[2]
            happens = (
                "too few names for it (ValueError)" if number > 1 else "the name stands for all of them in a tuple"
            )
            message = f"`{name}` gives {row.number} objects, {row.shown}, and {happens} ({verdict.scope})"
            yield self.finding(module.location(target), message, severity=verdict.severity, related=verdict.related)
            return

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.trainer != "trl.SFTTrainer" or call.own is not None or is_unsloth(call.module):
            return
        made = only(call.given("formatting_func"), None)
        node = made.node if made is not None and made.kind == "function" else None
        if made is None or not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            return
        kind, place = _given_back(node)
        if kind == "a list":
            releases = _ONE_TEXT
            message = (
                "`formatting_func` gets one row and gives its text; this one gives a list: give the text of one row"
            )
        elif kind == "one value" and is_off(call.field("packing")):
            releases = _A_LIST
            message = "`formatting_func` gets a batch and gives a list of texts; this one gives one text (ValueError)"
        else:
            return
        verdict = judge_pins(call.environment, {"trl": releases}, Level(self))
        if verdict is not None:
            related = (call.location._replace(message="the trainer"), *verdict.related)
            location = made.frame.module.location(place)
            yield self.finding(location, f"{message} ({verdict.scope})", severity=verdict.severity, related=related)


def _rows(call: ast.Call, module: PythonModule) -> list[Result]:
    if not module.names.is_certain(call.func):
        return []
    origins = module.names.origins(call.func)
    return [row for row in results() if origins and all(is_from(origin, row.call) for origin in origins)]


def _is_used_as_one(target: ast.Name, statement: ast.Assign, module: PythonModule) -> bool:
    """Whether a name is used behind a statement as if it stood for one object, and never as a tuple."""
    found = False
    for use in module.named(target.id):
        if not isinstance(use.ctx, ast.Load) or use.lineno <= (statement.end_lineno or statement.lineno):
            continue
        parent = module.parents[use]
        is_asked = isinstance(parent, ast.Attribute) and parent.attr not in ("count", "index")
        if is_asked or (isinstance(parent, ast.keyword) and parent.arg in _AS_ONE):
            found = True
        elif not isinstance(parent, (ast.keyword, ast.Call)):
            return False
    return found


def _given_back(function: FunctionNode | ast.Lambda) -> tuple[str, ast.AST]:
    """What a function certainly gives on every way, and where it does so first; "" where that is not certain."""
    if isinstance(function, ast.Lambda):
        stand_in = ast.FunctionDef("", function.args, [], [])
        return kind_of(function.body, stand_in) or "", function.body
    returned = returns_of(function)
    if not returned:
        return "", function
    kinds = {kind_of(node.value, function) for node in returned}
    kind = kinds.pop() if len(kinds) == 1 else None
    return kind or "", returned[0]


rule = ResultOfAnotherShape()
