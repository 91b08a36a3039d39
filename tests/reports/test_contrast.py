"""The colours of the pages, light and dark: every text can be read on every ground (WCAG 2.2, 1.4.3)."""

from __future__ import annotations

import re
from itertools import product

import pytest
from documents import ROOT

CSS = (ROOT / "trl_lint" / "reports" / "assets" / "page.css").read_text("utf-8")
TEXTS = ("fg", "dim", "bad", "warn", "hint", "link")
GROUNDS = ("bg", "card", "mark", "add", "del", "train", "serve", "both", "clash", "idle")
LIGHT, DARK = (dict(re.findall(r"--(\w+): (#\w+)", block)) for block in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL))


def luminance(colour: str) -> float:
    """The relative luminance of `#rgb` or `#rrggbb`, as WCAG defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_the_scale_is_that_of_wcag():
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#777", "#fff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read_on_every_ground(colours: dict[str, str]):
    assert colours.keys() == {*TEXTS, *GROUNDS, "line"}, "a new colour is a text, a ground or a line"
    low = {(text, ground): contrast(colours[text], colours[ground]) for text, ground in product(TEXTS, GROUNDS)}
    assert min(low.values()) >= 4.5, {pair: round(value, 2) for pair, value in low.items() if value < 4.5}


def test_no_rule_names_a_colour_of_its_own():
    rules = re.sub(r"/\*.*?\*/|:root \{.*?\}", "", CSS, flags=re.DOTALL)
    assert not re.findall(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsl|opacity", rules)
