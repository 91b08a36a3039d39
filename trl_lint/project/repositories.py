"""What is installed out of a git repository: the tip of a branch, a tag, a commit.

The tip of the main branch is at least the newest release; a tag may be the name of a release, and a branch of releases
holds one of its series. A commit may be anything, but for one with a date, which lies between two releases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Literal

from packaging.version import Version

from trl_lint.project.pins import Pin
from trl_lint.regexes import regex
from trl_lint.sources.requirements import is_exact, package_of_url

# pip's syntax: git+https://host/owner/name[.git][@revision][#egg=…&subdirectory=…]
_GIT = regex(
    r"git\+(?:[a-z]+://)?(?:[^/@#:]*@)?(?P<host>[^/@#:]+)[/:](?P<name>[^@#]+?)(?:\.git)?/?(?:@(?P<revision>[^#]*))?(?:#.*)?"
)
# What GitHub packs of a revision, and what was uploaded for a release.
_PACKED = regex(
    r"https?://(?P<host>[^/]+)/(?P<name>[^/]+/[^/]+)/"
    r"(?:archive/|zipball/|tarball/|zip/|tar\.gz/)(?P<revision>[^#?]+?)(?:\.zip|\.tar\.gz)?(?:[#?].*)?"
)
_WHEEL = regex(
    r"https?://(?P<host>[^/]+)/(?:[^#?]*/)?(?P<file>[^/#?-]+-(?P<version>\d[^-/#?]*)-[^/#?]*\.whl)(?:[#?].*)?"
)
_GITHUB = ("github.com", "www.github.com", "codeload.github.com")
_INDEX_FILES = ("files.pythonhosted.org", "download.pytorch.org", "download-r2.pytorch.org")
_MAIN = frozenset(("", "HEAD", *(f"{where}{name}" for where in ("", "origin/") for name in ("main", "master"))))
_REFS = regex(r"(?:refs/(?:tags|heads)/|origin/)")
_TAG = regex(r"(?:[a-z]+-)?v?(?P<version>\d+(?:\.\d+)+(?:\.?(?:a|b|rc|post|dev)\d+)?)")
# Releases are cut from such branches, and nothing but their repairs goes there: v0.15-release, release/2.5, v0.4.x.
_SERIES = regex(r"(?:releases?[/-])?v?(?P<series>\d+(?:\.\d+)+)(?P<behind>[-.](?:releases?|stable|x))?")
# What transformers tags for one model, between two releases: v4.49.0-Gemma-3.
_BEHIND_RELEASE = regex(r"v?(?P<version>\d+\.\d+\.\d+)-[A-Za-z][\w.-]*")

_INDEX = "index+"
_UPPER_END = regex(r"<|==|~=")
_PREVIEW = regex(r"nightly|preview|test|dev|\Apre", re.IGNORECASE)

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


def at_index(pin: Pin, index: str) -> Pin:
    """A pin of what comes from an index: of another one than PyPI and its mirrors, nobody knows what it holds.

    An exact pin is the same release wherever it comes from, and one with an upper end holds it to releases that are
    known, unless the index has what is built before them.
    """
    is_held = is_exact(pin.specifier) or (_UPPER_END.search(pin.specifier) and not _PREVIEW.search(index))
    is_known = not index or "pypi" in index.lower() or is_held or pin.url
    return pin if is_known else pin._replace(kind="url", url=f"{_INDEX}{index}")


def is_index(url: str) -> bool:
    """Whether an address is that of an index, as `at_index` writes it."""
    return url.startswith(_INDEX)


def package_at(url: str) -> str:
    """The package that an address installs: of a repository that is known, or of a fork of it, else by its name."""
    match = _GIT.fullmatch(url) or _PACKED.fullmatch(url)
    if match is None or "egg=" in url:
        return package_of_url(url)
    return _by_repository().get(match["name"].lower().rpartition("/")[2]) or package_of_url(url)


@cache
def _by_repository() -> dict[str, str]:
    """The name of a repository in lower case, and the package that comes from there."""
    from trl_lint.knowledge.compat import repositories

    return {place.rpartition("/")[2]: package for package, places in repositories().items() for place in places}


def origin_of(pins: Iterable[Pin]) -> Origin:
    """What pins that are installed from an address stand for together: "tip" where all are, "unknown" where one is."""
    found = {_origin(pin) for pin in pins if pin.kind == "url"}
    return found.pop() if len(found) == 1 else "unknown"


def _origin(pin: Pin) -> Origin:
    if stated_releases(pin):
        return "release"
    revision = own_revision(pin)
    return "tip" if revision is not None and _bare(revision) in _MAIN else "unknown"


def own_revision(pin: Pin) -> str | None:
    """The branch, tag or commit that an address names, "" if none; None if it is not the package's own repository."""
    match = _GIT.fullmatch(pin.url) or _PACKED.fullmatch(pin.url)
    if match is None or match["host"].lower() not in _GITHUB:
        return None
    from trl_lint.knowledge.compat import repositories

    is_own = match["name"].lower() in repositories().get(pin.package, ())
    return (match["revision"] or "").strip() if is_own else None


