"""What mkdocs asks while it builds the site: pages written from the tables, and links that lead out of docs/."""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Iterator
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)  # mkdocs loads this file by its path

from trl_lint.knowledge.pages import HOME, all_pages  # noqa: E402
from trl_lint.knowledge.tables import TOPICS  # noqa: E402
from website.change_pages import TITLES, change_pages  # noqa: E402
from website.rule_pages import rule_file, rule_page, with_site_table  # noqa: E402

COPIED = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
"""Pages of the site that stand elsewhere in the repository."""
_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
_FENCE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)


def generated() -> Iterator[tuple[str, str]]:
    """Path below docs/ and Markdown of every page that no file of docs/ holds."""
    for page in all_pages():
        yield rule_file(page), with_links(rule_page(page), f"rules/pages/{page.code}.md", rule_file(page))
    for told in change_pages():
        yield told.path, told.text
    for path, source in COPIED.items():
        with open(os.path.join(ROOT, source), encoding="utf-8") as stream:
            yield path, with_links(stream.read(), source, path)


def with_links(text: str, source: str, shown: str) -> str:
    """A page of the repository with links as the site needs them: to its own pages, or to the file on GitHub.

    `source` is the path of the file in the repository, `shown` that of the page below docs/. Links in code stay.
    """
    parts, last = [], 0
    for fence in _FENCE.finditer(text):
        parts += [_relinked(text[last : fence.start()], source, shown), fence[0]]
        last = fence.end()
    return "".join([*parts, _relinked(text[last:], source, shown)])


def _relinked(text: str, source: str, shown: str) -> str:
    return _LINK.sub(lambda match: f"{match[1]}{site_target(match[2], source, shown)}{match[3]}", text)


def site_target(target: str, source: str, shown: str) -> str:
    """Where a link of a file leads in the site."""
    own = f"{HOME}/blob/main/"
    path, mark, anchor = target.partition("#")
    if not path or ("://" in path and not path.startswith(own)):
        return target
    inside = path.removeprefix(own) if path.startswith(own) else _joined(source, path)
    page = _page_of(inside)
    if page:
        return f"{posixpath.relpath(page, posixpath.dirname(shown) or '.')}{mark}{anchor}"
    return f"{HOME}/{'tree' if os.path.isdir(os.path.join(ROOT, inside)) else 'blob'}/main/{inside}{mark}{anchor}"


def _joined(source: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), path))


def _page_of(inside: str) -> str:
    """The page of the site that shows a file of the repository, "" if there is none."""
    rule = re.fullmatch(r"rules/pages/(TRL\d+)\S*\.md", inside)
    if rule:
        return f"rules/{rule[1]}.md"
    for page, source in COPIED.items():
        if source == inside:
            return page
    return inside.removeprefix("docs/") if inside.startswith("docs/") else ""


# -- what mkdocs calls -------------------------------------------------------------------------------------------------


def on_config(config: Any) -> Any:
    for entry in config.nav:
        if entry.get("Rules") is not None:
            entry["Rules"] = ["rules.md", *_rules_by_topic()]
        if entry.get("What changed") is not None:
            entry["What changed"] = ["changes/index.md", *_changes_by_package()]
    return config


def _rules_by_topic() -> list[dict[str, list[dict[str, str]]]]:
    return [
        {topic: [{f"{page.code} {page.title}": rule_file(page)} for page in of_topic]}
        for digit, topic in TOPICS.items()
        if (of_topic := [page for page in all_pages() if page.code[3] == digit])
    ]


def _changes_by_package() -> list[dict[str, list[dict[str, str]]]]:
    pages = [page for page in change_pages() if page.path != "changes/index.md"]
    entries = {page.path: {page.title.removeprefix("What changed in "): page.path} for page in pages}
    return [
        {title: [entry for path, entry in entries.items() if path.startswith(f"changes/{name}-")]}
        for name, title in TITLES.items()
    ]


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for path, text in generated():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    shown = page.file.src_uri
    if shown in COPIED or shown.startswith(("rules/TRL", "changes/")):
        return markdown
    return with_links(with_site_table(markdown) if shown == "rules.md" else markdown, f"docs/{shown}", shown)
