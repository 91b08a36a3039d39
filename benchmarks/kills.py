"""Kills every command that writes, at each of its moments: `python -m benchmarks.kills [--kills N] [--seed N]`.

A command runs in a forked process on a copy of a small project, and is killed (SIGKILL) where it is about to change the
disk for the nth time (an open for writing, a rename, a link, a removal, a mode), or after a random time. Each file has
to be the old or the new one, whole, with its mode. The same command again, to its end, has to come to what it comes to
without a kill, and nothing may stay that has no name of its own. With the cache, it has to say what is said without.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from benchmarks import kinds
from benchmarks.byte_edits import Said, said
from benchmarks.fix_safety import State, Tree, read_tree

_SCRATCH = re.compile(r"\.trl-lint-.+\.tmp\Z|.+\.\d+\.tmp\Z")
_CHANGES = frozenset(
    ("os.rename", "os.link", "os.remove", "os.mkdir", "os.chmod", "os.setxattr", "os.truncate", "os.rmdir")
)
_OLD = 100_000_000.0  # an hour long gone, in seconds
_CHECK = ("check", ".", "--isolated", "--select", "ALL")


class Command(NamedTuple):
    """A command line that writes; `ours` is what it writes of its own, which need not have stood there before.

    `is_again`: what it writes stood there already, with other contents.
    """

    name: str
    line: tuple[str, ...]
    ours: str = ""
    is_again: bool = False


COMMANDS = (
    Command("--fix", (*_CHECK, "--fix", "--unsafe-fixes")),
    Command("--add-noqa", (*_CHECK, "--add-noqa=known")),
    Command("upgrade --write", ("upgrade", ".", "--to", "trl==0.24.0", "--write", "--unsafe-fixes")),
    Command("upgrade --plan", ("upgrade", ".", "--to", "trl==0.24.0", "--plan", "plan.md"), "plan.md"),
    Command("new baseline", (*_CHECK, "--baseline", "known.json", "--write-baseline"), "known.json"),
    Command("baseline again", (*_CHECK, "--baseline", "known.json", "--write-baseline"), "known.json", True),
    Command("new report", (*_CHECK, "--output-format", "sarif", "--output-file", "out.sarif"), "out.sarif"),
    Command("report again", (*_CHECK, "--output-format", "json", "--output-file", "out.sarif"), "out.sarif", True),
    Command("page", ("runs", ".", "--html", "runs.html"), "runs.html"),
    Command("init", ("init", "."), ""),
    Command("cache", (*_CHECK, "--cache-dir", "kept", "--output-format", "json"), "kept"),
    Command("cache after an edit", (*_CHECK, "--cache-dir", "kept", "--output-format", "json"), "kept", True),
)


def project() -> Tree:
    """A small project with something to repair and to upgrade in several of its files."""
    files = {f"part{number}/train.py": kinds.PROJECT["train.py"] for number in range(3)}
    names = ("train.py", "run.sh", "recipe.yaml", "requirements.txt", "explore.ipynb", "Makefile", "ds.json")
    files |= {name: kinds.PROJECT[name] for name in names}
    return {path: State(data, (0o644, 0o755, 0o600)[n % 3]) for n, (path, data) in enumerate(sorted(files.items()))}


def lay_out(folder: Path, tree: Tree) -> None:
    for path, state in tree.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(state.data)
        (folder / path).chmod(state.mode)
        os.utime(folder / path, (_OLD, _OLD))
    (folder / ".git").mkdir(exist_ok=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")


def prepare(folder: Path, command: Command) -> None:
    """Lay a project out as the command finds it."""
    lay_out(folder, project())
    if command.is_again:
        before = (*_CHECK[:3], "--select", "TRL3", *command.line[5:]) if command.ours != "kept" else command.line
        run(folder, before)
        if command.ours == "kept":
            (folder / "train.py").write_bytes(kinds.PROJECT["train.py"].replace(b"fp16=True", b"fp16=False"))


def run(folder: Path, line: tuple[str, ...]) -> Said:
    here = os.getcwd()
    os.chdir(folder)
    try:
        return said(line)
    finally:
        os.chdir(here)


def killed(folder: Path, line: tuple[str, ...], number: int, seconds: float) -> bool:
    """Run a command in a forked process and kill it where it changes the disk for the nth time, or after some seconds.

    Whether it was killed: a command may end before.
    """
    child = os.fork()
    if not child:
        left = number

        def look(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal left
            is_change = event in _CHANGES
            if event == "open" and isinstance(flags := arguments[2], int):
                is_change = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
            left -= is_change
            if is_change and left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        if number:
            sys.addaudithook(look)
        try:
            run(folder, line)
        finally:
            os._exit(0)
    if seconds:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def everything(folder: Path) -> Tree:
    """Every file, those of the cache as well."""
    return {path: state for path, state in read_tree(folder).items() if not path.startswith(".git/")}


def wrong(folder: Path, command: Command, old: Tree, new: Tree, again: Tree) -> list[str]:
    """What is wrong after a kill, and after the same command has run to its end."""
    found = []
    left = everything(folder)
    scratch = {path for path in left if _SCRATCH.match(os.path.basename(path))}
    is_cache = command.ours == "kept"
    mine = {path for path in left if is_cache and path.startswith("kept/")}
    found += [f"{path} is neither old nor new" for path in left.keys() - scratch - mine
              if left[path] not in (old.get(path), new.get(path))]  # fmt: skip
    found += [f"{path} went" for path in old.keys() - left.keys() - mine if not path.startswith("kept/")]
    for path in scratch:
        os.utime(folder / path, (_OLD, _OLD))
    done = run(folder, command.line)
    after = everything(folder)
    if is_cache:
        plain = run(folder, (*command.line, "--no-cache"))
        repeated = run(folder, command.line)
        found += ["with the cache something else is said"] * (not done == plain == repeated)
        found += [
            f"{path} is not what it was"
            for path in old
            if not path.startswith("kept/") and after.get(path) != old[path]
        ]
        return found
    found += [f"{path} is left" for path in after.keys() - new.keys()]
    found += [f"{path} is not finished" for path in new if after.get(path) not in (new[path], again[path])]
    return found


def kill_all(kills: int, seed: int) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Kill each command as often as others; how often each was killed and ended, and what broke."""
    chance = random.Random(seed)
    counts: Counter[tuple[str, str]] = Counter()
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as made:
        for command in COMMANDS:
            os.environ.pop("TRL_LINT_NO_CACHE", None)
            if command.ours != "kept":
                os.environ["TRL_LINT_NO_CACHE"] = "1"
            whole = Path(made, "project")
            prepare(whole, command)
            old = everything(whole)
            run(whole, command.line)
            shutil.rmtree(whole)
            prepare(whole, command)  # once more, now that everything is imported
            began = time.perf_counter()
            run(whole, command.line)
            seconds = time.perf_counter() - began
            new = everything(whole)
            run(whole, command.line)
            again = everything(whole)
            shutil.rmtree(whole)
            moment = 0
            for number in range(-(-kills // len(COMMANDS))):
                folder = Path(made, "project")
                prepare(folder, command)
                is_timed = number % 3 == 2
                moment += not is_timed
                was_killed = killed(
                    folder, command.line, *((0, chance.random() * seconds) if is_timed else (moment, 0.0))
                )
                if not was_killed and not is_timed:
                    moment = 0
                counts[command.name, "killed" if was_killed else "ended"] += 1
                problems += [f"{command.name}, {'after a time' if is_timed else f'change {moment}'}: {one}"
                             for one in wrong(folder, command, old, new, again)]  # fmt: skip
                shutil.rmtree(folder)
            print(
                f"| {command.name} | {counts[command.name, 'killed']} | {counts[command.name, 'ended']} |", flush=True
            )
    return counts, problems


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills", description="Kill every command that writes.")
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print("| command | killed | ended before |\n|---|---|---|")
    counts, problems = kill_all(args.kills, args.seed)
    print(f"{sum(n for (_, what), n in counts.items() if what == 'killed')} killed, {len(problems)} problems")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
