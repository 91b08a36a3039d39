"""Commands that Python code puts together: each notation of the same words is read, and what may be another is not."""

from __future__ import annotations

import pytest

from trl_lint.project.python_commands import started_commands
from trl_lint.sources import Source, SourceFile

HEAD = "import itertools, os, shlex, subprocess, sys\nfrom subprocess import run\n"
WORDS = ["python", "x.py", "--lr", "1", "--kl=2"]
# By a name: a program that runs exactly these words.
SAME = {
    "a list": 'run(["python", "x.py", "--lr", "1", "--kl=2"])',
    "a number as text": 'run(["python", "x.py", "--lr", str(1), f"--kl={2}"])',
    "an f-string of names": 'K = "kl"\nV = 2\nrun(["python", "x.py", "--lr", "1", f"--{K}={V}"])',
    "texts added": 'K = "--kl="\nrun(["python", "x.py", "--lr", "1", K + "2"])',
    "a parameter": 'def g(lr, kl=2):\n    return ["python", "x.py", "--lr", str(lr), f"--kl={kl}"]\nrun(g(1))',
    "a parameter by its name": 'def g(*, lr):\n    return ["python", "x.py", "--lr", lr, "--kl=2"]\nrun(g(lr="1"))',
    "a method": "class A:\n    def words(self, lr):\n"
    '        return ["python", "x.py", "--lr", lr, "--kl=2"]\n    def go(self):\n        run(self.words("1"))',
    "a list spread": 'M = ["--lr", "1"]\nrun(["python", "x.py", *M, "--kl=2"])',
    "a dict spread as flags": 'D = {"lr": 1}\n'
    'run(["python", "x.py", *[w for k, v in D.items() for w in (f"--{k}", str(v))], "--kl=2"])',
    "a function of keywords": 'def flags(**kw):\n    return [f"--{k}={v}" for k, v in kw.items()]\n'
    'run(["python", "x.py", "--lr", "1", *flags(kl=2)])',
    "a loop over a dict": 'D = dict(kl=2)\nc = ["python", "x.py", "--lr", "1"]\n'
    'for k, v in D.items():\n    c.append(f"--{k}={v}")\nrun(c)',
    "a loop over pairs": 'c = ["python", "x.py"]\nfor k, v in [("--lr", 1)]:\n    c += [k, str(v)]\n'
    'c += ["--kl=2"]\nrun(c)',
    "a dict that grows": 'D = {}\nD["kl"] = 2\nc = ["python", "x.py", "--lr", "1"]\n'
    'c += [f"--{k}={v}" for k, v in D.items()]\nrun(c)',
    "a dict that is updated": 'D = {"kl": 1}\nD.update({k: 2 for k in ["kl"]})\n'
    'run(["python", "x.py", "--lr", "1"] + [f"--{k}={v}" for k, v in D.items()])',
    "a test that the call decides": 'def f(low):\n    c = ["python", "x.py", "--lr", "1"]\n    if low:\n'
    '        c.extend(["--kl=2"])\n    if not low:\n        c += ["--no"]\n    return c\nrun(f(low=True))',
    "two functions with one name in them": 'def f():\n    c = ["python", "y.py"]\n    return c\ndef g():\n'
    '    c = ["python", "x.py", "--lr", "1"]\n    c.append("--kl=2")\n    run(c)',
    "an f-string that is split": 'N = "x"\nrun(f"python {N}.py --lr 1 --kl=2".split())',
    "a text with a name": 'C = f"python x.py --lr {1} --kl=2"\nrun(shlex.split(C))',
    "a list of a list": 'run(list(["python", "x.py", "--lr", "1", "--kl=2"]))',
}
# By a name: a program, and the words of it that may be others.
OPEN = {
    "a parameter that nobody gives": ('def g(lr):\n    return ["python", "x.py", lr]\nrun(g(LR))', 2),
    "a parameter that is bound again": (
        'def g(lr):\n    lr = clean(lr)\n    return ["python", "x.py", lr]\nrun(g("1"))',
        2,
    ),
    "a parameter out of a dict": ('def g(lr=1):\n    return ["python", "x.py", str(lr)]\nrun(g(**D))', 2),
    "a name that is bound again": ('V = "1"\nV = "2"\nrun(["python", "x.py", V])', 2),
    "a name that a loop binds": ('for v in load():\n    run(["python", "x.py", v])', 2),
    "a name behind its loop": ('for v in ["1", "2"]:\n    pass\nrun(["python", "x.py", v])', 2),
    "a format": ('V = 1\nrun(["python", "x.py", f"--lr={V:.2f}"])', 2),
    "a dict from elsewhere": ('D = load()\nrun(["python", "x.py", *[f"--{k}={v}" for k, v in D.items()]])', 2),
    "a dict that is handed on": (
        'D = {"a": 1}\nfor k in list(D):\n    del D[k]\nrun(["python", "x.py", *[f"--{k}={v}" for k, v in D.items()]])',
        2,
    ),
    "a comprehension that chooses": (
        'D = {"a": 1}\nrun(["python", "x.py", *[f"--{k}" for k, v in D.items() if v]])',
        2,
    ),
    "a loop that may end": (
        'c = ["python", "x.py"]\nfor k in ["--a", "--b"]:\n    if stop:\n        break\n    c.append(k)\nrun(c)',
        2,
    ),
    "a function with a decorator": (
        '@changed\ndef f():\n    return ["--a"]\nrun(["python", "x.py", *f()])',
        2,
    ),
    "a variable of the environment": ('run(["python", "x.py", os.environ["LR"]])', 2),
    "a dict that grows under a test": (
        'D = {}\nif x:\n    D["a"] = 1\nrun(["python", "x.py", *[f"--{k}={v}" for k, v in D.items()]])',
        2,
    ),
}


