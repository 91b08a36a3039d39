"""What the gradient analysis remembers: the atoms that values are made of, and the places that rules ask about."""

from __future__ import annotations

import ast

from trl_lint.python.dataflow.flow import ONE, UNKNOWN, ZERO, Flow, either
from trl_lint.python.dataflow.interpreter import Plain
from trl_lint.python.dataflow.modes import Mode, mode_of
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.records import NamedTuple

Root = FunctionNode | ast.Module
# What was computed of more values than this is given up, so that a long chain of them costs in proportion.
_MOST_ORIGINS = 128
Chain = tuple[ast.Call, ...]


class Forward(NamedTuple):
    """A call of a model. `name` is the model as its caller knows it; `atom` stands for the output."""

    call: ast.Call
    name: str
    mode: Mode
    atom: int


class Use(NamedTuple):
    """A place where values meet: a product, a regression, an exponential, with the names its operands have there."""

    node: ast.expr
    operands: tuple[tuple[ast.expr, Flow], ...]


class Flows(NamedTuple):
    """What an analysis saw where gradients are recorded.

    `origins` has the atoms that an atom was computed from, `likeness` the same number for atoms that were computed in
    the same way, and `called` the functions of those that a call gave. `trained` is what the `backwards` reach,
    `returned` what one value that the function returns does.
    """

    exponentials: list[Use]
    products: list[Use]
    regressions: list[Use]
    saved: list[Use]
    forwards: list[Forward]
    trained: frozenset[int]
    returned: frozenset[int]
    backwards: frozenset[ast.Call]
    origins: dict[int, frozenset[int]]
    likeness: dict[int, int]
    called: dict[int, str]

    def reached(self, flow: Flow) -> frozenset[int]:
        """The atoms that the gradient of a value reaches, as far as that is known."""
        atoms = [atom for atom, _ in flow.live or () if atom != ONE]
        return frozenset().union(*(self.origins.get(atom, frozenset({atom})) for atom in atoms))


