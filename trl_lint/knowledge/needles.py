"""The words of all families of `rules/families` that are searched for in the bytes of a file before it is parsed.

They stand in `rules/families/needles.txt` as well, so that a run that finds none of them reads no TOML.
`python -m trl_lint.knowledge.needles --write` (part of `make docs`) writes it, with a checksum of the families; where
that is of other files, the families themselves are asked.
"""

from __future__ import annotations

import os
import sys
from functools import cache

from trl_lint.knowledge import KnowledgeError, read_text, rules_dir
from trl_lint.knowledge.family_files import checksum
from trl_lint.records import NamedTuple

_WRITTEN = "needles.txt"
MAX_BYTES = 1_000_000  # above it a file is data


class Needles(NamedTuple):
    """Words to be searched for, each as bytes.

    `documents`  groups of words; all of a group are in a config document that may be of a known kind
    `commands`   the programs by which training or serving is started
    `plain`      words of which one is in every file with such a command ...
    `common`     ... or one of these, which are words of other texts as well: with a blank or a quote behind
    `imports`    what the modules of a framework begin with whose names are not those of its project on the index
    """

    documents: tuple[tuple[bytes, ...], ...]
    commands: tuple[bytes, ...]
    plain: tuple[bytes, ...]
    common: tuple[bytes, ...]
    imports: tuple[bytes, ...]


@cache
def needles() -> Needles:
    """The words to search for. Raises KnowledgeError where a family has to be asked and cannot be read."""
    rows = [line.split() for line in read_text(f"families/{_WRITTEN}").encode().splitlines()]
    if rows and rows[0] == [b"checksum", b"%d" % checksum()]:
        documents, *singles = (
            [tuple(words) for kind, *words in rows if kind == name]
            for name in (b"document", b"command", b"plain", b"common", b"import")
        )
        return Needles(tuple(documents), *(tuple(word for (word,) in found) for found in singles))
    return needles_of_families()


def may_be_document(data: bytes) -> bool:
    """Whether bytes may hold a config document of a known kind."""
    return len(data) <= MAX_BYTES and any(all(word in data for word in group) for group in needles().documents)


def needles_of_families() -> Needles:
    """The words to search for, by the families themselves. Raises KnowledgeError."""
    from trl_lint.knowledge.families import document_kinds, families, programs

    groups = dict.fromkeys(tuple(map(str.encode, group)) for kind in document_kinds() for group in kind.needles)
    known = [family.arguments for family in families() if family.arguments is not None]
    imports = dict.fromkeys(one.imported_as.encode() for one in known if one.imported_as != one.package)
    words = [((program.needle or program.command).encode(), program.common) for program in programs().values()]
    return Needles(
        tuple(groups),
        tuple(command.encode() for command in programs()),
        tuple(word for word, is_common in words if not is_common),
        tuple(word for word, is_common in words if is_common),
        tuple(imports),
    )


def needles_text() -> bytes:
    """The contents of `needles.txt`."""
    found = needles_of_families()
    rows = [(b"document", *group) for group in found.documents]
    singles = (b"command", found.commands), (b"plain", found.plain), (b"common", found.common)
    for name, words in (*singles, (b"import", found.imports)):
        rows += [(name, word) for word in words]
    return b"\n".join((b"checksum %d" % checksum(), *(b" ".join(row) for row in rows), b""))


def main(arguments: list[str]) -> int:
    try:
        text = needles_text()
    except KnowledgeError as error:
        print(error, file=sys.stderr)
        return 1
    if arguments == ["--write"]:
        with open(os.path.join(rules_dir(), "families", _WRITTEN), "wb") as output:
            output.write(text)
    else:
        sys.stdout.buffer.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
