"""Which releases can have printed a message: that alone dates what ran."""

from __future__ import annotations

from functools import cache

from trl_lint.diagnose.failures import Failure
from trl_lint.diagnose.templates import Template, plain
from trl_lint.knowledge import api
from trl_lint.knowledge.ranges import in_words, spans
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

PACKAGES = ("trl", "transformers", "accelerate", "deepspeed", "vllm", "openrlhf", "verl", "peft")
_FEWEST_LETTERS = 24
_HOLE = regex(r"\{\}|%s")
_FRAME_PACKAGE = regex(rf"(?:^|/)({'|'.join(PACKAGES)})/")


class Dated(NamedTuple):
    """`spans` are the releases of `package` for which `what` holds: [(first, last), …], oldest first."""

    package: str
    what: str
    spans: tuple[tuple[str, str], ...]

    @property
    def sentence(self) -> str:
        return f"{self.what} {shown(self.package, self.spans)}"


def shown(package: str, releases: tuple[tuple[str, str], ...]) -> str:
    """`trl 0.14.0 to 0.17.0 and 0.19.0`; an end that is the newest recorded release is open."""
    return f"{package} {in_words(releases, api.releases(package)[-1])}"


def wording(failure: Failure) -> Dated | None:
    """The releases that have the template of the message; None if no template fits, or it tells nothing."""
    package = package_of(failure)
    for part in reversed(failure.parts):
        message = plain(part.message)
        for name in (package,) if package else PACKAGES:
            best: api.MessageRecord | None = None
            for template, letters, record in _templates(name):
                is_kind = record.kind in ("warning", "error", part.exception.rpartition(".")[2])
                is_telling = letters >= _FEWEST_LETTERS or bool(package)
                is_longer = best is None or len(record.text) > len(best.text)
                if is_kind and is_telling and is_longer and template.fillings(message) is not None:
                    best = record
            if best is not None:
                return Dated(name, "this wording exists in", _joined(name, best.text, best.kind))
    return None


def _joined(package: str, text: str, kind: str) -> tuple[tuple[str, str], ...]:
    """All releases in which the same text stands, wherever."""
    known = api.releases(package)
    at = {version: number for number, version in enumerate(known)}
    found: set[str] = set()
    for record in api.messages(package):
        if record.text == text and record.kind == kind:
            for first, last in record.releases:
                found.update(known[at[first] : at[last] + 1])
    return tuple(spans([version for version in known if version in found], known))


@cache
def _templates(package: str) -> tuple[tuple[Template, int, api.MessageRecord], ...]:
    return tuple(
        (template, letters, record)
        for record in api.messages(package)
        for template in (recorded_template(record.text),)
        if (letters := template.letters) >= 12
    )


def recorded_template(text: str) -> Template:
    """A template as the messages of releases are recorded: {} or %s for what is filled in, cut off behind `…`.

    What stands behind a fixed end may be what a logger adds; a hole at the end takes all of the message.
    """
    pieces = _HOLE.split(text.removesuffix("…").strip().replace("¦", "|"))
    return Template.of(pieces, is_whole=not text.endswith("…") and not pieces[-1])


def package_of(failure: Failure) -> str:
    """The recorded package whose code raised, "" if it was other code or is not known."""
    frame = failure.innermost
    if frame is None:
        return ""
    match = _FRAME_PACKAGE.search(frame.path.replace("\\", "/").rpartition("site-packages/")[2])
    return match[1] if match else ""
