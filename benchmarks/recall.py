"""Old examples against today's releases: `python -m benchmarks.recall --mirror DIR --python ENV/bin/python`.

The examples of old TRL tags are judged as if the releases installed in another environment were pinned. That
environment is asked what it really has: each name the examples import from TRL, transformers, peft or accelerate is
imported there, and each keyword they pass to such a name is looked up in its signature. What fails there must be
reported (else it is missed), and what works must not be (else it is extra).

The environment: `pip install trl==1.16.0 transformers==5.23.0 torch peft` on Python 3.11.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.trees import clone_of, findings_of, tree_of, unsilence
from benchmarks.uses import Use, uses_of

TAGS = (
    "v0.4.7", "v0.7.11", "v0.9.6", "v0.11.0", "v0.11.4", "v0.12.2", "v0.14.0", "v0.16.1", "v0.17.0", "v0.18.2",
    "v0.19.1", "v0.20.0", "v0.22.2", "v0.24.0", "v0.26.2", "v0.28.0",
)  # fmt: skip
PACKAGES = ("trl", "transformers", "peft", "accelerate")
_PROBE = Path(__file__).with_name("recall_probe.py")


class Truth(NamedTuple):
    """What the environment answered. `keywords` by (name, keyword)."""

    versions: dict[str, str]
    names: dict[str, str]
    keywords: dict[tuple[str, str], str]

    def of(self, use: Use) -> str:
        return self.keywords[use.name, use.keyword] if use.keyword else self.names[use.name]


class Compared(NamedTuple):
    """The uses of a tag by what came of them, and the findings that belong to none of them."""

    counts: Counter[str]
    missed: list[Use]
    extra: list[Use]
    beyond: list[dict[str, Any]]


def ask(python: Path, uses: Sequence[Use]) -> Truth:
    """Let the environment try everything. Raises CalledProcessError where it cannot be asked at all."""
    names = sorted({use.name for use in uses})
    keywords = sorted({(use.name, use.keyword) for use in uses if use.keyword})
    ran = subprocess.run(
        [str(python), "-W", "ignore", str(_PROBE)],
        input=json.dumps({"names": names, "keywords": keywords}).encode(),
        stdout=subprocess.PIPE,
        check=True,
    )
    answer = json.loads(ran.stdout)
    return Truth(answer["versions"], answer["names"], {(n, k): said for n, k, said in answer["keywords"]})


def is_reported(use: Use, findings: Sequence[dict[str, Any]]) -> bool:
    return any(is_about(finding, use) for finding in findings)


def is_about(finding: dict[str, Any], use: Use) -> bool:
    """Whether a finding is about a use: at its place, with its name or the module that it comes from."""
    start = finding["start"]
    if finding["path"] != use.path or start.get("cell", 0) != use.cell:
        return False
    if not use.lines[0] <= start["line"] <= use.lines[1]:
        return False
    if use.keyword:
        return finding["code"] == "TRL301" and f"argument `{use.keyword}`" in finding["message"]
    if finding["code"] != "TRL302":
        return False
    module, _, name = use.name.partition(":")
    message: str = finding["message"].partition(": ")[0]
    if " module `" in message:  # it went, or never was there
        return f"{use.name.replace(':', '.')}.".startswith(message.partition(" module `")[2].partition("`")[0] + ".")
    return f"`{name or module.rpartition('.')[2]}`" in message


def compare(uses: Sequence[Use], truth: Truth, findings: Sequence[dict[str, Any]]) -> Compared:
    """Count what fails and what of it is reported, imports and keywords apart; what is guarded may be silent."""
    counts: Counter[str] = Counter()
    missed, extra = [], []
    for use in uses:
        kind = "keywords" if use.keyword else "imports"
        said, reported = truth.of(use), is_reported(use, findings)
        counts[kind] += 1
        if said == "no" and not use.guarded:
            counts[f"{kind} that fail"] += 1
            counts[f"{kind} reported"] += reported
            if not reported:
                missed.append(use)
        elif said == "no":
            counts[f"{kind} that fail, guarded"] += 1
        elif said == "yes":
            if reported:
                extra.append(use)
        elif said not in ("open", "gone"):
            counts[f"{kind} that could not be tried"] += 1
    beyond = [f for f in findings if f["severity"] != "info" and not any(is_about(f, use) for use in uses)]
    return Compared(counts, missed, extra, beyond)


def spell(use: Use) -> str:
    place = f"{use.path}:{use.lines[0]}" if not use.cell else f"{use.path}:cell {use.cell}:{use.lines[0]}"
    return f"{place} {use.name.replace(':', '.')}" + (f"({use.keyword}=)" if use.keyword else "")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, required=True, help="the folder with the clones")
    parser.add_argument("--python", type=Path, required=True, help="the interpreter of the environment")
    parser.add_argument("--tags", nargs="*", default=TAGS, help="other tags")
    args = parser.parse_args(arguments)
    clone = clone_of(args.mirror, "huggingface/trl")
    columns = ["imports", "imports that fail", "imports reported", "keywords", "keywords that fail"]
    columns += ["keywords reported", "missed", "extra", "beyond"]
    print("| tag | files | " + " | ".join(columns) + " |")
    print("|" + "---|" * (len(columns) + 2))
    total: Counter[str] = Counter()
    notes: dict[str, None] = {}
    for tag in args.tags:
        with tree_of(clone, tag, ("examples",)) as tree:
            unsilence(tree)
            files = sorted(p for kind in ("*.py", "*.ipynb") for p in (tree / "examples").rglob(kind))
            uses = []
            for path in files:
                try:
                    uses += uses_of(tree, path, PACKAGES)
                except (SyntaxError, ValueError) as error:
                    notes[f"not read {tag} {path.relative_to(tree)}: {error}"] = None
            truth = ask(args.python, uses)
            targets = {name: truth.versions[name] for name in PACKAGES}
            findings = findings_of(tree, ["examples"], "TRL301,TRL302", targets)
        found = compare(uses, truth, findings)
        row = {**found.counts, "missed": len(found.missed), "extra": len(found.extra), "beyond": len(found.beyond)}
        row["files"] = len(files)
        total.update(row)
        print(f"| {tag} | {row['files']} | " + " | ".join(str(row.get(c, 0)) for c in columns) + " |", flush=True)
        notes.update(dict.fromkeys(f"missed {tag} {spell(use)}" for use in found.missed))
        notes.update(dict.fromkeys(f"extra {tag} {spell(use)}" for use in found.extra))
        notes.update(
            dict.fromkeys(f"beyond {tag} {f['path']}:{f['start']['line']} {f['message']}" for f in found.beyond)
        )
        unknown = {use.name: truth.of(use) for use in uses if truth.of(use) not in ("yes", "no", "open", "gone")}
        notes.update(dict.fromkeys(f"not tried {name}: {why}" for name, why in unknown.items()))
    print(f"| all | {total['files']} | " + " | ".join(str(total[c]) for c in columns) + " |")
    print(f"guarded: {total['imports that fail, guarded']} imports, {total['keywords that fail, guarded']} keywords")
    print("environment: " + ", ".join(f"{name} {version}" for name, version in truth.versions.items()))
    print(*notes, sep="\n")
    return 1 if total["missed"] or total["extra"] else 0


if __name__ == "__main__":
    sys.exit(main())
