"""What a trainer is given: one picture for each trainer that a script or a notebook constructs.

    for call in trainer_calls(module, project):
        call.trainer                    # "trl.SFTTrainer": the class of the library, also behind one of the project
        for made in call.given("model"):            # its possibilities, each with the tests it stands under
            made.kind, made.origin, made.location, made.under, made.changes
        for line in call.lines("model"):            # from the trainer back to what loaded it
            line.source, line.step("get_peft_model"), line.under
        call.runs                       # the runs that reach it

`given` takes a role: model, ref_model, reward_model, reward_funcs, peft_config, processing_class (also where it is
called `tokenizer`), args, train_dataset, eval_dataset, data_collator, callbacks, or any other parameter by its name.
What was made, and how arguments, dicts and attributes of it are read, stands in `made.py`; how conditions come out in a
run in `running.py`. What nobody can tell is a possibility of the kind "unknown", and never left out.

Everything is worked out when it is asked for, once for each module.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from trl_lint.finding import Location
from trl_lint.memos import per_module, per_project
from trl_lint.project import Project
from trl_lint.project.stack import environment_at
from trl_lint.python.guards import last_name, never_runs
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.version_guards import runs_with_some
from trl_lint.run.config_changes import changes_in
from trl_lint.run.runs import Run, runs_with
from trl_lint.run.trainer import attributes, calls, entries
from trl_lint.run.trainer.lines import Line, lines_of
from trl_lint.run.trainer.made import Frame, Made, Options, Resolver, are_known, is_absent, literals
from trl_lint.run.trainer.resolver import resolver_of

if TYPE_CHECKING:
    from trl_lint.project.environment import Environment

__all__ = [
    "Line", "Made", "Options", "TrainerCall", "are_known", "is_absent", "literals",
    "runs_of_script", "trainer_calls", "trainers_by_call",
]  # fmt: skip

ROLES = (
    "model", "ref_model", "reward_model", "reward_funcs", "peft_config", "processing_class", "args", "train_dataset",
    "eval_dataset", "data_collator", "callbacks",
)  # fmt: skip
# The names a parameter has had, besides that of its role.
_NAMES = {
    "model": ("model", "policy"),
    "ref_model": ("ref_model", "ref_policy"),
    "processing_class": ("processing_class", "tokenizer"),
    "args": ("args", "config"),
    "train_dataset": ("train_dataset", "dataset"),
}
# Positions that have never changed; `model` is the first for the others. PPO and RLOO have had several orders.
_POSITIONS = {
    "GRPOTrainer": ("model", "reward_funcs", "args", "train_dataset", "eval_dataset", "processing_class"),
    "DPOTrainer": ("model", "ref_model", "args"),
    "KTOTrainer": ("model", "ref_model", "args"),
    "BCOTrainer": ("model", "ref_model", "args"),
    "SFTTrainer": ("model", "args", "data_collator", "train_dataset", "eval_dataset"),
    "Trainer": ("model", "args", "data_collator", "train_dataset", "eval_dataset"),
    "Seq2SeqTrainer": ("model", "args", "data_collator", "train_dataset", "eval_dataset"),
    "PPOTrainer": (),
    "PPOv2Trainer": (),
    "RLOOTrainer": (),
}
_WRAPPED = {"unsloth.UnslothTrainer": "trl.SFTTrainer"}
_PACKAGES = ("trl", "transformers")
# Keywords by which a call of a class with another name is taken for that of a trainer.
_TELLING = frozenset({"train_dataset", "reward_funcs", "ref_model", "peft_config", "processing_class", "data_collator"})


class TrainerCall:
    """A call that constructs a trainer of trl or transformers, or a class of the project that is built on one.

    `trainer`: the dotted name of the library's class. `own`: the class of the project that is called, None where the
    library's is. `is_certain`: whether the callee is certainly that class. `place`: where the call stands.
    """

    def __init__(self, call: ast.Call, frame: Frame, callee: Made, trainer: str, is_certain: bool) -> None:
        self.call = call
        self.frame = frame
        self.callee = callee
        self.trainer = trainer
        self.own = callee if callee.kind == "class" else None
        self.is_certain = is_certain
        self._given: dict[str, Options] = {}
        self._lines: dict[str, tuple[Line, ...]] = {}

    @property
    def module(self) -> PythonModule:
        return self.frame.module

    @property
    def project(self) -> Project:
        return self.frame.resolver.project

    @property
    def name(self) -> str:
        """The class of the library without its package: `SFTTrainer`."""
        return self.trainer.rpartition(".")[2]

    @property
    def location(self) -> Location:
        return self.module.location(self.call)

    def given(self, role: str) -> Options:
        """The possibilities for what the trainer is given for a role; "absent" where nothing is given."""
        found = self._given.get(role)
        if found is None:
            self.frame.resolver.refill()
            found = self._given[role] = self._read(role)
        return found

    def lines(self, role: str) -> tuple[Line, ...]:
        """The possibilities for a role, each with the steps from the trainer back to what it began with."""
        found = self._lines.get(role)
        if found is None:
            given = self.given(role)
            self.frame.resolver.refill()
            found = self._lines[role] = lines_of(given)
        return found

    def field(self, name: str) -> Options:
        """What the training arguments are given for a field, before defaults: see `Made.attribute`."""
        found: list[Made] = []
        for made in self.given("args"):
            found += [one.beneath(made.under) for one in made.attribute(name)]
            if self._is_set_unseen(name, made):
                found.append(self.frame.resolver.unknown(self.call, self.frame))
        return tuple(found)

    def _is_set_unseen(self, name: str, args: Made) -> bool:
        """Whether the script may set a field in a way that the picture does not follow: `vars(args)[name] = …`."""
        if any(change.path == name for change in args.changes):
            return False
        changes = changes_in(self.module, self.project)
        return changes.is_open or name in changes.fields

    @cached_property
    def is_dead(self) -> bool:
        """Whether it stands where nothing ever runs, as under `if False:`."""
        return never_runs(self.module, self.call)

    @cached_property
    def environment(self) -> Environment:
        """The releases that it may run with: those of its file that the code before it admits."""
        narrowed = environment_at(self.module, self.call, self.project, "trl")
        return narrowed or self.project.environment(self.module.path)

    @cached_property
    def is_prepared(self) -> bool:
        """Whether it only runs with some releases, or not with any: what it is given then proves nothing."""
        is_admitted = environment_at(self.module, self.call, self.project, "trl") is not None
        return not is_admitted or runs_with_some(self.module, self.call)

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The runs that start the script of the call, in the order of the project's commands."""
        return runs_of_script(self.module.path, self.project)

    # -- how the roles are read -----------------------------------------------------------------------------------

    def _read(self, role: str) -> Options:
        resolver = self.frame.resolver
        call, frame, classes = self.call, self.frame, self.classes
        for number, cls in enumerate(classes):
            init = _own_init(cls)
            if init is None:
                continue
            owner = Made("self", cls.node, cls.frame, base=cls)
            bound = calls.Bound(resolver, init, call, frame, owner)
            inner = resolver.bound(call, frame, init, Frame(resolver, cls.frame.module, init, bound, frame, call))
            above = _super_call(init, cls.frame.module)
            if above is None:
                return _by_keyword(resolver, call, frame, role) or (resolver.unknown(call, frame),)
            call, frame = above, inner
            if number + 1 == len(classes):
                break
        return _by_keyword(resolver, call, frame, role, self._position(role)) or (
            resolver.absent(self.call, self.frame),
        )

    @property
    def classes(self) -> list[Made]:
        """The classes of the project from the one that is called up to that of the library."""
        if self.own is None:
            return []
        bases = attributes.bases_of(self.frame.resolver, self.own)
        return [self.own, *(base for base in bases if base.kind == "class")]

    def _position(self, role: str) -> int | None:
        order = _POSITIONS.get(self.name, ("model",))
        return order.index(role) if role in order else None

    def __repr__(self) -> str:
        return f"<{self.trainer} at {self.location}>"


