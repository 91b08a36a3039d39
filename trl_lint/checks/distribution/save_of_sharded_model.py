"""TRL127: a model whose weights are shared out is saved by one process alone, or without being put together."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule
from trl_lint.checks._trainers import HF_TRAINERS
from trl_lint.checks.distribution._accelerators import constructor_of, parameters, prepared_at
from trl_lint.checks.distribution.collective_on_one_rank import has_counterpart
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import judge_pins, level_in
from trl_lint.finding import Finding, Location
from trl_lint.project import Project
from trl_lint.python.guards import bindings, exclusive, key_of
from trl_lint.python.module import PythonModule
from trl_lint.python.reaching import place_of
from trl_lint.regexes import regex
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run, runs_with
from trl_lint.run.sharding import fsdp_version, zero3_place
from trl_lint.run.trainer import TrainerCall

# A test that the main process alone passes, with the names in it written out.
_IS_MAIN = regex(
    r"is_main_process|is_(?:world|local)_process_zero|should_save\b"
    r"|(?:rank|RANK|process_index)\w{0,9}[^=<>!]{0,30}?(?:== '?0|in [(\[]-?[01]'?, -?[01][)\]]|<= 0|< 1)"
)
# `save_model` puts the weights together in all processes, and only then asks who writes (`Trainer.save_model`): read in
# 4.36.2, 4.51.3, 4.57.6 and 5.23.0. `save_pretrained` puts nothing together before 5.0: read in 4.38.2 to 4.57.6.
_COLLECTS = {"transformers": ">=4.36"}
_WRITES_SHARDS = {"transformers": ">=4.36,<5"}
_DEEP = 3  # names in names


class SaveOfShardedModel(TrainerRule):
    code = "TRL127"
    imports = ("trl", "transformers", "accelerate")
    needles = (b"save_model(", b"save_pretrained(", b".state_dict()")

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        if "unwrap_model" in module.text and "GatheredParameters" not in module.text and not is_unsloth(module):
            yield from self._unwrapped(module, project)
        yield from super().check_module(module, project)

    def _unwrapped(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        """`accelerator.unwrap_model(model).save_pretrained(…)` without what the accelerator puts together."""
        saves = list(_unwrapped_saves(module))
        for run in runs_with(module.path, project) if saves else ():
            sharding = _sharding(run)
            verdict = judge_pins(run.environment, _WRITES_SHARDS, level_in(self, run)) if sharding is not None else None
            if sharding is None or verdict is None:
                continue
            name, place = sharding
            for save, owner in saves:
                yield self.finding(
                    module.location(save),
                    f"the unwrapped model has its weights as {name} leaves them on each process, and what is saved is "
                    f"empty or a part: give `state_dict={owner}.get_state_dict(…)`, called in all processes "
                    f"({verdict.scope})",
                    severity=verdict.severity,
                    related=(place, run.launch.location._replace(message="the run"), *verdict.related),
                )
            return

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.trainer not in HF_TRAINERS or is_unsloth(call.module):
            return
        told: set[ast.Call] = set()
        for run in call.runs:
            sharding = _sharding(run)
            if sharding is None:
                continue
            for save in _saves(call):
                if save not in told and (finding := self._judged(call, run, save, sharding)) is not None:
                    told.add(save)
                    yield finding

    def _judged(self, call: TrainerCall, run: Run, save: ast.Call, sharding: tuple[str, Location]) -> Finding | None:
        name, place = sharding
        module = call.module
        what = module.segment(save.func)
        if isinstance(save.func, ast.Attribute) and save.func.attr == "save_model":
            branch = _main_branch(module, save)
            verdict = judge_pins(call.environment, _COLLECTS, level_in(self, run)) if branch is not None else None
            if branch is None or verdict is None:
                return None
            message = (
                f"`{what}` hangs: under {name} all processes have to call it, because it puts the weights together, "
                "and only the main one passes this test; call it without the test, it writes once by itself"
            )
            related: tuple[Location, ...] = (module.location(branch.test, "the others do not pass this test"), place)
        else:
            verdict = judge_pins(call.environment, _WRITES_SHARDS, level_in(self, run)) if name == "ZeRO-3" else None
            if verdict is None:
                return None
            message = (
                f"`{what}` takes the weights as ZeRO-3 leaves them on each process: what is saved is empty (shapes of "
                f"`torch.Size([0])`); save with `{_trainer_name(call) or 'trainer'}.save_model(…)` in all processes"
            )
            related = (place,)
        return self.finding(
            module.location(save),
            f"{message} ({verdict.scope})",
            severity=verdict.severity,
            related=(*related, run.launch.location._replace(message="the run"), *verdict.related),
        )


def _sharding(run: Run) -> tuple[str, Location] | None:
    """How a run of several processes shares the weights out, and what says so."""
    number = run.processes
    if isinstance(number, Setting) and number.integer is not None and number.integer < 2:
        return None
    stage = zero3_place(run)
    if stage is not None:
        return "ZeRO-3", stage._replace(message="ZeRO-3")
    said = run.configs.accelerate.given("distributed_type")
    if fsdp_version(run) is not None and isinstance(said, Setting) and said.location is not None:
        kind = run.configs.accelerate.given("fsdp_config.fsdp_state_dict_type")
        is_full = isinstance(kind, Setting) and str(kind.value).upper() == "FULL_STATE_DICT"
        return ("FSDP", said.location._replace(message="FSDP")) if is_full else None
    return None


def _saves(call: TrainerCall) -> Iterator[ast.Call]:
    """The calls after training that save the trainer's model: by the trainer, by the model, with `torch.save`."""
    module = call.module
    trainer = _trainer_name(call)
    statement = module.statement(call.call)
    if not trainer or statement is None or "GatheredParameters" in module.text:
        return
    named = (one.value for one in call.call.keywords if one.arg == "model")
    model = key_of(next(named, None) or next(iter(call.call.args), None))
    models = {f"{trainer}.model", *([model] if model and _is_kept(module, model, statement) else [])}
    for one in module.calls:
        if _is_save(one, trainer, models) and _comes_later(one, call, trainer, statement):
            yield one


