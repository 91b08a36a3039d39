"""Makefiles: recipe lines as the shell gets them."""

from __future__ import annotations

import pytest

from trl_lint.sources import Source, SourceFile
from trl_lint.sources.makefile import recipe_commands
from trl_lint.sources.shell import Command


def read(text: str) -> list[Command]:
    return recipe_commands(Source(SourceFile("/project/Makefile", text.encode()), "makefile"))


def texts(text: str) -> list[list[str | None]]:
    return [[word.text for word in command.words] for command in read(text)]


def test_recipes_only():
    text = "PY = python\nhelp:\n\t@echo hi\n\nFOO = python no.py\n\ntrain: help\n\t-$(PY) train.py \\\n\t  --lr 1e-6\n"
    assert texts(text) == [["echo", "hi"], ["python", "train.py", "--lr", "1e-6"]]


def test_places():
    text = "GPUS := 0,1\nt:\n\tCUDA_VISIBLE_DEVICES=$(GPUS) python é.py $$HOME $@ --x\n"
    (command,) = read(text)
    assert [text[word.start : word.end] for word in command.words] == ["python", "é.py", "$$HOME", "$@", "--x"]
    assert [word.text for word in command.words] == ["python", "é.py", None, None, "--x"]
    assert dict(command.assignments)["CUDA_VISIBLE_DEVICES"].text == "0,1"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("N = 2", "2"),
        ("N := 2", "2"),
        ("M = 2\nN = $(M)", "2"),
        ("N = 2 # two", "2"),
        ("N ?= 2", None),
        ("N = 1\nN = 2", None),
        ("ifdef X\nN = 2\nendif", None),
        ("N = $(shell nproc)", None),
        ("N = $(N)", None),
        ("t: N = 2", None),
        ("define N\n2\nendef", None),
        ("", None),
    ],
)
def test_variables(head: str, expected: str | None):
    assert texts(f"{head}\nt:\n\techo $(N)\n")[-1][1:] == [expected]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("N = --a 1\nN += --b 2", ["--a", "1", "--b", "2"]),
        ("N := --a \\\n   1\nN += --b", ["--a", "1", "--b"]),
        ("N += --a", ["--a"]),
        ("M ?= 7\nN = --a $(M) --b", ["--a", None, "--b"]),
        ("M ?= 7\nN = --a $(M)\nN += --b 2", ["--a", None, "--b", "2"]),
        ("N = --a $(shell nproc) --b", [None]),
        ("N = --a\nifdef X\nN += --b\nendif", [None]),
        ("N = --a\nN = --b\nN += --c", [None]),
        ("N ?= --a\nN += --c", [None]),
        ("N = --a $(N) $(N)", ["--a", None, None]),
    ],
)
def test_what_is_known_of_a_variable(head: str, expected: list[str | None]):
    assert texts(f"{head}\nt:\n\techo $(N)\n")[-1][1:] == expected


def test_variables_that_name_each_other_are_read_once():
    circle = "".join(f"A{n} = $(A{n + 1}) $(A{n + 1}) x\n" for n in range(30))
    (words,) = texts(f"{circle}A30 = $(A0)\nt:\n\tpython train.py $(A29)\n")
    assert words[:2] == ["python", "train.py"]


def test_exported_variables_reach_the_program():
    command = read("export A = 1\nB = 2\nC = 3\nexport C\nt:\n\tpython a.py\n")[0]
    assert {name: word.text for name, word in command.env.items()} == {"A": "1", "C": "3"}


def test_every_line_has_its_own_shell():
    found = read("t:\n\tcd work && python a.py\n\tpython b.py\n")
    assert [(c.words[-1].text, c.directory) for c in found[1:]] == [("a.py", "work"), ("b.py", "")]


def test_with_oneshell_the_folder_may_have_changed():
    assert read(".ONESHELL:\nt:\n\tcd work\n\tpython b.py\n")[-1].directory is None


@pytest.mark.parametrize("text", ["", "\t", "t:\n\t", "t:\n\t$(", "t:\n\t${x", "define\n", "a:\\\n\t\\\n"])
def test_odd_input_is_read_without_an_exception(text: str):
    assert isinstance(read(text), list)


def test_variables_that_double_are_not_followed_for_ever():
    doubling = "".join(f"A{n + 1} = $(A{n})$(A{n})\n" for n in range(60))
    assert texts(f"A0 = x\n{doubling}t:\n\tpython $(A60)\n") == [["python", None]]
    assert texts(f"A0 =\n{doubling}t:\n\tpython $(A15)\n") == [["python"]]
