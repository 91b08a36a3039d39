"""TRL123: a trainer of the project takes something of its model that DistributedDataParallel does not pass on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trl_lint.checks._started import Started
from trl_lint.checks._trainer_rule import RunTrainerRule, first_started
from trl_lint.checks.distribution.module_of_prepared_model import asks_for
from trl_lint.finding import Finding
from trl_lint.python.guards import key_of
from trl_lint.python.module import FUNCTIONS, PythonModule, nodes_in
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.sharding import is_plain_ddp
from trl_lint.run.trainer import Made, TrainerCall

# `compute_loss` and `training_step` get the wrapped model, but in evaluation the model itself: run with transformers
# 5.15.0 in two processes; `_wrap_model` and `prepare` read in 4.46.3 and 4.52.4.
# What models of transformers and PEFT have, and DistributedDataParallel (torch 2.13) has not.
_OF_MODELS = frozenset(
    {
        "base_model", "config", "disable_adapter", "dtype", "enable_input_require_grads", "generate",
        "generation_config", "get_base_model", "get_input_embeddings", "get_output_embeddings",
        "gradient_checkpointing_disable", "gradient_checkpointing_enable", "lm_head", "peft_config",
        "resize_token_embeddings", "save_pretrained", "set_adapter",
    }
)  # fmt: skip
# What wraps a model otherwise, or takes the wrapper off, anywhere in the script or beside the class.
_OTHERWISE = regex(
    r"deepspeed|fsdp|fully_shard|tp_plan|parallelism_config|megatron|unwrap|_wrap_model|prepare_model|_inner_training|"
    r"\.module\b|DistributedDataParallel|(?:WORLD_SIZE|RANK)['\"]\]\s{0,4}=[^=]|pop\(['\"](?:LOCAL|WORLD)_|ACCELERATE_USE",
    re.IGNORECASE,
)


class _Taken(NamedTuple):
    """An attribute of the model that a method takes, and where."""

    node: ast.Attribute
    module: PythonModule
    method: str


class _Method(NamedTuple):
    """A method of the project, and the module that it stands in."""

    node: ast.FunctionDef
    module: PythonModule


class AttributeOfWrappedModel(RunTrainerRule):
    code = "TRL123"
    needles = (b"compute_loss", b"training_step")

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.own is None or not call.trainer.startswith(("transformers.", "trl.")):
            return
        taken = _first_taken(call)
        if taken is not None:
            yield from first_started(call, lambda started: self._in_run(call, taken, started))

    def _in_run(self, call: TrainerCall, taken: _Taken, started: Started) -> Finding | None:
        if not is_plain_ddp(started.run):
            return None
        text = taken.module.segment(taken.node)
        place = taken.module.location(taken.node)
        shown = (call.location._replace(message="the trainer"), *started.related)
        if taken.module is not call.module:
            place, shown = call.location, (place._replace(message=f"`{text}`"), *started.related)
        return self.finding(
            place,
            f"`{text}` in `{taken.method}` stops in each of {started.processes} processes: there the model is wrapped "
            f"in DistributedDataParallel, which has no `{taken.node.attr}`; take it of `self.accelerator.unwrap_model"
            f"({text.partition('.')[0]})`",
            related=shown,
        )


def _first_taken(call: TrainerCall) -> _Taken | None:
    """The first attribute that the trainer's own method certainly takes of the wrapped model in each step."""
    own = [made for name in ("training_step", "compute_loss") if (made := _method(call.classes, name)) is not None]
    modules = {cls.frame.module for cls in call.classes} | {call.module}
    if not own or any(_OTHERWISE.search(module.text) for module in modules):
        return None
    method = own[0]  # `training_step` decides what the loss is given
    found = list(_taken_of_model(method.node))
    if not found:
        return None
    return _Taken(min(found, key=lambda one: (one.lineno, one.col_offset)), method.module, method.node.name)


def _method(classes: list[Made], name: str) -> _Method | None:
    """The method of that name that counts, and the class of the project that has it."""
    for cls in classes:
        for node in cls.node.body if isinstance(cls.node, ast.ClassDef) else ():
            if isinstance(node, ast.FunctionDef) and node.name == name and not node.decorator_list:
                return _Method(node, cls.frame.module)
    return None


def _taken_of_model(method: ast.FunctionDef) -> Iterator[ast.Attribute]:
    """What is taken of the first parameter behind `self`, where its name is not bound again or asked about."""
    given = [*method.args.posonlyargs, *method.args.args]
    name = given[1].arg if len(given) > 1 else ""
    nodes = list(nodes_in(method))
    stores = (one for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
    if not name or any(one.id == name for one in stores) or any(asks_for(one, name) for one in nodes):
        return
    leaving = (one for one in nodes if isinstance(one, (ast.Return, ast.Raise)) and one not in method.body)
    end = min((one.lineno for one in leaving), default=None)
    read = (one for one in _reached(method) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load))
    for one in read:
        if one.attr in _OF_MODELS and key_of(one.value) == name and (end is None or one.lineno < end):
            yield one


def _reached(method: ast.FunctionDef) -> Iterator[ast.AST]:
    """What runs whenever a method does: under no test, and nothing that may fail and be caught."""
    waiting: list[ast.AST] = list(method.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef, ast.BoolOp, ast.Try, ast.Match)):
            continue
        yield node
        if isinstance(node, (ast.If, ast.IfExp, ast.While)):
            waiting.append(node.test)
        else:
            waiting.extend(ast.iter_child_nodes(node))


rule = AttributeOfWrappedModel()
