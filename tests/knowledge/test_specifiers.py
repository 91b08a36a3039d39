"""The clauses that are read without `packaging.specifiers`, held against it."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from trl_lint.knowledge.commands import unknown_name
from trl_lint.knowledge.releases import parse_specifier
from trl_lint.knowledge.specifiers import FinalSpecifiers, read_final

OPERATORS = ("==", "!=", "<=", ">=", "<", ">")
RELEASES = ("0", "1", "1.0", "1.0.0", "1.0.1", "1.1", "1.10", "0.9.9", "2", "2024.1", "01.0")
ENDINGS = (
    "", "a1", "b2", "rc1", ".post1", "rc1.post2", ".dev3", "a1.dev1", ".post1.dev2", "+cu121", "rc1+x", ".post1+x.2",
    ".dev1+x",
)  # fmt: skip
VERSIONS = [Version(epoch + release + ending) for epoch, release, ending in product(("", "1!"), RELEASES, ENDINGS)]


@pytest.mark.parametrize(("operator", "release"), list(product(OPERATORS, RELEASES)))
def test_every_kind_of_version_is_judged_as_by_packaging(operator: str, release: str):
    for text in [operator + release, *([f"{operator}{release}.*"] if operator in ("==", "!=") else ())]:
        ours, theirs = read_final(text), SpecifierSet(text)
        assert ours is not None
        for version in VERSIONS:
            for asked in (version, str(version)):
                expected = theirs.contains(asked, prereleases=True)
                assert ours.contains(asked, prereleases=True) == expected, (text, str(version))


numbers = st.integers(0, 12).map(str)
releases = st.lists(numbers, min_size=1, max_size=4).map(".".join)
versions = st.builds("".join, st.tuples(st.sampled_from(["", "1!"]), releases, st.sampled_from(ENDINGS)))
series = st.builds("{}{}.*".format, st.sampled_from(["==", "!="]), releases)
clauses = st.one_of(series, st.builds("{}{}".format, st.sampled_from(OPERATORS), releases))


@settings(max_examples=400, deadline=None)
@given(st.lists(clauses, max_size=4), versions, st.sampled_from(["", " "]))
def test_sets_are_judged_as_by_packaging(parts: list[str], version: str, blank: str):
    text = f"{blank},{blank}".join(parts)
    ours, theirs = read_final(text), SpecifierSet(text)
    assert ours is not None
    assert ours.contains(version, prereleases=True) == theirs.contains(version, prereleases=True)
    assert bool(ours.prereleases) == bool(theirs.prereleases)
    assert {(one.operator, one.version) for one in ours} == {(one.operator, one.version) for one in theirs}


@pytest.mark.parametrize(
    "text",
    [
        "~=1.4.2", "===1.0", ">=1.0rc1", ">=1.0.dev0", "==1.0+cu121", ">=1!2.0", ">=1.*", "<2.*", "==v1.0", "1.0", ">=",
        "==1.0.post1", "==*", ">=1.0;python_version<'3'", "=1.0", "== 1 .0", "==1.0,", ",", "==１.0",
    ],
)  # fmt: skip
def test_everything_else_is_left_to_packaging(text: str):
    assert read_final(text) is None


def test_what_is_asked_of_a_parsed_specifier_does_not_depend_on_who_read_it():
    assert isinstance(parse_specifier(">=1.0,<2"), FinalSpecifiers)
    assert isinstance(parse_specifier(">=1.0,<2rc1"), SpecifierSet)
    assert parse_specifier(">=1.*") is None and parse_specifier("nonsense") is None
    empty = parse_specifier("")
    assert empty is not None and len(empty) == 0 and empty.contains("1.0rc1", prereleases=True)


@pytest.mark.parametrize("text", ["", "nightly", "1.0.*", ">=1"])
def test_what_is_no_version_satisfies_no_clause(text: str):
    for specifier in (">=1", "!=1.0", "==1.*"):
        ours = read_final(specifier)
        assert ours is not None and not ours.contains(text)
    everything = read_final("")
    assert everything is not None and everything.contains(text)


def test_what_an_unknown_release_does_is_unknown():
    assert unknown_name("TrlParser", "", "keys", "0.15.0") is not None
    assert unknown_name("TrlParser", "", "keys", "") is None


@pytest.mark.parametrize("seed", range(30))
def test_many_clauses_allow_what_packaging_allows(seed: int):
    chance = random.Random(seed)
    finals = ["0.9", "1", "1.0", "1.0.0", "1.0.1", "1.1", "1.1.0", "1.2.3", "2.0", "2.0.1"]
    versions = [f"{one}{rest}" for one in finals for rest in ("", "rc1", ".post1", ".dev1", "+cu121")] + ["1!1.0"]
    parts = [f"{chance.choice(('<', '<=', '>', '>=', '!=', '!='))}{chance.choice(finals)}" for _ in range(12)]
    parts += [f"!={chance.choice(finals)}.*" for _ in range(chance.randint(0, 2))]
    parts += [f"=={chance.choice(finals)}" for _ in range(chance.randint(0, 1))]
    for count in (5, 8, len(parts)):
        text = ",".join(chance.sample(parts, count))
        found = read_final(text)
        assert found is not None
        for version in versions:
            expected = SpecifierSet(text).contains(version, prereleases=True)
            assert found.contains(version) == expected, (text, version)
