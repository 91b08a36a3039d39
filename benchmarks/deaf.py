"""What of the training in public trees is understood, and whether "understood" is true.

`python -m benchmarks.deaf TREE…` prints for each tree how many training commands, configs and argument objects were
seen and understood, and all reasons together, from the JSON `coverage`; `--write FILE` keeps that as data. With
`--mutate N` a made-up option, key or keyword is put into up to N entry points of each tree, those that count as
understood and those that do not: one is to be told, the other not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from trl_lint.checks.registry import declared_rules
from trl_lint.coverage import KINDS, MADE_UP
from trl_lint.engine import check_state
from trl_lint.settings import settings_for
from trl_lint.sources import Files, SourceFile

_BLOCKS = (".py", ".ipynb", ".md", ".yml", ".yaml")  # a word more at the end of a command need not be one of it


def coverage_of(tree: Path) -> dict[str, Any]:
    """The coverage of a tree, with the seconds that it took. Raises CalledProcessError."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "trl_lint", "runs", "--coverage", "--output-format", "json"]
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        command, cwd=tree, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(root)}
    )
    found: dict[str, Any] = json.loads(done.stdout)["coverage"]
    return {**found, "seconds": round(time.perf_counter() - start, 1)}


def mutated(entry: dict[str, Any], file: SourceFile) -> str | None:
    """The text of a file with something made up in the first place of an entry point; None where none can be put."""
    text = file.text
    lines = text.splitlines(keepends=True)

    def offset(place: dict[str, int]) -> int:
        return sum(len(line) for line in lines[: place["line"] - 1]) + place["column"] - 1

    if entry["what"] == "command":
        if file.path.endswith(_BLOCKS):
            return None
        at, command = offset(entry["end"]), text[offset(entry["start"]) : offset(entry["end"])]
        is_hydra = "=" in command and "--" not in command.partition("=")[0].rpartition(" ")[2] and " --" not in command
        return text[:at] + (f" {MADE_UP}=1" if is_hydra else f" --{MADE_UP} 1") + text[at:]
    if entry["what"] == "object":
        at = offset(entry["end"])
        if file.path.endswith(".ipynb") or text[at : at + 1] != "(" or "Parser" in entry["name"]:
            return None
        inside = text[at + 1 :].lstrip()
        return f"{text[: at + 1]}**dict({MADE_UP}=1){'' if inside.startswith(')') else ', '}{text[at + 1 :]}"
    if file.path.endswith(".json"):
        return text.replace("{", f'{{"{MADE_UP}": {{}}, ', 1)
    if not file.path.endswith((".yaml", ".yml")) or text[:1] in ("{", "["):
        return None
    return f"{text.rstrip()}\n{MADE_UP}: 1\n"


def is_told(tree: Path, path: str, text: str) -> bool:
    """Whether something made up in a file of a tree is told."""
    rules = [rule for rule in declared_rules() if rule.counts]
    ((settings, paths),) = settings_for([path])
    files = Files({path: text.encode()})
    result = check_state(paths, settings, files, {}, 1, rules=rules)
    return any(MADE_UP in finding.message for finding in result.findings)


def agreement(tree: Path, coverage: dict[str, Any], most: int) -> Counter[str]:
    """How often what counts as understood, and what does not, is told when it is made up."""
    found: Counter[str] = Counter()
    entries = coverage["entry_points"]
    known = [one for one in entries if one["reason"] is None][: most // 2]
    for entry in [*known, *[one for one in entries if one["reason"] is not None][: most - len(known)]]:
        path = str(tree / entry["path"])
        if not os.path.isfile(path):
            continue
        text = mutated(entry, Files().own(path))
        if text is None or entry["reason"] == "file not found":
            continue
        told = is_told(tree, path, text)
        name = f"{entry['what']}: {'understood' if entry['reason'] is None else 'not'}, {'told' if told else 'silent'}"
        found[name] += 1
        if told is (entry["reason"] is not None):
            print(f"  differs: {name}: {entry['path']}:{entry['start']['line']} {entry['name']} ({entry['reason']})")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.deaf", description=__doc__)
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    parser.add_argument("--write", type=Path, metavar="FILE")
    parser.add_argument("--mutate", type=int, default=0, metavar="N")
    args = parser.parse_args()
    kept: dict[str, Any] = {}
    reasons: Counter[tuple[str, str]] = Counter()
    told: Counter[str] = Counter()
    for tree in args.trees:
        coverage = coverage_of(tree.resolve())
        numbers = {f"{what}s": [coverage[f"{what}s"]["understood"], coverage[f"{what}s"]["seen"]] for what in KINDS}
        of_tree = Counter[str]()
        for entry in coverage["entry_points"]:
            of_tree[f"{entry['what']}: {entry['reason'] or 'understood'}"] += entry["number"]
            reasons[entry["what"], entry["reason"] or "understood"] += entry["number"]
        kept[tree.name] = {**numbers, "files": coverage["files"], "reasons": dict(sorted(of_tree.items()))}
        shown = "  ".join(f"{name} {known}/{seen}" for name, (known, seen) in numbers.items())
        print(f"{tree.name:55} {coverage['files']:5} files {coverage['seconds']:6} s  {shown}", flush=True)
        if args.mutate:
            told += agreement(tree.resolve(), coverage, args.mutate)
    print()
    for (what, reason), number in sorted(reasons.items(), key=lambda one: (one[0][0], -one[1])):
        print(f"{number:6} {what:8} {reason}")
    for name, number in sorted(told.items()):
        print(f"{number:6} {name}")
    if args.write is not None:
        total = {f"{what}: {reason}": number for (what, reason), number in sorted(reasons.items())}
        text = json.dumps({"trees": kept, "reasons": total}, indent=1) + "\n"
        args.write.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
