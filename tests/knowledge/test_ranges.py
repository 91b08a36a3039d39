"""Ranges of releases: one question, and one way to say them."""

from __future__ import annotations

import pytest
from packaging.version import Version

from trl_lint.knowledge.ranges import holds, in_words, spans
from trl_lint.knowledge.releases import installable


@pytest.mark.parametrize(
    ("specifier", "version", "expected"),
    [
        (">=0.15,<0.18", "0.17.0", True),
        (">=0.15,<0.18", "0.18.0", False),
        ("", "0.1", True),
        ("", "1.0.dev1", True),
        (">=1.0", "1.1rc1", True),  # a pre-release counts: it is in use
        (">=1.0", "1.0rc1", False),
        ("==0.12.*", "0.12.2", True),
        ("~=0.12.1", "0.12.2", True),
        ("==2.6.0+cu124", "2.6.0", True),
        ("===1.0", "1.0", True),
        ("===1.0", "1.0.0", False),
        ("nonsense", "1.0", False),
        (">=1.0", "", False),
        (">=1.0", "main", False),
        ("", "main", False),
        (">=1.0", "1" * 5000, False),
    ],
)
def test_holds(specifier: str, version: str, expected: bool):
    assert holds(specifier, version) is expected
    if expected:
        assert holds(specifier, Version(version))


def test_equal_versions_that_are_written_in_other_ways():
    """`===` compares words, so an answer is not kept for all versions that are equal."""
    assert holds("===1.0", Version("1.0")) and not holds("===1.0", Version("1.0.0"))


def test_spans_of_neighbours():
    assert spans("abceg", "abcdefg") == [("a", "c"), ("e", "e"), ("g", "g")]
    assert spans(["0.2rc1", "0.2", "0.3"], ["0.1", "0.2", "0.3"]) == [("0.2rc1", "0.2rc1"), ("0.2", "0.3")]
    assert spans([], "abc") == []
    versions = [Version(text) for text in ("0.17.0", "0.18.0", "0.18.1", "0.20.0")]
    assert [(str(first), str(last)) for first, last in spans(versions, installable("trl"))] == [
        ("0.17.0", "0.18.1"),
        ("0.20.0", "0.20.0"),
    ]


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        (["1.0 1.0"], "1.0"),
        (["1.0 1.3"], "1.0 to 1.3"),
        (["1.0 1.3", "1.5 1.5"], "1.0 to 1.3 and 1.5"),
        (["1.0 1.3", "1.5 1.5", "1.7 2.0"], "1.0 to 1.3, 1.5 and 1.7 to 2.0"),
        (["1.0 1.0", "1.2 1.2", "1.4 1.4", "1.6 1.7"], "1.0, 1.2 and others up to 1.7"),
        ([], ""),
    ],
)
def test_words(ranges: list[str], expected: str):
    assert in_words([(one.split()[0], one.split()[1]) for one in ranges]) == expected


def test_a_range_up_to_the_newest_release_is_open():
    assert in_words([("1.0", "1.3"), ("1.5", "2.0")], "2.0") == "1.0 to 1.3 and 1.5 or later"
    assert in_words([("2.0", "2.0")], "2.0") == "2.0"
