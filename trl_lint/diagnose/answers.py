"""What a diagnosis comes to: the failure, its possible causes, and what is told of it and is not the cause."""

from __future__ import annotations

from trl_lint.diagnose.failures import Failure
from trl_lint.records import NamedTuple

PROVED = "proved by the log"


class Evidence(NamedTuple):
    """A line of the log or of a file of the project."""

    path: str
    line: int
    text: str


class Diagnosed(NamedTuple):
    """One possible cause. `likelihood` is "likely" or "possible"; `is_proved`: nothing else prints what the log has.

    `advice` is what to do now, `prevention` what keeps it from coming back, `settle` what would decide it, "" where
    that is nothing. `rank` and `family` serve the order alone.
    """

    code: str
    name: str
    title: str
    likelihood: str
    why: str
    evidence: tuple[Evidence, ...]
    advice: str
    prevention: str = ""
    settle: str = ""
    is_proved: bool = False
    rank: tuple[int, ...] = ()
    family: str = ""

    @property
    def confidence(self) -> str:
        """`proved by the log`, `likely` or `possible`."""
        return PROVED if self.is_proved and self.likelihood == "likely" else self.likelihood


class NotTheCause(NamedTuple):
    """A popular cure that would not help here."""

    claim: str
    why: str


class Diagnosis(NamedTuple):
    """Everything that is said about a log. `consequence`: why the failure itself follows from another, "" if not.

    `runs`: how many runs of the log ended with a failure; the last one is judged.
    """

    failure: Failure | None
    consequence: str
    causes: tuple[Diagnosed, ...]
    not_the_cause: tuple[NotTheCause, ...]
    dated: str
    runs: int = 1


def sentence(*parts: str) -> str:
    """Parts as sentences, each with its full stop."""
    kept = [part.strip() for part in parts if part.strip()]
    return " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in kept)


def capital(text: str) -> str:
    """A text that begins with a capital, where it does not begin with code."""
    return text if not text or text[0] == "`" else text[0].upper() + text[1:]
