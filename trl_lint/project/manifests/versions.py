"""Releases that a text names without installing them: version lists of READMEs, what pip and conda list, compiled code.

Only what is the name of a known release of a known package counts, so that no other number is taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from trl_lint.project.pins import Manifest, Pin, Step
from trl_lint.regexes import regex
from trl_lint.sources import Source, SourceFile
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.requirements import is_exact, normalised

_ALIASES = {"pytorch": "torch", "flash-attention": "flash-attn"}
_VERSION = r"v?(?P<version>\d+(?:\.\d+)+(?:\.?(?:post|rc|a|b|dev)\d+)?)(?:\+[\w.]{1,30})?"
_NAME = r"(?P<name>[A-Za-z][\w.-]{0,40}[A-Za-z0-9])(?:\[[\w, .-]{0,60}\])?"
# A line of `pip freeze`, with what stands before it in a list.
_FROZEN = regex(rf"[ \t>*+-]{{0,20}}[`\"']?{_NAME}[ \t]{{0,20}}={{2,3}}[ \t]{{0,20}}{_VERSION}")
# A line of a list that gives a range.
_BOUND = r"(?:[<>]=?|~=|!=)[ \t]{0,9}\d[\w.]{0,20}"
_RANGED = regex(
    rf"[ \t>*+-]{{0,20}}[`\"']?{_NAME}[ \t]{{0,20}}(?P<specifier>{_BOUND}(?:[ \t]{{0,9}},[ \t]{{0,9}}{_BOUND}){{0,4}})"
)
# A line that is a command for whoever reads it.
_COMMAND = regex(
    r"[ \t]{0,40}(?:(?:#{1,3}|>)[ \t]{0,20})?(?:[-*$!%>][ \t]{0,9})?[`\"']{0,3}"
    r"(?P<command>(?:(?:uv|python3?[ \t]-m)[ \t]{1,9})?pip3?[ \t]{1,9}install[ \t][^\r\n#`]{1,300})"
)
# A line of `pip list` or `conda list`.
_LISTED = regex(rf"{_NAME}[ \t]{{1,60}}{_VERSION}(?=[ \t]|\Z)")
# What stands between such lines: comments, the head of a table, what comes from an address.
_BESIDE = regex(r"[#@-]|Package\b|\S+ @ ")
# In a sentence.
_SAID = regex(
    rf"(?<![\w./-]){_NAME}[`*]{{0,3}}[ \t]{{0,20}}"
    rf"(?:==?|[:@(\uff1a\uff08]|version\b|release\b)?[ \t]{{0,20}}[`*]{{0,3}}{_VERSION}(?![\w+]|\.\w)",
    re.IGNORECASE,
)
_HEADING = regex(r"[ \t]{0,3}#{1,6}[ \t]{1,60}(?P<title>.*)")
_UNDERLINE = regex(r"(?P<sign>[=~^*\"'#+-])(?P=sign){2,200}[ \t]{0,9}")
_ABOUT_VERSIONS = regex(
    r"environment|requirement|install|dependenc|version|setup|prerequisite|package|compatib|tested"
    r"|\u73af\u5883|\u4f9d\u8d56|\u5b89\u88c5|\u7248\u672c|\u914d\u7f6e",
    re.IGNORECASE,
)
_VERSION_COLUMN = regex(r"\bversions?\b|\bver\b|\brelease\b|\u7248\u672c", re.IGNORECASE)
_CELL_NAME = regex(rf"[ \t]{{0,20}}[*_`\[]{{0,4}}{_NAME}[*_`\]]{{0,4}}(?:\([^)|]{{0,60}}\))?[ \t]{{0,20}}")
_CELL_VERSION = regex(rf"[ \t]{{0,20}}[*_`]{{0,4}}={{0,2}}[ \t]{{0,20}}{_VERSION}[*_`]{{0,4}}[ \t]{{0,20}}")
_FENCE = regex(r"[ \t>]{0,20}(?:[-*+][ \t]{1,60})?(?P<sign>`{3,}|~{3,})[ \t]{0,20}(?P<word>[\w+-]*)")
# Blocks of these languages hold code or settings, in which a name and a version mean something else.
_CODE = frozenset(
    ("python", "py", "python3", "yaml", "yml", "json", "toml", "diff", "log", "html", "xml", "dockerfile")
)
# Words that make a release a bound, or the one that does not work.
_NO_STATEMENT = regex(
    r"\b(?:or|and) (?:later|higher|newer|above)|\bup to\b|\bsince\b|\bbelow\b|\bbefore\b|\bolder\b|\bnot\b|n't\b"
    r"|\bincompatib|\bbugs?\b|\bfrom\b|\u4ee5\u4e0a|\u4ee5\u4e0b|\u4e0d",
    re.IGNORECASE,
)
_LINE = regex(r"[^\r\n]+")
_LONGEST = 1000  # characters of a line; longer ones are data
_HEAD = regex(r'\s*"""\s*(?P<lines>(?:[\w.+]+\s+){2,6}?)__UNSLOTH_VERSIONING__')
_HEAD_LENGTH = 400
# What the head of Unsloth's compiled code names, in this order (unsloth_zoo/compiler.py, read in 2026.10.9).
_COMPILED = ("unsloth-zoo", "unsloth", "transformers", "trl")


