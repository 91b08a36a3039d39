"""How many faults of a drawn sample have a row in `rules/bugs`: `python -m benchmarks.bug_rows`.

The sample was drawn at random from the repairs of each package before the rows were written, and nobody reads it: it
lies packed in `benchmarks/sealed`, and this command prints totals and writes each run into `log.jsonl` there.

A fault has a row where a row of its package names the commit, the pull request or an issue of it among its evidence;
or, as rows may cite another thread, where the row's condition holds one of the words of the fault and its releases end
with the same one.
"""

from __future__ import annotations

import json
import lzma
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tomli
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from benchmarks.score_sealed import FOLDER, LOG, commit

ROOT = Path(__file__).resolve().parent.parent
NAME = "bug-rows-2026-11"
_NUMBER = re.compile(r"(?:issues|pull)/(\d+)|commit/([0-9a-f]{7,40})")


def rows() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row with the package whose file it stands in."""
    for path in sorted((ROOT / "rules" / "bugs").glob("*.toml")):
        for row in tomli.loads(path.read_text("utf-8")).get("bug", ()):
            yield path.stem, row


def is_of(row: dict[str, Any], fault: dict[str, Any]) -> bool:
    """Whether a row tells of a fault."""
    cited = [match for text in row["evidence"] for match in _NUMBER.findall(text)]
    for known in map(str, fault["threads"]):
        if any(number == known or (sha and known.startswith(sha[:9])) for number, sha in cited):
            return True
    text = f"{row['where']} {row['condition']}".lower()
    return any(word.lower() in text for word in fault["accept"]) and _ends_with(row.get("releases", ""), fault["last"])


def _ends_with(releases: str, last: str) -> bool:
    """Whether a release is the last one with the fault of a row."""
    bounds = [part for part in SpecifierSet(releases) if part.operator in ("<", "<=", "==")]
    if not bounds or not releases:
        return False
    highest = max(bounds, key=lambda part: Version(part.version))
    is_in = SpecifierSet(releases).contains(last, prereleases=True)
    version, end = Version(last), Version(highest.version)
    step = (end.major - version.major) * 100 + (end.minor - version.minor)
    return is_in and (end == version or step <= 1)


def main() -> int:
    """The exit status."""
    sample = json.loads(lzma.decompress((FOLDER / f"{NAME}.lzma").read_bytes()))
    known = list(rows())
    result: dict[str, Any] = {"draw": NAME, "date": time.strftime("%Y-%m-%d"), "commit": commit(), "rows": len(known)}
    for stratum in ("git", "wheel"):
        for package in ("trl", "verl"):
            faults = [one for one in sample if one["stratum"] == stratum and one["package"] == package]
            having = [one for one in faults if any(name == package and is_of(row, one) for name, row in known)]
            silent = sum(one["consequence"] == "silent" for one in having)
            result[f"{stratum} {package}"] = {"faults": len(faults), "with_a_row": len(having), "silent": silent}
    print(json.dumps(result))
    with LOG.open("a", encoding="utf-8") as log:
        log.write(json.dumps(result) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
