"""Ask the releases of `oracle_releases.txt` what they refuse: `python -m benchmarks.oracle_releases --folder DIR`.

Makes an environment in the folder, puts each release into a folder of its own beside it (about 7 GB, most of it vLLM),
and runs the oracle on all of them (`benchmarks.conditions_oracle`), on the arithmetic of verl and OpenRLHF, and on the
mutant of the newest TRL, which has to fail. What is there already is not made again. `--keep` writes some of the
answers down for the tests.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import venv
from contextlib import redirect_stdout
from pathlib import Path

from benchmarks import conditions_oracle
from trl_lint.records import NamedTuple

FILE = Path(__file__).with_suffix(".txt")
ANSWERS = Path(__file__).parent.parent / "tests" / "oracle" / "conditions"
RESULTS = Path(__file__).parent / "results" / "refusals"
MUTATED = ("trl:GRPOConfig", "trl:SFTConfig")
_COUNTED = 1000  # configs of arithmetic


class Release(NamedTuple):
    """A release, and the pins of what it needs in another release than the shared environment has."""

    package: str
    version: str
    beside: tuple[str, ...]


def read_releases(path: Path = FILE) -> tuple[tuple[str, ...], list[Release]]:
    """The pins of the shared environment, and the releases."""
    base: tuple[str, ...] = ()
    found = []
    for line in path.read_text("utf-8").splitlines():
        package, *rest = line.split()
        if package == "base":
            base = tuple(rest)
        elif package != "#":
            found.append(Release(package, rest[0], tuple(rest[1:])))
    return base, found


def installed(folder: Path, release: Release, python: str) -> tuple[str, ...]:
    """The folders of a release and of what it needs beside it, which are filled if they are not there.

    Raises subprocess.CalledProcessError where pip cannot.
    """
    found = []
    for name, pins in (("-needs", release.beside), ("", (f"{release.package}=={release.version}",))):
        at = folder / f"{release.package}-{release.version}{name}"
        if pins and not at.exists():
            command = [python, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", str(at)]
            beside = {**os.environ, "DS_BUILD_OPS": "0", "PYTHONPATH": str(folder / f"{at.name}-needs")}
            subprocess.run([*command, *pins], check=True, env=beside)
        if pins:
            found.append(str(at))
    return tuple(found)


def is_found_out(asked: list[str]) -> bool:
    """Whether the oracle says of conditions that forget assignments to fields that they state what is false."""
    command = [sys.executable, "-m", "benchmarks.conditions_oracle", *asked, "--mutant", *MUTATED]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    print("# --mutant: has to state refusals that are none\n" + done.stdout, end="", flush=True)
    return done.returncode == 1


def ask(release: Release, where: list[str], configs: str, *, is_kept: bool) -> int:
    """Print what a release says, and return how many runs state what is false."""
    failed = 0
    asked = [*where, "--package", release.package, "--release", release.version]
    counted = ["--arithmetic", "--configs", str(_COUNTED)] if release.package in conditions_oracle.PROGRAMS else []
    for name, more in (("", ["--configs", configs]), ("arithmetic-", counted)):
        kept = ["--keep", str(ANSWERS / f"{name}{release.package}-{release.version}.json")] if is_kept else []
        failed += conditions_oracle.main([*asked, *more, *kept]) if more else 0
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--configs", default="500")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder for what is found, a file a package")
    parser.add_argument("--keep", action="store_true", help="write some of the answers down")
    parser.add_argument("packages", nargs="*", help="those of them only, instead of all")
    args = parser.parse_args()
    base, releases = read_releases()
    python = args.folder / "base" / "bin" / "python"
    if not python.exists():
        venv.create(args.folder / "base", with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *base], check=True)
    args.results.mkdir(parents=True, exist_ok=True)
    failed = 0
    for package in dict.fromkeys(each.package for each in releases):
        if args.packages and package not in args.packages:
            continue
        with open(args.results / f"{package}.txt", "w", encoding="utf-8") as stream, redirect_stdout(stream):
            print(f"# {args.configs} configs of each class, {_COUNTED} with numbers only: see benchmarks/README.md")
            where: list[str] = []
            for release in (each for each in releases if each.package == package):
                where = ["--python", str(python), "--beside", *installed(args.folder, release, str(python))]
                failed += ask(release, where, args.configs, is_kept=args.keep)
            if package == "trl":
                failed += not is_found_out([*where, "--configs", args.configs])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
