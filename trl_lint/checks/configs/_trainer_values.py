"""Values of a run that pass the parser and that the trainer refuses."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache

from trl_lint.checks._phrases import either
from trl_lint.checks._trainers import uses_trainer
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, Verdict, judge_releases
from trl_lint.knowledge.conditions import conditions_of
from trl_lint.knowledge.values import ValueRule, value_rules
from trl_lint.records import NamedTuple
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.sources.placeholders import is_blank


class Refused(NamedTuple):
    """A value that the trainer of some releases in use refuses."""

    setting: Setting
    verdict: Verdict
    message: str


def refused_values(run: Run, rule: Rule) -> Iterator[Refused]:
    """The values of a run that its trainer will refuse, each once."""
    rules = value_rules(run.arguments_class)
    if (
        not rules
        or "trl" not in run.choices
        or not uses_trainer(run, run.arguments_class.removesuffix("Config") + "Trainer")
    ):
        return
    chosen = run.choices["trl"]
    if chosen.is_tip:
        return  # it may know more values than the newest release
    for field in dict.fromkeys(each.field for each in rules):
        said = run.config.given(field)
        if not isinstance(said, Setting) or not isinstance(said.value, str) or said.location is None:
            continue
        about = {release: _rule(run, rules, field, release) for release in chosen.releases}

        def is_refused(release: str, value: str = said.value, about: dict[str, ValueRule | None] = about) -> bool:
            found = about[release]
            return found is not None and value not in found.allowed

        verdict = judge_releases(chosen, is_refused, Level(rule, run.launch.is_documentation))
        if verdict is not None and (found := about[verdict.version]) is not None:
            if is_blank(said.value, field):
                continue
            known = either(f"`{value}`" for value in found.allowed if value.lower() not in ("true", "false"))
            message = (
                f"`{field}` cannot be `{said.value}`: choose {known}; the trainer stops {found.fails} ({verdict.scope})"
            )
            yield Refused(said, verdict, message)


def refused_flags(run: Run, rule: Rule) -> Iterator[Refused]:
    """The values of flags that argparse refuses: the dataclass of the field lists what it takes."""
    if run.parser is None or "trl" not in run.choices or run.choices["trl"].is_tip:
        return
    chosen = run.choices["trl"]
    for dotted in run.parser.fields.bases:
        package, _, name = dotted.rpartition(".")
        known = {release: _choices(name, release) for release in chosen.releases} if package == "trl" else {}
        for field in dict.fromkeys(field for choices in known.values() for field in choices):
            said = run.config.given(field) if field not in run.parser.fields.own else None
            if not isinstance(said, Setting) or said.origin != "flag" or not isinstance(said.value, str):
                continue
            about = {release: choices.get(field, ()) for release, choices in known.items()}

            def is_refused(release: str, value: str = said.value, about: Known = about) -> bool:
                return bool(about[release]) and value not in about[release]

            verdict = judge_releases(chosen, is_refused, Level(rule, run.launch.is_documentation))
            if verdict is not None and not is_blank(said.value, field):
                shown = either(f"`{value}`" for value in about[verdict.version])
                yield Refused(said, verdict, f"`--{field}` cannot be `{said.value}`: choose {shown} ({verdict.scope})")


Known = Mapping[str, tuple[str, ...]]
"""By release, the texts that a flag takes, none where it takes any."""


@lru_cache(maxsize=512)
def _choices(name: str, release: str) -> dict[str, tuple[str, ...]]:
    """By field of a class of trl, the texts that its flag takes."""
    every = conditions_of("trl", name, release)
    return {each.sentence: ast.literal_eval(each.condition) for each in every if each.kind == "flag"}


def _rule(run: Run, rules: tuple[ValueRule, ...], field: str, release: str) -> ValueRule | None:
    """What a release asks of a field in this run; None if it does not look at it, or nobody can tell."""
    rule = next((rule for rule in rules if rule.field == field and release in rule.releases), None)
    if rule is None or not rule.when:
        return rule
    switch = run.config.at({**run.choices.newest(("trl", "transformers")), "trl": release}).final(rule.when)
    return rule if isinstance(switch, Setting) and switch.truth is True else None
