"""Files for a newer Python get a tree in which every place is that of the text, or none."""

from __future__ import annotations

import ast
import sys

import pytest
from fixture_cases import run_json

from trl_lint.finding import Location
from trl_lint.python.lowered import lowered_tree
from trl_lint.python.module import PythonModule, parse
from trl_lint.python.newer_syntax import UNCHECKED
from trl_lint.sources import Source, SourceError, SourceFile

# Each with the Python that reads it first.
NEWER = {
    "type": ((3, 12), "type Ids = list[int]\n"),
    "type, generic": ((3, 12), "type Pair[T, *Ts] = tuple[T, *Ts]\n"),
    "type, in a class": ((3, 12), "class A:\n    type Ids = list[int]\n"),
    "type, on the line of a class": ((3, 12), "class A: type Ids = int\n"),
    "type, behind another": ((3, 12), "x = 1; type Ids = int; y = 2\n"),
    "type, in brackets": ((3, 12), "type Ids = (\n    int\n    | None\n)\n"),
    "def": ((3, 12), "def first[T](xs: list[T]) -> T:\n    return xs[0]\n"),
    "def, bound": ((3, 12), "def first[T: (int, str)](xs: list[T]) -> T:\n    return xs[0]\n"),
    "def, lines": ((3, 12), "def first[\n    T,  # Größe\n    *Ts,\n](xs: T) -> T:\n    return xs\n"),
    "def, lines of Windows": ((3, 12), "def first[\r\n    T,\r\n](xs: T) -> T:\r\n    return xs\r\n"),
    "async def": ((3, 12), "async def first[**P](f: P) -> None: ...\n"),
    "class": ((3, 12), "class Box[T]:\n    x: T\n"),
    "class, bases": ((3, 12), "class Box[T: int, **P](Base, metaclass=Meta):\n    x: T\n"),
    "class, default": ((3, 13), "class Box[T = int]:\n    x: T\n"),
    "quotes": ((3, 12), 'print(f"{d["a"]}", 1)\n'),
    "other quotes": ((3, 12), "print(f'{d['a']}', 1)\n"),
    "three quotes": ((3, 12), 'print(f"""{d["""a"""]}\n{x}""", 1)\n'),
    "f in f": ((3, 12), 'print(f"{f"{f"{1}"}"}", 1)\n'),
    "raw f": ((3, 12), 'print(rf"\\d{d["a"]}", Rf"{d["b"]}", 1)\n'),
    "backslash": ((3, 12), 'print(f"{"\\n".join(xs)}", 1)\n'),
    "comment": ((3, 12), "print(f'''{\n    x  # why\n}''', 1)\n"),
    "lines": ((3, 12), 'print(f"lines: {\n    d["a"]\n    + 1\n} end", 1)\n'),
    "beyond ASCII": ((3, 12), 'print(f"Größe {d["größe"]} ü", "ü", größe)\n'),
    "joined": ((3, 12), 'print("a" f"{d["b"]}" "c", 1)\n'),
    "except": ((3, 14), "try:\n    f()\nexcept A, B:\n    g()\n"),
    "except, three": ((3, 14), "try:\n    f()\nexcept a.A , B,C:\n    g()\nexcept D:\n    pass\n"),
    "except*": ((3, 11), "try:\n    f()\nexcept* ValueError as e:\n    g()\n"),
    "except*, two": ((3, 14), "try:\n    f()\nexcept* A, B:\n    g()\n"),
    "t": ((3, 14), 'print(t"{a} b", 1)\n'),
    "t, quotes": ((3, 14), 'print(t"{a["b"]}", rt"{b}", 1)\n'),
    "star": ((3, 11), "x: A[*Ts] = 1\n"),
    "all": (
        (3, 14),
        "type A = int\ndef f[T](x: T) -> T:\n    try:\n"
        '        return f"{d["ü"]}"\n    except A, B:\n        return g(t"{x}")\n',
    ),
}
# What no Python reads, or what cannot be written otherwise with the same places.
NEVER = {
    "wrong": "def f[T](x: T:\n    pass\n",
    "wrong beside newer": "type A = int\nx = = 1\n",
    "print": "print 'a'\n",
    "old except": "try:\n    f()\nexcept A, e:\n    raise E, e\n",
    "except as": "try:\n    f()\nexcept A, B as e:\n    pass\n",
    "open": 'x = f"{d["a"]"\n',
    "deep": "type A = " + "(" * 5000 + ")" * 5000 + "\n",
    "long": "type A = int\nx = a" + "+a" * 60_000 + "\n",
    "empty type parameters": "def f[](x): pass\n",
    "nul": "type A = int\n\0",
}


