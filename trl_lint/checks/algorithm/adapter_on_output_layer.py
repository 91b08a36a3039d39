"""TRL734: LoRA is put on the output layer, whose weights the trainer reads past every adapter."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule, first_found, place_for, seen_at
from trl_lint.checks.algorithm._reward_models import adapter_config, is_left_out
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import Level, Verdict, judge_pins, judge_releases, level_in
from trl_lint.finding import Finding
from trl_lint.knowledge.architectures import always_adapted
from trl_lint.knowledge.models import family_of
from trl_lint.knowledge.ranges import holds
from trl_lint.run.runs import Run
from trl_lint.run.trainer import Line, TrainerCall, is_absent
from trl_lint.run.trainer.configs import field_in
from trl_lint.run.trainer.made import Made
from trl_lint.run.trainer.models import checkpoint, has_own_layers, is_name, loader, only, possible_lines
from trl_lint.run.trainer.running import value_in

# Each of them raises a ValueError: read in 1.14.2, where none does without Liger, 1.15.0 and 1.16.0.
_TRAINERS = frozenset({"trl.SFTTrainer", "trl.DPOTrainer", "trl.GRPOTrainer", "trl.KTOTrainer", "trl.RLOOTrainer"})
_REFUSES = ">=1.15.0"
# Before, those that multiply by the weights of the layer themselves, with Liger or in chunks, refuse an adapter on it.
# Read in 1.6.0, 1.7.0, 1.8.0, 1.9.0, 1.10.0 and 1.14.0; the loss in chunks is the default from 1.7.0 on.
_WITH_LIGER = {"trl.GRPOTrainer": ">=1.7.0", "trl.DPOTrainer": ">=1.8.0", "trl.KTOTrainer": ">=1.8.0"}
_IN_CHUNKS = ">=1.7.0"
# With Liger the model itself multiplies by the weights past the adapter, and SFT of earlier releases trains on:
# transformers patches a model with adapters, too, from 4.49.0 on (trainer.py of 4.48.3, 4.49.0 and 4.57.6,
# integrations/liger.py of 5.23.0), and the models below read `self.lm_head.weight` in Liger 0.3.0 to 0.8.0, Qwen3 from
# 0.5.10 on; of a layer with an adapter that is the base weight (peft 0.7.1 and 0.21.0, `BaseTunerLayer.weight`).
_PATCHED = {"trl": "<1.15.0", "transformers": ">=4.49.0"}
_OF_LIGER = {"gemma": "", "llama": "", "mistral": "", "mixtral": "", "phi3": "", "qwen2": "", "qwen3": ">=0.5.10"}
_OUTPUT = "lm_head"
# Layers beside which the output layer may have another name, in models of which the id tells nothing.
_OF_OTHERS = frozenset({"query_key_value", "embed_out", "output_layer"})
# With these the layer may be trained whole, or get no adapter.
_NARROWING = ("modules_to_save", "exclude_modules", "layers_to_transform")


class AdapterOnOutputLayer(TrainerRule):
    code = "TRL734"
    words = (b"LoraConfig",)
    needles = (b"lm_head",)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.trainer in _TRAINERS and call.own is None and not is_unsloth(call.module):
            yield from first_found(call, lambda run: self._in_run(call, run))

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        lines = possible_lines(call.lines("model"), run)
        if any(_may_be_named_otherwise(line, call, run) for line in lines):
            return None
        configs = [adapter_config(line, call, run) for line in lines]
        targets = [None if config is None else _on_output(config, run) for config in configs]
        target = targets[0] if targets and None not in targets else None
        if target is None:
            return None
        verdict = judge_pins(call.environment, {"trl": _REFUSES}, Level(self)) or self._before(call, run)
        does = "reads the weights of the output layer past any adapter and refuses one on it (ValueError)"
        if verdict is None:
            verdict = _untrained(call, run)
            does = "computes its loss with Liger, past the adapter on the output layer, which is never trained"
        if verdict is None:
            return None
        message = (
            f'this {call.name} {does}: leave "lm_head" out, or train all of it with '
            f'`modules_to_save=["lm_head"]` ({verdict.scope})'
        )
        related = (*seen_at(call, target, "the adapter"), *verdict.related)
        return self.finding(place_for(call, target), message, severity=verdict.severity, related=related)

    def _before(self, call: TrainerCall, run: Run | None) -> Verdict | None:
        """What releases say that refuse it for some losses only."""
        choices = call.environment.choices
        if "trl" not in choices:
            return None
        others = choices.newest(("trl", "transformers"))
        return judge_releases(
            choices["trl"], lambda release: _refuses(call, run, {**others, "trl": release}), level_in(self, run)
        )


def _untrained(call: TrainerCall, run: Run | None) -> Verdict | None:
    """What releases say that train on while Liger passes the adapter by."""
    lines = possible_lines(call.lines("model"), run)
    if not all(is_name(line.made) or has_own_layers(line) for line in lines):
        return None
    names = [value_in(made, run) for line in lines for made in checkpoint(line, call, run)]
    families = [family_of(name) if isinstance(name, str) else None for name in names]
    known = [_OF_LIGER.get(family.name) if family is not None else None for family in families]
    is_given = not is_absent(call.field("liger_kernel_config"))
    if call.trainer != "trl.SFTTrainer" or not known or None in known or is_given:
        return None
    versions = call.environment.choices.newest(("trl", "transformers"))
    if field_in(call, "use_liger_kernel", run, versions) is not True:
        return None
    liger = {"liger-kernel": max(map(str, known))} if any(known) else {}
    return judge_pins(call.environment, {**_PATCHED, **liger}, Level("warning"))


def _refuses(call: TrainerCall, run: Run | None, versions: dict[str, str]) -> bool:
    """Whether a release before 1.15.0 refuses the adapter for the loss that a trainer certainly computes."""
    liger = field_in(call, "use_liger_kernel", run, versions)
    if call.trainer == "trl.SFTTrainer":
        is_in_chunks = liger is False and field_in(call, "loss_type", run, versions) in (None, "chunked_nll")
        return is_in_chunks and holds(_IN_CHUNKS, versions["trl"])
    return liger is True and call.trainer in _WITH_LIGER and holds(_WITH_LIGER[call.trainer], versions["trl"])


def _may_be_named_otherwise(line: Line, call: TrainerCall, run: Run | None) -> bool:
    """Whether the output layer may have another name, as that of GPT-NeoX, `embed_out`: then nothing is on it."""
    load = loader(line)
    if load is not None and not load.origin.startswith("transformers.Auto"):
        return True
    names = [value_in(made, run) for made in checkpoint(line, call, run)]
    families = [family_of(name) if isinstance(name, str) else None for name in names]
    return any(family is not None and always_adapted(family.name, _OUTPUT) is False for family in families)


def _on_output(config: Made, run: Run | None) -> Made | None:
    """The `lm_head` among the targets of a LoRA config; None where it is not certain that it gets an adapter."""
    if not all(is_left_out(config, name, run) for name in _NARROWING):
        return None
    target = only(config.argument("target_modules"), run)
    if target is None or target.kind != "list" or target.changes:
        return None
    items = [item for item in (only(one, run) for one in target.items() or ()) if item is not None]
    values = {value_in(item, run): item for item in items}
    return values.get(_OUTPUT) if values.keys().isdisjoint(_OF_OTHERS) else None


rule = AdapterOnOutputLayer()
