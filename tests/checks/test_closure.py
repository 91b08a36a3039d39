"""Pins that no releases satisfy together, as the search finds them whoever asks."""

from __future__ import annotations

from trl_lint.checks.pins._closure import Wish, find_contradiction
from trl_lint.finding import Location
from trl_lint.knowledge.releases import allowed, is_open, parse_version, versions
from trl_lint.project.pins import Pin


def wish(name: str, specifier: str, path: str = "requirements.txt") -> Wish:
    pin = Pin(name, specifier, Location(path, 0, 1), "requirement")
    return Wish(name, specifier, frozenset(), allowed(name, specifier), is_open(name, specifier), True, (pin,))


def wishes(*pins: tuple[str, str], path: str = "requirements.txt") -> dict[str, Wish]:
    return {name: wish(name, specifier, path) for name, specifier in pins}


def test_a_release_that_another_pin_refuses() -> None:
    found = find_contradiction(wishes(("trl", "==0.20.0"), ("transformers", "==4.40.0"), ("peft", "==0.10.0")), "")
    assert found is not None
    assert [one.name for one in found.wishes] == ["trl", "transformers"]
    assert [(one.package, one.dependency) for one in found.chain] == [("trl", "transformers")]
    assert find_contradiction(wishes(("trl", "==0.20.0"), ("transformers", "==4.55.0")), "") is None


def test_each_manifest_gets_its_own_pins_back() -> None:
    """What was solved for one file is not solved again for another, and names the places of the other."""
    asked = (("trl", "==0.20.0"), ("transformers", "==4.40.0"))
    for path in ("a/requirements.txt", "b/requirements.txt"):
        found = find_contradiction(wishes(*asked, path=path), "")
        assert found is not None
        assert {pin.location.path for one in found.wishes for pin in one.pins} == {path}


def test_a_release_that_is_not_listed_is_none_that_a_known_one_takes() -> None:
    unlisted = parse_version("4.40.987")
    assert unlisted is not None
    assert unlisted not in versions("transformers")
    odd = wish("transformers", "==4.40.987")._replace(releases=(unlisted,), is_open=False)
    assert find_contradiction({"transformers": odd}, "") is None
    found = find_contradiction({"transformers": odd, **wishes(("trl", "==0.20.0"))}, "")
    assert found is not None
    assert {one.name for one in found.wishes} == {"trl", "transformers"}
