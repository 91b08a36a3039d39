"""The TOML tables of `rules/`, some of them as Python so that a small run needs no parser.

`python -m trl_lint.knowledge.toml_tables --write` (part of `make docs`) writes those that every training script needs
to `compiled.py`, with checksums of their files. A file that was changed since is parsed: what `rules/` says counts.
"""

from __future__ import annotations

import os
import zlib
from typing import Any

from trl_lint.knowledge import rules_dir

COMPILED = (
    "compat/extras.toml", "compat/others.toml", "defaults.toml", "semantics/contradictions.toml",
    "semantics/groups.toml", "semantics/rewards.toml", "semantics/values.toml",
)  # fmt: skip


def read_table(path: str) -> dict[str, Any]:
    """A table by its path in `rules/`, to be read only. Raises OSError, or TOMLDecodeError of `tomli`."""
    with open(os.path.join(rules_dir(), path), "rb") as stream:
        data = stream.read()
    if path in COMPILED:
        from trl_lint.knowledge.compiled import TABLES

        checksum, table = TABLES.get(path, (None, {}))
        if checksum == zlib.crc32(data):
            return table
    import tomli

    return tomli.loads(data.decode())


def compiled_text() -> str:
    """The contents of `compiled.py`."""
    import tomli

    head = '"""Tables of `rules/`. Written by `python -m trl_lint.knowledge.toml_tables --write`, never by hand."""\n'
    parts = [f"{head}\n# ruff: noqa\nfrom typing import Any\n\nTABLES: dict[str, tuple[int, dict[str, Any]]] = {{\n"]
    for path in COMPILED:
        with open(os.path.join(rules_dir(), path), "rb") as stream:
            data = stream.read()
        parts.append(f"    {path!r}: ({zlib.crc32(data)}, {{\n")
        for key, value in tomli.loads(data.decode()).items():
            rows = value if isinstance(value, list) else None
            shown = (
                repr(value)
                if rows is None
                else "[\n" + "".join(f"            {row!r},\n" for row in rows) + "        ]"
            )
            parts.append(f"        {key!r}: {shown},\n")
        parts.append("    }),\n")
    return "".join([*parts, "}\n"])


if __name__ == "__main__":
    import sys

    if sys.argv[1:] == ["--write"]:
        with open(os.path.join(os.path.dirname(__file__), "compiled.py"), "w", encoding="utf-8") as output:
            output.write(compiled_text())
    else:
        sys.stdout.write(compiled_text())
