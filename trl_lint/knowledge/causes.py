"""Everything that is known to end runs: the symptoms of the rules' pages, with those of `rules/symptoms` and of known
bugs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from trl_lint.knowledge import KnowledgeError
from trl_lint.knowledge.bugs import bugs, packages
from trl_lint.knowledge.pages import all_pages
from trl_lint.knowledge.symptoms import Symptom, tables
from trl_lint.records import NamedTuple

KNOWN_BUG = "TRL206"


class Cause(NamedTuple):
    """Something that ends runs. `family` joins the causes of one message; `advice` says what to do or to look at now,
    `prevention` what keeps it from coming back.
    """

    code: str
    name: str
    title: str
    family: str
    advice: str
    is_rule: bool
    symptoms: tuple[Symptom, ...]
    references: tuple[str, ...]
    prevention: str = ""


@cache
def causes() -> tuple[Cause, ...]:
    """Every cause: those of the rules, with what the tables add to them, then those of the tables."""
    found: dict[str, Cause] = {}
    for page in all_pages():
        found[page.code] = Cause(page.code, page.name, page.title, "", "", True, page.symptoms, page.references)
    for row in (row for table in tables() for row in table.cause):
        known = found.get(row.code)
        if known is not None:
            found[known.code] = known._replace(
                symptoms=(*known.symptoms, *row.symptoms),
                references=tuple(dict.fromkeys((*known.references, *row.references))),
                advice=row.advice or known.advice,
                family=row.family or known.family,
                prevention=row.prevention or known.prevention,
            )
            continue
        if row.code.startswith("TRL"):
            raise KnowledgeError(f"rules/symptoms: there is no rule {row.code}")
        found[row.code] = Cause(
            row.code, row.name, row.title, row.family, row.advice, False, row.symptoms, row.references, row.prevention
        )
    known = found[KNOWN_BUG]
    found[KNOWN_BUG] = known._replace(symptoms=(*known.symptoms, *_symptoms_of_bugs()))
    for also in (row for table in tables() for row in table.also):
        if also.code not in found:
            raise KnowledgeError(f"rules/symptoms: there is no cause {also.code}")
        known = found[also.code]
        found[also.code] = known._replace(symptoms=(*known.symptoms, *also.symptoms))
    return tuple(found.values())


def _symptoms_of_bugs() -> Iterator[Symptom]:
    """What known bugs of releases print; the rule that finds them tells where the project meets one."""
    for package in packages():
        for row in bugs(package):
            if row.symptom:
                note = f"{row.title[0].upper()}{row.title[1:]}: {row.plain_message}. {row.remedy(package)}."
                releases = {package: row.releases, **row.beside}
                yield Symptom(row.symptom, note, packages=releases, finding=re.escape(f"[{row.id}]"))


def prevention(cause: Cause) -> str:
    """What keeps a cause from coming back, "" where the cause says nothing of it."""
    if cause.prevention or not cause.is_rule:
        return cause.prevention
    return f"let `trl-lint` read the project before each run, in CI or as a pre-commit hook ({cause.code})"
