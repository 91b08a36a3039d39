"""What a release warns about in its own code, told of the values of a run where something is wrong with them.

What a warning says decides how severe it is (`rules/semantics/warnings.toml`). None of those that are told comes from
the defaults of a release alone; a test asks all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks.configs._release_says import WARNING, Refusal, Said, started_at
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.knowledge.warned import warned_of
from trl_lint.regexes import regex
from trl_lint.run.runs import Run

_SILENT = frozenset({"none", "elsewhere"})
_IGNORED = regex(r"`(\w+)`(?: parameter)? (?:will be|is) ignored")


def warnings_in(run: Run, rule: Rule, every: list[Said]) -> Iterator[Refusal]:
    """What the releases in use warn about in the values of a run, as far as it belongs to the rule.

    `every`: all that they say of it (`said_of`).
    """
    for said in every:
        if next(iter(said.releases.values())).condition.kind in WARNING:
            found = _warning(run, rule, said)
            if found is not None and found.code == rule.code:
                yield found


def _warning(run: Run, rule: Rule, said: Said) -> Refusal | None:
    from trl_lint.checks.configs._deciding import deciding_values
    from trl_lint.knowledge.condition_sentences import filled
    from trl_lint.knowledge.told_elsewhere import is_told_elsewhere

    sentence = next(iter(said.releases.values())).condition.sentence
    warned = warned_of(sentence)
    if warned is None or warned.effect in _SILENT or is_told_elsewhere(sentence, run.arguments_class):
        return None
    level = Level(warned.level, run.launch.is_documentation, of_code=False)
    verdict = judge_releases(said.chosen, lambda version: version in said.releases, level)
    if verdict is None:
        return None
    statement = said.releases[verdict.version]
    ignored = _IGNORED.search(sentence)
    values = deciding_values(said.world(run, verdict.version), statement, ignored[1] if ignored else "")
    if values is None:
        return None
    text = filled(sentence.partition(": ")[2], dict(values.texts).get).rstrip(".")
    return Refusal(
        "TRL402" if len(values.names) == 1 else "TRL403",
        values.location,
        f'{said.chosen.package.name} {verdict.version} warns of this: {values.told} ("{text}"; {verdict.scope})',
        verdict.severity,
        (*values.related, *started_at(run), *verdict.related),
    )
