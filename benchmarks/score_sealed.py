"""How many problems that nobody here has read are found: `python -m benchmarks.score_sealed [NAME …]`.

Each file `benchmarks/sealed/NAME.xz` is one half of a draw of cases, packed so that no search of the tree shows them.
Nobody opens it: this command unpacks it in memory, prints totals and nothing about a single case, and writes each run
into `benchmarks/sealed/log.jsonl`. The first run after the code is frozen is the figure.

    python -m benchmarks.score_sealed --pack cases.json NAME        what the collector does, once
    python -m benchmarks.score_sealed --open cases.json             the other half, case by case, not logged

A case is a small project (`files`) with its corrected twin (`fixed`), and the places where the fault is to be told
(`wanted`: `path` or "", `line` or 0, `codes` or "", and `words`, of which the message has to hold one, where only they
are known; none where there is no fault and nothing may be said). It is found where a warning or an error stands at one
of the places, within three lines, that the twin does not have as well; it is hinted at where only a hint does. What its
collector called as right (`or_lines` of a place, `also_right` of the case) is counted "beside". It is accused falsely
where its twin, or a case without a fault, has a warning or an error.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "sealed"
LOG = FOLDER / "log.jsonl"
_NEAR = 3  # lines
_SECONDS = 120  # for one project


class Case(NamedTuple):
    """One problem; `files` and `fixed` are texts by path."""

    id: str
    kind: str
    files: dict[str, str]
    fixed: dict[str, str]
    args: list[str]
    wanted: list[dict[str, Any]]
    as_right: list[dict[str, Any]] = []

    @property
    def is_fine(self) -> bool:
        """Whether there is no fault in it."""
        return not self.wanted


class Told(NamedTuple):
    """One finding of the tool; `line` is 0 in a notebook, where places count in a cell."""

    code: str
    path: str
    line: int
    message: str
    is_hint: bool = False


class Score(NamedTuple):
    """What the tool said about a case."""

    case: Case
    is_found: bool
    is_beside: bool
    is_hinted: bool
    is_accused: bool
    told: tuple[Told, ...]
    told_of_twin: tuple[Told, ...]


def read_cases(text: str) -> list[Case]:
    """Raises ValueError where a case lacks something."""
    cases = []
    for row in json.loads(text):
        try:
            one = Case(row["id"], row["kind"], row["files"], row["fixed"], row["args"], row["wanted"])
        except KeyError as missing:
            raise ValueError(f"case {row.get('id', '?')} has no {missing}") from None
        as_right = [{**place, "line": line} for place in one.wanted for line in place.get("or_lines", ())]
        as_right += [{**place, **other} for place in one.wanted for other in row.get("also_right", ())]
        cases.append(one._replace(as_right=as_right))
    return cases


def pack(cases: str, name: str) -> Path:
    """Put the text of a draw into the folder of sealed halves; raises ValueError where it cannot be read."""
    read_cases(cases)
    path = FOLDER / f"{name}.xz"
    FOLDER.mkdir(exist_ok=True)
    path.write_bytes(lzma.compress(cases.encode()))
    return path


def lint(tool: Sequence[str], files: dict[str, str], args: Sequence[str]) -> tuple[Told, ...]:
    """What is said about a project.

    Raises RuntimeError where the tool gives no answer.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        command = [*tool, "--output-format", "json", "--no-cache", *args, "."]
        answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False)
    try:
        found = json.loads(answer.stdout)["findings"]
    except (ValueError, KeyError):
        raise RuntimeError(f"no answer: {answer.stderr[-300:]}") from None
    return tuple(
        Told(
            one["code"],
            one["path"].removeprefix("./"),
            _line(one["start"]),
            one["message"],
            one["severity"] == "info",
        )
        for one in found
    )


def _line(start: dict[str, int]) -> int:
    return 0 if "cell" in start else start["line"]


def score(case: Case, tool: Sequence[str]) -> Score:
    """What the tool says about a case and its twin."""
    told, of_twin = lint(tool, case.files, case.args), lint(tool, case.fixed, case.args)
    known = {(one.code, one.path, one.message) for one in of_twin}
    new = [one for one in told if (one.code, one.path, one.message) not in known]
    fitting = [one for one in new if any(_is_at(one, place) for place in case.wanted)]
    is_found = any(not one.is_hint for one in fitting)
    is_beside = not is_found and any(not one.is_hint and _is_at(one, place) for one in new for place in case.as_right)
    accused = [one for one in (*of_twin, *(told if case.is_fine else ())) if not one.is_hint]
    return Score(case, is_found, is_beside, bool(fitting) and not is_found, bool(accused), told, of_twin)