def _bare(revision: str) -> str:
    """A revision without the folder of its kind."""
    return revision[found.end() :] if (found := _REFS.match(revision)) else revision


def stated_releases(pin: Pin) -> str:
    """The releases that an address names, as a specifier: its tag (`@v0.14.0`), or its branch; "" if it names none."""
    from trl_lint.knowledge.releases import allowed

    revision = _bare(own_revision(pin) or "")
    if match := _TAG.fullmatch(revision):
        exact = f"=={match['version']}"
        if _is_known(pin.package, match["version"]):
            return exact
    if (match := _SERIES.fullmatch(revision)) and (match["behind"] or revision.startswith("release")):
        whole = match["series"].count(".") > 1  # vLLM has a branch for each release: releases/v0.8.5
        series = f"=={match['series']}" if whole else f"=={match['series']}.*"
        return series if allowed(pin.package, series) else ""
    return _release_of_file(pin)


def _release_of_file(pin: Pin) -> str:
    """The release of a wheel that the package's own project, or an index, hands out."""
    match = _WHEEL.fullmatch(pin.url)
    if match is None or package_of_url(pin.url) != pin.package:
        return ""
    from trl_lint.knowledge.compat import repositories

    host, place = match["host"].lower(), pin.url.partition("://")[2].lower()
    is_own = any(place.startswith(f"github.com/{own}/releases/") for own in repositories().get(pin.package, ()))
    version = match["version"].replace("%2B", "+").replace("%2b", "+").partition("+")[0]
    return f"=={version}" if (is_own or host in _INDEX_FILES) and _is_known(pin.package, version) else ""


def _is_known(package: str, version: str) -> bool:
    from trl_lint.knowledge.releases import release_names

    return version in release_names(package)


def around(pin: Pin) -> tuple[Version, ...]:
    """The releases between which a commit of the package's own repository lies, oldest first; nothing if nobody knows.

    A tag such as `v4.49.0-Gemma-3` is behind its release. A commit with a date (`Pin.dated`) has what the last release
    with a number of its own (no repair of one) had before that day, and lacks what came later than the next one.
    """
    revision = own_revision(pin)
    if revision is None:
        return ()
    from trl_lint.knowledge.releases import days, installable, parse_version

    known = installable(pin.package)
    match = _BEHIND_RELEASE.fullmatch(_bare(revision))
    if match is not None and (last := parse_version(match["version"])) in known:
        return tuple(known[known.index(last) : known.index(last) + 2])
    if not pin.dated:
        return ()
    dates = days(pin.package)
    main = [version for version in known if not version.micro and dates.get(str(version))]
    before = [version for version in main if dates[str(version)] <= pin.dated]
    after = [version for version in main if dates[str(version)] > pin.dated]
    if not before or not after:
        return ()
    return tuple(version for version in known if before[-1] <= version <= after[0])
