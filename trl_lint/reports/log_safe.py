"""Text that may end in the log of a CI job, where some lines are orders to the runner.

GitHub Actions obeys a line that begins with `::name`, after blanks, and one that holds `##[name]` anywhere
(actions/runner, src/Runner.Common/ActionCommand.cs); Azure Pipelines obeys `##vso[name]`, TeamCity `##teamcity[name]`.
A file name or a line of a stranger's pull request may hold any of these.
"""

from __future__ import annotations

from typing import TextIO

from trl_lint import tracked
from trl_lint.regexes import regex

_COMMAND = regex(r"##(?=\w*\[)")
# Set by GitHub Actions, GitLab, Azure Pipelines and nearly every other service.
_VARIABLES = ("CI", "GITHUB_ACTIONS", "TF_BUILD")


def without_orders(text: str) -> str:
    """The text with the characters written out by which it would be an order to a runner."""
    if "##" in text:
        text = _COMMAND.sub(r"#\\x23", text)
    start = len(text) - len(text.lstrip())
    return f"{text[:start]}\\x3a{text[start + 1 :]}" if text.startswith("::", start) else text


def places_of_orders(line: str) -> frozenset[int]:
    """The places in a line of the characters that `without_orders` writes out in its middle."""
    return frozenset(match.start() + 1 for match in _COMMAND.finditer(line)) if "##" in line else frozenset()


def dump_json(document: object, stream: TextIO) -> None:
    """Write JSON that is safe everywhere: plain ASCII, and no order to a runner in it."""
    import json

    # It can only stand inside of strings, where characters may be escaped.
    stream.write(_COMMAND.sub(r"#\\u0023", json.dumps(document, indent=2, ensure_ascii=True)))
    stream.write("\n")


def is_ci_log() -> bool:
    """Whether what is printed here may be read by the runner of a CI job."""
    return any(tracked.variable(name) not in (None, "", "0", "false") for name in _VARIABLES)
