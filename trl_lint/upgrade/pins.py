"""Pins brought to the release that is wanted, in the notation of their file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from packaging.version import Version

from trl_lint.finding import Edit, Location
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.releases import installable, parse_specifier, parse_version
from trl_lint.knowledge.requirements import requirement
from trl_lint.project import Project
from trl_lint.project.pins import Manifest, Pin
from trl_lint.project.repositories import origin_of, own_revision
from trl_lint.project.stack import PACKAGES
from trl_lint.regexes import regex
from trl_lint.upgrade.decision import Decision

# One clause as pip, Poetry or conda write it: a sign, blanks, and a version.
_CLAUSE = regex(r"(?:(?P<sign>===|==|~=|!=|<=|>=|<|>|=|\^|~)(?P<blank>[ \t]*))?(?P<version>[A-Za-z0-9_.*+!-]+)")
_NAME = regex(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?(?=[=~!])")
_NAMED = regex(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?")
# The signs of a clause that names one release, or the first of a series.
_NAMING = ("==", "===", "~=", "=", "^", "~", "")
# What no text of a requirement can change.
OUTSIDE = ("inert", "lock", "url")
_PYTHONS = tuple(f"3.{minor}" for minor in range(6, 20))


def edits_of_pins(project: Project, asked: Iterable[str], releases: Mapping[str, Version]) -> Iterator[Edit]:
    """An edit for each pin, in the files that are asked about, that does not say what is wanted."""
    for manifest in _manifests(project, asked):
        for pin in manifest.pins:
            version = releases.get(pin.package)
            edit = _change(pin, version, project) if version is not None and pin.package != manifest.project else None
            if edit is not None:
                yield edit


def decisions_on_pins(project: Project, asked: Iterable[str], releases: Mapping[str, Version]) -> Iterator[Decision]:
    """What has to be done by hand: locks that a program writes, addresses, words that a shell would read."""
    for manifest in _manifests(project, asked):
        mine = [pin for pin in manifest.pins if pin.package in releases and pin.package != manifest.project]
        if manifest.is_lock:
            stale = sorted({pin.package for pin in mine if not _allows(pin, releases[pin.package])})
            if stale:
                yield Decision("lock", f"lock {', '.join(stale)} anew", (_whole(manifest),))
            continue
        for pin in mine:
            wanted = f"{pin.package}=={releases[pin.package]}"
            if pin.kind == "url":
                text = f"`{pin.text}` is installed from an address, which may not be {wanted}"
                yield Decision("pin", text, (pin.location,), package=pin.package)
            elif not _allows(pin, releases[pin.package]) and pin.kind not in OUTSIDE:
                yield Decision("pin", f"`{pin.text}` does not allow {wanted}", (pin.location,), package=pin.package)
        yield from _on_python(manifest, releases)


def decisions_on_bounds(project: Project, asked: Iterable[str], releases: Mapping[str, Version]) -> Iterator[Decision]:
    """The pins in files that are not asked about which let in releases that the upgraded code does not run with."""
    mine = set(asked)
    for manifest in project.manifests:
        if manifest.path in mine or manifest.is_lock:
            continue
        for pin in manifest.pins:
            version = releases.get(pin.package) if pin.specifier and pin.package in PACKAGES else None
            known = installable(pin.package) if version is not None else ()
            older = [other for other in known if version is not None and other < version]
            if version is None or pin.package == manifest.project or not any(_allows(pin, other) for other in older):
                continue
            older_ones = f"releases before {pin.package} {version}"
            text = f"`{pin.text}` lets in {older_ones}: raise it, or guard the imports that moved"
            yield Decision("pin", text, (pin.location,), package=pin.package)


def _manifests(project: Project, asked: Iterable[str]) -> Iterator[Manifest]:
    wanted = set(asked)
    for manifest in project.manifests:
        if manifest.path in wanted:
            yield manifest


def _on_python(manifest: Manifest, releases: Mapping[str, Version]) -> Iterator[Decision]:
    """Where a project promises to run on a Python that a release does not."""
    promised = parse_specifier(manifest.python or "")
    if not manifest.python or promised is None:
        return
    first = next((minor for minor in _PYTHONS if promised.contains(minor)), None)
    for package, version in releases.items():
        need = requirement(package, version, "python")
        if first is not None and need is not None and need.specifier and not holds(need.specifier, Version(first)):
            text = f"{package} {version} needs Python {need.specifier}, and Python {manifest.python} is promised here"
            yield Decision("pin", text, (_whole(manifest),), package=package)


def _whole(manifest: Manifest) -> Location:
    return Location(manifest.path, 0, 0)


def _allows(pin: Pin, version: Version) -> bool:
    return pin.kind != "url" and (not pin.specifier or holds(pin.specifier, version))


# -- the new text -----------------------------------------------------------------------------------------------------


def _change(pin: Pin, version: Version, project: Project) -> Edit | None:
    """How a pin comes to say what is wanted; None where it does, or where no edit of text is right."""
    if pin.kind == "url":
        return _change_of_address(pin, version)
    # One in a table that nothing uses is brought along: it would contradict the others.
    if pin.kind == "lock" or not pin.specifier:
        return None
    place = pin.specifier_location or _specifier_in_command(pin)
    if place is None:
        return None
    text = project.files.get(place.path).text[place.start : place.end]
    moved = moved_specifier(text, version)
    if moved is None or moved == text or (pin.specifier_location is None and not _is_plain(moved)):
        return None
    return Edit(place.path, place.start, place.end, moved)


def _specifier_in_command(pin: Pin) -> Location | None:
    """Where the specifier stands in a word of an install command, if the word is written as it is read."""
    place, match = pin.location, _NAME.match(pin.text)
    if match is None or place.end - place.start != len(pin.text) or not _is_plain(pin.text):
        return None
    return Location(place.path, place.start + match.end(), place.end)


def _is_plain(text: str) -> bool:
    """Whether a shell reads a word as it stands: it would take `>` for a redirection."""
    return not any(sign in text for sign in "<>;\\'\"$`| ")


def _change_of_address(pin: Pin, version: Version) -> Edit | None:
    """A tag or a commit of the package's own repository becomes the release; whoever follows a branch keeps to it."""
    if own_revision(pin) is None or origin_of([pin]) == "tip":
        return None
    name, sign, _ = pin.text.partition("@")
    if pin.text == pin.url:
        name = pin.package
    elif not sign or not _NAMED.fullmatch(name := "".join(name.split())):
        return None
    return Edit(pin.location.path, pin.location.start, pin.location.end, f"{name}=={version}")


