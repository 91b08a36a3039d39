"""Settings: where they come from, which rules they switch on, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trl_lint import tracked
from trl_lint.paths import Glob
from trl_lint.selection import Selection, SelectorError, is_selected, read_selectors
from trl_lint.settings import Settings, find_config, load, per_file_ignore, settings_for
from trl_lint.settings_file import SettingsError, read_targets


@pytest.fixture(autouse=True)
def fresh_search():
    tracked.forget()


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


# -- which file -----------------------------------------------------------------------------------------------------


def test_the_nearest_file_wins(tmp_path: Path):
    write(tmp_path / "pyproject.toml", "[tool.trl-lint]\nignore = ['TRL103']\n")
    near = write(tmp_path / "a" / "trl-lint.toml", "ignore = ['TRL405']\n")
    script = write(tmp_path / "a" / "b" / "train.py", "")
    ((settings, paths),) = settings_for([str(script)])
    assert (settings.config, paths) == (str(near), [str(script)])
    assert settings.is_selected("TRL103") and not settings.is_selected("TRL405")


def test_dotted_file_before_plain_before_pyproject(tmp_path: Path):
    for name in (".trl-lint.toml", "trl-lint.toml"):
        write(tmp_path / name, "")
    write(tmp_path / "pyproject.toml", "[tool.trl-lint]\n")
    for name in (".trl-lint.toml", "trl-lint.toml", "pyproject.toml"):
        tracked.forget()
        assert find_config(str(tmp_path)) == str(tmp_path / name)
        (tmp_path / name).unlink()


def test_a_pyproject_of_others_is_passed_by(tmp_path: Path):
    mine = write(tmp_path / "pyproject.toml", "[tool.trl-lint]\n")
    write(tmp_path / "a" / "pyproject.toml", "[project]\nname = 'x'\ndependencies = ['trl-lint']\n")
    write(tmp_path / "a" / "b" / "pyproject.toml", "[project\n")
    assert find_config(str(tmp_path / "a" / "b")) == str(mine)


def test_paths_are_grouped_by_their_settings(tmp_path: Path):
    for name in ("a", "b"):
        write(tmp_path / name / "trl-lint.toml", "")
    paths = [str(tmp_path / name) for name in ("a", "b", "a/x.py")]
    assert [members for _, members in settings_for(paths)] == [[paths[0], paths[2]], [paths[1]]]


def test_isolated_and_config(tmp_path: Path):
    write(tmp_path / "trl-lint.toml", "ignore = ['TRL103']\n")
    other = write(tmp_path / "other.toml", "ignore = ['TRL405']\n")
    ((isolated, _),) = settings_for([str(tmp_path)], isolated=True)
    assert isolated.is_selected("TRL103")
    ((named, _),) = settings_for([str(tmp_path)], config=str(other))
    assert named.is_selected("TRL103") and not named.is_selected("TRL405")


def test_no_toml_reader_without_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(tmp_path / "pyproject.toml", "[project]\nname = 'x'\n")
    monkeypatch.setitem(sys.modules, "tomli", None)  # importing it would fail now
    monkeypatch.setattr("os.path.dirname", lambda path: path)  # nothing above is looked at
    assert find_config(str(tmp_path)) is None


# -- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("fix = true\nselct = ['TRL1']\n", 2, "unknown setting `selct`; did you mean `select`?"),
        ("extend_select = ['TRL1']\n", 1, "did you mean `extend-select`?"),
        ("quux = 1\n", 1, "unknown setting `quux`"),
        ("\n\nselect = 'TRL1'\n", 3, "`select`: expected a list of strings, not a string"),
        ("select = ['TRL1', 2]\n", 1, "expected a list of strings"),
        ("select = ['TRL1O3']\n", 1, "unknown rule selector `TRL1O3`; did you mean `TRL103`?"),
        ("ignore = ['E501']\n", 1, "unknown rule selector `E501`"),
        ("fix = 'yes'\n", 1, "`fix`: expected true or false, not a string"),
        ("output-format = 'jsn'\n", 1, "did you mean `json`?"),
        ("target = { trl = 1.16 }\n", 1, "expected versions in quotes"),
        ("target = ['trl>=1']\n", 1, "`trl>=1` is not of the form PACKAGE==VERSION"),
        ("target = { trl = 'new' }\n", 1, "`new` is not a version"),
        ("baseline = ''\n", 1, "expected a string, not an empty string"),
        ("exclude = true\n", 1, "expected a list of strings, not a boolean"),
        ("per-file-ignores = ['a']\n", 1, "expected a table of patterns"),
        ("[per-file-ignores]\n'tests/*' = ['TRL1O3']\n", 1, "`tests/*`: unknown rule selector"),
        ("select = [\n", 2, "not valid TOML"),
        (f"select = {'9' * 5000}\n", 2, "not valid TOML"),
        (f"select = {'[' * 5000}\n", 2, "not valid TOML"),
    ],
)
def test_mistakes_name_file_and_line(text: str, line: int, message: str, tmp_path: Path):
    path = write(tmp_path / "trl-lint.toml", text)
    with pytest.raises(SettingsError) as caught:
        load(str(path))
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


def test_the_line_is_that_of_our_table(tmp_path: Path):
    text = "[tool.other]\nselct = 1\n\n[tool.trl-lint]\nfix = true\nselct = []\n"
    path = write(tmp_path / "pyproject.toml", text)
    with pytest.raises(SettingsError, match=r"pyproject\.toml:6: unknown setting `selct`"):
        load(str(path))


def test_a_missing_config_file(tmp_path: Path):
    with pytest.raises(SettingsError, match="no such file"):
        load(str(tmp_path / "nowhere.toml"))


# -- values ---------------------------------------------------------------------------------------------------------


def test_every_setting_is_read(tmp_path: Path):
    path = write(
        tmp_path / "pyproject.toml",
        """
        [tool.trl-lint]
        select = ["TRL1"]
        extend-select = ["TRL9"]
        ignore = ["TRL103"]
        exclude = ["third_party"]
        extend-exclude = ["old"]
        target = { trl = "1.16.0", flash_attn = "2.6.3" }
        baseline = "known.json"
        output-format = "concise"
        fix = true
        unsafe-fixes = true
        show-fixes = true
        [tool.trl-lint.per-file-ignores]
        "tests/*" = ["TRL1"]
        """,
    )
    settings = load(str(path))
    assert [settings.is_selected(code) for code in ("TRL101", "TRL103", "TRL201", "TRL901")] == [
        True,
        False,
        False,
        True,
    ]
    assert not settings.is_enabled("TRL101", str(tmp_path / "tests" / "a.py"))
    assert settings.is_excluded(str(tmp_path / "third_party")) and settings.is_excluded(str(tmp_path / "old"))
    assert not settings.is_excluded(str(tmp_path / ".venv")), "`exclude` replaces the usual ones"
    assert settings.targets == {"trl": "1.16.0", "flash-attn": "2.6.3"}
    assert settings.baseline == str(tmp_path / "known.json")
    assert (settings.output_format, settings.fix, settings.unsafe_fixes, settings.show_fixes) == (
        "concise",
        True,
        True,
        True,
    )


def test_the_command_line_comes_on_top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = write(
        tmp_path / "a" / "trl-lint.toml", "select = ['TRL1']\nfix = true\nbaseline = 'x'\ntarget = ['trl==1']\n"
    )
    monkeypatch.chdir(tmp_path)
    settings = load(str(path), {"select": ("TRL4",), "fix": False, "baseline": "y", "target": {"vllm": "0.9"}})
    assert not settings.is_selected("TRL103") and settings.is_selected("TRL405")
    assert not settings.fix
    assert settings.baseline == str(tmp_path / "y")
    assert settings.targets == {"trl": "1", "vllm": "0.9"}
    assert settings.is_what_if


def test_targets_as_list_and_table():
    assert read_targets(["trl==1.16.0", "Flash_Attn == 2.6.3"]) == {"trl": "1.16.0", "flash-attn": "2.6.3"}


# -- selection ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layers", "on", "off"),
    [
        ([], ["TRL103"], ["TRL901"]),
        ([Selection(select=("TRL1",))], ["TRL103"], ["TRL405", "TRL901"]),
        ([Selection(select=("ALL",))], ["TRL103", "TRL901"], []),
        ([Selection(select=("TRL",))], ["TRL103"], ["TRL901"]),
        ([Selection(ignore=("TRL1",))], ["TRL405"], ["TRL103"]),
        ([Selection(select=("TRL1",), ignore=("TRL103",))], ["TRL101"], ["TRL103"]),
        ([Selection(select=("TRL103",), ignore=("TRL1",))], ["TRL103"], ["TRL101"]),
        ([Selection(select=("TRL103",), ignore=("TRL103",))], [], ["TRL103"]),
        ([Selection(extend_select=("TRL901",))], ["TRL103", "TRL901"], ["TRL902"]),
        ([Selection(ignore=("TRL103",)), Selection(select=("TRL1",))], ["TRL103"], ["TRL405"]),
        ([Selection(select=("TRL1",)), Selection(ignore=("TRL103",))], ["TRL101"], ["TRL103", "TRL405"]),
        ([Selection(select=("TRL1",)), Selection(extend_select=("TRL4",))], ["TRL101", "TRL405"], ["TRL201"]),
    ],
)
def test_the_longest_selector_decides(layers: list[Selection], on: list[str], off: list[str]):
    assert [code for code in on + off if is_selected(code, layers)] == on


def test_selectors_are_checked():
    assert read_selectors(["TRL1, TRL103", "ALL", "TRL9"]) == ("TRL1", "TRL103", "ALL", "TRL9")
    with pytest.raises(SelectorError, match="did you mean `TRL103`"):
        read_selectors(["trl103"])


# -- patterns -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "/p/a/b.py", True),
        ("b.py", "/p/a/b.py", True),
        ("a/*.py", "/p/a/b.py", True),
        ("a/*.py", "/p/x/a/b.py", False),
        ("**/a/*.py", "/p/x/a/b.py", True),
        ("**/a/*.py", "/p/a/b.py", True),
        ("a/**", "/p/a/x/b.py", True),
        ("./a/b.py", "/p/a/b.py", True),
        ("a", "/p/x/a", True),
        ("a/", "/p/a", True),
        ("x/a", "/p/a", False),
        ("[ab].py", "/p/b.py", True),
        ("[!ab].py", "/p/b.py", False),
        ("/p/a/b.py", "/p/a/b.py", True),
        ("?.py", "/p/ab.py", False),
        ("[z-a].py", "/p/b.py", False),
    ],
)
def test_patterns(pattern: str, path: str, matches: bool):
    assert Glob(pattern, "/p").matches(path) is matches


def test_a_folder_with_brackets_in_its_name_is_no_pattern():
    assert Glob("a/*.py", "/p[1]").matches("/p[1]/a/b.py")
    assert not Glob("a/*.py", "/p[1]").matches("/p1/a/b.py")


def test_per_file_ignores_can_be_negated():
    settings = Settings(root="/p", per_file_ignores=[per_file_ignore("!train/**", ("TRL4",), "/p")])
    assert settings.is_enabled("TRL405", "/p/train/a.yaml") and not settings.is_enabled("TRL405", "/p/b.yaml")
    assert settings.is_enabled("TRL103", "/p/b.yaml")
