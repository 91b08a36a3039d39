"""What the device analysis costs: by the length of a function, and over trees beside parsing the files that it enters.

`python -m benchmarks.flow [--rounds N] [FOLDER…]`. Milliseconds of work, the least of several rounds. Ends with 1 if a
line of a long function costs twice as much as one of a short one, or the analysis of a tree more than three times what
`ast.parse` takes for the files in which it looks at a function.
"""

from __future__ import annotations

import argparse
import ast
import gc
import os
import time
from typing import Any, NamedTuple

from benchmarks.clock import Clock
from trl_lint import engine
from trl_lint.checks.distribution import _device
from trl_lint.python.dataflow.device import device_conflicts
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.selection import Selection
from trl_lint.settings import Settings
from trl_lint.sources import Source, SourceFile

LENGTHS = (250, 500, 1000, 2000, 5000)
MOST_TIMES_A_LINE = 2.0
MOST_TIMES_PARSING = 3.0
_RULES = ("TRL103", "TRL104", "TRL105")


class TreeCost(NamedTuple):
    """The files and functions that the analysis entered, and milliseconds."""

    files: int
    functions: int
    parsing: float
    analysis: float


def long_function(lines: int) -> str:
    """A function of so many lines: factories, branches, loops, and two new names in every eight lines."""
    parts = ["import torch", "", "", "def f(x: torch.Tensor, y: torch.Tensor, device, flag):"]
    for number in range((lines - 5) // 8):
        parts += [
            f"    a{number} = torch.zeros(x.size(0), device=device)",
            f"    b{number} = a{number} * x + y",
            "    if flag:",
            f"        b{number} = b{number}.masked_fill(x > {number}, 0.0)",
            "    else:",
            f"        b{number} = torch.where(y > 0, x, b{number})",
            "    for step in range(3):",
            f"        x = x + b{number}",
        ]
    return "\n".join([*parts, "    return x", ""])


def many_functions(lines: int) -> str:
    """A module of so many lines with functions of 45 lines each, every one called by the next."""
    body = long_function(45).partition("def f(")[2]
    calls = [
        body.replace("return x", f"return f{n - 1}(x, y, device, flag)" if n else "return x")
        for n in range(lines // 45)
    ]
    return "import torch\n" + "".join(f"\n\ndef f{number}({text}" for number, text in enumerate(calls))


def cost_of_module(text: str, rounds: int) -> float:
    """Milliseconds for all functions of a module."""
    return min(_analysed(text) for _ in range(rounds))


def _analysed(text: str) -> float:
    module = PythonModule(Source(SourceFile("/p/train.py", text.encode()), "python"))
    start = time.process_time()
    for function in module.functions:
        device_conflicts(module, function)
    return (time.process_time() - start) * 1000


def cost_of_tree(folder: str) -> TreeCost:
    """One run of the device rules over a tree. Modules are built once for all rules, and their building is left out."""
    entered: dict[str, set[FunctionNode]] = {}
    clock = Clock(time.process_time)
    kept = PythonModule.__init__, _device.function_conflicts, _device.is_followed

    def noted(module: PythonModule, function: FunctionNode, project: Any) -> Any:
        entered.setdefault(module.path, set()).add(function)
        return kept[1](module, function, project)

    def followed(module: PythonModule) -> bool:
        entered.setdefault(module.path, set())
        return kept[2](module)

    clock.time(PythonModule, "__init__", "building")
    _device.function_conflicts, _device.is_followed = noted, followed
    clock.time(_device, "function_conflicts", "analysis")
    try:
        engine.check([folder], Settings(folder, layers=[Selection(_RULES)]))
    finally:
        PythonModule.__init__, _device.function_conflicts, _device.is_followed = kept  # type: ignore[method-assign]
    texts = []
    for path in entered:
        with open(path, encoding="utf-8", errors="replace") as stream:
            texts.append(stream.read())
    gc.disable()  # as the engine does
    start = time.process_time()
    for text in texts:
        ast.parse(text)
    parsing = time.process_time() - start
    gc.enable()
    return TreeCost(len(entered), sum(map(len, entered.values())), parsing * 1000, clock.spent["analysis"])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flow", description="Measure the device analysis.")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="trees to measure")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print("| lines | one function | a line | functions of 45 lines | a line |\n|---|---|---|---|---|")
    a_line = []
    for lines in LENGTHS:
        one = cost_of_module(long_function(lines), args.rounds)
        many = cost_of_module(many_functions(lines), args.rounds)
        a_line.append(one / lines)
        print(
            f"| {lines} | {one:.0f} ms | {one * 1000 / lines:.0f} µs | {many:.0f} ms | {many * 1000 / lines:.0f} µs |"
        )
    missed = a_line[-1] > MOST_TIMES_A_LINE * a_line[0]
    if args.folders:
        print("\n| tree | files entered | functions | `ast.parse` of these | analysis | ratio |")
        print("|---|---|---|---|---|---|")
    for folder in args.folders:
        rounds = [cost_of_tree(os.path.abspath(folder)) for _ in range(args.rounds)]
        best = min(rounds, key=lambda cost: cost.analysis)
        parsing = min(cost.parsing for cost in rounds)
        ratio = best.analysis / parsing if parsing else 0.0
        missed = missed or ratio > MOST_TIMES_PARSING
        name = os.path.basename(os.path.abspath(folder))
        print(f"| {name} | {best.files} | {best.functions} | {parsing:.0f} ms | {best.analysis:.0f} ms | {ratio:.2f} |")
    verdict = "missed" if missed else "held"
    print(f"\nTargets: {MOST_TIMES_A_LINE:g} times a line, {MOST_TIMES_PARSING:g} times parsing: {verdict}.")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
