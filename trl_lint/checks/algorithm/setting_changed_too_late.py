"""TRL751: a setting is changed after it was read for the last time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding, Location
from trl_lint.knowledge.trainer_arguments import Lifetime, lifetimes
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.project import Project
from trl_lint.project.environment import Environment
from trl_lint.project.stack import environment_at
from trl_lint.python.guards import exclusive, key_of, never_runs
from trl_lint.python.module import PythonModule, nodes_in
from trl_lint.python.reaching import place_of
from trl_lint.python.scopes import scopes
from trl_lint.python.values import literal
from trl_lint.records import NamedTuple
from trl_lint.run.parsers import is_training_class, parser_in, training_class
from trl_lint.run.runs import runs_with
from trl_lint.run.trainer import Made, TrainerCall, trainer_calls
from trl_lint.run.trainer.attributes import bases_of
from trl_lint.run.trainer.changes import touches
from trl_lint.run.trainer.resolver import resolver_of
from trl_lint.run.trainer.running import value_in

# Launchers and recipes may settle these as well: then it does not matter what the script says.
_PRECISION = frozenset({"bf16", "fp16"})
# From this release on the configs of TRL ask for bf16 themselves (0.19.0, `__post_init__`).
_ASKS_FOR_BF16 = {"trl": "<0.19"}
# All fields of the table, which is only read where one of them is set.
_FIELDS = """
beta bf16 cpo_alpha deepspeed desirable_weight epsilon epsilon_high fp16 generation_batch_size label_smoothing
learning_rate lmbda loss_type mask_truncated_completions max_completion_length max_steps min_p
normalize_advantages num_generations num_iterations packing per_device_train_batch_size precompute_ref_log_probs
repetition_penalty report_to reward_clip_range reward_weights scale_rewards simpo_gamma steps_per_generation
temperature top_k top_p torch_compile undesirable_weight use_vllm warmup_ratio warmup_steps weight_decay
"""
_CALLBACK = "transformers.TrainerCallback"
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


class _Set(NamedTuple):
    """A statement that sets a field after a moment, `made` there."""

    field: str
    value: ast.expr
    statement: ast.stmt
    module: PythonModule
    made: Location
    row: Lifetime
    dotted: str = ""


class SettingChangedTooLate(TrainerRule):
    code = "TRL751"
    needles = tuple(f".{name} =".encode() for name in _FIELDS.split())

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        if is_unsloth(module):
            return
        for one in _after_arguments(module, project):
            environment = environment_at(module, one.statement, project, "transformers")
            yield from self._judged(environment, one)
        yield from super().check_module(module, project)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        told = set()
        for row in lifetimes():
            if row.moment == "arguments" or not _is_of(call.trainer, row):
                continue
            for one in _after_trainer(call, row) if row.moment == "trainer" else _in_callbacks(call, row):
                if one.statement not in told and not _is_read_by_project(call, one.field):
                    told.add(one.statement)
                    yield from self._judged(call.environment, one)

    def _judged(self, environment: Environment | None, one: _Set) -> Iterator[Finding]:
        row = one.row
        conditions = dict(row.releases)
        if one.field in _PRECISION and one.dotted.startswith("trl."):
            conditions |= _ASKS_FOR_BF16
        verdict = judge_pins(environment, conditions, Level(self)) if environment is not None else None
        if verdict is None:
            return
        moments = {
            "arguments": "after the arguments are made",
            "trainer": "after the trainer is made",
            "training": "while the trainer works",
        }
        yield self.finding(
            one.module.location(one.statement),
            f"`{one.field}` is set {moments[row.moment]}, and is not read again: "
            f"{row.effect.format(name=one.field)}; set it before ({verdict.scope})",
            severity=verdict.severity,
            related=(one.made, *verdict.related),
        )


def _is_of(trainer: str, row: Lifetime) -> bool:
    """Whether a trainer of a library is one of the row: all of them but PPO are built on that of transformers."""
    return trainer in row.classes or ("transformers.Trainer" in row.classes and "PPO" not in trainer)


# -- arguments ------------------------------------------------------------------------------------------------------


def _after_arguments(module: PythonModule, project: Project) -> Iterator[_Set]:
    """What is set on arguments by the name that they got where they were made."""
    fields: dict[str, list[Lifetime]] = {}
    for row in lifetimes():
        for field in row.fields if row.moment == "arguments" else ():
            fields.setdefault(field, []).append(row)
    resolver = resolver_of(module, project)
    for node in module.of(ast.Attribute):
        statement = module.statement(node) if node.attr in fields and isinstance(node.ctx, ast.Store) else None
        if not isinstance(statement, ast.Assign) or statement.targets != [node]:
            continue
        resolver.refill()
        frame = resolver.frame_at(node, resolver.frame(module))
        made = [one for one in resolver.options(node.value, frame) if not one.is_nothing]
        dotted = _class_of(made, project)
        fitting = [row for row in fields[node.attr] if _is_made_by(dotted, row)]
        if not fitting or never_runs(module, node) or _says_the_same(made, node.attr, statement.value):
            continue
        if node.attr not in _PRECISION or not _is_settled(module, project):
            place = made[0].location._replace(message="the arguments are made here")
            yield _Set(node.attr, statement.value, statement, module, place, fitting[0], dotted)


def _class_of(options: list[Made], project: Project) -> str:
    """The class of a library that arguments are made of; "" where it is not known."""
    found = set()
    for made in options:
        if made.kind == "call" and not made.item:
            found.add(made.origin)
        elif made.kind == "parsed":
            parser = parser_in(made.frame.module.path, project)
            is_one = parser is not None and len(parser.fields.bases) == 1 and not parser.fields.own
            found.add(training_class(parser.fields) if parser is not None and is_one else "")
        else:
            found.add("")
    return found.pop() if len(found) == 1 else ""


def _is_made_by(dotted: str, row: Lifetime) -> bool:
    is_any = "transformers.TrainingArguments" in row.classes and is_training_class(dotted)
    return dotted in row.classes or is_any


def _is_settled(module: PythonModule, project: Project) -> bool:
    """Whether the launcher of a run settles the precision, or its recipe."""
    runs = (run for run in runs_with(module.path, project) if run.is_launched)
    return any(run.configs.accelerate.given("mixed_precision") is not ABSENT for run in runs)


def _says_the_same(options: list[Made], name: str, value: ast.expr) -> bool:
    """Whether a field is set to what it was made with, or may have been."""
    said = literal(value)
    for made in options:
        before = [value_in(one, None) for one in made.argument(name)] if made.kind == "call" else []
        if UNKNOWN in before or (said is not UNKNOWN and said in [False if one is None else one for one in before]):
            return True
    return False


# -- trainers -------------------------------------------------------------------------------------------------------


def _after_trainer(call: TrainerCall, row: Lifetime) -> Iterator[_Set]:
    """What is set on the arguments of a trainer after it is made: there, in its methods and in callbacks."""
    module = call.module
    statement = module.statement(call.call)
    if statement is None or _makes_another(call, statement):
        return
    place = call.location._replace(message="the trainer is made here")
    names = [f"{key_of(one)}.args" for one in _targets(statement)]
    given = next((one.value for one in call.call.keywords if one.arg in ("args", "config")), None)
    own = key_of(given) if isinstance(given, (ast.Name, ast.Attribute)) else ""
    for name in (*names, own):
        owner = name.removesuffix(".args")
        for one in touches(module, owner) if owner else ():
            found = _stored(one, name, row)
            if found and place_of(one) > place_of(statement) and _share_scope(module, one, statement, owner):
                yield _Set(*found, one, module, place, row)
    yield from _in_methods(call, row, place)
    yield from _in_callbacks(call, row)


def _makes_another(call: TrainerCall, statement: ast.stmt) -> bool:
    """Whether a trainer is made again, of the same arguments perhaps: later in the text, or in a loop."""
    module = call.module
    later = [one for one in trainer_calls(module, call.project) if place_of(one.call) > place_of(statement)]
    return any(one is not call for one in later) or any(isinstance(one, _LOOPS) for one in module.ancestors(statement))


def _share_scope(module: PythonModule, one: ast.stmt, other: ast.stmt, owner: str) -> bool:
    if exclusive(module, one, other):
        return False
    if owner.startswith("self."):
        return module.class_of(one) is module.class_of(other) is not None
    return scopes(module).scope(one) is scopes(module).scope(other)


def _targets(statement: ast.stmt) -> list[ast.expr]:
    return statement.targets if isinstance(statement, ast.Assign) else []


def _stored(statement: ast.stmt, owner: str, row: Lifetime) -> tuple[str, ast.expr] | None:
    """The field that `OWNER.field = value` sets, if it is one of the row."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    is_one = isinstance(target, ast.Attribute) and target.attr in row.fields and key_of(target.value) == owner
    return (target.attr, statement.value) if is_one and isinstance(target, ast.Attribute) else None


