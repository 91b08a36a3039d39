"""TRL807: vLLM is to share the attention heads of a model out to a number of GPUs that does not divide them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks._run_models import trained_model
from trl_lint.checks.inference._vllm import has_modes, is_split, model_of_engine, served_model
from trl_lint.checks.rule import Rule, Site
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding, Location, Severity
from trl_lint.knowledge.models import model_of
from trl_lint.missing import ABSENT
from trl_lint.python.values import argument
from trl_lint.run.effective import Setting, of_flag
from trl_lint.run.runs import Run
from trl_lint.run.servers import size_of

_OVERRIDING = ("hf_overrides", "hf_config_path")


class HeadsNotDivisible(Rule):
    code = "TRL807"
    triggers = ("vllm.LLM",)
    needles = (b"tensor_parallel_size",)
    runs = True
    launched = True

    def check_call(self, site: Site) -> Iterator[Finding]:
        """An engine in a script."""
        call, module = site.call, site.module
        loaded, size = model_of_engine(call, module, _OVERRIDING), argument(call, "tensor_parallel_size")
        if loaded is None or not isinstance(size, ast.expr):
            return
        number, heads = module.value(size), heads_of(loaded.name)
        if isinstance(number, int) and _is_misfit(heads, number):
            model = (loaded.location._replace(message="the model"),)
            yield self._finding(module.location(size), loaded.name, heads, number, model)

    def check_run(self, run: Run) -> Iterator[Finding]:
        if run.framework == "vllm":
            yield from self._check_server(run)
        else:
            yield from self._check_trainer(run)

    def _check_server(self, run: Run) -> Iterator[Finding]:
        served = served_model(run)
        size = size_of(run, "tensor_parallel_size", "-tp")
        if served is None or size is None or _is_overridden(run):
            return
        heads = heads_of(served.name)
        if _is_misfit(heads, size):
            level = Level(self, run.launch.is_documentation).severity
            yield self._finding(served.location, served.name, heads, size, (run.launch.location,), level)

    def _check_trainer(self, run: Run) -> Iterator[Finding]:
        """An engine that the processes of a trainer hold together."""
        size = run.config.given("vllm_tensor_parallel_size")
        if not isinstance(size, Setting) or size.integer is None or size.integer < 2 or not has_modes(run):
            return
        name, place = trained_model(run)
        heads = heads_of(name)
        if not _is_misfit(heads, size.integer):
            return
        level = Level(self, run.launch.is_documentation)
        verdict = judge_releases(run.choices["trl"], lambda release: is_split(run, release), level)
        if verdict is None:
            return
        related = (*((place._replace(message="the model"),) if place is not None else ()), *verdict.related)
        where = size.location or run.launch.location
        yield self._finding(where, name, heads, size.integer, related, verdict.severity, f" ({verdict.scope})")

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
