"""Where the comments of a file are, in every language that has them, and which lines share one comment.

Python follows flake8 to the letter: lines that a string or a backslash joins are looked at together, and the text is
searched as it is, strings included. Elsewhere a comment must be a comment.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import Source, SourceFile

_TOML_TOKEN = regex(
    r'"""(?:\\(?:.|\Z)|[^\\])*?(?:"{3,5}|\Z)|'
    r"'''.*?(?:'{3,5}|\Z)|"
    r'"(?:\\(?:.|\Z)|[^"\\\n])*(?:"|(?=\n)|\Z)|'
    r"'[^'\n]*(?:'|(?=\n)|\Z)|"
    r"(?P<comment>#[^\r\n]*)",
    re.DOTALL,
)
_HASH = regex(r"(?:^|(?<=[ \t]))#.*$")
_CONTINUED = regex(r"(?<!\\)(?:\\\\)*\\\Z")

_LANGUAGES = {
    ".py": "python", ".pyi": "python", ".ipynb": "notebook", ".yaml": "yaml", ".yml": "yaml", ".json": "json",
    ".toml": "toml", ".md": "markdown", ".markdown": "markdown", ".mdx": "markdown",
    ".sh": "shell", ".bash": "shell", ".slurm": "shell",
    ".sbatch": "shell", ".just": "shell", ".pbs": "shell", ".lsf": "shell", ".qsub": "shell", ".sge": "shell",
    ".zsh": "shell", ".dockerfile": "dockerfile", ".txt": "requirements", ".in": "requirements",
    ".cfg": "requirements", ".lock": "toml",
}  # fmt: skip


def language_of(path: str) -> str:
    """The language of a file by its name; "" where none of ours is known."""
    name = os.path.basename(path)
    if name.lower().startswith(("dockerfile", "containerfile")):
        return "dockerfile"
    if name in ("Makefile", "makefile", "GNUmakefile"):
        return "makefile"
    if name.lower() in ("justfile", ".justfile"):
        return "shell"
    return _LANGUAGES.get(os.path.splitext(name)[1].lower(), "")


class Comment(NamedTuple):
    """A comment from its `#` to the end of its line, in the text of its source.

    `certain` is False inside text that another language may own (a script in a YAML value, a here-document): it counts
    for what stands on its line, but nobody should be told that it is superfluous.
    """

    start: int
    end: int
    certain: bool = True


class Comments:
    """The comments of one source. Line numbers are 1-based and count in the text of the source."""

    __slots__ = ("_comments", "_groups", "_line_places", "embedded", "language", "source")

    def __init__(self, source: Source, language: str, mentioning: str = "") -> None:
        self.source = source
        self.language = language
        self._groups: dict[int, tuple[int, int]] = {}
        self._comments: list[Comment] = []
        self._line_places: list[int] | None = None
        self.embedded: list[tuple[int, int]] = []
        reader = _READERS.get(language)
        if reader is not None and (not mentioning or mentioning in source.text.lower()):
            reader(self)
        self._comments.sort()

    # -- asking ---------------------------------------------------------------------------------------------------

    def group(self, line: int) -> tuple[int, int]:
        """First and last line of the lines that share the comment of this one."""
        return self._groups.get(line, (line, line))

    def of_line(self, line: int) -> list[Comment]:
        """The comments that speak for a line, in order."""
        first, last = self.group(line)
        start = self.source.lines.starts[first - 1]
        end = self.source.lines.line_range(last)[1]
        return self._comments[bisect_left(self._comments, (start,)) : bisect_left(self._comments, (end + 1,))]

    def at(self, offset: int) -> Comment | None:
        """The comment a place of the source lies in."""
        index = bisect_left(self._comments, (offset + 1,)) - 1
        return self._comments[index] if index >= 0 and offset < self._comments[index].end else None

    def all(self) -> list[Comment]:
        return self._comments

    def is_embedded(self, offset: int) -> bool:
        return any(start <= offset < end for start, end in self.embedded)

    def holds(self, file_offset: int) -> bool:
        """Whether a place of the file lies in this source."""
        start = self.source.file_offset(0)
        return start <= file_offset <= max(start, self.source.file_offset(len(self.source.text)))

    def line_at(self, file_offset: int) -> int:
        """The line of the source at a place of the file."""
        if self._line_places is None:
            self._line_places = [self.source.file_offset(start) for start in self.source.lines.starts]
        return max(1, bisect_right(self._line_places, file_offset))

    # -- reading --------------------------------------------------------------------------------------------------

    def add(self, start: int, end: int) -> None:
        self._comments.append(Comment(start, end, not self.is_embedded(start)))

    def join(self, first: int, last: int) -> None:
        """Lines `first` to `last` share a comment, and so do groups they touch."""
        first, last = self.group(first)[0], self.group(last)[1]
        for line in range(first, last + 1):
            self._groups[line] = (first, last)

    def line(self, number: int) -> str:
        return self.source.lines.line_text(number)