def _in_methods(call: TrainerCall, row: Lifetime, place: Location) -> Iterator[_Set]:
    """`self.args.field = …` in methods of the project's own trainer."""
    for made in call.classes:
        for method in _methods(made):
            if method.name != "__init__":
                yield from _stores_in(method, "self.args", row, made, place)


def _in_callbacks(call: TrainerCall, row: Lifetime) -> Iterator[_Set]:
    """`args.field = …` in callbacks that the trainer is given."""
    place = call.location._replace(message="the trainer is made here")
    for made in _callbacks(call):
        for method in _methods(made):
            arguments = method.args.args
            if method.name.startswith("on_") and method.name != "on_init_end" and len(arguments) > 1:
                yield from _stores_in(method, arguments[1].arg, row, made, place)


def _stores_in(method: ast.FunctionDef, owner: str, row: Lifetime, made: Made, place: Location) -> Iterator[_Set]:
    for node in nodes_in(method):
        if isinstance(node, ast.Assign) and (found := _stored(node, owner, row)):
            yield _Set(*found, node, made.frame.module, place, row)


def _callbacks(call: TrainerCall) -> Iterator[Made]:
    """The classes of the project whose objects a trainer is given as callbacks, or is told of later."""
    resolver = call.frame.resolver
    given = [item for made in call.given("callbacks") for one in made.items() or () for item in one]
    statement = call.module.statement(call.call)
    for name in map(key_of, _targets(statement) if statement is not None else ()):
        for one in touches(call.module, name):
            added = one.value if isinstance(one, ast.Expr) else None
            if isinstance(added, ast.Call) and key_of(added.func) == f"{name}.add_callback" and len(added.args) == 1:
                resolver.refill()
                given += resolver.options(added.args[0], resolver.frame_at(added, resolver.frame(call.module)))
    for made in given:
        cls = made.base if made.kind == "instance" else made
        bases = bases_of(resolver, cls) if isinstance(cls, Made) and cls.kind == "class" else ()
        if any(base.origin == _CALLBACK for base in bases):
            yield cls


def _methods(made: Made) -> list[ast.FunctionDef]:
    body = made.node.body if isinstance(made.node, ast.ClassDef) else []
    return [one for one in body if isinstance(one, ast.FunctionDef)]


def _is_read_by_project(call: TrainerCall, field: str) -> bool:
    """Whether the script sets the trainer's own copy, or a trainer of the project reads the field by itself."""
    modules = {call.module, *(made.frame.module for made in call.classes)}
    for module in modules:
        for node in module.of(ast.Attribute):
            if node.attr != field:
                continue
            owner = key_of(node.value)
            if isinstance(node.ctx, ast.Store) and "arg" not in owner and "config" not in owner:
                return True
            if isinstance(node.ctx, ast.Load) and owner == "self.args":
                return True
    return False


rule = SettingChangedTooLate()
