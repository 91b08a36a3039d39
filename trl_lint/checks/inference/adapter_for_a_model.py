"""TRL812: what an adapter is saved as, merged into or given for, and its reader cannot use."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from contextlib import suppress

from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding, Location
from trl_lint.memos import per_module, per_project, read_per_project
from trl_lint.project import Project
from trl_lint.python.guards import calls_by_name, key_of, last_name, never_runs
from trl_lint.python.module import PythonModule
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall, trainer_calls
from trl_lint.run.trainer.facts import Thing, argument_of
from trl_lint.run.trainer.lines import Line, lines_of
from trl_lint.run.trainer.models import has_adapter, loader, quantised
from trl_lint.run.trainer.resolver import resolver_of
from trl_lint.sources import SourceError

# `get_peft_model_state_dict` keeps the keys that hold the name of the adapter, and takes the name away: of what it gave
# before it keeps nothing. Read in 0.6.1, 0.15.2, 0.18.1 and 0.19.1; 0.20.0 asks for the name no more.
_TWICE = {"peft": ">=0.6,<0.20"}
_RESIZED = "its vocabulary is made larger here"
_SAVING = frozenset({"push_to_hub", "save_pretrained"})


class AdapterForAModel(Rule):
    code = "TRL812"
    imports = ("peft", "vllm")
    needles = (b"get_peft_model_state_dict", b"merge_and_unload(", b"LLM(", b"PeftModel.from_pretrained(")
    skips_tests = True
    runs = True
    launched = True

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        if is_unsloth(module):
            return
        yield from self._patched(module, project)
        for call in module.calls:
            name = last_name(call.func)
            origins = module.names.origins(call.func)
            if name == "merge_and_unload" and not never_runs(module, call):
                yield from self._merged(call, module, project)
            elif origins == {"peft.PeftModel.from_pretrained"}:
                yield from self._grown(call, module, project)
            elif origins == {"vllm.LLM"}:
                yield from self._served(call, module, project)

    def check_run(self, run: Run) -> Iterator[Finding]:
        """A command of a framework whose model is the adapter that another command leaves behind."""
        said = run.config.given_setting("model") if run.script is None and run.is_launched else None
        if not isinstance(said, Setting) or not isinstance(said.value, str) or said.location is None:
            return
        if not any(mark in said.value for mark in "/\\"):
            return
        made = _left_by_commands(run.project).get(os.path.normpath(said.value))
        if made is not None and made.path != said.location.path and not _is_merged(said.value, run.project):
            yield self._told(said.location, made)

    # -- saved ------------------------------------------------------------------------------------------------------

    def _patched(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        for statement in module.of(ast.Assign):
            target = statement.targets[0]
            if not isinstance(target, ast.Attribute) or target.attr != "state_dict":
                continue
            calls = (one for one in ast.walk(statement.value) if isinstance(one, ast.Call))
            if not any(last_name(one.func) == "get_peft_model_state_dict" for one in calls):
                continue
            verdict = judge_pins(project.environment(module.path), _TWICE, Level(self))
            if verdict is not None:
                yield self.finding(
                    module.location(statement),
                    "PEFT picks the adapter out of the weights by itself when it saves, and of what is picked out "
                    f"already it keeps nothing: the file is empty; leave `state_dict` as it is ({verdict.scope})",
                    severity=verdict.severity,
                    related=verdict.related,
                )

    # -- merged -----------------------------------------------------------------------------------------------------

    def _merged(self, call: ast.Call, module: PythonModule, project: Project) -> Iterator[Finding]:
        if not isinstance(call.func, ast.Attribute) or not _is_saved(call, module):
            return
        trainer = next(
            (one for one in trainer_calls(module, project) if key_of(call.func.value) in _models_of(one)), None
        )
        if trainer is not None:
            found = [quantised(line, None, trainer) for line in trainer.lines("model")]
        else:
            resolver = resolver_of(module, project)
            resolver.refill()
            lines = lines_of(resolver.options(call.func.value, resolver.frame_at(call, resolver.frame(module))))
            found = [quantised(line, None) for line in lines if loader(line) is not None]
            found = found if len(found) == len(lines) else []
        first = found[0] if found else None
        if (
            first is None
            or first.place is None
            or any(one is None or one.bits not in ("4bit", "8bit") for one in found)
        ):
            return
        bits = first.bits.removesuffix("bit")
        yield self.finding(
            module.location(call),
            f"this adds the adapter to weights of {bits} bits, which are rounded again: what is saved is neither the "
            "model that was trained nor one in full precision; load the model unquantised to merge",
            severity="warning",
            related=(first.place.location._replace(message="quantised here"),),
        )

    # -- read -------------------------------------------------------------------------------------------------------

    def _served(self, call: ast.Call, module: PythonModule, project: Project) -> Iterator[Finding]:
        resolver = resolver_of(module, project)
        resolver.refill()
        given = next((one.value for one in call.keywords if one.arg == "model"), None) or next(iter(call.args), None)
        options = resolver.options(given, resolver.frame_at(call, resolver.frame(module))) if given is not None else ()
        value = options[0].value if len(options) == 1 and options[0].kind == "literal" else None
        if not isinstance(value, str) or given is None:
            return
        folder = os.path.normpath(value)
        left = _left_by_scripts(project)
        made = left.get(folder) or (left.get(os.path.dirname(folder)) if "checkpoint-" in folder else None)
        if made is not None and not _is_merged(value, project):
            yield self._told(module.location(given), made)

    def _grown(self, call: ast.Call, module: PythonModule, project: Project) -> Iterator[Finding]:
        """An adapter whose trainer made the vocabulary of the model larger, put on the model as it comes."""
        value = module.value(call.args[1]) if len(call.args) > 1 else None
        made = _left_by_scripts(project).get(os.path.normpath(value)) if isinstance(value, str) else None
        if made is None or made.message != _RESIZED or "resize_token_embeddings" in module.text:
            return
        resolver = resolver_of(module, project)
        resolver.refill()
        lines = lines_of(resolver.options(call.args[0], resolver.frame_at(call, resolver.frame(module))))
        if not lines or not all(loader(line) is line.made for line in lines):
            return
        yield self.finding(
            module.location(call),
            "the adapter was trained on a model with more tokens, whose embeddings PEFT saves with it: loading stops "
            "(size mismatch for embed_tokens); load the tokenizer of the adapter and call "
            "`base.resize_token_embeddings(len(tokenizer))` before",
            severity="error",
            related=(made,),
        )

    def _told(self, place: Location, made: Location) -> Finding:
        return self.finding(
            place,
            "this folder gets an adapter and no model: there is no config.json in it, and loading stops; give the "
            "model that was trained and the adapter beside it, or merge the two first",
            severity="error",
            related=(made._replace(message="saved here"),),
        )


def _models_of(call: TrainerCall) -> set[str]:
    """What the model of a trainer is called: `trainer.model`."""
    statement = call.module.statement(call.call)
    return {f"{key_of(one)}.model" for one in statement.targets} if isinstance(statement, ast.Assign) else set()


def _is_saved(call: ast.Call, module: PythonModule) -> bool:
    """Whether what a merge gives is saved: `x.merge_and_unload().save_pretrained(…)`, or by its name."""
    parent = module.parents.get(call)
    if isinstance(parent, ast.Attribute):
        return parent.attr in _SAVING
    names = {key_of(one) for one in parent.targets} if isinstance(parent, ast.Assign) else set()
    return not names.isdisjoint(_saved(module))


@per_module
def _saved(module: PythonModule) -> frozenset[str]:
    """The names of what a module saves."""
    calls = calls_by_name(module)
    found = (call.func for name in _SAVING for call in calls.get((ast.Attribute, name), ()))
    return frozenset(key_of(func.value) for func in found if isinstance(func, ast.Attribute))


@per_project
def _is_merged(folder: str, project: Project) -> bool:
    """Whether some file of the project may put a whole model there."""
    name = os.path.basename(os.path.normpath(folder)).encode()
    with suppress(OSError, SourceError):
        for path in project.paths:
            is_text = path.endswith((".py", ".ipynb", ".sh", ".yaml", ".yml"))
            if is_text and project.files.holds(path, name) and project.files.holds(path, b"merge", b"export_dir"):
                return True
        return False
    return True


@read_per_project
def _left_by_scripts(project: Project) -> dict[str, Location]:
    """The folders that trainers of the project write an adapter to, and where they say so."""
    found: dict[str, Location] = {}
    for path in project.paths:
        with suppress(OSError, SourceError):
            if path.endswith(".py") and project.files.holds(path, b"peft_config", b"get_peft_model"):
                module = project.module_in(path)
                for call in trainer_calls(module, project):
                    if call.is_certain and not call.is_dead and not is_unsloth(module) and _trains_adapter(call):
                        found |= _folders(call)
    return found


def _trains_adapter(call: TrainerCall) -> bool:
    lines = call.lines("model")
    is_put_on = bool(lines) and all(has_adapter(line) is True for line in lines)
    return is_put_on or isinstance(argument_of(call, "peft_config", None), Thing)


def _folders(call: TrainerCall) -> dict[str, Location]:
    statement = call.module.statement(call.call)
    names = {key_of(one) for one in statement.targets} if isinstance(statement, ast.Assign) else set()
    given = [made for made in call.given("args") if made.kind == "call"]
    made = [one for args in given for one in args.argument("output_dir", 0)] or list(call.field("output_dir"))
    resolver = call.frame.resolver
    for one in calls_by_name(call.module).get((ast.Attribute, "save_model"), ()):
        if isinstance(one.func, ast.Attribute) and key_of(one.func.value) in names and one.args:
            resolver.refill()
            made += resolver.options(one.args[0], resolver.frame_at(one, resolver.frame(call.module)))
    values = [one.value for one in made if one.kind == "literal"]
    lines = call.lines("model")
    is_grown = bool(lines) and "add_" in call.module.text and all(map(_is_grown, lines))
    place = call.location._replace(message=_RESIZED) if is_grown else call.location
    return {os.path.normpath(value): place for value in values if isinstance(value, str) and value}


def _is_grown(line: Line) -> bool:
    """Whether the vocabulary of a model is certainly made larger on its way."""
    return any(one.path.endswith("resize_token_embeddings") and not one.under for one in line.changes)


@per_project
def _left_by_commands(project: Project) -> dict[str, Location]:
    """The same of commands of frameworks."""
    from trl_lint.project.launch_table import all_launches
    from trl_lint.run.runs import run_of

    found: dict[str, Location] = {}
    for launch in all_launches(project):
        run = run_of(launch, project)
        if run.script is not None or launch.is_documentation or not run.framework or run.config.held("adapter") is None:
            continue
        said = run.config.given("output_dir")
        is_on = run.config.is_on("adapter", run.config.release) is True
        if is_on and isinstance(said, Setting) and isinstance(said.value, str) and said.location is not None:
            found[os.path.normpath(said.value)] = said.location
    return found


rule = AdapterForAModel()
