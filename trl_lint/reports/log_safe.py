"""JSON that may end in the log of a CI job, and whether what is printed does: see `streams`."""

from __future__ import annotations

from typing import TextIO

from trl_lint import tracked
from trl_lint.streams import escaped_orders

# Set by GitHub Actions, GitLab, Azure Pipelines and nearly every other service.
_VARIABLES = ("CI", "GITHUB_ACTIONS", "TF_BUILD")


def dump_json(document: object, stream: TextIO) -> None:
    """Write JSON that is safe everywhere: plain ASCII, and no order to a runner in it."""
    import json

    # It can only stand inside of strings, where characters may be escaped.
    stream.write(escaped_orders(json.dumps(document, indent=2, ensure_ascii=True), r"\u0023"))
    stream.write("\n")


def is_ci_log() -> bool:
    """Whether what is printed here may be read by the runner of a CI job."""
    return any(tracked.variable(name) not in (None, "", "0", "false") for name in _VARIABLES)
