"""`trl-lint rule`: the page of a rule, for people or for programs."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from trl_lint.commands import UsageError
from trl_lint.knowledge.pages import Page, all_pages, page, page_text
from trl_lint.selection import known_codes, rule_meant
from trl_lint.streams import say


def run(args: argparse.Namespace) -> int:
    """Print one page, all pages, or (without arguments) a list of the rules."""
    if args.all:
        chosen = all_pages()
    elif args.rule is None:
        _list_rules(args.output_format == "json")
        return 0
    else:
        chosen = [find_page(args.rule)]
    if args.output_format == "json":
        facts = [page_facts(found) for found in chosen]
        _print_json(facts if args.all else facts[0])
    else:
        sys.stdout.write("\n".join(page_text(found) for found in chosen))
    return 0


def find_page(name: str) -> Page:
    """The page of a rule by its code or name. Raises UsageError if there is none."""
    if name.upper() in known_codes():
        return page(name.upper())
    by_name = {found.name: found for found in all_pages()}
    if name in by_name:
        return by_name[name]
    guess = rule_meant(name, by_name)
    raise UsageError(f"no rule `{name}`; " + (f"did you mean `{guess}`?" if guess else "`trl-lint rule` lists them"))


def _list_rules(as_json: bool) -> None:
    pages = all_pages()
    if as_json:
        _print_json([page_facts(found) for found in pages])
        return
    width = max((len(found.name) for found in pages), default=0)
    for found in pages:
        say(f"{found.code}  {found.name:<{width}}  {found.severity:<7}  {found.title}", to="stdout")


def page_facts(found: Page) -> dict[str, Any]:
    """A page as JSON has it."""
    return {
        "code": found.code,
        "name": found.name,
        "title": found.title,
        "severity": found.severity,
        "impact": found.impact,
        "fix": found.fix,
        "fix_safety": found.fix_safety,
        "since": found.since,
        "default": found.default,
        "versions": list(found.versions),
        "symptoms": [{"pattern": symptom.pattern, "note": symptom.note} for symptom in found.symptoms],
        "references": list(found.references),
        "explanation": found.body,
        "url": found.url,
    }


def _print_json(value: object) -> None:
    from trl_lint.reports.log_safe import dump_json

    dump_json(value, sys.stdout)
