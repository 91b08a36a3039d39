"""Whether an advisory holds for a manifest, and how sure that is."""

from __future__ import annotations

from typing import Literal

from trl_lint.checks.pins._evidence import find_evidence
from trl_lint.checks.pins._together import may_be_together
from trl_lint.checks.pins._views import View, requested_extras
from trl_lint.finding import Location, Severity
from trl_lint.grading import Evidence, graded
from trl_lint.knowledge.compat import Advisory, advisories
from trl_lint.knowledge.ranges import holds
from trl_lint.records import NamedTuple

# "told": the pin or the branch is documented, but what gets installed is not certain.
Proof = Literal["proved", "told", "likely"]


class Match(NamedTuple):
    """An advisory that holds: its level here, and the places beside the pins that it rests on."""

    severity: Severity
    related: tuple[Location, ...]


def matching(advisory: Advisory, view: View) -> Match | None:
    """The match of an advisory with the pins of a manifest, None if it does not hold or nobody can tell.

    "proved" only if every release the pins allow is affected; "likely" if the release pip takes today is; "told" if a
    repository's main branch stands for a release, or if a table nothing uses, a README or a script pins it.
    """
    if not all(view.is_mentioned(name) for name in advisory.packages):
        return None
    proofs = [affects(name, specifier, advisory, view) for name, specifier in advisory.packages.items()]
    if None in proofs or any(is_excluded(name, specifier, view) for name, specifier in advisory.unless.items()):
        return None
    pins = [view.package(name).pins for name in advisory.packages]
    project = view.project
    if any(not may_be_together(one, other, project) for index, one in enumerate(pins) for other in pins[:index]):
        return None
    evidence = find_evidence(advisory, view)
    if evidence is None:
        return None
    severity = advisory.severity
    if advisory.documents and not evidence.has_document:
        severity = advisory.otherwise or severity
    is_told = "told" in proofs or evidence.is_told
    weakest: Proof = "likely" if "likely" in proofs else "told" if is_told else "proved"
    return Match(weakened(severity, weakest), evidence.places)


def weakened(severity: Severity, proof: Proof) -> Severity:
    """The level itself if the pins prove it, at most a warning for what is only told, else one level lower."""
    return graded(severity, Evidence(everywhere=proof != "likely", told=proof == "told"))


def affects(name: str, specifier: str, advisory: Advisory, view: View) -> Proof | None:
    """Whether the releases of one package that pip can choose are affected."""
    package = view.package(name)
    if name in advisory.extras and advisory.extras[name] not in requested_extras(package):
        return None
    candidates = view.candidates(name)
    if candidates is None:
        if package.is_tip:
            return "told" if advisory.main or package.holds(specifier) == "all" else None
        return "proved" if package.holds(specifier) == "all" else None
    if not candidates or not holds(specifier, candidates[-1]):
        return None  # pip takes the newest release, and that one is fine
    certain = all(holds(specifier, version) for version in candidates)
    if not certain and " | " in package.specifier:
        return None  # alternatives: nobody knows which of them is installed
    if not certain or package.source == "assumed":
        return "likely"
    told = all(pin.kind == "command" for pin in package.pins) and view.manifest.kind not in ("notebook", "dockerfile")
    return "told" if package.pins and (told or view.is_inert(name)) else "proved"


def is_excluded(name: str, specifier: str, view: View) -> bool:
    """Whether a package that lifts the advisory may be there in a release that does."""
    return view.is_mentioned(name) and view.package(name).holds(specifier) != "none"


def has_advisory(provider: str, name: str, view: View) -> bool:
    """Whether an advisory tells more about a package's pin or about two packages; then TRL201 speaks."""
    return any(
        name in advisory.packages
        and (provider in advisory.packages or advisory.reported_at == name)
        and matching(advisory, view) is not None
        for advisory in advisories()
    )
