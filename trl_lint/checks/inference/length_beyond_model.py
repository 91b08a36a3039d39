"""TRL809: vLLM is asked for texts longer than the positions of the model."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks._run_models import model_of_run, package_of, served_model
from trl_lint.checks.inference._vllm import engine_of, has_engine, model_of_engine, says_anywhere
from trl_lint.checks.rule import Rule, Site
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding, Location, Severity
from trl_lint.knowledge.models import model_of
from trl_lint.knowledge.ranges import holds
from trl_lint.memos import read_per_project
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.python.values import argument
from trl_lint.run.effective import Setting, of_flag
from trl_lint.run.runs import Run

# With these vLLM reads another config than that of the model's newest revision.
_OVERRIDING = ("hf_overrides", "hf_config_path", "rope_scaling", "revision")
_ALLOWED = b"VLLM_ALLOW_LONG_MAX_MODEL_LEN"
# Releases that give the engine the sum of these two, else `vllm_max_model_length`. Read in grpo_trainer.py of 0.18.0 to
# 0.26.0 and rloo_trainer.py of 0.22.0 to 0.27.0.
_SUMS = {"GRPOConfig": ">=0.18.0,<0.26.0", "RLOOConfig": ">=0.22.0,<0.27.0"}
_LENGTHS = ("engine_length", "prompt_length", "completion_length")


class LengthBeyondModel(Rule):
    code = "TRL809"
    triggers = ("vllm.LLM",)
    needles = (b"max_model_len",)
    runs = True
    launched = True
    launches = True

    def check_call(self, site: Site) -> Iterator[Finding]:
        """An engine in a script."""
        call, module = site.call, site.module
        loaded, length = model_of_engine(call, module, _OVERRIDING), argument(call, "max_model_len")
        if loaded is None or not isinstance(length, ast.expr):
            return
        number = module.value(length)
        if isinstance(number, int) and _is_beyond(loaded.name, number) and not _is_allowed(site.project):
            model = (loaded.location._replace(message="the model"),)
            yield self._finding(module.location(length), loaded.name, str(number), model)

    def check_run(self, run: Run) -> Iterator[Finding]:
        if run.framework == "vllm":
            yield from self._check_server(run)
        elif not run.arguments_class or run.arguments_class.rpartition(".")[2] in _SUMS:
            yield from self._check_engine(run)

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        """The lengths that a program adds up and asks for itself."""
        from trl_lint.checks.configs import _verl_asserts, _verl_validation

        for found in _verl_validation.contradictions(launch, _verl_asserts.LENGTHS, self, project):
            yield self.finding(found.location, found.message, severity=found.severity, related=found.related)

    def _check_server(self, run: Run) -> Iterator[Finding]:
        served, said = served_model(run), of_flag(run.launch, "max_model_len")
        if served is None or not isinstance(said, Setting) or said.integer is None:
            return
        if not _is_beyond(served.name, said.integer) or _is_overridden(run) or _is_allowed(run.project):
            return
        level = Level(self, run.launch.is_documentation).severity
        place = said.location or run.launch.location
        yield self._finding(place, served.name, str(said.integer), (served.location,), level)

    def _check_engine(self, run: Run) -> Iterator[Finding]:
        """An engine of the run itself, or of a server that is started with its config."""
        config = run.config
        given = [config.given_setting(what) for what in _LENGTHS]
        if not has_engine(run) or not any(isinstance(one, Setting) for one in given):
            return
        name, place = model_of_run(run)
        if not _positions(name):
            return
        chosen = run.choices[package_of(run)]
        engines = {release: engine_of(run, "engine_length", release) for release in chosen.releases}

        def is_bad(release: str) -> bool:
            return bool(engines[release]) and _is_beyond(name, sum(_lengths(run, release).values()))

        is_mild = run.launch.is_documentation or "server" in engines.values()
        verdict = judge_releases(chosen, is_bad, Level(self, is_mild))
        if verdict is None or _is_allowed(run.project):
            return
        lengths = _lengths(run, verdict.version)
        said = [config.given(part) for part in lengths]
        places = [one.location for one in said if isinstance(one, Setting) and one.location is not None]
        model = (place._replace(message="the model"),) if place is not None else ()
        shown = " + ".join(f"`{part}` {number}" for part, number in lengths.items())
        served = "; in a server that is started with this config" if engines[verdict.version] == "server" else ""
        related = (*places[1:], *model, *verdict.related)
        where = places[0] if places else run.launch.location
        yield self._finding(where, name, shown, related, verdict.severity, f" ({verdict.scope}{served})")

    def _finding(
        self,
        place: Location,
        name: str,
        length: str,
        related: tuple[Location, ...],
        severity: Severity | None = None,
        scope: str = "",
    ) -> Finding:
        message = (
            f"vLLM stops, because {name} has {_positions(name)} positions, fewer than the tokens of a text that it is "
            f"asked for ({length}){scope}"
        )
        shown = tuple(one for one in related if one[:3] != place[:3])
        return self.finding(place, message, severity=severity, related=shown)


@read_per_project
def _is_allowed(project: Project) -> bool:
    """Whether any file of the project may switch the test off, which a variable does."""
    return says_anywhere(project, _ALLOWED)


def _lengths(run: Run, release: str) -> dict[str, int]:
    """What the longest text of an engine is the sum of in a release, by option; empty where it is not known."""
    config = run.config
    held, whole = config.held("engine_length"), config.setting("engine_length", release)
    sums = run.arguments_class.rpartition(".")[2]
    is_sum = bool(sums) and holds(_SUMS[sums], release)
    if held is not None and held.zero == "derived":  # a length that is not given is the sum
        is_sum = whole is ABSENT or (isinstance(whole, Setting) and not whole.value)
    found = {config.option(what, release): config.setting(what, release)
             for what in (("prompt_length", "completion_length") if is_sum else ("engine_length",))}  # fmt: skip
    numbers = {name: said.integer for name, said in found.items() if isinstance(said, Setting)}
    known = {name: number for name, number in numbers.items() if number is not None}
    return known if len(known) == len(found) else {}


def _is_overridden(run: Run) -> bool:
    """Whether a server may go by another config: one key of it (`--hf-overrides.rope_theta`) and files count, too."""
    words = [word.text.replace("-", "_") for word in run.launch.args if word.text is not None]
    return any(word.startswith(f"__{name}") for word in words for name in (*_OVERRIDING, "config"))


def _positions(name: str) -> int:
    """The positions of a well-known model by its own id, for a mirror may have others; 0 where they are not known."""
    model = model_of(name) if name else None
    return model.positions if model is not None and model.id == name else 0


def _is_beyond(name: str, length: int) -> bool:
    return 0 < _positions(name) < length


rule = LengthBeyondModel()
