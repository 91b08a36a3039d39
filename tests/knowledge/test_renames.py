"""The tables about renamed and moved arguments agree with the histories."""

from __future__ import annotations

import pytest

from trl_lint.checks.drift._calls import HANDED_ON, accepts
from trl_lint.knowledge.api import resolve
from trl_lint.knowledge.histories import block, releases, text_of
from trl_lint.knowledge.renames import (
    Keyword,
    Move,
    Rename,
    home_of,
    is_same_value,
    keywords,
    move_of,
    moves,
    renamed_modules,
    renames,
)
from trl_lint.knowledge.signatures import read_method

NEWEST = {package: releases(package)[-1] for package in ("trl", "transformers", "accelerate", "peft")}


def announced(package: str, name: str, old: str) -> set[str]:
    """What classes and functions of a name, wherever they stand, announced for a parameter."""
    owner, _, method = name.partition(".")
    found = set()
    for line in text_of(package).splitlines():
        if not line.startswith(("class ", "def ")) or line.split(" ")[1].partition(":")[2] != owner:
            continue
        known = block(package, " ".join(line.split(" ")[:2]))
        assert known is not None
        if method:
            texts = [text for _, text in known.changes(f".{method}") if text.startswith("(")]
            found |= {p.successor for t in texts for n, p in read_method(t).parameters.items() if n == old}
        else:
            found |= {value.lstrip("?") for _, value in known.changes(f"!{old}")}
    return found


@pytest.mark.parametrize("row", renames(), ids=lambda row: f"{row.package}-{row.old}-{row.new}")
def test_every_rename_was_announced(row: Rename):
    assert row.evidence and row.why and row.of
    for name in row.of:
        assert row.new in announced(row.package, name, row.old), name


@pytest.mark.parametrize("row", moves(), ids=lambda row: row.trainer)
def test_moved_arguments_were_arguments_and_are_fields(row: Move):
    assert row.evidence
    for argument, fields in row.arguments.items():
        trainer, config = f"{row.package}.{row.trainer}", f"{row.package}.{row.config}"
        took = [v for v in releases("trl") if accepts(trainer, argument, {**NEWEST, "trl": v})]
        assert took, argument
        for field in fields:
            # The config had the field while the trainer still took the argument, or got it under its newer name.
            having = {v for v in releases("trl") if accepts(config, field, {**NEWEST, "trl": v})}
            assert having.intersection(took) or field != fields[-1], (argument, field)
            assert having, (argument, field)


@pytest.mark.parametrize("row", keywords(), ids=lambda row: f"{row.package}-{row.old}")
def test_keywords_that_are_handed_on(row: Keyword):
    assert row.evidence and row.why and row.of
    first, gone = row.deprecated.removeprefix(">="), row.gone.removeprefix(">=")
    versions = [url.partition("/blob/")[2].partition("/")[0].removeprefix("v") for url in row.evidence]
    assert first in versions and (not gone or gone in versions), "both ends were read"
    assert bool(row.value) == bool(row.becomes)
    assert row.old in HANDED_ON


def test_renamed_modules_hold_the_same_names():
    for row in renamed_modules():
        for name in row.names:
            had = [v for v in releases(row.package) if resolve(f"{row.old}.{name}", {row.package: v})]
            has = [v for v in releases(row.package) if resolve(f"{row.new}.{name}", {row.package: v})]
            assert had and has
            assert releases(row.package).index(has[0]) <= releases(row.package).index(had[-1]) + 1


def test_the_same_value():
    assert is_same_value("trl.SFTTrainer", "tokenizer", "processing_class")
    assert is_same_value("trl.GRPOConfig", "evaluation_strategy", "eval_strategy"), "a base announces it"
    assert is_same_value("transformers.Trainer.train", "model_path", "resume_from_checkpoint")


def test_not_the_same_value():
    assert not is_same_value("trl.RLOOConfig", "rloo_k", "num_generations"), "another trainer"
    assert not is_same_value("accelerate.Accelerator", "logging_dir", "project_dir"), "another folder"
    assert not is_same_value("trl.SFTTrainer", "tokenizer", "model"), "never announced"
    assert not is_same_value("vllm.lora.request.LoRARequest", "lora_local_path", "lora_path"), "nobody looked"


def test_moves():
    move = move_of("trl", "SFTTrainer", "max_seq_length")
    assert move is not None and move.arguments["max_seq_length"] == ("max_length", "max_seq_length")
    assert move_of("trl", "SFTTrainer", "tokenizer") is None
    assert home_of("trl.extras.vllm_client", "VLLMClient") == "trl.generation.vllm_client"
    assert home_of("trl.extras.vllm_client", "Other") == ""
