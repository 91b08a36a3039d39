"""TRL807: vLLM is to share the attention heads of a model out to a number of GPUs that does not divide them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks._run_models import model_of_run, package_of, served_model
from trl_lint.checks.inference._vllm import has_engine, model_of_engine, tensor_parallel_engine
from trl_lint.checks.rule import Rule, Site
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding, Location, Severity
from trl_lint.knowledge.models import model_of
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument
from trl_lint.run.effective import Setting, as_number, of_flag
from trl_lint.run.runs import Run
from trl_lint.run.servers import size_of

_OVERRIDING = ("hf_overrides", "hf_config_path")


class HeadsNotDivisible(Rule):
    code = "TRL807"
    triggers = ("vllm.LLM",)
    needles = (b"tensor_parallel_size",)
    runs = True
    launched = True
    launches = True

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        """Ranks that share the heads of a sequence, which a program asks for itself."""
        from trl_lint.checks.configs import _verl_asserts, _verl_validation

        for found in _verl_validation.contradictions(launch, _verl_asserts.HEADS, self, project):
            yield self.finding(found.location, found.message, severity=found.severity, related=found.related)

    def check_call(self, site: Site) -> Iterator[Finding]:
        """An engine in a script."""
        call, module = site.call, site.module
        loaded, size = model_of_engine(call, module, _OVERRIDING), argument(call, "tensor_parallel_size")
        if loaded is None or not isinstance(size, ast.expr):
            return
        heads = heads_of(loaded.name)
        for number, is_default in _sizes(size, module, site.project) if heads else ():
            if _is_misfit(heads, number):
                model = (loaded.location._replace(message="the model"),)
                level = Level(self, is_default).severity
                yield self._finding(module.location(size), loaded.name, heads, number, model, level)
                return

    def check_run(self, run: Run) -> Iterator[Finding]:
        if run.framework == "vllm":
            yield from self._check_server(run)
        else:
            yield from self._check_engine(run)

    def _check_server(self, run: Run) -> Iterator[Finding]:
        served = served_model(run)
        size = size_of(run, "tensor_parallel_size", "-tp")
        if served is None or size is None or _is_overridden(run):
            return
        heads = heads_of(served.name)
        if _is_misfit(heads, size):
            level = Level(self, run.launch.is_documentation).severity
            yield self._finding(served.location, served.name, heads, size, (run.launch.location,), level)

    def _check_engine(self, run: Run) -> Iterator[Finding]:
        """An engine of the run itself, or of a server that is started with its config."""
        if not has_engine(run):
            return
        config = run.config
        size = config.setting("tensor_parallel")
        if not isinstance(size, Setting) or size.integer is None or size.integer < 2:
            return
        name, place = model_of_run(run)
        heads = heads_of(name)
        if not _is_misfit(heads, size.integer):
            return
        chosen = run.choices[package_of(run)]
        engines = {release: tensor_parallel_engine(run, release) for release in chosen.releases}
        is_mild = run.launch.is_documentation or "server" in engines.values()
        verdict = judge_releases(chosen, lambda release: bool(engines[release]), Level(self, is_mild))
        if verdict is None:
            return
        related = (*((place._replace(message="the model"),) if place is not None else ()), *verdict.related)
        where = size.location or run.launch.location
        served = "; in a server that is started with this config" if engines[verdict.version] == "server" else ""
        scope = f" ({verdict.scope}{served})"
        yield self._finding(where, name, heads, size.integer, related, verdict.severity, scope)

    def _finding(
        self,
        place: Location,
        name: str,
        heads: int,
        size: int,
        related: tuple[Location, ...],
        severity: Severity | None = None,
        scope: str = "",
    ) -> Finding:
        fitting = max(number for number in range(1, size) if heads % number == 0)
        message = (
            f"vLLM stops, because {name} has {heads} attention heads, which it cannot share out to {size} GPUs evenly: "
            f"take a tensor parallel size that divides them, such as {fitting}{scope}"
        )
        shown = tuple(one for one in related if one[:3] != place[:3])
        return self.finding(place, message, severity=severity, related=shown)


def _sizes(size: ast.expr, module: PythonModule, project: Project) -> list[tuple[int, bool]]:
    """The numbers that an expression may be, and whether each is a default alone: of a variable of the environment."""
    from trl_lint.python.environ import variable_with_default
    from trl_lint.run.runs import runs_with

    number = module.value(size)
    if isinstance(number, int):
        return [(number, False)]
    read = variable_with_default(size, module)
    if read is None:
        return []
    name, default = read
    runs = [run for run in runs_with(module.path, project) if run.is_launched]
    given = [run.launch.env.get(name) for run in runs]
    found = [as_number(one.text) for one in given if one is not None and one.text is not None]
    whole = [(number, False) for number in found if isinstance(number, int)]
    return whole if len(whole) == len(runs) and runs else [(default, True)] if all(one is None for one in given) else []


def _is_overridden(run: Run) -> bool:
    """Whether the command of a server may give the model another config: `--hf-overrides.num_attention_heads 32`."""
    if any(of_flag(run.launch, name) is not ABSENT for name in _OVERRIDING):
        return True
    return any((word.text or "").replace("_", "-").startswith("--hf-overrides.") for word in run.launch.args)


def heads_of(name: str) -> int:
    """The attention heads of a well-known model; 0 where they are not known."""
    model = model_of(name) if name else None
    return model.heads if model is not None else 0


def _is_misfit(heads: int, size: int) -> bool:
    return heads > 0 and 1 < size <= 1024 and heads % size != 0


rule = HeadsNotDivisible()
