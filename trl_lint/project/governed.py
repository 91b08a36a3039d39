"""Which code runs with the pins of a manifest: the question of `environment` asked from the other end."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from trl_lint.project import Project
from trl_lint.project.folders import DOCKER_FOLDERS, SCRIPT_KINDS
from trl_lint.project.pins import Manifest

# Folders that hold nothing but manifests: what stands there speaks for the folder above.
_MANIFEST_FOLDERS = frozenset(("requirements", "requirement", "reqs", "constraints", *DOCKER_FOLDERS))


def governed_files(manifest: Manifest, packages: Iterable[str], project: Project) -> Iterator[str]:
    """The absolute paths of the files that run with what a manifest pins of some packages (PEP 503 names).

    A script or notebook that pins for itself stands alone. Any other manifest speaks for its folder and those below, as
    far down as a nearer manifest pins one of the packages. A script with pins of its own is not left out here, because
    that would mean reading every file: ask `pins_itself` about those that matter.
    """
    names = frozenset(packages)
    if manifest.kind in SCRIPT_KINDS:
        yield manifest.path.removesuffix(".lock")
        return
    top = governed_folder(manifest, names, project)
    if top is None:
        return
    verdicts = {top: True}
    for path in project.paths:
        if path == manifest.path or not path.startswith(os.path.join(top, "")):
            continue
        if _is_governed(os.path.dirname(path), manifest, names, project, verdicts):
            yield path


def governed_folder(manifest: Manifest, names: frozenset[str], project: Project) -> str | None:
    """The topmost folder a manifest speaks for: its own, or the one above a folder that holds only manifests.

    A folder of any other name that holds no code at all (`envs/`, `install/`) speaks for the folder above as well, if
    nothing else pins the packages there; None if something does.
    """
    folder = os.path.dirname(manifest.path)
    while folder != project.root and os.path.basename(folder).lower() in _MANIFEST_FOLDERS:
        folder = os.path.dirname(folder)
    while folder != project.root and not project.folders.holds_code(folder):
        folder = os.path.dirname(folder)
        if _is_pinned(folder, manifest, names, project):
            return None
    return folder


def pins_itself(path: str, packages: Iterable[str], project: Project) -> bool:
    """Whether a script or notebook pins one of the packages in its own text."""
    from trl_lint.project.environment import own_pins

    names = frozenset(packages)
    return any(pin.package in names for tier in own_pins(path, project) for pin in tier.pins)


def _is_governed(
    folder: str, manifest: Manifest, names: frozenset[str], project: Project, verdicts: dict[str, bool]
) -> bool:
    """Whether no manifest between a folder and the topmost one is nearer; `verdicts` has the answers so far."""
    known = verdicts.get(folder)
    if known is None:
        known = verdicts[folder] = not _is_pinned(folder, manifest, names, project) and _is_governed(
            os.path.dirname(folder), manifest, names, project, verdicts
        )
    return known


def _is_pinned(folder: str, manifest: Manifest, names: frozenset[str], project: Project) -> bool:
    """Whether manifests of a folder, but not this one, pin one of the packages, or its commands name a release."""
    found = project.folders.manifests(folder)
    if any(other.path == manifest.path for other in (*found, *project.folders.documents(folder))):
        return False
    if project.folders.is_pinned_exactly(folder, names):
        return True
    return any(pin.package in names and pin.kind != "inert" for other in found for pin in other.pins)
