"""The files of `rules/families`, as they stand there."""

from __future__ import annotations

import zlib

from trl_lint.knowledge import read_text, text_names, uncommented


def family_files() -> list[tuple[str, bytes]]:
    """The names of the families and the contents of their files, by name."""
    names = (name for name in text_names("families") if name.endswith(".toml"))
    return [(name[: -len(".toml")], read_text(f"families/{name}").encode()) for name in names]


def checksum() -> int:
    """A number that changes with the name of any family, or with what it says."""
    number = 0
    for name, data in family_files():
        said = uncommented(data.decode()).encode()  # as a wheel holds it
        number = zlib.crc32(said, zlib.crc32(name.encode(), number))
    return number
