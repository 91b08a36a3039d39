"""TRL505: a comment, an empty line or a blank after `\\` ends the command or becomes part of an argument."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from trl_lint.checks.launch._concern import level_at
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Fix
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.shell import Cut

# What can only be an argument: a flag, or a key of Hydra. `NAME=value` alone may be an assignment that was meant.
_ARGUMENT = regex(
    r"(?P<flag>--?[A-Za-z][\w.-]*)(?=[\s=\\\"'$]|\Z)"
    r"|(?P<key>(?:\+{1,2}|~)[A-Za-z_][\w./@-]*|[A-Za-z_][\w/@-]*(?:\.[\w/@-]+)+)="
)
_SCRIPT = regex(r"[ \t]*([\w./${}-]{1,200}\.py)(?=[\s\\])")
_BLANK = regex(r"<[A-Za-z][^<>]{0,200}>")
_INDENT = regex(r"[ \t]*")
_COMMENT_MARK = regex(r"[ \t]*(?:#[ \t]*)?")
_LINE = regex(r"(?P<content>[^\r\n]*)(?P<end>\r?\n|\Z)")
_CONTINUES = regex(r"(?<!\\)(?:\\\\)*(?P<sign>\\)(?P<blanks>[ \t]{1,200}(?:#[^\r\n]{0,400})?)?\Z")
_EMPTY_OR_COMMENT = regex(r"[ \t]*(?:#[^\r\n]*)?\Z")
_ESCAPED_BLANKS = regex(r"[ \t]+(?:\\[ \t]+)+")
_LONGEST_COMMAND = 500  # lines that are followed to repair a command


class FlagsDropped(Rule):
    code = "TRL505"
    launches = True

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        yield from self._escaped_blanks(launch, project)
        cut = launch.command.cut
        if cut is None or launch.command.errors or launch.source.language == "dockerfile":
            return
        if launch.is_documentation and any(_BLANK.search(word.raw) for word in launch.command.words):
            return  # a synopsis: its comments explain the blanks that somebody fills in
        argument = dropped_argument(launch.source, cut) or dropped_script(launch, cut)
        if argument is None:
            return
        yield self.finding(
            launch.source.location(cut.start, max(cut.start + 1, _line_end(launch.source.text, cut.start))),
            f"the command ends here: {read_reason(launch.source.text, cut)}, so `{argument}` and what follows it never"
            " reach the program",
            severity=level_at(launch, project, "warning" if launch.is_documentation else "error"),
            fix=edit_command(launch, cut),
        )

    def _escaped_blanks(self, launch: Launch, project: Project) -> Iterator[Finding]:
        """`train.py \\ --lr 1e-6` in one line: lines were joined, and their backslashes kept."""
        signs = escaped_blanks(launch)
        if not signs or launch.command.errors:
            return
        source = launch.source
        edits = tuple(source.edit(sign, sign + 1, "") for sign in signs)
        is_exact = not launch.command.outer and source.language != "python"
        yield self.finding(
            source.location(signs[0], signs[0] + 1),
            "a backslash joins lines only at the end of one: here it makes the blank behind it part of an argument, "
            "which the program does not know",
            severity=level_at(launch, project, "warning" if launch.is_documentation else "error"),
            fix=Fix("take the backslashes out", "safe", edits) if is_exact else None,
        )


def escaped_blanks(launch: Launch) -> list[int]:
    """Where a backslash stands alone before a flag, or a key of Hydra, that is on its line."""
    text, words = launch.source.text, launch.command.words
    found: list[int] = []
    for word, following in pairwise(words):
        gap = text[word.end : following.start]
        if "\\" in gap and _ESCAPED_BLANKS.fullmatch(gap) and _ARGUMENT.match(text, following.start):
            found += [word.end + at for at, sign in enumerate(gap) if sign == "\\"]
    return found


def dropped_argument(source: Source, cut: Cut) -> str | None:
    """The argument that the cut keeps from the program; None where nothing that was meant to belong to it follows."""
    mark = _COMMENT_MARK if source.language == "python" else _INDENT
    # A command in a docstring was read up to the end of its last line, others up to the start of the next one.
    line = cut.end if source.text[cut.end - 1] == "\n" else source.text.find("\n", cut.end) + 1 or len(source.text)
    indent = mark.match(source.text, line)
    assert indent is not None  # both match nothing, too
    argument = _ARGUMENT.match(source.text, indent.end())
    return (argument["flag"] or argument["key"]) if argument else None


def dropped_script(launch: Launch, cut: Cut) -> str | None:
    """The script that the cut keeps from a launcher, which then has none to start."""
    program, script = launch.program, launch.script
    if program is None or not program.starts_programs or launch.module or (script and (script.text or "x").strip()):
        return None
    start = launch.source.text.find("\n", cut.end - 1) + 1 or len(launch.source.text)
    found = _SCRIPT.match(launch.source.text, start)
    return found[1] if found is not None else None


def read_reason(text: str, cut: Cut) -> str:
    """Why the line ends although a backslash stands there."""
    if cut.blanks:
        rest = text[cut.start + 1 : _line_end(text, cut.start)]
        return "a comment follows the backslash" if "#" in rest else "a blank follows the backslash"
    what = "a comment line" if "#" in text[cut.start : cut.end] else "an empty line"
    return f"{what} follows the backslash"


def _line_end(text: str, offset: int) -> int:
    line = _LINE.match(text, offset)
    return line.end("content") if line else offset


# -- fix ----------------------------------------------------------------------------------------------------------


class _Repairs(NamedTuple):
    """What joins a command again: stretches to remove, and the comments to keep, which go above the command."""

    removed: list[tuple[int, int]]
    comments: list[str]
    end: int


def edit_command(launch: Launch, cut: Cut) -> Fix | None:
    """Join the command again: blanks behind a backslash go, comments move above the command.

    Withheld where the lines of the file are not the lines of the shell (a quoted script, a comment or docstring of
    Python), and for comments in a Makefile, where make would print them.
    """
    source, text = launch.source, launch.source.text
    if launch.command.outer or source.language == "python":
        return None
    repairs = read_repairs(text, cut)
    first = _first_line(text, launch.command.start)
    if source.file_offset(repairs.end) - source.file_offset(first) != repairs.end - first:
        return None
    edits = [source.edit(start, end, "") for start, end in repairs.removed]
    if repairs.comments:
        if source.language == "makefile":
            return None
        indent = text[first : _after_indent(text, first)]
        newline = "\r\n" if "\r\n" in text[first : repairs.end] else "\n"
        moved = "".join(f"{indent}{comment}{newline}" for comment in repairs.comments)
        edits.insert(0, source.edit(first, first, moved))
    what = "move the comments above the command" if repairs.comments else "let the backslash end its line"
    return Fix(what, "safe", tuple(edits))


def read_repairs(text: str, cut: Cut) -> _Repairs:
    """Every place at which the command is cut, from its first one on."""
    repairs = _Repairs([], [], cut.end)
    position = text.rfind("\n", 0, cut.start) + 1
    end = cut.end
    for _ in range(_LONGEST_COMMAND):
        line = _LINE.match(text, position)
        assert line is not None
        sign = _CONTINUES.search(line["content"])
        if sign is None or (position > cut.start and _has_open_quote(line["content"])):
            break
        between, following = _between(text, line.end())
        if _ARGUMENT.match(text, _after_indent(text, following)) is None:
            break
        if sign["blanks"]:
            repairs.removed.append((position + sign.start("blanks"), position + sign.end("blanks")))
            between = [sign["blanks"].strip(), *between]
        if following > line.end():
            repairs.removed.append((line.end(), following))
        repairs.comments.extend(comment for comment in between if comment)
        position, end = following, max(end, following)
    return repairs._replace(end=end)


def _between(text: str, position: int) -> tuple[list[str], int]:
    """The comments on the lines from `position` on, and the offset of the first line that is neither one nor empty."""
    comments: list[str] = []
    while position < len(text):
        line = _LINE.match(text, position)
        if line is None or not _EMPTY_OR_COMMENT.match(line["content"]):
            break
        comments.append(line["content"].strip())
        position = line.end()
    return comments, position


def _after_indent(text: str, offset: int) -> int:
    indent = _INDENT.match(text, offset)
    return indent.end() if indent else offset


def _has_open_quote(line: str) -> bool:
    return line.count('"') % 2 == 1 or line.count("'") % 2 == 1


def _first_line(text: str, offset: int) -> int:
    """The start of the line a command begins on, above all lines that are continued on it."""
    start = text.rfind("\n", 0, offset) + 1
    while start > 0:
        before = text.rfind("\n", 0, start - 1) + 1
        content = text[before:start].rstrip("\r\n")
        if not content.endswith("\\") or content.lstrip().startswith("#"):
            break
        start = before
    return start


rule = FlagsDropped()
