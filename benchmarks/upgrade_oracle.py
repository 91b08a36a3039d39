"""Whether examples of old tags run with a new release after `trl-lint upgrade`, by the word of the installed library.

    python -m benchmarks.upgrade_oracle --python ENV/bin/python --repository trl.git --to trl==1.16.0 --output FILE

The examples of each tag stand in a folder of their own with the pin of the tag, and are upgraded. Of each file the
libraries of ENV then say what they refuse (`bound_calls.py`). A file is "whole" where nothing is refused, "told" where
the plan names every refused line, and else "silent". `before` is how many files were refused anything before.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

TAGS = "0.8.6 0.9.6 0.10.1 0.11.4 0.12.2 0.14.0 0.16.1 0.18.2 0.21.0 0.24.0"
_BOUND = Path(__file__).with_name("bound_calls.py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required=True, help="the Python of an environment with the wanted releases")
    parser.add_argument("--repository", required=True, help="a git directory of the package")
    parser.add_argument("--package", default="trl")
    parser.add_argument("--folder", default="examples", help="what is upgraded of each tag")
    parser.add_argument("--tags", nargs="*", default=TAGS.split(), help="releases whose tags are taken")
    parser.add_argument("--to", action="append", required=True)
    parser.add_argument("--options", nargs="*", default=["--unsafe-fixes"], help="further options of the upgrade")
    parser.add_argument("--output", required=True, help="where the answers are kept, as JSON")
    args = parser.parse_args()
    answers = {}
    for tag in args.tags:
        answers[tag] = judged(tag, args)
        print(tag, Counter(answers[tag]["files"].values()), flush=True)
    total = Counter[str]()
    for found in answers.values():
        total.update(found["files"].values())
        total["before"] += found["refused before"]
    document = {"to": args.to, "total": dict(total), "tags": answers}
    Path(args.output).write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(dict(total))


def judged(tag: str, args: argparse.Namespace) -> dict[str, Any]:
    """What became of the files of one tag."""
    with tempfile.TemporaryDirectory() as folder:
        _extract(args.repository, f"v{tag}", args.folder, folder)
        Path(folder, "requirements.txt").write_text(f"{args.package}=={tag}\n", encoding="utf-8")
        files = sorted(str(path) for path in Path(folder, args.folder).rglob("*.py"))
        before = refused(args.python, files)
        wanted = [word for goal in args.to for word in ("--to", goal)]
        command = [sys.executable, "-m", "trl_lint", "upgrade", *wanted, *args.options, "--isolated"]
        environment = {**os.environ, "PYTHONPATH": os.getcwd()}
        run = subprocess.run(
            [*command, "--write", "--output-format", "json", "."],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if run.returncode not in (0, 1):
            raise SystemExit(f"{tag}: {run.stderr}")
        plan = json.loads(run.stdout)
        named: dict[str, set[int]] = {}
        for decision in plan["decisions"]:
            for place in decision["places"]:
                named.setdefault(os.path.join(folder, place["path"]), set()).add(place["line"])
        after = refused(args.python, files)
        verdicts = {os.path.relpath(path, folder): _verdict(after[path], named.get(path, set())) for path in files}
        return {
            "refused before": sum(bool(before[path]) for path in files),
            "changes": plan["changes"],
            "decisions": len(plan["decisions"]),
            "files": verdicts,
            "left": {os.path.relpath(path, folder): after[path] for path in files if after[path]},
        }


def _verdict(faults: list[list[Any]], named: set[int]) -> str:
    if not faults:
        return "whole"
    told = all(any(first <= line <= last for line in named) for first, last, _ in faults)
    return "told" if told else "silent"


def refused(python: str, files: list[str]) -> dict[str, list[list[Any]]]:
    """What the libraries of an environment refuse of each file."""
    run = subprocess.run([python, str(_BOUND), *files], capture_output=True, text=True, check=True)
    answers: dict[str, list[list[Any]]] = json.loads(run.stdout[run.stdout.index("{") :])
    return answers


def _extract(repository: str, tag: str, folder: str, into: str) -> None:
    archive = subprocess.run(
        ["git", f"--git-dir={repository}", "archive", tag, folder], capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(into, filter="data")


if __name__ == "__main__":
    main()
