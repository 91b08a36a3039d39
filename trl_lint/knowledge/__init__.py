"""Reading `rules/`: the rule pages, known releases, compatibility tables, advisories. Facts live there, not here.

A zip archive compresses each file by itself, and has a name and a hash for each. So the build of a wheel
(`hatch_build.py`) writes each folder of PACKED, with many texts that say much alike, as one file: `rules/compat.txt`.
There, and in tables that stand alone, lines of comments are empty, and so are those that only tests and the release
reader read: the examples of symptoms and of bugs, the evidence of other rows, and how the code of a bug is told. What
is in COMPRESSED stands there as `NAME.txt.xz` or `.bz2`: these histories repeat themselves over longer ways than a zip
archive sees, and so do the packed files of COMPRESSED_PACKS.
"""

from __future__ import annotations

import importlib
import os
from functools import cache

PACKED = (
    "bugs", "commands", "compat", "conditions", "configs", "contracts", "environment", "families", "known_bugs",
    "models", "pages", "releases", "requirements", "semantics", "symptoms",
)  # fmt: skip
COMPRESSED = ("api",)
COMPRESSED_PACKS = (
    "bugs",
    "compat",
    "conditions",
    "contracts",
    "models",
    "pages",
    "releases",
    "requirements",
    "symptoms",
)
_PACKERS = {".xz": "lzma", ".bz2": "bz2"}  # endings, and the modules that read them
_ONLY_READ_HERE = ("#", "example = ", "printed_by = ", "bad = ", "fine = ", "twice = ", "checked = ")
_CODE = "[bug.code]"  # a table that is read here alone as a whole
_HEAD = "===== "  # and the name of the text that follows


class KnowledgeError(Exception):
    """What `rules/` holds is malformed or missing: a fault of ours, and no finding in anybody's file.

    The text is one sentence that names the file, with the line where there is one.
    """


@cache
def rules_dir() -> str:
    """The folder of the knowledge: inside the package when installed, beside it in a checkout."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    packaged = os.path.join(here, "rules")
    return packaged if os.path.isdir(packaged) else os.path.join(os.path.dirname(here), "rules")


def read_text(path: str) -> str:
    """A text by its path in `rules/`, its line ends as they are. Raises OSError."""
    folder, _, name = path.partition("/")
    if folder in PACKED and (packed := _pack(folder)) is not None:
        if name not in packed:
            raise FileNotFoundError(f"no {path}")
        return packed[name]
    with open(os.path.join(rules_dir(), path), encoding="utf-8", newline="") as stream:
        return stream.read()


def read_history(path: str) -> str | None:
    """A text of COMPRESSED or COMPRESSED_PACKS by its path in `rules/`, without the ending; None if there is none.

    Raises KnowledgeError where this Python cannot read what the wheel holds.
    """
    whole = os.path.join(rules_dir(), f"{path}.txt")
    try:
        with open(whole, encoding="utf-8", newline="") as stream:
            return stream.read()
    except OSError:
        ending = next((one for one in _PACKERS if os.path.exists(whole + one)), None)
    if ending is None:
        return None
    try:
        packer = importlib.import_module(_PACKERS[ending])
    except ImportError:
        raise KnowledgeError(f"this Python was built without {_PACKERS[ending]}, which rules/ needs") from None
    with packer.open(whole + ending, "rt", encoding="utf-8", newline="") as stream:
        text: str = stream.read()
        return text


def history_names(folder: str) -> list[str]:
    """The names of the histories in a folder of `rules/`, sorted. Raises OSError."""
    names = os.listdir(os.path.join(rules_dir(), folder))
    return sorted(name.partition(".")[0] for name in names if name.endswith((".txt", ".txt.xz", ".txt.bz2")))


def compressed(data: bytes) -> tuple[str, bytes]:
    """A text as the wheel holds it, behind the ending of its file: in the smaller of two forms.

    That of `.bz2` is read more slowly, and wins where it saves a fiftieth.
    """
    import bz2
    import lzma

    # Text has no words of four bytes, which a place in the file would tell anything about (`pb`).
    best = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "pb": 0}
    long, short = lzma.compress(data, filters=[best]), bz2.compress(data)
    return (".bz2", short) if len(short) * 50 < len(long) * 49 else (".xz", long)


def text_names(folder: str) -> list[str]:
    """The names of the texts in a folder of `rules/`, sorted. Raises OSError."""
    packed = _pack(folder) if folder in PACKED else None
    return sorted(os.listdir(os.path.join(rules_dir(), folder)) if packed is None else packed)


def packed(folder: str) -> str:
    """The texts of a folder as one. Raises KnowledgeError for a text that cannot be told from its neighbours."""
    parts = []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8", newline="") as stream:
            text = stream.read()
        if not text.endswith("\n") or f"\n{_HEAD}" in f"\n{text}":
            raise KnowledgeError(f"{name}: has to end with a line end and may have no line that begins with `{_HEAD}`")
        parts.append(f"{_HEAD}{name}\n{uncommented(text) if name.endswith('.toml') else text}")
    return "".join(parts)


def uncommented(text: str) -> str:
    """A table without what only tests and the release reader read; the lines that are left keep their numbers."""
    kept, is_code, is_of_bugs = [], False, "[[bug]]" in text
    for line in text.split("\n"):
        is_code = line == _CODE if line.startswith("[") else is_code
        if line.startswith("evidence = [") and line.endswith("]") and not is_of_bugs:  # `trl-lint bugs` shows theirs
            line = 'evidence = [""]'
        kept.append("" if is_code or line.startswith(_ONLY_READ_HERE) else line)
    return "\n".join(kept)


def unpacked(text: str) -> dict[str, str]:
    """What `packed` was given, by name."""
    found = {}
    for part in f"\n{text}"[:-1].split(f"\n{_HEAD}")[1:]:
        name, _, content = part.partition("\n")
        found[name] = content + "\n"
    return found


@cache
def _pack(folder: str) -> dict[str, str] | None:
    """The texts of a folder by name, where `rules/` holds them as one file; None in a checkout."""
    if os.path.isdir(os.path.join(rules_dir(), folder)):
        return None
    if folder in COMPRESSED_PACKS:
        text = read_history(folder)
        if text is None:
            raise FileNotFoundError(f"no {folder}")
        return unpacked(text)
    with open(os.path.join(rules_dir(), f"{folder}.txt"), encoding="utf-8", newline="") as stream:
        return unpacked(stream.read())


def pack_of(folder: str) -> tuple[str, bytes]:
    """The name and the contents of the one file that the wheel holds of a folder of PACKED, by the folder's path."""
    name, data = os.path.basename(folder), packed(folder).encode()
    ending, data = compressed(data) if name in COMPRESSED_PACKS else ("", data)
    return f"{name}.txt{ending}", data
