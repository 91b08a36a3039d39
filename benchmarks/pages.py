"""Opens the pages that trl-lint writes in a real headless browser: `python -m benchmarks.pages FOLDER PAGE.html…`.

Each page is opened as wide as a phone and as a desk, light and dark, with scripts and without. A picture of each goes
into FOLDER. It fails where a page asks for anything from elsewhere, reports an error, is wider than the phone, cannot
be read without scripts, takes longer than a second or more than 2 MB, or where its filter does not filter. It needs
playwright and a Chromium, named by CHROMIUM or found on the path; `make test` installs neither.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

_WIDTHS = {"phone": (390, 844), "desk": (1280, 900)}
_MOST_SECONDS = 1.0
_MOST_BYTES = 2_000_000


def main(folder: str, pages: list[str]) -> int:
    """Look at every page; 1 if something is wrong with one."""
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    Path(folder).mkdir(parents=True, exist_ok=True)
    faults = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for page in map(Path, pages):
            found = _look_at(browser, page, Path(folder))
            faults += [f"{page.name}: {fault}" for fault in found]
        browser.close()
    print("\n".join(faults) or "nothing wrong")
    return 1 if faults else 0


def _look_at(browser: Any, page: Path, folder: Path) -> list[str]:
    faults: list[str] = []
    slowest = 0.0
    if page.stat().st_size > _MOST_BYTES:
        faults.append(f"{page.stat().st_size} bytes")
    for width, (columns, rows) in _WIDTHS.items():
        for scheme in ("light", "dark"):
            view = browser.new_context(viewport={"width": columns, "height": rows}, color_scheme=scheme)
            tab = _listened_to(view.new_page(), faults)
            start = time.perf_counter()
            tab.goto(page.resolve().as_uri(), wait_until="load")
            tab.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
            slowest = max(slowest, time.perf_counter() - start)
            tab.screenshot(path=str(folder / f"{page.stem}-{width}-{scheme}.png"))
            if tab.evaluate("document.documentElement.scrollWidth") > columns:
                faults.append(f"wider than a {width}")
            if width == "desk" and scheme == "light":
                faults += _used(tab)
            view.close()
    view = browser.new_context(java_script_enabled=False)
    tab = view.new_page()
    tab.goto(page.resolve().as_uri())
    if "trl-lint" not in (tab.text_content("body") or "") or tab.is_visible("form"):
        faults.append("cannot be read without scripts")
    view.close()
    if slowest > _MOST_SECONDS:
        faults.append(f"took {slowest:.2f} s to open")
    print(f"{page.name}: {page.stat().st_size} bytes, opened in {slowest:.2f} s at most")
    return faults


def _listened_to(tab: Any, faults: list[str]) -> Any:
    """The tab, with what it asks for and complains about among the faults."""

    def asked(request: Any) -> None:
        if not request.url.startswith("file:"):
            faults.append(f"asks for {request.url}")

    def complained(told: Any) -> None:
        if told.type == "error":
            faults.append(f"console: {told.text}")

    tab.on("request", asked)
    tab.on("console", complained)
    tab.on("pageerror", lambda error: faults.append(f"script: {error}"))
    return tab


def _used(tab: Any) -> list[str]:
    """What is wrong with the filter, used by the keyboard; and names that a screen reader would miss."""
    faults = []
    unnamed = "e => e.filter(one => !one.closest('label') && !one.textContent.trim()).length"
    if tab.eval_on_selector_all("select, input, button, summary", unnamed):
        faults.append("a control without a name")
    levels = tab.locator("input[name=level]")
    if levels.count():
        before = tab.locator("[data-rule]:not([hidden])").count()
        levels.first.focus()
        tab.keyboard.press("Space")
        if tab.locator("[data-rule]:not([hidden])").count() >= before:
            faults.append("the filter by level hides nothing")
        tab.keyboard.press("Space")
        if tab.locator("[data-rule]:not([hidden])").count() != before:
            faults.append("the filter by level shows nothing again")
    return faults


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
