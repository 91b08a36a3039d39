"""The reader of fixture expectations: a harness that overlooks something would make every fixture worthless."""

from __future__ import annotations

from pathlib import Path

from documents import blocks, headings
from fixture_cases import Case, Expectation, unmatched


def case(folder: Path, **files: str) -> Case:
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content, "utf-8", newline="")
    return Case(folder)


def test_comments_and_sidecars(tmp_path: Path):
    found = case(
        tmp_path,
        train__py="import trl\r\nx = 1  # expect: TRL101, TRL203[warning]\r\n",
        nb__ipynb='{"cells": ["# expect: TRL999"]}',
        nb__ipynb__expect="2:1 TRL101\n# a comment\n",
        ds__json__expect="3 TRL602[error]\n",
        ds__json="{}",
        train__py__fixed="x = 2  # expect: TRL101\n",
    )
    assert found.expectations() == [
        Expectation("ds.json", None, 3, "TRL602", "error"),
        Expectation("nb.ipynb", 2, 1, "TRL101"),
        Expectation("train.py", None, 2, "TRL101"),
        Expectation("train.py", None, 2, "TRL203", "warning"),
    ]
    assert list(found.fixed()) == ["train.py"]


def test_a_copy_has_the_project_alone(tmp_path: Path):
    (tmp_path / "source").mkdir()
    project = case(tmp_path / "source", a__py="", a__py__fixed="", a__py__expect="", fixture__toml="only = true")
    assert [path.name for path in project.copy_to(tmp_path / "copy").iterdir()] == ["a.py"]
    assert project.args()[0] == "--select"


ERROR = Expectation("a.py", None, 1, "TRL101", "error")


def test_a_level_counts_only_where_it_is_written():
    assert unmatched([ERROR._replace(level="")], [ERROR]) == ([], [])
    assert unmatched([ERROR._replace(level="warning")], [ERROR]) == (
        ["a.py: line 1: TRL101[warning]"],
        ["a.py: line 1: TRL101[error]"],
    )


def test_missing_doubled_and_unexpected_findings_are_noticed():
    assert unmatched([ERROR], []) == (["a.py: line 1: TRL101[error]"], [])
    assert unmatched([], [ERROR]) == ([], ["a.py: line 1: TRL101[error]"])
    assert unmatched([ERROR], [ERROR, ERROR]) == ([], ["a.py: line 1: TRL101[error]"])
    assert unmatched([ERROR], [ERROR._replace(line=2)]) != ([], [])
    assert unmatched([ERROR], [ERROR._replace(cell=1)]) != ([], [])


PAGE = """# Title
## Example
```python title="a/b.py"
# not a heading
```
````markdown
```
inner
```
````
## Other
```console
$ trl-lint .
```
"""


def test_blocks_and_headings():
    assert [(b.language, b.title, b.section) for b in blocks(PAGE)] == [
        ("python", "a/b.py", "Example"),
        ("markdown", "", "Example"),
        ("console", "", "Other"),
    ]
    assert headings(PAGE) == ["Example", "Other"]
