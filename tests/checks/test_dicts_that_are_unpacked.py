"""A key that is certainly put into a dict before a call unpacks it is a keyword; one that may be is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laid_out import lay_out
from trl_lint.engine import check
from trl_lint.settings import Settings

HEAD = "from trl import GRPOConfig\n"

GIVEN = {
    "beside the call": "d = dict(output_dir='o')\nd['max_seq_length'] = 5\nGRPOConfig(**d)\n",
    "written with braces": "d = {}\nd['max_seq_length'] = 5\nGRPOConfig(**d)\n",
    "in a function": "def f():\n    d = {}\n    d['max_seq_length'] = 5\n    return GRPOConfig(**d)\n",
    "with the call under a test": "d = {}\nd['max_seq_length'] = 5\nif x:\n    GRPOConfig(**d)\n",
    "all under one test": "if x:\n    d = {}\n    d['max_seq_length'] = 5\n    GRPOConfig(**d)\n",
    "in a loop": "for x in y:\n    d = {}\n    d['max_seq_length'] = 5\n    GRPOConfig(**d)\n",
    "among many": "d = {}\n"
    + "".join(f"d['learning_rate'] = {i}\n" for i in range(400))
    + "d['max_seq_length'] = 5\nGRPOConfig(**d)\n",
    "with the call in a function": "d = {}\nd['max_seq_length'] = 5\ndef f():\n    return GRPOConfig(**d)\n",
    "put in twice": "d = {}\nd['max_seq_length'] = 5\nd['max_seq_length'] = 6\nGRPOConfig(**d)\n",
}
OPEN = {
    "under a test": "d = {}\nif x:\n    d['max_seq_length'] = 5\nGRPOConfig(**d)\n",
    "behind the call": "d = {}\nGRPOConfig(**d)\nd['max_seq_length'] = 5\n",
    "in the other branch": "if x:\n    d = {}\nelse:\n    d['max_seq_length'] = 5\n",
    "in another function": "d = {}\ndef f():\n    d['max_seq_length'] = 5\nGRPOConfig(**d)\n",
    "in a function that may run before": "d = {}\ndef f():\n    return GRPOConfig(**d)\nd['max_seq_length'] = 5\n",
    "read and not put in": "d = dict(output_dir='o')\nd['max_seq_length']\nGRPOConfig(**d)\n",
    "deleted": "d = {}\nd['max_seq_length'] = 5\ndel d['max_seq_length']\nGRPOConfig(**d)\n",
    "popped": "d = {}\nd['max_seq_length'] = 5\nd.pop('max_seq_length')\nGRPOConfig(**d)\n",
    "handed on": "d = {}\nd['max_seq_length'] = 5\nclean(d)\nGRPOConfig(**d)\n",
    "bound again": "d = {}\nd['max_seq_length'] = 5\nd = {}\nGRPOConfig(**d)\n",
    "for another class too": "d = {}\nd['max_seq_length'] = 5\nOther(**d)\nGRPOConfig(**d)\n",
    "a key that is added to": "d = {}\nd['max_seq_length'] += 5\nGRPOConfig(**d)\n",
    "a key that is known": "d = {}\nd['learning_rate'] = 5\nGRPOConfig(**d)\n",
    "a key that is no word": "d = {}\nd[k] = 5\nGRPOConfig(**d)\n",
    "in a loop that may have no round": "d = {}\nfor x in y:\n    d['max_seq_length'] = 5\nGRPOConfig(**d)\n",
    "in a try": "d = {}\ntry:\n    d['max_seq_length'] = 5\nexcept E:\n    pass\nGRPOConfig(**d)\n",
}

OUT_OF_FUNCTIONS = {
    "one dict": "def f(n):\n    return {'max_seq_length': n}\nGRPOConfig(**f(5))\n",
    "a dict with a name": (
        "def f(n):\n    d = dict(beta=0.1)\n    d['max_seq_length'] = n\n    return d\nGRPOConfig(**f(5))\n"
    ),
    "in all that it returns": (
        "def f(n):\n    if n:\n        return {'max_seq_length': n}\n"
        "    return dict(max_seq_length=1, beta=2)\nGRPOConfig(**f(5))\n"
    ),
    "with more beside a test": (
        "def f(n):\n    d = {'max_seq_length': n}\n    if n > 64:\n"
        "        d['beta'] = 1\n    return d\nGRPOConfig(**f(5))\n"
    ),
    "through a name": "def f():\n    return {'max_seq_length': 5}\nd = f()\nGRPOConfig(**d)\n",
    "of a function": (
        "def g():\n    return {'max_seq_length': 5}\ndef f():\n    return {**g(), 'beta': 1}\nGRPOConfig(**f())\n"
    ),
}
MADE_OF_OTHERS = {
    "updated by a name": "a = {'max_seq_length': 5}\nd = dict(beta=1)\nd.update(a)\nGRPOConfig(**d)\n",
    "updated by keywords": "d = {}\nd.update(max_seq_length=5)\nGRPOConfig(**d)\n",
    "updated by braces": "d = {}\nd.update({'max_seq_length': 5})\nGRPOConfig(**d)\n",
    "a default set": "d = {}\nd.setdefault('max_seq_length', 5)\nGRPOConfig(**d)\n",
    "spread": "a = {'max_seq_length': 5}\nb = dict(beta=1)\nd = {**a, **b, 'bf16': True}\nGRPOConfig(**d)\n",
    "spread in the call": "a = {'max_seq_length': 5}\nGRPOConfig(**{**a, 'bf16': True})\n",
    "joined": "a = {'max_seq_length': 5}\nd = a | {'beta': 1}\nGRPOConfig(**d)\n",
    "copied": "a = {'max_seq_length': 5}\nd = dict(a, beta=1)\nGRPOConfig(**d)\n",
    "copied by its method": "a = {'max_seq_length': 5}\nd = a.copy()\nGRPOConfig(**d)\n",
    "copied deeply": "import copy\na = {'max_seq_length': 5}\nd = copy.deepcopy(a)\nGRPOConfig(**d)\n",
    "in both ways": "d = {'max_seq_length': 5} if x else {'max_seq_length': 6, 'beta': 1}\nGRPOConfig(**d)\n",
    "with a type": "d: dict = {'max_seq_length': 5}\nGRPOConfig(**d)\n",
    "read on the way": (
        "d = {'max_seq_length': 5}\nprint(d, len(d), d.get('beta'))\nfor k in d:\n    print(k)\nGRPOConfig(**d)\n"
    ),
    "another key taken out": "d = {'max_seq_length': 5, 'a': 1}\nd.pop('a')\nGRPOConfig(**d)\n",
    "made anew": "import dataclasses\na = GRPOConfig(output_dir='o')\nb = dataclasses.replace(a, max_seq_length=5)\n",
    "made anew by its name": (
        "from dataclasses import replace\na = GRPOConfig(output_dir='o')\n"
        "def f():\n    return replace(a, max_seq_length=5)\n"
    ),
    "made anew out of a dict": (
        "from dataclasses import replace\nd = {'max_seq_length': 5}\na = GRPOConfig(output_dir='o')\nreplace(a, **d)\n"
    ),
}
OPEN_DICTS = {
    "in one of two returns": (
        "def f(n):\n    if n:\n        return {'max_seq_length': n}\n    return {'beta': 1}\nGRPOConfig(**f(5))\n"
    ),
    "under a test of the function": (
        "def f(n):\n    d = {}\n    if n:\n        d['max_seq_length'] = n\n    return d\nGRPOConfig(**f(5))\n"
    ),
    "returned before": (
        "def f(n):\n    d = {}\n    if n:\n        return d\n"
        "    d['max_seq_length'] = n\n    return d\nGRPOConfig(**f(5))\n"
    ),
    "a function with a decorator": "@lenient\ndef f():\n    return {'max_seq_length': 5}\nGRPOConfig(**f())\n",
    "a function that is bound again": "def f():\n    return {'max_seq_length': 5}\nf = clean(f)\nGRPOConfig(**f())\n",
    "two functions": (
        "if x:\n    def f():\n        return {'max_seq_length': 5}\n"
        "else:\n    def f():\n        return {}\nGRPOConfig(**f())\n"
    ),
    "renamed in it": (
        "A = {'max_seq_length': 5}\ndef f():\n    d = dict(A)\n"
        "    d['beta'] = d.pop('max_seq_length')\n    return d\nGRPOConfig(**f())\n"
    ),
    "cleaned in it": "def f():\n    d = {'max_seq_length': 5}\n    clean(d)\n    return d\nGRPOConfig(**f())\n",
    "a name that is bound again in it": (
        "def f():\n    d = {'max_seq_length': 5}\n"
        "    d = {k: v for k, v in d.items() if k in KNOWN}\n    return d\nGRPOConfig(**f())\n"
    ),
    "a filter around it": (
        "a = {'max_seq_length': 5}\nd = {k: v for k, v in a.items() if k in KNOWN}\nGRPOConfig(**d)\n"
    ),
    "a filter in the call": "a = {'max_seq_length': 5}\nGRPOConfig(**clean(a))\n",
    "in one of two ways": "d = {'max_seq_length': 5} if x else {'beta': 1}\nGRPOConfig(**d)\n",
    "updated under a test": "d = {}\nif x:\n    d.update(max_seq_length=5)\nGRPOConfig(**d)\n",
    "updated behind the call": "d = {}\nGRPOConfig(**d)\nd.update(max_seq_length=5)\n",
    "updated by what nobody knows": "d = {}\nd.update(given)\nGRPOConfig(**d)\n",
    "cleared": "d = {'max_seq_length': 5}\nd.clear()\nGRPOConfig(**d)\n",
    "a key that nobody knows taken out": (
        "d = {'max_seq_length': 5}\nfor k in GONE:\n    d.pop(k, None)\nGRPOConfig(**d)\n"
    ),
    "a key that nobody knows deleted": "d = {'max_seq_length': 5}\ndel d[k]\nGRPOConfig(**d)\n",
    "an alias": "d = {'max_seq_length': 5}\ne = d\ne.pop('max_seq_length')\nGRPOConfig(**d)\n",
    "in a list": "d = {'max_seq_length': 5}\nfor one in [d]:\n    one.pop('max_seq_length')\nGRPOConfig(**d)\n",
    "global": "d = {'max_seq_length': 5}\ndef f():\n    global d\n    d = {}\nf()\nGRPOConfig(**d)\n",
    "made anew of what nobody knows": "from dataclasses import replace\nreplace(given, max_seq_length=5)\n",
    "made anew of one of two": (
        "from dataclasses import replace\na = GRPOConfig(output_dir='o')\n"
        "if x:\n    a = load()\nreplace(a, max_seq_length=5)\n"
    ),
    "made anew of another class": (
        "from dataclasses import replace\na = Other(output_dir='o')\nreplace(a, max_seq_length=5)\n"
    ),
    "a text with something replaced": "a = GRPOConfig(output_dir='o')\nb = 'x'.replace(a, max_seq_length=5)\n",
    "a replace of one's own": (
        "def replace(a, **kw):\n    return a\na = GRPOConfig(output_dir='o')\nreplace(a, max_seq_length=5)\n"
    ),
    "made anew as it may be": (
        "from dataclasses import replace\na = GRPOConfig(output_dir='o')\nb = replace(a, learning_rate=1)\n"
    ),
    "itself": "d = {**d}\nGRPOConfig(**d)\n",
    "each other": "def f():\n    return g()\ndef g():\n    return f()\nGRPOConfig(**f())\n",
}
ELSEWHERE = {
    "a dict": ("D = {'max_seq_length': 5}\n", "from other import D\nGRPOConfig(**D)\n", True),
    "a dict by its module": ("D = {'max_seq_length': 5}\n", "import other\nGRPOConfig(**other.D)\n", True),
    "put in there": ("D = {}\nD['max_seq_length'] = 5\n", "from other import D\nGRPOConfig(**D)\n", True),
    "made of others there": (
        "A = {'max_seq_length': 5}\nD = {**A, 'beta': 1}\n",
        "from other import D\nGRPOConfig(**D)\n",
        True,
    ),
    "a function": (
        "def f(n):\n    d = {}\n    d['max_seq_length'] = n\n    return d\n",
        "from other import f\nGRPOConfig(**f(1))\n",
        True,
    ),
    "an object made anew": (
        "from trl import GRPOConfig\nA = GRPOConfig(output_dir='o')\n",
        "import dataclasses\nfrom other import A\ndataclasses.replace(A, max_seq_length=5)\n",
        True,
    ),
    "changed here": (
        "D = {'max_seq_length': 5}\n",
        "from other import D\nD.pop('max_seq_length')\nGRPOConfig(**D)\n",
        False,
    ),
    "changed here by its module": (
        "D = {'max_seq_length': 5}\n",
        "import other\nother.D.pop('max_seq_length')\nGRPOConfig(**other.D)\n",
        False,
    ),
    "changed there": (
        "D = {'max_seq_length': 5}\ndel D['max_seq_length']\n",
        "from other import D\nGRPOConfig(**D)\n",
        False,
    ),
    "changed there in a function": (
        "D = {'max_seq_length': 5}\ndef f():\n    D.clear()\n",
        "from other import D, f\nf()\nGRPOConfig(**D)\n",
        False,
    ),
    "bound there twice": (
        "D = {'max_seq_length': 5}\nif x:\n    D = {}\n",
        "from other import D\nGRPOConfig(**D)\n",
        False,
    ),
    "put in there under a test": (
        "D = {}\nif x:\n    D['max_seq_length'] = 5\n",
        "from other import D\nGRPOConfig(**D)\n",
        False,
    ),
    "assigned here": ("D = {'max_seq_length': 5}\n", "import other\nother.D = {}\nGRPOConfig(**other.D)\n", False),
    "handed on here": ("D = {'max_seq_length': 5}\n", "from other import D\nclean(D)\nGRPOConfig(**D)\n", False),
    "of that name and not from there": (
        "D = {'max_seq_length': 5}\n",
        "from another import D\nGRPOConfig(**D)\n",
        False,
    ),
}


def codes(text: str, folder: Path) -> list[str]:
    lay_out(folder, {"requirements.txt": "trl==0.20.0\n", "train.py": HEAD + text})
    found = check([str(folder)], Settings(str(folder))).findings
    return [finding.code for finding in found if finding.code == "TRL301"]


@pytest.mark.parametrize("how", GIVEN)
def test_what_is_certainly_in_the_dict_is_judged(how: str, tmp_path: Path):
    assert codes(GIVEN[how], tmp_path) == ["TRL301"]


@pytest.mark.parametrize("how", OPEN)
def test_what_may_not_be_in_it_is_not(how: str, tmp_path: Path):
    assert codes(OPEN[how], tmp_path) == []


@pytest.mark.parametrize(
    "text", [*OUT_OF_FUNCTIONS.values(), *MADE_OF_OTHERS.values()], ids=[*OUT_OF_FUNCTIONS, *MADE_OF_OTHERS]
)
def test_what_it_is_made_of_is_judged(text: str, tmp_path: Path):
    assert codes(text, tmp_path) == ["TRL301"]


@pytest.mark.parametrize("how", OPEN_DICTS)
def test_what_may_be_taken_away_is_not(how: str, tmp_path: Path):
    assert codes(OPEN_DICTS[how], tmp_path) == []


@pytest.mark.parametrize("how", ELSEWHERE)
def test_dicts_of_other_modules(how: str, tmp_path: Path):
    there, here, is_told = ELSEWHERE[how]
    lay_out(tmp_path, {"other.py": there})
    assert codes(here, tmp_path) == ["TRL301"] * is_told