def read_list(file: SourceFile) -> Manifest | None:
    """What `pip freeze`, `pip list` or `conda list` wrote; None for another file of such a name."""
    source = Source(file, "text")
    found: list[Pin] = []
    count = 0
    for line in _LINE.finditer(file.text):
        if len(line[0]) > _LONGEST or not line[0].strip() or _BESIDE.match(line[0]):
            continue
        match = _frozen(line[0]) or _LISTED.match(line[0])
        count += 1 if match is not None else -1
        found += _pins(match, line.start(), source)
    return Manifest(file.path, "freeze", (), told=tuple(found)) if found and count > 0 else None


def read_compiled(file: SourceFile) -> Manifest | None:
    """What the head of a file of Unsloth's cache says it was compiled for."""
    match = _HEAD.match(file.text[:_HEAD_LENGTH])
    if match is None:
        return None
    source = Source(file, "python")
    start = match.start("lines")
    found: list[Pin] = []
    for name, version in zip(_COMPILED, re.finditer(r"\S+", match["lines"]), strict=False):
        first, last = start + version.start(), start + version.end()
        found += _pin(name, version[0], first, last, f"{name} {version[0]}", source)
    return Manifest(file.path, "compiled", (), told=tuple(found)) if found else None


def told_in_commands(source: Source) -> tuple[Pin, ...]:
    """The releases in commands of pip that stand in lines of their own: comments, docstrings, examples."""
    lines = (line for line in _LINE.finditer(source.text) if "pip" in line[0])
    return tuple(pin for line in lines for pin in _told_to_install(line, source))


def _told_to_install(line: re.Match[str], source: Source) -> Iterator[Pin]:
    match = _COMMAND.match(line[0])
    if match is None or not is_statement(match["command"]):
        return
    from trl_lint.project.manifests.install_commands import read_installation
    from trl_lint.sources.shell import read_commands

    script = Pieces()
    script.copy(source.text, line.start() + match.start("command"), line.start() + match.end("command"))
    for command in read_commands(script.text, script, original=source.text):
        pins, _ = read_installation(command, None, source, Step(source.path, 0))
        yield from (pin._replace(step=None) for pin in pins if _is_told(pin.package, pin.specifier))


