"""The tables of rules/configs: well formed, and in step with the histories of rules/api."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest

from trl_lint.knowledge import configs
from trl_lint.knowledge.api import config_keys, releases
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.releases import parse_specifier
from trl_lint.missing import Missing

NAMES = ("accelerate", "deepspeed")
ROWS = [pytest.param(name, row, id=f"{name}-{row.key}") for name in NAMES for row in configs.value_rows(name)]


def keys(name: str) -> set[str]:
    """Every key that any release has, in the spelling of rules/api."""
    found: set[str] = set()
    for version in releases(name):
        known = config_keys(name, name, version)
        assert not isinstance(known, Missing)
        found.update(known)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_evidence_is_given(name: str):
    evidence = getattr(configs, f"_{name}")().evidence
    assert evidence and all(urlsplit(url).scheme == "https" for url in evidence)


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_a_value_row_is_about_a_key_that_exists(name: str, row: configs.ValueRow):
    assert parse_specifier(row.releases) is not None and row.raises
    assert row.kind in ("enum", "list", "truth", "number", "size")
    assert bool(row.allowed) is (row.kind in ("list", "number"))
    block, _, option = row.key.rpartition(".")
    if name == "accelerate" and block:
        newest = releases(name)[-1]
        assert configs.takes_nested(block, option, newest) is True
    else:
        # What is below `checkpoint` is not in the table.
        assert row.key in keys(name) or block == "checkpoint"
    if row.enum:
        assert configs.members(row.enum, releases(name)[-1])


@pytest.mark.parametrize(
    ("value", "version", "wanted"),
    [
        ("MULTI_GPU", "1.15.0", True),
        ("multi_gpu", "1.15.0", False),
        ("TPU", "0.27.2", True),
        ("TPU", "0.28.0", False),
        ("XLA", "0.28.0", True),
        ("TP", "1.9.0", True),
        ("TP", "1.10.0", False),
        ("MULTI_NEURON", "1.12.0", False),
        ("MULTI_NEURON", "1.13.0", True),
        (False, "1.15.0", None),
        ("MULTI_GPU", "99.0", None),
    ],
)
def test_distributed_types_by_release(value: Any, version: str, wanted: bool | None):
    row = next(row for row in configs.value_rows("accelerate") if row.key == "distributed_type")
    assert configs.is_allowed(row, value, version) is wanted


@pytest.mark.parametrize(
    ("block", "key", "version", "wanted"),
    [
        ("fsdp_config", "fsdp_version", "1.5.2", False),
        ("fsdp_config", "fsdp_version", "1.6.0", True),
        ("fsdp_config", "version", "1.6.0", True),
        ("fsdp_config", "num_processes", "1.6.0", False),
        ("fsdp_config", "fsdp_ignored_modules", "1.9.0", False),
        ("fsdp_config", "fsdp_ignored_modules", "1.10.0", True),
        ("fsdp_config", "fsdp_backward_prefetch_policy", "0.34.2", True),
        ("fsdp_config", "fsdp_backward_prefetch_policy", "1.0.0", False),
        ("deepspeed_config", "zero_stage", "1.15.0", True),
        ("deepspeed_config", "train_micro_batch_size_per_gpu", "1.15.0", False),
        ("parallelism_config", "parallelism_config_tp_size", "1.10.0", True),
        ("parallelism_config", "parallelism_config_tp_size", "1.9.0", None),
        ("somebody's_config", "x", "1.15.0", None),
        ("fsdp_config", "fsdp_version", "99.0", None),
    ],
)
def test_keys_of_blocks_by_release(block: str, key: str, version: str, wanted: bool | None):
    assert configs.takes_nested(block, key, version) is wanted


def test_a_renamed_key_was_and_its_new_name_is():
    for row in configs.renamed_keys():
        old = [configs.takes_nested(row.block, row.old, version) for version in releases("accelerate")]
        assert True in old and old[-1] is False
        assert configs.takes_nested(row.block, row.new, releases("accelerate")[-1]) is True


def test_strict_blocks_have_their_keys_recorded():
    newest = releases("deepspeed")[-1]
    for block, specifier in configs.strict_blocks().items():
        assert configs.block_keys(block, newest), block
        first = next(version for version in releases("deepspeed") if holds(specifier, version))
        assert configs.block_keys(block, first), f"{block} in {first}"


def test_removed_keys_are_gone_from_the_table():
    newest = config_keys("deepspeed", "deepspeed", releases("deepspeed")[-1])
    assert not isinstance(newest, Missing)
    # `curriculum_learning` moved into data_efficiency.data_sampling; the table has names below blocks at the top.
    assert configs.removed_keys().keys() & newest.keys() == {"curriculum_learning"}
