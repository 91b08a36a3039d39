"""What a release says in its own code that it refuses, told of the values of a run (`rules/conditions`).

A refusal is told where the values that decide it are known and somebody wrote one of them. What a row written by hand
or another rule tells already is left to them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.checks.configs._release_says import WARNING, Refusal, Said, said_of, said_of_configs, started_at
from trl_lint.checks.verdict import Level, Verdict, judge_releases
from trl_lint.knowledge.condition_language import parse, raised_by
from trl_lint.knowledge.contradictions import contradictions
from trl_lint.knowledge.ranges import holds

if TYPE_CHECKING:
    from trl_lint.checks.configs._deciding import Deciding
    from trl_lint.checks.rule import Rule
    from trl_lint.finding import Location
    from trl_lint.run.runs import Run

_MOST_VALUES = 12  # that a message lists


def stated_in(run: Run, rule: Rule, told: set[Location | None]) -> Iterator[Refusal]:
    """What the releases in use refuse or warn about in the values of a run, as far as it belongs to the rule.

    `told`: the places of which the rule has told already. Configs that the script builds besides are judged each.
    """
    for each, said in ((run, said_of(run)), *said_of_configs(run)):
        refused = [one for one in _refusals(each, rule, said) if one.location not in told]
        yield from refused
        told = told | {one.location for one in refused}
        if any(map(_is_warning, said)):
            from trl_lint.checks.configs._release_warnings import warnings_in

            warned = [one for one in warnings_in(each, rule, said) if one.location not in told]
            yield from warned
            told = told | {one.location for one in warned}


def _is_warning(said: Said) -> bool:
    return next(iter(said.releases.values())).condition.kind in WARNING


def refusals_in(run: Run, rule: Rule) -> Iterator[Refusal]:
    """What the releases in use refuse of the values of a run, as far as it belongs to the rule.

    Where a config is not even made, no trainer says anything of the same value.
    """
    return _refusals(run, rule, said_of(run))


def _refusals(run: Run, rule: Rule, every: list[Said]) -> Iterator[Refusal]:
    known = [(said, _refusal(run, rule, said)) for said in every if not _is_warning(said)]
    found = [(said, refusal) for said, refusal in known if refusal is not None]
    made = {refusal.location for said, refusal in found if not said.speaker.is_trainer}
    worded = {refusal.location for _, refusal in found if not refusal.raises}
    for said, refusal in found:
        if refusal.raises:
            if refusal.location in worded:
                continue  # the release has words of its own for such a value, or this was told
            worded.add(refusal.location)
        if refusal.code == rule.code and not (said.speaker.is_trainer and refusal.location in made):
            yield refusal


def _refusal(run: Run, rule: Rule, said: Said) -> Refusal | None:
    from trl_lint.checks.configs._deciding import deciding_values
    from trl_lint.knowledge.told_elsewhere import is_told_elsewhere
    from trl_lint.knowledge.topics import topic_of

    of_code = said.speaker.given is not None or (run.script is not None and run.script.call is not None)
    level = Level(rule, run.launch.is_documentation, of_code)
    verdict = judge_releases(said.chosen, lambda version: version in said.releases, level)
    if verdict is None:
        return None
    statement = said.releases[verdict.version]
    sentence = statement.condition.sentence
    raises = raised_by(statement.condition.condition, statement.world)
    if not raises and (is_told_elsewhere(sentence, run.arguments_class) or _has_row(run, said, sentence)):
        return None
    values = deciding_values(said.world(run, verdict.version), statement, is_typed=bool(raises))
    if values is None:
        return None
    return Refusal(
        topic_of(values.names) or ("TRL402" if len(values.names) == 1 else "TRL403"),
        values.location,
        _failing(said.chosen.package.name, verdict, raises, values)
        if raises
        else _worded(said.chosen.package.name, verdict, statement.condition.condition, sentence, values),
        verdict.severity,
        (*values.related, *started_at(run), *verdict.related),
        bool(raises),
    )


def _has_row(run: Run, said: Said, sentence: str) -> bool:
    """Whether a row of contradictions.toml tells of the same message for a release in use."""
    from trl_lint.knowledge.told_elsewhere import plain

    text = plain(sentence).partition(": ")[2]
    return any(
        row.raises
        and text.startswith(plain(row.raises))
        and any(holds(row.releases, version) for version in said.chosen.releases)
        for row in contradictions(run.arguments_class)
    )


def _failing(package: str, verdict: Verdict, raises: str, values: Deciding) -> str:
    """What Python says where the release's check of the values raises by itself."""
    return f"{package} {verdict.version} fails on this: {values.told} ({raised_words(raises)}; {verdict.scope})"


def raised_words(raises: str) -> str:
    """`its check raises TypeError: "…"`, of what `raised_by` gives."""
    kind, _, text = raises.partition(": ")
    # Python's words for a division by zero differ from release to release.
    return f"its check raises {kind}" + ("" if kind == "ZeroDivisionError" or not text else f': "{text}"')


def _worded(package: str, verdict: Verdict, condition: str, sentence: str, values: Deciding) -> str:
    """The release's own sentence with the values of the run, and the values that are not in it."""
    from trl_lint.knowledge.condition_sentences import filled

    kind, _, text = sentence.partition(": ")
    shown = dict(values.texts)
    if len(shown) == 1 and text.startswith("{} is not a valid"):
        shown[""] = next(iter(shown.values()))  # an enum says nothing else
    quoted = filled(text, shown.get).rstrip(".")
    quoted = f'{kind}: "{quoted}"' if quoted else kind
    known = _allowed(condition)
    advice = f"; choose {known}" if known else ""
    return f"{package} {verdict.version} refuses this: {values.told}{advice} ({quoted}; {verdict.scope})"


def _allowed(condition: str) -> str:
    """The values that a condition asks for, where it is nothing but `field not in (…)`; else ""."""
    tree = parse(condition)
    if not isinstance(tree, ast.Compare) or not isinstance(tree.ops[0], ast.NotIn):
        return ""
    items = tree.comparators[0]
    if not isinstance(tree.left, (ast.Name, ast.Attribute)) or not isinstance(items, (ast.Tuple, ast.List, ast.Set)):
        return ""
    values = [str(item.value) for item in items.elts if isinstance(item, ast.Constant)]
    from trl_lint.checks._phrases import either

    return either(f"`{value}`" for value in values[:_MOST_VALUES]) if len(values) == len(items.elts) else ""
