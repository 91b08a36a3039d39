"""TRL204: pins that no release satisfies, so an installer gives up.

Computed from what the releases themselves declare to require (`rules/requirements`) and from the lists of releases.
What may still be satisfied, by a release newer than all that are known for example, is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from trl_lint.checks.pins._advisories import has_advisory, matching
from trl_lint.checks.pins._closure import Demand, Wish
from trl_lint.checks.pins._conflicts import conflict_id
from trl_lint.checks.pins._installations import Failure, failures
from trl_lint.checks.pins._remedies import edit_specifier
from trl_lint.checks.pins._views import View
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Fix, Severity
from trl_lint.knowledge.compat import advisories
from trl_lint.knowledge.releases import known_packages
from trl_lint.project import Project
from trl_lint.project.pins import Manifest, Pin, is_manifest


class UnsatisfiablePins(Rule):
    code: ClassVar[str] = "TRL204"
    manifests: ClassVar[bool] = True

    def check_manifest(self, manifest: Manifest, project: Project) -> Iterator[Finding]:
        if {pin.package for pin in manifest.pins}.isdisjoint(known_packages()):
            return
        view = View(manifest, project)
        for failure in failures(view):
            pin = pin_of(failure, manifest)
            if pin is not None and not is_told_elsewhere(failure, manifest) and not is_told_by_advisory(failure, view):
                yield self._report(failure, pin, view)

    def _report(self, failure: Failure, pin: Pin, view: View) -> Finding:
        places = [other.place for wish in failure.wishes for other in wish.pins if other.location != pin.location]
        # A target that the command line names is a question, not what the project installs.
        severity: Severity = "error" if all(wish.pins for wish in failure.wishes) else "warning"
        unasked = unasked_condition(failure, view)
        if unasked:
            severity = "info"
        return self.finding(
            pin.location,
            f"{describe(failure)}{unasked}",
            severity=severity,
            related=tuple(dict.fromkeys(places)),
            fix=edit_pin(pin, failure, view),
        )


def pin_of(failure: Failure, manifest: Manifest) -> Pin | None:
    """The pin that a failure is reported at, None where nothing in the manifest is about it.

    Targets stand in no file. Where they alone exclude each other, it is the pin that asks for one of their packages.
    """
    pins = [pin for pin in failure.wish.pins if pin.specifier] or failure.wish.pins
    if pins:
        return next((pin for pin in reversed(pins) if pin.location.path == manifest.path), pins[-1])
    asking = [pin for pin in manifest.pins if pin.package in failure.names]
    return next((pin for pin in asking if pin.extras), next(iter(asking), None))


def unasked_condition(failure: Failure, view: View) -> str:
    """The extras and groups of a failure in words, if nothing in the project installs them; "" if it does, or for all.

    Whoever asks for none of them is not concerned, and the release may be meant for others.
    """
    optional = [pin for wish in failure.wishes for pin in wish.pins if pin.group]
    asked = {
        pin.location
        for path in {pin.location.path for pin in optional}
        for one in view.project.folders.installing(path)
        for pin in one.tier.pins
    }
    unasked = dict.fromkeys(f"the {pin.kind} `{pin.group}`" for pin in optional if pin.location not in asked)
    return f"; {' and '.join(unasked)} cannot be installed, and nothing here asks for it" if unasked else ""


def is_told_elsewhere(failure: Failure, manifest: Manifest) -> bool:
    """Whether all of it stands in one included file that is a manifest by its own name."""
    paths = {pin.location.path for wish in failure.wishes for pin in wish.pins}
    is_bound = any(pin.kind == "constraint" for wish in failure.wishes for pin in wish.pins)
    return not is_bound and len(paths) == 1 and manifest.path not in paths and is_manifest(next(iter(paths)))


def is_told_by_advisory(failure: Failure, view: View) -> bool:
    """Whether an advisory tells more about two packages that exclude each other; then TRL201 speaks."""
    if failure.contradiction is None or len(failure.names) != 2:
        return False
    first = failure.contradiction.chain[0]
    if len(failure.contradiction.chain) == 1:
        return has_advisory(first.package, first.dependency, view)
    return any(failure.names <= advisory.packages.keys() and matching(advisory, view) for advisory in advisories())


def edit_pin(pin: Pin, failure: Failure, view: View) -> Fix | None:
    """The range that the other package requires. Longer chains have several ends, and any may be the wrong one."""
    chain = failure.contradiction.chain if failure.contradiction is not None else ()
    if len(chain) != 1 or chain[0].dependency != pin.package:
        return None
    demand = chain[0]
    safe = len(demand.releases) == 1
    fault = conflict_id(demand.package, demand.dependency)
    return edit_specifier(pin, demand.requirement.specifier, "safe" if safe else "unsafe", view, fault)


# -- words --------------------------------------------------------------------------------------------------------


def describe(failure: Failure) -> str:
    if failure.contradiction is None:
        return describe_gap(failure.wish)
    pinned = {wish.name: wish for wish in failure.contradiction.wishes}
    chain = [describe_demand(demand, pinned) for demand in failure.contradiction.chain]
    return f"No releases satisfy these pins: {'; '.join(dict.fromkeys(chain))}"


def describe_demand(demand: Demand, pinned: dict[str, Wish]) -> str:
    """Which release requires what, and whose pin excludes it."""
    need, first, last = demand.requirement, demand.releases[0], demand.releases[-1]
    required = f"requires {demand.dependency}{need.specifier}"
    extra = f" with its extra {need.extra}" if need.extra else ""
    other = pinned.get(demand.dependency)
    limit = f"{other.text}" if other is not None and other.specifier else f"what is left of {demand.dependency}"
    if len(demand.releases) == 1:
        text = f"{demand.package} {last}{extra} {required}"
        return f"{text}, and the pin is {limit}" if demand.is_refused and other is not None else text
    several = f"{demand.package} {first} to {last}{extra}"
    if demand.is_refused:
        return f"none of {several} accepts {limit} ({last} {required})"
    return f"each of {several} limits {demand.dependency} ({last} {required})"


def describe_gap(wish: Wish) -> str:
    """Why the specifiers of one package leave no release."""
    from trl_lint.knowledge.releases import installable, parse_specifier, parse_version

    specifiers = list(dict.fromkeys(pin.specifier for pin in wish.pins if pin.specifier))
    if len(specifiers) > 1:
        return f"No release of {wish.name} satisfies {' and '.join(specifiers)}, which are asked for together"
    known = installable(wish.name)
    parsed = parse_specifier(wish.specifier)
    exact = next((c.version for c in parsed or () if c.operator == "==" and "*" not in c.version), None)
    message = f"No release of {wish.name} satisfies {wish.specifier}"
    if exact is None or not known:
        return f"{message} (the newest known is {known[-1]})" if known else message
    wanted = parse_version(exact)
    before = [str(version) for version in known if wanted is not None and version < wanted]
    after = [str(version) for version in known if wanted is not None and version > wanted]
    around = " and ".join([*before[-1:], *after[:1]])
    return f"{message}: there never was one (its neighbours are {around})"


rule = UnsatisfiablePins()
