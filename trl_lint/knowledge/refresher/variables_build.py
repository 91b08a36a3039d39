"""`rules/environment/<package>.txt`: environment variables that a release stopped reading, by that release.

A name counts where the file that lists a package's variables once held it, no longer does, and no Python file of the
newest release holds it as a word. So a name in a comment counts as read: too little is said rather than too much.
"""

from __future__ import annotations

import re

from trl_lint.knowledge.refresher.tables import read_releases
from trl_lint.records import NamedTuple


class _Listing(NamedTuple):
    """Where a package lists its variables, what their names begin with, and the oldest release that has the list."""

    path: str
    prefix: str
    since: str


SINCE = {"vllm": _Listing("vllm/envs.py", "VLLM_", "0.4.2")}


def build(name: str) -> str:
    """The text of the table of a package. Raises OSError (network) and zipfile.BadZipFile (damaged archive)."""
    listing = SINCE[name]
    found = [
        (version, _words(listing, contents.members[listing.path][1]))
        for version, contents in read_releases(name, listing.since, listing.path.__eq__)
        if listing.path in contents.members
    ]
    kept: set[str] = set()
    for _, contents in read_releases(name, found[-1][0], lambda path: path.endswith(".py")):
        kept = {word for _, data in contents.members.values() for word in _words(listing, data)}
    return render(name, listing.prefix, found, kept)


def _words(listing: _Listing, data: bytes) -> set[str]:
    return {word.decode() for word in re.findall(rb"\b%s[A-Z0-9_]*[A-Z0-9]\b" % listing.prefix.encode(), data)}


def render(name: str, prefix: str, found: list[tuple[str, set[str]]], kept: set[str]) -> str:
    """A line for each release that stopped reading variables: the release, then their names without the prefix."""
    left: dict[str, list[str]] = {}
    for word in sorted(set().union(*(words for _, words in found)) - kept - found[-1][1]):
        last = max(number for number, (_, words) in enumerate(found) if word in words)
        left.setdefault(found[last + 1][0], []).append(word.removeprefix(prefix))
    head = f"# {name}: written by `python -m trl_lint.knowledge.refresh environment {name}`, not by hand\n{prefix}\n"
    return head + "".join(f"{version} {' '.join(left[version])}\n" for version, _ in found if version in left)
