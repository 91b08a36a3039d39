"""One module a parser: what reads the options of a run."""

from __future__ import annotations

from importlib import import_module

from trl_lint.run.config import Config, Workers
from trl_lint.run.inputs import Inputs

# The frameworks whose programs have a parser of their own. All others take words for the fields of recorded keys, or
# fill dataclasses.
_OWN = ("openrlhf", "verl")


def read_config(inputs: Inputs) -> Config:
    """The options of the program that a run starts, as its parser reads them."""
    from trl_lint.knowledge.families import arguments_of

    name = inputs.framework
    if name not in _OWN:
        name = "classes" if arguments_of(name) is None else "command_words"
    found: Config = import_module(f"trl_lint.run.readers.{name}").read_config(inputs)
    return found


def read_workers(inputs: Inputs, config: Config) -> tuple[Workers, ...]:
    """What Ray starts for the program of a run, as its options say it; nothing where Ray starts none of it."""
    if inputs.framework not in _OWN:
        return ()
    found: tuple[Workers, ...] = import_module(f"trl_lint.run.readers.{inputs.framework}").workers_of(inputs, config)
    return found
