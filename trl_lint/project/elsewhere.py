"""What the rest of a project's tree says about packages that nothing around a file pins.

An image whose file stands in a folder without code (`installation/docker-x/`) is for the code around that folder. Below
that rank stand releases that are told and not installed: in a README, in a list of what was there once, in the
head of generated code, and what is pinned for other code of the tree. The nearest of them count.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from packaging.version import Version

from trl_lint.project.packages import Package, package_of
from trl_lint.project.pins import IMAGE_KINDS, SCOPED_KINDS, Manifest, Pin
from trl_lint.project.tiers import Tier
from trl_lint.sources.requirements import is_exact


class Elsewhere:
    """The statements of a tree by the folder that they are for.

    The questions are those of `Folders`: the folders above one, whether one has code or a project of its own, what
    the links of a manifest bring, what a document installs for which folder ("" for all around it), and what Python
    files install into the images and jobs that are for one.
    """

    def __init__(
        self,
        manifests: Iterable[Manifest],
        upwards: Callable[[str], Iterable[str]],
        is_of_its_own: Callable[[str], bool],
        brought: Callable[[Manifest], list[Pin]],
        by_folder: Callable[[Manifest], Mapping[str, Manifest]],
        jobs: Callable[[str], Sequence[Sequence[Pin]]],
    ) -> None:
        self._upwards = upwards
        self._is_of_its_own = is_of_its_own
        self._brought = brought
        self._by_folder = by_folder
        self._jobs = jobs
        self._images: dict[str, list[list[Pin]]] = {}
        self._told: dict[str, dict[str, list[Pin]]] = {}  # by folder and package
        self._pinned: dict[str, dict[str, list[Pin]]] = {}
        self._generated: dict[str, list[Pin]] = {}
        for manifest in manifests:
            self._take(manifest)

    def _take(self, manifest: Manifest) -> None:
        here = os.path.dirname(manifest.path)
        # A list in a folder without code (`docker/requirements-freeze.txt`) speaks of the code around that folder.
        place = self._place_of(here) if manifest.kind == "freeze" and not self._is_of_its_own(here) else here
        for pin in manifest.told:
            table = self._generated if manifest.kind == "compiled" else self._told.setdefault(place, {})
            table.setdefault(pin.package, []).append(pin)
        brought = self._brought(manifest) if manifest.kind in IMAGE_KINDS else []
        if manifest.kind in IMAGE_KINDS and not self._is_of_its_own(here):
            parts = self._by_folder(manifest) if manifest.kind in SCOPED_KINDS else {"": manifest}
            for folder, part in parts.items():
                pins = [*part.pins, *self._brought(part)]
                self._images.setdefault(folder or self._place_of(here), []).append(pins)
        for pin in (*manifest.pins, *brought):
            if is_exact(pin.specifier) and not pin.is_optional and pin.kind not in ("inert", "constraint"):
                for upper in self._upwards(here):
                    self._pinned.setdefault(upper, {}).setdefault(pin.package, []).append(pin)

    def _place_of(self, folder: str) -> str:
        """The folder whose code a folder without code is for."""
        return next((upper for upper in self._upwards(folder) if self._is_of_its_own(upper)), folder)

    def image(self, name: str, folder: str) -> Package | None:
        """What images install of a package that no file for this folder describes; "told" where they differ."""
        for upper in self._upwards(folder):
            images = (*self._images.get(upper, ()), *self._jobs(upper))
            ways = [found for pins in images if (found := Tier(pins).resolve(name)) is not None]
            if not ways:
                continue
            if all(way.specifier == ways[0].specifier and way.source == ways[0].source for way in ways):
                return ways[0]
            return told(name, [pin for way in ways for pin in way.pins])
        return None

    def told_around(self, name: str, folder: str) -> Package | None:
        """The releases of a package that a page, or a list of what was installed, names in a folder or one above it."""
        for upper in self._upwards(folder):
            if pins := self._told.get(upper, {}).get(name):
                return told(name, pins)
        return None

    def beside(self, pinned: Package, folder: str) -> Package:
        """A package that a folder above pins, or beside it what a nearer page names instead: nobody knows which."""
        top = os.path.dirname(pinned.pins[0].location.path)
        for upper in self._upwards(folder):
            if upper == top or not upper.startswith(os.path.join(top, "")):
                break
            near = told(pinned.name, self._told.get(upper, {}).get(pinned.name, ()))
            if near is not None:
                overlaps = not set(near.allowed or ()).isdisjoint(pinned.allowed or ())
                differs = not overlaps and all(is_exact(pin.specifier) for pin in pinned.pins)
                return told(pinned.name, (*near.pins, *pinned.pins)) or pinned if differs else pinned
        return pinned

    def named(self, name: str, folder: str) -> Package | None:
        """The releases of a package that are named anywhere in the tree, the nearest ones.

        What is named for other code may be another project's: whoever starts from nothing gets the newest release.
        """
        from trl_lint.knowledge.releases import newest

        if pins := self._generated.get(name):
            return told(name, pins)
        for upper in self._upwards(folder):
            if pins := self._pinned.get(upper, {}).get(name):
                return told(name, pins, newest(name))
        anywhere = [pin for table in self._told.values() for pin in table.get(name, ())]
        return told(name, anywhere, newest(name)) if anywhere else None


def told(name: str, pins: Iterable[Pin], other: Version | None = None) -> Package | None:
    """A package of which releases are named and nothing installs one; None where none of them is known.

    `other`: the release that whoever follows none of these pins gets.
    """
    kept = list(_distinct(pins))
    kept = [pin for pin in kept if is_exact(pin.specifier)] or kept
    if not kept:
        return None
    specifiers = [pin.specifier for pin in kept]
    if other is not None:
        specifiers = list(dict.fromkeys((*specifiers, f"=={other}")))
    found = package_of(name, tuple(kept), specifiers, "told")
    return found if found.allowed else None


def _distinct(pins: Iterable[Pin]) -> Iterator[Pin]:
    """The first pin of each specifier."""
    seen: set[str] = set()
    for pin in pins:
        if pin.specifier and pin.specifier not in seen:
            seen.add(pin.specifier)
            yield pin
