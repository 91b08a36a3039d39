"""The table of environment variables: complete entries, and nothing said about a release that nobody looked at."""

from __future__ import annotations

import re

import pytest

from trl_lint.checks.launch.stale_environment_variable import rule
from trl_lint.finding import SEVERITIES
from trl_lint.knowledge.releases import known_packages, parse_specifier
from trl_lint.knowledge.variables import (
    LISTED_PREFIXES,
    distance,
    entries,
    misspelt,
    no_longer_read,
    read_once,
    spellings,
    variables,
)

ENTRIES = [pytest.param(entry, id=f"{entry.name}-{entry.packages}-{entry.values}") for entry in variables()]


@pytest.mark.parametrize("entry", ENTRIES)
def test_entries(entry):
    assert entry.packages and entry.severity in SEVERITIES and entry.effect and entry.instead
    assert all(url.startswith("https://") for url in entry.evidence) and entry.evidence
    for package, specifier in entry.packages.items():
        assert package in known_packages()
        found = parse_specifier(specifier)
        assert found is not None and any(clause.operator == ">=" for clause in found)
    # An entry never says that the variable it recommends is itself stale.
    assert not entries(entry.rename)


def test_python_files_are_chosen_by_every_name():
    """A file that sets one of the variables, or misspells one, holds one of the rule's needles."""
    names = {entry.name for entry in variables()} | set(no_longer_read())
    assert all(any(needle in name.encode() for needle in rule.needles) for name in names)
    for spelling in spellings():
        assert any(needle in spelling.name.encode() for needle in rule.needles)
    assert all(
        any(needle in name.encode() for name in names | {s.name for s in spellings()} | set(read_once()))
        for needle in rule.needles
    )


@pytest.mark.parametrize(
    "name", ["CUDA_VISIBLE_DEVICE", "CUDA_VISABLE_DEVICES", "CUDA_VISIBLEDEVICES", "PYTORCH_CUDA_ALOC_CONF"]
)
def test_misspelt(name):
    assert misspelt(name) is not None


@pytest.mark.parametrize(
    "name",
    [
        "CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES_2", "CUDA_VISIBLE_DEVICES1", "MUSA_VISIBLE_DEVICES", "CUDA_HOME",
        "ROCR_VISIBLE_DEVICES", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_NPU_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "",
    ],
)  # fmt: skip
def test_real_names(name):
    assert misspelt(name) is None


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("", "", 0), ("abc", "abc", 0), ("abc", "abd", 1), ("abc", "ac", 1), ("a", "xyz", 3)],
)
def test_distance(first, second, expected):
    assert distance(first, second, 2) == distance(second, first, 2) == expected


@pytest.mark.parametrize("name", ["VLLM_ATTENTION_BACKEND", "VLLM_USE_V1"])
def test_what_is_written_by_hand_is_what_the_list_says(name):
    """The newest entry of a variable of vLLM begins with the release that the list names."""
    assert no_longer_read()[name].packages in [entry.packages for entry in variables() if entry.name == name]


def test_lists():
    assert len(no_longer_read()) >= 119 and all(name.startswith(LISTED_PREFIXES) for name in no_longer_read())
    assert entries("VLLM_FLASH_ATTN_VERSION")[0].packages == {"vllm": ">=0.15.0"}
    assert not entries("VLLM_LOGGING_LEVEL") and not entries("VLLM_MY_OWN")


def test_the_page_lists_every_variable():
    assert all(re.search(rf"`{entry.name}", rule.page.body) for entry in variables())
