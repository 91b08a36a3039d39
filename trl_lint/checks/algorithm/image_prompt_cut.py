"""TRL735: prompts with images are cut to `max_prompt_length`, which most images fill alone."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._run_models import named_models
from trl_lint.checks._trainer_rule import TrainerRule, also_at, first_found, said_at
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import judge_releases, level_in
from trl_lint.finding import Finding
from trl_lint.knowledge.models import family_of
from trl_lint.knowledge.ranges import holds
from trl_lint.python.module import mentions
from trl_lint.regexes import regex
from trl_lint.run.columns import columns_of
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall
from trl_lint.run.trainer.configs import field_in, is_said
from trl_lint.run.trainer.models import only

# Releases that take images and cut the prompt. Read in grpo_trainer.py of 0.20.0 to 0.25.1 (0.19.1 takes none, 0.26.0
# cuts nothing) and in rloo_trainer.py of 0.22.0 to 0.26.2 (the same of 0.21.0 and 0.27.0).
_CUTS = {"trl.GRPOTrainer": ">=0.20.0,<0.26.0", "trl.RLOOTrainer": ">=0.22.0,<0.27.0"}
_FIELD = "max_prompt_length"
# Who gives more than this has thought of the images.
_SHORT = 1024
# What makes images small, or takes them away.
_SHRINKS = regex(r"max_pixels|\bresize\(|thumbnail\(|longest_edge|size=\{|(?:remove|select)_columns\(")


class ImagePromptCut(TrainerRule):
    code = "TRL735"
    words = (b"GRPOTrainer", b"RLOOTrainer")
    needles = (b"image", b"Image", b"pixels")

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.trainer in _CUTS and call.own is None and not is_unsloth(call.module) and _has_large_images(call):
            yield from first_found(call, lambda run: self._in_run(call, run))

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        choices = call.environment.choices
        name = _vision_model(call, run)
        if "trl" not in choices or not name:
            return None

        def length_in(release: str) -> int | None:
            versions = {**choices.newest(("trl", "transformers")), "trl": release}
            length = field_in(call, _FIELD, run, versions)
            return length if isinstance(length, int) and 0 < length <= _SHORT else None

        def is_bad(release: str) -> bool:
            return holds(_CUTS[call.trainer], release) and length_in(release) is not None

        verdict = judge_releases(choices["trl"], is_bad, level_in(self, run))
        if verdict is None:
            return None
        said = only(call.field(_FIELD), run)
        usual = "" if said is not None and is_said(said, run) else ", its default,"
        message = (
            f"{name} takes images, and `{_FIELD}` {length_in(verdict.version)}{usual} cuts prompts whose images need "
            f"more tokens: the trainer stops with a ValueError; give `{_FIELD}=None` ({verdict.scope})"
        )
        place = call.location if said is None or not is_said(said, run) else said_at(call, said, run)
        related = (*also_at(call, place), *verdict.related)
        return self.finding(place, message, severity=verdict.severity, related=related)


def _has_large_images(call: TrainerCall) -> bool:
    """Whether the prompts may have images, and nothing in the script is there to keep them small."""
    lines = call.lines("train_dataset")
    modules = {call.module, *(made.frame.module for line in lines for made in line.steps)}
    if any(mentions(module, _SHRINKS) for module in modules):
        return False
    return not any(
        all(each.lacks(name) for name in ("image", "images")) for each in columns_of(call.given("train_dataset"))
    )


def _vision_model(call: TrainerCall, run: Run | None) -> str:
    """The id of the model that a trainer certainly gets, where that takes images; else ""."""
    names = set()
    for identifier, _ in named_models(call, run):
        family = family_of(identifier) if identifier else None
        names.add(identifier if family is not None and family.vision else "")
    return names.pop() if len(names) == 1 else ""


rule = ImagePromptCut()
