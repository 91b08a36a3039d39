"""Whether every link and every file that the pages of a built site name is there: `python website/links.py build/site`.

Addresses of other sites are counted and not asked for; a page that would fetch a script, a style or a picture from one
is reported, since the site is to work without a network.
"""

from __future__ import annotations

import os
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        is_loaded = tag == "link" and values.get("rel", "") in ("stylesheet", "icon", "preload", "preconnect")
        if is_loaded or tag in ("script", "img", "iframe"):
            self.fetched += [values[name] for name in ("href", "src") if name in values]


def faults(site: str) -> tuple[list[str], int]:
    """What is wrong in the pages of a folder, a line each, and how many links were looked after."""
    pages = {path: _read(path) for path in _pages(site)}
    found, count = [], 0
    for path, page in pages.items():
        shown = os.path.relpath(path, site)
        for target in [*page.links, *page.fetched]:
            parts = urlsplit(target)
            count += 1
            if parts.scheme or parts.netloc:
                if target in page.fetched and parts.scheme != "data":
                    found.append(f"{shown}: fetches {target}")
                continue
            linked = os.path.normpath(os.path.join(os.path.dirname(path), unquote(parts.path))) if parts.path else path
            if os.path.basename(path) == "404.html" and parts.path.startswith("/"):
                continue  # it is shown for any address, and so counts from the root of the published site
            if not os.path.isfile(linked):
                found.append(f"{shown}: no file for {target}")
            elif parts.fragment and linked in pages and unquote(parts.fragment) not in pages[linked].anchors:
                found.append(f"{shown}: no place for {target}")
    return found, count


def _pages(site: str) -> list[str]:
    return sorted(
        os.path.join(folder, name) for folder, _, names in os.walk(site) for name in names if name.endswith(".html")
    )


def _read(path: str) -> _Reader:
    reader = _Reader()
    with open(path, encoding="utf-8") as stream:
        reader.feed(stream.read())
    return reader


def main(argv: list[str]) -> int:
    found, count = faults(argv[0])
    print("\n".join([*found, f"{len(_pages(argv[0]))} pages, {count} links, {len(found)} faults"]))
    return 1 if found or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
