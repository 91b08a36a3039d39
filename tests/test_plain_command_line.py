"""Command lines that are read without `argparse`, held against those that are read with it."""

from __future__ import annotations

import argparse
from itertools import permutations

import pytest

from trl_lint.commands.parsers import check_parser
from trl_lint.commands.plain import plain_arguments

SWITCHES = [
    option
    for action in check_parser()._actions
    if action.nargs == 0 and not isinstance(action, (argparse._HelpAction, argparse._VersionAction))
    for option in action.option_strings
]
PLAIN = [option for option in SWITCHES if plain_arguments([option]) is not None]


def by_argparse(arguments: list[str]) -> dict[str, object]:
    return vars(check_parser().parse_intermixed_args(arguments))


def test_most_switches_are_plain():
    assert {"--no-cache", "-n", "-q", "--fix", "--diff", "--exit-zero"} <= set(PLAIN)


@pytest.mark.parametrize("arguments", [[], ["."], ["a b", "ü.py", ""], ["-", "x"], ["a", "-q", "b", "--fix", "-q"]])
def test_paths_and_switches(arguments: list[str]):
    assert vars(plain_arguments(arguments)) == by_argparse(arguments)


@pytest.mark.parametrize("option", PLAIN)
def test_each_switch_says_what_argparse_says(option: str):
    assert vars(plain_arguments(["x", option])) == by_argparse(["x", option])


def test_switches_do_not_depend_on_their_order():
    for one, other in permutations(PLAIN, 2):
        assert vars(plain_arguments([one, other])) == by_argparse([one, other])


@pytest.mark.parametrize(
    "arguments",
    [["--select", "ALL"], ["--select=ALL"], ["-qn"], ["--", "x"], ["-1"], ["--no-such"], ["--quie"], ["-j2"], ["-h"]],
)
def test_everything_else_is_left_to_argparse(arguments: list[str]):
    assert plain_arguments(["x", *arguments]) is None
