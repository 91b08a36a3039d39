"""The files of `rules/families`, as they stand there."""

from __future__ import annotations

import os
import zlib

from trl_lint.knowledge import rules_dir


def family_files() -> list[tuple[str, bytes]]:
    """The names of the families and the contents of their files, by name."""
    folder = os.path.join(rules_dir(), "families")
    found = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".toml"):
            with open(os.path.join(folder, name), "rb") as stream:
                found.append((name[: -len(".toml")], stream.read()))
    return found


def checksum() -> int:
    """A number that changes with the name or the contents of any family."""
    number = 0
    for name, data in family_files():
        number = zlib.crc32(data, zlib.crc32(name.encode(), number))
    return number
