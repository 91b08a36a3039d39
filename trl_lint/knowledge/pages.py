"""The rule pages: one Markdown file a rule, TOML front matter between `+++` lines, then fixed headings.

The page is the single place for title, severity, impact, fix safety, versions, symptoms and references.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import Any

from trl_lint.finding import Severity
from trl_lint.knowledge import rules_dir
from trl_lint.knowledge.symptoms import Symptom
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

HOME = "https://github.com/trl-lint/trl-lint"
PAGES_URL = f"{HOME}/blob/main/rules/pages"
IMPACTS = ("crash-at-start", "crash-later", "silent", "waste", "tool")
FIXES = ("always", "sometimes", "none")
_FRONT_MATTER = regex(r"\A\+\+\+\n(.*?)\n\+\+\+\n(.*)\Z", re.DOTALL)
_FILE_NAME = regex(r"^([A-Z]+\d+)-([a-z0-9-]+)\.md$")


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
    """Path of the page of every code, in the order of the codes."""
    folder = os.path.join(rules_dir(), "pages")
    found = {}
    for name in sorted(os.listdir(folder)):
        if match := _FILE_NAME.match(name):
            found[match[1]] = os.path.join(folder, name)
    return found


@cache
def page(code: str) -> Page:
    """The page of a rule. Raises KeyError if it has none, ValueError if the page is malformed."""
    path = page_files()[code]
    with open(path, encoding="utf-8") as stream:
        return read_page(stream.read(), path)


def read_page(text: str, path: str) -> Page:
    import tomli

    from trl_lint.knowledge.symptoms import read_symptoms

    match = _FRONT_MATTER.match(text)
    file_name = _FILE_NAME.match(os.path.basename(path))
    if match is None or file_name is None:
        raise ValueError(f"{path}: no front matter between +++ lines")
    try:
        facts: dict[str, Any] = tomli.loads(match[1])
        symptoms = facts["symptoms"]
        return Page(
            code=facts["code"],
            name=file_name[2],
            title=facts["title"],
            severity=facts["severity"],
            impact=facts["impact"],
            fix=facts["fix"],
            fix_safety=facts.get("fix_safety", ""),
            since=facts["since"],
            default=facts.get("default", True),
            versions=tuple(facts["versions"]),
            symptoms=() if symptoms == "none" else read_symptoms(symptoms),
            references=tuple(facts["references"]),
            body=match[2].lstrip("\n"),
        )
    except (KeyError, TypeError, tomli.TOMLDecodeError) as error:
        raise ValueError(f"{path}: front matter: {type(error).__name__}: {error}") from None


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
