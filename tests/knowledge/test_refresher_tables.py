"""How the tables of releases are written: from the index, by the archives, and what of them changed."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.version import Version

from trl_lint.knowledge import refresh
from trl_lint.knowledge.refresher import index, tables, trees
from trl_lint.knowledge.refresher.index import Archive, Contents
from trl_lint.knowledge.refresher.models import model_facts
from trl_lint.knowledge.refresher.tables import read_releases, read_table, write_tables
from trl_lint.knowledge.refresher.variables_build import render as render_variables

VERSIONS = ("0.9.6", "1.0.0", "1.1.0")


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tables, "rules_dir", lambda: str(tmp_path))
    return tmp_path


def test_what_became_of_a_table_is_told(rules: Path, capsys: pytest.CaptureFixture[str]):
    assert write_tables("api", ["trl"], lambda package: f"{package}\n") == 0
    assert write_tables("api", ["trl"], lambda package: f"{package}\n") == 0
    assert (rules / "api" / "trl.txt").read_bytes() == b"trl\n" and read_table("api", "trl") == "trl\n"
    assert capsys.readouterr().out == "api/trl.txt: 4 characters, changed\napi/trl.txt: 4 characters, as it was\n"


@pytest.mark.parametrize("error", [OSError("no such host"), zipfile.BadZipFile("torn")])
def test_a_table_that_cannot_be_made_stays_and_the_next_is_written(
    error: Exception, rules: Path, capsys: pytest.CaptureFixture[str]
):
    def text_of(package: str) -> str:
        if package == "trl":
            raise error
        return "new\n"

    write_tables("api", ["trl"], lambda package: "old\n")
    capsys.readouterr()
    assert write_tables("api", ["trl", "peft"], text_of) == 1
    assert (read_table("api", "trl"), read_table("api", "peft"), read_table("api", "verl")) == ("old\n", "new\n", "")
    assert capsys.readouterr().err == f"trl: {error}\n"


def test_releases_are_read_oldest_first_but_those_that_are_known(monkeypatch: pytest.MonkeyPatch):
    def archives(package: str, since: Version) -> list[Archive]:
        found = [Archive(package, Version(text), "", "", "") for text in VERSIONS]
        return [one for one in found if one.version >= since]

    def read(archive: Archive, is_wanted: Callable[[str], bool]) -> Contents:
        return Contents([str(archive.version)], {})

    monkeypatch.setattr(index, "archives", archives)
    monkeypatch.setattr(index, "read", read)
    every = Contents([], {}).members.__contains__
    assert [(version, contents.names) for version, contents in read_releases("trl", "0.9", every)] == [
        (version, [version]) for version in VERSIONS
    ]
    assert [version for version, _ in read_releases("trl", "1.0", every)] == ["1.0.0", "1.1.0"]
    known = ["0.9.6"]
    for version, _ in read_releases("trl", "0.9", every, known):
        known.append(version)  # as the conditions do, whose history is read on while it grows
    assert known == [*VERSIONS]


@pytest.mark.parametrize(
    ("package", "folders"),
    [
        ("trl", ["releases", "requirements", "api", "conditions", "values", "models"]),
        ("accelerate", ["releases", "requirements", "api", "conditions"]),
        ("numpy", ["releases", "requirements"]),
        ("pydantic", ["releases"]),
    ],
)
def test_one_command_writes_all_that_there_is_of_a_package(
    package: str, folders: list[str], monkeypatch: pytest.MonkeyPatch
):
    written: list[str] = []

    def write(folder: str, packages: list[str], text_of: Callable[[str], str]) -> int:
        written.extend(folder for _ in packages)
        return int(folder == "api")

    monkeypatch.setattr(refresh, "write_tables", write)
    assert refresh.main(["all", package]) == 1
    assert written == folders


def test_every_table_of_a_package_is_one_that_is_written():
    """What stands in a folder of the refresher is refreshed by `all`, and nothing but that is promised."""
    root = Path(tables.table_path("releases", "trl")).parent.parent
    for folder, table in refresh.TABLES.items():
        assert {path.stem for path in (root / folder).glob("*.txt")} == set(table.packages), folder


@pytest.mark.filterwarnings("error")
def test_a_file_is_parsed_silently_or_not_at_all():
    members = {"a.py": (0, rb'x = "\d"'), "new.py": (0, b"def ("), "null.py": (0, b"\0")}
    assert trees.tree_of(members, "a.py") is not None
    assert [trees.tree_of(members, path) for path in ("new.py", "null.py", "missing.py")] == [None, None, None]


def test_facts_of_models_have_one_order():
    """They come from sets, whose order is another one in each process: a refresh would move lines that say the same."""
    names = [f"column_{letter}" for letter in "qhzbxmcdaw"]
    source = f"class T:\n    def _set_signature_columns_if_needed(self):\n        self.columns = {names!r}\n".encode()
    facts = model_facts("trl", {"trl/trainer/x_trainer.py": (0, source)}, {})
    assert [name for name in facts["columns T"] if name != "+"] == sorted(names)
    layers = "".join(f"        self.{name} = nn.Linear(1, 1)\n" for name in names)
    modeling = f"class TForCausalLM:\n    def __init__(self):\n{layers}".encode()
    facts = model_facts("transformers", {"transformers/models/t/modeling_t.py": (0, modeling)}, {})
    assert [name for name in facts["family t"] if name != "+"] == sorted(names)


def test_variables_that_a_release_stopped_reading():
    """Not what comes back, nor what another file of the newest release names."""
    found = [
        ("1", {"X_A", "X_B", "X_C", "X_D"}),
        ("2", {"X_A", "X_C", "X_D"}),
        ("3", {"X_A", "X_B", "X_D"}),
        ("4", {"X_A", "X_B"}),
    ]
    text = render_variables("x", "X_", found, {"X_A", "X_B"})
    assert text.splitlines()[1:] == ["X_", "3 C", "4 D"]
    assert render_variables("x", "X_", found, {"X_C"}).splitlines()[1:] == ["X_", "4 D"]
