"""The causes a failure may have, most likely first, and what is not the cause.

A finding of a rule in the project comes first, then what the frames, values and releases of the log fit, then what
would need something that nobody knows. Nothing is called likely on the strength of a message that has several causes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from itertools import islice

from trl_lint.diagnose import dating
from trl_lint.diagnose.answers import Diagnosed, Diagnosis, Evidence, NotTheCause, capital, sentence
from trl_lint.diagnose.drift import RULES, Drift, drift_of
from trl_lint.diagnose.failures import Failure, Note, Part
from trl_lint.diagnose.first import complaints, first_failure, runs, why_it_follows
from trl_lint.diagnose.holding import TELLING, holds_in, in_use
from trl_lint.diagnose.judging import NO_TRACEBACK, Context, Match, match
from trl_lint.diagnose.project import Place, ProjectEvidence
from trl_lint.diagnose.raiser import raised_by
from trl_lint.diagnose.reader import Log
from trl_lint.diagnose.refusals import Refused, all_refused_by
from trl_lint.diagnose.source import condition_of
from trl_lint.diagnose.statement import REFUSED, stated
from trl_lint.diagnose.versions import versions_in
from trl_lint.finding import Finding
from trl_lint.knowledge import api
from trl_lint.knowledge.causes import KNOWN_BUG, Cause, causes, prevention
from trl_lint.knowledge.symptoms import myths

_MOST = 5
# How far what names only the kind of a failure stands behind the rest, and how many causes there are beside it at most.
_GENERAL, _FEW = 9, 2
_COMPLAINTS = 5  # lines that are asked
_NAMED = ("key", "name", "flag", "file")
# The codes of what the histories tell without any table.
_PAIR, _OTHER_RELEASE, _REFUSED = "LOG211", "LOG200", "LOG740"
# Where the condition of a `raise` is read in the file that ran, these have their answer.
_OF_LIBRARIES = (REFUSED, "LOG223")
# Notes that leave it to the reader to find the words.
_POINTS = re.compile(r"\b[Tt]he (?:message|parser|line)\b.{0,30} (?:names|tells|says)\b")


def diagnose(log: Log, path: str, project: str | None = None, targets: Mapping[str, str] | None = None) -> Diagnosis:
    """The causes of the first failure of a log; `path` is the log as evidence names it. Raises SettingsError."""
    failure = first_failure(log)
    named = {name: seen.version for name, seen in versions_in(log).items()}
    found = _Diagnoser(log, path, failure, named, project, dict(targets or {})).run()
    if not found.causes and (failure is None or not failure.text.strip()):
        for complaint in islice(complaints(log), _COMPLAINTS):
            said = _Diagnoser(log, path, complaint, named, project, dict(targets or {})).run()
            if said.causes:  # the line of a program is no proof that the program ended at it
                weaker = (one._replace(likelihood="possible") for one in said.causes if not one.is_proved)
                return said._replace(causes=(*(one for one in said.causes if one.is_proved), *weaker))
    return found


class _Diagnoser:
    def __init__(
        self,
        log: Log,
        path: str,
        failure: Failure | None,
        versions: dict[str, str],
        project: str | None,
        targets: dict[str, str],
    ) -> None:
        self.log = log
        self.path = path
        self.failure = failure
        self.wording = dating.wording(failure) if failure is not None else None
        self.stated = stated(failure) if failure is not None else None
        self.condition = condition_of(failure) if failure is not None else ""
        self.drift = drift_of(failure) if failure is not None else None
        self.refused: Refused | None = None
        self.project: ProjectEvidence | None = None
        if project is not None:
            asked = failure or _nothing()
            self.project = ProjectEvidence(project, asked, versions, targets)
            self._judge_what_ran(versions, targets)
        # What other ranks report afterwards tells something about the run, too.
        others = [Note(one.number, one.rank, one.text) for one in log.failures if one is not failure]
        self.context = Context(failure, [*log.notes, *others], versions, self.project)
        if failure is not None:
            self.refused = in_use(all_refused_by(failure), versions, self.project)

    def _judge_what_ran(self, versions: dict[str, str], targets: dict[str, str]) -> None:
        """Have the rules judge the releases that printed the log, where those are not the pinned ones."""
        assert self.project is not None
        ran = {name: version for name, version in versions.items() if name in dating.PACKAGES}
        if self.wording is not None and self._is_other_release(self.wording):
            ran.setdefault(self.wording.package, self.wording.spans[-1][1])
        changed = {name: version for name, version in ran.items() if name not in targets}
        differing = {name: version for name, version in changed.items() if self.project.package_excludes(name, version)}
        if differing:
            self.project = ProjectEvidence(self.project.root, self.project.failure, versions, {**targets, **differing})

    def _is_other_release(self, dated: dating.Dated) -> bool:
        """Whether none of the releases that the project allows can have printed the message."""
        if self.project is None or not dated.spans:
            return False
        package = self.project.declared(dated.package)
        if package.source not in ("pin", "lock", "target") or not package.allowed:
            return False
        known = api.releases(dated.package)
        if not all(str(version) in known for version in package.allowed):
            return False
        at = {version: number for number, version in enumerate(known)}
        return not any(
            at[first] <= at[str(version)] <= at[last] for version in package.allowed for first, last in dated.spans
        )

    # -- causes ---------------------------------------------------------------------------------------------------

    def run(self) -> Diagnosis:
        found: list[tuple[Cause, Match]] = []
        excluded: list[tuple[Cause, Match]] = []
        for cause in causes():
            if self.drift is not None and self.drift.is_of_a_pair and cause.code in RULES.values():
                continue  # an installed package asked: nothing that the project writes is missing
            best = self._best(cause)
            if best is not None:
                (excluded if best.against else found).append((cause, best))
        particular = [one for one in found if not one[1].symptom.fallback]
        # What only a traceback, or a finding in the project, could tell does not silence what the message is about.
        if any(NO_TRACEBACK not in best.open and cause.code != KNOWN_BUG for cause, best in particular):
            found = particular
        codes = [cause.code for cause, _ in found if cause.is_rule]
        codes += [code for code in TELLING if self.refused is not None and code not in codes]
        diagnosed = [self._judge(cause, best, codes, order) for order, (cause, best) in enumerate(found)]
        told = self._by_the_histories({one.code for one in diagnosed if one.rank[0] == 0})
        diagnosed = told if told and all(best.symptom.fallback for _, best in found) else [*diagnosed, *told]
        ranked = self._ranked([self._if_quoted(one) for one in diagnosed])
        return Diagnosis(
            self.failure,
            why_it_follows(self.failure) if self.failure is not None else "",
            tuple(ranked),
            tuple(self._not_the_cause(ranked, found, excluded)),
            self._dated(),
            len(runs(self.log)),
        )

    def _if_quoted(self, one: Diagnosed) -> Diagnosed:
        """A cause, which is possible at most where no line of the log is quoted for it."""
        is_quoted = any(seen.path == self.path and seen.line > 0 for seen in one.evidence)
        return one if is_quoted else one._replace(likelihood="possible")

    def _best(self, cause: Cause) -> Match | None:
        """The symptom of a cause that fits best; one that something speaks against only if no other fits."""
        matches = [found for symptom in cause.symptoms if (found := match(symptom, self.context)) is not None]
        matches.sort(
            key=lambda one: (
                bool(one.against),
                one.symptom.fallback + one.symptom.general,
                len(one.open),
                -one.weight,
                one.symptom.likelihood == "possible",
            )
        )
        best = next(iter(matches), None)
        if best is None or best.against or best.is_sure:
            return best
        # What the message itself decides needs neither the frames nor the releases that tell causes apart.
        sure = next((one for one in matches if one.is_sure), None)
        return best if sure is None else sure._replace(symptom=sure.symptom._replace(fallback=best.symptom.fallback))

    def _judge(self, cause: Cause, best: Match, codes: list[str], order: int) -> Diagnosed:
        evidence = [Evidence(self.path, seen.number, seen.text) for seen in best.seen]
        symptom = best.symptom
        note = best.filled(symptom.note)
        said = self.stated if symptom.kind == "failure" else None
        if said is not None and said.is_quoted and not symptom.fallback:
            said = None
        if best.said and said is None and _POINTS.search(note):
            note = sentence(note, f"It is: {best.said}")
        findings = self._findings(cause, codes)
        if findings:
            finding, where = findings[0]
            evidence += [self._evidence(place) for place in where]
            tells = symptom.frames or symptom.last or symptom.log or symptom.family
            why = sentence(capital(finding.message), note if tells else "")
            strength = 0 if self._is_proof(best, finding) else 1
            likelihood = "likely" if strength == 0 else "possible"
            rank = (strength, 0, best.part, -best.weight, order)
        else:
            is_told_apart = symptom.likelihood == "likely" or symptom.packages or symptom.frames or symptom.last
            is_looked_for = cause.is_rule and self.project is not None and not is_told_apart
            evidence += [self._evidence(place) for place in best.places]
            likelihood = symptom.likelihood if not best.open and not is_looked_for else "possible"
            told = [capital(reason) for reason in best.reasons]
            if said is not None:
                is_kind = said.decides == REFUSED and symptom.fallback and not symptom.general
                is_read = self.condition != "" and cause.code in _OF_LIBRARIES
                if (cause.code == said.decides or is_kind or is_read) and not best.open:
                    likelihood = "likely"
            if symptom.fallback and self.failure is not None:
                told += filter(None, [capital(self.condition)])
                told += filter(None, [raised_by(self.failure).told])
            if NO_TRACEBACK in best.open:
                told.append(f"{capital(NO_TRACEBACK)}, so nothing tells it from other causes of the same message")
            if others := [text for text in best.open if text != NO_TRACEBACK]:
                told.append(f"Not certain: {'; '.join(others)}")
            if is_looked_for:
                told.append("Nothing like it was found in the project")
            why = sentence(capital(said.what) if said is not None else "", note, *told)
            weaker = len(best.open) + 2 * is_looked_for + _GENERAL * symptom.general
            rank = (1 if likelihood == "likely" else 2, weaker, best.part, -best.weight, order)
        if self.failure is not None and symptom.kind == "failure":
            evidence.insert(0, Evidence(self.path, best.line, best.text) if best.line else self._failure_line())
        title, settle = best.filled(symptom.title), best.filled(symptom.settle)
        advice = best.filled(symptom.advice) or cause.advice or f"`trl-lint rule {cause.code}` tells more"
        return Diagnosed(
            cause.code, cause.name, title or cause.title, likelihood, why or cause.title,
            tuple(dict.fromkeys(evidence)), advice, prevention(cause), settle or self._what_would_settle(best),
            symptom.proved, rank, symptom.family or cause.family,
        )  # fmt: skip

    def _what_would_settle(self, best: Match) -> str:
        """What to show or to give, so that what is open would be known; "" if nothing is."""
        told = []
        is_bare = self.failure is not None and self.failure.kind == "loose" and not self.failure.frames
        if NO_TRACEBACK in best.open or (is_bare and best.symptom.likelihood == "possible"):
            told.append("show the log from the lines before the message on, with its traceback")
        if any(text != NO_TRACEBACK for text in best.open):
            asked = [name for name in best.symptom.packages if name not in self.context.versions]
            if asked:
                told.append(f"say what ran: `pip freeze` of that machine, or `--target {asked[0]}==VERSION`")
            if self.project is None and (best.symptom.settings or best.symptom.project or not asked):
                told.append("give the project with `--project PATH`")
        return "; ".join(told)

    def _findings(self, cause: Cause, codes: list[str]) -> list[tuple[Finding, list[Place]]]:
        """The findings of a rule that are about this failure, with their places; those at a frame first."""
        if not cause.is_rule or self.project is None:
            return []
        mine = []
        matches = [
            found
            for symptom in cause.symptoms
            if (found := match(symptom, self.context)) is not None and not found.against
        ]
        for finding in self.project.findings(cause.code, codes):
            fits = [found for found in matches if self._concerns(finding, found)]
            if not fits or not self.project.is_of_the_run(finding):
                continue
            places = [self.project.place(finding.location.path, finding.location.start)]
            places += [self.project.place(place.path, place.start) for place in finding.related[:3]]
            order = (not self.project.is_near(finding), ("error", "warning", "info").index(finding.severity))
            mine.append((order, finding, places))
        mine.sort(key=lambda one: one[0])
        return [(finding, places) for _, finding, places in mine]

    def _concerns(self, finding: Finding, found: Match) -> bool:
        """Whether a finding is about what the log names."""
        assert self.project is not None
        wanted = found.symptom.finding
        if wanted and not re.search(wanted, finding.message):
            return False
        if found.symptom.near and not self.project.is_near(finding):
            return False
        values = [os.path.basename(found.values[name]) for name in _NAMED if name in found.values]
        places = self.project.place(finding.location.path, finding.location.start)
        return all(value in finding.message or value in places.text for value in values)

    def _is_proof(self, best: Match, finding: Finding) -> bool:
        """Whether a finding makes its rule the likely cause: nothing else is missing, and a hint is told apart."""
        symptom = best.symptom
        is_told_apart = bool(symptom.frames or symptom.last or symptom.log or symptom.without or symptom.finding)
        is_hint = finding.severity == "info" and not is_told_apart
        return not is_hint and NO_TRACEBACK not in best.open

    def _by_the_histories(self, proved: set[str]) -> list[Diagnosed]:
        """What the recorded releases tell alone: an argument or a name that the installed release has not."""
        found = [] if self.drift is None else [
            self._of_drift(self.drift, code, is_sure)
            for code, is_sure in _codes_of(self.drift)
            if code not in proved
        ]  # fmt: skip
        if self.refused is not None:
            found.append(self._of_refusal(self.refused, not proved))
        other = self.wording if self.wording is not None and self._is_other_release(self.wording) else None
        if other is not None and self.project is not None:
            package = self.project.declared(other.package)
            why = sentence(
                f"{capital(other.sentence)} only, but the project pins {other.package} {package.specifier}",
                "The environment that ran is not the one the project describes",
            )
            page = next(cause for cause in causes() if cause.code == _OTHER_RELEASE)
            found.append(
                Diagnosed(
                    page.code, page.name, page.title, "likely", why,
                    (self._failure_line(), *self._pins(other.package)), page.advice, prevention(page),
                    is_proved=True, rank=(1, 9, 0, 0, 0),
                )
            )  # fmt: skip
        return found

    def _of_refusal(self, refused: Refused, is_alone: bool) -> Diagnosed:
        """What a release refuses with the message, and whether the project has such values. `is_alone`: no rule found
        the cause in the project.
        """
        page = next(cause for cause in causes() if cause.code == _REFUSED)
        fields = " or ".join(f"`{name}`" for name in refused.fields)
        answer = holds_in(self.project, refused)
        strength = 0 if is_alone and answer.held == "yes" else 1
        return Diagnosed(
            page.code, page.name, page.title, "likely", sentence(capital(refused.why), answer.text),
            (self._failure_line(), *map(self._evidence, answer.places)),
            f"change {fields}" if fields else page.advice, prevention(page),
            is_proved=True, rank=(strength, strength, 0, 0, 0),
        )  # fmt: skip

    def _pins(self, package: str) -> list[Evidence]:
        if self.project is None:
            return []
        pins = self.project.declared(package).pins[:2]
        return [self._evidence(self.project.place(pin.location.path, pin.location.start)) for pin in pins]

    def _of_drift(self, drift: Drift, code: str, is_sure: bool) -> Diagnosed:
        """What a cause says of a name, an argument or an attribute that the installed release has not."""
        page = next(cause for cause in causes() if cause.code == code)
        evidence = (self._failure_line(), *self._pins(drift.dated.package))
        rank = (1 if is_sure else 2, 0, 0, 0 if code == _PAIR else -5, 0)
        return Diagnosed(
            code, page.name, page.title, "likely" if is_sure else "possible", sentence(*drift.told), evidence,
            drift.advice or page.advice, prevention(page),
            "" if drift.is_sure else "show the traceback: its last frame tells who asks", is_sure, rank,
            _PAIR if drift.is_somebodys else "",
        )  # fmt: skip

    def _ranked(self, diagnosed: list[Diagnosed]) -> list[Diagnosed]:
        """Most likely first; each code once.

        Only what a finding in the project proves may be likely beside another likely cause, and of the causes of one
        message only one.
        """
        diagnosed.sort(key=lambda one: one.rank)
        ranked: list[Diagnosed] = []
        families: set[str] = set()
        for one in diagnosed:
            if any(one.code == known.code for known in ranked):
                continue
            has_likely = any(known.likelihood == "likely" for known in ranked)
            if has_likely and one.code != _OTHER_RELEASE and (one.rank[0] > 0 or one.family in families):
                one = one._replace(likelihood="possible")
            if one.likelihood == "likely" and one.family:
                families.add(one.family)
            ranked.append(one)
        if ranked and ranked[0].likelihood == "likely":
            # What a message may mean elsewhere is of no use where something explains it.
            top = ranked[0]
            ranked = [
                one
                for one in ranked
                if one.likelihood == "likely" or one.rank[0] < 2 or (one.family and one.family == top.family)
            ]
            if top.is_proved:
                # Beside what the log proves, a cause of which something is open only distracts.
                ranked = [one for one in ranked if one is top or one.rank[1] == 0]
            if top.rank[0] == 0:
                ranked = [one for one in ranked if one.likelihood == "likely" or one.rank[0] < 2]
        ranked.sort(key=lambda one: one.likelihood != "likely")
        particular = [one for one in ranked if one.rank[1] < _GENERAL]
        return [*particular, *(one for one in ranked if one.rank[1] >= _GENERAL)][: max(_FEW, len(particular))][:_MOST]

    # -- what is not the cause ------------------------------------------------------------------------------------

    def _not_the_cause(
        self, ranked: list[Diagnosed], found: list[tuple[Cause, Match]], excluded: list[tuple[Cause, Match]]
    ) -> list[NotTheCause]:
        told = [
            NotTheCause(myth.claim, myth.why)
            for myth in myths()
            if (fit := match(myth.symptom, self.context)) is not None and not fit.against
            and not fit.open
        ]  # fmt: skip
        families = {fit.symptom.family or cause.family for cause, fit in found} - {""}
        for cause, fit in excluded:
            if (fit.symptom.family or cause.family) in families and all(cause.code != one.code for one in ranked):
                told.append(NotTheCause(fit.symptom.note or cause.title, sentence(capital(fit.against))))
        return told[:6]

    def _dated(self) -> str:
        if self.wording is None or not self.wording.spans or len(self.wording.spans) > 3:
            return ""
        newest = api.releases(self.wording.package)
        if self.wording.spans == ((newest[0], newest[-1]),):
            return ""
        return self.wording.sentence

    # -- evidence -------------------------------------------------------------------------------------------------

    def _failure_line(self) -> Evidence:
        failure = self.failure
        assert failure is not None
        text = failure.main.text.partition("\n")[0]
        return Evidence(self.path, failure.main.number or failure.number, text[:200])

    def _evidence(self, place: Place) -> Evidence:
        return Evidence(place.path, place.line, place.text)


def _codes_of(drift: Drift) -> tuple[tuple[str, bool], ...]:
    """The causes of what a release has not, each with whether it is sure."""
    own = RULES[drift.kind]
    if drift.is_somebodys:  # the project may be who asks
        return ((_PAIR, True), (own, False))
    return ((_PAIR if drift.is_of_a_pair else own, drift.is_sure),)


def _nothing() -> Failure:
    """A failure of which nothing is known."""
    failure = Failure(0, None, "", 0)
    failure.parts.append(Part())
    return failure
