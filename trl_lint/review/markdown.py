"""What a review says, in GitHub's Markdown.

Names, values and messages come from the pull request: `reports/markdown.py` shows them, and no marker of ours can be
made of them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

from trl_lint.paths import MARKDOWN
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.reports import page_of
from trl_lint.reports.markdown import code, escaped, longest_run
from trl_lint.review.report import Place, Reported
from trl_lint.review.suggestion import Suggestion
from trl_lint.words import counted

# "Body is too long (maximum is 65536 characters)"; room is left for the marker.
MAX_BODY = 65_536
_ROOM = MAX_BODY - 500
_TOO_LONG = "What trl-lint found here is too long for a comment; the log of the run has it."
_MAX_RELATED = 10  # shown; the last row counts the others
_PLACES = 40  # in one line, which is left out whole where a body gets too long
_LEVELS = {"error": "error", "warning": "warning", "info": "hint"}

# `<!-- trl-lint review "." finding 0123456789abcdef:1 89abcdef -->`, always the last line.
_MARKER = regex(
    r'<!-- trl-lint review "(?P<name>[\w./ -]+)" (?P<what>finding (?P<fingerprint>[0-9a-f]{16}:\d+)|summary) '
    r"(?P<digest>[0-9a-f]{8}) -->"
)


# Where a link leads changes with every push, and it stays right: the lines were those at the time.
_COMMIT = regex(r"/blob/[0-9a-f]{40,64}/")
_PULL = regex(r"(https?://[\w.:-]+(?:/[\w.-]+)+)/pull/\d+")


class Web(NamedTuple):
    """Where people read a repository, and the commit that places count in."""

    repository: str
    commit: str

    def link(self, place: Place) -> str:
        """The address of a place; that of its file in a notebook, whose cells have no lines there."""
        from urllib.parse import quote

        address = f"{self.repository}/blob/{self.commit}/{quote(place.path)}"
        if place.cell is not None:
            return address
        plain = "?plain=1" if place.path.lower().endswith((*MARKDOWN, ".rst", ".ipynb")) else ""
        last = f"-L{place.end_line}" if place.end_line > place.line else ""
        return f"{address}{plain}#L{place.line}{last}"


def read_web(pull: object, commit: str) -> Web | None:
    """Where the files of a pull request can be read, from its own address; None if GitHub does not tell."""
    match = _PULL.fullmatch(pull) if isinstance(pull, str) else None
    return Web(match[1], commit) if match and re.fullmatch(r"[0-9a-f]{40,64}", commit) else None


class Mark(NamedTuple):
    """What a marker says: whose comment it is, about which finding ("" for the summary), and a digest of the text."""

    name: str
    fingerprint: str
    digest: str


def read_mark(body: str) -> Mark | None:
    """The marker of a comment; only the last line is looked at, where no text of others ever stands."""
    match = _MARKER.fullmatch(body.rstrip().rpartition("\n")[2].strip())
    return Mark(match["name"], match["fingerprint"] or "", match["digest"]) if match else None


def marked(text: str, name: str, fingerprint: str = "") -> str:
    """A body with its marker. A text that GitHub would refuse is made of whole parts that fit, and never cut: what was
    inside of a code span would begin to mean something.
    """
    text = text if len(text) <= _ROOM else _TOO_LONG
    said = _COMMIT.sub("/blob/", text)
    digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    what = f"finding {fingerprint}" if fingerprint else "summary"
    return f'{text}\n\n<!-- trl-lint review "{name}" {what} {digest} -->'


def _fenced(lines: Sequence[str]) -> str:
    fence = "`" * max(3, longest_run("\n".join(lines)) + 1)
    return "".join(f"{line}\n" for line in (f"{fence}suggestion", *lines, fence)).rstrip("\n")


# -- bodies ------------------------------------------------------------------------------------------------------------


def comment(finding: Reported, suggestion: Suggestion | None = None, web: Web | None = None) -> str:
    """The text of a comment on the line of a finding; its related places are links where `web` is known."""
    parts = [_headline(finding)]
    if finding.fix is not None and suggestion is None:
        unsafe = " --unsafe-fixes" if finding.fix.applicability == "unsafe" else ""
        parts.append(f"`trl-lint --fix{unsafe}` repairs this: {escaped(_cut(finding.fix.title))}.")
    elif finding.fix is not None and suggestion is not None:
        unsafe = "This may change what the program does:\n\n" if finding.fix.applicability == "unsafe" else ""
        parts.append(f"{unsafe}{_fenced(suggestion.lines)}")
    if page := page_of(finding.code):
        parts.append(f"[About {page.name}]({page.url})")
    related = _related(finding, web, _ROOM - sum(len(part) + 2 for part in parts))
    return "\n\n".join([*parts[:1], *related, *parts[1:]])


def gone() -> str:
    """The text that takes the place of a comment whose thread the token may not resolve."""
    return "trl-lint no longer finds what it said here, or says it in another comment."


class Rest(NamedTuple):
    """What has no comment at its line: in changed files, elsewhere, and with one that GitHub hides because the lines
    around it changed (with the address of the comment). `left_out`: how many findings the pull request does not touch.
    `notices`: what was not judged, with its place.
    """

    changed: Sequence[Reported]
    elsewhere: Sequence[Reported]
    outdated: Sequence[tuple[Reported, str]]
    left_out: int = 0
    notices: Sequence[tuple[Place | None, str]] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.changed or self.elsewhere or self.outdated or self.notices)


def summary(rest: Rest, web: Web | None = None, page: str = "") -> str:
    """The text of the summary; places are links where `web` is known. `page`: the address of all findings."""
    if rest.is_empty and not page:
        return "### trl-lint\n\nNothing is left to say here."
    parts = ["### trl-lint"]
    if rest.changed:
        count = counted(len(rest.changed), "finding")
        parts.append(f"{count} in files of this pull request, without a comment on a line:")
        parts.append(_bullets(_items(rest.changed, web), _ROOM // 3))
    if rest.outdated:
        parts.append("Still there, though the lines around the comment have changed:")
        parts.append(_bullets([f"{_item(one, web)} ([comment]({url}))" for one, url in rest.outdated], _ROOM // 3))
    if rest.notices:
        parts.append("What was not judged:")
        parts.append(_bullets((_notice(place, text, web) for place, text in rest.notices), _ROOM // 8))
    foot = [f"[All findings and runs, as pages to download]({page})"] if page else []
    if rest.left_out:
        count = counted(rest.left_out, "finding")
        foot.append(f"{count} that this pull request does not touch: `trl-lint review --all` has them.")
    if rest.elsewhere:
        title = f"{counted(len(rest.elsewhere), 'finding')} in files that this pull request does not change"
        parts.append(f"<details><summary>{title}</summary>")
        room = _ROOM - sum(map(len, (*parts, *foot))) - 200
        parts += [_bullets(_items(rest.elsewhere, web), room), "</details>"]
    return "\n\n".join([*parts, *foot])


def _headline(finding: Reported) -> str:
    return f"**{finding.code}** ({_LEVELS[finding.severity]}): {escaped(finding.message)}"


def _related(finding: Reported, web: Web | None, room: int) -> Iterable[str]:
    rows = [
        f"- {_place(place, web)}: {escaped(_cut(message))}" if message else f"- {_place(place, web)}"
        for place, message in finding.related[:_MAX_RELATED]
    ]
    room -= 40  # for the last row
    while rows and sum(len(row) + 1 for row in rows) > room:
        rows.pop()
    if len(finding.related) > len(rows):
        rows.append(f"- and {len(finding.related) - len(rows)} more" if rows else "- in more places")
    return ["\n".join(rows)] if rows else []


def _place(place: Place, web: Web | None) -> str:
    cell = f"cell {place.cell}, " if place.cell is not None else ""
    text = f"{code(place.path)}, {cell}line {place.line}"
    return text if web is None else f"[{text}]({web.link(place)})"


def _item(finding: Reported, web: Web | None) -> str:
    message = escaped(_cut(finding.message, 1_000))
    return f"**{finding.code}** ({_LEVELS[finding.severity]}) in {_place(finding.place, web)}: {message}"


def _items(findings: Sequence[Reported], web: Web | None) -> Iterable[str]:
    """A line for each cause, with the other places that it has."""
    by_cause: dict[str, list[Reported]] = {}
    for finding in findings:
        by_cause.setdefault(finding.cause or finding.fingerprint, []).append(finding)
    for first, *others in by_cause.values():
        places = list(dict.fromkeys(_place(other.place, web) for other in others))
        head = _item(first, web)
        for start in range(0, max(len(places), 1), _PLACES):
            here = places[start : start + _PLACES]
            yield head + (f" (and {counted(len(here), 'more place')}: {', '.join(here)})" if here else "")
            head = f"**{first.code}** as above"


def _notice(place: Place | None, text: str, web: Web | None) -> str:
    message = escaped(_cut(text, 1_000))
    return f"{_place(place, web)}: {message}" if place is not None else message


def _bullets(items: Iterable[str], room: int) -> str:
    rows = [f"- {item}" for item in items]
    shown: list[str] = []
    for row in rows:
        room -= len(row) + 1
        if room < 0:
            return "\n".join([*shown, f"- and {len(rows) - len(shown)} more; the log of the run has them all"])
        shown.append(row)
    return "\n".join(shown)


def _cut(text: str, most: int = 300) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
