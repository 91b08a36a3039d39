"""TRL303: an argument, a class or a function that the releases in use have deprecated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Literal

from trl_lint.checks.drift._calls import (
    accepts,
    all_arguments,
    calls_of_others,
    judged_calls,
    may_hand_on,
    may_replace,
    parameter,
    signature_of,
)
from trl_lint.checks.drift._classes import Argument, Callee, imported_names
from trl_lint.checks.drift._past import Elsewhere, Past
from trl_lint.checks.drift._wording import sentence
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import basis_of
from trl_lint.finding import Finding, Fix, Location
from trl_lint.knowledge.api import deprecation, resolve
from trl_lint.knowledge.histories import positions, releases
from trl_lint.knowledge.presence import intervals, points_of_name, points_of_parameter
from trl_lint.knowledge.releases import days
from trl_lint.knowledge.signatures import Parameter
from trl_lint.missing import ABSENT, Missing
from trl_lint.project import Project
from trl_lint.project.stack import PACKAGES, Choice, Choices, choices_at
from trl_lint.python.module import PythonModule
from trl_lint.python.version_guards import is_guarded
from trl_lint.records import NamedTuple
from trl_lint.sources.nodes import Scalar

if TYPE_CHECKING:
    from trl_lint.project.documents import Document
    from trl_lint.project.launches import Launch
    from trl_lint.run.parsers import ScriptParser


class Announced(NamedTuple):
    """What a release says of an argument: `package` deprecated it with `since`, and lacks it from `gone` on, if any.

    `successor`: what to use instead, `is_rename`: with the same value. `newest`: see `Choices.newest`.
    """

    package: str
    since: str
    gone: str
    successor: str
    is_rename: bool
    newest: dict[str, str]

    @property
    def past(self) -> Past:
        """The same for those who give an argument its new name."""
        return Past(Elsewhere(self.package, (), ""), self.successor, self.is_rename)

    def happened(self, what: str, owner: str) -> str:
        """The first part of a message; `what`: the argument, the key or the flag as it is written."""
        then = f", and {self.package} {self.gone} removed it" if self.gone else ""
        return f"{self.package} {self.since} deprecated {what} of `{owner}`{then}"


class DeprecatedInRelease(Rule):
    code = "TRL303"
    imports = (*PACKAGES, "datasets")
    fences = True
    documents = ("other",)
    holding = ("script_fields",)
    launches = True

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        yield from self._check_names(module, project)
        if may_hand_on(module):
            from trl_lint.checks.drift._loading import findings

            yield from findings(self, module, project, is_gone=False)
        calls = judged_calls(module, project)
        if calls_of_others(module):
            from trl_lint.checks.drift._derived import inherited_calls

            calls = chain(calls, inherited_calls(module, project))
        if may_replace(module):
            from trl_lint.checks.drift._replaced import replaced_calls

            calls = chain(calls, replaced_calls(module, project))
        for call, callee, known in calls:
            for argument in all_arguments(call, module, project):
                if argument.name in callee.own or is_nothing(argument):
                    continue
                if callee.package in known:
                    finding = self._judge(call, callee, argument, known, module, project)
                    if finding is not None:
                        yield finding

    def _judge(
        self,
        call: ast.Call,
        callee: Callee,
        argument: Argument,
        known: Choices,
        module: PythonModule,
        project: Project,
    ) -> Finding | None:
        dotted, name = callee.dotted, argument.name
        found = announced_of(dotted, name, known)
        if found is None or not is_ours(known[callee.package], module, call, project):
            return None
        from trl_lint.checks.drift._moves import edit_rename
        from trl_lint.checks.drift._remedies import remedy_of_keyword

        remedy = remedy_of_keyword(callee, name, found.successor, found.newest)
        message = sentence(found.happened(f"`{name}`", callee.title), remedy, basis_of(known[found.package]))

        return self.finding(
            argument.place(module),
            message,
            related=known[found.package].package.places,
            fix=None if argument.home is not None else edit_rename(call, argument, found.past, dotted, known, module),
        )

    def check_document(self, document: Document, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.drift._options import parsers_of_document

        if document.mapping is None:
            return
        parsers, is_linked = parsers_of_document(document, project)
        for entry in document.mapping.entries if parsers else ():
            is_null = isinstance(entry.value, Scalar) and entry.value.value is None
            if isinstance(entry.key.value, str) and not is_null:
                from trl_lint.checks.drift._option_fixes import edit_key

                place = document.source.location(entry.key.start, entry.key.end)
                edit = partial(edit_key, entry, is_linked=is_linked, document=document, project=project)
                yield from self._judge_option(entry.key.value, "keys", parsers, place, edit, project)

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.drift._options import flags_of, parsers_of_launch

        parsers = parsers_of_launch(launch, project)
        flags = list(flags_of(launch)) if parsers else []
        given = [name for name, _ in flags]
        for name, word in flags:
            from trl_lint.checks.drift._option_fixes import edit_flag

            place = launch.place_of(word, f"--{name}")
            edit = partial(edit_flag, name, word, given, launch=launch, project=project)
            yield from self._judge_option(name, "flags", parsers, place, edit, project)

    def _judge_option(
        self,
        name: str,
        where: Literal["keys", "flags"],
        parsers: Sequence[ScriptParser],
        place: Location,
        edit: Callable[..., Fix | None],
        project: Project,
    ) -> Iterator[Finding]:
        """A key or a flag that every parser takes which may be meant, and each of them from a deprecated argument."""
        found = [option for parser in parsers if (option := _announced_option(name, parser, project)) is not None]
        if not found or len(found) != len(parsers):
            return
        dotted, announced, known = found[0]
        from trl_lint.knowledge.remedies import remedy_of_argument, use_instead, with_own_of_argument

        shown, dashes = ("key", "") if where == "keys" else ("flag", "--")
        remedy = remedy_of_argument(dotted, name, announced.newest)
        if announced.successor:
            remedy = use_instead(dotted, name, announced.successor, remedy, dashes)
        remedy = with_own_of_argument(remedy, dotted, name, announced.newest)
        happened = announced.happened(f"the {shown} `{dashes}{name}`", dotted.rpartition(".")[2])
        chosen = known[announced.package]
        message = sentence(happened, remedy, basis_of(chosen))
        from trl_lint.checks.drift._option_fixes import Reader

        readers = [
            Reader(parser, one.past, owner, one.newest) for parser, (owner, one, _) in zip(parsers, found, strict=True)
        ]
        yield self.finding(place, message, related=chosen.package.places, fix=edit(readers=readers))

    def _check_names(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        for use in imported_names(module):
            package = use.dotted.partition(".")[0]
            known = choices_at(module, use.node, project, package)
            chosen = known.get(package) if known is not None else None
            found = resolve(use.dotted, {package: chosen.newest}) if chosen is not None else ""
            if chosen is None or isinstance(found, Missing) or not found or found.endswith(":"):
                continue
            announced = deprecation(found, chosen.newest)
            if not announced or not is_ours(chosen, module, use.node, project):
                continue
            home, _, name = use.dotted.rpartition(".")
            dotted = announced.replace(":", ".")
            successor = existing(dotted, home, {package: chosen.newest}) if announced != "?" else ""
            points = points_of_name(use.dotted)
            if is_taken_back(package, chosen.newest, points, partial(_announces_name, use.dotted, package)):
                continue
            gone = gone_in(package, chosen.newest, points, partial(_is_there, use.dotted, package))
            then = f", and {package} {gone} removed it" if gone else ""
            from trl_lint.knowledge.remedies import remedy_of_name, with_own_of_name

            versions = {package: chosen.newest}
            remedy = remedy_of_name(home, name, versions) or (f"use `{successor}`" if successor else "")
            remedy = with_own_of_name(remedy, home, name, versions)
            message = sentence(f"`{name}` of `{home}` is deprecated{then}", remedy, basis_of(chosen))
            from trl_lint.checks.drift._imports import edit_deprecated_import
            from trl_lint.checks.drift._renamed_names import edit_renamed

            fix = edit_deprecated_import(use.node, use.dotted, chosen, module) or edit_renamed(
                use.node, use.dotted, chosen, module, project
            )
            yield self.finding(module.location(use.place), message, related=chosen.package.places, fix=fix)


def announced_of(dotted: str, name: str, known: Choices) -> Announced | None:
    """What the releases in use have announced of an argument; None where nothing, or it was taken back later."""
    found = known.remembered(("TRL303", dotted, name), lambda: read_deprecated(dotted, name, known))
    if found is None:
        return None
    points = points_of_parameter(dotted, name)
    newest = known.newest(points)
    package, since = deprecated_since(dotted, name, newest, points)
    if is_taken_back(package, newest[package], points, partial(_announces, dotted, name, newest, package)):
        return None
    gone = gone_in(package, newest[package], points, partial(_accepts, dotted, name, newest, package))
    return Announced(package, since, gone, found.successor, found.is_rename, newest)


def _announced_option(name: str, parser: ScriptParser, project: Project) -> tuple[str, Announced, Choices] | None:
    """What is announced of the one field that a key or a flag sets, and the class that has it."""
    if name in parser.fields.own or name in parser.flags:
        return None
    known = project.environment(parser.path).choices
    for dotted in parser.fields.bases:
        package = dotted.partition(".")[0]
        if (
            package not in known
            or known[package].package.is_own
            or not accepts(dotted, name, known.newest(points_of_parameter(dotted, name)))
        ):
            continue
        found = announced_of(dotted, name, known)
        return (dotted, found, known) if found is not None else None
    return None


def read_deprecated(dotted: str, name: str, known: Choices) -> Parameter | None:
    """An argument that the newest releases in use have deprecated, None for any other one."""
    found = parameter(dotted, name, known.newest(points_of_parameter(dotted, name)))
    return found if found is not None and found.deprecated else None


def is_nothing(argument: Argument) -> bool:
    """Whether a keyword passes None, the default of nearly everything that is deprecated."""
    value = argument.node.value if isinstance(argument.node, ast.keyword) else None
    return isinstance(value, ast.Constant) and value.value is None


def is_ours(chosen: Choice, module: PythonModule, node: ast.AST, project: Project) -> bool:
    """Whether the deprecation is for this file to act on: it is not in the package itself, and not on purpose."""
    if chosen.package.is_own or is_guarded(module, node, is_narrowed=True):
        return False
    from trl_lint.project.own_copy import is_shadowed

    return not is_shadowed(chosen, module.path, project, chosen.package.name)


def deprecated_since(
    dotted: str, name: str, newest: dict[str, str], points: Mapping[str, frozenset[int]]
) -> tuple[str, str]:
    """The package whose releases deprecated a parameter, and the first of them in a row.

    It is the one that had it before without a word; of several that did, the one whose release came last, because it
    takes all of them. Where each of them had it deprecated when it came, it is the owner.
    """
    packages = sorted(newest, key=lambda package: package != dotted.partition(".")[0])
    turned: list[tuple[str, str]] = []
    came: list[tuple[str, str]] = []
    for package in packages:
        known = releases(package)[: positions(package)[newest[package]] + 1]
        since = ""
        for interval in reversed(intervals(package, known, points.get(package, frozenset()))):
            found = parameter(dotted, name, {**newest, package: interval[-1]})
            if found is not None and not found.deprecated:
                turned.append((package, since))
                break
            if found is None:
                if signature_of(dotted, {**newest, package: interval[-1]}) is not None:
                    came.append((package, since))
                break
            since = interval[0]
    if turned:
        return max(turned, key=lambda one: days(one[0]).get(one[1], ""))
    return came[0] if came else (packages[0], releases(packages[0])[0])


def gone_in(
    package: str, version: str, points: Mapping[str, frozenset[int]], is_there: Callable[[str], bool | None]
) -> str:
    """The first release after `version` that lacks it, "" if none is known to."""
    later = releases(package)[positions(package)[version] + 1 :]
    for interval in intervals(package, later, points.get(package, frozenset())):
        if is_there(interval[-1]) is False:
            return interval[0]
    return ""


def is_taken_back(
    package: str, version: str, points: Mapping[str, frozenset[int]], announces: Callable[[str], bool | None]
) -> bool:
    """Whether the newest release has it without a word of deprecation, and none since `version` lacks it.

    TRL 0.26 announced that KTOTrainer moves to trl.experimental, and 1.8 took that back: who followed moved twice.
    `announces`: whether a release deprecates it, None if it is not there.
    """
    later = releases(package)[positions(package)[version] + 1 :]
    announced = [announces(interval[-1]) for interval in intervals(package, later, points.get(package, frozenset()))]
    return None not in announced and announced[-1:] == [False]


def _announces(dotted: str, name: str, newest: dict[str, str], package: str, version: str) -> bool | None:
    found = parameter(dotted, name, {**newest, package: version})
    return None if found is None else found.deprecated


def _announces_name(dotted: str, package: str, version: str) -> bool | None:
    found = resolve(dotted, {package: version})
    return None if isinstance(found, Missing) else bool(deprecation(found, version))


def _accepts(dotted: str, name: str, newest: dict[str, str], package: str, version: str) -> bool | None:
    return accepts(dotted, name, {**newest, package: version})


def _is_there(dotted: str, package: str, version: str) -> bool:
    return resolve(dotted, {package: version}) is not ABSENT


def existing(dotted: str, home: str, versions: dict[str, str]) -> str:
    """A successor as it can be imported: `trl.experimental.ppo.PPOTrainer`, or a name beside the old one."""
    if dotted.partition(".")[0] in versions and resolve(dotted, versions):
        return dotted
    return dotted if "." not in dotted and resolve(f"{home}.{dotted}", versions) else ""


rule = DeprecatedInRelease()
