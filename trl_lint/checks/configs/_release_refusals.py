"""What a release says in its own code that it refuses, read for the values of a run (`rules/conditions`).

A refusal is told where the values that decide it are known and somebody wrote one of them. What a row written by hand
or another rule tells already is left to them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from trl_lint.checks._phrases import either, places
from trl_lint.checks.configs._run_world import RunWorld
from trl_lint.checks.verdict import Level, Verdict, judge_releases
from trl_lint.knowledge.condition_language import parse, truth_of
from trl_lint.knowledge.conditions import has_conditions
from trl_lint.knowledge.conditions_join import Statement, statements
from trl_lint.knowledge.contradictions import contradictions
from trl_lint.knowledge.ranges import holds
from trl_lint.memos import per_project
from trl_lint.project.effective import Setting
from trl_lint.project.parsers import fields_of
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

if TYPE_CHECKING:
    from trl_lint.checks.rule import Rule
    from trl_lint.finding import Location, Severity
    from trl_lint.project import Project
    from trl_lint.project.runs import Run
    from trl_lint.project.stack import Choice

_PACKAGES = ("trl", "transformers")
_NAMES = regex(r"[A-Za-z_]\w*")
_MOST_VALUES = 12  # that a message lists
_MOST_RELEASES = 200  # of a package; there are not that many


class Refusal(NamedTuple):
    """A refusal that holds for the run: where, in which words, how severe, and the other places that it rests on.

    `code`: TRL402 where one value decides, TRL403 where several do.
    """

    code: str
    location: Location
    message: str
    severity: Severity
    related: tuple[Location, ...]


Refusing = dict[str, Statement]
"""One refusal by release: the statement that holds there."""


def refusals_in(run: Run, rule: Rule) -> Iterator[Refusal]:
    """What the releases in use refuse of the values of a run, as far as it belongs to the rule."""
    for chosen, found in _refusing(run, run.project):
        refusal = _refusal(run, rule, chosen, found)
        if refusal is not None and refusal.code == rule.code:
            yield refusal


@per_project
def _refusing(run: Run, project: Project) -> list[tuple[Choice, Refusing]]:
    """The statements that refuse the run, worked out once for the rules that tell of them.

    They refer to the run: kept with it, they would keep each other.
    """
    return list(_read_refusing(run))


def _read_refusing(run: Run) -> Iterator[tuple[Choice, Refusing]]:
    package, name = run.config.partition(".")[0], run.config.rpartition(".")[2]
    if package not in _PACKAGES or not has_conditions(package, name) or _is_changed(run):
        return
    for asked in _PACKAGES:
        if asked in run.choices and (asked == package or package in run.choices):
            for found in _of_package(run, package, name, asked):
                yield run.choices[asked], found


def _is_changed(run: Run) -> bool:
    """Whether a class of the project stands between, which may repair what the library's would refuse."""
    if run.parser is not None:
        return run.parser.fields.is_changed
    script = run.script
    if script is None or script.call is None:
        return True
    fields = fields_of(script.call.func, script.module, run.project)
    return fields is None or fields.is_changed


def _of_package(run: Run, package: str, name: str, asked: str) -> Iterator[Refusing]:
    """The refusals by one package, whose releases vary while the others are at their newest."""
    chosen = run.choices[asked]
    if chosen.is_tip or len(chosen.releases) > _MOST_RELEASES:
        return  # the main branch may have changed its mind
    others = run.choices.newest(_PACKAGES)
    bad: dict[tuple[str, str], Refusing] = {}
    is_about = _asker(run)
    for version in chosen.releases:
        versions = {**others, asked: version}
        for statement in statements(package, name, versions, RunWorld(run, run.config, versions)):
            said = statement.condition
            if said.kind != "refuse" or statement.package != asked or not is_about(said.condition):
                continue
            if truth_of(said.condition, statement.world) is True:
                bad.setdefault((said.holder, said.sentence), {})[version] = statement
    yield from bad.values()


def _asker(run: Run) -> Callable[[str], bool]:
    """Whether a condition mentions a field that somebody wrote: asked of the same few hundred for every release."""
    written: dict[str, bool] = {}
    known: dict[str, bool] = {}

    def is_written(name: str) -> bool:
        if name not in written:
            said = run.field(name)
            written[name] = isinstance(said, Setting) and said.location is not None
        return written[name]

    def is_about(condition: str) -> bool:
        if condition not in known:
            known[condition] = any(map(is_written, _names_of(condition)))
        return known[condition]

    return is_about


