"""What changed in a release, as the site tells it: against what the archives of two releases hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from website.change_pages import TITLES, change_pages
from website.changes import changes, refusals

RELEASED = json.loads((Path(__file__).parent / "changes.json").read_text("utf-8"))


@pytest.mark.parametrize("release", ["0.18.0", "1.16.0"])
def test_changes_are_those_of_the_archives(release: str):
    told = [(each, each.owner.rpartition(":")[2]) for each in changes("trl")[release]]
    fields = [(each, name) for each, name in told if each.kind == "argument" and name.endswith("Config")]
    fields = [(each, name) for each, name in fields if each.owner.startswith("trl.trainer.")]
    assert (
        sorted(f"{name}.{each.name}={each.after}" for each, name in fields if each.before is None)
        == (RELEASED[release]["came"])
    )
    assert sorted(f"{name}.{each.name}" for each, name in fields if each.after is None) == RELEASED[release]["went"]
    moved = [(each, name) for each, name in fields if None not in (each.before, each.after)]
    assert (
        sorted(f"{name}.{each.name}: {each.before} -> {each.after}" for each, name in moved)
        == (RELEASED[release]["changed"])
    )
    root = [each for each, _ in told if each.kind == "name" and each.owner == "trl"]
    assert sorted(f"{'+' if each.after else '-'}{each.name}" for each in root) == RELEASED[release]["names"]


def test_what_a_field_that_went_was_replaced_by_is_told():
    notes = {each.name: each.note for each in changes("trl")["0.18.0"] if each.after is None}
    assert notes["use_liger"] == "use `use_liger_kernel`"
    assert "vllm-serve" in notes["vllm_device"]
    effects = {each.name: each.note for each in changes("trl")["0.18.0"] if each.after is not None}
    assert effects["temperature"] == "completions vary more"


def test_what_is_refused_is_told():
    assert any("nn.DataParallel" in line for line in refusals("trl", "1.16.0"))
    assert refusals("trl", "0.0.1") == []


def test_every_package_has_pages_and_each_stands_in_the_list():
    pages = {page.path: page.text for page in change_pages()}
    rows = pages.pop("changes/index.md")
    for package in TITLES:
        assert len([path for path in pages if path.startswith(f"changes/{package}-")]) >= 10
    assert all(f"({path.removeprefix('changes/')})" in rows for path in pages)
    assert "### Defaults that changed" in pages["changes/trl-1.16.md"]
    for text in pages.values():
        for row in (line for line in text.splitlines() if line.startswith("| `")):
            assert row.replace("\\|", "").count("|") in (4, 6), row
