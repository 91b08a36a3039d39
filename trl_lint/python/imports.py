"""What a Python file imports, read from its bytes: enough to rule a file out before it is parsed.

More may be found than there is (an example in a docstring reads like an import), never less.
"""

from __future__ import annotations

from functools import lru_cache

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_IMPORT = regex(rb"import\b(?<![\w\x80-\xff]import)")
# The module before `import` begins with this word, and is made of letters of any language, dots, and what may stand
# between them.
_FROM = regex(rb"\bfrom\b")
_OF_MODULES = bytes(c for c in range(256) if c > 127 or chr(c).isalnum() or chr(c).isspace() or chr(c) in "_.\\")
# The names after it, in brackets or up to the end of the line.
_NAMES = regex(rb"[\s\\]*\(((?:[^)#]|#[^\n]*(?:\n|$))*)|((?:[^\n\\;#]|\\\n)*)")
_COMMENT = regex(rb"#[^\n]*")
_GAP = regex(rb"[\s\\]+")
_NAME = regex(rb"([\w.\x80-\xff]+)(?:[\s\\]+as[\s\\]+([\w\x80-\xff]+))?")


class Imported(NamedTuple):
    """One imported name, in the words of the statement; `module` is "" for `import name`."""

    module: str
    name: str
    bound: str


@lru_cache(maxsize=4)
def imports_in(data: bytes) -> tuple[Imported, ...]:
    """The names that the import statements of a file bind, and perhaps some that nothing does."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    found = []
    for match in _IMPORT.finditer(data):
        start = data.rfind(b"\n", 0, match.start()) + 1
        while data.endswith(b"\\\n", 0, start):
            start = data.rfind(b"\n", 0, start - 1) + 1
        before = data[start : match.start()]
        origin = _FROM.search(before, len(before.rstrip(_OF_MODULES)))
        module = _GAP.sub(b"", before[origin.end() :]).decode("utf-8", "replace") if origin is not None else ""
        names = _NAMES.match(data, match.end())
        assert names is not None  # both of its ways may be empty
        for name, bound in _NAME.findall(_COMMENT.sub(b"", names[1] or names[2] or b"")):
            text = name.decode("utf-8", "replace")
            found.append(Imported(module, text, bound.decode("utf-8", "replace") or text))
    return tuple(found)
