"""The tables of conditions on the pages: what they count is there, and they are what `make docs` writes."""

from __future__ import annotations

import pytest

from trl_lint.knowledge.condition_tables import CODES, LEAD, rows_of, table, with_table
from trl_lint.knowledge.conditions import PACKAGES, conditions_of, recorded_releases
from trl_lint.knowledge.pages import page

LINES = [line.strip("| ").split(" | ") for line in table().splitlines()[2:]]


@pytest.mark.parametrize("code", CODES)
def test_the_pages_have_the_table_that_is_written_for_them(code: str):
    section = page(code).body.partition(LEAD)[2].partition("\n## ")[0]
    assert section.strip() == table().strip(), "run `make docs`"


def test_every_package_with_conditions_is_there():
    assert list(dict.fromkeys(line[0] for line in LINES)) == list(PACKAGES)


@pytest.mark.parametrize("line", [line for line in LINES if " others" not in line[1]], ids=lambda line: line[1])
def test_a_line_counts_what_the_releases_state(line: list[str]):
    package, names, releases, refuses, warns = line
    oldest, newest = releases.split(" to ")
    for version in (oldest, newest):
        assert any(conditions_of(package, name, version) for name in names.split(", ")), version
    before = recorded_releases(package)[: recorded_releases(package).index(oldest)]
    assert not any(conditions_of(package, name, version) for name in names.split(", ") for version in before)
    counted = {"refuse": int(refuses), "warn": int(warns)}
    for kind, number in counted.items():
        sentences = {
            one.sentence
            for name in names.split(", ")
            for one in conditions_of(package, name, recorded_releases(package)[-1])
            if one.kind.rpartition("-")[2] == kind
        }
        assert len(sentences) == number, kind


def test_nothing_is_left_out_of_the_sums():
    for package in PACKAGES:
        rows = rows_of(package)
        lines = [line for line in LINES if line[0] == package]
        assert sum(row.refuses for row in rows) == sum(int(line[3]) for line in lines)
        assert sum(row.warns for row in rows) == sum(int(line[4]) for line in lines)


def test_the_table_is_put_once_and_before_the_next_heading():
    text = "## Versions\n\nAll of them.\n\n## Example\n"
    once = with_table(text)
    assert with_table(once) == once
    assert once.startswith(f"## Versions\n\nAll of them.\n\n{LEAD}\n\n| package") and once.endswith("|\n\n## Example\n")
    with pytest.raises(ValueError, match="no section"):
        with_table("## Example\n")
