"""Names that lead away from this computer on Windows: to another one, which is told who asks, or to a device.

Whoever opens `//host/share` there signs in at the host, with what a password can be guessed from. A repository can hold
such a name wherever a path can stand: in settings, commands and links. So none is opened, unless a person named that
share, or works in it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from functools import lru_cache

_PORTS = [f"{kind}{number}" for kind in ("COM", "LPT") for number in "0123456789¹²³"]
_DEVICES = frozenset(("AUX", "CON", "CONIN$", "CONOUT$", "NUL", "PRN", *_PORTS))
_MOST_LINKS = 40  # one behind another; a longer row leads away
_named: set[str] = set()


def leads_away(path: str) -> bool:
    """Whether a path is not to be opened, by its own names or by those in a link on its way."""
    return is_away(path, _near()) or _is_link_away(path, 0)


def is_away(path: str, near: Collection[str] = ()) -> bool:
    r"""Whether the names of a path lead to a share or a device of Windows, apart from shares that are `near`."""
    text = _plain(path)
    share = share_of(path)
    return bool(share and share not in near) or any(map(_is_device, text[len(share) :].split("\\")))


def share_of(path: str) -> str:
    r"""The share that a path begins with, in small letters: `\\host\share`; of a device what stands for one."""
    text = _plain(path)
    return "\\".join(text.split("\\", 4)[:4]) if text.startswith("\\\\") else ""


def _plain(path: str) -> str:
    r"""A path in one of its spellings: `\\?\UNC\host` and `//host` are `\\host`, and `\\?\C:` (of a link) is `C:`."""
    text = path.replace("/", "\\").lower()
    if text.startswith("\\\\?\\unc\\"):
        return "\\\\" + text[8:]
    return text[4:] if text.startswith("\\\\?\\") and text[5:6] == ":" else text


def trust(paths: Iterable[str]) -> None:
    """Take the shares of paths that a person named for near."""
    _named.update(filter(None, map(share_of, paths)))


def _near() -> set[str]:
    return {*_named, share_of(os.getcwd())}


def _is_device(name: str) -> bool:
    """`NUL`, and `nul.txt` as well."""
    return name.partition(".")[0].partition(":")[0].rstrip(" ").upper() in _DEVICES


def _is_link_away(path: str, links: int) -> bool:
    folder = os.path.dirname(path)
    if folder not in ("", path) and _is_folder_away(folder, links):
        return True
    try:
        target = os.readlink(path)
    except (OSError, ValueError):
        return False
    whole = os.path.join(folder, target)
    return links >= _MOST_LINKS or is_away(whole, _near()) or _is_link_away(whole, links + 1)


@lru_cache(maxsize=4096)
def _is_folder_away(folder: str, links: int) -> bool:
    return _is_link_away(folder, links)
