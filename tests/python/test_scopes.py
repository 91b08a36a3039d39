"""Which place binds a name, as it is seen from a use of it."""

from __future__ import annotations

import ast

import pytest

from trl_lint.python.module import PythonModule
from trl_lint.python.scopes import scopes
from trl_lint.sources import Source, SourceFile


def bound(text: str) -> ast.AST | None:
    """The binding of the last `x` that is read."""
    module = PythonModule(Source(SourceFile("/p/train.py", text.encode()), "python"))
    uses = [n for n in module.parents if isinstance(n, ast.Name) and n.id == "x" and isinstance(n.ctx, ast.Load)]
    return scopes(module).binding(max(uses, key=lambda node: (node.lineno, node.col_offset)))


CERTAIN = {
    "one assignment": "x = 1\nprint(x)\n",
    "in a function": "def f():\n    x = 1\n    return x\n",
    "of the module": "x = 1\ndef f():\n    return x\n",
    "another function has its own": "x = 1\ndef g(x):\n    x = 2\nprint(x)\n",
    "defined below, called later": "def f():\n    return x\nx = 1\n",
    "a default is read outside": "x = 1\ndef f(y=x):\n    pass\n",
    "a class body": "class A:\n    x = 1\n    y = x\n",
    "a comprehension has its own": "x = 1\ny = [x for x in range(3)]\nprint(x)\n",
    "a walrus binds outside": "y = [(x := z) for z in range(3)]\nprint(x)\n",
    "one import": "import x\nx.y\n",
    "a method does not see its class": "x = 1\nclass A:\n    x = 2\n    def f(self):\n        return x\n",
}

UNCERTAIN = {
    "two assignments": "x = 1\nx = 2\nprint(x)\n",
    "two branches": "if y:\n    x = 1\nelse:\n    x = 2\nprint(x)\n",
    "added to": "x = 1\nx += 1\nprint(x)\n",
    "a loop": "x = 1\nfor x in y:\n    pass\nprint(x)\n",
    "deleted": "x = 1\ndel x\nprint(x)\n",
    "global": "x = 1\ndef f():\n    global x\n    x = 2\nprint(x)\n",
    "an exception": "x = 1\ntry:\n    pass\nexcept E as x:\n    pass\nprint(x)\n",
    "a pattern": "x = 1\nmatch y:\n    case [*x]:\n        print(x)\n",
    "a rest": "x = 1\nmatch y:\n    case {**x}:\n        print(x)\n",
    "a parameter and an assignment": "def f(x):\n    x = 1\n    return x\n",
    "with": "x = 1\nwith y as x:\n    print(x)\n",
    "a definition": "x = 1\ndef x(): pass\nprint(x)\n",
    "before it": "print(x)\nx = 1\n",
    "nowhere": "print(x)\n",
}


@pytest.mark.parametrize("text", CERTAIN.values(), ids=CERTAIN.keys())
def test_certain(text: str):
    assert bound(text) is not None


@pytest.mark.parametrize("text", UNCERTAIN.values(), ids=UNCERTAIN.keys())
def test_uncertain(text: str):
    assert bound(text) is None


def test_the_innermost_scope_counts():
    found = bound("x = 1\ndef f():\n    x = 2\n    return lambda: x\n")
    assert isinstance(found, ast.Name) and found.lineno == 3
