"""How many of the files that launch commands name are found: `python benchmarks/links.py TREE…`.

Each tree is a checkout. A line per tree and kind counts what `trl_lint.run.named_files` says about the links of its
launches; executable files (scripts, SLURM files, Makefiles, Dockerfiles, workflows, notebooks) are counted apart from
documentation (Markdown, docstrings, leading comments). `--show STATUS` lists the links of one status with their
places. "resolved" are exact links, candidates and modules of a framework.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter

from trl_lint.project import Project
from trl_lint.project.launch_table import all_launches
from trl_lint.run.named_files import NamedFile, named_files
from trl_lint.run.runs import run_of
from trl_lint.settings import Settings
from trl_lint.sources import Files

STATUSES = ("exact", "candidates", "framework", "external", "placeholder", "unknown", "missing")
RESOLVED = ("exact", "candidates", "framework")
KINDS = ("script", "accelerate", "recipe", "deepspeed")
Counts = dict[tuple[bool, str], Counter[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description="count the links of launch commands")
    parser.add_argument("trees", nargs="+", metavar="TREE")
    parser.add_argument("--show", choices=STATUSES, help="list the links of this status")
    options = parser.parse_args()
    total: Counts = {}
    for tree in options.trees:
        counts = count(os.path.abspath(tree), options.show)
        show(os.path.basename(os.path.abspath(tree)), counts)
        for key, counter in counts.items():
            total.setdefault(key, Counter()).update(counter)
    if len(options.trees) > 1:
        show("all", total)


def count(root: str, listed: str | None) -> Counts:
    """The links of one tree by (documentation, kind), counted by status."""
    project = Project(root, Files(), Settings(root))
    counts: Counts = {}
    for launch in all_launches(project):
        found: list[tuple[str, str, str]] = [
            (link.kind, status_of(link), link.name or link.word.raw) for link in named_files(run_of(launch, project))
        ]
        if launch.module is not None:
            status = "exact" if launch.script_path else "candidates" if launch.candidates else "framework"
            found.append(("script", status, launch.module))
        for kind, status, name in found:
            counts.setdefault((launch.is_documentation, kind), Counter())[status] += 1
            if status == listed:
                place = launch.location
                line = project.files.get(place.path).position(place.start).line
                print(f"  {os.path.relpath(place.path, root)}:{line}: {kind} {name}")
    return counts


def status_of(link: NamedFile) -> str:
    return "exact" if link.kind == "deepspeed" and link.status == "external" and link.name else link.status


def show(name: str, counts: Counts) -> None:
    for documentation in (False, True):
        for kind in KINDS:
            counter = counts.get((documentation, kind))
            if not counter:
                continue
            resolved, links = sum(counter[status] for status in RESOLVED), counter.total()
            parts = ", ".join(f"{status} {counter[status]}" for status in STATUSES if counter[status])
            where = "documentation" if documentation else "executable"
            print(f"{name:20} {where:14} {kind:11} {resolved:4}/{links:<4} {parts}")


if __name__ == "__main__":
    main()
