"""TRL129: a script looks at a weight that ZeRO-3 has shared out, and which is empty where it looks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks._trainer_rule import RunTrainerRule, first_found
from trl_lint.finding import Finding
from trl_lint.memos import per_module
from trl_lint.python.guards import key_of
from trl_lint.python.module import PythonModule
from trl_lint.python.reaching import owner_of, place_of
from trl_lint.run.runs import Run
from trl_lint.run.sharding import zero3_place
from trl_lint.run.trainer import TrainerCall
from trl_lint.run.trainer.models import loader, possible_lines
from trl_lint.run.trainer.order import is_before

# Layers of embeddings and the head, by the names that families of models give them.
_LAYERS = ("get_input_embeddings", "get_output_embeddings", "embed_tokens", "embed_in", "embed_out", "lm_head", "wte")
_LOOKING = frozenset({"data", "numel", "shape", "size"})


class WeightReadUnderZero3(RunTrainerRule):
    code = "TRL129"
    needles = (b".weight.shape", b".weight.size(", b".weight.data", b".weight.numel(", b".weight[")

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.runs and "GatheredParameters" not in call.module.text and "ds_shape" not in call.module.text:
            yield from first_found(call, lambda run: self._in_run(call, run))

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        stage = zero3_place(run) if run is not None else None
        if run is None or stage is None:
            return None
        loads = [loader(line) for line in possible_lines(call.lines("model"), run)]
        load = loads[0] if loads and None not in loads else None
        args = [made for made in call.given("args") if not made.is_nothing]
        if load is None or load.frame.module is not call.module or not load.origin.startswith("transformers."):
            return None
        if not args or not all(is_before(made, load, call.frame) for made in args):
            return None  # the weights are whole until the trainer has them
        statement = call.module.statement(load.node)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        names = {key_of(one) for target in targets for one in getattr(target, "elts", [target])}
        for node in _reads(call.module):
            if owner_of(node) in names and place_of(node) > place_of(load.node):
                return self.finding(
                    call.module.location(node),
                    "ZeRO-3 shares a weight out as it is loaded, and leaves `torch.Size([0])` in its place: this sees "
                    "no rows and changes none; ask `model.config.vocab_size`, or look inside of "
                    "`deepspeed.zero.GatheredParameters`",
                    related=(stage._replace(message="ZeRO-3"), run.launch.location._replace(message="the run")),
                )
        return None


@per_module
def _reads(module: PythonModule) -> list[ast.expr]:
    """Where the shape or the numbers of embeddings and heads are looked at, in the order of the text."""
    found: list[ast.expr] = []
    for node in module.of(ast.Attribute):
        if node.attr != "weight" or not any(name in module.segment(node.value) for name in _LAYERS):
            continue
        parent = module.parents.get(node)
        is_read = isinstance(parent, ast.Attribute) and parent.attr in _LOOKING
        if is_read or (isinstance(parent, ast.Subscript) and parent.value is node):
            found.append(_root(node))
    return sorted(found, key=place_of)


def _root(node: ast.Attribute) -> ast.expr:
    """`model.get_input_embeddings` of `model.get_input_embeddings().weight`, else the weight itself."""
    inner: ast.expr = node
    while isinstance(inner, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(inner, ast.Call):
            return inner.func
        inner = inner.value
    return node


rule = WeightReadUnderZero3()