def told_in_page(file: SourceFile) -> tuple[Pin, ...]:
    """The releases that a page names: in blocks, tables, lists, commands, sentences under headings about versions."""
    source = Source(file, "markdown")
    found: list[Pin] = []
    fence, is_code, is_about, column, before = "", False, False, -1, ""
    for line in _LINE.finditer(file.text):
        text = line[0]
        if len(text) > _LONGEST:
            continue
        opening = _FENCE.match(text)
        if opening is not None and (not fence or opening["sign"].startswith(fence)):
            fence, is_code = ("" if fence else opening["sign"]), opening["word"].lower() in _CODE
            continue
        if fence:
            if not is_code:
                found += _listed(text, line, source)
            continue
        above, before = before, text
        if "|" in text:
            cells = text.strip().strip("|").split("|")
            if column < 0:
                column = next((at for at, cell in enumerate(cells) if at and _VERSION_COLUMN.search(cell)), -1)
            elif column < len(cells):
                found += _pins_of_row(cells, column, line, source)
            continue
        column = -1
        heading = _HEADING.match(text)
        if heading is not None or (above.strip() and _UNDERLINE.fullmatch(text)):
            is_about = _ABOUT_VERSIONS.search(heading["title"] if heading is not None else above) is not None
        elif pins := [*_listed(text, line, source), *_told_to_install(line, source)]:
            found += pins
        elif is_about and is_statement(text):
            found += [pin for match in _SAID.finditer(text) for pin in _pins(match, line.start(), source)]
    return tuple(found)


def is_statement(line: str) -> bool:
    """Whether no word of a line makes the releases in it a bound, or those that do not work."""
    return _NO_STATEMENT.search(line) is None


def _listed(text: str, line: re.Match[str], source: Source) -> Iterator[Pin]:
    """What a line of a list says of a package: its release, or a range of them."""
    if match := _frozen(text):
        yield from _pins(match, line.start(), source)
    elif (match := _alone(_RANGED.match(text), text)) is not None:
        package, specifier = _called(normalised(match["name"])), "".join(match["specifier"].split())
        if _is_told(package, specifier):
            start, end = line.start() + match.start("name"), line.start() + match.end()
            yield Pin(package, specifier, source.location(start, end), "requirement", text=source.text[start:end])


def _is_told(package: str, specifier: str) -> bool:
    """Whether a specifier tells a release: whoever follows one that allows the newest gets what anybody gets."""
    from trl_lint.knowledge.releases import newest
    from trl_lint.project.packages import allowed_by

    allowed = allowed_by(package, specifier) if specifier else None
    return bool(allowed) and (is_exact(specifier) or newest(package) not in (allowed or ()))


def _frozen(line: str) -> re.Match[str] | None:
    """A line that names one package and its release, with a comment at most behind it."""
    return _alone(_FROZEN.match(line), line)


def _alone(match: re.Match[str] | None, line: str) -> re.Match[str] | None:
    """A match at the beginning of a line, if no more than a comment stands behind it."""
    rest = line[match.end() :].lstrip("`\"', \t") if match is not None else ""
    return match if not rest or rest[0] in "#(;\\" else None


def _pins_of_row(cells: list[str], column: int, line: re.Match[str], source: Source) -> Iterator[Pin]:
    """What a row of a table says: the package in its first cell, the release in that of the versions."""
    name, version = _CELL_NAME.fullmatch(cells[0]), _CELL_VERSION.fullmatch(cells[column])
    if name is not None and version is not None:
        yield from _pin(
            name["name"], version["version"], line.start(), line.end(), f"{name['name']} {version['version']}", source
        )


def _pins(match: re.Match[str] | None, start: int, source: Source) -> Iterator[Pin]:
    if match is not None:
        first, last = start + match.start("name"), start + match.end("version")
        yield from _pin(match["name"], match["version"], first, last, source.text[first:last], source)


def _pin(name: str, version: str, start: int, end: int, text: str, source: Source) -> Iterator[Pin]:
    package = normalised(name)
    package = _called(package)
    if _is_release(package, version):
        yield Pin(package, f"=={version}", source.location(start, end), "requirement", text=text)


def _is_release(package: str, version: str) -> bool:
    from trl_lint.knowledge.releases import release_names

    return version in release_names(package)


def _called(name: str) -> str:
    """The package that a text calls so: by another name of its own, or by that of its modules."""
    from trl_lint.knowledge.families import families

    if name in _ALIASES:
        return _ALIASES[name]
    known = (family.arguments for family in families() if family.arguments is not None)
    return next((one.package for one in known if name in (one.imported_as, one.shown.lower())), name)