def read_comments(file: SourceFile, mentioning: str = "") -> list[Comments]:
    """The comments of a file, one entry for each text in it. Raises SourceError if it cannot be read.

    With a word in lower case, nothing is read of texts that do not have it, whatever its case there.
    """
    return [Comments(source, language, mentioning) for source, language in _sources(file)]


def _sources(file: SourceFile) -> Iterator[tuple[Source, str]]:
    language = language_of(file.path)
    if language == "notebook":
        from trl_lint.sources.notebook import python_source, shell_lines

        yield from ((line, "shell") for line in shell_lines(file))
        yield python_source(file), "python"
    elif language == "markdown":
        from trl_lint.sources.markdown import fences

        for source in fences(Source(file, "markdown")):
            if source.language in _READERS:
                yield source, source.language
    elif language:
        yield Source(file, language), language


# -- one reader per language ------------------------------------------------------------------------------------------


def _read_python(comments: Comments) -> None:
    import io
    import tokenize

    source = comments.source
    # flake8 reads with universal line ends; columns stay what they are.
    text = source.text.replace("\r\n", "\n").replace("\r", "\n")
    starts = source.lines.starts
    groups: dict[int, tuple[int, int]] = {}
    found = []
    first, last = len(starts) + 2, -1
    try:
        for kind, string, (row, column), (end_row, _), _ in tokenize.generate_tokens(io.StringIO(text).readline):
            if kind in (tokenize.ENDMARKER, tokenize.DEDENT):
                continue
            first, last = min(first, row), max(last, end_row)
            if kind == tokenize.COMMENT:
                start = starts[row - 1] + column
                found.append((start, start + len(string)))
            if kind in (tokenize.NL, tokenize.NEWLINE):
                if last > first:
                    groups.update(dict.fromkeys(range(first, last + 1), (first, last)))
                first, last = len(starts) + 2, -1
    except (tokenize.TokenError, SyntaxError):
        return  # every line for itself, and no comment is certain: what flake8 does with such a file
    comments._groups = groups
    for start, end in found:
        comments.add(start, end)


def _read_toml(comments: Comments) -> None:
    position = comments.source.lines.position
    for match in _TOML_TOKEN.finditer(comments.source.text):
        if match["comment"] is not None:
            comments.add(match.start(), match.end())
        elif "\n" in match[0]:
            comments.join(position(match.start()).line, position(match.end()).line)


def _read_yaml(comments: Comments) -> None:
    import yaml

    text = comments.source.text
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    scalars: list[tuple[int, int]] = []
    try:
        for token in yaml.scan(text, Loader=loader):
            if isinstance(token, yaml.ScalarToken):
                span = (token.start_mark.index, token.end_mark.index)
                scalars.append(span)
                if token.style in ("|", ">"):
                    header = text.find("\n", span[0]) + 1
                    comments.embedded.append((header or span[1], span[1]))
    except (yaml.YAMLError, ValueError, RecursionError):
        comments.embedded = [(0, len(text))]  # a template, or broken: no comment is certain
        scalars = []
    _read_embedded(comments)
    starts = [start for start, _ in scalars]
    for line in range(1, len(comments.source.lines) + 1):
        begin, end = comments.source.lines.line_range(line)
        for match in re.finditer(r"(?:^|(?<=[ \t]))#", text[begin:end]):
            at = begin + match.start()
            index = bisect_right(starts, at) - 1
            inside = index >= 0 and at < scalars[index][1] and not _is_block_header(text, scalars[index][0], at)
            if not inside and not comments.is_embedded(at):
                comments.add(at, end)
                break


