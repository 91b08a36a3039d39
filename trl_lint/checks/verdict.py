"""The one judgement over releases: how severe a fault is by what the pins prove, for which releases, and why.

Four questions lead to it: `judge` asks the recorded histories of several packages whether something is there,
`judge_releases` asks the recorded releases of one package whether something is wrong, `judge_config` asks them whether
they take what stands in a config file, and `judge_pins` holds specifiers against all that the pins allow. Each collects
the evidence, and `trl_lint/grading.py` makes a level of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from trl_lint import asked
from trl_lint.checks.rule import Rule
from trl_lint.coverage import Judged
from trl_lint.finding import Location, OpenPin, Severity
from trl_lint.grading import Evidence, graded, milder
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.presence import Absence, ChangePoints, Lookup, absences, intervals
from trl_lint.knowledge.ranges import holds, in_words, spans
from trl_lint.project.environment import Environment
from trl_lint.project.packages import Package
from trl_lint.project.stack import Choice, Choices
from trl_lint.records import NamedTuple
from trl_lint.run.runs import Run
from trl_lint.words import listed


class Level(NamedTuple):
    """How severe a finding can be: the `highest` level, or the rule on whose page it stands.

    `is_mild`: one lower, for what is only shown, or open to arguments. `of_code`: False for a key, a flag or a word of
    a config, a recipe or a command. It was written for the release that runs it: nothing is told of what only older
    releases refuse, nor of what only the newest one does where every statement of the tree names an older one.
    `stops`: False where the program goes on, which is one lower than where it stops.
    """

    highest: Severity | Rule
    is_mild: bool = False
    of_code: bool = True
    stops: bool = True

    @property
    def severity(self) -> Severity:
        """The level of what rests on no release."""
        return self.graded(Evidence())

    def graded(self, evidence: Evidence) -> Severity:
        """The level by the evidence; the page of a rule is read for a finding only."""
        highest = self.highest if isinstance(self.highest, str) else self.highest.page.severity
        return graded(highest if self.stops else milder(highest), evidence._replace(mild=self.is_mild))


class Verdict(NamedTuple):
    """A fault that some releases have which may be in use: how severe, in which of them, and the pins behind that.

    `scope`: in which releases and why, in words for brackets. `related`: the places of the pins. `package`, `version`:
    the newest release that has it, "" where several packages decide. `only_old`: the newest release in use has it not.
    `basis`: which releases there may be, and why, in words for the end of a message. `pin`: the pin that allows others
    as well.
    """

    severity: Severity
    scope: str
    related: tuple[Location, ...]
    package: str = ""
    version: str = ""
    only_old: bool = False
    basis: str = ""
    pin: OpenPin | None = None


def judge(
    choices: Choices,
    points: ChangePoints,
    ask: Lookup,
    level: Level | Severity | Rule,
    named: str,
    may_be_new: bool = True,
    is_without: Callable[[dict[str, str]], bool] = lambda versions: False,
    may_be_forked: bool = False,
) -> Verdict | None:
    """Ask whether something is there in every release the pins allow; None where it is, or where nobody knows.

    `points`: the positions at which the answer may change, by package. `named`: the package whose releases are named
    where all releases of all packages lack it. `may_be_new`: the main branch may have what no release has had.
    `is_without`: whether releases for which nobody answers lack the whole object, and that with it. `may_be_forked`:
    where nothing pins the package, a fork of it may have what no release has had.
    """
    concerned = {name: choices[name] for name in points if name in choices}
    found = _judged(concerned, points, ask, level, named, may_be_new, is_without, may_be_forked)
    return _noted(found, *concerned.values())


def _judged(
    concerned: Mapping[str, Choice],
    points: ChangePoints,
    ask: Lookup,
    level: Level | Severity | Rule,
    named: str,
    may_be_new: bool,
    is_without: Callable[[dict[str, str]], bool],
    may_be_forked: bool,
) -> Verdict | None:
    found = absences({name: chosen.releases for name, chosen in concerned.items()}, points, ask)
    if not found:
        return None
    main = next((absence for absence in found if absence.package == named), None)
    # That an old release of another package is not understood does not bring back what this one lacks throughout.
    everywhere = main is not None and main.every and concerned[named].complete and all(one.never for one in found)
    if not everywhere or len(found) < len(concerned):
        everywhere, main = False, _narrowest(found)
    if main is None:
        return None
    chosen = concerned[main.package]
    if chosen.between and not main.every:
        return None  # a development version between two releases that differ
    if chosen.is_tip and may_be_new and not _was_there(main.package, points, ask, concerned):
        return None  # what no release has had may be new
    evidence = _evidence(chosen, main.releases)
    tip = any(one.is_tip for one in concerned.values())
    evidence = evidence._replace(everywhere=everywhere, tip=tip)
    # Where no release there ever was has it, it does not matter that the pins leave it open which one is in use.
    is_open = not everywhere or (evidence.assumed and not may_be_forked)
    if is_open and not evidence.only_old and all(one.complete for one in concerned.values()):
        evidence = evidence._replace(always=_never_was(points, ask, concerned, is_without))
    return _verdict(chosen, main.releases, evidence, level)


def _noted(verdict: Verdict | None, *chosen: Choice) -> Verdict | None:
    """The verdict, written down where somebody asks why."""
    if asked.log is not None:
        among = ", ".join(f"{one.package.name} {in_words(spans(one.releases, one.releases))}" for one in chosen)
        answer = "nothing is wrong with them" if verdict is None else f"wrong ({verdict.scope or 'in every release'})"
        asked.note(asked.Answer("releases", among or "no release is known", answer, is_known=bool(chosen)))
    return verdict


def level_in(rule: Rule, run: Run | None) -> Level:
    """The level of a rule, a milder one for a run that is only shown in a document."""
    return Level(rule, run is not None and run.launch.is_documentation)


def judge_releases(chosen: Choice, is_bad: Callable[[str], bool], level: Level | Severity | Rule) -> Verdict | None:
    """Judge the releases of a package that may be in use; None where none is bad."""
    bad = [version for version in chosen.releases if is_bad(version)]
    if not bad or (chosen.between and len(bad) < len(chosen.releases)):
        return _noted(None, chosen)
    return _noted(_verdict(chosen, bad, _evidence(chosen, bad), level), chosen)


def judge_config(
    choices: Choices, package: str, is_fine: Callable[[str], bool | None], level: Level | Severity | Rule
) -> Verdict | None:
    """Judge what stands in a config file that a package reads; None where the newest release in use may take it.

    `is_fine`: whether a release takes it, None if nobody knows. The verdict names no release where none takes it.
    """
    chosen = choices.get(package)
    if chosen is None or is_fine(chosen.newest) is not False:
        return _noted(None, *([chosen] if chosen is not None else []))  # it was written for the release that runs it
    if chosen.package.is_own:
        return None  # a working tree may be ahead of the version it states
    known = releases(package)
    if all(is_fine(version) is False for version in known):
        if chosen.is_tip:
            return None  # what none has taken may be new
        return Verdict(_level(level).graded(Evidence(always=True)), "", (), package, known[-1])
    everywhere = {package: frozenset(range(len(known)))}
    return judge(choices, everywhere, lambda versions: is_fine(versions[package]), level, package)


def judge_pins(
    environment: Environment, conditions: Mapping[str, str], level: Level | Severity | Rule
) -> Verdict | None:
    """Judge `{package: specifier}` conditions, all of which must hold; None if one does not, or nobody can tell."""
    from trl_lint.project.stack import has_old_neighbour, solved

    scopes: list[str] = []
    related: list[Location] = []
    found = Evidence()
    for name, specifier in conditions.items():
        package, is_less = solved(environment, name)
        answer = package.holds(specifier)
        if answer in ("none", "unknown"):
            return None
        if not _level(level).of_code and not package.is_stated(package.affected(specifier)):
            return None
        is_old = package.resolved is not None and not holds(specifier, package.resolved)
        if is_old and not has_floor(package.specifier):
            return None
        assumed = package.source == "assumed"
        found = Evidence(
            everywhere=found.everywhere and answer == "all",
            only_old=found.only_old or is_old,
            assumed=found.assumed or assumed or package.source == "told",
            dated=found.dated or (assumed and has_old_neighbour(environment, name)),
            tip=found.tip or package.is_tip,
        )
        scopes.append(describe(package, specifier, is_less))
        related += package.places
    return Verdict(_level(level).graded(found), "; ".join(scopes), tuple(related), only_old=found.only_old)


def _evidence(chosen: Choice, bad: Sequence[str]) -> Evidence:
    return Evidence(
        everywhere=chosen.complete and len(bad) == len(chosen.releases),
        only_old=bad[-1] != chosen.newest,
        assumed=chosen.assumed,
        dated=chosen.is_dated,
        tip=chosen.is_tip,
    )


def _verdict(chosen: Choice, bad: Sequence[str], evidence: Evidence, level: Level | Severity | Rule) -> Verdict | None:
    level = _level(level)
    if evidence.only_old and not (level.of_code and has_floor(chosen.package.specifier)):
        return None
    if not level.of_code and not chosen.package.is_stated(bad):
        return None  # every statement names a release that takes it: it was written for one of these
    why = basis_of(chosen)
    if evidence.always:
        last = releases(chosen.package.name)[-1]
        why, bad = f"true of every known release up to {chosen.package.name} {last}", chosen.releases
    return Verdict(
        level.graded(evidence),
        scope(chosen.package.name, bad, chosen.releases, why),
        chosen.package.places,
        chosen.package.name,
        bad[-1],
        evidence.only_old,
        why,
        None if evidence.everywhere or evidence.always else open_pin(chosen, bad),
    )


def _level(level: Level | Severity | Rule) -> Level:
    return level if isinstance(level, Level) else Level(level)


def has_floor(specifier: str) -> bool:
    """Whether a pin has a lower bound, so that what is wrong with older releases alone is a fault of it.

    `trl<=0.9.6` allows the first release ever, but nobody gets it. Exact pins in several files have a reason each.
    """
    return any(sign in specifier for sign in ">~")


def _was_there(package: str, points: ChangePoints, ask: Lookup, concerned: Mapping[str, Choice]) -> bool:
    """Whether some release of a package had it, beside the newest releases of the others."""
    newest = {name: chosen.newest for name, chosen in concerned.items()}
    known = intervals(package, releases(package), points.get(package, frozenset()))
    return any(ask({**newest, package: interval[-1]}) is True for interval in reversed(known))


def _never_was(
    points: ChangePoints,
    ask: Lookup,
    concerned: Mapping[str, Choice],
    is_without: Callable[[dict[str, str]], bool],
) -> bool:
    """Whether no recorded release of any package had it, beside the newest releases of the others in use."""
    newest = {name: chosen.newest for name, chosen in concerned.items()}
    asked_of = (
        {**newest, package: interval[-1]}
        for package in concerned
        for interval in intervals(package, releases(package), points.get(package, frozenset()))
    )
    return all(ask(at) is False or (ask(at) is None and is_without(at)) for at in asked_of)


def _narrowest(found: Sequence[Absence]) -> Absence:
    """The package that decides: one of which only some releases lack it, else the first."""
    return next((absence for absence in found if not absence.every), found[0])


def open_pin(chosen: Choice, bad: Sequence[str]) -> OpenPin | None:
    """The pin that allows these releases beside others; None where one release is fixed, or no pin is written."""
    package = chosen.package
    if not package.pins or package.source not in ("pin", "assumed"):
        return None
    is_floor = bad[-1] != chosen.newest
    place = package.pins[0].location
    if chosen.assumed:
        return OpenPin(package.name, package.specifier, place, "", "", is_floor)
    # Below the last interval of bad releases all is well but for the oldest ones, which are a matter of the floor.
    first = bad[0] if is_floor else spans(bad, chosen.releases)[-1][0]
    return OpenPin(package.name, package.specifier, place, first, bad[-1], is_floor)


def judged_by(choices: Choices, package: str) -> Judged:
    """What is said of the releases of a package by which something was judged, with the first place that pins it."""
    chosen = choices.get(package)
    if chosen is None:
        return Judged()
    first, last = chosen.releases[0], chosen.newest
    shown = f"{package} {last}" if first == last else f"{package} {first} to {last}"
    pins = chosen.package.pins
    if chosen.assumed:
        return Judged(f"{shown} assumed")
    return Judged(shown, pins[0].location if pins else None)


# -- in words -------------------------------------------------------------------------------------------------------


def basis_of(chosen: Choice) -> str:
    """Which releases of a package there may be, and why: words for brackets at the end of a message."""
    # Another pin may leave fewer of them: both together allow these.
    fewer = chosen.complete and len(chosen.releases) < len(chosen.package.allowed or ())
    return _basis(chosen.package, chosen.releases[0], chosen.newest, fewer)


def describe(package: Package, specifier: str, is_less: bool = False) -> str:
    """Say for which releases of a package a condition holds, in words for brackets; `is_less` as in `solved`."""
    from trl_lint.knowledge.releases import newest

    allowed = [str(version) for version in package.allowed or ()]
    if package.is_tip:
        return _basis(package, "", str(newest(package.name)))
    if not allowed or package.source == "assumed":
        return _basis(package, "", str(package.resolved))
    return scope(package.name, package.affected(specifier), allowed, _basis(package, allowed[0], allowed[-1], is_less))


def scope(package: str, bad: Sequence[str], among: Sequence[str], why: str) -> str:
    """For which releases something holds: `why` alone where it holds for all of them, else with the `bad` ones before.

    `trl 0.18.0 to 0.19.1; your pin trl>=0.17,<0.20 allows 0.17.0 to 0.19.1`
    """
    return why if len(bad) == len(among) else f"{package} {in_words(spans(bad, among))}; {why}"


def _basis(package: Package, oldest: str, newest: str, fewer: bool = False) -> str:
    """`pinned: trl 0.18.0`, `your pin trl>=0.19.1 allows 0.19.1 to 1.16.0`, `nothing pins trl; 1.16.0 is assumed`.

    `oldest` and `newest`: of the releases that may be in use; `fewer`: another pin has left fewer of them.
    """
    name = package.name
    if package.source == "assumed":
        why = f"your pin takes any {name}" if package.pins else f"nothing pins {name}"
        if package.specifier:
            why = f"a later command replaces your pin {name}{package.specifier}"
        beside = [f"{pin.package}{pin.specifier}" for pin in package.because]
        return f"{why}; {newest} is {f'what pip takes beside {listed(beside)}' if beside else 'assumed'}"
    if package.source == "target":
        return f"for {name} {newest}"
    if package.source == "told":
        named = list(dict.fromkeys(pin.specifier.removeprefix("==") for pin in package.pins))
        if all(pin.condition for pin in package.pins):
            asked = listed([*dict.fromkeys(pin.condition for pin in package.pins)])
            others = package.specifier.rpartition("==")[2]
            return f"{name} is pinned for {asked} alone, and others get {others}"
        rest = "" if newest in named or len(package.allowed or ()) <= len(named) else f", and {newest} is the newest"
        if len(named) > 1:
            return f"different places name {name} {listed(named)}{rest}"
        return f"nothing here pins {name}; {named[0]} is named elsewhere{rest}"
    if package.is_tip:
        return f"{name} comes from the tip of its repository, at least {newest}"
    if package.allowed is None:
        return f"pinned: {name} {package.specifier.removeprefix('==')}"
    if len(package.allowed) == 1:
        return f"{'locked' if package.source == 'lock' else 'pinned'}: {name} {newest}"
    if fewer:
        return f"your pins allow {name} {oldest} to {newest}"
    return f"your pin {name}{package.specifier} allows {oldest} to {newest}"
