"""Rows of `rules/semantics/later.toml` against the histories of the frameworks."""

import re

import pytest

from trl_lint.knowledge.command_keys import keys_of
from trl_lint.knowledge.condition_language import parse
from trl_lint.knowledge.condition_names import names_in
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.later_refusals import Later, later_conditions, later_refusals
from trl_lint.knowledge.ranges import holds

ROWS = later_refusals()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{next(iter(row.packages))} {row.packages}")
def test_a_row_is_about_keys_of_every_release_it_names(row: Later):
    assert parse(row.condition) is not None
    (package,) = row.packages
    known = [version for version in releases(package) if holds(row.packages[package], version)]
    assert known
    names = {name for name in names_in(row.condition) if "(" not in name and "." not in name}
    for version in known:
        keys = keys_of(package, row.command, version)
        assert keys is not None
        missing = names - keys.own - {"fsdp_version"}  # a key since axolotl 0.12; before, it is certainly absent
        assert not missing, (version, missing)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{next(iter(row.packages))} {row.packages}")
def test_the_evidence_is_of_a_release_in_the_range(row: Later):
    ((_, wanted),) = row.packages.items()
    tags = [found[1] for text in row.evidence if (found := re.search(r"/blob/v([^/]+)/", text))]
    assert tags and all(holds(wanted, tag) for tag in tags)


def test_only_the_releases_of_a_row_are_concerned():
    assert later_conditions("axolotl", "train", "0.12.2")
    assert not later_conditions("axolotl", "train", "0.13.2")
    assert not later_conditions("axolotl", "preprocess", "0.12.2")
