"""Which releases a file runs with: each test lays out a small project and asks for one package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from trl_lint.checks.verdict import judge_pins
from trl_lint.knowledge.releases import newest
from trl_lint.project import Project
from trl_lint.project.environment import Environment
from trl_lint.settings import Settings
from trl_lint.sources import Files


def environment(
    root: Path, files: Mapping[str, str], path: str = "train.py", targets: Mapping[str, str] | None = None
) -> Environment:
    for name, text in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    settings = Settings(str(root))
    settings.targets = dict(targets or {})
    return Project(str(root), Files(), settings).environment(str(root / path))


def lock(**versions: str) -> str:
    entry = '[[package]]\nname = "{}"\nversion = "{}"\nsource = {{ registry = "https://pypi.org/simple" }}\n'
    return "version = 1\n\n" + "\n".join(entry.format(name, version) for name, version in versions.items())


def block(*requirements: str) -> str:
    inside = ", ".join(f'"{requirement}"' for requirement in requirements)
    return f"# /// script\n# dependencies = [{inside}]\n# ///\nimport trl\n"


def test_exact_pin(tmp_path: Path):
    trl = environment(tmp_path, {"requirements.txt": "trl==0.15.2\n"}).package("trl")
    assert (trl.source, str(trl.resolved), trl.specifier) == ("pin", "0.15.2", "==0.15.2")
    assert trl.holds(">=0.14,<0.16") == "all"
    assert trl.holds(">=0.16") == "none"
    assert [pin.text for pin in trl.pins] == ["trl==0.15.2"]


def test_range(tmp_path: Path):
    trl = environment(tmp_path, {"requirements.txt": "trl>=0.14,<0.18\n"}).package("trl")
    assert str(trl.resolved) == "0.17.0"
    assert trl.holds(">=0.14") == "all"
    assert trl.holds("<0.15.2") == "some"
    assert trl.affected("<0.15.2") == ["0.14.0", "0.15.0", "0.15.1"]


def test_nothing_pins_it(tmp_path: Path):
    package = environment(tmp_path, {}).package("trl")
    assert (package.source, len(package.allowed or ())) == ("assumed", 1)


@pytest.mark.parametrize("folder", ["external/verl", "verl", "third_party/verl"])
def test_a_package_whose_sources_the_project_holds_is_not_assumed(tmp_path: Path, folder: str):
    project = '[project]\nname = "verl"\nversion = "0.7.1"\n'
    files = {f"{folder}/pyproject.toml": project, "scripts/run.sh": "python -m verl.trainer.main_ppo\n"}
    assert environment(tmp_path, files, "scripts/run.sh").package("verl").source == "unknown"
    assert environment(tmp_path, files, "scripts/run.sh").package("trl").source == "assumed"
    pinned = environment(tmp_path, {**files, "requirements.txt": "verl==0.8.0\n"}, "scripts/run.sh").package("verl")
    assert str(pinned.resolved) == "0.8.0"


def test_a_bare_name_is_the_newest_release(tmp_path: Path):
    package = environment(tmp_path, {"requirements.txt": "trl\n"}).package("trl")
    assert package.source == "assumed"
    assert package.holds("<1.0") == "none"


def test_unknown_package(tmp_path: Path):
    files = {"requirements.txt": "einops==0.8.0\nwandb\n"}
    found = environment(tmp_path, files)
    assert found.package("einops").holds(">=0.7") == "all"
    assert found.package("wandb").holds(">=0.1") == "unknown"


@pytest.mark.parametrize(
    "line",
    [
        "trl @ git+https://github.com/huggingface/trl.git@main",
        "git+https://github.com/huggingface/trl",
        "-e git+https://github.com/huggingface/trl.git#egg=trl",
        "https://example.org/trl-0.15.2-py3-none-any.whl",
        "trl==99.0.0",
        "trl>=99",
        "trl==0.15.99",
    ],
)
def test_what_nobody_can_know_is_unknown(tmp_path: Path, line: str):
    trl = environment(tmp_path, {"requirements.txt": line + "\n"}).package("trl")
    assert trl.source == "unknown"
    assert trl.allowed is None
    assert trl.holds(">=99") != "all"


def test_newer_than_known_is_never_judged(tmp_path: Path):
    trl = environment(tmp_path, {"requirements.txt": "trl==99.0.0\n"}).package("trl")
    assert {trl.holds(spec) for spec in (">=0.14", "<0.18", "==99.0.0")} == {"unknown"}


def test_target_wins(tmp_path: Path):
    files = {"requirements.txt": "trl==0.15.2\n", "uv.lock": lock(trl="0.15.2")}
    trl = environment(tmp_path, files, targets={"trl": "1.9.0"}).package("trl")
    assert (trl.source, str(trl.resolved)) == ("target", "1.9.0")


def test_precedence_from_script_lock_to_readme(tmp_path: Path):
    """Each place is stronger than all below it."""
    places = [
        ("train.py.lock", lock(trl="0.20.0"), "0.20.0"),
        ("train.py", block("trl==0.19.0"), "0.19.0"),
        ("requirements.txt", "trl==0.17.0\n", "0.17.0"),
        ("requirements-dev.txt", "trl==0.16.0\n", "0.16.0"),
        ("Dockerfile", "FROM x\nRUN pip install trl==0.15.0\n", "0.15.0"),
        ("README.md", "```bash\npip install trl==0.14.0\n```\n", "0.14.0"),
    ]
    for number, (name, _, wanted) in enumerate(places):
        folder = tmp_path / str(number)
        found = environment(folder, {place: text for place, text, _ in places[number:]}).package("trl")
        assert str(found.resolved) == wanted, name


def test_lock_beats_the_requirement_it_satisfies(tmp_path: Path):
    files = {
        "uv.lock": lock(trl="0.17.0"),
        "pyproject.toml": '[project]\nname = "x"\nversion = "1"\ndependencies = ["trl>=0.14"]\n',
        "packages/a/requirements.txt": "trl>=0.15\n",
    }
    trl = environment(tmp_path, files, "packages/a/train.py").package("trl")
    assert (trl.source, str(trl.resolved)) == ("lock", "0.17.0")


def test_lock_does_not_beat_a_nearer_pin_it_contradicts(tmp_path: Path):
    files = {"uv.lock": lock(trl="1.9.0"), "examples/requirements.txt": "trl==0.9.6\n"}
    trl = environment(tmp_path, files, "examples/train.py").package("trl")
    assert (trl.source, str(trl.resolved)) == ("pin", "0.9.6")


def test_nearest_folder_wins_per_package(tmp_path: Path):
    files = {"requirements.txt": "trl==0.17.0\npeft==0.14.0\n", "recipes/requirements.txt": "trl==0.15.2\n"}
    found = environment(tmp_path, files, "recipes/grpo/train.py")
    assert str(found.package("trl").resolved) == "0.15.2"
    assert str(found.package("peft").resolved) == "0.14.0"


def test_always_installed_beats_optional(tmp_path: Path):
    text = (
        '[project]\nname = "x"\nversion = "1"\ndependencies = ["trl<0.16"]\n'
        '[project.optional-dependencies]\nnew = ["trl==1.0.0", "vllm==0.7.2"]\n'
    )
    found = environment(tmp_path, {"pyproject.toml": text})
    assert str(found.package("trl").resolved) == "0.15.2"
    assert str(found.package("vllm").resolved) == "0.7.2"


def test_inert_pins_do_not_count(tmp_path: Path):
    text = (
        "from setuptools import setup\n"
        '_deps = ["trl==0.14.0", "vllm==0.6.6"]\n'
        'deps = {d.split("=")[0]: d for d in _deps}\n'
        'setup(name="x", version="1", install_requires=[deps["trl"]])\n'
    )
    found = environment(tmp_path, {"setup.py": text})
    assert found.package("trl").source == "pin"
    assert found.package("vllm").source == "assumed"


def test_differing_pins_of_equal_rank_are_alternatives(tmp_path: Path):
    files = {"requirements.txt": "trl==0.9.6 ; python_version < '3.9'\ntrl==0.15.2 ; python_version >= '3.9'\n"}
    trl = environment(tmp_path, files).package("trl")
    assert trl.holds("<0.10") == "some"
    assert trl.holds("<0.16") == "all"


def test_a_bare_name_beside_a_pin_adds_nothing(tmp_path: Path):
    files = {
        "requirements.txt": "trl==0.15.2\n",
        "pyproject.toml": '[project]\nname = "x"\nversion = "1"\ndependencies = ["trl"]\n',
    }
    assert environment(tmp_path, files).package("trl").holds("==0.15.2") == "all"


def test_constraints_narrow(tmp_path: Path):
    files = {"requirements.txt": "-c pins.txt\ntrl>=0.14\n", "pins.txt": "trl<0.16\npeft==0.14.0\n"}
    found = environment(tmp_path, files)
    assert str(found.package("trl").resolved) == "0.15.2"
    assert str(found.package("peft").resolved) == "0.14.0"


def test_commands_of_one_script_follow_each_other(tmp_path: Path):
    files = {"Dockerfile": 'FROM x\nRUN pip install "transformers>=4.51.0"\nRUN pip install "transformers<4.52.0"\n'}
    found = environment(tmp_path, files).package("transformers")
    assert found.holds(">=4.51,<4.52") == "all"


def test_notebook_is_ruled_by_its_own_cells(tmp_path: Path):
    notebook = '{"cells": [{"cell_type": "code", "source": "%pip install trl==0.14.0"}], "metadata": {}, "nbformat": 4}'
    files = {"requirements.txt": "trl==0.17.0\npeft==0.15.0\n", "train.ipynb": notebook}
    found = environment(tmp_path, files, "train.ipynb")
    assert str(found.package("trl").resolved) == "0.14.0"
    assert str(found.package("peft").resolved) == "0.15.0"


def test_uv_run_with(tmp_path: Path):
    files = {"train.py": block("peft"), "run.sh": 'uv run --with "trl==0.15.2" train.py\n'}
    assert str(environment(tmp_path, files).package("trl").resolved) == "0.15.2"


def test_a_project_is_its_own_release(tmp_path: Path):
    files = {
        "pyproject.toml": '[project]\nname = "trl"\n[tool.setuptools.dynamic]\nversion = { file = "VERSION" }\n',
        "VERSION": "1.9.0\n",
        "README.md": "```bash\npip install trl==0.9.6\n```\n",
        "examples/sft.py": block("trl[peft]"),
        "examples/pinned.py": block("trl==0.9.6"),
    }
    own = environment(tmp_path, files, "examples/sft.py").package("trl")
    assert (str(own.resolved), own.is_own) == ("1.9.0", True)
    assert str(environment(tmp_path, {}, "examples/pinned.py").package("trl").resolved) == "0.9.6"


def test_development_version_is_settled_where_its_neighbours_agree(tmp_path: Path):
    files = {"pyproject.toml": '[project]\nname = "trl"\nversion = "0.16.0.dev0"\n'}
    trl = environment(tmp_path, files).package("trl")
    assert trl.allowed is None
    assert trl.holds(">=0.14,<0.18") == "all"
    assert trl.holds(">=0.18") == "none"
    assert trl.holds(">=0.16") == "unknown"


def test_development_version_behind_all_releases_is_unknown(tmp_path: Path):
    files = {"pyproject.toml": '[project]\nname = "trl"\nversion = "99.1.0.dev0"\n'}
    assert environment(tmp_path, files).package("trl").holds(">=0.14") == "unknown"


def test_broken_neighbours_are_no_reason_to_stop(tmp_path: Path):
    files = {"pyproject.toml": "[project\n", "setup.py": "def (", "requirements.txt": "trl==0.15.2\n"}
    assert str(environment(tmp_path, files).package("trl").resolved) == "0.15.2"


# -- judging ------------------------------------------------------------------------------------------------------


def test_judge_all_releases(tmp_path: Path):
    verdict = judge_pins(environment(tmp_path, {"requirements.txt": "trl==0.15.2\n"}), {"trl": ">=0.14,<0.18"}, "error")
    assert verdict is not None
    assert (verdict.severity, verdict.scope) == ("error", "pinned: trl 0.15.2")
    assert [Path(location.path).name for location in verdict.related] == ["requirements.txt"]


def test_judge_some_releases(tmp_path: Path):
    verdict = judge_pins(
        environment(tmp_path, {"requirements.txt": "trl>=0.14,<0.18\n"}), {"trl": ">=0.15,<0.18"}, "error"
    )
    assert verdict is not None
    assert verdict.severity == "warning"
    assert verdict.scope == "trl 0.15.0 to 0.17.0; your pin trl>=0.14,<0.18 allows 0.14.0 to 0.17.0"


def test_judge_older_releases_only(tmp_path: Path):
    """pip takes 0.18.2, which is fine: the lower bound is too low, and no more."""
    verdict = judge_pins(
        environment(tmp_path, {"requirements.txt": "trl>=0.14,<0.19\n"}), {"trl": ">=0.15,<0.18"}, "error"
    )
    assert verdict is not None
    assert verdict.severity == "info"
    assert verdict.scope == "trl 0.15.0 to 0.17.0; your pin trl>=0.14,<0.19 allows 0.14.0 to 0.18.2"


def test_judge_without_a_pin(tmp_path: Path):
    verdict = judge_pins(environment(tmp_path, {}), {"trl": ">=1.0"}, "error")
    assert verdict is not None
    assert verdict.severity == "warning"
    assert verdict.scope == f"nothing pins trl; {newest('trl')} is assumed"


@pytest.mark.parametrize(
    "line", ["trl==0.9.6", "trl @ git+https://github.com/huggingface/trl.git@9d35a0b", "trl==99.0.0"]
)
def test_judge_says_nothing_without_proof(tmp_path: Path, line: str):
    found = environment(tmp_path, {"requirements.txt": line + "\n"})
    assert judge_pins(found, {"trl": ">=0.14"}, "error") is None


def test_judge_at_the_tip_of_a_repository(tmp_path: Path):
    found = environment(tmp_path, {"requirements.txt": "trl @ git+https://github.com/huggingface/trl.git\n"})
    verdict = judge_pins(found, {"trl": ">=0.14"}, "error")
    assert verdict is not None and verdict.severity == "warning"
    assert verdict.scope == f"trl comes from the tip of its repository, at least {newest('trl')}"
    assert judge_pins(found, {"trl": ">=0.14"}, "info").severity == "info"  # type: ignore[union-attr]
    assert judge_pins(found, {"trl": "<0.14"}, "error") is None


def test_judge_needs_every_condition(tmp_path: Path):
    found = environment(tmp_path, {"requirements.txt": "trl==0.15.2\naccelerate==0.34.0\n"})
    assert judge_pins(found, {"trl": ">=0.14", "accelerate": ">=1.0"}, "error") is None


def test_requirements_of_one_list_hold_together(tmp_path: Path):
    """trl 0.24.0 asks for `transformers>=4.56.1` and, for one Python, on a line of its own, `transformers!=4.57.0`."""
    text = "transformers>=4.56.1\ntransformers!=4.57.1; python_version == '3.9'\n"
    found = environment(tmp_path, {"requirements.txt": text})
    package = found.package("transformers")
    assert package.specifier == ">=4.56.1 | >=4.56.1,!=4.57.1"
    assert str(package.allowed[0]) == "4.56.1"
