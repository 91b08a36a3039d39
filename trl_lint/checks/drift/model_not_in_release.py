"""TRL311: a model that came after the pinned release of what loads it."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator

from trl_lint.checks._run_models import model_of_run, package_of, served_model
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding, Location
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.project.environment import Environment
from trl_lint.python.guards import is_expected_to_fail, last_name, never_runs
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument
from trl_lint.records import NamedTuple
from trl_lint.run.runs import Run, runs_with
from trl_lint.run.trainer import Made, trainer_calls, trainers_by_call

_TRANSFORMERS, _VLLM = "transformers", "vllm"
_ENGINES = ("vllm.LLM", "vllm.LLMEngine", "vllm.AsyncLLMEngine", "vllm.AsyncEngineArgs", "vllm.EngineArgs")
_LOADERS = ("transformers.Auto", "unsloth.", "trl.AutoModel")
_NOT_MODELS = ("Tokenizer", "Processor", "FeatureExtractor")


class Loaded(NamedTuple):
    """A model that is loaded by its id, and by what. `is_mild`: somebody may choose another one; `framework`: a package
    that has to go with the release which loads it, and its release.
    """

    identifier: str
    location: Location | None
    package: str
    is_mild: bool = False
    framework: tuple[str, str] = ("", "")


class ModelNotInRelease(Rule):
    code = "TRL311"
    imports = ("transformers", "trl", "vllm", "unsloth")
    needles = (b"from_pretrained", b"LLM(", b"EngineArgs(", b"Trainer(")
    runs = True
    launched = True
    skips_tests = True

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        """What a script loads: by `from_pretrained`, as the model of a trainer, or in an engine of vLLM."""
        from trl_lint.project.stack import environment_at
        from trl_lint.python.version_guards import is_guarded

        for call, given, package in _loads(module, project):
            if never_runs(module, call) or is_expected_to_fail(module, call) or is_guarded(module, call):
                continue
            environment = environment_at(module, call, project, package)
            for loaded in _named(call, given, package, module, project) if environment is not None else ():
                if environment is not None:
                    yield from self._judge(loaded, environment, project)

    def check_run(self, run: Run) -> Iterator[Finding]:
        """What a command of a framework, or a server, loads."""
        is_mild = run.launch.is_documentation
        if run.framework == _VLLM:
            served = served_model(run)
            found = (
                [Loaded(served.name, served.location, one, is_mild) for one in (_VLLM, _TRANSFORMERS)] if served else []
            )
        elif run.script is None:
            name, place = model_of_run(run)
            chosen = run.choices.get(package_of(run))
            beside = (chosen.package.name, chosen.newest) if chosen is not None else ("", "")
            found = [Loaded(name, place, one, is_mild, beside) for one in (_TRANSFORMERS, *_engines(run))]
        else:
            return  # its own code is looked at
        for loaded in found:
            yield from self._judge(loaded, run.environment, run.project)

    def _judge(self, loaded: Loaded, environment: Environment, project: Project) -> Iterator[Finding]:
        without = _releases_without(loaded, project)
        if not without:
            return
        package = loaded.package
        level = Level(self, loaded.is_mild, of_code=False)
        verdict = judge_pins(environment, {package: without}, level)
        if verdict is None or verdict.only_old:
            return
        from trl_lint.knowledge.models import family_of

        family = family_of(loaded.identifier)
        kind = family.model_type if family is not None else ""
        first = without.removeprefix("<")
        shown = "vLLM" if package == _VLLM else package
        pins = environment.package(package).pins
        model = (loaded.location._replace(message="the model"),) if loaded.location is not None else ()
        may_rise = bool(pins) and pins[0].kind != "inert" and not _is_held(loaded, first)
        place = loaded.location if loaded.location is not None and not may_rise else pins[0].location if pins else None
        if place is None:
            return
        yield self.finding(
            place,
            f"{shown} has had no `{kind}` before {first}, so it cannot load {loaded.identifier} ({verdict.scope}): "
            f"take {f'{package}>={first}, or another model' if may_rise or not pins else 'another model'}",
            severity=verdict.severity,
            related=tuple(one for one in (*model, *verdict.related) if one[:3] != place[:3]),
        )


def _is_held(loaded: Loaded, first: str) -> bool:
    """Whether the framework goes with no release that has the model, so that it is the model which does not fit."""
    from packaging.version import InvalidVersion, Version

    from trl_lint.knowledge.histories import releases
    from trl_lint.knowledge.ranges import holds
    from trl_lint.knowledge.requirements import declared

    name, release = loaded.framework
    try:
        known = declared(name, Version(release)) if name else None
    except InvalidVersion:
        return False
    parts = known.parts.get(loaded.package, ()) if known is not None else ()
    later = [each for each in releases(loaded.package) if holds(f">={first}", each)]
    return bool(parts) and not any(holds(part.specifier, each) for part in parts for each in later)


def _releases_without(loaded: Loaded, project: Project) -> str:
    """The releases that cannot load a model, as a specifier; "" where that is not known."""
    from trl_lint import tracked
    from trl_lint.knowledge.architectures import releases_without
    from trl_lint.knowledge.models import family_of, is_native

    family = family_of(loaded.identifier) if loaded.identifier else None
    if family is None or not is_native(family.name) or tracked.is_folder(os.path.join(project.root, loaded.identifier)):
        return ""
    return releases_without(loaded.package, family.name, family.model_type, family.vision)


def _engines(run: Run) -> tuple[str, ...]:
    """vLLM, where a run of a framework certainly generates with it."""
    chosen = run.choices.get(package_of(run))
    held = run.config.held("engine")
    if chosen is None or held is None or not held.names:
        return ()
    said = [run.config.is_on("engine", release) for release in chosen.releases]
    return (_VLLM,) if all(one is True for one in said) else ()


def _loads(module: PythonModule, project: Project) -> Iterator[tuple[ast.Call, ast.expr | None, str]]:
    """The calls that load a model, what they are given for it, None for a trainer, and the package that loads it."""
    for call in module.calls:
        name = last_name(call.func)
        if name == "from_pretrained":
            origins = module.names.origins(call.func)
            is_model = any(one.startswith(_LOADERS) and not any(not_ in one for not_ in _NOT_MODELS) for one in origins)
            given = argument(call, "pretrained_model_name_or_path", 0)
            given = argument(call, "model_name", 0) if given is ABSENT else given
            if is_model and isinstance(given, ast.expr) and not _has_config(call):
                yield call, given, _TRANSFORMERS
        elif name in ("LLM", "LLMEngine", "AsyncEngineArgs", "EngineArgs"):
            given = argument(call, "model", 0)
            if isinstance(given, ast.expr) and any(one in _ENGINES for one in module.names.origins(call.func)):
                yield call, given, _VLLM
                yield call, given, _TRANSFORMERS
    if "Trainer" in module.text:
        for one in trainer_calls(module, project):
            if one.is_certain and one.trainer.startswith("trl."):
                yield one.call, None, _TRANSFORMERS


def _named(
    call: ast.Call, given: ast.expr | None, package: str, module: PythonModule, project: Project
) -> Iterator[Loaded]:
    """The ids of models that a call loads; a trainer that is not given a name loads none."""
    from trl_lint.run.trainer.resolver import around, resolver_of
    from trl_lint.run.trainer.running import holds_in, value_in

    if given is None:
        found = trainers_by_call(module, project)[call].given("model")
    else:
        resolver = resolver_of(module, project)
        resolver.refill()
        found = resolver.options(given, resolver.frame(module, around(given, module)))
    runs = [run for run in runs_with(module.path, project) if run.is_launched]
    seen: dict[str, Loaded] = {}
    for run in runs or (None,):
        possible = [made for made in found if holds_in(made.under, run) is not False]
        for made in possible:
            value = value_in(made, run)
            is_default = made.kind == "field" and not isinstance(value, str)
            if is_default and run is None:
                value = _default_of(made)
            if isinstance(value, str):
                seen.setdefault(value, Loaded(value, made.location, package, is_default or len(possible) > 1))
    yield from seen.values()


def _default_of(made: Made) -> object:
    """What an option of a script is that no command of the project starts."""
    from trl_lint.run.trainer.argparsed import default_of

    return default_of(made)


def _has_config(call: ast.Call) -> bool:
    return any(keyword.arg in (None, "config", "hf_overrides") for keyword in call.keywords)


rule = ModelNotInRelease()
