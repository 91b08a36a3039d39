"""Symptoms: what a log says when something is wrong, and what must hold besides for a certain cause.

They stand on the rule pages and, for causes that no rule can see in a project, in `rules/symptoms/*.toml`. The keys of
a symptom:

pattern     regular expression over the exceptions and messages of the failure (`Type: message`); with `kind = "note"`
            over the other lines of the log
note        what the reader should know; `{value|name|it}` stands for the first of these groups of the pattern that has
            matched, and for the last word itself if none has; so it does in `title`, `advice` and `settle`
title       what is wrong, and `advice`, what to do, where this symptom says it better than its cause does
frames      each must match a frame (`path:function: code`); where the log has no frames this stays open
last        must match the frame that raised
raised      who raised: "library", an installed package or the code of a model; "project", the project itself;
            "unknown", where no frame tells
without     none may match a frame, a message or another line of the log
log         each must match a frame, a message or another line
packages    specifiers that must hold for what ran; where nothing tells, this stays open
settings    fields of the run and the values one of which they must have; `backend` is DeepSpeed, FSDP, MULTI_GPU …
project     a regular expression that a file of the project must match, in the lower case of its text
likelihood  what is claimed when all of that holds: "likely" or "possible"; a finding of the rule proves it in any case
finding     a regular expression that the message of a finding must match to be about this symptom
family      joins the causes of one message
lone        no other rank may say the same
near        the finding must be in a function of the traceback
proved      nothing but this cause prints the message: what is likely is called proved by the log
settle      what would decide, where it is only likely or possible
recorded    the group `owner` of the pattern must be a class that a recorded package has
fallback    counts only where nothing else explains the failure, and where there are the frames that it asks for
general     a fallback that names the kind of failure alone: it stands behind the others
example     a message as it is printed, `printed_by` the package that prints it; if its history is recorded, the tests
            look the message up there

A myth has its symptom in a table of its own, `[myth.symptom]`.

A named group `key`, `name`, `flag` or `file` of the pattern must occur in the rule's finding.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from trl_lint.knowledge.rows import Ranges, read_rows, table_paths
from trl_lint.records import NamedTuple


class Symptom(NamedTuple):
    """One way in which a cause shows in a log; the module tells what the fields mean."""

    pattern: str
    note: str = ""
    title: str = ""
    advice: str = ""
    kind: Literal["failure", "note"] = "failure"
    frames: tuple[str, ...] = ()
    last: str = ""
    raised: Literal["", "library", "project", "unknown"] = ""
    without: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    packages: Ranges = {}
    settings: dict[str, tuple[str, ...]] = {}
    project: str = ""
    likelihood: Literal["likely", "possible"] = "possible"
    finding: str = ""
    family: str = ""
    lone: bool = False
    near: bool = False
    recorded: bool = False
    proved: bool = False
    settle: str = ""
    fallback: bool = False
    general: bool = False
    example: str = ""
    printed_by: str = ""


class Myth(NamedTuple):
    """A popular cure that does not help, or harms, where its symptom is seen."""

    claim: str
    why: str
    symptom: Symptom


class _CauseRow(NamedTuple):
    """A cause, or what is added to that of a rule."""

    code: str
    name: str = ""
    title: str = ""
    family: str = ""
    advice: str = ""
    symptoms: tuple[Symptom, ...] = ()
    references: tuple[str, ...] = ()
    prevention: str = ""

    def fault(self) -> str:
        """What is wrong with the row as a whole, "" if nothing is."""
        is_whole = self.code.startswith("TRL") or (self.name and self.title and self.advice)
        return "" if is_whole else f"{self.code} is no rule, so it needs a `name`, a `title` and `advice`"


class Also(NamedTuple):
    """Symptoms that a cause of another table, or of a page, has as well."""

    code: str
    symptoms: tuple[Symptom, ...]


class Consequence(NamedTuple):
    """A failure that follows from another one."""

    pattern: str
    why: str


class _Table(NamedTuple):
    cause: tuple[_CauseRow, ...] = ()
    also: tuple[Also, ...] = ()
    myth: tuple[Myth, ...] = ()
    consequence: tuple[Consequence, ...] = ()


@cache
def tables() -> tuple[_Table, ...]:
    return tuple(read_rows(path, _Table) for path in table_paths("symptoms"))


# Each of these raises KnowledgeError if a page or a table is malformed.


@cache
def myths() -> tuple[Myth, ...]:
    """Popular cures that are wrong, each with the failure for which that is so."""
    return tuple(row for table in tables() for row in table.myth)


@cache
def consequences() -> tuple[Consequence, ...]:
    """Failures that follow from another one."""
    return tuple(row for table in tables() for row in table.consequence)
