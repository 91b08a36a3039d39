"""TRL111: a loss is divided by the accumulation steps, and `Accelerator.backward` divides it again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.distribution._accelerators import constructor_of
from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding
from trl_lint.python.guards import key_of
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument, literal


class LossDividedTwice(Rule):
    code = "TRL111"
    triggers = (".backward",)
    needles = (b"gradient_accumulation_steps",)

    def check_call(self, site: Site) -> Iterator[Finding]:
        division, owner = read_division(site), site.call.func
        if division is None or not isinstance(owner, ast.Attribute):
            return
        made = constructor_of(site.module, owner.value)
        related = (site.module.location(made, "the steps are given here"),) if made is not None else ()
        if site.module.span(division)[0] < site.module.span(site.call)[0]:
            related = (site.module.location(division, "the loss is divided here"), *related)
        yield self.finding(
            site.location,
            "the loss is divided by `gradient_accumulation_steps` twice, because `backward` of an Accelerator does it "
            "as well: drop your division",
            related=related,
        )


def read_division(site: Site) -> ast.AST | None:
    """Where the loss that an accelerator is given was divided by the number that the accelerator divides it by."""
    if not isinstance(site.call.func, ast.Attribute):
        return None
    made = constructor_of(site.module, site.call.func.value)
    loss = argument(site.call, "loss", 0)
    steps = argument(made, "gradient_accumulation_steps", 3) if made is not None else None
    if not isinstance(steps, ast.expr) or not isinstance(loss, ast.expr) or literal(steps) == 1:
        return None
    divisors = {ast.unparse(steps), f"{key_of(site.call.func.value)}.gradient_accumulation_steps"}
    if divides(loss, divisors):
        return loss
    statement = last_binding(site.module, site.call, key_of(loss))
    if isinstance(statement, ast.AugAssign):
        is_division = isinstance(statement.op, ast.Div) and ast.unparse(statement.value) in divisors
        return statement if is_division else None
    return statement if isinstance(statement, ast.Assign) and divides(statement.value, divisors) else None


def divides(node: ast.expr, divisors: set[str]) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and ast.unparse(node.right) in divisors


def last_binding(module: PythonModule, call: ast.Call, name: str) -> ast.stmt | None:
    """The last statement before a call, in the block of the call, in which a name is bound."""
    own = module.statement(call)
    block = next((b for b in _blocks(module.parents.get(own)) if own in b), []) if own is not None else []
    for statement in reversed(block[: block.index(own)] if own in block else []):
        targets = [node for node in ast.walk(statement) if isinstance(node, (ast.Name, ast.Attribute))]
        if any(key_of(node) == name and isinstance(node.ctx, ast.Store) for node in targets):
            return statement
    return None


def _blocks(parent: ast.AST | None) -> list[list[ast.stmt]]:
    blocks = (getattr(parent, name, None) for name in ("body", "orelse", "finalbody"))
    return [block for block in blocks if isinstance(block, list)]


rule = LossDividedTwice()
