"""Pictures of six pages of the built site, on a telephone and on a desk, for people to look at:
`python website/screens.py build/site FOLDER [/usr/bin/chromium]`, with playwright in the environment.

The pages are opened from the folder, without a network, and what a page asks of one is a fault. So is a page that is
wider than its window, a search that finds nothing, and a filter of the rules that leaves them all.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

PAGES = (
    "index.html",
    "rules.html",
    "rules/TRL301.html",
    "changes/trl-1.16.html",
    "stories/vllm-device-mismatch.html",
    "zh/index.html",
)
WINDOWS = {"phone": (390, 844), "desk": (1440, 900)}


def look(page: Any, site: Path, folder: Path) -> list[str]:
    faults: list[str] = []
    page.on("request", lambda asked: faults.extend([f"asks for {asked.url}"] * asked.url.startswith("http")))
    page.on("pageerror", lambda error: faults.append(f"{page.url}: {error}"))
    for name in PAGES:
        page.goto((site / name).resolve().as_uri())
        for window, (width, height) in WINDOWS.items():
            page.set_viewport_size({"width": width, "height": height})
            wide = page.evaluate("document.documentElement.scrollWidth")
            if wide > width:
                faults.append(f"{name}: {wide} wide in a window of {width}")
            page.screenshot(path=str(folder / f"{name.replace('/', '-').removesuffix('.html')}-{window}.png"))
    page.goto((site / "rules.html").resolve().as_uri())
    page.get_by_label("concerns").select_option("verl")
    shown = page.locator("tbody tr:visible").count()
    if not 0 < shown < 40:
        faults.append(f"rules.html: {shown} rules concern verl")
    page.screenshot(path=str(folder / "rules-filtered-desk.png"))
    page.get_by_label("Search", exact=True).first.fill("vllm_device")
    page.wait_for_selector(".md-search-result__item", timeout=20_000)
    page.screenshot(path=str(folder / "search-desk.png"))
    return faults


def main(site: str, folder: str, browser: str = "") -> int:
    from playwright.sync_api import sync_playwright

    Path(folder).mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=browser or None, args=["--no-sandbox"])
        faults = look(started.new_page(), Path(site), Path(folder))
        started.close()
    print("\n".join([*faults, f"{2 * len(PAGES) + 2} pictures in {folder}, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
