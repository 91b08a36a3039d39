"""The families of inputs by which growth is measured, and what counts as too much."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks import growth_laws
from benchmarks.growth_laws import Growth, as_data, measure, table
from benchmarks.laws import Law, every_law

RESULTS = Path(growth_laws.__file__).parent / "results" / "growth_laws.json"


def test_every_family_grows_with_its_size():
    laws = every_law()
    assert len(laws) >= 60 and len({one.name for one in laws}) == len(laws)
    for one in laws:
        small, large = one.files(1), one.files(max(2, one.largest // 16))
        least, more = (sum(len(name) + len(text) for name, text in files.items()) for files in (small, large))
        assert 0 < least < more, one.name


def test_a_family_is_measured_in_processes_of_its_own():
    found = measure(Law("lines", 32, lambda count: {"a.py": "x = 1\n" * count}), 1)
    assert list(found.seconds) == [2, 8, 32] and found.start > 0
    assert not found.problem, as_data([found])


def test_a_run_that_fails_is_a_problem():
    found = measure(Law("nothing", 32, lambda count: {"a.py": ""}, ("no-such-folder",)), 1)
    assert found.problem == "status 2 at 2" and not found.is_held


def test_what_grows_too_fast_or_takes_too_long_is_named():
    fine = Growth("fine", 0.1, {10: 0.1, 160: 1.6}, 1.0)
    square = Growth("square", 0.1, {10: 0.01, 160: 2.5}, 2.0)
    slow = Growth("slow", 0.1, {10: 0.4, 160: 6.4}, 1.0)
    assert [one.is_held for one in (fine, square, slow)] == [True, False, False]
    text = table([fine, square, slow])
    assert text.count("**too much**") == 2 and text.index("| slow") < text.index("| square") < text.index("| fine")
    assert text.endswith("3 families, 2 not held.")


def test_what_was_measured_last_is_held():
    kept = json.loads(RESULTS.read_text("utf-8"))
    assert {one["name"] for one in kept["laws"]} == {one.name for one in every_law()}
    assert [one["name"] for one in kept["laws"] if one["exponent"] > 1.2 or one["problem"]] == []
