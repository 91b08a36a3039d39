"""Which places that bind a name reach its use, and under which tests."""

from __future__ import annotations

import ast

import pytest

from trl_lint.python.module import PythonModule
from trl_lint.python.reaching import Branch, final, reaching
from trl_lint.run.trainer.changes import touches
from trl_lint.sources import Source, SourceFile


def module_of(text: str) -> PythonModule:
    return PythonModule(Source(SourceFile("/p/train.py", text.encode()), "python"))


def seen(text: str) -> list[str]:
    """The lines whose binding of `x` reaches the last read of `x`, each with its tests; "…" where there may be more."""
    module = module_of(text)
    uses = [n for n in module.parents if isinstance(n, ast.Name) and n.id == "x" and isinstance(n.ctx, ast.Load)]
    found = reaching(module, "x", max(uses, key=lambda node: (node.lineno, node.col_offset)))
    lines = sorted(
        f"{one.site.lineno}{''.join(map(shown, one.under))}"  # type: ignore[attr-defined]
        for one in found.sites
    )
    return lines if found.complete else [*lines, "…"]


def shown(branch: Branch) -> str:
    test = ast.unparse(branch.test) if isinstance(branch.test, ast.expr) else type(branch.test).__name__
    return f" {'' if branch.truth else 'not '}{test}"


CASES = {
    "one assignment": ("x = 1\nprint(x)\n", ["1"]),
    "the last of two": ("x = 1\nx = 2\nprint(x)\n", ["2"]),
    "its own right side": ("x = 1\nx = f(x)\n", ["1"]),
    "under a test": ("x = 1\nif a:\n    x = 2\nprint(x)\n", ["1 not a", "3 a"]),
    "in both arms": ("x = 1\nif a:\n    x = 2\nelse:\n    x = 3\nprint(x)\n", ["3 a", "5 not a"]),
    "in an elif": (
        "x = 1\nif a:\n    x = 2\nelif b:\n    x = 3\nprint(x)\n",
        ["1 not a not b", "3 a", "5 not a b"],
    ),
    "inside the same arm": ("x = 1\nif a:\n    x = 2\n    print(x)\n", ["3"]),
    "inside the other arm": ("x = 1\nif a:\n    x = 2\nelse:\n    print(x)\n", ["1"]),
    "an arm that leaves": (
        "def f():\n    x = 1\n    if a:\n        x = 2\n        return\n    print(x)\n",
        ["2"],
    ),
    "two tests": ("x = 1\nif a:\n    x = 2\nif b:\n    x = 3\nprint(x)\n", ["1 not a not b", "3 a not b", "5 b"]),
    "the guard of a script": ("if __name__ == '__main__':\n    x = 1\nprint(x)\n", ["2"]),
    "an import for types": ("if TYPE_CHECKING:\n    import x\nelse:\n    x = y()\nprint(x)\n", ["2"]),
    "a loop may not run": ("x = 1\nfor y in z:\n    x = 2\nprint(x)\n", ["1", "3 z"]),
    "a turn before": ("x = 1\nfor y in z:\n    print(x)\n    x = 2\n", ["1", "4 For"]),
    "the target of a loop": ("x = 1\nfor x in z:\n    print(x)\n", ["2"]),
    "a with": ("with open(f) as x:\n    print(x)\n", ["1"]),
    "in a with": ("with a:\n    x = 1\nprint(x)\n", ["2"]),
    "try": ("try:\n    x = 1\nexcept E:\n    x = 2\nprint(x)\n", ["2 not ExceptHandler", "4 ExceptHandler"]),
    "an except that leaves": ("def f():\n    try:\n        x = 1\n    except E:\n        raise\n    print(x)\n", ["3"]),
    "finally": ("try:\n    x = 1\nfinally:\n    x = 2\nprint(x)\n", ["4"]),
    "match": (
        "x = 0\nmatch a:\n    case 1:\n        x = 1\nprint(x)\n",
        ["1", "4 match_case"],
    ),
    "a parameter": ("def f(x):\n    print(x)\n", ["1"]),
    "a parameter that is replaced": ("def f(x):\n    x = 1\n    print(x)\n", ["2"]),
    "a parameter under a test": (
        "def f(x=None):\n    if x is None:\n        x = 1\n    print(x)\n",
        ["1 not x is None", "3 x is None"],
    ),
    "of the module": ("x = 1\ndef f():\n    print(x)\n", ["1"]),
    "of the module, bound twice": ("x = 1\ndef f():\n    print(x)\nx = 2\n", ["1", "4"]),
    "a comprehension": ("x = 1\n[x for y in z]\n", ["1"]),
    "a comprehension of its own": ("x = 1\n[x for x in z]\n", ["2"]),
    "a walrus": ("if (x := f()):\n    print(x)\n", ["…"]),
    "imported": (
        "try:\n    from a import x\nexcept E:\n    x = None\nprint(x)\n",
        ["2 not ExceptHandler", "4 ExceptHandler"],
    ),
    "nowhere": ("print(x)\n", ["…"]),
    "shared by global": ("x = 1\ndef f():\n    global x\n    x = 2\nprint(x)\n", ["…"]),
    "in another function": ("def g():\n    x = 1\ndef f():\n    print(x)\n", ["…"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_places_that_reach_a_use(name: str) -> None:
    text, expected = CASES[name]
    assert seen(text) == expected


def test_more_places_than_anybody_writes_are_not_all_kept():
    text = "x = 0\n" + "".join(f"if a{i}:\n    x = {i}\n" for i in range(60)) + "print(x)\n"
    assert seen(text)[-1] == "…"


def test_what_a_module_leaves():
    module = module_of("x = 1\nx = 2\nif a:\n    x = 3\n")
    assert sorted(one.site.lineno for one in final(module, "x").sites) == [2, 4]  # type: ignore[attr-defined]


def test_what_is_changed_in_place():
    module = module_of("x.a = 1\nx['k'] = 2\nx.f()\nself.y.z = 3\ng(x)\nx = 4\n")
    assert [statement.lineno for statement in touches(module, "x")] == [1, 2, 3]
    assert [statement.lineno for statement in touches(module, "self.y")] == [4]
