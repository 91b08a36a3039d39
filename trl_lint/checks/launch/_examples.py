"""Commands of a document that are examples: names that stand for any file, and pairs of what to write and what not."""

from __future__ import annotations

import os
import re

from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.project.templates import is_named_as_template
from trl_lint.regexes import regex

# Documents that tell contributors, or the assistants of an editor, how to work; their commands are about any file.
_FOR_CONTRIBUTORS = regex(
    r"(?:claude|agents?|gemini|copilot|copilot-instructions|cursorrules|windsurfrules|contributing|development|"
    r"developing|hacking|style_?guide|guidelines|conventions|skill)(?=[._-])[\w.-]{0,100}\.(?:md|markdown)\Z",
    re.IGNORECASE,
)
# Names that stand for any other.
_ANY = regex(
    r"(?:(?:some|any|another|foo|bar|baz|xyz|dummy|hypothetical)(?:[_-]\w*)?"
    r"|custom[_-](?:config|recipe|args|settings|script)|script|filename|file)\.",
    re.IGNORECASE,
)
_ANY_TO_CONTRIBUTORS = regex(
    r"(?:(?:new|sample|example|my|your|the|this|test)(?:[_-](?:script|file|module|feature|model|config|test|something|"
    r"name|x+|foo|bar|example|change|recipe|trainer))?|module|name|path|config|x+)\.",
    re.IGNORECASE,
)
# A label over a command that is shown beside its opposite: `# Correct`, `**Incorrect:**`, `# ❌ …`.
_LABEL = regex(
    r"[ \t#/>*_-]*(?:[❌✗✘🚫]|(?:[✅✓✔]\ufe0f?[ \t]*)?"
    r"(?:(?:in)?correct|right|wrong|good|bad|do|don'?t|do not|not this|instead of)\b[ \t]*(?:[:(*_—–-].*)?\Z)",
    re.IGNORECASE,
)
_NEAR = 1_000  # characters


def is_example(name: str, launch: Launch, project: Project) -> bool:
    """Whether the command of a document shows how to write commands, not one to be run as it stands."""
    if not launch.is_documentation:
        return False
    if is_named_as_template(os.path.relpath(launch.source.path, project.root)):
        return True
    base = os.path.basename(name)
    if _ANY.match(base):
        return True
    if _FOR_CONTRIBUTORS.search(os.path.basename(launch.source.path)) and _ANY_TO_CONTRIBUTORS.match(base):
        return True
    return launch.source.language == "shell" and _is_labelled(launch)


def _is_labelled(launch: Launch) -> bool:
    """Whether a comment before the command, or the line before its block, is a label such as `# Incorrect`."""
    start = launch.command.start
    block = launch.source.text[max(0, start - _NEAR) : start]
    comments = [line for line in block.splitlines() if line.lstrip().startswith("#")]
    if comments and _LABEL.match(comments[-1]):
        return True
    start = launch.source.location(0, 0).start
    before = launch.source.file.text[max(0, start - _NEAR) : start].rstrip().splitlines()[:-1]
    above = next((line for line in reversed(before[-3:]) if line.strip()), "")
    return _LABEL.match(above) is not None
