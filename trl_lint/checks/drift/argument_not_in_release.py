"""TRL301: a keyword argument that the releases in use do not take."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from trl_lint.checks.drift._arity import misfit
from trl_lint.checks.drift._calls import (
    accepts,
    all_arguments,
    calls_like_known,
    calls_of_others,
    is_absent,
    judged_calls,
    may_hand_on,
    may_replace,
    signature_of,
)
from trl_lint.checks.drift._classes import Argument, Callee
from trl_lint.checks.drift._past import Past, read_past
from trl_lint.checks.drift._wording import argument_meant, did_you_mean, sentence, word_gone
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, Verdict, judge
from trl_lint.coverage import Answer, Judged, Reason
from trl_lint.finding import Finding, Severity
from trl_lint.grading import is_milder
from trl_lint.knowledge.histories import is_word_of
from trl_lint.knowledge.presence import points_of_parameter
from trl_lint.project.stack import PACKAGES, Choices
from trl_lint.python.module import PythonModule
from trl_lint.python.version_guards import is_guarded
from trl_lint.records import NamedTuple

if TYPE_CHECKING:
    from trl_lint.project import Project
    from trl_lint.project.documents import Document
    from trl_lint.project.launches import Launch


class Lack(NamedTuple):
    """An argument that releases in use do not take. `newest`: see `Choices.newest`."""

    verdict: Verdict
    past: Past | None
    newest: dict[str, str]


class ArgumentNotInRelease(Rule):
    code = "TRL301"
    imports = (*PACKAGES, "datasets")
    fences = True
    documents = ("other",)
    holding = ("script_fields",)
    launches = True
    counts = True

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        if may_hand_on(module):
            from trl_lint.checks.drift._loading import findings

            yield from findings(self, module, project, is_gone=True)
        told: set[tuple[str, str]] = set()
        others = set(calls_like_known(module))
        calls = judged_calls(module, project)
        if calls_of_others(module):
            from trl_lint.checks.drift._derived import inherited_calls

            calls = chain(calls, inherited_calls(module, project))
        anew: set[ast.Call] = set()
        if may_replace(module):
            from trl_lint.checks.drift._replaced import replaced_calls

            replaced = list(replaced_calls(module, project))
            anew, calls = {call for call, _, _ in replaced}, chain(calls, replaced)
        copies: set[ast.Call] = set()
        for call, callee, known in calls:
            found = [
                finding
                for argument in all_arguments(call, module, project)
                if argument.name not in callee.own
                and (finding := self._judge(call, callee, argument, known, module, project, told, copies)) is not None
            ]
            # A keyword that nothing replaces tells enough about a call for another release.
            if call not in anew and not any(one.fix is None for one in found):
                found += self._check_arity(call, callee, known, module, project)
            yield from _whole_or_none(found)
            if (
                call in others
                and callee.package in known
                and signature_of(callee.dotted, known.newest((callee.package,)))
            ):
                others.discard(call)
        if others or copies:
            yield from self._check_own({*others, *copies}, module, project)
        if "BitsAndBytesConfig" in module.text:
            from trl_lint.checks.drift._swallowed import swallowed

            yield from swallowed(module, project, self)

    def _check_own(self, calls: set[ast.Call], module: PythonModule, project: Project) -> Iterator[Finding]:
        """What the configs and trainers of the project itself do not take."""
        from trl_lint.checks.drift._own_classes import misfits

        for call, own, argument in misfits((call for call in module.calls if call in calls), module, project):
            if is_guarded(module, call, is_narrowed=True):
                continue
            message = sentence(
                f"`{own.cls.name}` has no argument `{argument.name}`", did_you_mean(argument.name, own.takes or ()), ""
            )
            declared = own.home.location(own.cls)._replace(message="the project defines it here")
            part_of = None if argument.home is not None else module.location(call)
            yield self.finding(argument.place(module), message, related=(declared,), part_of=part_of)

    def _check_arity(
        self, call: ast.Call, callee: Callee, known: Choices, module: PythonModule, project: Project
    ) -> Iterator[Finding]:
        found = misfit(call, callee, known, module, self)
        if found is None or is_guarded(module, call, is_narrowed=True):
            return
        from trl_lint.project.own_copy import is_shadowed

        if not is_shadowed(known[callee.package], module.path, project, callee.name):
            place = module.location(found.node)
            verdict = found.verdict
            yield self.finding(
                place, found.message, severity=verdict.severity, related=verdict.related, pin=verdict.pin
            )

    def check_document(self, document: Document, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.drift._options import judge_all, parsers_of_document, word_unknown

        if document.mapping is None:
            return
        parsers, is_linked = parsers_of_document(document, project)
        level = Level(self, not is_linked, of_code=False)
        for entry in document.mapping.entries if parsers else ():
            name = entry.key.value
            if not isinstance(name, str) or name == "<<":  # no key of its own: it takes in others
                continue
            unknown = judge_all(name, "keys", parsers, level, project)
            # Which script a recipe is for may be known by nothing but its keys: then one that never was is no evidence.
            if unknown is None or (not is_linked and unknown.past is None):
                continue
            from trl_lint.checks.drift._option_fixes import edit_key

            yield self.finding(
                document.source.location(entry.key.start, entry.key.end),
                word_unknown(name, "keys", unknown, is_linked),
                severity=unknown.verdict.severity,
                related=unknown.related,
                fix=edit_key(entry, unknown.readers, is_linked, document, project),
                pin=unknown.verdict.pin,
            )

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.drift._options import flags_of, judge_all, parsers_of_launch, word_unknown

        parsers = parsers_of_launch(launch, project)
        level = Level(self, launch.is_mild, of_code=False)
        flags = list(flags_of(launch)) if parsers else []
        for name, word in flags:
            unknown = judge_all(name, "flags", parsers, level, project)
            if unknown is not None:
                from trl_lint.checks.drift._option_fixes import edit_flag

                yield self.finding(
                    launch.place_of(word, f"--{name}"),
                    word_unknown(name, "flags", unknown),
                    severity=unknown.verdict.severity,
                    related=unknown.related,
                    fix=edit_flag(name, word, (other for other, _ in flags), unknown.readers, launch, project),
                    pin=unknown.verdict.pin,
                )

    def knows_launch(self, launch: Launch, project: Project) -> Answer:
        from trl_lint.checks.drift._understood import knows_launch

        return knows_launch(launch, project)

    def knows_document(self, document: Document, project: Project) -> Answer:
        from trl_lint.checks.drift._understood import knows_document

        return knows_document(document, project)

    def known_calls(self, module: PythonModule, project: Project) -> Iterator[tuple[ast.Call, str, Judged | Reason]]:
        from trl_lint.checks.drift._known_objects import known_calls

        return known_calls(module, project, self._lack)

    def _judge(
        self,
        call: ast.Call,
        callee: Callee,
        argument: Argument,
        known: Choices,
        module: PythonModule,
        project: Project,
        told: set[tuple[str, str]],
        copies: set[ast.Call],
    ) -> Finding | None:
        dotted, name = callee.dotted, argument.name
        if callee.package not in known:
            return None
        lack = known.remembered((self.code, dotted, name), lambda: self._lack(dotted, name, known, self))
        if lack is None or is_guarded(module, call, is_narrowed=True):
            return None
        verdict = lack.verdict
        from trl_lint.project.own_copy import is_shadowed

        if is_shadowed(known[callee.package], module.path, project, callee.name, name):
            copies.add(call)
            return None
        if verdict.only_old:  # a floor that is too low: one sentence about it in a file is enough
            if (name, verdict.scope) in told:
                return None
            told.add((name, verdict.scope))
        from trl_lint.checks.drift._config_class import edit_elsewhere
        from trl_lint.checks.drift._moves import edit_move, edit_rename
        from trl_lint.checks.drift._remedies import edit_left_out

        return self.finding(
            argument.place(module),
            word(callee, name, verdict, lack.past, lack.newest),
            severity=verdict.severity,
            related=verdict.related,
            fix=None
            if argument.home is not None
            else edit_rename(call, argument, lack.past, dotted, known, module)
            or edit_move(call, argument, callee, lack.past, known, module)
            or edit_elsewhere(call, argument, callee, lack.past, known, module)
            or edit_left_out(call, argument, callee, lack.past, lack.newest, module),
            part_of=None if argument.home is not None else module.location(call),
            pin=verdict.pin,
        )

    def _lack(self, dotted: str, name: str, known: Choices, level: Rule | Severity) -> Lack | None:
        """What is to be said about an argument wherever it is passed in this environment; None if it is fine."""
        points = points_of_parameter(dotted, name)
        newest = known.newest(points)
        there = accepts(dotted, name, newest)
        if there is None:
            return None
        past = None if there else read_past(dotted, name, newest)
        named = past.elsewhere.package if past is not None else dotted.partition(".")[0]
        ask = partial(accepts, dotted, name)
        is_word = any(is_word_of(package, name) for package in points)
        verdict = judge(
            known, points, ask, level, named, is_without=partial(is_absent, dotted), may_be_forked=not is_word
        )
        return None if verdict is None else Lack(verdict, past, newest)


def word(callee: Callee, name: str, verdict: Verdict, past: Past | None, newest: dict[str, str]) -> str:
    """Say since when the releases in use lack the argument, and what takes its place."""
    found = past.elsewhere if past is not None else None
    return word_gone(verdict, found, "argument", name, callee.title, _remedy(callee, name, past, newest))


def _remedy(callee: Callee, name: str, past: Past | None, newest: dict[str, str]) -> str:
    from trl_lint.checks.drift._remedies import remedy_of_keyword

    if remedy := remedy_of_keyword(callee, name, past.successor if past is not None else "", newest):
        return remedy
    found = signature_of(callee.dotted, newest) if past is None else None
    if found is None:
        return ""
    from trl_lint.knowledge.renames import renames

    # What its siblings once had is a word that their users know: GRPOTrainer never took `tokenizer`.
    known = {row.new for row in renames() if row.package == callee.package and row.old == name}
    renamed = sorted(known.intersection(found.parameters))
    if len(renamed) == 1:
        return f"did you mean `{renamed[0]}`?"
    return argument_meant(name, found.parameters.keys(), [callee.dotted], newest)


def _whole_or_none(found: list[Finding]) -> Iterator[Finding]:
    """What is found in one call, with fixes where they migrate all of it: half of one is a call for no release."""
    unfixed = {one.severity: at for at, one in reversed([*enumerate(found)]) if one.fix is None}  # first of each level
    for finding in found:
        left = [at for severity, at in unfixed.items() if not is_milder(severity, finding.severity)]
        if finding.fix is not None and left:
            why = found[min(left)].location._replace(message="the call is left as it is: this has no fix")
            finding = finding._replace(fix=None, related=(*finding.related, why))
        yield finding


rule = ArgumentNotInRelease()
