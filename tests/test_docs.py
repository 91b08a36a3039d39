"""The user guide shows what the tool really prints, and its links lead somewhere."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import documents
import picture
import pytest
import tomli
from documents import ROOT, blocks, executed, headings, pages, translations, with_known, with_settings

from trl_lint import settings
from trl_lint.knowledge.conditions import recorded_releases
from trl_lint.knowledge.pages import HOME, all_pages
from trl_lint.knowledge.refresher.conditions_coverage import statements
from trl_lint.knowledge.tables import with_tables
from trl_lint.options import SETTINGS

PAGES = [pytest.param(path, id=path.relative_to(ROOT).as_posix()) for path in pages()]
TRANSLATED = [pytest.param(path, id=path.relative_to(ROOT).as_posix()) for path, _ in translations()]
LINK = re.compile(r"\]\(([^)\s]+)\)")
OWN = f"{HOME}/blob/main/"  # README.md is also shown by the index, where relative links lead nowhere


@pytest.mark.parametrize("path", [p for p in PAGES if "```console\n" in p.values[0].read_text("utf-8")])
def test_transcripts_are_true(path: Path):
    """`make docs` rewrites them."""
    text = path.read_text("utf-8")
    assert executed(text) == text


def test_no_page_is_rewritten_where_the_tool_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """A rule that is being written and raises, or a malformed table, must not become what README.md shows."""
    fine, broken = tmp_path / "fine.md", tmp_path / "shown.md"
    fine.write_text("```console\n$ trl-lint a.py\nold\n```\n", "utf-8")
    broken.write_text("```console\n$ trl-lint b.py\nold\n```\n", "utf-8")
    answers = {"a.py": "new\n", "b.py": "b.py:1:1: TRL003 error: rule TRL101 failed\n"}

    def run(command: str, **options: object) -> SimpleNamespace:
        return SimpleNamespace(stdout=answers[command.split()[1]])

    monkeypatch.setattr(documents.subprocess, "run", run)
    monkeypatch.setattr(documents, "ROOT", tmp_path)
    monkeypatch.setattr(documents, "pages", lambda: [fine, broken])
    assert documents.main() == 1
    assert "`trl-lint b.py` fails" in capsys.readouterr().err
    assert "old" in fine.read_text("utf-8") and "old" in broken.read_text("utf-8")
    answers["b.py"] = "new\n"
    assert documents.main() == 0
    assert "new" in fine.read_text("utf-8") and "new" in broken.read_text("utf-8")


@pytest.mark.parametrize("path", [*PAGES, *(one for one in TRANSLATED if "zh/" in str(one.id))])
def test_links_lead_somewhere(path: Path):
    text = path.read_text("utf-8")
    for block in reversed(blocks(text)):
        text = text[: block.start] + text[block.end :]
    for target in LINK.findall(text):
        is_own = target.startswith(OWN)
        if "://" in target and not is_own:
            continue
        assert is_own or path.name != "README.md", target
        name, _, anchor = target.removeprefix(OWN).partition("#")
        linked = ((ROOT if is_own else path.parent) / name) if name else path
        assert linked.exists(), target
        if anchor:
            page = linked.read_text("utf-8")
            titles = [title for level in (1, 2, 3) for title in headings(page, level)]
            assert anchor in {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}, target


def test_settings_page_names_every_setting_and_no_other(tmp_path: Path):
    """`make docs` rewrites it."""
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    assert with_settings(page) == page
    example = next(b for b in blocks(page) if b.language == "toml")
    (tmp_path / "pyproject.toml").write_text(example.content, "utf-8")
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "trl-lint.toml").write_text("", "utf-8")
    (tmp_path / "ml-advisories.toml").write_text("", "utf-8")
    settings.load(str(tmp_path / "pyproject.toml"))
    assert set(tomli.loads(example.content)["tool"]["trl-lint"]) == set(SETTINGS)


def test_readme_names_the_releases_that_are_known():
    """`make docs` rewrites it; README.md stays a page of little more than one screen, with its picture."""
    page = (ROOT / "README.md").read_text("utf-8")
    assert with_known(page) == page
    assert len(page.split()) < 420
    assert picture.drawn(picture.printed()) == picture.PICTURE.read_text("utf-8"), "`make docs` draws it"


def test_readme_claims_no_figure_that_is_not_recorded():
    """How fast and how right it is stands on pages that tests compare with results: benchmarks and evidence."""
    text = (ROOT / "README.md").read_text("utf-8")
    assert not re.search(r"\d\s?(?:%|×|x\b|ms\b|s\b|seconds|minutes|times|rules|findings|projects)", text)
    for page in ("benchmarks", "evidence"):
        assert f"docs/{page}.md)" in text


def test_rule_tables_are_fresh():
    """`make docs` rewrites them."""
    text = (ROOT / "docs" / "rules.md").read_text("utf-8")
    assert with_tables(text, all_pages()) == text


ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([\w./-]+(?:\.py|/))`", ARCHITECTURE))))
def test_every_place_on_the_architecture_page_exists(name: str):
    assert (ROOT / name).exists() or (ROOT / "trl_lint" / name).exists()


@pytest.mark.parametrize("name", sorted(set(re.findall(r'\["(\w+/\w*)', ARCHITECTURE))))
def test_every_room_in_the_picture_exists(name: str):
    places = [ROOT / name, ROOT / "trl_lint" / name, ROOT / "trl_lint" / f"{name}.py"]
    assert any(place.exists() for place in places)


def test_architecture_page_names_every_folder():
    folders = {path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "trl_lint").glob("*/**/*.py")}
    assert {name for name in folders if f"`{name}/`" not in ARCHITECTURE} == set()


@pytest.mark.parametrize("reading", [0, 1, 2, 3, 4])
def test_validation_counts_are_those_of_the_verdicts(reading: int):
    readings = (ROOT / "benchmarks" / "fresh-labels.txt").read_text("utf-8").split("\n\n")
    rows = [line.split(" | ") for line in readings[reading].splitlines() if not line.startswith("#")]
    told = Counter((row[3], row[4]) for row in rows)
    page = (ROOT / "docs" / "validation.md").read_text("utf-8")
    table = re.findall(r"^\| (error|warning|info) \| \d+ \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", page, re.MULTILINE)
    assert len(table) == 3 * len(readings)
    for level, read, *verdicts in table[3 * reading : 3 * reading + 3]:
        counts = [told[level, verdict] for verdict in ("true", "debatable", "false")]
        assert list(map(int, verdicts)) == counts and int(read) == sum(counts)


def test_counts_of_what_releases_refuse_are_those_that_are_recorded():
    """The table of configs and trainers, and that of the other packages; columns are told by their heads."""
    page = (ROOT / "docs" / "validation.md").read_text("utf-8")
    kinds = ("construct refuse", "construct warn", "trainer refuse", "trainer warn")
    cell = r"(\d+): (\d+) \+ (\d+)"
    of_trl = re.findall(rf"^\| (\w+) ([\d.]+) \| {cell} \| {cell} \| {cell} \| {cell} \|$", page, re.MULTILINE)
    others = re.findall(r"^\| (\w+) ([\d.]+) \| (\d+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    assert len(of_trl) == 13 and len(others) == 17
    for package, version, *numbers in of_trl:
        counts = statements(package, version, recorded_releases(package))
        told = [number for kind in kinds for number in counts.get(kind, (0, 0, 0))]
        assert list(map(int, numbers)) == told, (package, version)
    for package, version, *numbers in others:
        counts = statements(package, version, recorded_releases(package))
        assert tuple(map(int, numbers)) == counts["construct refuse"], (package, version)
