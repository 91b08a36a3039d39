"""Columns that a method of the project reads of a batch, and that the trainer of the release in use does not put in."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.drift._derived import trainer_of
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding
from trl_lint.knowledge.results import batches_of
from trl_lint.project import Project
from trl_lint.project.stack import environment_at
from trl_lint.python.module import FunctionNode, PythonModule, own_nodes

# Methods that make a batch, or what it is made of: whoever has one puts in what they like.
_MAKES = frozenset(
    {
        "_generate_and_score_completions", "_prepare_dataset", "_prepare_inputs", "build_tokenized_answer",
        "get_train_dataloader", "process_row", "tokenize_row",
    }
)  # fmt: skip


def columns_of_other_releases(module: PythonModule, project: Project, rule: Rule) -> Iterator[Finding]:
    """What the methods of the trainers of a module read that only other releases of trl have in the batch."""
    for cls in module.classes:
        methods = {one.name: one for one in cls.body if isinstance(one, ast.FunctionDef)}
        if not cls.bases or _MAKES & methods.keys():
            continue
        trainer = trainer_of(cls, module, project)
        if trainer is None or not trainer.dotted.startswith("trl.") or trainer.between & _MAKES:
            continue
        name = trainer.dotted.rpartition(".")[2]
        told: set[str] = set()
        for row in batches_of(f"trl.{name}"):
            for method in sorted(row.methods & methods.keys()):
                for column, node in _read(methods[method], row.columns, module):
                    environment = environment_at(module, node, project, "trl") or project.environment(module.path)
                    verdict = None if column in told else judge_pins(environment, {"trl": row.others}, Level(rule))
                    if verdict is None:
                        continue
                    told.add(column)
                    message = (
                        f"the batch has no `{column}` (KeyError): {name} has it in trl {row.releases} ({verdict.scope})"
                    )
                    place = module.location(node)
                    yield rule.finding(place, message, severity=verdict.severity, related=verdict.related)


def _read(function: FunctionNode, columns: frozenset[str], module: PythonModule) -> Iterator[tuple[str, ast.expr]]:
    """The columns that a method reads of one of its parameters, where nothing of the module puts them in."""
    parameters = {arg.arg for arg in function.args.args}
    for node in own_nodes(function):
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
            continue
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if key not in columns or not isinstance(node.value, ast.Name) or node.value.id not in parameters:
            continue
        texts = (one for one in module.of(ast.Constant) if one.value == key)
        if isinstance(key, str) and all(_is_read(one, module) for one in texts):
            yield key, node


def _is_read(node: ast.Constant, module: PythonModule) -> bool:
    parent = module.parents[node]
    return isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load)
