"""The GPUs that a container gets: `--gpus 2`, `--gpus '"device=0,1"'`, `-e NVIDIA_VISIBLE_DEVICES=0,1` of `docker run`,
`--gpus A100:4` of `sky launch`, `--flavor a100x4` of `hf jobs`.

The value of `--gpus` is a line of CSV: `all`, a number (the first ones), or fields such as `device=0`, and the names of
several devices stand in quotes of their own (docker/cli, opts/gpus.go). In the container they are numbered from 0 on.
"""

from __future__ import annotations

from collections.abc import Sequence

from trl_lint.regexes import regex
from trl_lint.sources.shell import Word
from trl_lint.words import read_count

_MOST = 64  # GPUs of a machine
_FLAVOR = regex(r"[a-z0-9-]{1,30}x(\d)")
_NAMED = regex(r"[A-Za-z][\w.-]*:(\d+)")


def gpus_of_container(words: Sequence[Word]) -> tuple[tuple[str, ...], Word] | None:
    """The ids of the GPUs in a container, and the word that says so; None where the words before it do not tell."""
    found: tuple[int, Word] | None = None
    for index, word in enumerate(words):
        text = word.text
        following = words[index + 1] if index + 1 < len(words) else None
        number: int | None = None
        if text == "--gpus" and following is not None:
            word, number = following, _number_of(following.text)
        elif text is not None and text.startswith("--gpus="):
            number = _number_of(text[len("--gpus=") :])
        elif text == "--flavor" and following is not None:
            word, number = following, _number_of_flavor(following.text)
        elif text in ("-e", "--env") and following is not None and _sets_devices(following.text):
            word, number = following, _number_of_devices(following.text or "")
        else:
            continue
        if number is None:
            return None
        found = (number, word) if found is None or number < found[0] else found
    return None if found is None else (tuple(map(str, range(found[0]))), found[1])


def _number_of_flavor(text: str | None) -> int | None:
    """The GPUs of a machine of Hugging Face by its name: `l4x4` (JobHardware of huggingface_hub 2.4.0)."""
    match = _FLAVOR.fullmatch(text or "")
    return read_count(match[1]) if match is not None else None


def _sets_devices(text: str | None) -> bool:
    return text is None or text.startswith("NVIDIA_VISIBLE_DEVICES")


def _number_of_devices(text: str) -> int | None:
    names = [each.strip() for each in text.partition("=")[2].split(",")]
    return len(names) if all(each.isdecimal() or each.startswith("GPU-") for each in names) else None


def _number_of(text: str | None) -> int | None:
    """How many GPUs a value of `--gpus` asks for; None for all, and where it does not tell."""
    if not text:
        return None
    if (named := _NAMED.fullmatch(text)) is not None:
        return read_count(named[1])
    import csv

    try:
        fields = next(csv.reader([text]), [])
    except csv.Error:
        return None
    number: int | None = None
    for field in fields:
        key, equals, value = field.partition("=")
        if key == "device" and equals:
            names = value.split(",")
            found = len(names) if all(names) else None
        elif key == "count" or not equals:
            found = read_count(value if equals else key)
        else:
            continue
        if number is not None or found is None or not 0 < found <= _MOST:
            return None
        number = found
    return number