def _comes_later(save: ast.Call, call: TrainerCall, trainer: str, statement: ast.stmt) -> bool:
    """Whether a call comes after the trainer is made, in the text or in a function that gets it."""
    module = call.module
    around = module.function(save)
    if around is not None and around is not module.function(call.call) and trainer in parameters(around):
        return True
    return place_of(save) > place_of(statement) and not exclusive(module, save, call.call)


def _is_save(call: ast.Call, trainer: str, models: set[str]) -> bool:
    owner, _, method = key_of(call.func).rpartition(".")
    if method == "save_model":
        return owner == trainer
    if method == "save_pretrained":
        return owner in models and all(word.arg != "state_dict" for word in call.keywords)
    return method == "state_dict" and owner in models


def _is_kept(module: PythonModule, name: str, statement: ast.stmt) -> bool:
    """Whether a name is not bound again after the trainer got it."""
    return all(place_of(value) < place_of(statement) for value in bindings(module).get(name, []))


def _unwrapped_saves(module: PythonModule) -> Iterator[tuple[ast.Call, str]]:
    """The calls of `save_pretrained` of what an accelerator unwrapped, without `state_dict`, and the accelerator."""
    for call in module.calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "save_pretrained":
            continue
        if any(one.arg in ("state_dict", None) for one in call.keywords):
            continue
        owner: ast.expr = call.func.value
        values = bindings(module).get(key_of(owner), []) if isinstance(owner, ast.Name) else []
        unwrap = values[0] if len(values) == 1 else owner
        func = unwrap.func if isinstance(unwrap, ast.Call) else None
        if isinstance(func, ast.Attribute) and func.attr == "unwrap_model" and isinstance(unwrap, ast.Call):
            given = unwrap.args[0] if unwrap.args else None
            if constructor_of(module, func.value) is not None and given is not None and prepared_at(module, given):
                yield call, key_of(func.value)


def _trainer_name(call: TrainerCall) -> str:
    statement = call.module.statement(call.call)
    is_one = isinstance(statement, ast.Assign) and len(statement.targets) == 1 and statement.value is call.call
    return key_of(statement.targets[0]) if is_one and isinstance(statement, ast.Assign) else ""


def _main_branch(module: PythonModule, save: ast.Call) -> ast.If | None:
    """The test around a call that the main process alone passes, and behind which the others do nothing like it."""
    child: ast.AST = save
    for parent in module.ancestors(save):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            return None
        if isinstance(parent, ast.If) and child in parent.body and _is_main(module, parent.test, 0):
            return None if has_counterpart(module, save, parent) else parent
        child = parent
    return None


def _is_main(module: PythonModule, test: ast.expr, depth: int) -> bool:
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) and any(_is_main(module, one, depth) for one in test.values)
    if isinstance(test, ast.UnaryOp):
        return False
    values = bindings(module).get(key_of(test), []) if isinstance(test, ast.Name) else []
    if len(values) == 1 and depth < _DEEP:
        return _is_main(module, values[0], depth + 1)
    return _IS_MAIN.search(ast.unparse(test)) is not None


rule = SaveOfShardedModel()
