"""Projects at their own pins: `python -m benchmarks.projects --mirror DIR --json OUT`.

`projects.txt` lists repositories and revisions; DIR holds their clones as `owner+name`. What was
read by hand is in `projects-labels.txt` (as in `benchmarks.precision`, the path led by the repository's name); the run
fails where a finding is false or was not read.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.precision import RULES, Label, distinct, key_of, read_labels
from benchmarks.trees import clone_of, commit_of, findings_of, tree_of

LIST = Path(__file__).with_name("projects.txt")
LABELS = Path(__file__).with_name("projects-labels.txt")


def read_projects(path: Path = LIST) -> Iterator[tuple[str, str]]:
    """Pairs of repository and revision."""
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            repository, *revisions = line.split()
            yield from ((repository, revision) for revision in revisions)


def measure(clone: Path, repository: str, revision: str) -> dict[str, Any]:
    """One revision: its commit, how many Python files and notebooks there are, and the findings."""
    with tree_of(clone, revision) as tree:
        files = sum(1 for kind in ("*.py", "*.ipynb") for _ in tree.rglob(kind))
        found = findings_of(tree, ["."], RULES)
    findings = [{**finding, "path": f"{repository}/{finding['path']}"} for finding in found]
    return {"commit": commit_of(clone, revision), "files": files, "findings": findings}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, required=True, help="the folder with the clones")
    parser.add_argument("--json", type=Path, help="write all findings to this file")
    args = parser.parse_args(arguments)
    labels = read_labels(LABELS)
    measured = {}
    print("| project | commit | files | TRL301 | TRL302 | TRL303 | TRL305 | true | debatable | false | not read |")
    print("|" + "---|" * 11)
    for repository, revision in read_projects():
        result = measured[f"{repository} {revision}"] = measure(clone_of(args.mirror, repository), repository, revision)
        rules = Counter((f["code"], f["severity"] == "info") for f in result["findings"])
        kinds = Counter(labels.get(key_of(f), Label("unread", "")).label for f in result["findings"])
        cells = [f"{rules[rule, False]} ({rules[rule, True]})" for rule in RULES.split(",")]
        cells += [str(kinds[kind]) for kind in ("true", "debatable", "false", "unread")]
        row = [f"{repository} {revision}", f"`{result['commit'][:12]}`", str(result["files"]), *cells]
        print(f"| {' | '.join(row)} |", flush=True)
        if args.json:
            args.json.write_text(json.dumps(measured, indent=1), "utf-8")
    wrong = 0
    for key, revisions in distinct(measured).items():
        label = labels.get(key, Label("unread", ""))
        if label.label not in ("true", "debatable"):
            wrong += 1
            print(f"{label.label} {key.rule} {key.path}: {key.subject} ({', '.join(revisions)})")
    print(f"{len(distinct(measured))} distinct findings, {wrong} of them false or not read")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
