"""TRL404: two files of a run say different things, and the trainer refuses to choose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.checks._trainers import is_compared
from trl_lint.checks.configs._trainer_contradictions import contradictions_in
from trl_lint.checks.rule import Rule, Site
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding, Location
from trl_lint.missing import ABSENT
from trl_lint.run.effective import Setting

if TYPE_CHECKING:
    from trl_lint.checks.configs._deepspeed_match import Pair
    from trl_lint.project.stack import Choice
    from trl_lint.run.runs import Run

# accelerate refuses a DeepSpeed config of its own beside one that the training arguments name, if it has one of these
# (utils/dataclasses.py, `_deepspeed_config_checks`, read in 0.17 to 1.15).
_INLINE = (
    "zero_stage", "gradient_accumulation_steps", "gradient_clipping", "zero3_save_16bit_model",
    "offload_optimizer_device", "offload_param_device", "offload_param_nvme_path", "offload_optimizer_nvme_path",
)  # fmt: skip


class ContradictionBetweenFiles(Rule):
    code = "TRL404"
    triggers = ("deepspeed.initialize",)
    runs = True

    def check_call(self, site: Site) -> Iterator[Finding]:
        from trl_lint.checks.configs import _deepspeed_auto, _deepspeed_optimizer

        unfilled = tuple(_deepspeed_auto.unfilled(site)) if _deepspeed_auto.is_raw(site) else ()
        for found in unfilled:
            yield self.finding(
                site.module.location(site.call.func),
                f'`{found.key}` is "auto" in the config of this call: transformers and accelerate would fill it in, '
                "and DeepSpeed alone compares the word with a number (TypeError)",
                severity=Level(self, found.is_shown).severity,
                related=(found.place, *(() if found.used is None else (found.used,))),
            )
        if not unfilled:
            for one in _deepspeed_optimizer.without_optimizer(site):
                yield self.finding(site.module.location(site.call.func), one.message, related=(one.stage,))

    def check_run(self, run: Run) -> Iterator[Finding]:
        from trl_lint.checks.configs._release_refusals import refusals_in

        for found in contradictions_in(run, self):
            yield self.finding(found.location, found.message, severity=found.severity, related=found.related)
        for one in refusals_in(run, self):
            yield self.finding(one.location, one.message, severity=one.severity, related=one.related)
        if run.accelerate is not None:
            from trl_lint.checks.configs._accelerator_calls import against_files

            yield from against_files(run, self)
        yield from self._deepspeed_alone(run)
        yield from self._reference_model(run)
        if not is_compared(run):
            return
        chosen = run.choices[run.arguments_class.partition(".")[0]]
        yield from self._deepspeed_twice(run)
        yield from self._deepspeed_values(run, chosen)
        yield from self._checkpointing_twice(run, chosen)

    def _deepspeed_alone(self, run: Run) -> Iterator[Finding]:
        """A batch of `deepspeed.initialize` that the processes of the run cannot share."""
        if run.launch.program is None or run.launch.script_path is None:
            return
        from trl_lint.checks.configs._deepspeed_ranks import misfits

        for found in misfits(run):
            yield self.finding(
                found.location,
                found.message,
                severity=Level(self, run.launch.is_documentation).severity,
                related=(*found.related, *_where(run)),
            )

    def _reference_model(self, run: Run) -> Iterator[Finding]:
        """A scheduler of the DeepSpeed config that the engine of the reference model takes as it stands."""
        if run.deepspeed is None:
            return
        from trl_lint.checks.configs._deepspeed_reference import unscheduled

        for one in unscheduled(run, self):
            yield self.finding(one.location, one.message, severity=one.severity, related=one.related)

    def _deepspeed_values(self, run: Run, chosen: Choice) -> Iterator[Finding]:
        """A value of the DeepSpeed config that is not the one of the training arguments."""
        if run.deepspeed is None and run.accelerate is None:
            return
        from trl_lint.checks.configs._deepspeed_match import mismatches, said_about

        pairs = {release: {pair.key: pair for pair in mismatches(run, release)} for release in chosen.releases}
        for key in dict.fromkeys(key for found in pairs.values() for key in found):

            def differs(release: str, key: str = key) -> bool:
                return key in pairs[release]

            verdict = judge_releases(chosen, differs, Level(self, run.launch.is_documentation))
            if verdict is None:
                continue
            pair: Pair = pairs[verdict.version][key]
            assert pair.theirs.location is not None
            mine = said_about(pair)
            theirs = f'the text "{said}"' if isinstance(said := pair.theirs.value, str) else said
            yield self.finding(
                pair.theirs.location,
                f"the trainer stops, because `{pair.key}` is {theirs} and `{pair.field}` is {mine} in this run: make "
                'them equal, or write "auto"',
                severity=verdict.severity,
                related=(*_place(pair), *_where(run), *verdict.related),
            )

    def _deepspeed_twice(self, run: Run) -> Iterator[Finding]:
        """The accelerate config configures DeepSpeed, and the training arguments name another config for it."""
        config = run.configs.accelerate
        kind, named = config.given("distributed_type"), run.config.given("deepspeed")
        if not isinstance(kind, Setting) or kind.value != "DEEPSPEED" or not isinstance(named, Setting):
            return
        if not isinstance(named.value, str) or not named.value or named.location is None:
            return
        for name in _INLINE:
            inline = config.given(f"deepspeed_config.{name}")
            if isinstance(inline, Setting) and inline.location is not None:
                yield self.finding(
                    named.location,
                    "accelerate stops at two DeepSpeed configs: the training arguments name one, and the accelerate "
                    f"config has its own with `{name}`",
                    severity=Level(self, run.launch.is_documentation).severity,
                    related=(inline.location._replace(message="the other one"), *_where(run)),
                )
                return

    def _checkpointing_twice(self, run: Run, chosen: Choice) -> Iterator[Finding]:
        """FSDP and the trainer both checkpoint activations."""
        config = run.configs.accelerate
        kind, fsdp = config.given("distributed_type"), config.given("fsdp_config.fsdp_activation_checkpointing")
        if not isinstance(kind, Setting) or kind.value != "FSDP" or run.config.given("fsdp_config") is not ABSENT:
            return
        if not isinstance(fsdp, Setting) or fsdp.truth is not True or fsdp.location is None:
            return
        both = run.choices.newest(("trl", "transformers"))
        package = chosen.package.name

        def is_on(release: str) -> bool:
            said = run.config.at({**both, package: release}).final("gradient_checkpointing")
            return isinstance(said, Setting) and said.truth is True

        verdict = judge_releases(chosen, is_on, Level(self, run.launch.is_documentation))
        if verdict is None:
            return
        said = run.config.at({**both, package: verdict.version}).final("gradient_checkpointing")
        place = said.location if isinstance(said, Setting) else None
        how = "is on" if place is not None else "is on by default"
        yield self.finding(
            fsdp.location,
            f"the trainer stops: `fsdp_activation_checkpointing` is on, and `gradient_checkpointing` of the training "
            f"arguments {how}; switch one off ({verdict.scope})",
            severity=verdict.severity,
            related=(
                *(() if place is None else (place._replace(message="gradient_checkpointing = True"),)),
                *_where(run),
                *verdict.related,
            ),
        )


def _place(pair: Pair) -> tuple[Location, ...]:
    return tuple(
        setting.location._replace(message=f"{name} = {setting.value}")
        for name, setting in pair.ours
        if setting.location is not None
    )


def _where(run: Run) -> tuple[Location, ...]:
    return (run.launch.location._replace(message="the run"),) if run.launch.launcher else ()


rule = ContradictionBetweenFiles()
