"""Folders of a container as they are called outside of it: `-v .:/app`, `volumes:`."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from trl_lint.regexes import regex

Mount = tuple[str, str]
"""A folder outside, relative to where the command is started, and inside, absolute."""

_HERE = regex(r"\$(?:PWD\b|\{PWD\}|\(pwd\))")


def mount_of(host: object, inside: object) -> Mount | None:
    """A mount, where both of its sides are written out and the first is relative to where the command is started."""
    if not isinstance(host, str) or not isinstance(inside, str) or not inside.startswith("/"):
        return None
    host = _HERE.sub(".", host, 1)
    return (host, inside) if host.startswith(".") and "$" not in host + inside else None


def read_mount(text: str) -> Mount | None:
    """The mount in `HOST:CONTAINER` or `HOST:CONTAINER:ro`."""
    host, _, rest = text.partition(":")
    return mount_of(host, rest.partition(":")[0])


def on_host(folder: str, mounts: Iterable[Mount]) -> str | None:
    """A folder of a container as it is called outside, where it or one around it is mounted."""
    for host, inside in sorted(mounts, key=lambda mount: -len(mount[1])):
        around = inside.rstrip("/") + "/"
        if f"{folder}/".startswith(around):
            found = posixpath.normpath(posixpath.join(host, folder[len(around) :]))
            return "" if found == "." else found
    return None