def _is_at(one: Told, place: dict[str, Any]) -> bool:
    codes = [code for code in str(place.get("codes", "")).split("|") if code]
    line = int(place.get("line") or 0)
    is_near = place["path"] in ("", one.path) and (not line or not one.line or abs(one.line - line) <= _NEAR)
    words = [word.lower() for word in place.get("words", ())]
    says = not words or any(word in one.message.lower() for word in words)
    return is_near and says and (not codes or one.code in codes)


def totals(scores: Iterable[Score]) -> dict[str, Any]:
    """The figures of a run: found of those with a fault, by kind, and how many were accused falsely."""
    scores = list(scores)
    faulty = [one for one in scores if not one.case.is_fine]
    found, of = Counter(one.case.kind for one in faulty if one.is_found), Counter(one.case.kind for one in faulty)
    low, high = interval(sum(found.values()), len(faulty))
    return {
        "faults": len(faulty),
        "found": sum(found.values()),
        "beside": sum(one.is_beside for one in faulty),
        "hinted": sum(one.is_hinted for one in faulty),
        "percent_between": [round(100 * low), round(100 * high)],
        "by_kind": {kind: [found[kind], of[kind]] for kind in sorted(of)},
        "fine_or_corrected": len(scores),
        "accused": sum(one.is_accused for one in scores),
    }


def interval(found: int, of: int) -> tuple[float, float]:
    """The shares between which the true one lies with 95 % (Wilson)."""
    if not of:
        return 0.0, 1.0
    z = 1.96
    share = found / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    spread = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return max(0.0, middle - spread), min(1.0, middle + spread)


def commit() -> str:
    """The commit that is checked out, with `+` where something is not committed; "" outside of git."""
    try:
        head = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True)
        changes = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head.stdout.strip() + ("+" if changes.stdout.strip() else "")


def _scores(cases: Sequence[Case], tool: Sequence[str]) -> Iterator[Score]:
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from pool.map(lambda case: score(case, tool), cases)


def main() -> int:
    """The exit status: 2 where something cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--pack", metavar="CASES", help="put the cases of a file under NAME")
    parser.add_argument("--open", metavar="CASES", help="score a file of cases, and show each")
    parser.add_argument(
        "--tool", nargs="+", default=[sys.executable, "-m", "trl_lint"], help="another build of the tool"
    )
    options = parser.parse_args()
    try:
        if options.pack:
            if len(options.names) != 1:
                parser.error("--pack needs one NAME")
            print(pack(Path(options.pack).read_text("utf-8"), options.names[0]))
            return 0
        if options.open:
            _show(list(_scores(read_cases(Path(options.open).read_text("utf-8")), options.tool)))
            return 0
        for name in options.names or sorted(path.stem for path in FOLDER.glob("*.xz")):
            cases = read_cases(lzma.decompress((FOLDER / f"{name}.xz").read_bytes()).decode())
            result = {"draw": name, "date": time.strftime("%Y-%m-%d"), "commit": commit()}
            result |= {"tool": " ".join(options.tool[1:])} | totals(_scores(cases, options.tool))
            print(json.dumps(result))
            with LOG.open("a", encoding="utf-8") as log:
                log.write(json.dumps(result) + "\n")
    except (OSError, ValueError, TypeError, RuntimeError, lzma.LZMAError) as error:
        print(f"score_sealed: {error}", file=sys.stderr)
        return 2
    return 0


def _show(scores: list[Score]) -> None:
    for one in scores:
        missed = "hinted" if one.is_hinted else "MISSED"
        verdict = "fine  " if one.case.is_fine else "found " if one.is_found else "beside" if one.is_beside else missed
        print(verdict, "ACCUSED" if one.is_accused else "", one.case.kind, one.case.id)
        for told in (told for told in one.told if one.is_hinted or not told.is_hint):
            print("    ", told.path, told.line, told.code, told.message[:110])
        for told in one.told_of_twin if one.is_accused else ():
            print("  of the twin:", told.path, told.line, told.code, told.message[:110])
    print(json.dumps(totals(scores)))


if __name__ == "__main__":
    raise SystemExit(main())
