"""Colours and hyperlinks, or none."""

from __future__ import annotations

from typing import TextIO

from trl_lint import tracked

_LEVELS = {"error": "1;31", "warning": "1;33", "info": "1;36"}


class Palette:
    """Paints text; a palette that is off returns it as it is."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def _paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.on and text else text

    def level(self, text: str, severity: str) -> str:
        return self._paint(text, _LEVELS[severity])

    def bold(self, text: str) -> str:
        return self._paint(text, "1")

    def faint(self, text: str) -> str:
        return self._paint(text, "2") if text else ""

    def blue(self, text: str) -> str:
        return self._paint(text, "1;34")

    def green(self, text: str) -> str:
        return self._paint(text, "32")

    def red(self, text: str) -> str:
        return self._paint(text, "31")

    def cyan(self, text: str) -> str:
        return self._paint(text, "36")

    def link(self, text: str, url: str) -> str:
        """An OSC 8 hyperlink; the caller decides whether the terminal gets one."""
        return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\"


def wants_color(choice: str, stream: TextIO) -> bool:
    """--color before FORCE_COLOR before NO_COLOR before what the stream is."""
    if choice != "auto":
        return choice == "always"
    force = tracked.variable("FORCE_COLOR")
    if force and force != "0":
        return True
    if tracked.variable("NO_COLOR"):
        return False
    return stream.isatty() and tracked.variable("TERM") != "dumb"