def places(tree: ast.AST) -> set[tuple[str, str, int, int]]:
    """The names, calls and definitions of a tree outside of texts and of what is lowered away, with their places."""
    found = set()
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if type(node).__name__ in ("JoinedStr", "TemplateStr", "TypeVar", "ParamSpec", "TypeVarTuple", "Starred"):
            continue
        stack += ast.iter_child_nodes(node)
        name = getattr(node, "id", getattr(node, "name", getattr(node, "attr", "")))
        if isinstance(node, (ast.Name, ast.Call, ast.Attribute, ast.FunctionDef, ast.ClassDef, ast.arg, ast.Return)):
            found.add((type(node).__name__, str(name), node.lineno, node.col_offset))
    return found


@pytest.mark.parametrize("name", NEWER)
def test_places(name: str) -> None:
    version, text = NEWER[name]
    module = PythonModule(Source(SourceFile("/p/train.py", text.encode()), "python"))
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Name) and node.id != "_":
            assert module.segment(node) == node.id
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert module.segment(node).startswith(node.func.id + "(") and module.segment(node).endswith(")")
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            place = module.location(node)
            assert isinstance(place, Location) and node.name in text[place.start : place.end]
    if sys.version_info < version:
        assert lowered_tree(text) is not None


@pytest.mark.parametrize("name", [name for name, (version, _) in NEWER.items() if sys.version_info >= version])
def test_the_lowered_tree_is_like_the_real_one(name: str) -> None:
    text = NEWER[name][1]
    lowered = lowered_tree(text)
    assert lowered is None or places(lowered) == places(ast.parse(text))


def test_several_errors_are_a_tuple() -> None:
    tree = parse("try:\n    f()\nexcept a.A, B, C:\n    pass\n")
    (handler,) = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    assert isinstance(handler.type, ast.Tuple) and [ast.unparse(kind) for kind in handler.type.elts] == [
        "a.A",
        "B",
        "C",
    ]


def test_a_text_with_a_value_is_no_literal() -> None:
    module = PythonModule(Source(SourceFile("/p/train.py", b'x = f"{d["a"]}"\n'), "python"))
    (assignment,) = module.of(ast.Assign)
    assert isinstance(assignment.value, ast.JoinedStr) and not isinstance(module.value(assignment.value), str)


@pytest.mark.parametrize("name", NEVER)
def test_other_texts_are_refused(name: str) -> None:
    with pytest.raises(SourceError):
        parse(NEVER[name])


BAD = 'from trl import GRPOConfig\n\nargs = GRPOConfig(output_dir="out", kl_coefficient=0.1)\n'
GOOD = BAD.replace("kl_coefficient", "beta")


@pytest.mark.parametrize("name", NEWER)
@pytest.mark.parametrize(("code", "expected"), [(BAD, 1), (GOOD, 0)])
def test_rules_look_at_such_a_file(name: str, code: str, expected: int, tmp_path, monkeypatch, capsys) -> None:
    text = NEWER[name][1]
    (tmp_path / "train.py").write_bytes((text + code).encode())
    (tmp_path / "requirements.txt").write_text("trl==1.16.0\n")
    monkeypatch.chdir(tmp_path)
    _, report = run_json(["--select", "TRL001,TRL301"], capsys)
    line = text.count("\n") + 3
    assert [finding["start"]["line"] for finding in report["findings"]] == [line] * expected
    assert not any(notice["message"] == UNCHECKED for notice in report["notices"])


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python reads it")
def test_a_file_that_cannot_be_lowered_is_said_to_be_unchecked(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "train.py").write_text('x = f"{\n a#\n}"\n' + BAD)
    monkeypatch.chdir(tmp_path)
    status, report = run_json([], capsys)
    assert (status, report["findings"]) == (0, [])
    assert [(notice["path"], notice["message"]) for notice in report["notices"]] == [("train.py", UNCHECKED)]
