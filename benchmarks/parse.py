"""`python parse.py ast.parse|libcst.parse_module FILE|FOLDER`: nothing but parsing, as the least that a tool can do.

A script of its own, which imports what it measures and little else.
"""

from __future__ import annotations

import os
import sys


def python_files(target: str) -> list[str]:
    """A file, or the Python files below a folder."""
    if os.path.isfile(target):
        return [target]
    found = []
    for here, folders, names in os.walk(target):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [os.path.join(here, name) for name in sorted(names) if name.endswith(".py")]
    return found


def main(how: str, target: str) -> int:
    if how == "ast.parse":
        import ast

        parse = ast.parse
    else:
        import libcst

        parse = libcst.parse_module  # type: ignore[assignment]
    for path in python_files(target):
        with open(path, "rb") as stream:
            data = stream.read()
        try:
            parse(data)
        except Exception as error:
            print(f"{path}: {type(error).__name__}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    del sys.path[0]  # the modules beside this one are none of its business
    raise SystemExit(main(sys.argv[1], sys.argv[2]))
