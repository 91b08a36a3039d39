"""Every file there is, whole and broken: no crash, no hang, no recursion error. `make torture`, see README.md.

`python -m benchmarks.torture [--edits N] [--seed N] [FOLDER…]` checks the standard library of the running Python (with
its test-suite, whose bad encodings are meant to hurt), each FOLDER, and N random edits of the fixtures. Every file is
taken as if the user had named it and as if every word of every rule stood in it. It ends with 1 if anything failed.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import signal
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NamedTuple

from trl_lint import checker, engine
from trl_lint.checks.rule import Rule
from trl_lint.project.discovery import is_source
from trl_lint.python.triage import Triage
from trl_lint.selection import Selection
from trl_lint.settings import Settings

# A file that takes longer hangs, as far as the user can tell.
_SECONDS = 30.0
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LARGEST = 3_000_000


class Failure(NamedTuple):
    """A file that broke the tool, and how."""

    path: str
    what: str


class Hang(BaseException):
    """A file took longer than anybody waits. No Exception, so that nothing on the way takes it for one."""


class Toll(NamedTuple):
    """What a number of files came to."""

    files: int
    unreadable: int
    findings: int
    seconds: float
    slowest: tuple[float, str]
    failures: list[Failure]


def sources_below(folder: str) -> list[str]:
    """Every file below a folder that some reader understands, ignored ones and those in odd folders as well."""
    found = []
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - {".git", "__pycache__", "site-packages"})
        paths = (os.path.join(here, name) for name in sorted(names))
        found += [path for path in paths if is_source(path) and os.path.isfile(path) and not os.path.islink(path)]
    return found


def torture(paths: list[str], root: str, overlays: dict[str, bytes] | None = None) -> Toll:
    """Check files in this process, each with a time limit."""
    slowest, started, failures = (0.0, ""), time.perf_counter(), []
    plain = checker.Checker.check_path

    def watched(run: checker.Checker, path: str, explicit: bool) -> None:
        nonlocal slowest
        before = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, _SECONDS)
        try:
            plain(run, path, explicit)
        except Hang:
            failures.append(Failure(path, f"more than {_SECONDS:.0f} s"))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        slowest = max(slowest, (time.perf_counter() - before, path))

    signal.signal(signal.SIGALRM, _hang)
    checker.Checker.check_path = watched  # type: ignore[method-assign,assignment]
    try:
        result = engine.check(paths, Settings(root, layers=[Selection(("ALL",))]), overlays)
    except Exception as error:  # what the engine lets through would end the program
        return Toll(len(paths), 0, 0, 0.0, slowest, [*failures, Failure(root, f"{type(error).__name__}: {error}")])
    finally:
        checker.Checker.check_path = plain  # type: ignore[method-assign]
    codes = Counter(finding.code for finding in result.findings)
    failures += [Failure(f.location.path, f.message) for f in result.findings if f.code == "TRL003"]
    seconds = time.perf_counter() - started
    return Toll(result.checked, codes["TRL001"], len(result.findings) - codes["TRL001"], seconds, slowest, failures)


def _hang(number: int, frame: FrameType | None) -> None:
    raise Hang


def every_rule_is_active(triage: Triage, data: bytes, path: str = "", is_rough: bool = False) -> set[Rule]:
    return triage.rules()


# -- broken fixtures ------------------------------------------------------------------------------------------------

Edit = Callable[[random.Random, bytes], bytes]


def _cut(chance: random.Random, data: bytes) -> bytes:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return data[:start] + data[min(end, start + chance.choice((1, 3, 40))) :]


def _doubled(chance: random.Random, data: bytes) -> bytes:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return data[:end] + data[start:]


def _inserted(chance: random.Random, data: bytes) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(INSERTS) * chance.choice((1, 1, 2, 300)) + data[at:]


def _swapped(chance: random.Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    chance.shuffle(lines)
    return b"".join(lines)


def _line_ends(chance: random.Random, data: bytes) -> bytes:
    return data.replace(b"\n", chance.choice((b"\r\n", b"\r", b"\n\r", b"\f\n", b"\v\n", b" \\\n", b"\x85\n")))


def _indented(chance: random.Random, data: bytes) -> bytes:
    return data.replace(b"    ", b"\t") if chance.random() < 0.5 else b"\t" + data.replace(b"\n", b"\n\t")


def _encoded(chance: random.Random, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    coding = chance.choice(("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-7", "shift-jis"))
    cookie = f"# coding: {coding}\n" if chance.random() < 0.5 else ""
    return (cookie + text).encode(coding, "replace")


def _nested(chance: random.Random, data: bytes) -> bytes:
    opening, closing = chance.choice(_BRACKETS)
    depth, at = chance.choice((50, 200, 2000)), chance.randrange(len(data) + 1)
    return data[:at] + opening * depth + data[at : at + 5] + closing * depth + data[at + 5 :]


def _stretched(chance: random.Random, data: bytes) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice((b"x", b" ", b"1", b"a.", b"a=1,", b"--x ", b"\xc3\xa9")) * 30_000 + data[at:]


INSERTS = (
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"\r", b"\f", b"\x1b[31m", b"\xed\xa0\x80", b"\\u", b"\\N{", b"'''", b'"',
    b"#", b"{{", b"${", b"$((", b"<<EOF\n", b"&a ", b"*a", b"!!python/object:os.system ", b"%%bash\n", b"!", b": ",
    b"- ", b"[[", b"\xe2\x80\xa8", b"lambda:", b"f'{", b"\\", b"1e999", b"9" * 5000, b"not ", b"@", b"async ",
    b"noqa: TRL", b"# noqa\n",
)  # fmt: skip
_BRACKETS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"), (b"$(", b")"), (b'{"a":', b"}"), (b"-", b""))
_EDITS: tuple[Edit, ...] = (
    _cut, _cut, _doubled, _inserted, _inserted, _swapped, _line_ends, _indented, _encoded, _nested, _stretched
)  # fmt: skip


def broken(chance: random.Random, data: bytes) -> bytes:
    """A file after one to four random edits."""
    for _ in range(chance.randint(1, 4)):
        data = chance.choice(_EDITS)(chance, data)
    return data[:_LARGEST]


def break_fixtures(edits: int, seed: int) -> Iterator[Toll]:
    fixtures = sources_below(os.path.join(_ROOT, "fixtures"))
    for number in range(edits):
        chance = random.Random(f"{seed}/{number}")
        path = chance.choice(fixtures)
        with open(path, "rb") as stream:
            data = broken(chance, stream.read())
        toll = torture([path], os.path.dirname(path), {path: data})
        yield toll._replace(failures=[Failure(f"{path} ({seed}/{number})", f.what) for f in toll.failures])


# -- the command ----------------------------------------------------------------------------------------------------


def summed(tolls: Iterator[Toll]) -> Toll:
    total = Toll(0, 0, 0, 0.0, (0.0, ""), [])
    for toll in tolls:
        total = Toll(
            total.files + toll.files,
            total.unreadable + toll.unreadable,
            total.findings + toll.findings,
            total.seconds + toll.seconds,
            max(total.slowest, toll.slowest),
            total.failures + toll.failures,
        )
        if total.files % 100 == 0:
            gc.collect()
    return total


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torture", description="Check everything there is.")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="trees to check besides the standard library")
    parser.add_argument("--edits", type=int, default=2000, help="how many broken fixtures")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-library", action="store_true", help="leave out the standard library")
    args = parser.parse_args()
    Triage.active = every_rule_is_active  # type: ignore[method-assign,assignment]
    library = [] if args.no_library else [sysconfig.get_path("stdlib")]
    print("| what | files | TRL001 | findings | seconds | slowest file | failures |\n|---|---|---|---|---|---|---|")
    failures: list[Failure] = []
    for folder in (*library, *map(os.path.abspath, args.folders)):
        name = f"Python {sys.version.split()[0]}" if folder in library else os.path.basename(folder)
        failures += show(name, torture(sources_below(folder), folder))
        gc.collect()
    failures += show(f"edits of fixtures, seed {args.seed}", summed(break_fixtures(args.edits, args.seed)))
    for failure in failures:
        print(f"{failure.path}: {failure.what}", file=sys.stderr)
    return 1 if failures else 0


def show(name: str, toll: Toll) -> list[Failure]:
    seconds, path = toll.slowest
    slowest = f"{os.path.basename(path)} {seconds:.1f} s"
    counts = f"{toll.files:,} | {toll.unreadable:,} | {toll.findings:,} | {toll.seconds:.0f}"
    print(f"| {name} | {counts} | {slowest} | {len(toll.failures)} |", flush=True)
    return toll.failures


if __name__ == "__main__":
    raise SystemExit(main())
