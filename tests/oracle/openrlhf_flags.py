"""What argparse says about the flags of real OpenRLHF commands; its verdicts are kept in `openrlhf_flags.json`.

Not run by the test suite. Two steps:

    python tests/oracle/openrlhf_flags.py extract CASES.json  TAG=CHECKOUT…
    python tests/oracle/openrlhf_flags.py answer CASES.json  RELEASE=FOLDER…

`CHECKOUT`: the files of OpenRLHF at that tag, `FOLDER`: the `openrlhf/cli` of a release. `extract` takes the commands
whose words are all known but for values, which become `1`. `answer` runs the statements of each program that build its
parser (`parser = …`, `parser.add_argument(…)`, and loops around them), and none else, and asks that parser.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from trl_lint.project.launch_table import all_launches

KEPT = Path(__file__).parent / "openrlhf_flags.json"


def extract(out: str, *checkouts: str) -> None:
    from trl_lint.knowledge.programs import programs
    from trl_lint.project import Project
    from trl_lint.run.readers.argparse_flags import _FLAG_HOLE
    from trl_lint.settings import Settings
    from trl_lint.sources import Files

    cases = []
    for checkout in checkouts:
        tag, _, folder = checkout.partition("=")
        root = os.path.abspath(folder)
        for launch in all_launches(Project(root, Files(), Settings())):
            if launch.module not in programs("openrlhf") or launch.command.errors or not launch.args:
                continue
            words: list[str] = []
            for word in launch.args:
                hole = _FLAG_HOLE.match(word.raw)
                if word.text is not None:
                    words.append(word.text)
                elif hole is not None:
                    words.append(f"{hole[1]}=1")
                elif words and words[-1].startswith("--") and not word.several:
                    words.append("1")
            if not any(word in ("...", "\\") for word in words):
                where = os.path.relpath(launch.source.path, root)
                cases.append({"from": f"{tag} {where}", "program": launch.module, "words": words})
    Path(out).write_text(json.dumps(cases, indent=1), encoding="utf-8")
    print(len(cases), "commands")


def answer(source: str, *releases: str) -> None:
    cases = json.loads(Path(source).read_text(encoding="utf-8"))
    table: dict[str, int] = {}
    lines = []
    for release in releases:
        version, _, folder = release.partition("=")
        for case in cases:
            path = Path(folder, case["program"].rpartition(".")[2] + ".py")
            verdict = ask(build(path), case["words"]) if path.exists() else {"program": False}
            words = [table.setdefault(word, len(table)) for word in case["words"]]
            lines.append(json.dumps({**case, "words": words, "on": version, "verdict": verdict}))
    kept = ",\n".join(lines)
    KEPT.write_text(f'{{"words": {json.dumps(list(table))},\n"cases": [\n{kept}\n]}}\n', encoding="utf-8")
    print(len(lines), "kept")


def build(path: Path) -> argparse.ArgumentParser:
    """The parser of a program, from the statements that build it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kept = [node for block in tree.body if isinstance(block, ast.If) for node in block.body if is_of_parser(node)]
    names: dict[str, Any] = {"argparse": argparse, "datetime": datetime}
    exec(compile(ast.Module(kept, []), str(path), "exec"), names)
    parser: argparse.ArgumentParser = names["parser"]
    return parser


def is_of_parser(node: ast.stmt) -> bool:
    if isinstance(node, ast.For):
        return all(is_of_parser(inner) for inner in node.body)
    called = node.value if isinstance(node, (ast.Expr, ast.Assign)) else None
    return isinstance(called, ast.Call) and ast.unparse(called.func) in (
        "argparse.ArgumentParser",
        "parser.add_argument",
    )


def ask(parser: argparse.ArgumentParser, words: list[str]) -> dict[str, Any]:
    """The flags that the parser does not know, or the error it stops with."""
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            _, extra = parser.parse_known_args(words)
    except SystemExit:
        return {"error": complaint.getvalue().splitlines()[-1].partition("error: ")[2]}
    return {"unknown": [word.partition("=")[0] for word in extra if word.startswith("--")]}


if __name__ == "__main__":
    {"extract": extract, "answer": answer}[sys.argv[1]](*sys.argv[2:])
