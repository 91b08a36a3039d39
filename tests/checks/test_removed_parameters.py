"""TRL301 knows every parameter that went: it fires at the release that has it no more, and not at the one before."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from trl_lint.engine import check
from trl_lint.finding import Finding
from trl_lint.knowledge.api import config_keys
from trl_lint.knowledge.histories import positions, releases
from trl_lint.knowledge.remedies import remedy_of_argument
from trl_lint.selection import Selection
from trl_lint.settings import Settings

ROWS = Path(__file__).with_name("removed_parameters.txt")
_SUCCESSOR = re.compile(r": use `(\w+)`")


class Removed(NamedTuple):
    """A parameter that a release of a package has no more; `successor` is "" where none was announced."""

    release: str
    dotted: str
    parameter: str
    successor: str

    @property
    def package(self) -> str:
        return self.dotted.partition(".")[0]

    @property
    def before(self) -> str:
        """The release before, which still had it."""
        return releases(self.package)[positions(self.package)[self.release] - 1]

    @property
    def id(self) -> str:
        return f"{self.release}-{self.dotted}-{self.parameter}"


Place = tuple[str, str, str, str]
"""Package, release, class, parameter."""


def rows() -> Iterator[Removed]:
    for line in ROWS.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            head, _, parameters = line.partition(": ")
            release, dotted = head.split()
            for each in parameters.split(", "):
                parameter, _, successor = each.partition(" -> ")
                yield Removed(release, dotted, parameter, successor)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[Place, Finding]:
    """What TRL301 says about every row at both releases: one project a release, one call a line, one run for all."""
    places: dict[tuple[str, str], dict[Place, None]] = defaultdict(dict)
    for row in rows():
        for release in (row.release, row.before):
            places[row.package, release][row.package, release, row.dotted, row.parameter] = None
    root = tmp_path_factory.mktemp("releases")
    lines = {}
    for (package, release), calls in places.items():
        script = root / f"{package}-{release}" / "train.py"
        write_project(script, f"{package}=={release}", calls)
        lines[str(script)] = list(calls)
    found = check([str(root)], Settings(str(root), layers=[Selection(("TRL301",))]))
    assert not found.problems
    return {lines[f.location.path][line_of(f) - first_line(f)]: f for f in found.findings}


def write_project(script: Path, pin: str, calls: Iterable[Place]) -> None:
    script.parent.mkdir()
    (script.parent / "trl-lint.toml").touch()  # a project of its own
    (script.parent / "requirements.txt").write_text(pin)
    modules = sorted({dotted.rpartition(".")[0] for _, _, dotted, _ in calls})
    text = [f"import {module}" for module in modules]
    text += [f"{dotted}(*given, {parameter}=value)" for _, _, dotted, parameter in calls]
    script.write_text("\n".join(text))


def line_of(finding: Finding) -> int:
    return Path(finding.location.path).read_text("utf-8").count("\n", 0, finding.location.start)


def first_line(finding: Finding) -> int:
    """The number of the first line that is no import."""
    return Path(finding.location.path).read_text("utf-8").count("import ")


@pytest.mark.parametrize("row", list(rows()), ids=lambda row: row.id)
def test_removed_parameter_is_found_from_the_release_on_that_lacks_it(told: dict[Place, Finding], row: Removed):
    finding = told.get((row.package, row.release, row.dotted, row.parameter))
    assert finding is not None, f"silent with {row.package}=={row.release}"
    assert finding.severity == "error"
    newest = {package: releases(package)[-1] for package in ("trl", "transformers", "accelerate", "vllm")}
    recorded = remedy_of_argument(row.dotted, row.parameter, {**newest, row.package: row.release})
    named = _SUCCESSOR.search(finding.message)
    if recorded:
        assert f": {recorded} (" in finding.message
    else:
        assert (named[1] if named else "") == row.successor, finding.message
    before = told.get((row.package, row.before, row.dotted, row.parameter))
    assert before is None, f"with {row.package}=={row.before}: {before and before.message}"


def test_each_row_stands_once():
    names = [row.id for row in rows()]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize(
    ("key", "gone"),
    [
        ("zero_optimization.mics_shard_size", "0.19.7"),
        ("zero_optimization.mics_hierarchical_params_gather", "0.19.7"),
        ("zero_optimization.zeropp_loco_param", "0.19.8"),
    ],
)
def test_removed_keys_of_deepspeed(key: str, gone: str):
    """DeepSpeed's classes are only ever filled from its JSON, so it is the keys that went."""
    before = releases("deepspeed")[positions("deepspeed")[gone] - 1]
    assert key in config_keys("deepspeed", "deepspeed", before)
    assert key not in config_keys("deepspeed", "deepspeed", gone)
