"""Which recorded releases a file may run with, when several packages have a say."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from trl_lint.checks.verdict import basis_of
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.releases import newest
from trl_lint.knowledge.requirements import requirement
from trl_lint.project import Project
from trl_lint.project.resolution import python_of
from trl_lint.project.stack import Choice
from trl_lint.settings import Settings
from trl_lint.sources import Files

TAGS = "https://github.com/huggingface/transformers"


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


@pytest.mark.parametrize(
    ("requirements", "release", "beside"),
    [
        ("transformers==4.42.3\ntrl\n", "0.12.2", ["transformers==4.42.3"]),
        ("transformers==4.51.1\n", "0.19.1", ["transformers==4.51.1"]),
        ("transformers>=4.33,<4.46\naccelerate==1.2.1\n", "0.12.2", ["transformers>=4.33,<4.46"]),
        ("accelerate==1.15.0\n", str(newest("trl")), []),
        ("", str(newest("trl")), []),
        (
            "transformers @ git+https://github.com/huggingface/transformers@v4.42.3\n",
            "0.12.2",
            ["transformers==4.42.3"],
        ),
    ],
)
def test_what_decides_an_unpinned_release_is_known(requirements: str, release: str, beside: list[str], tmp_path: Path):
    found = choose(tmp_path, "trl", requirements)
    assert found is not None and found.assumed and found.releases == (release,)
    assert [f"{pin.package}{pin.specifier}" for pin in found.package.because] == beside
    words = basis_of(found)
    assert words.endswith("is assumed") if not beside else f"{release} is what pip takes beside {beside[0]}" in words


@pytest.mark.parametrize(
    ("requirements", "trl", "transformers"),
    [
        ("transformers>=4.33,<4.46\ntrl>=0.10.1\n", ("0.10.1", "0.12.2"), ("4.33.0", "4.45.2")),
        ("trl>=0.9,<0.12\ntransformers>=4.30\n", ("0.9.2", "0.11.4"), ("4.31.0", "5.23.0")),
        ("trl>=0.19\ntransformers<5\n", ("0.19.0", "1.16.0"), ("4.51.0", "4.57.6")),
    ],
)
def test_ranges_are_what_the_others_leave_of_them(
    requirements: str, trl: tuple[str, str], transformers: tuple[str, str], tmp_path: Path
):
    for name, ends in (("trl", trl), ("transformers", transformers)):
        found = choose(tmp_path, name, requirements)
        assert found is not None and (found.releases[0], found.releases[-1]) == ends, name


def test_no_pair_that_is_assumed_excludes_each_other(tmp_path: Path):
    """Whatever one package is pinned to, the release that is assumed of the other takes it, and is taken by it."""
    for number, version in enumerate(releases("transformers")[::9]):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = choose(folder, "trl", f"transformers=={version}\n")
        if found is not None:
            need = requirement("trl", Version(found.newest), "transformers")
            assert need is None or not need.specifier or holds(need.specifier, version), (version, found.newest)


def test_pins_that_contradict_each_other_do_not_decide_more_than_the_nearest(tmp_path: Path):
    found = choose(tmp_path, "trl", "transformers==4.42.3\ntokenizers==0.13.3\n")
    assert found is not None and found.assumed and found.releases == ("0.12.2",)


def test_what_a_repository_of_unknown_requirements_brings_is_unknown(tmp_path: Path):
    for number, name in enumerate(("unsloth", "unsloth_zoo", "bitsandbytes")):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert choose(folder, "trl", f"{name} @ git+https://github.com/someone/{name}.git\n") is None, name


def test_requires_python_decides(tmp_path: Path):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "a"\nversion = "1"\nrequires-python = ">=3.12"\n'
                                             'dependencies = ["numpy"]\n')  # fmt: skip
    environment = Project(str(tmp_path), Files(), Settings(str(tmp_path))).environment(str(tmp_path / "train.py"))
    assert environment.python == "3.12" and str(environment.package("numpy").resolved) == "2.5.5"


@pytest.mark.parametrize(
    ("requires", "python"),
    [("", ""), (">=3.10", "3.11"), (">=3.12", "3.12"), ("<3.11", "3.10"), ("==3.9.*", "3.9"), (">=3.13,<3.14", "3.13")],
)
def test_the_python_that_is_taken(requires: str, python: str):
    assert python_of(requires) == python


@pytest.mark.parametrize(
    ("script", "trl"),
    [
        ("pip install transformers==4.51.1 trl\n", "0.19.1"),
        ("pip install transformers==4.51.1\npip install trl\n", None),
        ("pip install trl\npip install transformers==4.51.1\n", None),
        ("pip install transformers==4.51.1\npip install trl transformers==4.51.1\n", "0.19.1"),
    ],
)
def test_commands_that_follow_each_other_are_no_one_resolution(tmp_path, monkeypatch, capsys, script, trl):
    """pip keeps the pins of one command alone: a later one takes the newest, and replaces what stands in its way."""
    from trl_lint.cli import main
    from trl_lint.knowledge.releases import newest

    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "setup.sh").write_text(script)
    (tmp_path / "train.py").write_text("import trl\n")
    main(["environment"])
    assert f"trl           {trl or newest('trl')} " in capsys.readouterr().out
