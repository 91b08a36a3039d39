"""Every declared range is enforced: one release outside of it is told, the nearest inside is not.

The rows are those of the histories; `tests/knowledge/test_declared_requirements.py` compares these with tables that
were copied by hand.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.version import Version

from trl_lint.checks.pins import known_bad_release, outside_supported_range, unsatisfiable_pins
from trl_lint.finding import Finding
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.releases import allowed, installable, known_packages, parse_version
from trl_lint.knowledge.requirements import providers, requirement, requirements_of
from trl_lint.project import Project
from trl_lint.project.manifests.reader import read_manifest
from trl_lint.project.stack import PACKAGES
from trl_lint.settings import Settings
from trl_lint.sources import Files

RANGE_RULES = (outside_supported_range.rule, unsatisfiable_pins.rule)
PYTHON = ">=3.10,<3.13"  # every marker of these packages is settled there
EXTRAS = {"vllm": "vllm", "peft": "peft", "deepspeed": "deepspeed", "liger-kernel": "liger"}


class Row(NamedTuple):
    package: str
    version: str
    dependency: str
    extra: str
    specifier: str


@cache
def rows(package: str) -> tuple[Row, ...]:
    """What each recorded release of a package requires of packages with a list of releases."""
    found = []
    for text in releases(package):
        version = parse_version(text)
        assert version is not None
        for dependency in sorted(requirements_of(package) & set(known_packages())):
            extra = EXTRAS.get(dependency, "") if package in ("trl", "verl", "openrlhf") else ""
            needed = requirement(package, version, dependency, frozenset(filter(None, [extra])), PYTHON)
            if needed is not None and needed.is_binding and needed.specifier:
                found.append(Row(package, text, dependency, needed.extra, needed.specifier))
    return tuple(found)


@cache
def distinct(package: str) -> tuple[Row, ...]:
    """The first and the last release of each range."""
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows(package):
        found.setdefault((row.dependency, row.extra, row.specifier), []).append(row)
    return tuple(row for same in found.values() for row in dict.fromkeys((same[0], same[-1])))


def outside(row: Row) -> list[Version]:
    """The releases next to the range, below and above it."""
    inside = set(allowed(row.dependency, row.specifier) or ())
    known = installable(row.dependency)
    places = [number for number, version in enumerate(known) if version in inside]
    if not places:
        return []
    return [known[number] for number in (places[0] - 1, places[-1] + 1) if 0 <= number < len(known)]


def check(folder: Path, row: Row, version: Version, rules: tuple[object, ...]) -> list[Finding]:
    extra = f"[{row.extra}]" if row.extra else ""
    pins = f'"{row.package}{extra}=={row.version}", "{row.dependency}=={version}"'
    path = folder / "pyproject.toml"
    path.write_text(f'[project]\nname = "x"\nversion = "1"\nrequires-python = "{PYTHON}"\ndependencies = [{pins}]\n')
    project = Project(str(folder), Files(), Settings(str(folder)))
    manifest = read_manifest(project.files.get(str(path)), project.files)
    assert manifest is not None and len(manifest.pins) == 2
    return [finding for rule in rules for finding in rule.check_manifest(manifest, project)]  # type: ignore[attr-defined]


CASES = [
    pytest.param([row for row in distinct(package) if row.dependency == dependency], id=f"{package}-{dependency}")
    for package in providers()
    for dependency in sorted({row.dependency for row in distinct(package)})
]
# Every sixth range of two packages, the first of them always; or all.
STEPS = [6, pytest.param(1, marks=pytest.mark.slow)]


def test_every_release_has_rows():
    assert {row.version for row in rows("trl")} == set(releases("trl"))
    assert len(distinct("trl")) > 90
    # Of some the Python alone is recorded that they are for.
    assert {row.package for package in providers() for row in distinct(package)} >= set(PACKAGES)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("declared", CASES)
def test_the_release_beside_a_range_is_told(declared: list[Row], step: int, tmp_path: Path):
    for row in declared[::step]:
        for version in outside(row):
            findings = check(tmp_path, row, version, (*RANGE_RULES, known_bad_release.rule))
            assert any(str(version) in finding.message for finding in findings), (row, version)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("declared", CASES)
def test_releases_inside_of_a_range_are_left_alone(declared: list[Row], step: int, tmp_path: Path):
    for row in declared[::step]:
        inside = allowed(row.dependency, row.specifier) or ()
        for version in {*inside[:1], *inside[-1:]}:
            told = check(tmp_path, row, version, RANGE_RULES)
            # What a third package says about the two is not about this range.
            direct = rf"{row.package} {row.version}( with its extra \S+)? requires {row.dependency}\S*, and the pin"
            assert not [f for f in told if re.search(direct, f.message)], (row, version)
            assert not [f for f in told if "is outside of it" in f.message], (row, version)
