"""The tables of `rules/` that are kept as Python, held against the files."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli

from trl_lint.knowledge import compiled, rules_dir, toml_tables
from trl_lint.knowledge.toml_tables import COMPILED, compiled_text, read_table


def parsed(path: str) -> dict[str, object]:
    return tomli.loads((Path(rules_dir()) / path).read_text("utf-8"))


def test_the_written_tables_are_those_of_the_files():
    written = (Path(compiled.__file__)).read_text("utf-8")
    assert written == compiled_text(), "run `make docs`"


@pytest.mark.parametrize("path", [*COMPILED, "compat/renames.toml"])
def test_a_table_is_what_its_file_says(path: str):
    assert read_table(path) == parsed(path)


def test_a_compiled_table_needs_no_parser(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tomli, "loads", None)
    assert read_table(COMPILED[0])
    with pytest.raises(TypeError):
        read_table("compat/renames.toml")


def test_a_changed_file_counts_and_not_what_was_written_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(toml_tables, "rules_dir", lambda: str(tmp_path))
    (tmp_path / "defaults.toml").write_text('default = ["mine"]\n', "utf-8")
    assert read_table("defaults.toml") == {"default": ["mine"]}
