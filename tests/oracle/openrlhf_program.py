"""The main block of a program of OpenRLHF, without models and engines: see `config_probe.py`.

What the program makes of its arguments is not there; `train_ppo_ray` runs to its end all the same, for it only hands
them on, and asserts between. The others are over when they have checked their arguments.
"""

import argparse
import contextlib
import importlib
import importlib.util
import pathlib
import sys
from unittest.mock import patch


def open_program(module: str) -> "tuple[dict[str, list[object]], object]":
    """The settings of the parser with their defaults, and what runs the program with some of them given."""
    path = importlib.util.find_spec(module).origin
    code = compile(pathlib.Path(path).read_text(encoding="utf-8"), path, "exec")
    parsers: list[argparse.ArgumentParser] = []

    class Ended(BaseException):
        pass

    def parse(self: argparse.ArgumentParser, *given: object, **named: object) -> None:
        parsers.append(self)
        raise Ended

    def begin(*given: object, **named: object) -> None:
        raise Ended

    with patch.object(argparse.ArgumentParser, "parse_args", parse), contextlib.suppress(Ended):
        exec(code, {"__name__": "__main__"})
    made = importlib.import_module("openrlhf.utils").get_strategy
    actions = {each.dest: each for each in parsers[0]._actions if each.dest != "help"}

    def run(**values: object) -> None:
        made.side_effect = None if module.endswith("train_ppo_ray") else begin
        words = [module]
        for dest, value in values.items():
            action = actions[dest]
            if action.nargs == 0:
                words += [action.option_strings[-1]] if value is not action.default else []
            elif value is not None:
                items = value if isinstance(value, list) else [value]
                words += [action.option_strings[-1], *map(str, items)]
        with patch.object(sys, "argv", words), contextlib.suppress(Ended):
            exec(code, {"__name__": "__main__"})

    return {dest: [_plain(each.default), _kind(each)] for dest, each in actions.items()}, run


def _plain(value: object) -> object:
    return value if isinstance(value, (str, int, float, bool)) else None


def _kind(action: argparse.Action) -> str:
    if action.nargs == 0:
        return "bool"
    return "list" if action.nargs else getattr(action.type, "__name__", "str")
