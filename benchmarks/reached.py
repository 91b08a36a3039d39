"""How many of the recorded conditions the runs of real projects reach: `python -m benchmarks.reached FOLDER…`.

Each folder is checked as it is, in a process of its own, by the rules that read conditions. A condition of a release is
asked where a run of the project makes the class or program that has it, and decided where what is known of that run
makes it true or false. Printed are, by package, the folders in which any is asked, and for some releases how many of
their distinct conditions are.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence

from benchmarks.processes import environment

# The rules that read conditions.
_RULES = "TRL402,TRL403,TRL404,TRL701"
_OPTIONS = ("--select", _RULES, "--isolated", "--no-cache", "--exit-zero", "-j", "1", "--output-file", os.devnull)
_SPEAKING = ("refuse", "warn", "trainer-refuse", "trainer-warn")

Reached = dict[str, dict[str, bool]]
"""By package the conditions that are asked, and whether each is decided."""


def reached() -> Reached:
    """What the run of this folder asks and decides. It is watched from the inside: once in a process."""
    from trl_lint.knowledge import condition_language, conditions

    owners: dict[int, tuple[str, str]] = {}  # by the text itself: two packages may ask the same
    found: Reached = {}
    rows, truth_of = conditions._rows, condition_language.truth_of

    def watched_rows(package: str, name: str) -> object:
        known = rows(package, name)
        owners.update({id(each.condition): (package, each.condition) for each, _ in known})
        kept.append(known)
        return known

    def watched_truth_of(text: str, world: condition_language.World) -> object:
        truth = truth_of(text, world)
        package, _ = owners.get(id(text), ("", ""))
        if package:
            of_package = found.setdefault(package, {})
            of_package[text] = of_package.get(text, False) or isinstance(truth, bool)
        return truth

    kept: list[object] = []  # as long as they are there, no other text is in their place
    conditions._rows = watched_rows  # type: ignore[assignment]
    condition_language.truth_of = watched_truth_of
    from trl_lint import cli  # only now: what it imports takes the names from there

    cli.main([*_OPTIONS, "."])
    return found


def ask(folder: str) -> Reached:
    """What the run of a folder reaches. Raises RuntimeError if it fails."""
    command = [sys.executable, "-m", "benchmarks.reached", "--one"]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{folder}: {done.stderr.decode(errors='replace')[-500:]}")
    found: Reached = json.loads(done.stdout.splitlines()[-1])
    return found


def answers(folders: Sequence[str], file: str | None) -> Iterable[Reached]:
    """What the runs of folders reach, the kept ones first."""
    kept: dict[str, Reached] = {}
    if file and os.path.exists(file):
        with open(file, encoding="utf-8") as stream:
            kept = {name: found for line in stream for name, found in json.loads(line).items()}
    yield from kept.values()
    for folder in folders:
        name = os.path.basename(os.path.abspath(folder))
        if name in kept:
            continue
        found = ask(os.path.abspath(folder))
        if file:
            with open(file, "a", encoding="utf-8") as stream:
                print(json.dumps({name: found}), file=stream)
        yield found


def chosen(package: str) -> list[str]:
    """The oldest release that was read, two between and the newest."""
    from trl_lint.knowledge.conditions import recorded_releases

    known = recorded_releases(package)
    return [known[len(known) * part // 3 - (part == 3)] for part in range(4)]


def rows(runs: Sequence[Reached]) -> Iterable[str]:
    """The tables: of packages, and of some of their releases."""
    from trl_lint.knowledge.conditions import PACKAGES, conditions_of, recorded_classes

    for package in PACKAGES:
        of_package = [run[package] for run in runs if package in run]
        asked = {text for each in of_package for text in each}
        decided = {text for each in of_package for text, is_decided in each.items() if is_decided}
        yield f"{package}: asked in {len(of_package)} of {len(runs)}"
        for version in chosen(package):
            said = {
                each.condition
                for name in recorded_classes(package)
                for each in conditions_of(package, name, version)
                if each.kind in _SPEAKING
            }
            numbers = f"{len(said)} conditions, asked {len(said & asked)}, decided {len(said & decided)}"
            yield f"{package} {version}: {numbers}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reached", description=__doc__)
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    parser.add_argument("--answers", help="a file that keeps what each folder reaches: those in it are not asked again")
    parser.add_argument("--one", action="store_true", help="print what the run of this folder reaches")
    args = parser.parse_args(arguments)
    if args.one:
        print(json.dumps(reached()))
        return 0
    print("\n".join(rows(list(answers(args.folders, args.answers)))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
