"""Which Parquet files of verl a script of the project certainly makes."""

from __future__ import annotations

from trl_lint.budget import taken_notes
from trl_lint.checks.configs._verl_scorers import data_made
from trl_lint.python.module import PythonModule
from trl_lint.sources import Source, SourceFile


def module_of(folders: int, files: int) -> PythonModule:
    text = (
        "rows = [{'data_source': 'mine/math', 'prompt': 'a/b\\nc'}]\n"
        f"folders = {[f'data{number}' for number in range(folders)]}\n"
        f"files = {[f'part{number}.parquet' for number in range(files)]}\n"
    )
    return PythonModule(Source(SourceFile("make.py", text.encode()), "python"))


def test_each_file_may_stand_in_each_folder():
    made = data_made(module_of(2, 2))
    pairs = {(folder, name) for folder, name in made.files if folder.startswith("data")}
    assert pairs == {(f"data{folder}", f"part{name}.parquet") for folder in range(2) for name in range(2)}
    assert not any("\n" in folder for folder, _ in made.files)
    assert made.source == "mine/math"


def test_what_is_left_out_is_said():
    taken_notes()
    assert not data_made(module_of(100, 20)).files
    assert [note.message for note in taken_notes()] == [
        "work on it was cut short: it names too many folders and Parquet files to tell which data of verl it makes"
    ]
