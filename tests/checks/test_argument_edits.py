"""Taking an argument out of a call and putting one in, character for character."""

from __future__ import annotations

import ast

import pytest

from trl_lint.checks.drift._moves import edit_insertion, edit_removal
from trl_lint.finding import Edit
from trl_lint.fixes.apply import edited
from trl_lint.python.module import PythonModule
from trl_lint.sources import Source, SourceFile

REMOVED = {
    "f(x=1)\n": "f()\n",
    "f(x=1,)\n": "f()\n",
    "f(a, x=1)\n": "f(a)\n",
    "f(a, x=1, )\n": "f(a, )\n",
    "f(x=1, b=2)\n": "f(b=2)\n",
    "f(a, x=1, b=2)\n": "f(a, b=2)\n",
    "f(a, x=(1), b=2)  # why\n": "f(a, b=2)  # why\n",
    "f(\n    a,\n    x=1,\n    b=2,\n)\n": "f(\n    a,\n    b=2,\n)\n",
    "f(\n    a,\n    x=1\n)\n": "f(\n    a,\n)\n",
    "f(\n    a,\n    # first\n    x=[\n        1,\n    ],\n    b=2)\n": "f(\n    a,\n    # first\n    b=2)\n",
    "f(a, x=1,\n  b=2)\n": "f(a,\n  b=2)\n",
    "f(a,\n  x=1)\n": "f(a)\n",
    "f(a,\r\n  x=1,\r\n  b=2,\r\n)\r\n": "f(a,\r\n  b=2,\r\n)\r\n",
}
NOT_REMOVED = ("f(\n    a,\n    x=1,  # why\n    b=2,\n)\n", "f(a,  # why\n  x=1)\n", "f(x=1,\n  b=2)\n")

INSERTED = {
    "f()\n": "f(y=2)\n",
    "f(a)\n": "f(a, y=2)\n",
    "f(a,)\n": "f(a, y=2,)\n",
    "f(\n    a,\n    b=1,\n)\n": "f(\n    a,\n    b=1,\n    y=2,\n)\n",
    "f(\n    a,\n    b=1\n)\n": "f(\n    a,\n    b=1,\n    y=2\n)\n",
    "f(\n    a,\n    b=1,  # why\n    # end\n)\n": "f(\n    a,\n    b=1,  # why\n    y=2,\n    # end\n)\n",
    "f(\n    a, b=1,\n)\n": "f(\n    a, b=1, y=2,\n)\n",
    "f(\n    a,\n    b=1)\n": "f(\n    a,\n    b=1, y=2)\n",
    "f(\r\n\ta,\r\n)\r\n": "f(\r\n\ta,\r\n\ty=2,\r\n)\r\n",
    "f(\n    ä,\n    b='ü',  # ö\n)\n": "f(\n    ä,\n    b='ü',  # ö\n    y=2,\n)\n",
}
NOT_INSERTED = ("f(  # why\n)\n", "f(\n    a  # why\n)\n", "f(\n)\n")


def read(text: str) -> tuple[PythonModule, ast.Call]:
    module = PythonModule(Source(SourceFile("/p/train.py", text.encode()), "python"))
    return module, module.calls[0]


def remove(text: str) -> Edit | None:
    module, call = read(text)
    return edit_removal(call, next(keyword for keyword in call.keywords if keyword.arg == "x"), module)


def insert(text: str) -> Edit | None:
    module, call = read(text)
    return edit_insertion(call, "y", "2", module)


@pytest.mark.parametrize(("before", "after"), REMOVED.items())
def test_removed(before: str, after: str):
    edit = remove(before)
    assert edit is not None and edited(before, [edit]) == after


@pytest.mark.parametrize("text", NOT_REMOVED)
def test_not_removed(text: str):
    assert remove(text) is None


@pytest.mark.parametrize(("before", "after"), INSERTED.items())
def test_inserted(before: str, after: str):
    edit = insert(before)
    assert edit is not None and edited(before, [edit]) == after


@pytest.mark.parametrize("text", NOT_INSERTED)
def test_not_inserted(text: str):
    assert insert(text) is None
