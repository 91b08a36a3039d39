"""The tools that are measured side by side, and where they are installed.

The benchmark installs nothing: whoever runs it names interpreters of environments that have the tools. flake8 loads
every plugin of its environment, so it is taken from one that holds no plugin of somebody else's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from benchmarks.processes import ROOT, environment

PEERS = ("ruff", "flake8", "pylint", "torchfix", "fixit")
_ASK = """\
import importlib.metadata as m, json
found, plugins = {}, []
for d in m.distributions():
    name = d.metadata["Name"].lower()
    found.setdefault(name, d.version)
    if any(e.group in ("flake8.extension", "flake8.report") for e in d.entry_points):
        plugins.append(name)
print(json.dumps([found, plugins]))
"""
_OWN_PLUGINS = {"flake8", "pyflakes", "pycodestyle", "mccabe"}
_NEEDED = {"libcst", "packaging", "pyyaml", "tomli", "tree-sitter", "tree-sitter-bash"}


class Command(NamedTuple):
    """One thing that is measured: `says` means that it prints the seconds it took itself, as JSON."""

    tool: str
    argv: tuple[str, ...]
    path: str = ROOT
    is_warm: bool = False
    says: bool = False


class Tool(NamedTuple):
    """A program of an environment."""

    program: str
    python: str
    version: str


class Environment(NamedTuple):
    """What is installed beside an interpreter, names in lower case; `plugins` are what brings plugins of flake8."""

    python: str
    versions: dict[str, str]
    plugins: list[str]


def read_environment(python: str) -> Environment:
    """Raises OSError or CalledProcessError if there is no such interpreter."""
    answer = subprocess.run([python, "-I", "-c", _ASK], check=True, capture_output=True)
    versions, plugins = json.loads(answer.stdout)
    return Environment(python, versions, plugins)


def find_tools(environments: Iterable[Environment]) -> dict[str, Tool]:
    """The peers that are there, by name: each from the first environment that has it."""
    found: dict[str, Tool] = {}
    for each in environments:
        for name in PEERS:
            program = os.path.join(os.path.dirname(os.path.abspath(each.python)), name)
            if name in found or name not in each.versions or not os.path.exists(program):
                continue
            if name != "flake8" or set(each.plugins) <= _OWN_PLUGINS:
                found[name] = Tool(program, each.python, each.versions[name])
    return found


def flake8_with_dependencies(environments: Iterable[Environment]) -> Tool | None:
    """A flake8 without plugins, in an environment that also has what trl-lint needs but not trl-lint itself."""
    for each in environments:
        if each.versions.keys() >= _NEEDED and "trl-lint" not in each.versions:
            tool = find_tools([each]).get("flake8")
            if tool is not None:
                return tool
    return None


@cache
def has_cache() -> bool:
    """Whether this trl-lint keeps results between runs."""
    command = [sys.executable, "-m", "trl_lint", "check", "--help"]
    answer = subprocess.run(command, env=environment(), check=True, capture_output=True)
    return b"--cache-dir" in answer.stdout


def commands(tools: dict[str, Tool], target: str, caches: str) -> list[Command]:
    """Everything that can be run over a script or, where the target is `.`, over a tree; caches lie below `caches`."""
    own = (sys.executable, "-m", "trl_lint")
    parse = (sys.executable, os.path.join(ROOT, "benchmarks", "parse.py"))
    found = [Command("trl-lint cold", (*own, "--no-cache", target))]
    if has_cache():
        cached = ("--cache-dir", os.path.join(caches, "trl-lint"))
        found.append(Command("trl-lint warm", (*own, *cached, target), is_warm=True))
    ruff = ("check", "--isolated", "--exit-zero")
    peers: list[tuple[str, str, Sequence[str]]] = [
        ("ruff cold", "ruff", (*ruff, "--no-cache")),
        ("ruff warm", "ruff", (*ruff, "--cache-dir", os.path.join(caches, "ruff"))),
        ("flake8 -j1", "flake8", ("--isolated", "-j1")),
        ("flake8 -j auto", "flake8", ("--isolated", "-j", "auto")),
        ("pylint", "pylint", (f"--rcfile={os.devnull}", "--exit-zero", "--recursive=y")),
        ("TorchFix", "torchfix", ()),
        ("Fixit", "fixit", ("lint",)),
    ]
    for label, name, options in peers:
        if name in tools and not (label == "flake8 -j auto" and target != "."):
            argv = (tools[name].program, *options, target)
            found.append(Command(label, argv, "", is_warm=label.endswith("warm")))
    return [*found, *(Command(f"bare {how}", (*parse, how, target)) for how in ("ast.parse", "libcst.parse_module"))]


def shown(command: Command, caches: str) -> str:
    """A command as a user would type it."""
    words = []
    for word in command.argv:
        if word in (sys.executable,):
            word = "python"
        elif os.path.isabs(word):
            word = os.path.basename(word) if not word.startswith(caches) else "CACHE"
        words.append(word)
    return " ".join(words)
