"""2,000 random tensor programs: where torch finds a tensor in the wrong place, and where trl-lint does."""

import sys
from pathlib import Path

import pytest
from documents import ROOT

from trl_lint.engine import check
from trl_lint.finding import Finding
from trl_lint.selection import Selection
from trl_lint.settings import Settings

sys.path.insert(0, str(Path(ROOT, "tests", "oracle")))

from tensor_programs import checksum, program
from tensor_verdicts import kept

CHECKSUM, VERDICTS = kept()


@pytest.fixture(scope="module", params=[5, pytest.param(1, marks=pytest.mark.slow)], ids=["a fifth", "all"])
def verdicts(request) -> dict[int, int]:
    """The line at which torch stops in each of these programs, 0 for none."""
    return dict(list(VERDICTS.items())[:: request.param])


@pytest.fixture(scope="module")
def found(verdicts, tmp_path_factory) -> dict[int, list[Finding]]:
    """What trl-lint finds in each program, by its number."""
    folder = tmp_path_factory.mktemp("programs")
    for number in verdicts:
        (folder / f"p{number}.py").write_text(program(number), encoding="utf-8")
    settings = Settings(str(folder), layers=[Selection(select=("TRL103", "TRL104", "TRL105"))])
    result = check([str(folder)], settings)
    assert not result.problems
    table: dict[int, list[Finding]] = {}
    for finding in result.findings:
        table.setdefault(int(Path(finding.location.path).stem[1:]), []).append(finding)
    return table


def test_the_programs_are_those_that_torch_has_seen():
    assert checksum(list(VERDICTS)) == CHECKSUM


def test_the_oracle_has_seen_both_verdicts():
    assert len(VERDICTS) == 2000
    assert 500 < sum(line > 0 for line in VERDICTS.values()) < 1000


def test_nothing_is_said_about_a_program_that_runs(found):
    assert [number for number in found if VERDICTS[number] == 0] == []


def test_nineteen_of_twenty_device_errors_are_found(found, verdicts):
    errors = [number for number, line in verdicts.items() if line]
    missed = [number for number in errors if number not in found]
    assert len(missed) <= 0.05 * len(errors), missed


def test_it_is_the_line_at_which_torch_stops(found):
    """Of a program with several faults torch names the first one; the analysis may see only another."""
    errors = [number for number in found if VERDICTS[number]]
    named = [number for number in errors if VERDICTS[number] in _lines(number, found[number])]
    assert len(named) >= 0.95 * len(errors), sorted(set(errors) - set(named))


def _lines(number: int, findings: list[Finding]) -> set[int]:
    text = program(number)
    places = [place for finding in findings for place in (finding.location, *finding.related)]
    return {text.count("\n", 0, place.start) + 1 for place in places}