@per_project
def runs_of_script(path: str, project: Project) -> tuple[Run, ...]:
    """The runs that start the script at `path`, in the order of the project's commands."""
    return tuple(run for run in runs_with(path, project) if run.launch.script_path == path)


def _by_keyword(
    resolver: Resolver, call: ast.Call, frame: Frame, role: str, position: int | None = None
) -> Options | None:
    """What a call gives for a role by any of its names, None where it gives nothing."""
    for name in _NAMES.get(role, (role,)):
        found = entries.given(resolver, call, frame, name, position)
        if not is_absent(found):
            return found
    return None


def _own_init(cls: Made) -> FunctionNode | None:
    node = cls.node
    assert isinstance(node, ast.ClassDef)
    return next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)


def _super_call(init: FunctionNode, module: PythonModule) -> ast.Call | None:
    """The one `super().__init__(…)` of an `__init__`."""
    found = [call for call in _init_calls(module) if module.function(call) is init]
    return found[0] if len(found) == 1 else None


@per_module
def _init_calls(module: PythonModule) -> list[ast.Call]:
    return [
        call
        for call in module.calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "__init__"
        and isinstance(call.func.value, ast.Call)
        and last_name(call.func.value.func) == "super"
    ]


@per_module
def trainer_calls(module: PythonModule, project: Project) -> tuple[TrainerCall, ...]:
    """The trainers that a module constructs, in the order of the text."""
    return tuple(_read_calls(module, project))


@per_module
def trainers_by_call(module: PythonModule, project: Project) -> dict[ast.Call, TrainerCall]:
    """The trainers that a module constructs, by the calls that do."""
    return {one.call: one for one in trainer_calls(module, project)}


def _read_calls(module: PythonModule, project: Project) -> Iterator[TrainerCall]:
    resolver: Resolver | None = None
    for call in module.calls:
        if not _may_construct(call):
            continue
        resolver = resolver or resolver_of(module, project)
        resolver.refill()
        frame = resolver.frame_at(call, resolver.frame(module))
        callees = resolver.options(call.func, frame)
        named = [(made, trainer) for made in callees if (trainer := library_trainer(resolver, made))]
        if named:
            made, trainer = named[0]
            yield TrainerCall(call, frame, made, trainer, len({one for _, one in named}) == len(callees) == 1)


def _may_construct(call: ast.Call) -> bool:
    name = last_name(call.func)
    if "Trainer" in name:
        return name != "super" and not isinstance(call.func, (ast.Call, ast.Subscript))
    return any(keyword.arg in _TELLING for keyword in call.keywords)


def library_trainer(resolver: Resolver, callee: Made) -> str:
    """The trainer of a library that a class is, or is built on; "" for none."""
    if callee.kind == "class":
        found = (_trainer_name(base.origin) for base in attributes.bases_of(resolver, callee) if base.kind == "name")
        return next((one for one in found if one), "")
    return _trainer_name(callee.origin) if callee.kind == "name" else ""


def _trainer_name(origin: str) -> str:
    origin = _WRAPPED.get(origin, origin)
    package, name = origin.partition(".")[0], origin.rpartition(".")[2]
    return f"{package}.{name}" if package in _PACKAGES and name.endswith("Trainer") else ""
