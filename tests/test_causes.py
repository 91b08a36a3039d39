"""One cause is said once: entries, groups, keys, and what the formats for people make of them."""

from __future__ import annotations

import io

import pytest
from samples import Project, text_of

from trl_lint.causes import cause_keys, entries_of, groups_of, most_rest_on
from trl_lint.finding import Finding, Location, OpenPin, Severity
from trl_lint.reports import summary, write

PIN = OpenPin("trl", ">=0.19.1", Location("/p/setup.py", 1, 5), "0.20.0", "1.16.0", False)


def found(
    message: str,
    line: int = 1,
    path: str = "/p/a.py",
    code: str = "TRL301",
    level: Severity = "warning",
    **more: object,
) -> Finding:
    start = 10 * line
    return Finding(code, message, Location(path, start, start + 1), level, **more)  # type: ignore[arg-type]


def sizes(*findings: Finding) -> list[int]:
    return [len(entry.findings) for entry in entries_of(findings)]


# -- entries ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("no argument `a` in trl 1.0", "no argument `b` in trl 1.0"),
        ("no argument `a`", "no argument `a`"),
        ("it is set in train.py:12", "it is set in other.py:7"),
        ("it is set here (conf/a.yaml:3:2)", "it is set here (conf/b.yaml:30:1)"),
    ],
)
def test_messages_that_differ_in_names_and_places_are_one_entry(one: str, other: str) -> None:
    assert sizes(found(one), found(other, 2)) == [2]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (found("no argument `a` in trl 1.0"), found("no argument `a` in trl 1.1")),
        (found("x"), found("x", code="TRL302")),
        (found("x"), found("x", level="error")),
        (found("x", pin=PIN), found("x")),
        (found("ratio 1:2"), found("ratio 1:3")),
    ],
)
def test_what_says_something_else_is_an_entry_of_its_own(one: Finding, other: Finding) -> None:
    assert sizes(one, other) == [1, 1]


def test_the_parts_of_one_whole_are_one_entry() -> None:
    call, other = Location("/p/a.py", 5, 50), Location("/p/b.py", 5, 50)
    parts = [found("`a` went in 0.9; use `b`", 1, part_of=call), found("`c` went in 0.12", 2, part_of=call)]
    assert sizes(*parts) == [2]
    twins = [part._replace(part_of=other) for part in parts]
    assert sizes(*parts, *twins) == [4], "two calls with the same gone keywords are one cause"
    assert sizes(*parts, found("`d` went in 0.7", 3, part_of=other)) == [2, 1]


def test_what_one_call_lost_through_two_pins_is_bounded_apart() -> None:
    other = PIN._replace(package="transformers", location=Location("/p/setup.py", 9, 12), oldest="5.0.0")
    whole = Location("/p/a.py", 1, 9)
    groups = groups_of(
        entries_of(
            [
                found("no `a`", 1, part_of=whole, pin=PIN),
                found("no `b`", 2, part_of=whole, pin=other),
                found("no `c` now", 3, pin=other),
                found("no `d` at all", 4, pin=PIN),
            ]
        )
    )
    ways_out = {group.pin.package: group.way_out for group in groups if group.pin}
    assert ways_out == {"trl": ">=0.19.1,<0.20.0", "transformers": ">=0.19.1,<5.0.0"}


def test_names_are_told_where_they_differ() -> None:
    (entry,) = entries_of([found(f"no argument `{name}`", n) for n, name in enumerate("abcab")])
    assert entry.names() == ["`b`", "`c`"]
    (same,) = entries_of([found("no argument `a`"), found("no argument `a`", 2)])
    assert same.names() == []


def test_parts_of_a_whole_say_what_to_do_about_each() -> None:
    call = Location("/p/a.py", 5, 50)
    said = [
        "1.0 removed the argument `a` of `C`: drop it (pinned: trl 1.0)",
        "1.0 removed the argument `b` of `C`: use `d` (pinned: trl 1.0)",
        "0.9 removed the argument `e` of `C`: set `f`, or (better) `g` (pinned: trl 1.0)",
        "0.9 removed the argument `h` of `C` (pinned: trl 1.0)",
    ]
    (entry,) = entries_of([found(text, n, part_of=call) for n, text in enumerate(said)])
    assert entry.names() == ["`b` → `d`", "`e`: set `f`, or (better) `g`", "`h`"]
    (line,) = text_of(report_of(*entry.findings), "concise").splitlines()
    assert "(also `b` → `d`; `e`: set `f`, or (better) `g`; `h`; 3 more places" in line


def test_errors_come_first_and_order_stays() -> None:
    findings = [found("w", 1), found("e", 2, level="error"), found("i", 3, level="info"), found("v", 4)]
    assert [entry.first.message for entry in entries_of(findings)] == ["e", "w", "v", "i"]


# -- groups -----------------------------------------------------------------------------------------------------------


def test_an_open_pin_heads_what_it_lets_happen() -> None:
    later = PIN._replace(oldest="0.27.0")
    findings = [found("x", pin=PIN), found("alone", 2), found("y", 3, pin=later)]
    first, second = groups_of(entries_of(findings))
    assert first.pin == PIN and [entry.first.message for entry in first.entries] == ["x", "y"]
    assert first.way_out == ">=0.19.1,<0.20.0"
    assert second.pin is None and second.way_out == ""


def test_a_floor_that_is_too_low_is_raised() -> None:
    floor = PIN._replace(oldest="0.19.1", newest="0.21.0", is_floor=True)
    findings = [found("x", pin=floor), found("y", 2, pin=floor._replace(newest="0.9.6")), found("z", 3, pin=PIN)]
    group, other = groups_of(entries_of(findings))
    assert group.way_out == ">0.21.0" and len(group.entries) == 2
    assert other.pin is None, "one entry needs no head"


