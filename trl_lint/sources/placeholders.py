"""Blanks that a person or a program still fills in: `${NUM_GPUS}`, `{{ n }}`, `__N__`, `BATCH_SIZE`, `your number`."""

from __future__ import annotations

from trl_lint.regexes import regex

# A mark has no other meaning where a value is expected.
_MARKED = regex(r"[$<>{}%]|\A__.*__\Z|\A@\w+@\Z|\A(?i:your)[ _-]")
_CAPITALS = regex(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*\Z")
# A synopsis: `[num-gpus]`, and `[single` of `[single|pairwise]`, which a shell cuts at the bar.
_SYNOPSIS = regex(r"\[[A-Za-z][\w .|-]*\]?\Z")
# Words that say so themselves.
_TELLING = regex(
    r"\A(?:TODO|TBD|FIXME|XXX+|(?:.*_)?(?:PLACEHOLDER|HERE)|(?:CHANGE|FILL|REPLACE|INSERT|YOUR|MY)(?:_?ME)?(?:_.*)?)\Z"
)


def is_marked(text: str) -> bool:
    """Whether a value has the marks of a blank; what is written in capitals alone has none."""
    return _MARKED.search(text) is not None


def is_shown(text: str) -> bool:
    """Whether a word that a page shows stands for a value: `N`, `NUM_STEPS`, `K1`, `[n]`, `...`, or one with marks."""
    is_word = (
        _CAPITALS.match(text) is not None or _SYNOPSIS.match(text) is not None or (len(text) == 1 and text.isalpha())
    )
    return is_word or is_marked(text) or _TELLING.match(text) is not None or text.strip("._-?") in ("", "\u2026")


def is_blank(text: str, key: str, *, in_capitals: bool = False) -> bool:
    """Whether the value of a key is a blank: it has marks, or repeats the key in capitals (`zero_stage: ZERO_STAGE`).

    `in_capitals`: the key takes words in capitals, so that one of several parts (`FULL_SHRAD`) may be a slip.
    """
    if is_marked(text) or _TELLING.match(text):
        return True
    if not _CAPITALS.match(text):
        return False
    parts, own = set(text.lower().split("_")), set(key.lower().replace(".", "_").split("_"))
    return parts <= own or (
        len(parts) > 1 and (set(key.lower().rpartition(".")[2].split("_")) <= parts or not in_capitals)
    )
