"""trl-lint beside other linters, whole processes: `python -m benchmarks.peers [FOLDER…]`. See README.md.

It installs nothing: `--peers-python`, as often as wanted, names the interpreter of an environment that has other tools;
those that are in none of them are left out. It ends with 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import head, write_results
from benchmarks.mix import write_clean
from benchmarks.parse import python_files
from benchmarks.processes import ROOT
from benchmarks.report import peers_tables
from benchmarks.rounds import Bounds, measure, runner_in
from benchmarks.samples import write_long_script
from benchmarks.targets import CLEAN, FIX, PLUGIN, START, WRONG, judge, tools_with_target
from benchmarks.tools import (
    PEERS,
    Command,
    Tool,
    commands,
    find_tools,
    flake8_with_dependencies,
    has_cache,
    read_environment,
    shown,
)

_CLEAN_FILES = 100


class Session:
    """One measurement: the tools, how often, and a scratch folder."""

    def __init__(self, tools: dict[str, Tool], bounds: Bounds, scratch: str) -> None:
        self.tools = tools
        self.bounds = bounds
        self.scratch = scratch
        self.subjects: dict[str, Any] = {}

    def add(self, subject: str, found: Sequence[Command], folder: str, caches: str, **facts: Any) -> None:
        """Measure commands in a folder as one subject of the results."""
        print(f"{subject}: {len(found)} commands", file=sys.stderr, flush=True)
        bounds = self.bounds._replace(full=tools_with_target(subject))
        runner = runner_in(folder, {"PYLINTHOME": os.path.join(self.scratch, "pylint")})
        texts = {command.tool: shown(command, caches) for command in found}
        rows = [{**row.as_data(), "command": texts[row.tool]} for row in measure(found, runner, bounds)]
        self.subjects[subject] = {**facts, "rows": rows}

    def add_checks(self, subject: str, folder: str, target: str) -> None:
        """Measure all tools on a script or a tree; caches start empty."""
        caches = tempfile.mkdtemp(dir=self.scratch)
        files = python_files(os.path.join(folder, target))
        facts = {"files": len(files), "bytes": sum(os.path.getsize(path) for path in files)}
        self.add(subject, commands(self.tools, target, caches), folder, caches, **facts)


def overlay(folder: str) -> str:
    """A folder that makes trl-lint look installed to an interpreter: what `pip install` would put beside it."""
    from trl_lint import __version__

    os.makedirs(folder)
    os.symlink(os.path.join(ROOT, "trl_lint"), os.path.join(folder, "trl_lint"))
    os.symlink(os.path.join(ROOT, "rules"), os.path.join(folder, "rules"))
    info = Path(folder, f"trl_lint-{__version__}.dist-info")
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: trl-lint\nVersion: {__version__}\n", "utf-8")
    entry = "[flake8.extension]\nTRL = trl_lint.editors.flake8_plugin:Flake8Checker\n"
    (info / "entry_points.txt").write_text(entry, "utf-8")
    return folder


def plugin_commands(flake8: Tool, made: str) -> list[Command]:
    """flake8 on one clean tree without the plugin, and with it. Raises RuntimeError where the plugin is not loaded."""
    with_plugin = overlay(made)
    surroundings = {**os.environ, "PYTHONPATH": with_plugin}
    said = subprocess.run([flake8.program, "--version"], env=surroundings, check=True, capture_output=True)
    if b"trl" not in said.stdout.lower():
        raise RuntimeError(f"flake8 does not load the plugin: {said.stdout.decode()}")
    argv = (flake8.program, "--isolated", "-j1", "--select=E9,F,TRL", ".")
    return [Command("flake8 without", argv, ""), Command("flake8 with the plugin", argv, with_plugin)]


def run_all(session: Session, folders: Sequence[str], flake8: Tool | None) -> None:
    made = session.scratch
    own = (sys.executable, "-m", "trl_lint", "--version")
    start = [Command("trl-lint --version", own), Command("python -c pass", (sys.executable, "-c", "pass"))]
    session.add(START, start, made, made)
    for subject, is_wrong in ((CLEAN, False), (WRONG, True)):
        script = write_long_script(os.path.join(made, subject), is_wrong)
        session.add_checks(subject, *os.path.split(script))
    if flake8 is not None:
        tree = os.path.join(made, "clean")
        write_clean(tree, _CLEAN_FILES)
        session.add(PLUGIN, plugin_commands(flake8, os.path.join(made, "overlay")), tree, made, files=_CLEAN_FILES)
    argv = (sys.executable, "-m", "benchmarks.fixing")
    fix = Command("--fix in process", (*argv, "fix"), says=True)
    session.add(FIX, [fix, Command("bare parse of the files it changes", (*argv, "parse"), says=True)], made, made)
    for folder in folders:
        session.add_checks(os.path.basename(os.path.abspath(folder)), os.path.abspath(folder), ".")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description="Measure trl-lint beside others.")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="trees; the targets are for `trl`, `transformers`")
    parser.add_argument("--peers-python", action="append", default=[], metavar="PATH", help="one that has the others")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget", type=float, default=15.0, help="seconds for a command without target on a tree")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for one run; ten times that with a target")
    parser.add_argument("--output", metavar="FILE", help="keep the results as data")
    args = parser.parse_args(arguments)
    environments = [read_environment(python) for python in args.peers_python]
    tools = find_tools(environments)
    for name in PEERS:
        if name not in tools:
            print(f"{name}: not in the environments named; left out", file=sys.stderr)
    if not has_cache():
        print("trl-lint: keeps no cache; its warm runs are left out", file=sys.stderr)
    flake8 = flake8_with_dependencies(environments)
    if flake8 is None:
        print("plugin: no environment has flake8 and what trl-lint needs; left out", file=sys.stderr)
    results = {**head(), "peers": {name: tool.version for name, tool in sorted(tools.items())}}
    scratch = tempfile.mkdtemp(prefix="trl-lint-peers-")
    try:
        session = Session(tools, Bounds(args.rounds, args.budget, args.limit), scratch)
        run_all(session, args.folders, flake8)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    results |= {"bounds": {"rounds": args.rounds, "budget": args.budget, "limit": args.limit}}
    results["subjects"] = session.subjects
    if args.output:
        write_results(args.output, results)
    print(peers_tables(results))
    return 0 if all(verdict.is_held for verdict in judge(results)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