class Recorder(Plain[Flow]):
    """The state of an analysis. An atom stands for what one expression gives, in one chain of calls."""

    def __init__(self, module: PythonModule, root: Root) -> None:
        self.module = module
        self.root = root
        mode = mode_of(root) if not isinstance(root, ast.Module) else None
        self.mode: Mode = mode or "grad"
        if "set_grad_enabled(" in module.text:
            self.mode = "unknown"  # a switch that stays on after its statement
        self._atoms: dict[object, int] = {}
        self._origins: dict[int, frozenset[int]] = {}
        self._likeness: dict[int, int] = {}
        self._likenesses: dict[object, int] = {}
        self._parameters: set[int] = set()
        self._called: dict[int, str] = {}
        self._names: dict[int, str] = {}
        self._loops: dict[object, int] = {}
        self._events: dict[tuple[str, ast.expr, tuple[ast.Call, ...]], Use] = {}
        self._forwards: dict[tuple[ast.Call, tuple[ast.Call, ...]], Forward] = {}
        self._trained: set[int] = set()
        self._handed_back: set[int] = set()
        self._backwards: set[ast.Call] = set()
        self._returned: list[Flow] = []
        self._calling: tuple[ast.Call, ...] = ()
        self._function: Root = root
        self._steps = 0

    def call_it(self, name: str, flow: Flow) -> None:
        """Remember under which name a function got something first."""
        if name and flow.form is not None and len(flow.form) == 1:
            ((atom, _),) = flow.form
            self._names.setdefault(atom, name)

    def found(self) -> Flows:
        sorts: dict[str, list[Use]] = {"exp": [], "product": [], "regression": [], "saved": []}
        for (sort, _, _), use in self._events.items():
            sorts[sort].append(use)
        return Flows(
            sorts["exp"],
            sorts["product"],
            sorts["regression"],
            sorts["saved"],
            list(self._forwards.values()),
            frozenset(self._trained),
            frozenset(self._handed_back),
            frozenset(self._backwards),
            self._origins,
            self._likeness,
            self._called,
        )

    def atom(self, key: object, origins: frozenset[int] | None, likeness: object) -> int:
        atom = self._atoms.get(key)
        if atom is None:
            atom = self._atoms[key] = len(self._atoms) + 1
            self._origins[atom] = origins if origins is not None else frozenset({atom})
            # A number for each, so that comparing them costs the same however deep they are.
            of_its_own = ("atom", atom)
            self._likeness[atom] = self._likenesses.setdefault(likeness or of_its_own, len(self._likenesses))
        return atom

    def fresh(self, key: object, likeness: object = None) -> Flow:
        """What a call gives: a value that nothing is known of but that it is itself."""
        found = self.existing(key, likeness)
        live = {"grad": found.live, "no_grad": ZERO, "inference": ZERO, "unknown": None}[self.mode]
        return found._replace(live=live)

    def existing(self, key: object, likeness: object = None) -> Flow:
        """A value that was there before, and has the gradient that it has, whatever the mode is now."""
        form = frozenset({(self.atom(key, None, likeness), 1.0)})
        return Flow(form=form, live=form)

    def derived(
        self, operation: object, operands: list[Flow], *, is_part: bool = False, at: ast.expr | None = None
    ) -> Flow:
        """The result of a differentiable operation: the same for the same operands, live where they are.

        A part of an output `is_part`, and has a gradient of its own beside that of the whole. `at` is where it happens.
        """
        if any(flow.kind == "either" for flow in operands):
            if sum(flow.kind == "either" for flow in operands) > 1:
                return self._of_several(operands, at)
            index = next(i for i, flow in enumerate(operands) if flow.kind == "either")
            return either(
                self.derived(operation, [*operands[:index], option, *operands[index + 1 :]], is_part=is_part, at=at)
                for option in operands[index].options
            )
        is_inference = self.mode == "inference" and any(flow.is_inference for flow in operands)
        if any(flow.form is None or flow.kind == "record" for flow in operands):
            return UNKNOWN._replace(is_inference=is_inference)
        if operation == "Div" and operands[1].is_null:
            return UNKNOWN
        if operation in ("Mult", "Div") and any(flow.is_null for flow in operands):
            return Flow(form=ZERO, live=ZERO)  # a mask changes nothing about nothing
        forms = tuple(flow.form for flow in operands)
        lives = tuple(flow.live for flow in operands)
        likeness = (operation, *(self.alike(flow) for flow in operands))
        reached = self._reached(operands)
        atom = self.atom((operation, forms, lives), reached, likeness)
        if is_part:
            self._origins[atom] = reached | {atom}
        form = frozenset({(atom, 1.0)})
        if self.mode in ("no_grad", "inference") or all(live == ZERO for live in lives):
            return Flow(form=form, live=ZERO, is_inference=is_inference)
        is_known = self.mode == "grad" and all(live is not None for live in lives)
        return Flow(form=form, live=form if is_known else None, is_inference=is_inference)

    def _reached(self, flows: list[Flow]) -> frozenset[int]:
        lives = [option.live for flow in flows for option in flow.options if option.live is not None]
        found: frozenset[int] = frozenset()
        found = found.union(*(self._origins.get(atom, frozenset()) for live in lives for atom, _ in live))
        return found if len(found) <= _MOST_ORIGINS else frozenset()

    def _of_several(self, operands: list[Flow], at: ast.expr | None) -> Flow:
        """Of operands with several values each, which go together is not known; only what a gradient may reach."""
        options = [option for flow in operands for option in flow.options]
        if at is None or self.mode != "grad" or any(option.live is None for option in options):
            return UNKNOWN
        atom = self.atom(("several", at, self._calling, tuple(operands)), self._reached(operands), None)
        form = frozenset({(atom, 1.0)})
        return Flow(form=form, live=ZERO if all(option.live == ZERO for option in options) else form)

    def alike(self, flow: Flow) -> object:
        """Equal for values that were computed in the same way, at whatever time."""
        if flow.form is None:
            return object()
        return frozenset((self._likeness.get(atom, -1), coefficient) for atom, coefficient in flow.form)

    def settled(self, flow: Flow) -> Flow:
        """A sum as the mode has it: without a gradient where none is recorded."""
        if self.mode == "grad" or flow.kind != "value":
            return flow
        return flow._replace(live=ZERO if self.mode in ("no_grad", "inference") else None)

    def kept(self, result: Flow, left: Flow, right: Flow) -> Flow:
        """An operation inside of `inference_mode` makes an inference tensor, one outside of it never does."""
        is_inference = self.mode == "inference" and (left.is_inference or right.is_inference)
        return result._replace(is_inference=is_inference)

    def note(self, sort: str, node: ast.expr, operands: list[tuple[ast.expr, Flow]]) -> None:
        if self.mode == "grad":
            self._events[sort, node, self._calling] = Use(node, tuple(operands))

    def train(self, node: ast.Call, losses: list[Flow]) -> None:
        """A backward pass."""
        self._backwards.add(node)
        self._reach(losses, self._trained)

    def hand_back(self, value: Flow) -> None:
        """What the function gives to its caller, who may take the backward pass of it."""
        self._reach([value], self._handed_back)

    def _reach(self, flows: list[Flow], into: set[int]) -> None:
        for flow in flows:
            for option in flow.options:
                for atom, _ in option.live or ():
                    into.update((atom, *self._origins.get(atom, ())))
