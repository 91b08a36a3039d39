"""`--fix` in one process that has everything imported, and LibCST's bare parse of the files it changes. Prints JSON.

`python -m benchmarks.fixing fix|parse`: `seconds`, and how many files were repaired. The project is made here: scripts
in which an argument was renamed, among as many in which nothing is wrong. It is an error if one is left as it was.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import time

from benchmarks.samples import REQUIREMENTS, training_script

_FILES = 40


def write_outdated(folder: str) -> list[str]:
    """The paths of scripts with a renamed argument; beside each stands one that is right."""
    os.makedirs(folder)
    texts = {"requirements.txt": REQUIREMENTS}
    for number in range(_FILES):
        right = training_script(False, number)
        texts[f"right{number}.py"] = right
        texts[f"outdated{number}.py"] = right.replace(
            "seed=arguments", 'evaluation_strategy="no",\n        seed=arguments'
        )
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
            stream.write(text)
    return [os.path.join(folder, f"outdated{number}.py") for number in range(_FILES)]


def time_fix(folder: str) -> tuple[float, int]:
    """The seconds of `trl-lint --fix` in this process, which has done it before elsewhere, and the files changed.

    Raises RuntimeError where a file was not repaired: then it is something else that was measured.
    """
    from trl_lint import cli

    seconds, changed = 0.0, 0
    for name in ("first", "second"):
        place = os.path.join(folder, name)
        paths = write_outdated(place)
        before = [_read(path) for path in paths]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            began = time.perf_counter()
            cli.main(["--fix", "--no-cache", "--isolated", place])
            seconds = time.perf_counter() - began
        changed = sum(_read(path) != text for path, text in zip(paths, before, strict=True))
        if changed != len(paths):
            raise RuntimeError(f"{changed} of {len(paths)} files were repaired")
    return seconds, changed


def time_parse(folder: str) -> tuple[float, int]:
    """The seconds in which LibCST parses the files that a repair changes."""
    import libcst as cst

    texts = [_read(path) for path in write_outdated(os.path.join(folder, "outdated"))]
    cst.parse_module(texts[0])
    began = time.perf_counter()
    for text in texts:
        cst.parse_module(text)
    return time.perf_counter() - began, len(texts)


def _read(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        spent, files = (time_fix if sys.argv[1] == "fix" else time_parse)(made)
    json.dump({"seconds": spent, "files": files}, sys.stdout)
