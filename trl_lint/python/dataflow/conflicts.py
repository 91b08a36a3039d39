"""What the device analysis found: CPU tensors at places where they may not be."""

from __future__ import annotations

import ast
from typing import Literal

from trl_lint.python.dataflow.places import TENSORS, Value
from trl_lint.python.dataflow.readings import is_bound_device
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.records import NamedTuple

Tier = Literal["placed", "model", "param", "anchor", "sibling"]
# mix: two tensors of one operation. collective: communicated by NCCL. index: a CPU tensor indexed from elsewhere.
ConflictKind = Literal["mix", "collective", "index"]

_STRENGTH = ("placed", "model", "param", "anchor", "sibling")


class Conflict(NamedTuple):
    """A CPU tensor made by `factory` meets, at `node`, a value that lives elsewhere.

    `remedy` is the device expression the factory should have been given, "" if none is certain. `is_certain` unless the
    factory may have been given a tensor, whose device it would have taken over. `source` is the module of the factory,
    `place` that of the conflict. `is_relative`: all that is said of the other is that it is where `other` is.
    """

    factory: ast.Call
    source: PythonModule
    node: ast.expr
    place: PythonModule
    other: str
    tier: Tier
    remedy: str
    conflict_kind: ConflictKind = "mix"
    is_certain: bool = True
    is_state: bool = False
    is_relative: bool = False

    @property
    def written(self) -> ast.expr:
        """What stands in the tree. `x += y` is read as an addition that is no part of it; `x` is one."""
        is_made = isinstance(self.node, ast.BinOp) and self.node not in self.place.parents
        return self.node.left if is_made else self.node  # type: ignore[attr-defined]

    @property
    def function(self) -> FunctionNode | None:
        """The function in which they meet."""
        return self.place.function(self.written)

    @property
    def strength(self) -> int:
        """The place of the evidence among all kinds of it, the best first."""
        return _STRENGTH.index(self.tier)


_Key = tuple[ast.Call, str, int, int, ConflictKind]


class Conflicts:
    """The conflicts of an analysis, each place once, with the strongest evidence for it."""

    def __init__(self, module: PythonModule) -> None:
        self.module = module  # the one that is being looked at
        self._found: dict[_Key, Conflict] = {}
        self._placing: list[ast.Call] = []
        self._sources: dict[ast.Call, PythonModule] = {}

    def inner(self, module: PythonModule) -> Conflicts:
        """Empty conflicts for what a function that is called does, which may be given tensors from here."""
        conflicts = Conflicts(module)
        conflicts._sources = dict(self._sources)
        return conflicts

    def absorb(self, other: Conflicts) -> None:
        """Take over what a function that was called did."""
        self._sources.update(other._sources)
        self._placing.extend(factory for factory in other._placing if factory not in self._placing)
        for key, conflict in other._found.items():
            self._keep(key, conflict)

    def makes(self, factory: ast.Call) -> None:
        """A factory call of the module that is being looked at."""
        self._sources.setdefault(factory, self.module)

    def places(self, factory: ast.Call) -> None:
        """A factory call that says where its tensor goes."""
        self.makes(factory)
        if factory not in self._placing:
            self._placing.append(factory)

    def note(self, node: ast.expr, on_cpu: Value, other: Value, conflict_kind: ConflictKind = "mix") -> None:
        """A CPU tensor and what it meets: another tensor, or for a collective, itself."""
        factory = on_cpu.factory
        if factory is None:
            return
        # The same test may have led to both, or to only one of them.
        source = self._sources[factory]
        if on_cpu.is_partial and _may_exclude(_tests(source, factory), _tests(self.module, node)):
            return
        if on_cpu.is_state and other.kind not in ("placed", "model"):
            return  # a class may keep all that it is given on the CPU
        tier: Tier = "anchor" if on_cpu.anchor else "sibling"
        if other.kind in ("placed", "model", "param"):
            tier = other.kind
        remedy = on_cpu.remedy
        if not remedy and is_bound_device(other.device, on_cpu.known):
            remedy = other.device
        key = (factory, self.module.path, node.lineno, node.col_offset, conflict_kind)
        conflict = Conflict(
            factory,
            source,
            node,
            self.module,
            other.device,
            tier,
            remedy,
            conflict_kind,
            is_certain=not on_cpu.is_doubtful,
            is_state=on_cpu.is_state,
            is_relative=other.is_relative,
        )
        self._keep(key, conflict)

    def _keep(self, key: _Key, conflict: Conflict) -> None:
        known = self._found.get(key)
        if known is None or conflict.strength < known.strength:
            self._found[key] = conflict

    def meet(self, node: ast.expr, values: list[Value], *, scalars: bool = False) -> None:
        """Note every CPU tensor among the operands with every tensor that lives elsewhere.

        `scalars`: an operation that has no exception for tensors without dimensions.
        """
        others = [value for value in values if value.kind in TENSORS]
        for on_cpu in values:
            has_rank = on_cpu.has_rank or (scalars and on_cpu.rank == "none")
            if on_cpu.kind != "cpu" or on_cpu.is_doubtful or not has_rank:
                continue
            # What is on the CPU only on some ways is elsewhere on the others.
            partial = [] if on_cpu.is_partial else [value for value in values if value.kind == "cpu"]
            for other in [*others, *(way for value in partial for way in value.members)]:
                if on_cpu.known or other.kind != "tensor" or on_cpu.anchor:
                    self.note(node, on_cpu, other)

    def found(self) -> list[Conflict]:
        """In source order. An unknown conflict counts only beside another factory that names a device."""
        ordered = sorted(self._found.values(), key=lambda conflict: (conflict.node.lineno, conflict.node.col_offset))
        return [
            conflict
            for conflict in ordered
            if conflict.tier != "sibling" or conflict.conflict_kind != "mix" or self._has_sibling(conflict.factory)
        ]

    def _has_sibling(self, factory: ast.Call) -> bool:
        home = self._sources[factory].function(factory)
        functions = (self._sources[other].function(other) for other in self._placing if other is not factory)
        return any(function is home for function in functions)


class _Test(NamedTuple):
    """The test of a branch, and whether it is the branch for true."""

    text: str
    names: frozenset[str]
    outcome: bool


def _tests(module: PythonModule, node: ast.AST) -> list[_Test]:
    """The tests of the branches around a node."""
    found = []
    child = node
    for parent in module.ancestors(node):
        if isinstance(parent, (ast.If, ast.IfExp)) and child is not parent.test:
            names = frozenset(part.id for part in ast.walk(parent.test) if isinstance(part, ast.Name))
            body = parent.body if isinstance(parent.body, list) else [parent.body]
            found.append(_Test(ast.unparse(parent.test), names, child in body))
        child = parent
    return found


def _may_exclude(ones: list[_Test], others: list[_Test]) -> bool:
    """Whether tests about the same names, that are not the same test with the same outcome, lead to two places."""
    return any(one != other and one.names & other.names for one in ones for other in others)
