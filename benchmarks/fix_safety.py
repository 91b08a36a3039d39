"""What `--fix --unsafe-fixes` does to whole trees, and to files when it is killed. `make torture`, see README.md.

`python -m benchmarks.fix_safety [--kills N] [--seed N] FOLDER…` copies each tree and repairs the copy: every changed
file must still parse, keep its encoding, line ends and mode, and differ in lines that a fix covers only; nothing else
may change or appear; every command that was understood must still be understood; a second run must change nothing.
Then it repairs copies of the fixtures and kills each run (SIGKILL) at a random moment: every file must be the old one
or the new one, whole, with its mode. What a run leaves beside them that is killed between the two steps
which put a file into its place, the next run must remove.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

_ROOT = Path(__file__).resolve().parent.parent
_FIX = ["--fix", "--unsafe-fixes", "--select", "ALL", "--isolated", "--quiet"]
_RUNS = ["runs", "--documentation", "--output-format", "json"]
_COPIES = 12  # of each fixture: the more files there are to write, the more moments there are to be killed at
_SCRATCH = re.compile(r"\.trl-lint-.+\.tmp\Z")
_LINE_END = re.compile(rb"\r\n|\r|\n")


class State(NamedTuple):
    """A file: its content and mode."""

    data: bytes
    mode: int


Tree = dict[str, State]


def read_tree(folder: Path) -> Tree:
    """Every regular file below a folder, without what git and the tool itself keep."""
    found: Tree = {}
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in (".git", ".trl_lint_cache")]
        for name in names:
            path = os.path.join(here, name)
            if not os.path.islink(path):
                with open(path, "rb") as stream:
                    found[os.path.relpath(path, folder)] = State(stream.read(), stat.S_IMODE(os.stat(path).st_mode))
    return found


def start(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    command = [sys.executable, "-m", "trl_lint", *options, "."]
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run(folder: Path, *options: str) -> bytes:
    """Run the tool in a folder. Raises RuntimeError where it could not do its work."""
    process = start(folder, *options)
    out, err = process.communicate()
    if process.returncode not in (0, 1):
        raise RuntimeError(f"{folder.name}: status {process.returncode}: {err.decode(errors='replace')[-500:]}")
    return out


def damage(before: Tree, after: Tree) -> list[str]:
    """What a repair did to a tree that no repair may do."""
    found = [f"{path} came" for path in after.keys() - before.keys()]
    found += [f"{path} went" for path in before.keys() - after.keys()]
    for path in before.keys() & after.keys():
        old, new = before[path], after[path]
        if old.mode != new.mode:
            found.append(f"{path}: mode {old.mode:o} became {new.mode:o}")
        if old.data != new.data:
            found += [f"{path}: {what}" for what in damage_of(path, old.data, new.data)]
    return found


def damage_of(path: str, old: bytes, new: bytes) -> list[str]:
    found = []
    if parses(path, old) and not parses(path, new):
        found.append("does not parse any more")
    if old[:3] == b"\xef\xbb\xbf" != new[:3]:
        found.append("lost its byte order mark")
    if set(_LINE_END.findall(new)) - set(_LINE_END.findall(old)):
        found.append("has line ends of a new kind")
    if old[-1:] in (b"\n", b"\r") and new[-1:] not in (b"\n", b"\r"):
        found.append("lost its last line end")
    return found


def parses(path: str, data: bytes) -> bool:
    """Whether a file is whole, as far as a parser for its kind can tell."""
    try:
        if path.endswith((".py", ".pyi")):
            ast.parse(data)
        elif path.endswith((".json", ".ipynb")):
            json.loads(data)
        elif path.endswith((".yaml", ".yml")):
            import yaml

            list(yaml.compose_all(data, yaml.SafeLoader))
        elif path.endswith(".sh"):
            return subprocess.run(["bash", "-n"], input=data, capture_output=True, check=False).returncode == 0
    except Exception:
        return False
    return True


def changed_lines(old: bytes, new: bytes) -> set[int]:
    """The 1-based lines of the old file that the new one has not, or that have new ones before them."""
    rows = (old.splitlines(keepends=True), new.splitlines(keepends=True))
    matcher = difflib.SequenceMatcher(None, *rows, autojunk=False)
    lines: set[int] = set()
    for tag, start_line, end_line, _, _ in matcher.get_opcodes():
        if tag != "equal":
            lines.update(range(start_line + 1, max(end_line, start_line + 1) + 1))
    return lines


def lines_of_fixes(report: bytes) -> dict[str, set[int]]:
    """The lines that the edits of the fixes in a JSON report touch, by file, with one line on either side."""
    found: dict[str, set[int]] = {}
    for finding in json.loads(report)["findings"]:
        for edit in (finding["fix"] or {}).get("edits", ()):
            lines = range(edit["start"]["line"] - 1, edit["end"]["line"] + 2)
            found.setdefault(edit["path"], set()).update(lines)
    return found


def programs_of(report: bytes) -> Counter[tuple[str, str, str]]:
    """What the commands of a tree start, as `trl-lint runs` tells it: the file of the command, its name, its script."""
    found: Counter[tuple[str, str, str]] = Counter()
    for one in json.loads(report)["runs"]:
        scripts = [link for link in one["links"] if link["kind"] == "script" and link["paths"]]
        found[one["path"], one["name"], " ".join(path for link in scripts for path in link["paths"])] += 1
    return found


def lost_programs(before: bytes, after: bytes) -> list[str]:
    """The commands that a repair made unreadable."""
    lost = programs_of(before) - programs_of(after)
    return [
        f"{path}: the command that starts {script or name} is not understood any more" for path, name, script in lost
    ]


class Outcome(NamedTuple):
    files: int
    changed: int
    lines: int
    problems: list[str]


def repair_copy(folder: Path) -> Outcome:
    """Repair a copy of a tree and look at what came of it."""
    with TemporaryDirectory() as made:
        copy = Path(made, folder.name)
        shutil.copytree(folder, copy, symlinks=True)
        before = read_tree(copy)
        covered = lines_of_fixes(run(copy, "--select", "ALL", "--isolated", "--output-format", "json"))
        commands = run(copy, *_RUNS)
        run(copy, *_FIX)
        after = read_tree(copy)
        problems = damage(before, after) + lost_programs(commands, run(copy, *_RUNS))
        changed = sorted(path for path in before if after.get(path, before[path]).data != before[path].data)
        lines = 0
        for path in changed:
            touched = changed_lines(before[path].data, after[path].data)
            lines += len(touched)
            # The cells of a notebook count lines of their own, and a second round may repair what the first uncovered.
            outside = touched - covered.get(path, set())
            if outside and not path.endswith(".ipynb"):
                problems.append(f"{path}: lines {sorted(outside)} changed, and no fix of the first round covers them")
        run(copy, *_FIX)
        if read_tree(copy) != after:
            problems.append("a second run changed something")
        return Outcome(len(before), len(changed), lines, problems)


def kill_at_random(kills: int, seed: int) -> tuple[dict[str, int], list[str]]:
    """Kill repairs of the fixtures at random moments; how often nothing, a part or all was written, and what broke."""
    chance = random.Random(seed)
    counts = {"nothing written": 0, "a part": 0, "everything": 0}
    problems: list[str] = []
    with TemporaryDirectory() as made:
        origin = Path(made, "origin")
        for case in sorted({path.parent for path in (_ROOT / "fixtures" / "TRL601").rglob("*.fixed")}):
            for number in range(_COPIES):
                ignored = shutil.ignore_patterns("*.fixed", "*.expect")
                shutil.copytree(case, origin / f"{case.name}{number}", ignore=ignored, dirs_exist_ok=True)
        for number, path in enumerate(sorted(origin.rglob("*.py"))):
            path.chmod((0o644, 0o755, 0o600)[number % 3])
        old = read_tree(origin)
        repaired = Path(made, "repaired")
        shutil.copytree(origin, repaired)
        began = time.perf_counter()
        run(repaired, *_FIX)
        whole = time.perf_counter() - began
        new = read_tree(repaired)
        writing = writing_time(Path(made, "timed"), origin)
        for number in range(kills):
            folder = Path(made, f"kill{number}")
            shutil.copytree(origin, folder)
            process = start(folder, *_FIX)
            if number % 4:  # most of them while files are written, which is a small part of a run
                wait_for_change(folder, process)
                time.sleep(chance.random() * writing)
            else:
                time.sleep(chance.random() * whole)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            left = read_tree(folder)
            scratch = {path for path in left.keys() - old.keys() if _SCRATCH.match(os.path.basename(path))}
            problems += [f"kill {number}: {path} stays for ever" for path in kept_scratch(folder, scratch)]
            torn = (path for path in left.keys() - scratch if left[path] not in (old.get(path), new.get(path)))
            problems += [f"kill {number}: {path} is neither old nor new" for path in torn]
            problems += [f"kill {number}: {path} went" for path in old.keys() - left.keys()]
            written = sum(left.get(path) == new[path] != old[path] for path in old)
            total = sum(new[path] != old[path] for path in old)
            counts["nothing written" if not written else "everything" if written == total else "a part"] += 1
            shutil.rmtree(folder)
    return counts, problems


def kept_scratch(folder: Path, scratch: set[str]) -> set[str]:
    """Which files that a killed run left without their final name a later run leaves too."""
    for path in scratch:
        os.utime(folder / path, (0, 0))  # the next run takes young ones for the work of another
    if scratch:
        run(folder, *_FIX)
    return {path for path in scratch if (folder / path).exists()}


def writing_time(folder: Path, origin: Path) -> float:
    """The seconds from the first file that a repair writes to the end of it."""
    shutil.copytree(origin, folder)
    process = start(folder, *_FIX)
    wait_for_change(folder, process)
    began = time.perf_counter()
    process.communicate()
    return time.perf_counter() - began


def wait_for_change(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until a file of a tree is replaced: then its folder is newer than the tree."""
    folders = [here for here, _, _ in os.walk(folder)]
    times = {here: os.stat(here).st_mtime_ns for here in folders}
    while process.poll() is None:
        if any(os.stat(here).st_mtime_ns != times[here] for here in folders):
            return


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fix_safety", description="Repair copies of trees.")
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    problems: list[str] = []
    print("| tree | files | changed by `--fix --unsafe-fixes` | lines | problems |\n|---|---|---|---|---|")
    for folder in args.folders:
        outcome = repair_copy(folder.resolve())
        counts = f"{outcome.files:,} | {outcome.changed} | {outcome.lines} | {len(outcome.problems)}"
        print(f"| {folder.resolve().name} | {counts} |", flush=True)
        problems += [f"{folder.name}: {problem}" for problem in outcome.problems]
    if args.kills:
        counts_of_kills, broken = kill_at_random(args.kills, args.seed)
        told = ", ".join(f"{name} {count}" for name, count in counts_of_kills.items())
        print(f"\n{args.kills} kills, seed {args.seed}: {told}; {len(broken)} problems")
        problems += broken
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
