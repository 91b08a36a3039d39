"""The slow path as an oracle: every rule on every file, LibCST on whole files, nothing filtered beforehand.

`python -m benchmarks.oracle FOLDER…` compares its report with that of an ordinary run, byte for byte, and ends with 1
where they differ. What is switched off: the search of bytes for the words of rules, the recognition of configs,
manifests, scripts and helpers by their bytes, and islands: a candidate's LibCST tree is cut from the tree of its whole
file.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.processes import environment

_OPTIONS = ("--select", "ALL", "--isolated", "--no-cache", "--exit-zero", "--output-format", "json")
_SHOWN = 20


class WholeFiles:
    """LibCST trees of whole modules, and the calls in them by their places; the last module is kept."""

    def __init__(self) -> None:
        self._module: Any = None
        self._calls: dict[tuple[int, int, int, int], Any] = {}
        self.missed = 0

    def island(self, module: Any, node: ast.expr) -> Any:
        """What `islands.island` gives, from the tree of the whole file. What is no call of it is parsed by itself."""
        if self._module is not module:
            self._module, self._calls = module, calls_by_place(module.source.text)
        lines = module.source.lines
        start, end = (lines.position(offset) for offset in module.span(node))
        found = self._calls.get((start.line, start.column - 1, end.line, end.column - 1))
        if found is None:
            from trl_lint.python.islands import parse_expression

            self.missed += isinstance(node, ast.Call)
            return parse_expression(module.segment(node))
        return found.with_changes(lpar=[], rpar=[])  # brackets around a call are not of its own text


def calls_by_place(text: str) -> dict[tuple[int, int, int, int], Any]:
    """The calls of a text by line (from 1) and column (from 0) of their start and end; none if LibCST refuses it."""
    import libcst as cst
    from libcst.metadata import MetadataWrapper, PositionProvider

    try:
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        places = wrapper.resolve(PositionProvider)
    except (cst.ParserSyntaxError, RecursionError):
        return {}
    calls = {node: place for node, place in places.items() if isinstance(node, cst.Call)}
    return {(p.start.line, p.start.column, p.end.line, p.end.column): node for node, p in calls.items()}


def switch_filters_off() -> WholeFiles:
    """Make this process the oracle, for good."""
    from benchmarks.torture import every_rule_is_active
    from trl_lint import checker
    from trl_lint.checks.distribution import _device_imports
    from trl_lint.project import documents
    from trl_lint.project.manifests import reader
    from trl_lint.python import islands
    from trl_lint.python.triage import Triage

    whole = WholeFiles()
    Triage.active = every_rule_is_active  # type: ignore[method-assign,assignment]
    _device_imports.may_hold_makers = lambda file: True
    checker.may_configure = lambda data: True  # type: ignore[attr-defined]
    documents.may_be_document = lambda data: True  # type: ignore[attr-defined]
    reader._may_hold_pins = lambda kind, data: True
    islands.island = whole.island
    return whole


def report(folder: str, is_slow: bool) -> bytes:
    """The JSON report on a tree, from a process of its own. Raises RuntimeError if it fails."""
    own = ("-m", "benchmarks.oracle", "--report") if is_slow else ("-m", "trl_lint", *_OPTIONS, ".")
    done = subprocess.run([sys.executable, *own], cwd=folder, env=environment(), capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{folder}: status {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}")
    if is_slow and done.stderr:
        print(done.stderr.decode(errors="replace"), end="", file=sys.stderr)
    return done.stdout


def differences(fast: bytes, slow: bytes) -> list[str]:
    """The lines in which two reports differ; empty only if they are the same to the byte."""
    if fast == slow:
        return []
    before, after = (text.decode(errors="replace").splitlines() for text in (fast, slow))
    return list(difflib.unified_diff(before, after, "ordinary", "oracle", lineterm="", n=6)) or ["line ends differ"]


def print_report() -> int:
    from trl_lint import cli

    whole = switch_filters_off()
    status = cli.main([*_OPTIONS, "."])
    if whole.missed:
        print(f"{os.getcwd()}: {whole.missed} calls not found in the trees of their files", file=sys.stderr)
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.oracle", description="Compare with the slow path.")
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    parser.add_argument("--report", action="store_true", help="print the report of the slow path on this folder")
    args = parser.parse_args(arguments)
    if args.report:
        return print_report()
    print("| tree | bytes of report | ordinary | oracle | lines that differ |\n|---|---|---|---|---|")
    has_failed = False
    for folder in map(os.path.abspath, args.folders):
        began = time.perf_counter()
        fast = report(folder, is_slow=False)
        middle = time.perf_counter()
        found = differences(fast, report(folder, is_slow=True))
        times = f"{middle - began:.1f} s | {time.perf_counter() - middle:.1f} s"
        print(f"| {os.path.basename(folder)} | {len(fast):,} | {times} | {len(found)} |", flush=True)
        for line in found[:_SHOWN]:
            print(f"{os.path.basename(folder)}: {line}", file=sys.stderr)
        has_failed |= bool(found)
    return 1 if has_failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
