"""What `--to` may say."""

from __future__ import annotations

import pytest

from trl_lint.knowledge.releases import installable
from trl_lint.upgrade.goals import GoalError, read_goal, read_goals


def named(value: str) -> list[str]:
    return list(map(str, read_goal(value).releases))


@pytest.mark.parametrize(
    ("value", "releases"),
    [
        ("trl==1.15.0", ["1.15.0"]),
        (" TRL == 1.15.0 ", ["1.15.0"]),
        ("trl@v1.15.0", ["1.15.0"]),
        ("trl@refs/tags/v1.15.0", ["1.15.0"]),
        ("trl>=1.14,<1.14.2", ["1.14.0", "1.14.1"]),
    ],
)
def test_releases_by_name_tag_and_range(value: str, releases: list[str]):
    assert named(value) == releases


@pytest.mark.parametrize("value", ["trl", "trl==latest", "trl@latest"])
def test_a_name_alone_means_every_release_and_the_newest_is_taken(value: str):
    assert read_goal(value).releases == installable("trl")


def test_latest_alone_and_nothing_mean_everything():
    assert read_goals([]) is None
    assert read_goals(["latest"]) is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["trl==1.15.0", "trl"], "trl is named twice"),
        (["latest", "trl"], "`latest` alone means every package"),
        (["trll"], "the releases of trll are not known; did you mean trl?"),
        (["trl==99.0"], "no known release of trl is ==99.0; the newest known one is"),
        (["trl@v99.0"], "no known release of trl has the tag `v99.0`"),
        (["trl@main"], "no known release of trl has the tag `main`"),
        (["trl>="], "`>=` is not a version or a range"),
        (["--trl"], "is not of the form PACKAGE==VERSION"),
    ],
)
def test_what_cannot_be_read_is_said(values: list[str], message: str):
    with pytest.raises(GoalError) as raised:
        read_goals(values)
    assert message in str(raised.value)
