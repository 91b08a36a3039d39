"""Settings that extend those of another file, the commands that show what holds, and the schema of them all."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import settings_schema
import tomli
from command_line import SCRIPT, Shell
from documents import settings_example

from trl_lint.settings import load
from trl_lint.settings_file import Reader, SettingsError

TEAM = """\
ignore = ["TRL203"]
extend-select = ["TRL9"]
baseline = "known.json"
exclude = ["third_party"]
target = { trl = "1.16.0" }
per-file-ignores = { "old/**" = ["TRL2"] }
"""
CHAIN = {"app__a": 'extend = "b0.toml"\n'} | {f"app__b{n}": f'extend = "b{n + 1}.toml"\n' for n in range(9)}


def lay(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder / "app" / "trl-lint.toml"


def test_a_file_comes_on_top_of_the_one_it_extends(tmp_path: Path):
    own = 'extend = "../team/shared.toml"\nextend-select = ["TRL8"]\nignore = []\ntarget = { vllm = "0.9.1" }\n'
    reader = Reader(str(lay(tmp_path, app__trl_lint=own, team__shared=TEAM).with_name("trl_lint.toml")))
    found = reader.read()
    assert found["ignore"] == () and found["extend-select"] == ("TRL9", "TRL8")
    assert found["target"] == {"trl": "1.16.0", "vllm": "0.9.1"}
    assert found["baseline"] == str(tmp_path / "team" / "known.json"), "the path of a file counts from where it stands"
    assert Path(reader.origins["baseline"]).name == "shared.toml"
    assert Path(reader.origins["ignore"]).name == "trl_lint.toml"


def test_patterns_of_an_extended_file_count_from_the_project(tmp_path: Path):
    config = lay(tmp_path, team__shared=TEAM)
    config.parent.mkdir()
    config.write_text('extend = "../team/shared.toml"\n', "utf-8")
    settings = load(str(config))
    assert settings.is_excluded(str(tmp_path / "app" / "third_party"))
    assert not settings.is_enabled("TRL201", str(tmp_path / "app" / "old" / "requirements.txt"))
    assert settings.is_enabled("TRL201", str(tmp_path / "team" / "old" / "requirements.txt"))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"app__a": 'extend = "b.toml"\n'}, "a.toml:1: `extend`: no such file"),
        ({"app__a": 'extend = "."\n'}, "a.toml:1: `extend`: no such file"),
        ({"app__a": 'extend = "a.toml"\n'}, "`extend`: it extends itself"),
        ({"app__a": 'extend = "b.toml"\n', "app__b": 'extend = "a.toml"\n'}, "b.toml:1: `extend`: it extends itself"),
        ({"app__a": "extend = 1\n"}, "`extend`: expected a string"),
        ({"app__a": 'extend = "pyproject.toml"\n', "app__pyproject": "[tool.ruff]\n"}, "has no `[tool.trl-lint]`"),
        ({"app__a": 'extend = "b.toml"\n', "app__b": "extend-selct = []\n"}, "b.toml:1: unknown setting"),
        (
            {"app__a": 'extend = "b0.toml"\n'} | {f"app__b{n}": f'extend = "b{n + 1}.toml"\n' for n in range(9)},
            "8 files",
        ),
    ],
)
def test_what_cannot_be_extended_is_refused(tmp_path: Path, texts: dict[str, str], message: str):
    lay(tmp_path, **texts)
    with pytest.raises(SettingsError) as error:
        Reader(str(tmp_path / "app" / "a.toml")).read()
    assert message in str(error.value)


def test_a_report_is_not_kept_when_the_extended_file_changes(sh: Shell):
    sh.write("train.py", SCRIPT)
    sh.write("trl-lint.toml", 'extend = "team.toml"\n')
    team = sh.write("team.toml", "")
    assert sh("--output-format", "json").codes == ["TRL103"]
    team.write_text('ignore = ["TRL103"]\n', "utf-8")
    assert sh("--output-format", "json").codes == []


def test_shown_settings_say_where_they_come_from_and_can_be_read_again(sh: Shell):
    sh.write("trl-lint.toml", 'extend = "team.toml"\nhints = true\n')
    sh.write("team.toml", TEAM.replace('baseline = "known.json"\n', ""))
    done = sh("--show-settings", "--fail-on", "error")
    lines = {line.partition(" = ")[0]: line for line in done.out.splitlines()}
    assert done.status == 0 and done.out.startswith("# of .\n")
    assert lines["hints"].endswith("# trl-lint.toml") and lines["ignore"].endswith("# team.toml")
    assert lines["fail-on"].endswith("# the command line") and lines["fix"].endswith("# the default")
    sh.write("again.toml", done.out)
    assert Reader(str(sh.folder / "again.toml")).read()["target"] == {"trl": "1.16.0"}


def test_shown_files_are_those_that_a_run_reads(sh: Shell):
    for name in ("train.py", "recipes/a.yaml", "notes.bin", "build/x.py", "requirements.txt"):
        sh.write(name, "")
    done = sh("--show-files")
    assert (done.status, done.out.split()) == (0, ["recipes/a.yaml", "requirements.txt", "train.py"])
    assert sh("--show-files", "gone.py").status == 2
    assert sh("--show-files", "--fix").status == sh("--show-files", "--show-settings").status == 2


def test_the_schema_is_fresh_and_takes_what_the_settings_take():
    assert settings_schema.SCHEMA.read_text("utf-8") == settings_schema.written(), "`make docs` writes it"
    schema = settings_schema.schema()
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(tomli.loads(settings_example())["tool"]["trl-lint"], schema)


@pytest.mark.parametrize(
    "text", ["fixx = true", "fix = 1", 'select = "TRL1"', 'select = ["E501"]', 'fail-on = "low"', 'output-format = "x"']
)
def test_the_schema_refuses_what_the_settings_refuse(tmp_path: Path, text: str):
    path = tmp_path / "trl-lint.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(SettingsError):
        Reader(str(path)).read()
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(json.dumps(tomli.loads(text))), settings_schema.schema())
