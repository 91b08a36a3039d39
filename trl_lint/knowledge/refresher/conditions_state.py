"""What the executor of conditions knows in a function: values of names and attributes, and the way there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.knowledge.refresher.conditions_terms import Term, choice, conjunction, unknown
from trl_lint.records import NamedTuple

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from trl_lint.knowledge.refresher.conditions_source import ClassSource, Function, Sources

DEEPEST = 7  # calls within calls that are followed
CONFIG, TRAINER = "config", "trainer"
ELSEWHERE = "elsewhere"  # an object of a class of another package


class Found(NamedTuple):
    """A statement that speaks: `kind` is refuse or warn; `before` gives what a field is when the base from another
    package runs, `after` what it is when the constructor is done.

    `holder` is the class or module and the function that has the statement, `sentence` the exception and its text.
    """

    kind: str
    condition: Term
    sentence: str
    holder: str
    line: int


class Closure(NamedTuple):
    """A function with what it sees: its module, the class it stands in, and the names around it."""

    module: str
    node: Function
    owner: ClassSource | None
    around: dict[str, Term] | None


Heap = dict[tuple[str, str], Term]


class Machine:
    """One class of one release being read. `facts` are in the order of execution."""

    def __init__(self, sources: Sources, may_change: Callable[[str, str], bool], has_blocks: bool = False) -> None:
        self.sources = sources
        self.may_change = may_change  # (class of another package, field): whether the class may have that field
        self.has_blocks = has_blocks  # a field may hold fields of its own, which are written `block.field`
        self.reads_dict = False  # the config is a dict that was read from a file (`conditions_raw`)
        self.results: dict[str, Term] = {}  # what functions return that are not followed, by name
        self.lost = ""  # why nothing is known of that dict any more
        self.made: dict[str, str] = {}  # objects that are made of a block: the name of the block
        self.assumed: dict[str, Term] = {}  # what attributes are that no source of the package tells
        self.classes: dict[str, ClassSource] = {}
        self.functions: dict[str, Closure] = {}
        self.heap: Heap = {}
        self.path: list[Term] = []
        self.facts: list[Found] = []
        self.stack: list[object] = []
        self.ran: set[str] = set()  # objects whose base from another package has run
        self.before: dict[str, Term] = {}
        self.bases: dict[str, None] = {}
        self.changed: set[Term] = set()  # arguments of a trainer of which attributes were set

    def function(self, closure: Closure, bound: Term | None) -> Term:
        owner = closure.owner.reference if closure.owner is not None else closure.module
        key = f"{owner}.{closure.node.name}:{closure.node.lineno}:{id(closure.around) if closure.around else 0}"
        self.functions[key] = closure
        return Term("function", key, *([bound] if bound is not None else []))

    def tell(self, kind: str, condition: Term, sentence: str, frame: Frame, node: ast.AST) -> None:
        self.facts.append(
            Found(kind, conjunction([*self.path, condition]), sentence, frame.holder, getattr(node, "lineno", 0))
        )


class Frame:
    """A function being executed. `returns`: (condition since it was entered, value, heap) of each return."""

    def __init__(self, machine: Machine, closure: Closure, names: dict[str, Term]) -> None:
        self.machine = machine
        self.closure = closure
        self.names = names
        self.entered = len(machine.path)
        self.returns: list[tuple[Term, Term, Heap]] = []
        self.variables = 0

    @property
    def module(self) -> str:
        return self.closure.module

    @property
    def holder(self) -> str:
        owner = self.closure.owner
        return f"{owner.name if owner is not None else self.module}.{self.closure.node.name}"

    def save(self) -> tuple[dict[str, Term], Heap]:
        return dict(self.names), dict(self.machine.heap)

    def restore(self, saved: tuple[dict[str, Term], Heap]) -> None:
        self.names, self.machine.heap = dict(saved[0]), dict(saved[1])

    def forget(self, names: set[str], attributes: set[tuple[str, str]], reason: str) -> None:
        for name in names:
            self.names[name] = unknown(reason)
        for key in attributes:
            self.machine.heap[key] = unknown(reason)


def merge_names(condition: Term, first: dict[str, Term], second: dict[str, Term]) -> dict[str, Term]:
    """Names after a branch; one that only one side binds can only be read where that side ran."""
    merged = {**second, **first}
    for name in first.keys() & second.keys():
        merged[name] = choice(condition, first[name], second[name])
    return merged


def merge_heaps(condition: Term, first: Heap, second: Heap, initial: Callable[[tuple[str, str]], Term]) -> Heap:
    """Attributes after a branch; one that was not written on a side has there what it had in the beginning."""
    merged: Heap = {}
    for key in {**first, **second}:
        one, other = first.get(key), second.get(key)
        one = initial(key) if one is None else one
        other = initial(key) if other is None else other
        merged[key] = choice(condition, one, other)
    return merged