@lru_cache(maxsize=4096)
def _names_of(condition: str) -> frozenset[str]:
    return frozenset(_NAMES.findall(condition))


def _refusal(run: Run, rule: Rule, chosen: Choice, found: Refusing) -> Refusal | None:
    from trl_lint.knowledge.condition_names import deciding
    from trl_lint.knowledge.told_elsewhere import is_told_elsewhere

    of_code = run.script is not None and run.script.call is not None
    level = Level(rule, run.launch.is_documentation, of_code)
    verdict = judge_releases(chosen, lambda version: version in found, level)
    if verdict is None:
        return None
    statement = found[verdict.version]
    sentence = statement.condition.sentence
    if is_told_elsewhere(sentence, run.config) or _has_row(run, chosen, sentence):
        return None
    versions = {**run.choices.newest(_PACKAGES), chosen.package.name: verdict.version}
    world = RunWorld(run, run.config, versions)
    names = statement.world.rests_on(deciding(statement.condition.condition, statement.world))
    order = {name: number for number, name in enumerate(_NAMES.findall(statement.condition.condition))}
    fields = sorted((name for name in names if "." not in name and "(" not in name), key=lambda n: (order.get(n, 0), n))
    settings = [(field, said) for field in fields if isinstance(said := world.setting(field), Setting)]
    written = [(field, said) for field, said in settings if said.location is not None]
    if not written or any(world.is_doubtful(field) for field in fields):
        return None
    # A switch says less about what is wrong than the value that it makes count.
    place = next((said for _, said in written if not isinstance(said.value, bool)), written[0][1]).location
    assert place is not None
    where = (run.launch.location._replace(message="the run"),) if run.launch.launcher else ()
    return Refusal(
        "TRL402" if len(names) == 1 else "TRL403",
        place,
        _worded(chosen.package.name, verdict, statement, settings),
        verdict.severity,
        (*places((field, said) for field, said in written if said.location != place), *where, *verdict.related),
    )


def _has_row(run: Run, chosen: Choice, sentence: str) -> bool:
    """Whether a row of contradictions.toml tells of the same message for a release in use."""
    from trl_lint.knowledge.told_elsewhere import plain

    said = plain(sentence).partition(": ")[2]
    return any(
        row.raises and said.startswith(plain(row.raises)) and any(holds(row.releases, v) for v in chosen.releases)
        for row in contradictions(run.config)
    )


def _worded(package: str, verdict: Verdict, statement: Statement, settings: list[tuple[str, Setting]]) -> str:
    """The release's own sentence with the values of the run, and the values that are not in it."""
    sentence = statement.condition.sentence
    _, _, text = sentence.partition(": ")
    values = {field: f"{said.value}" for field, said in settings}
    told = ", ".join(
        f"`{field}` is {said.value}" + (" by default" if said.location is None else "") for field, said in settings
    )
    if len(settings) == 1 and text.startswith("{} is not a valid"):
        values[""] = f"{settings[0][1].value}"  # an enum says nothing else
    kind = sentence.partition(":")[0]
    shown = filled(text, values).rstrip(".")
    quoted = f'{kind}: "{shown}"' if shown else kind
    known = _allowed(statement.condition.condition)
    advice = f"; choose {known}" if known else ""
    return f"{package} {verdict.version} refuses this: {told}{advice} ({quoted}; {verdict.scope})"


def _allowed(condition: str) -> str:
    """The values that a condition asks for, where it is nothing but `field not in (…)`; else ""."""
    tree = parse(condition)
    if not isinstance(tree, ast.Compare) or not isinstance(tree.ops[0], ast.NotIn):
        return ""
    items = tree.comparators[0]
    if not isinstance(tree.left, (ast.Name, ast.Attribute)) or not isinstance(items, (ast.Tuple, ast.List, ast.Set)):
        return ""
    values = [str(item.value) for item in items.elts if isinstance(item, ast.Constant)]
    return either(f"`{value}`" for value in values[:_MOST_VALUES]) if len(values) == len(items.elts) else ""


def filled(text: str, values: dict[str, str]) -> str:
    """A sentence with what is known of its values; `…` for the others."""
    found = []
    for part in _PARTS.split(text.replace("{{", "\x01").replace("}}", "\x02")):
        if part.startswith("{") and part.endswith("}"):
            found.append(values.get(part[1:-1], "…"))
        else:
            found.append(part)
    return "".join(found).replace("\x01", "{").replace("\x02", "}")


_PARTS = regex(r"(\{\w*\})")
