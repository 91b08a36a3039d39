"""What is said about whole logs as they were written: `python -m benchmarks.score_logs FILE [--each]`.

FILE holds a list of cases: `id`, `log` (the whole text), `dead`, and for a dead run `line` (where its cause stands,
from 1) and `words`, of which a right answer holds one. An answer is right where it quotes one of the lines, or a line
that reads the same apart from numbers or belongs to the same end, and holds a word in what it says itself; where only
the quotation holds one it is general. A cause that is likely and neither is wrong. Totals alone are printed; `--each`
shows the cases, of a half that may be read.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trl_lint.diagnose.answers import Diagnosed
from trl_lint.diagnose.causes import diagnose
from trl_lint.diagnose.reader import read_log

LIKELY, POSSIBLE, SECOND, LATER = "right first, likely", "right first, possible", "right second", "right further down"
GENERAL, OTHER, SILENT, WRONG = "first, and only general", "only other causes, possible", "silent", "wrong and likely"
FINE, ACCUSED, SURE = "no cause for a healthy log", "a possible cause for one", "a likely cause for one"
KINDS = (LIKELY, POSSIBLE, SECOND, LATER, GENERAL, OTHER, SILENT, WRONG, FINE, ACCUSED, SURE)
_NEAR = 2  # lines between what is quoted and what the case names
_SAME_END = 40  # lines over which launchers and schedulers tell of one end


class Told(NamedTuple):
    """What was said about a case: its kind, and each cause with what it is worth."""

    case: dict[str, Any]
    kind: str
    causes: tuple[tuple[Diagnosed, str], ...]
    fault: str = ""


def tell(case: dict[str, Any]) -> Told:
    """Diagnose the log of a case, without a project."""
    found = diagnose(read_log(io.BytesIO(case["log"].encode("utf-8", "replace"))), "run.log").causes
    if not case["dead"]:
        kind = SURE if any(one.likelihood == "likely" for one in found) else ACCUSED if found else FINE
        return Told(case, kind, tuple((one, "") for one in found))
    lines = case["log"].split("\n")
    wanted = {_plain(lines[number - 1]) for number in case["line"]}
    worths = [_worth(one, case, wanted) for one in found]
    pairs = tuple(zip(found, worths, strict=True))
    if any(one.likelihood == "likely" and not worth for one, worth in pairs):
        return Told(case, WRONG, pairs)
    if "right" in worths:
        place = worths.index("right")
        first = LIKELY if found[0].likelihood == "likely" else POSSIBLE
        return Told(case, (first, SECOND, LATER)[min(place, 2)], pairs)
    return Told(case, GENERAL if "general" in worths[:1] else OTHER if found else SILENT, pairs)


def _worth(one: Diagnosed, case: dict[str, Any], wanted: set[str]) -> str:
    quoted = [seen for seen in one.evidence if seen.path == "run.log"]
    far = min((abs(seen.line - number) for seen in quoted for number in case["line"]), default=_SAME_END + 1)
    is_quoted = far <= _NEAR or any(_is_in(_plain(seen.text), wanted) for seen in quoted)
    if (is_quoted or far <= _SAME_END) and _holds(" ".join((one.title, one.why, one.advice)), case["words"]):
        return "right"
    return "general" if is_quoted and _holds(" ".join(seen.text for seen in quoted), case["words"]) else ""


def _plain(text: str) -> str:
    """A line without its numbers and what terminals put into it."""
    return re.sub(r"\d+", "0", re.sub(r"\x1b\[[\d;]*m", "", text)).strip()


def _is_in(quoted: str, wanted: set[str]) -> bool:
    return len(quoted) > 9 and any(quoted[:150] in line for line in wanted)


def _holds(text: str, words: Sequence[str]) -> bool:
    """Whether a text holds a word; a short one has to stand alone."""
    text = text.lower()
    for word in words:
        plain = re.escape(word.lower())
        if re.search(rf"(?<!\w){plain}(?!\w)" if len(word) <= 4 else plain, text):
            return True
    return False


def totals(told: Sequence[Told]) -> dict[str, Any]:
    """The figures of a run."""
    count = Counter(one.kind for one in told)
    dead = sum(bool(one.case["dead"]) for one in told)
    healthy = len(told) - dead
    return {
        "dead": dead,
        "right and likely first": count[LIKELY],
        "right within two": count[LIKELY] + count[POSSIBLE] + count[SECOND],
        "wrong and likely": count[WRONG],
        "healthy": healthy,
        "healthy with a cause": count[ACCUSED] + count[SURE],
        "kinds": {kind: count[kind] for kind in KINDS if count[kind]},
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--each", action="store_true", help="show what is said about each case")
    options = parser.parse_args(arguments)
    try:
        told = [tell(case) for case in json.loads(Path(options.file).read_text("utf-8"))]
    except (OSError, ValueError, KeyError) as error:
        print(f"score_logs: {error}", file=sys.stderr)
        return 2
    for one in told if options.each else ():
        print(f"{one.kind}: {one.case['id']} {one.case.get('cause', '')} {one.case.get('words')}")
        for cause, worth in one.causes:
            print(f"    {worth or '-'}, {cause.confidence}: {cause.code} {cause.title} | {cause.why}")
            for seen in cause.evidence:
                print(f"        {seen.line}: {seen.text[:140]}")
    print(json.dumps(totals(told), indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
