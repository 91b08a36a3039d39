"""Which recorded releases a file may run with, when several packages have a say."""

from __future__ import annotations

from pathlib import Path

from trl_lint.knowledge.releases import newest
from trl_lint.project import Project
from trl_lint.project.stack import Choice
from trl_lint.settings import Settings
from trl_lint.sources import Files


def choose(root: Path, package: str, requirements: str, **targets: str) -> Choice | None:
    (root / "requirements.txt").write_text(requirements)
    settings = Settings(str(root))
    settings.targets = dict(targets)
    return Project(str(root), Files(), settings).environment(str(root / "train.py")).choices.get(package)


def test_exact_pin(tmp_path: Path):
    found = choose(tmp_path, "trl", "trl==0.15.2\n")
    assert found is not None and found.releases == ("0.15.2",) and found.complete and not found.assumed


def test_nothing_pinned_means_the_newest(tmp_path: Path):
    found = choose(tmp_path, "trl", "")
    assert found is not None and found.releases == (str(newest("trl")),) and found.assumed


def test_what_another_pin_requires_is_what_is_assumed(tmp_path: Path):
    found = choose(tmp_path, "transformers", "trl==0.12.2\n")
    assert found is not None and found.assumed and found.releases == ("4.46.3",)


def test_a_floor_is_raised_by_what_another_pin_requires(tmp_path: Path):
    found = choose(tmp_path, "transformers", "trl==0.18.0\ntransformers>=4.33,<4.53\n")
    assert found is not None and found.releases[0] == "4.50.0" and found.releases[-1].startswith("4.52")


def test_pins_that_contradict_each_other_stay_as_they_are(tmp_path: Path):
    found = choose(tmp_path, "transformers", "trl==0.18.0\ntransformers==4.40.2\n")
    assert found is not None and found.releases == ("4.40.2",)


def test_repository_is_unknown(tmp_path: Path):
    assert choose(tmp_path, "trl", "trl @ git+https://github.com/huggingface/trl@9d35a0b\n") is None


def test_the_newest_release_stands_for_the_tip_of_a_repository(tmp_path: Path):
    found = choose(tmp_path, "trl", "trl @ git+https://github.com/huggingface/trl\n")
    assert found is not None and found.is_tip and found.releases == (str(newest("trl")),) and not found.assumed


def test_release_newer_than_the_histories_is_unknown(tmp_path: Path):
    assert choose(tmp_path, "trl", "trl==9.0.0\n") is None


def test_target_wins(tmp_path: Path):
    found = choose(tmp_path, "trl", "trl==0.15.2\n", trl="1.16.0")
    assert found is not None and found.releases == ("1.16.0",)


def test_development_version_lies_between_two_releases(tmp_path: Path):
    found = choose(tmp_path, "trl", "", trl="0.16.0.dev0")
    assert found is not None and found.between and found.releases == ("0.15.2", "0.16.0")
