"""Places inside f-strings are the same in every Python: the whole string for its parts, their own for expressions."""

from __future__ import annotations

import ast

import pytest

from trl_lint.python.module import PythonModule
from trl_lint.sources import Source, SourceFile

# A text, and what is marked in it: `«` and `»` stand around the f-string that holds all parts and fields.
TEXTS = (
    'x = «f"a{c}b"»\n',
    'x = «f"{a!r:>{b}}"»\n',
    'x = («f"aa"\n     f"b{c}d"»)\n',
    'x = «f"""\n  {c} {d:x}\n"""»\n',
    'x = «"a" f"{c}d"»\n',
    'x = «f"é{c}"»\n',
)


@pytest.mark.parametrize("marked", TEXTS)
def test_the_parts_stand_where_the_whole_does(marked: str):
    start, end = marked.index("«"), marked.index("»") - 1
    text = marked.replace("«", "").replace("»", "")
    module = PythonModule(Source(SourceFile("/p/a.py", text.encode()), "python"))
    parts = [node for node in ast.walk(module.tree) if isinstance(node, (ast.JoinedStr, ast.FormattedValue))]
    parts += [node for node in ast.walk(module.tree) if isinstance(node, ast.Constant)]
    assert len(parts) > 1
    assert {module.span(part) for part in parts} == {(start, end)}


@pytest.mark.parametrize(
    "text",
    ['x = f"a{C(b=1)}"\n', 'x = f"{a:{C(b=1)}}"\n', 'x = (f"a"\n  f"b{C(b=1)}")\n', "x = f'é{f\"{C(b=1)}\"}'\n"],
)
def test_an_expression_stands_at_its_own_place(text: str):
    module = PythonModule(Source(SourceFile("/p/a.py", text.encode()), "python"))
    (call,) = module.calls
    assert module.segment(call) == "C(b=1)"
    assert module.segment(call.keywords[0].value) == "1"


def test_an_f_string_in_another_one_stands_at_its_own_place():
    text = "x = f'a{f\"{b}c\"}'\n"
    module = PythonModule(Source(SourceFile("/p/a.py", text.encode()), "python"))
    inner = [node for node in ast.walk(module.tree) if isinstance(node, ast.JoinedStr)][1]
    assert module.segment(inner) == 'f"{b}c"' and module.segment(inner.values[-1]) == 'f"{b}c"'
