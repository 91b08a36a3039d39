"""Every release of TRL against itself: `python -m benchmarks.precision --mirror DIR --json OUT`.

The code of a release fits that release, so whatever TRL301, TRL302, TRL303 and TRL305 say about it is either a fault
that was really released or a false finding. Each tag's `examples`, `tests`, `docs` and `trl` are judged with the
releases of `trl-environments.txt` as targets. What was read by hand is in `trl-labels.txt`; the run fails where a
finding is false or was not read.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.environments import Environment, read_environments
from benchmarks.trees import clone_of, commit_of, findings_of, tree_of, unsilence

FOLDERS = ("examples", "tests", "docs", "trl")
RULES = "TRL301,TRL302,TRL303,TRL305"
LABELS = Path(__file__).with_name("trl-labels.txt")
_KINDS = ("*.py", "*.ipynb")


class Key(NamedTuple):
    """What makes a finding the same in two releases: all of it but the line and the versions."""

    rule: str
    path: str
    subject: str


class Label(NamedTuple):
    label: str
    reason: str


def key_of(finding: dict[str, Any]) -> Key:
    """The rule, the file and what a finding says is wrong: the names before the advice, whatever their order."""
    said = re.split(r"[:;]( |$)|, which ", finding["message"], maxsplit=1)[0]
    return Key(finding["code"], finding["path"], _subject(re.findall(r"`([^`]+)`", said)))


def _subject(names: Sequence[str]) -> str:
    return " ".join(sorted(set(names)))


def read_labels(path: Path = LABELS) -> dict[Key, Label]:
    """The findings that were read: `true|false|debatable RULE PATH: NAMES -- why`."""
    found: dict[Key, Label] = {}
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        if line and not line.startswith("#"):
            head, _, reason = line.partition(" -- ")
            label, rule, rest = head.split(" ", 2)
            file, _, subject = rest.partition(": ")
            found[Key(rule, file, _subject(subject.split()))] = Label(label, reason)
    return found


def measure(clone: Path, environment: Environment) -> dict[str, Any]:
    """One tag: its commit, how many Python files and notebooks there are, and the findings."""
    with tree_of(clone, environment.tag, FOLDERS) as tree:
        unsilence(tree)
        paths = [folder for folder in FOLDERS if (tree / folder).is_dir()]
        files = sum(1 for folder in paths for kind in _KINDS for _ in (tree / folder).rglob(kind))
        findings = findings_of(tree, paths, RULES, environment.versions)
    return {"commit": commit_of(clone, environment.tag), "files": files, "findings": findings}


def table(measured: dict[str, dict[str, Any]], labels: dict[Key, Label]) -> str:
    """A row for each release: files, findings by rule, and how they were labelled."""
    rows = ["| release | commit | files | TRL301 | TRL302 | TRL303 | TRL305 | true | debatable | false | not read |"]
    rows.append("|---|---|---|---|---|---|---|---|---|---|---|")
    for tag, result in measured.items():
        rules = Counter(f["code"] for f in result["findings"])
        kinds = Counter(labels.get(key_of(f), Label("unread", "")).label for f in result["findings"])
        counts = [result["files"], *(rules[rule] for rule in RULES.split(","))]
        counts += [kinds[kind] for kind in ("true", "debatable", "false", "unread")]
        rows.append(f"| {tag} | `{result['commit'][:12]}` | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(rows)


def distinct(measured: dict[str, dict[str, Any]]) -> dict[Key, list[str]]:
    """Each finding once, and the tags that have it."""
    found: dict[Key, list[str]] = {}
    for tag, result in measured.items():
        for finding in result["findings"]:
            tags = found.setdefault(key_of(finding), [])
            if tag not in tags:
                tags.append(tag)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, required=True, help="the folder with the clones")
    parser.add_argument("--json", type=Path, help="write all findings to this file")
    parser.add_argument("--tags", nargs="*", help="only these releases")
    args = parser.parse_args(arguments)
    clone = clone_of(args.mirror, "huggingface/trl")
    measured = {}
    for environment in read_environments():
        if not args.tags or environment.tag in args.tags:
            measured[environment.tag] = measure(clone, environment)
            print(environment.tag, len(measured[environment.tag]["findings"]), file=sys.stderr)
            if args.json:
                args.json.write_text(json.dumps(measured, indent=1), "utf-8")
    labels = read_labels()
    print(table(measured, labels))
    wrong = {key: tags for key, tags in distinct(measured).items() if key not in labels or labels[key].label == "false"}
    for key, tags in wrong.items():
        print(f"{labels[key].label if key in labels else 'unread'} {key.rule} {key.path}: {key.subject} ({tags[-1]})")
    print(f"{len(distinct(measured))} distinct findings, {len(wrong)} of them false or not read")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