def _is_block_header(text: str, start: int, at: int) -> bool:
    """Whether a place lies on the line of `|` or `>`, where a comment may follow."""
    return text[start] in "|>" and "\n" not in text[start:at]


def _read_embedded(comments: Comments) -> None:
    """Comments by appearance, in stretches of another language; lines that end in a backslash go together."""
    position = comments.source.lines.position
    for start, end in comments.embedded:
        if end > start:
            _read_lines(comments, position(start).line, position(end - 1).line)


def _read_hash(comments: Comments) -> None:
    _read_lines(comments, 1, len(comments.source.lines))


def _read_lines(comments: Comments, first: int, last: int) -> None:
    """Comments of a line-based language: `#` at a line's start or after a blank, outside quotes."""
    lines = comments.source.lines
    for number in range(first, last + 1):
        text = lines.line_text(number)
        start = lines.starts[number - 1]
        at = _hash_outside_quotes(text)
        if at is not None:
            comments.add(start + at, start + len(text))
        elif number < last and _CONTINUED.search(text):
            comments.join(number, number + 1)
        if at is not None and not text[:at].strip() and number < last and comments.group(number)[0] < number:
            comments.join(number, number + 1)  # a comment line inside a continued command does not end it


def _hash_outside_quotes(text: str) -> int | None:
    quote = ""
    skip = False
    for at, char in enumerate(text):
        if skip:
            skip = False
        elif char == "\\" and quote != "'":
            skip = True
        elif quote:
            if char == quote:
                quote = ""
        elif char in "\"'":
            # An apostrophe in prose opens nothing: it needs a partner on its line.
            if text.find(char, at + 1) > 0:
                quote = char
        elif char == "#" and (at == 0 or text[at - 1] in " \t"):
            return at
    return None


def _read_requirements(comments: Comments) -> None:
    # Quotes do not protect: pip cuts a line at the first `#` after a blank.
    lines = comments.source.lines
    for number in range(1, len(lines) + 1):
        text = lines.line_text(number)
        if match := _HASH.search(text):
            comments.add(lines.starts[number - 1] + match.start(), lines.starts[number - 1] + len(text))
        elif number < len(lines) and _CONTINUED.search(text):
            comments.join(number, number + 1)


def _read_shell(comments: Comments) -> None:
    from trl_lint.sources.shell_parse import parse

    data = comments.source.text.encode("utf-8", "surrogatepass")
    spans: list[tuple[int, int]] = []
    waiting = [stretch.root for stretch in parse(data) if stretch.root is not None]
    while waiting:
        node = waiting.pop()
        if node.type == "comment":
            spans.append((node.start_byte, node.end_byte))
        elif node.type == "heredoc_body":
            comments.embedded.append((_characters(data, node.start_byte), _characters(data, node.end_byte)))
        else:
            if node.type in ("string", "raw_string", "ansi_c_string") and node.end_point[0] > node.start_point[0]:
                comments.join(node.start_point[0] + 1, node.end_point[0] + 1)
            waiting.extend(node.children)
    _read_embedded(comments)
    for start, end in spans:
        comments.add(_characters(data, start), _characters(data, end))
    commented = {comments.source.lines.position(comment.start).line for comment in comments.all()}
    for number in range(1, len(comments.source.lines)):
        if number not in commented and _CONTINUED.search(comments.line(number)):
            comments.join(number, number + 1)


def _characters(data: bytes, offset: int) -> int:
    return offset if data.isascii() else len(data[:offset].decode("utf-8", "surrogatepass"))


_READERS = {
    "python": _read_python,
    "toml": _read_toml,
    "yaml": _read_yaml,
    "requirements": _read_requirements,
    "shell": _read_shell,
    "makefile": _read_hash,
    "dockerfile": _read_hash,
}
