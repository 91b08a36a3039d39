"""What the device analysis found: CPU tensors at places where they may not be."""

from __future__ import annotations

import ast
from typing import Literal, NamedTuple

from trl_lint.python.dataflow.places import TENSORS, Value
from trl_lint.python.dataflow.readings import is_bound_device
from trl_lint.python.module import PythonModule

Tier = Literal["placed", "model", "param", "anchor", "sibling"]
# mix: two tensors of one operation. collective: communicated by NCCL. index: a CPU tensor indexed from elsewhere.
Sort = Literal["mix", "collective", "index"]

_STRENGTH = ("placed", "model", "param", "anchor", "sibling")


class Mix(NamedTuple):
    """A CPU tensor made by `factory` meets, at `node`, a value that lives elsewhere.

    `remedy` is the device expression the factory should have been given, "" if none is certain. `is_certain` unless the
    factory may have been given a tensor, whose device it would have taken over.
    """

    factory: ast.Call
    node: ast.expr
    other: str
    tier: Tier
    remedy: str
    sort: Sort = "mix"
    is_certain: bool = True


class Meetings:
    """The meetings of an analysis, each place once, with the strongest evidence for it."""

    def __init__(self, module: PythonModule) -> None:
        self._found: dict[tuple[int, int, int, int, Sort], Mix] = {}
        self._placing: list[ast.Call] = []
        self._module = module

    def places(self, factory: ast.Call) -> None:
        """A factory call that says where its tensor goes."""
        if factory not in self._placing:
            self._placing.append(factory)

    def note(self, node: ast.expr, stray: Value, other: Value, sort: Sort = "mix") -> None:
        """A CPU tensor and what it meets: another tensor, or for a collective, itself."""
        factory = stray.factory
        if factory is None:
            return
        # The same test may have led to both, or to only one of them.
        if stray.is_partial and self._names_tested(factory) & self._names_tested(node):
            return
        tier: Tier = "anchor" if stray.anchor else "sibling"
        if other.kind in ("placed", "model", "param"):
            tier = other.kind
        remedy = stray.remedy
        if not remedy and is_bound_device(other.device, stray.known):
            remedy = other.device
        key = (factory.lineno, factory.col_offset, node.lineno, node.col_offset, sort)
        known = self._found.get(key)
        if known is None or _STRENGTH.index(tier) < _STRENGTH.index(known.tier):
            self._found[key] = Mix(factory, node, other.device, tier, remedy, sort, not stray.is_doubtful)

    def meet(self, node: ast.expr, values: list[Value], *, scalars: bool = False) -> None:
        """Note every CPU tensor among the operands with every tensor that lives elsewhere.

        `scalars`: an operation that has no exception for tensors without dimensions.
        """
        others = [value for value in values if value.kind in TENSORS]
        for stray in values:
            if (
                stray.kind == "cpu"
                and not stray.is_doubtful
                and (stray.rank == "some" or (scalars and stray.rank == "none"))
            ):
                for other in others:
                    if stray.known or other.kind != "tensor" or stray.anchor:
                        self.note(node, stray, other)

    def found(self) -> list[Mix]:
        """In source order. An unknown meeting counts only beside another factory that names a device."""
        ordered = sorted(self._found.values(), key=lambda mix: (mix.node.lineno, mix.node.col_offset))
        return [mix for mix in ordered if mix.tier != "sibling" or mix.sort != "mix" or self._has_sibling(mix.factory)]

    def _has_sibling(self, factory: ast.Call) -> bool:
        home = self._module.function(factory)
        return any(other is not factory and self._module.function(other) is home for other in self._placing)

    def _names_tested(self, node: ast.AST) -> set[str]:
        """The names in the tests of the branches around a node."""
        tests = [parent.test for parent in self._module.ancestors(node) if isinstance(parent, (ast.If, ast.IfExp))]
        return {part.id for test in tests for part in ast.walk(test) if isinstance(part, ast.Name)}