def test_few_lines_that_most_rest_on() -> None:
    other = PIN._replace(package="transformers", location=Location("/p/setup.py", 30, 40))
    findings = [found(str(n), n, pin=PIN if n < 5 else other if n < 8 else None) for n in range(10)]
    number, pins = most_rest_on(findings)
    assert number == 8 and pins == [PIN, other]
    assert most_rest_on([found("x", pin=PIN), *(found(str(n), n) for n in range(5))]) == (0, [])
    assert most_rest_on([]) == (0, [])


# -- keys -------------------------------------------------------------------------------------------------------------


def test_keys_are_equal_where_the_cause_is() -> None:
    findings = [found("no `a`"), found("no `b`", 2), found("other"), found("p", pin=PIN), found("q", pin=PIN)]
    keys = cause_keys(findings, "/p")
    assert keys[0] == keys[1] and keys[3] == keys[4] and len(set(keys)) == 3
    moved = [finding._replace(location=Location("/p/z.py", 99, 100)) for finding in findings[::-1]]
    assert cause_keys(moved, "/p") == keys[::-1]


# -- formats for people -----------------------------------------------------------------------------------------------


def report_of(*findings: Finding, **options: object):  # type: ignore[no-untyped-def]
    files = {"a_py": "x = 1\n" * 400, "b_py": "y\n" * 99, "setup_py": '("trl>=0.19.1")\n'}
    return Project(**files).report(*findings, **options)


def test_places_and_names_of_an_entry_in_one_line() -> None:
    findings = [found(f"no `{name}`", n * 6, path) for n, name in enumerate("abcd") for path in ("/p/a.py", "/p/b.py")]
    report = report_of(*findings)
    places = "also `b`, `c`, `d`; 7 more places: b.py:1, a.py:11, b.py:31, …"
    assert text_of(report, "concise") == f"a.py:1:1: TRL301 warning: no `a` ({places})\n"
    assert text_of(report).splitlines()[-2:] == [f"  = {places}", ""]
    assert len(text_of(report._replace(unfold=True), "concise").splitlines()) == 8


def test_a_rule_is_named_once() -> None:
    report = report_of(found("x"), found("y", 2), found("z", 3, code="TRL101"))
    for name in ("full", "concise"):
        stream = io.StringIO()
        write(name, report, stream)
        text = stream.getvalue()
        assert text.count("trl-lint rule TRL301") == 1 and text.count("trl-lint rule TRL101") == 1


def test_the_head_of_a_group_names_both_ways_out() -> None:
    text = text_of(report_of(found("x", pin=PIN), found("y", 2, pin=PIN)), "concise")
    assert text.startswith(
        "setup.py:1:2: `trl>=0.19.1` lets 2 findings happen; bound it (`trl>=0.19.1,<0.20.0`), or migrate:\n"
    )


def test_a_long_report_is_concise() -> None:
    few = report_of(*(found(f"number {n}", n) for n in range(25)))
    many = report_of(*(found(f"number {n}", n) for n in range(26)))
    assert "^" in text_of(few) and "^" not in text_of(many)
    assert "^" in text_of(many._replace(unfold=True))


def test_hints_are_counted() -> None:
    report = report_of(found("x"), found("hidden", 2, level="info"), found("z", 3, level="info"), least="warning")
    assert "hidden" not in text_of(report, "concise")
    assert summary(report) == "Found 1 warning.\n2 hints: `--hints` shows them.\n"
    only = report_of(found("y", level="info"), least="warning")
    assert summary(only) == "No errors or warnings.\n1 hint: `--hints` shows it.\n"


def test_the_footer_names_what_most_rest_on() -> None:
    report = report_of(*(found(f"`{n}` is gone", n, pin=PIN) for n in range(3)))
    assert summary(report) == (
        "Found 3 warnings (1 cause).\n3 of 3 rest on setup.py:1:2 `trl>=0.19.1`: bound it, or migrate.\n"
    )


# -- headers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["train_{}.py", "nb_{}.ipynb"])
def test_one_specifier_in_the_headers_of_several_scripts_is_one_cause(name: str) -> None:
    paths = [f"/p/{name.format(number)}" for number in range(6)]
    pins = [PIN._replace(location=Location(path, 20, 31)) for path in paths]
    same = [found("`a` is gone", 3, path, pin=pin) for path, pin in zip(paths, pins, strict=True)]
    other = [found("`a` is renamed now", 5, path, pin=pin) for path, pin in zip(paths, pins, strict=True)]
    assert sizes(*same) == [6]
    (group,) = groups_of(entries_of([*same, *other]))
    assert len(group.places) == 6 and group.way_out == ">=0.19.1,<0.20.0"
    assert len(set(cause_keys([*same, *other], "/p"))) == 1
    assert "(1 cause)" in summary(report_of(*same, *other))


def test_another_specifier_and_files_of_pins_are_causes_of_their_own() -> None:
    header = PIN._replace(location=Location("/p/a.py", 1, 9))
    pins = [
        header,
        header._replace(specifier=">=0.20", location=Location("/p/b.py", 1, 9)),
        header._replace(package="transformers", location=Location("/p/b.py", 1, 9)),
        header._replace(is_floor=True, location=Location("/p/c.py", 1, 9)),
        PIN._replace(location=Location("/p/requirements.txt", 1, 9)),
        PIN._replace(location=Location("/p/sub/requirements.txt", 1, 9)),
    ]
    findings = [found("`a` is gone", number, pin=pin) for number, pin in enumerate(pins)]
    assert sizes(*findings) == [1] * 6
    assert len(set(cause_keys(findings, "/p"))) == 6
