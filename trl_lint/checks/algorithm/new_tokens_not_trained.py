"""TRL724: tokens are added to a vocabulary, and LoRA leaves their rows of the embeddings as they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule, first_found, place_for, seen_at
from trl_lint.checks.algorithm._reward_models import adapter_config, is_by_hand, leaves_alone
from trl_lint.finding import Finding, Location
from trl_lint.knowledge.models import model_of
from trl_lint.python.guards import last_name
from trl_lint.python.module import mentions
from trl_lint.regexes import regex
from trl_lint.run.runs import Run
from trl_lint.run.trainer import Line, TrainerCall
from trl_lint.run.trainer.made import Change, Made
from trl_lint.run.trainer.models import is_handed_on, loader, only, possible_lines
from trl_lint.run.trainer.running import holds_in, value_in

# Parts of the names of embeddings and output layers: embed_tokens, wte, word_embeddings, embed_in, lm_head, embed_out.
_EMBEDDINGS = ("embed", "wte", "lm_head", "head", "score", "shared")
# Code that trains or fills the new rows by itself.
_BY_HAND = regex(
    r"\.requires_grad\b|requires_grad_\(|\bget_(?:input|output)_embeddings\b|embed_tokens\.weight|\bunsloth\b"
    r"|load_state_dict|PeftModel|AutoPeft|callbacks"
)


# Tokens that vocabularies come with, in one shape or another: <|im_start|>, <|vision_start|>, [INST], <start_of_turn>,
# <tool_call>, <think>, and words without brackets.
_COMMON = regex(
    r"\|>|\A\[|_of_|tool_|think>|\A</?s>\Z|unk|eos|bos|mask|image|\A[^<\[]|<(?:unused|extra|0x|reserved|fim)"
)


class NewTokensNotTrained(TrainerRule):
    code = "TRL724"
    words = (b"resize_token_embeddings",)
    needles = (b"add_tokens", b"add_special_tokens")

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if not call.trainer.startswith(("trl.", "transformers.")) or mentions(call.module, _BY_HAND):
            return
        yield from first_found(call, lambda run: self._in_run(call, run))

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        lines = possible_lines(call.lines("model"), run)
        if not lines:
            return None
        found = [_left_alone(line, call, run) for line in lines]
        first = found[0]
        if first is None or None in found:
            return None
        adapter, added = first
        message = (
            "LoRA trains neither the embeddings nor the output layer, so that the tokens which are added here keep the "
            "rows they were given: name their ids in `trainable_token_indices`, or the layers in `modules_to_save`"
        )
        related = (added._replace(message="the new tokens"), *seen_at(call, adapter, "the adapter"))
        return self.finding(place_for(call, adapter), message, related=related)


def _left_alone(line: Line, call: TrainerCall, run: Run | None) -> tuple[Made, Location] | None:
    """The adapter of a model whose vocabulary certainly grew, and the new tokens, where it leaves them alone."""
    added = next((found for change in line.changes if (found := _added_before(change, run)) is not None), None)
    if added is None:
        return None
    if is_handed_on(line.steps) or not _is_known(line, run) or is_by_hand(line, call, _BY_HAND):
        return None
    config = adapter_config(line, call, run)
    return (config, added) if config is not None and leaves_alone(config, _is_embedding, run) else None


def _is_known(line: Line, run: Run | None) -> bool:
    """Whether a model is one that people start from: another one may have been trained with the same tokens before."""
    load = loader(line)
    named = only(load.argument("pretrained_model_name_or_path", 0), run) if load is not None else None
    name = value_in(named, run) if named is not None else None
    return isinstance(name, str) and model_of(name) is not None


def _is_embedding(target: str) -> bool:
    return any(part in target for part in _EMBEDDINGS)


def _added_before(change: Change, run: Run | None) -> Location | None:
    """Where tokens are certainly added to the tokenizer that a model is resized for; None where they may not be."""
    if change.kind != "call" or not change.path.endswith("resize_token_embeddings") or not _is_sure(change, run):
        return None
    asked = change.value
    size = asked.args[0] if isinstance(asked, ast.Call) and asked.args else None
    if not isinstance(size, ast.Call) or last_name(size.func) != "len" or len(size.args) != 1:
        return None
    resolver = change.frame.resolver
    resolver.refill()
    tokenizer = only(resolver.options(size.args[0], change.frame), run)
    if tokenizer is None:
        return None
    return next((one.location for one in tokenizer.changes if _is_sure(one, run) and _adds_tokens(one)), None)


def _is_sure(change: Change, run: Run | None) -> bool:
    return not change.under or holds_in(change.under, run) is True


def _adds_tokens(change: Change) -> bool:
    """Whether a statement certainly adds tokens beside those for padding and the like, which are no part of answers."""
    call = change.value
    if change.kind != "call" or not isinstance(call, ast.Call) or not call.args:
        return False
    given = change.frame.resolver.options(call.args[0], change.frame)
    made = given[0] if len(given) == 1 else None
    if made is None:
        return False
    if change.path == "add_tokens":
        return _is_filled(made)
    if change.path != "add_special_tokens" or made.kind != "dict":
        return False
    extra = made.entry("additional_special_tokens")
    return len(extra) == 1 and _is_filled(extra[0])


def _is_filled(made: Made) -> bool:
    """Whether it is a list that is written down with something in it, or a text."""
    if made.kind == "list":
        return any(_is_new(one) for item in made.items() or () for one in item)
    return _is_new(made)


def _is_new(made: Made) -> bool:
    """Whether a token is written down, and none for padding or of those that models come with."""
    if made.kind != "literal" or not isinstance(made.value, str):
        return False
    return made.value != "" and "pad" not in made.value.lower() and _COMMON.search(made.value) is None


rule = NewTokensNotTrained()
