"""TRL201: a pinned release, or a pair of pinned releases, that is known not to work.

The facts are in `rules/compat/advisories.toml`; this module only decides whether the pins bring them about.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from trl_lint.checks.pins._views import (
    View,
    edit_specifier,
    is_moving_branch,
    may_be_together,
    pinned_here,
    requested_extras,
    shown,
)
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Location, Severity, lowered
from trl_lint.knowledge.compat import Advisory, advisories
from trl_lint.knowledge.releases import parse_specifier, releases
from trl_lint.sources import SourceError

if TYPE_CHECKING:
    from trl_lint.project import Project
    from trl_lint.project.pins import Manifest

# "told": the pin or the branch is documented, but what gets installed is not certain.
Proof = Literal["proved", "told", "likely"]
_PYTHON_FILE_BYTES = 1_000_000


class KnownBadRelease(Rule):
    code: ClassVar[str] = "TRL201"
    manifests: ClassVar[bool] = True

    def check_manifest(self, manifest: Manifest, project: Project) -> Iterator[Finding]:
        if manifest.kind == "constraints":
            return  # limits what others ask for: judged with the file that includes it
        view = View(manifest, project)
        for advisory in advisories():
            if advisory.reported_at in view.names and (match := matching(advisory, view, project)):
                yield from self._report(advisory, match, view)
        yield from self._check_yanked(view)

    def _report(self, advisory: Advisory, match: Match, view: View) -> Iterator[Finding]:
        name = advisory.reported_at
        severity = severity_of(advisory, match.proof)
        versions = " with ".join(shown(package, view.package(package)) for package in advisory.packages)
        advice = " or ".join(f"{package}{specifier}" for package, specifier in advisory.fix.items())
        note = "; nothing installs from this table, so pip does not see the pin" if view.is_inert(name) else ""
        message = f"{advisory.title}: {advisory.message}. Pinned: {versions}{note}. Use {advice}"
        related = match.related
        for other in advisory.packages:
            if other != name:
                related += pinned_here(view.package(other))
        for pin in view.reported(name):
            fix = edit_specifier(pin, advisory.fix.get(name, ""), "unsafe") if name in advisory.fix else None
            yield self.finding(pin.location, message, severity=severity, related=related, fix=fix)

    def _check_yanked(self, view: View) -> Iterator[Finding]:
        """An exact pin of a release its authors have withdrawn."""
        for pin in view.manifest.pins:
            if pin.kind in ("inert", "constraint", "url") or not pin.specifier.startswith("==") or "," in pin.specifier:
                continue
            version = pin.specifier.lstrip("=")
            if pin in view.reported(pin.package) and is_yanked(pin.package, version):
                message = f"{pin.package} {version} was withdrawn by its authors (yanked from the index)"
                yield self.finding(pin.location, f"{message}. Use another release", severity="warning")


class Match(NamedTuple):
    """An advisory that holds; `related` are places beside the pins that it rests on."""

    proof: Proof
    related: tuple[Location, ...]


def severity_of(advisory: Advisory, proof: Proof) -> Severity:
    """The advisory's level if the pins prove it, at most a warning for what is only told, else one level lower."""
    if proof == "likely":
        return lowered(advisory.severity)
    return "warning" if proof == "told" and advisory.severity == "error" else advisory.severity


def matching(advisory: Advisory, view: View, project: Project) -> Match | None:
    """Whether an advisory holds for a manifest, and how sure that is.

    "proved" only if every release the pins allow is affected; "likely" if the release pip takes today is; "told" if a
    repository's main branch stands for a release, or if a table nothing uses, a README or a script pins it.
    """
    if not all(view.is_mentioned(name) for name in advisory.packages):
        return None
    proofs = [affects(name, specifier, advisory, view) for name, specifier in advisory.packages.items()]
    if None in proofs or any(is_excluded(name, specifier, view) for name, specifier in advisory.unless.items()):
        return None
    pins = [view.package(name).pins for name in advisory.packages]
    if any(not may_be_together(one, other) for index, one in enumerate(pins) for other in pins[:index]):
        return None
    related: tuple[Location, ...] = ()
    if advisory.uses or advisory.document:
        evidence = find_run(advisory, project) if advisory.document else find_use(advisory.uses, view.manifest, project)
        if evidence is None:
            return None
        related = evidence
    weakest: Proof = "likely" if "likely" in proofs else "told" if "told" in proofs else "proved"
    return Match(weakest, related)


def affects(name: str, specifier: str, advisory: Advisory, view: View) -> Proof | None:
    """Whether the releases of one package that pip can choose are affected."""
    package = view.package(name)
    if name in advisory.extras and advisory.extras[name] not in requested_extras(package):
        return None
    candidates = view.candidates(name)
    if candidates is None:
        if advisory.main and is_moving_branch(package):
            return "told"
        return "proved" if package.holds(specifier) == "all" else None
    specifiers = parse_specifier(specifier)
    if specifiers is None or not candidates or not specifiers.contains(candidates[-1], prereleases=True):
        return None  # pip takes the newest release, and that one is fine
    certain = all(specifiers.contains(version, prereleases=True) for version in candidates)
    if not certain and " | " in package.specifier:
        return None  # alternatives: nobody knows which of them is installed
    if not certain or package.source == "assumed":
        return "likely"
    told = all(pin.kind == "command" for pin in package.pins) and view.manifest.kind not in ("notebook", "dockerfile")
    return "told" if package.pins and (told or view.is_inert(name)) else "proved"


def is_excluded(name: str, specifier: str, view: View) -> bool:
    """Whether a package that lifts the advisory may be there in a release that does."""
    return view.is_mentioned(name) and view.package(name).holds(specifier) != "none"


def is_yanked(package: str, version: str) -> bool:
    return any(release.yanked and release.version == version for release in releases(package))


def find_run(advisory: Advisory, project: Project) -> tuple[Location, ...] | None:
    """A launch of a script that uses what the advisory is about, with a config that holds the wanted value."""
    from trl_lint.checks._runs import accelerate_config
    from trl_lint.sources.nodes import find, value_of

    wanted = advisory.document
    for launch in project.launches():
        if (
            wanted is None
            or launch.script_path is None
            or find_word(advisory.uses, launch.script_path, project) is None
        ):
            continue
        config = accelerate_config(launch, project)
        if config is not None and str(value_of(find(config.root, wanted.key))) == wanted.value:
            place = config.location._replace(message=f"{wanted.key} is {wanted.value} here")
            return place, launch.location._replace(message="launched here")
    return None


def find_use(words: tuple[str, ...], manifest: Manifest, project: Project) -> tuple[Location, ...] | None:
    """Where the project uses one of the words; a script or notebook that pins for itself is asked alone."""
    own = manifest.kind in ("pep723", "notebook")
    paths = [manifest.path] if own else [p for p in project.paths() if p.endswith((".py", ".ipynb", ".sh"))]
    for path in paths:
        place = find_word(words, path, project)
        if place is not None:
            return (place,)
    return None


def find_word(words: tuple[str, ...], path: str, project: Project) -> Location | None:
    """The first place in a file where one of the words stands; the bytes are searched before anything is decoded."""
    try:
        if os.path.getsize(path) > _PYTHON_FILE_BYTES:
            return None
        file = project.files.get(path)
        for word in words:
            if word.encode() in file.data:
                start = file.text.find(word)
                return Location(path, start, start + len(word), f"{word} is used here")
    except (OSError, SourceError):
        pass
    return None


rule = KnownBadRelease()
