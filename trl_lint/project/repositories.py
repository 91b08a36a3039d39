"""What is installed out of a git repository: the tip of a branch, a tag, a commit.

The tip of the main branch is at least the newest release; a tag may be the name of a release; a commit may be anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from trl_lint.project.pins import Pin
from trl_lint.regexes import regex

# pip's syntax: git+https://host/owner/name[.git][@revision][#egg=…&subdirectory=…]
_GIT = regex(
    r"git\+(?:[a-z]+://)?(?:[^/@#:]*@)?(?P<host>[^/@#:]+)[/:](?P<name>[^@#]+?)(?:\.git)?/?(?:@(?P<revision>[^#]*))?(?:#.*)?"
)
_GITHUB = ("github.com", "www.github.com")
_MAIN = frozenset(("", "HEAD", *(f"{where}{name}" for where in ("", "origin/") for name in ("main", "master"))))
_TAG = regex(r"(?:refs/tags/)?v?(?P<version>\d+(?:\.\d+)+(?:\.?(?:a|b|rc|post|dev)\d+)?)")

Origin = Literal["tip", "release", "unknown"]


def is_working_tree(url: str) -> bool:
    """Whether an address is a repository or a folder, and no archive that somebody built."""
    return url.startswith(("git+", "git@")) or "://" not in url


def at_revision(url: str, revision: str) -> str:
    """The address of a repository as pip takes it, at a branch, a tag or a commit; its tip if that is ""."""
    address = url if url.startswith("git+") else f"git+{url}"
    if not revision:
        return address
    place, sign, fragment = address.partition("#")
    host, slash, path = place.rpartition("/")
    return f"{host}{slash}{path.partition('@')[0]}@{revision}{sign}{fragment}"


def origin_of(pins: Iterable[Pin]) -> Origin:
    """What pins that are installed from an address stand for together: "tip" where all are, "unknown" where one is."""
    found = {_origin(pin) for pin in pins if pin.kind == "url"}
    return found.pop() if len(found) == 1 else "unknown"


def _origin(pin: Pin) -> Origin:
    revision = own_revision(pin)
    if revision is None:
        return "unknown"
    if revision in _MAIN:
        return "tip"
    return "release" if tagged_release(pin) else "unknown"


def own_revision(pin: Pin) -> str | None:
    """The branch, tag or commit that an address names, "" if none; None if it is not the package's own repository."""
    match = _GIT.fullmatch(pin.url)
    if match is None or match["host"].lower() not in _GITHUB:
        return None
    from trl_lint.knowledge.compat import repositories

    is_own = match["name"].lower() in repositories().get(pin.package, ())
    return (match["revision"] or "").strip() if is_own else None


def tagged_release(pin: Pin) -> str:
    """The known release whose tag an address names (`@v0.14.0`), "" if it names none."""
    match = _TAG.fullmatch(own_revision(pin) or "")
    if match is None:
        return ""
    from trl_lint.knowledge.releases import releases

    version = match["version"]
    return version if any(release.version == version for release in releases(pin.package)) else ""
