import pytest

from trl_lint.python.newer_syntax import is_newer_syntax


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
