"""Configurations put together from a project's own files. (Every release of verl gives what its history records.)"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from trl_lint.missing import UNKNOWN
from trl_lint.project import Project
from trl_lint.run.readers.hydra import MISSING
from trl_lint.run.readers.hydra_files import Program, compose, read_program
from trl_lint.settings import Settings
from trl_lint.sources import Files

MAIN = '@hydra.main(config_path="config", config_name="main.yaml", version_base=None)\ndef main(config):\n    pass\n'


def project(root: Path, files: Mapping[str, str]) -> Project:
    for name, text in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return Project(str(root), Files(), Settings(str(root)))


def composed(root: Path, files: Mapping[str, str], choices: Mapping[str, str] = {}) -> dict[str, Any] | None:
    found = project(root, {f"config/{name}.yaml": text for name, text in files.items()})
    return compose(Program(str(root / "config"), "main"), choices, found)


def test_the_decorator_names_folder_and_config(tmp_path: Path) -> None:
    found = project(tmp_path, {"run.py": f"import hydra\n\n\n{MAIN}", "config/main.yaml": "a: 1\n"})
    assert read_program(str(tmp_path / "run.py"), found) == Program(str(tmp_path / "config"), "main")


@pytest.mark.parametrize(
    "text",
    [
        MAIN.replace('"config"', "FOLDER"),
        MAIN.replace('"config"', '"pkg://verl.trainer.config"'),
        MAIN.replace('"config"', '"nowhere"'),
        MAIN + MAIN,
        "def main(): pass\n",
        "@hydra.main()\ndef main(config): pass\n",
        "@hydra.main(config_path='config'\n",
    ],
)
def test_other_decorators_are_unknown(text: str, tmp_path: Path) -> None:
    found = project(tmp_path, {"run.py": text, "config/main.yaml": "a: 1\n"})
    assert read_program(str(tmp_path / "run.py"), found) is None


def test_values_as_omegaconf_reads_them(tmp_path: Path) -> None:
    text = "lr: 1e-6\nname: '1e-6'\nmust: ???\ntaken: ${lr}\nnothing: null\nlist: [1]\nempty: {}\n"
    assert composed(tmp_path, {"main": text}) == {
        "lr": 1e-6, "name": "1e-6", "must": MISSING, "taken": UNKNOWN, "nothing": None, "list": [], "empty": {},
    }  # fmt: skip


GROUPS = {
    "main": "defaults:\n  - engine: one\n  - part@top.part: ${engine}_part\n  - _self_\ntop:\n  own: 1\n",
    "engine/one": "# @package _global_\nengine: one\n",
    "engine/two": "# @package _global_\nengine: two\n",
    "part/one_part": "defaults:\n  - ../deep@below: deep\n  - base\n  - _self_\nvalue: 1\n",
    "part/two_part": "defaults:\n  - base\nvalue: 2\n",
    "part/base": "value: 0\nbase: true\n",
    "deep/deep": "x: 1\n",
}


def test_groups_packages_and_interpolated_choices(tmp_path: Path) -> None:
    assert composed(tmp_path, GROUPS) == {
        "engine": "one",
        "top": {"own": 1, "part": {"below": {"x": 1}, "value": 1, "base": True}},
    }


def test_a_choice_of_the_command(tmp_path: Path) -> None:
    two = {"engine": "two", "top": {"own": 1, "part": {"value": 2, "base": True}}}
    assert composed(tmp_path, GROUPS, {"engine": "two"}) == two
    named = composed(tmp_path, GROUPS, {"part@top.part": "two_part"})
    assert named is not None
    assert named["top"]["part"] == {"value": 2, "base": True}


def test_an_override_in_a_defaults_list(tmp_path: Path) -> None:
    above = {**GROUPS, "one": GROUPS["main"], "main": "defaults:\n  - one\n  - override engine: two\n  - _self_\n"}
    found = composed(tmp_path, above)
    assert found is not None
    assert found["engine"] == "two"


def test_a_search_path_into_the_project(tmp_path: Path) -> None:
    main = "hydra:\n  searchpath:\n    - pkg://lib.config\ndefaults:\n  - base\n  - _self_\nb: 2\n"
    found = project(tmp_path, {"config/main.yaml": main, "lib/config/base.yaml": "a: 1\n"})
    assert compose(Program(str(tmp_path / "config"), "main"), {}, found) == {"a": 1, "b": 2}


def test_optional_and_null_choices(tmp_path: Path) -> None:
    text = "defaults:\n  - optional no: where\n  - some: null\n  - _self_\na: 1\n"
    assert composed(tmp_path, {"main": text}) == {"a": 1}


@pytest.mark.parametrize(
    ("text", "choices"),
    [
        ("defaults:\n  - missing\n", {}),
        ("defaults:\n  - group: ???\n", {}),
        ("defaults:\n  - group: ${unknown}\n", {}),
        ("defaults: x\n", {}),
        ("defaults:\n  - ../../out\n", {}),
        ("defaults:\n  - main\n", {}),  # itself, without end
        ("hydra:\n  searchpath:\n    - pkg://elsewhere.config\n", {}),
        ("hydra:\n  searchpath:\n    - file:///etc\n", {}),
        ("- a\n- b\n", {}),
        ("a: [\n", {}),
        ("a: 1\n", {"engine": "two"}),  # selects nothing
    ],
)
def test_what_is_not_understood_is_unknown(text: str, choices: Mapping[str, str], tmp_path: Path) -> None:
    assert composed(tmp_path, {"main": text}, choices) is None


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a: &a {x: {y: 1}, z: 1}\nb: {<<: *a, x: {v: 2}}\n", {"x": {"v": 2}, "z": 1}),
        ("a: &a {x: 1}\nc: &c {x: 1, z: 2}\nb: {<<: [*a, *c]}\n", {"x": 1, "z": 2}),
        ("a: &a {x: 1}\nc: &c {x: 2, z: 2}\nb: {<<: [*a, *c]}\n", {"x": UNKNOWN, "z": 2}),
        ("a: &a {x: 1}\nc: &c {x: 2, z: 2}\nb: {<<: [*a, *c], x: 3}\n", {"x": 3, "z": 2}),
    ],
)
def test_what_merge_keys_take_in(text: str, values: dict[str, Any], tmp_path: Path) -> None:
    found = composed(tmp_path, {"main": text})
    assert found is not None and found["b"] == values


@pytest.mark.parametrize(
    "line", ["x: *a{0}\n  y: *a{0}", "<<: [*a{0}, *a{0}]", "<<: *a{0}\n  x: *a{0}", "l: *a{0}\n  m: *a{0}"]
)
def test_a_config_that_doubles_with_each_line_is_unknown(line: str, tmp_path: Path) -> None:
    text = "a0: &a0 {k: 1}\n" + "".join(f"a{n}: &a{n}\n  {line.format(n - 1)}\n" for n in range(1, 60))
    assert composed(tmp_path, {"main": text}) is None


def test_a_config_that_holds_itself_is_unknown(tmp_path: Path) -> None:
    assert composed(tmp_path, {"main": "a: &a\n  <<: *a\n  self: *a\n  k: 1\n"}) is None
