from types import SimpleNamespace
from typing import Any

import pytest

from trl_lint.python.islands import parse_expression, rewrite, with_keyword, without_keyword
from trl_lint.python.module import PythonModule
from trl_lint.sources import Source, SourceError, SourceFile


def site_of(module: PythonModule) -> Any:
    return SimpleNamespace(module=module, project=SimpleNamespace(settings=SimpleNamespace(wants_edits=True)))


def changed(text: str, change) -> str:
    """The text after `change` of its first call, edited the way a fix would."""
    parsed = PythonModule(Source(SourceFile("/p/train.py", text.encode()), "python"))
    edit = rewrite(site_of(parsed), parsed.calls[0], change)
    return text if edit is None else text[: edit.start] + edit.content + text[edit.end :]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f()", "f(k=1)"),
        ("f(a)", "f(a, k=1)"),
        ("f(a,)", "f(a, k=1,)"),
        ("f(a, k=0)", "f(a, k=1)"),
        ("f( a , b )", "f( a , b , k=1 )"),
        ("f(\n    a,\n    b,\n)", "f(\n    a,\n    b,\n    k=1,\n)"),
        ("f(\n    a,\n    b\n)", "f(\n    a,\n    b,\n    k=1\n)"),
        ("f(\n    a,\n)", "f(\n    a,\n    k=1,\n)"),
        ("f(  # why\n    a,  # first\n    b,  # second\n)", "f(  # why\n    a,  # first\n    b, k=1,  # second\n)"),
        ("x = [f\n  .g()]", "x = [f\n  .g(k=1)]"),
    ],
)
def test_a_keyword_joins_in_the_style_of_the_call(before, after):
    assert changed(before, lambda call: with_keyword(call, "k", "1")) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(k=1)", "f()"),
        ("f(a, k=1)", "f(a)"),
        ("f(k=1, b=2)", "f(b=2)"),
        ("f(\n    a,\n    k=1,\n)", "f(\n    a,\n)"),
        ("f(a)", "f(a)"),
    ],
)
def test_a_keyword_leaves_without_a_trace(before, after):
    assert changed(before, lambda call: without_keyword(call, "k")) == after


def test_only_the_changed_characters_are_edited():
    text = "f(a, b=compute(  1 ,2))"
    parsed = PythonModule(Source(SourceFile("/p/train.py", text.encode()), "python"))
    edit = rewrite(site_of(parsed), parsed.calls[0], lambda call: with_keyword(call, "k", "1"))
    assert (edit.start, edit.end, edit.content) == (len(text) - 1, len(text) - 1, ", k=1")


def test_what_libcst_refuses_is_a_source_error():
    with pytest.raises(SourceError):
        parse_expression("f(a b)")
