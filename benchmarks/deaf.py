"""What of the training in public trees is understood, and whether "understood" is true.

`python -m benchmarks.deaf TREE…` prints for each tree how many training commands, configs and argument objects were
seen and understood, and all reasons together, from the JSON `coverage`; `--write FILE` keeps that as data. With
`--mutate N` a made-up option, key or keyword is put into up to N entry points of each tree, those that count as
understood and those that do not: one is to be told, the other not. (Where names come from outside, those that are
written are told all the same.) A tree has its `.git`, or is made one: a folder without tells another root.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from trl_lint.checks.registry import declared_rules
from trl_lint.coverage import KINDS, MADE_UP, OUTSIDE
from trl_lint.engine import check_state
from trl_lint.settings import settings_for
from trl_lint.sources import Files, SourceFile

_OPEN_END = re.compile(r"""\s+"?\$(?:[@*]|\{[@*]\})"?\s*\Z""")
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


def mutated(entry: dict[str, Any], file: SourceFile) -> list[str]:
    """The texts of a file with something made up in the first place of an entry point; none where none can be put.

    A command has two: a flag, and an override of Hydra. One of them is what its program reads.
    """
    text = file.text
    lines = text.splitlines(keepends=True)

    def offset(place: dict[str, int]) -> int:
        return sum(len(line) for line in lines[: place["line"] - 1]) + place["column"] - 1

    if entry["what"] == "example" or is_switched_off(text):
        return []
    at = offset(entry["end"])
    if entry["what"] == "command":
        if file.path.endswith(_BLOCKS):
            return []
        open_end = _OPEN_END.search(text[offset(entry["start"]) : at])
        if open_end is not None:  # what stands behind `"$@"` may be the value of its last word
            at -= len(open_end[0])
        return [f"{text[:at]} {word}{text[at:]}" for word in (f"--{MADE_UP} 1", f"{MADE_UP}=1")]
    if entry["what"] == "object":
        if file.path.endswith(".ipynb") or text[at : at + 1] != "(" or "Parser" in entry["name"]:
            return []
        end = _end_of_arguments(text, at)
        if end is None:
            return []
        comma = "" if text[at:end].endswith(("(", ",")) else ", "
        return [f"{text[:end]}{comma}{MADE_UP}=1{text[end:]}"]
    if file.path.endswith(".json"):
        return [text.replace("{", f'{{"{MADE_UP}": {{}}, ', 1)]
    if not file.path.endswith((".yaml", ".yml")) or text[:1] in ("{", "["):
        return []
    return [f"{text.rstrip()}\n{MADE_UP}: 1\n"]


def _end_of_arguments(text: str, start: int) -> int | None:
    """Where the last argument of a call ends, whose parenthesis is at `start`; None where the text is no Python."""
    from io import StringIO
    from tokenize import COMMENT, NL, TokenError, generate_tokens

    depth, lines, end = 0, [start], start
    for line in text[start:].splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    try:
        for token in generate_tokens(StringIO(text[start:]).readline):
            depth += (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}"))
            if depth == 0:
                return end
            if token.type not in (COMMENT, NL):
                end = lines[token.end[0] - 1] + token.end[1]
    except (TokenError, IndentationError, SyntaxError):
        pass
    return None


def is_switched_off(text: str) -> bool:
    """Whether a comment keeps the findings of a file from being told."""
    return "flake8: noqa" in text


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
        texts = mutated(entry, Files().own(path))
        if not texts or entry["reason"] == "file not found":
            continue
        told = any(is_told(tree, path, text) for text in texts)
        name = f"{entry['what']}: {'understood' if entry['reason'] is None else 'not'}, {'told' if told else 'silent'}"
        if entry["reason"] == OUTSIDE and told:
            name = f"{entry['what']}: {OUTSIDE}, told"
        found[name] += 1
        if told is (entry["reason"] is not None) and entry["reason"] != OUTSIDE:
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
        if not (tree / ".git").exists():
            subprocess.run(["git", "init", "-q", str(tree)], check=True)
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
