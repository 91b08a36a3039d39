"""The rule pages: one Markdown file a rule, TOML front matter between `+++` lines, then fixed headings.

The page is the single place for title, severity, impact, fix safety, versions, symptoms and references.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import Literal, get_args

from trl_lint.finding import Severity
from trl_lint.knowledge import KnowledgeError, read_text, text_names
from trl_lint.knowledge.compat import Impact
from trl_lint.knowledge.rows import read_record
from trl_lint.knowledge.symptoms import Symptom
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

HOME = "https://github.com/trl-lint/trl-lint"
PAGES_URL = f"{HOME}/blob/main/rules/pages"
Offered = Literal["always", "sometimes", "none"]
IMPACTS: tuple[str, ...] = get_args(Impact)
FIXES: tuple[str, ...] = get_args(Offered)
_FRONT_MATTER = regex(r"\A\+\+\+\n(.*?)\n\+\+\+\n(.*)\Z", re.DOTALL)
_FILE_NAME = regex(r"^([A-Z]+\d+)-([a-z0-9-]+)\.md$")


class FrontMatter(NamedTuple):
    """The facts of a page, as they are written."""

    code: str
    title: str
    severity: Severity
    impact: Impact
    fix: Offered
    since: str
    versions: tuple[str, ...]
    symptoms: Literal["none"] | tuple[Symptom, ...]
    references: tuple[str, ...]
    fix_safety: Literal["safe", "unsafe", ""] = ""
    default: bool = True


class Page(NamedTuple):
    code: str
    name: str
    title: str
    severity: Severity
    impact: str
    fix: str
    fix_safety: str
    since: str
    default: bool
    versions: tuple[str, ...]
    symptoms: tuple[Symptom, ...]
    references: tuple[str, ...]
    body: str

    @property
    def url(self) -> str:
        return f"{PAGES_URL}/{self.code}-{self.name}.md"


@cache
def page_files() -> dict[str, str]:
    """Path in `rules/` of the page of every code, in the order of the codes."""
    return {match[1]: f"pages/{name}" for name in text_names("pages") if (match := _FILE_NAME.match(name))}


@cache
def page(code: str) -> Page:
    """The page of a rule. Raises KnowledgeError if it has none, or a malformed one."""
    path = page_files().get(code)
    if path is None:
        raise KnowledgeError(
            f"{code} has no page: write rules/pages/{code}-<name>.md, named after the module of the rule"
        )
    return read_page(read_text(path), path)


def read_page(text: str, path: str) -> Page:
    """A page from its text. Raises KnowledgeError, with the line, where its facts are not what FrontMatter says."""
    import tomli

    match = _FRONT_MATTER.match(text)
    file_name = _FILE_NAME.match(os.path.basename(path))
    shown = f"rules/pages/{os.path.basename(path)}"
    if match is None or file_name is None:
        raise KnowledgeError(f"{shown}: no front matter between +++ lines")
    try:
        facts = read_record(tomli.loads(match[1]), FrontMatter, shown, match[1], above=1)
    except tomli.TOMLDecodeError as error:
        raise KnowledgeError(f"{shown}: front matter: {error}") from None
    return Page(
        code=facts.code,
        name=file_name[2],
        title=facts.title,
        severity=facts.severity,
        impact=facts.impact,
        fix=facts.fix,
        fix_safety=facts.fix_safety,
        since=facts.since,
        default=facts.default,
        versions=facts.versions,
        symptoms=facts.symptoms if isinstance(facts.symptoms, tuple) else (),
        references=facts.references,
        body=match[2].lstrip("\n"),
    )


def all_pages() -> list[Page]:
    return [page(code) for code in sorted(page_files())]


def page_text(found: Page) -> str:
    """A page as Markdown: a heading, the facts of its front matter, its body."""
    fix = found.fix if found.fix == "none" else f"{found.fix}, {found.fix_safety}"
    facts = [
        f"* level: {found.severity}",
        f"* impact: {found.impact.replace('-', ' ')}",
        f"* fix: {fix}",
        f"* since: {found.since}" + ("" if found.default else ", off unless selected"),
    ]
    if found.versions:
        facts.append(f"* versions: {', '.join(found.versions)}")
    parts = [f"# {found.title} ({found.code}, {found.name})\n", "\n".join(facts) + "\n", found.body.rstrip("\n") + "\n"]
    if found.references:
        parts.append("## References\n\n" + "\n".join(f"* <{url}>" for url in found.references) + "\n")
    return "\n".join(parts)
