"""Symptoms: what a log says when something is wrong, and what must hold besides for a certain cause.

They stand on the rule pages and, for causes that no rule can see in a project, in `rules/symptoms/*.toml`. The keys of
a symptom:

pattern     regular expression over the exceptions and messages of the failure (`Type: message`); with `kind = "note"`
            over the other lines of the log
note        what the reader should know
frames      each must match a frame (`path:function: code`); where the log has no frames this stays open
last        must match the frame that raised
without     none may match a frame, a message or another line of the log
log         each must match a frame, a message or another line
packages    specifiers that must hold for what ran; where nothing tells, this stays open
settings    fields of the run and the values one of which they must have; `backend` is DeepSpeed, FSDP, MULTI_GPU …
project     a regular expression that a file of the project must match, in the lower case of its text
likelihood  what is claimed when all of that holds: "likely" or "possible"; a finding of the rule proves it in any case
finding     a regular expression that the message of a finding must match to be about this symptom
family      joins the causes of one message
near        the finding must be in a function of the traceback
recorded    the group `owner` of the pattern must be a class that a recorded package has
example     a message as it is printed, `printed_by` the package that prints it; if its history is recorded, the tests
            look the message up there

A named group `key`, `name`, `flag` or `file` of the pattern must occur in the rule's finding.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from trl_lint.knowledge import rules_dir
from trl_lint.records import NamedTuple

_LIKELIHOODS = ("likely", "possible")


class Symptom(NamedTuple):
    """One way in which a cause shows in a log; the module tells what the fields mean."""

    pattern: str
    note: str = ""
    kind: str = "failure"
    frames: tuple[str, ...] = ()
    last: str = ""
    without: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    packages: Mapping[str, str] = {}
    settings: Mapping[str, tuple[str, ...]] = {}
    project: str = ""
    likelihood: str = "possible"
    finding: str = ""
    family: str = ""
    near: bool = False
    recorded: bool = False
    example: str = ""
    printed_by: str = ""


class Cause(NamedTuple):
    """Something that ends runs. `family` joins the causes of one message; `advice` says what to do or to look at."""

    code: str
    name: str
    title: str
    family: str
    advice: str
    is_rule: bool
    symptoms: tuple[Symptom, ...]
    references: tuple[str, ...]


class Myth(NamedTuple):
    """A popular cure that does not help, or harms, where its symptom is seen."""

    claim: str
    why: str
    symptom: Symptom


def read_symptom(row: Mapping[str, Any]) -> Symptom:
    """A symptom of a page or a table. Raises KeyError without a pattern, TypeError for a key that is not known."""
    values = dict(row)
    for name in ("frames", "without", "log"):
        if name in values:
            values[name] = tuple(values[name])
    if "settings" in values:
        values["settings"] = {name: tuple(map(str, options)) for name, options in values["settings"].items()}
    if values.get("likelihood", "possible") not in _LIKELIHOODS:
        raise TypeError(f"likelihood {values['likelihood']!r}")
    values["pattern"] = row["pattern"]
    return Symptom(**values)


def read_symptoms(rows: Iterable[Mapping[str, Any]]) -> tuple[Symptom, ...]:
    return tuple(map(read_symptom, rows))


@cache
def causes() -> tuple[Cause, ...]:
    """Every cause: those of the rules, with what the tables add to them, then those of the tables."""
    from trl_lint.knowledge.pages import all_pages

    found: dict[str, Cause] = {}
    for page in all_pages():
        found[page.code] = Cause(page.code, page.name, page.title, "", "", True, page.symptoms, page.references)
    for row in _rows("cause"):
        symptoms = read_symptoms(row.get("symptoms", ()))
        references = tuple(row.get("references", ()))
        known = found.get(row["code"])
        if known is not None:
            found[known.code] = known._replace(
                symptoms=(*known.symptoms, *symptoms),
                references=tuple(dict.fromkeys((*known.references, *references))),
                advice=row.get("advice", known.advice),
                family=row.get("family", known.family),
            )
            continue
        found[row["code"]] = Cause(
            row["code"], row["name"], row["title"], row.get("family", ""), row["advice"], False, symptoms, references
        )
    return tuple(found.values())


@cache
def myths() -> tuple[Myth, ...]:
    """Popular cures that are wrong, each with the failure for which that is so."""
    found = []
    for row in _rows("myth"):
        rest = {key: value for key, value in row.items() if key not in ("claim", "why")}
        found.append(Myth(row["claim"], row["why"], read_symptom(rest)))
    return tuple(found)


@cache
def consequences() -> tuple[tuple[str, str], ...]:
    """Failures that follow from another one: (pattern, why)."""
    return tuple((row["pattern"], row["why"]) for row in _rows("consequence"))


def _rows(kind: str) -> list[dict[str, Any]]:
    return [row for table in _tables() for row in table.get(kind, ())]


@cache
def _tables() -> tuple[dict[str, Any], ...]:
    import tomli

    folder = os.path.join(rules_dir(), "symptoms")
    tables = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".toml"):
            with open(os.path.join(folder, name), "rb") as stream:
                tables.append(tomli.load(stream))
    return tuple(tables)
