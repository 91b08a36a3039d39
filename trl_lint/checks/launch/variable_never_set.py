"""TRL507: a launch script uses a variable that nothing sets, or the name of one that it sets in place of its value."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trl_lint.checks.launch._concern import concerns_models, level_at
from trl_lint.checks.rule import Rule
from trl_lint.finding import Edit, Finding, Fix
from trl_lint.grading import beside
from trl_lint.project import Project
from trl_lint.project.launch_table import launches_in
from trl_lint.project.launches import Launch
from trl_lint.project.starters import files_naming
from trl_lint.regexes import regex
from trl_lint.sources import Source

# Names in small letters are the own ones of a script; capitals are what one inherits.
_OWN = regex(rb"(?=.{3})[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_WITHOUT_DOLLAR = regex(r"(?<![\w$.{/-])\w+(?![\w.-])")
# What may be such a variable where it is used: nothing else is expanded as it is.
_USED = regex(r"\$\{*([a-z][a-z0-9_]{2,})")
# A name of at least two words, which is no value that anybody would type.
_SPOKEN = regex(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
# What may set names that are not written out, or that stand in another file.
_SETS_ANYTHING = regex(
    r"(?:^|[\n;&|({]|\bthen|\bdo|\belse)[ \t]*(?:source|\.|eval)\s|\bset\s+-a\b|"
    r"\b(?:declare|export|local|typeset|read)\s{1,20}(?:-\w{1,9}\s{1,9}){0,9}[\"']?\$|"
    r"\bprintf\s+-v\b|--export[= ]|\$\{!|\bgetopts\b|\benvsubst\b"
)


class VariableNeverSet(Rule):
    code = "TRL507"
    launches = True

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        source = launch.source
        if source.language != "shell" or launch.is_documentation or launch is not launches_in(source.path, project)[0]:
            return
        without_dollar = list(self._without_dollar(source, project))
        set_here = names_without_dollar(source.text)
        if not without_dollar and set_here.issuperset(_USED.findall(source.text)):
            return
        if _SETS_ANYTHING.search(source.text):  # which takes as long as all above
            return
        yield from without_dollar
        told: set[str] = set()
        launches = launches_in(source.path, project)
        level = beside("warning", not any(concerns_models(one, project) for one in launches))
        for name, start, end in plain_expansions(source):
            if name in told or name in set_here:
                continue
            told.add(name)
            if not files_naming(source.path, project):  # which may export what the script needs
                message = f"nothing in this script sets `{name}`: it is empty unless the shell around it exports one"
                yield self.finding(source.location(start, end), message, severity=level)

    def _without_dollar(self, source: Source, project: Project) -> Iterator[Finding]:
        """`model.path=model_path` in a script that sets `model_path` and uses it nowhere."""
        for launch in launches_in(source.path, project):
            for word in launch.args:
                name = (word.text or "").rpartition("=")[2]
                if not word.raw.endswith(name) or not _SPOKEN.fullmatch(name) or not is_only_set(name, source.text):
                    continue
                start = word.end - len(name)
                yield self.finding(
                    source.location(start, word.end),
                    f"this is the text `{name}`, but the script sets a variable of that name and uses it nowhere: "
                    f"write `${name}`",
                    severity=level_at(launch, project, "warning"),
                    fix=Fix(f"write `${name}`", "unsafe", (Edit(source.path, start, start, "$"),)),
                )


def is_only_set(name: str, text: str) -> bool:
    """Whether a script gives the variable a value on a line of its own, once, and nothing expands or exports it."""
    found = re.findall(rf"^{name}=([^\s#;&|]+)[ \t]*\r?$", text, re.MULTILINE)
    if len(found) != 1 or found[0].strip("\"'") == name:
        return False
    return re.search(rf"\$\{{?[#!]?{name}\b|\bexport\b[^\n]{{0,300}}\b{name}\b", text) is None


def plain_expansions(source: Source) -> Iterator[tuple[str, int, int]]:
    """The variables of the script's own kind that are used as they are, `$name` or `${name}`, and where.

    `${name:-default}` and its like are prepared for a missing value.
    """
    from trl_lint.sources.shell_parse import parse
    from trl_lint.sources.shell_text import Offsets

    offsets = Offsets(source.text)
    waiting = [stretch.root for stretch in parse(offsets.data)[::-1] if stretch.root is not None]
    while waiting:
        node = waiting.pop()
        if node.type in ("simple_expansion", "expansion") and node.text is not None:
            name = node.text.strip(b"${}")
            if _OWN.fullmatch(name):
                yield name.decode(), offsets(node.start_byte), offsets(node.end_byte)
            continue
        waiting.extend(reversed(node.children))


def names_without_dollar(text: str) -> set[str]:
    """The names that may be set: they stand somewhere in the script but behind a `$` or as a part of a longer word.

    `data.name=…` and `--name` are keys of the program. A comment that shows `name=… bash run.sh` counts.
    """
    return set(_WITHOUT_DOLLAR.findall(text))


rule = VariableNeverSet()
