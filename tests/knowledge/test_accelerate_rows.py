"""The rows about accelerate's config that are written by hand, against what its releases state in their own code."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.oracle_worlds import Given
from trl_lint.checks.configs._accelerate_stated import stated_contradictions, stated_values
from trl_lint.knowledge.condition_language import truth_of
from trl_lint.knowledge.conditions import conditions_of, recorded_releases
from trl_lint.knowledge.configs import ValueRow, is_allowed, value_rows
from trl_lint.project import Project
from trl_lint.settings import Settings
from trl_lint.sources import Files

ROWS = {row.key: row for row in value_rows("accelerate")}
# What the releases state of two keys in a class of their own: the class, its field, and a part of the sentence.
STATED = {
    "distributed_type": ("ClusterConfig", "distributed_type", "a valid DistributedType"),
    "dynamo_config.dynamo_backend": ("TorchDynamoPlugin", "backend", "a valid DynamoBackend"),
}


@pytest.mark.parametrize("key", STATED)
def test_words_of_a_row_are_those_of_every_release(key: str) -> None:
    name, field, sentence = STATED[key]
    compared = 0
    for version in recorded_releases("accelerate"):
        stated = [each for each in conditions_of("accelerate", name, version) if sentence in each.sentence]
        words = ROWS[key].values(version)
        if not stated or words is None:
            continue
        for word in (*words, "BOGUS"):
            given = {field: word, "compute_environment": "LOCAL_MACHINE"}
            world = Given(f"accelerate.{name}", {"accelerate": version}, given)
            refuses = any(truth_of(each.condition, world) is True for each in stated)
            assert refuses is (is_allowed(ROWS[key], word, version) is False), (version, word)
        compared += 1
    assert compared > 25


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_no_row_says_what_a_release_states_of_its_block(row: ValueRow, tmp_path: Path) -> None:
    """A value that nobody takes, in the block of the row."""
    block, _, key = row.key.rpartition(".")
    kind = "DEEPSPEED" if row.when == "DEEPSPEED" else "FSDP"
    for version in (1, 2):
        text = f"distributed_type: {kind}\nnum_processes: 2\nfsdp_config:\n  fsdp_version: {version}\n"
        if block == "fsdp_config":
            text = text.replace(f"  {key}: {version}\n", "") + f"  {key}: no-such-value\n"
        else:
            text += f"{block}:\n  {key}: no-such-value\n" if block else ""
        path = tmp_path / "config.yaml"
        path.write_text(text)
        document = Project(str(tmp_path), Files(), Settings(str(tmp_path))).document_in(str(path))
        assert document is not None and document.kind == "accelerate"
        found = [*stated_values(document), *stated_contradictions(document)]
        assert [each.message for each in found] == []


def test_what_a_release_states_is_told_from_it_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("distributed_type: FSDP\nnum_processes: 2\nfsdp_config:\n  fsdp_use_orig_params: perhaps\n")
    document = Project(str(tmp_path), Files(), Settings(str(tmp_path))).document_in(str(path))
    assert document is not None
    (one,) = stated_values(document)
    assert "`fsdp_use_orig_params` is perhaps" in one.message and one.message.endswith(": use true or false")
    assert one.is_fine("0.22.0") and not one.is_fine("0.24.0") and not one.is_fine("1.15.0")
    assert one.is_fine("99.0") is None