def commands(text: str) -> list[list[tuple[str | None, int]]]:
    found = started_commands(Source(SourceFile("/project/start.py", f"{HEAD}{text}\n".encode()), "python"))
    return [[(word.text, len(word.options)) for word in one.words] for one in found]


@pytest.mark.parametrize("how", SAME)
def test_each_notation_gives_the_same_words(how: str) -> None:
    assert commands(SAME[how]) == [[(word, 0) for word in WORDS]]


@pytest.mark.parametrize("how", OPEN)
def test_what_may_be_another_is_not_known(how: str) -> None:
    text, at = OPEN[how]
    (words,) = commands(text)
    assert [text for text, _ in words[:at]] == ["python", "x.py"] and words[at] == (None, 0)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('for v in ["1", "2"]:\n    run(["python", "x.py", v])', ["1", "2"]),
        ('V = ("1", "2")\nfor v in V:\n    run(["python", "x.py", v])', ["1", "2"]),
        ('for a, b in itertools.product(["1", "2"], [3]):\n    run(["python", "x.py", a])', ["1", "2"]),
        ('V = os.environ.get("V", "1")\nrun(["python", "x.py", V])', ["1"]),
        ('run(["python", "x.py", "a" if x else "b"])', ["a", "b"]),
        ('c = ["python", "x.py"]\nif x:\n    c += ["--a"]\nrun(c)', ["--a", None]),
        ('c = ["python", "x.py"]\nif x:\n    pass\nelse:\n    c += ["--a"]\nrun(c)', ["--a", None]),
        ('c = ["python", "x.py"]\nif x:\n    if y:\n        c += ["--a"]\nrun(c)', ["--a", None, None]),
    ],
)
def test_one_of_several_is_known_as_such(text: str, options: list[str | None]) -> None:
    found = started_commands(Source(SourceFile("/project/start.py", f"{HEAD}{text}\n".encode()), "python"))
    (word,) = found[0].words[2:]
    assert [option.words[0].text if option.words else None for option in word.options] == options
    keys = [option.key for option in word.options]
    assert len(set(keys)) == len(keys)
