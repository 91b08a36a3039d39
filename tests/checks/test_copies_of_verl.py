"""Commands of verl beside a copy of it: which configuration they are judged by, wherever the copy lies (TRL401)."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.settings import Settings

MAIN = (
    '@hydra.main(config_path="config", config_name="{}", version_base=None)\ndef main(config):\n    run_ppo(config)\n'
)
TRAINER = "import hydra\n" + MAIN.format("ppo_trainer")
RECIPE = "import hydra\nfrom verl.trainer.main_ppo import run_ppo\n" + MAIN.format("own")
CONFIG = "trainer:\n  project_name: a\n  extra: null\ndata:\n  train_files: a\n"
SEARCHED = "hydra:\n  searchpath:\n    - {}\ndefaults:\n  - ppo_trainer\n  - _self_\nmine:\n  ratio: 1\n"


def copy_in(folder: str, config: str = CONFIG) -> dict[str, str]:
    """The files of a copy whose package lies in a folder of the project."""
    return {
        f"{folder}verl/__init__.py": "",
        f"{folder}verl/trainer/__init__.py": "",
        f"{folder}verl/trainer/main_ppo.py": TRAINER,
        f"{folder}verl/trainer/config/ppo_trainer.yaml": config,
    }


def told(
    folder: Path, files: dict[str, str], script: str, words: str, module: str = "verl.trainer.main_ppo"
) -> list[str]:
    """What is said of the keys of a command that a script of the project runs."""
    before, _, name = script.rpartition("&&")
    files = {"pyproject.toml": "", **files, name.strip(): f"{before and before + chr(10)}python3 -m {module} {words}\n"}
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    found = check([str(folder)], Settings(str(folder))).findings
    return [
        key
        for finding in found
        if finding.code == "TRL401"
        for key in words.split()
        if f"`{key.split('=')[0]}`" in finding.message
    ]


FOLDERS = ["", "verl/", "third_party/verl/", "RL/", "a/b/c/"]
SCRIPTS = ["run.sh", "scripts/run.sh", "scripts/deep/er/run.sh"]


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("script", SCRIPTS)
def test_the_only_copy_counts(tmp_path: Path, folder: str, script: str):
    words = "trainer.project_name=b trainer.extra=1 data.train_files=c trainer.gone=1"
    assert told(tmp_path, copy_in(folder), script, words) == ["trainer.gone=1"]


@pytest.mark.parametrize("folder", FOLDERS[1:])
@pytest.mark.parametrize(
    "pin", ["verl==0.5.0", "verl", "verl>=0.4", "verl @ git+https://github.com/volcengine/verl.git@v0.5.0"]
)
def test_what_is_installed_goes_before_a_copy_elsewhere(tmp_path: Path, folder: str, pin: str):
    files = {**copy_in(folder), "requirements.txt": f"{pin}\n"}
    assert told(tmp_path, files, "scripts/run.sh", "trainer.total_epochs=1") == []  # of verl, and not of the copy


@pytest.mark.parametrize("folders", [("a/", "b/"), ("verl/", "old/verl/"), ("x/y/", "x/z/")])
def test_of_two_copies_nobody_knows_which(tmp_path: Path, folders: tuple[str, str]):
    files = {**copy_in(folders[0]), **copy_in(folders[1])}
    assert told(tmp_path, files, "scripts/run.sh", "trainer.gone=1") == []


@pytest.mark.parametrize("start", ["cd /opt/verl", "cd /your/path/to/RL", "cd /mnt/work/verl || exit 1"])
def test_another_checkout_has_a_copy_of_its_own(tmp_path: Path, start: str):
    assert told(tmp_path, copy_in("verl/"), f"{start}&&scripts/run.sh", "trainer.gone=1") == []


LISTED = "defaults:\n  - {}\n  - _self_\n" + CONFIG.replace("data:\n  train_files: a\n", "")


@pytest.mark.parametrize("choice", ["data@data: legacy_data", "data@data: ${kind}_data", "sub/data@data: legacy_data"])
@pytest.mark.parametrize("folder", ["", "RL/"])
def test_a_choice_that_is_not_there_leaves_its_package_alone_unknown(tmp_path: Path, choice: str, folder: str):
    config = LISTED.format(choice.replace("${kind}", "legacy"))
    words = "data.train_files=a data.anything.at.all=1 +data.more=1 trainer.gone=1 other=1"
    assert told(tmp_path, copy_in(folder, config), "run.sh", words) == ["trainer.gone=1", "other=1"]


def test_configs_that_are_not_there_are_said(tmp_path: Path):
    for choice, said in (("data@data: legacy_data", ["`data/legacy_data`"]), ("data@data: there", [])):
        folder = tmp_path / said[0].strip("`").replace("/", "_") if said else tmp_path / "whole"
        files = {**copy_in("", LISTED.format(choice)), "verl/trainer/config/data/there.yaml": "train_files: a\n"}
        told(folder, files, "run.sh", "data.train_files=a")
        notices = check([str(folder)], Settings(root=str(folder))).notices
        assert [name for name in said for one in notices if name in one.message] == said
        assert any("are not here" in one.message for one in notices) == bool(said)


@pytest.mark.parametrize("choice", ["data: legacy_data", "data@_global_: legacy_data"])
def test_a_choice_whose_package_nobody_knows_leaves_all_unknown(tmp_path: Path, choice: str):
    assert told(tmp_path, copy_in("", LISTED.format(choice)), "run.sh", "trainer.gone=1") == []


@pytest.mark.parametrize(
    "place", ["file://verl/trainer/config", "pkg://verl.trainer.config", "pkg://verl/trainer/config"]
)
@pytest.mark.parametrize("folder", ["", "verl/", "third_party/verl/"])
def test_a_recipe_finds_the_configs_of_the_copy_around_it(tmp_path: Path, place: str, folder: str):
    files = {
        **copy_in(folder),
        f"{folder}recipe/own/__init__.py": "",
        f"{folder}recipe/own/main_own.py": RECIPE,
        f"{folder}recipe/own/config/own.yaml": SEARCHED.format(place),
    }
    start = f"cd {folder}&&" if folder else ""
    words = "mine.ratio=2 trainer.project_name=b trainer.gone=1 mine.other=1"
    assert told(tmp_path, files, f"{start}run.sh", words, "recipe.own.main_own") == ["trainer.gone=1", "mine.other=1"]


OWN = "defaults:\n  - ppo_trainer\n  - _self_\nmine:\n  ratio: 1\nhydra:\n  searchpath:\n    - file://verl/trainer/config\n"
STARTS = {
    "of a variable with the working directory": ('DIR="$(pwd)"\n', '--config-path="$DIR/conf/own" --config-name=own'),
    "by way of two variables": ('DIR=$(pwd)\nCONF="$DIR/conf/own"\n', '--config-path="$CONF" --config-name=own'),
    "of the shell": ("", '--config-path="$PWD/conf/own" --config-name=own'),
    "of nobody knows what": ("", '--config-path="${ROOT}/conf/own" --config-name=own'),
    "in two words": ("", '--config-path "$PWD/conf/own" --config-name own'),
    "by its short name": ("", '-cp "$PWD/conf/own" -cn own'),
}


@pytest.mark.parametrize("script", ["run.sh", "scripts/run.sh"])
@pytest.mark.parametrize("start", STARTS)
def test_a_folder_of_configs_below_one_that_nobody_knows(tmp_path: Path, start: str, script: str):
    before, options = STARTS[start]
    files = {**copy_in(""), "conf/own/own.yaml": OWN}
    words = f"{options} mine.ratio=2 trainer.project_name=b trainer.gone=1 mine.other=1"
    assert told(tmp_path, files, f"{before.rstrip()}&&{script}", words) == ["trainer.gone=1", "mine.other=1"]


@pytest.mark.parametrize("options", [
    '--config-path="$PWD/conf/gone" --config-name=own', '--config-path="$PWD/conf/own" --config-name=gone',
    '--config-path="$PWD/conf/own" --config-name="$NAME"', '--config-path="$DIR" --config-name=own',
    '--config-path="$PWD/$KIND/own" --config-name=own', '--config-path="$PWD/conf/own"',
    '--config-dir="$PWD/conf/own" --config-name=own',
])  # fmt: skip
def test_a_folder_that_is_not_found(tmp_path: Path, options: str):
    files = {**copy_in(""), "conf/own/own.yaml": OWN}
    assert told(tmp_path, files, "run.sh", f"{options} trainer.gone=1") == []
