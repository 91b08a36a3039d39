"""TRL802: an option of vLLM that the mode of the run does not read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from trl_lint.checks._run_models import package_of
from trl_lint.checks.inference._vllm import (
    COLOCATE_OPTIONS,
    SERVER_OPTIONS,
    Option,
    has_modes,
    mode_of,
    options_of,
    uses_vllm,
)
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding
from trl_lint.missing import ABSENT
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run

_OF_ENGINE = ("engine_mode", "tensor_parallel", "engine_length")
_OTHER = {"colocate": SERVER_OPTIONS, "server": COLOCATE_OPTIONS}


class OptionOfTheOtherMode(Rule):
    code = "TRL802"
    runs = True

    def check_run(self, run: Run) -> Iterator[Finding]:
        if not has_modes(run):
            yield from self._without_engine(run)
            return
        mode = run.arguments.config.given("vllm_mode")
        if run.arguments.config.given("use_vllm") is ABSENT:
            # Who writes `use_vllm: false` keeps the other options for later; who forgot it wanted them.
            yield from self._unused(run, options_of(run, ("vllm_mode", *SERVER_OPTIONS)))
        elif isinstance(mode, Setting) and isinstance(mode.value, str) and mode.value in _OTHER:
            yield from self._misplaced(run, mode, options_of(run, _OTHER[mode.value]))

    def _without_engine(self, run: Run) -> Iterator[Finding]:
        """Options of the engine of a framework with a trainer of its own, which is not switched on."""
        config = run.config
        held, chosen = config.held("engine"), run.choices.get(package_of(run))
        if held is None or not held.names or chosen is None or config.kind() != "rl":
            return
        if config.given_setting("engine") is not ABSENT:
            return
        for what in _OF_ENGINE:
            said = config.given_setting(what)
            if not isinstance(said, Setting) or said.location is None or said.value is None:
                continue
            if run.launch.subcommand in (config.held(what) or held).read_by:
                continue  # the command is the one that starts the server
            idle = partial(_is_idle, run, what)
            verdict = judge_releases(chosen, idle, Level(self, run.launch.is_documentation))
            if verdict is not None:
                yield self.finding(
                    said.location,
                    f"`{config.option(what)}` has no effect without `{held.names[0]}`: the run generates with "
                    f"transformers ({verdict.scope})",
                    severity=verdict.severity,
                    related=verdict.related,
                )
                return

    def _unused(self, run: Run, options: list[Option]) -> Iterator[Finding]:
        if not options:
            return
        level = Level(self, run.launch.is_documentation)
        verdict = judge_releases(run.choices["trl"], lambda one: uses_vllm(run, one) is False, level)
        if verdict is None:
            return
        first, switch = options[0], run.arguments.shown("use_vllm")
        yield self.finding(
            first.setting.location or run.launch.location,
            f"`{first.name}` has no effect without `{switch}`: the run generates with transformers ({verdict.scope})",
            severity=verdict.severity,
            related=verdict.related,
        )

    def _misplaced(self, run: Run, mode: Setting, options: list[Option]) -> Iterator[Finding]:
        def is_misplaced(release: str) -> bool:
            return uses_vllm(run, release) is True and mode_of(run, release) == mode.value

        level = Level(self, run.launch.is_documentation)
        verdict = judge_releases(run.choices["trl"], is_misplaced, level) if options else None
        if verdict is None:
            return
        said = () if mode.location is None else (mode.location._replace(message=f"vllm_mode = {mode.value}"),)
        switch = run.arguments.shown("vllm_mode")
        for option in options:
            remedy = "give it to the server" if mode.value == "server" else "the trainer runs vLLM itself"
            yield self.finding(
                option.setting.location or run.launch.location,
                f"`{option.name}` has no effect with `{switch}` {mode.value}: {remedy} ({verdict.scope})",
                severity=verdict.severity,
                related=(*said, *verdict.related),
            )


def _is_idle(run: Run, what: str, release: str) -> bool:
    """Whether a release has the option, passes over it, and takes it even where there is no engine."""
    default = run.config.default(run.config.option(what, release), release)
    refuses = what == "engine_mode" and isinstance(default, Setting) and default.value is None
    return default is not ABSENT and not refuses and run.config.is_on("engine", release) is False


rule = OptionOfTheOtherMode()
