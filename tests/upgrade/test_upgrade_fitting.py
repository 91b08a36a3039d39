"""Releases that fit together, by what each of them requires."""

from __future__ import annotations

import pytest
from packaging.version import Version

from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.releases import allowed, installable
from trl_lint.knowledge.requirements import requirement
from trl_lint.upgrade.fitting import Fit, NoFitError, Used, find_fit


def used(name: str, specifier: str) -> Used:
    return Used(name, allowed(name, specifier) or ())


def fit_of(goals: dict[str, str], *packages: Used) -> Fit:
    return find_fit({name: allowed(name, specifier) or () for name, specifier in goals.items()}, packages)


def test_a_pin_that_fits_is_kept():
    fit = fit_of({"trl": "==1.16.0"}, used("trl", "==0.9.6"), used("transformers", "==5.23.0"))
    assert (fit.releases, fit.reasons) == ({"trl": Version("1.16.0")}, {})


def test_a_pin_that_does_not_fit_moves_no_further_than_it_must_and_says_why():
    fit = fit_of({"trl": "==1.16.0"}, used("trl", "==0.9.6"), used("transformers", "==4.41.2"))
    need = requirement("trl", Version("1.16.0"), "transformers")
    assert need is not None
    fitting = [version for version in installable("transformers") if holds(need.specifier, version)]
    assert fit.releases["transformers"] == fitting[0]
    assert str(fit.reasons["transformers"]) == f"trl 1.16.0 requires transformers{need.specifier}"


def test_the_newest_release_of_a_range_is_taken():
    assert fit_of({"trl": ">=1.10,<1.16"}).releases == {"trl": Version("1.15.0")}


def test_what_is_only_supported_is_kept_to():
    fit = fit_of({"trl": "==1.16.0"}, used("trl", "==0.18.0"), used("vllm", "==0.8.3"))
    need = requirement("trl", Version("1.16.0"), "vllm")
    assert need is not None
    assert need.force == "supported"
    assert holds(need.specifier, fit.releases["vllm"])


def test_goals_that_exclude_each_other_are_refused_with_the_requirement():
    with pytest.raises(NoFitError, match=r"trl 1\.16\.0 requires transformers>="):
        fit_of({"trl": "==1.16.0", "transformers": "==4.46.0"})


def test_a_chain_of_requirements_is_followed():
    fit = fit_of({"verl": "==0.9.1"}, used("verl", "==0.3.0"), used("vllm", "==0.8.3"), used("torch", "==2.6.0"))
    for name, other in (("verl", "vllm"), ("vllm", "torch")):
        need = requirement(name, fit.releases[name], other)
        assert need is not None
        assert holds(need.specifier, fit.releases[other])
