import sys

import pytest
from fixture_cases import run_json

from trl_lint.python.newer_syntax import UNCHECKED, is_newer_syntax


@pytest.mark.parametrize(
    ("text", "at", "newer"),
    [
        ("x = 1\ntype Ids = list[int]\ny = 2\n", "Ids", True),
        ("try:\n    f()\nexcept A, B:\n    pass\n", "A, B", True),
        ("if x:\n    f()\nelse:\n    type Ids = int\n", "Ids", True),
        ("def f[T](x: T) -> T:\n    return x\n", "[T]", True),
        ("x = = 1\ny = 1\n", "= 1", False),
        ("print 'hello'\n", "'hello'", False),
        ("f(\n", "(", False),
    ],
)
def test_newer_syntax_is_told_from_wrong_syntax(text, at, newer):
    assert is_newer_syntax(text, text.index(at)) is newer


@pytest.mark.parametrize(
    "text",
    ["x = " + "(" * 5000, "x = a" + "+a" * 60_000, "x = (\n" + "a +\n" * 60_000 + "a)\n", "x = a" + ".b" * 60_000],
    ids=["brackets", "one line", "many lines", "attributes"],
)
def test_endless_expressions_are_not_tried(text):
    assert is_newer_syntax(text, 5) is False


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python reads it")
def test_a_file_for_a_newer_python_is_said_to_be_unchecked(tmp_path, monkeypatch, capsys):
    text = "import trl\n\ntry:\n    trl.train()\nexcept ValueError, TypeError:\n    pass\n"
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    status, report = run_json([], capsys)
    assert (status, report["findings"]) == (0, [])
    assert [(notice["path"], notice["message"]) for notice in report["notices"]] == [("train.py", UNCHECKED)]
