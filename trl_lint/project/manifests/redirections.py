"""Requirements of install commands that the shell cuts off: outside of quotes `>` and `<` are redirections.

`pip install trl>=0.15` installs `trl`, and what pip prints goes to a file named `=0.15`. `%pip` of IPython hands its
line to a shell as well (IPython/core/magics/packaging.py, read in 8.37.0).
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.finding import Edit, Fix, Location
from trl_lint.project.manifests.install_commands import installation_of
from trl_lint.project.pins import CutOff
from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.requirements import RequirementError, read_requirement
from trl_lint.sources.shell import Command, Word

_NAME = regex(r"[A-Za-z][\w.-]*(?:\[[\w.,-]*\])?")
_SIGN = regex(r"[ \t]*[<>](?P<file>=\d)|[<>](?P<number>\d+\.\d)")
# What a shell would still take for a part of the words and redirections that follow each other without a blank.
_REST = regex(r"[ \t]*[\w.*+!,<>=~-]*")
_FILE = regex(r"[^<>]*")
_QUOTES = ('"', "'")


def cut_off(command: Command, source: Source) -> Iterator[CutOff]:
    """The requirements of an install command that lose their versions to the shell."""
    found = installation_of(command.words)
    if found is None or command.exec_form or command.errors or not command.redirects:
        return
    targets = {redirect.target.start for redirect in command.redirects}
    for word in command.words[found.first :]:
        sign = _SIGN.match(source.text, word.end)
        is_plain = source.text[word.start : word.end] == word.raw == word.text
        if sign is not None and is_plain and sign.start(sign.lastgroup or 0) in targets and _NAME.fullmatch(word.raw):
            yield from _read(word, command, source)


def _read(word: Word, command: Command, source: Source) -> Iterator[CutOff]:
    rest = _REST.match(source.text, word.end)
    assert rest is not None  # it matches nothing, too
    try:
        requirement = read_requirement(source.text, word.start, rest.end())
    except RequirementError:
        return
    signs = rest[0].lstrip(" \t")
    stop = signs.find("<")
    file = _FILE.match(signs, max(stop, 0) + 1)
    assert file is not None
    location = source.location(word.start, rest.end())
    text = source.text[word.start : rest.end()]
    fix = _quoted(location, command, source)
    yield CutOff(requirement.package, text, word.raw, file[0], stop >= 0, location, fix)


def _quoted(location: Location, command: Command, source: Source) -> Fix | None:
    """Quote the requirement; None where its line has quotes of both kinds, or holds the command inside quotes."""
    text = source.file.text
    start = text.rfind("\n", 0, location.start) + 1
    end = text.find("\n", location.end)
    line = text[start : end if end >= 0 else len(text)]
    quote = next((quote for quote in _QUOTES if quote not in line), None)
    written = text[location.start : location.end]
    if quote is None or command.outer or "\\" in written:
        return None
    quoted = f"{quote}{written}{quote}"
    return Fix(f"Quote it: {quoted}", "safe", (Edit(source.path, location.start, location.end, quoted),))
