"""Try the editors, and keep what was seen.

    python -m benchmarks.editors --folder FOLDER [--only neovim emacs vscode] [--output FILE] [--write]

FOLDER holds what the editors need, and is filled at the first run (1.3 GB, 10 minutes). With `--write` the page and its
pictures are written as well. Exits with 1 where an editor shows other than the command line says.
"""

from __future__ import annotations

import argparse
import datetime
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.editors import tries
from benchmarks.editors.install import Tools, install
from benchmarks.editors.page import PAGE, ROOT, with_results
from benchmarks.editors.project import Expected, expected

PICTURES = ("hover", "fix", "problems")


def _wanted(tools: Tools) -> Iterator[tuple[str, Callable[[tries.Try, Path], dict[str, Any]], Path | None]]:
    """What is tried: a name, how, and with which program."""
    yield "neovim", tries.neovim, tools.neovim
    for name, how, program in (("neovim", tries.neovim, "nvim"), ("emacs", tries.emacs, "emacs")):
        found = shutil.which(program)
        yield name, how, Path(found) if found else None
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    yield "vscode", tries.vscode, Path(browser) if browser else None


def _tried(tools: Tools, right: Expected, only: list[str], pictures: Path) -> Iterator[dict[str, Any]]:
    for name, how, program in _wanted(tools):
        if only and name not in only:
            continue
        if program is None:
            print(f"{name}: not installed, left out", file=sys.stderr)
            continue
        found = how(tries.Try(tools, right, pictures), program)
        print(f"{found['editor']} {found['version']}: {found['seen']}", file=sys.stderr)
        yield found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    folder = args.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    tools = install(folder)
    pictures = folder / "pictures"
    pictures.mkdir(exist_ok=True)
    right = expected(folder / "expected", tools.bin / "trl-lint")
    found: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "tried": list(_tried(tools, right, args.only, pictures)),
    }
    if not args.only:
        found["pylsp"] = tries.beside_pylsp(tools, right)
        print(f"beside pylsp: {found['pylsp']}", file=sys.stderr)
    if args.output:
        args.output.write_text(json.dumps(found, indent=1) + "\n")
    if args.write:
        PAGE.write_text(with_results(PAGE.read_text("utf-8"), found), "utf-8")
        for name in PICTURES:
            _shrink(pictures / f"{name}.png", ROOT / "docs" / f"editors-{name}.png")
    return int(not all(all(one["seen"].values()) for one in found["tried"]))


def _shrink(picture: Path, to: Path) -> None:
    """A picture with 64 colours, which is enough for text."""
    subprocess.run(["pngquant", "64", "--force", "--output", str(to), str(picture)], check=True)


if __name__ == "__main__":
    sys.exit(main())