def moved_specifier(text: str, version: Version) -> str | None:
    """A specifier that asks for a release in the way it asked for another one; None where it cannot be read.

    One that names a release names the new one. A range begins with it: caps that leave it out move behind it, as far
    as they were given (`<0.13` becomes `<1.17`, `<1.0` becomes `<2.0`), and what is left out below it is not said.
    """
    clauses = list(_CLAUSE.finditer(text))
    if not clauses or _CLAUSE.sub("", text).strip(", ()"):
        return None
    if len(clauses) == 1 and _sign(clauses[0]) in _NAMING:
        return text[: clauses[0].start("version")] + str(version) + text[clauses[0].end() :]
    if any(_sign(clause) in ("^", "~", "=", "") for clause in clauses):
        return None
    begin, end = clauses[0].start(), clauses[-1].end()
    joint = text[clauses[0].end() : clauses[1].start()] if len(clauses) > 1 else ","
    blank = clauses[0]["blank"] or ""
    parts = [f">={blank}{version}"]
    for clause in clauses:
        parts += _kept(_sign(clause), blank, clause["version"], version)
    if f"<={blank}{version}" in parts:
        parts = [f"=={blank}{version}"]
    return text[:begin] + joint.join(parts) + text[end:]


def _sign(clause: re.Match[str]) -> str:
    return clause["sign"] or ""


def _kept(sign: str, blank: str, written: str, version: Version) -> list[str]:
    """What is left of a clause of a range that begins at a release."""
    if sign in ("<", "<="):
        if holds(f"{sign}{written}", version):
            return [f"{sign}{blank}{written}"]
        return [f"<={blank}{version}" if sign == "<=" else f"<{blank}{_cap(written, version)}"]
    bound = parse_version(written.removesuffix(".*"))
    is_above = sign == "!=" and bound is not None and bound > version
    return [f"!={blank}{written}"] if is_above else []


def _cap(written: str, version: Version) -> str:
    """The next release behind a version of which a cap with so many numbers speaks."""
    bound = parse_version(written)
    numbers = bound.release if bound is not None else (1,)
    is_major = not any(numbers[1:])
    first = (version.major + 1, 0) if is_major else (version.major, version.minor + 1)
    return ".".join(map(str, (*first, *([0] * len(numbers)))[: max(1, len(numbers))]))
