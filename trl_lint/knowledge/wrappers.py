"""What commands are wrapped in: `rules/wrappers.toml`.

Files in which commands stand as values under keys (job files, task runners, editors), calls of Python that have one
started elsewhere or say what is installed there, and commands that run another.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Literal

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

# How a kind of file writes what it fills in itself, before any shell or program sees the text.
Blank = Literal["", "$X", "${X}", "${{ X }}", "$(X)", "{{ X }}", "{X}"]

# Without one of these words no file of the table holds a command: they are searched for before the table is read.
_KEYS = regex(
    rb"\b(?:run|commands?|cmds?|scripts?|args|arguments|entrypoint|entry_points|program|module|tasks|pip|deps"
    rb"|python_packages|packages|requirements|\w+(?:Command|_inline|YAML))\b"
)


class Block(NamedTuple):
    """A place in a file that holds a command. Keys are dotted, and count from the block; "" is the block itself.

    `at`           the way to such blocks: `jobs.*.steps[]`, with `*` for each entry of a mapping and `[]` for each item
                   of a list; "" is the root
    `script`       keys with a text for a shell, or with the lines of one
    `each`         the same, where every line has a shell of its own
    `words`        keys with the words of one command, one after the other; a text that stands alone is for a shell
    `front`        words that the program puts in front of them
    `parameters`   the key of the flags that are tried, by name; `flags`: how each word of the command that stands for
                   all of them writes one (`--{name}={value}`); `stands_for`: what other such words are, of which one in
                   braces names a key; `default`: the command where the block has none; `switches`: which of them write
                   a true one without a value, and a false one not at all
    `shell`        keys that say what reads the script; of another than a POSIX shell nothing is read
    `environment`  keys with variables: a block, a list of `NAME=value`, or of `name` and `value`. They count on every
                   level of the way, the inner ones last.
    `opens`        keys with which there may be variables that nobody knows here
    `sets`         by key ("" for always), variables that are set to what nobody knows here
    `counts`       by variable, the key with the number that it is set to
    `directory`    keys with the working directory, on every level of the way
    `mounts`       keys with folders that a container has under another name: `HOST:CONTAINER`, or blocks with `source`
                   and `target`
    `packages`     keys with what is installed before: a list of requirements, or a text with one a line
    `requirements` keys with the name of a file of requirements
    `inside`       by key, what a text under it is: a Dockerfile, or a file of the kind of that name, in YAML
    `gpus`         keys with the number of GPUs: a number, `A100:4`, `{A100: 4}`, `{count: 4}`; not where a key of
                   `gpus_unless` is there
    """

    at: tuple[str, ...] = ("",)
    script: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    front: tuple[str, ...] = ()
    parameters: str = ""
    flags: Mapping[str, str] = {}
    switches: tuple[str, ...] = ()
    stands_for: Mapping[str, str] = {}
    default: tuple[str, ...] = ()
    shell: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    opens: tuple[str, ...] = ()
    sets: Mapping[str, tuple[str, ...]] = {}
    counts: Mapping[str, str] = {}
    directory: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    inside: Mapping[str, str] = {}
    gpus: tuple[str, ...] = ()
    gpus_unless: tuple[str, ...] = ()

    def fault(self) -> str:
        given = (self.script, self.each, self.words, self.default, self.packages, self.requirements, self.inside)
        return "" if any(given) else "it holds no command"


class HoldingFile(NamedTuple):
    """A kind of file. All that is given must hold: `files`, patterns of its name, or with `/` of the end of its path;
    `has`, `any_of`, `without`: dotted keys of which all, at least one, none is there; `values`: keys with a text that
    fits one of these patterns; `only`: there is no other key at the root.

    `elsewhere`: what it starts runs on another machine or in a container. `blank`: what it fills in. `by_name`: its
    name alone tells it, so that a file of this name which cannot be read is broken. `defined`: by the beginning of the
    name of what it fills in, the keys under which its value stands in the file, on any level of the way to a command;
    of several values each is tried, unless there is a key of `chosen` beside them or on the way.
    """

    name: str
    evidence: tuple[str, ...]
    files: tuple[str, ...]
    block: tuple[Block, ...]
    has: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = {}
    only: frozenset[str] = frozenset()
    elsewhere: bool = False
    blank: Blank = ""
    defined: Mapping[str, tuple[str, ...]] = {}
    chosen: tuple[str, ...] = ()
    by_name: bool = False

    def fault(self) -> str:
        return "" if self.by_name or self.has or self.any_of or self.values else "nothing tells it from other files"


class Call(NamedTuple):
    """A call of Python that has a command started, or says what is installed where that happens.

    `name` is what is called; with a dot in front it is a method of what is made at run time, in a file that imports one
    of `imports` (none: in any). The others are names of arguments, "*" for those without a name, with a dot for what
    stands under a key of one:

    `text`          a text for a shell, `words`: the words of a command
    `script`        what Python starts, with `arguments`, and with `flags`, by name; `first`: may stand without its name
    `directory`     the working directory
    `packages`      requirements, `requirements`: a file with some, `options`: a text with options of that installation
    `releases`      by argument, the package of which it names the release
    `elsewhere`     it happens on another machine or in a container
    """

    name: tuple[str, ...]
    evidence: tuple[str, ...]
    imports: frozenset[str] = frozenset()
    text: str = ""
    words: str = ""
    script: str = ""
    arguments: str = ""
    flags: str = ""
    first: str = ""
    directory: str = ""
    packages: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    options: str = ""
    releases: Mapping[str, str] = {}
    elsewhere: bool = True

    def fault(self) -> str:
        given = (self.text, self.words, self.script, self.packages, self.requirements, self.releases)
        return "" if any(given) else "it starts and installs nothing"


class Wrapper(NamedTuple):
    """A command that runs another one: its names, and the words behind them, several for one joined by "|".

    `with_value`   options that take the next word, `pairs` the next two
    `arguments`    words of its own behind the options: an image, a host
    `separator`    the command stands behind `--`
    `text`         one word that is left is a text for a shell; several are the command
    `keys`         names of keys follow that text
    `script`       options whose value is such a text
    `fills`        it puts words in for `{}`, or behind the last one; at `:::` the command ends
    `assignments`  `NAME=value` may stand in front of the command; `sets`: options that set such a variable
    `clean`        the variables around it do not reach the command, or not with an option of `clears`
    `folder`       options with the folder that the command is started in, `mounts`: with one that a container has under
                   another name, as `HOST:CONTAINER`
    `container`    the command sees the files, folders and GPUs of a container or of another machine
    `several`      it may start the command several times
    `python`       the command may begin with the script, or at one of `module` with the name of a module
    `unless`       beginnings of options with which it runs something else
    `mixed`        options of its own may stand behind the program, too
    """

    name: tuple[str, ...]
    words: tuple[str, ...] = ()
    with_value: frozenset[str] = frozenset()
    pairs: frozenset[str] = frozenset()
    arguments: int = 0
    separator: bool = False
    text: bool = False
    keys: bool = False
    script: frozenset[str] = frozenset()
    fills: bool = False
    assignments: bool = False
    sets: frozenset[str] = frozenset()
    clean: bool = False
    clears: frozenset[str] = frozenset()
    folder: frozenset[str] = frozenset()
    mounts: frozenset[str] = frozenset()
    container: bool = False
    several: bool = False
    python: bool = False
    module: frozenset[str] = frozenset()
    unless: tuple[str, ...] = ()
    mixed: bool = False


class _Table(NamedTuple):
    file: tuple[HoldingFile, ...]
    call: tuple[Call, ...]
    command: tuple[Wrapper, ...]


@cache
def _table() -> _Table:
    from trl_lint.knowledge.rows import read_rows

    return read_rows("wrappers.toml", _Table)


def holding_files() -> tuple[HoldingFile, ...]:
    """Every kind of file of the table. Raises KnowledgeError if it is malformed."""
    return _table().file


@cache
def calls() -> Mapping[str, tuple[Call, ...]]:
    """The calls of the table by what is called. Raises KnowledgeError."""
    found: dict[str, list[Call]] = {}
    for row in _table().call:
        for name in row.name:
            found.setdefault(name, []).append(row)
    return {name: tuple(rows) for name, rows in found.items()}


@cache
def wrappers() -> Mapping[str, tuple[Wrapper, ...]]:
    """The commands that run another one, by name; those of more words first. Raises KnowledgeError."""
    found: dict[str, list[Wrapper]] = {}
    for row in sorted(_table().command, key=lambda row: -len(row.words)):
        for name in row.name:
            found.setdefault(name, []).append(row)
    return {name: tuple(rows) for name, rows in found.items()}


@cache
def names_of_wrappers(feature: Literal["container", "several", "python", "mixed"]) -> frozenset[str]:
    """The commands with a row of which this is so."""
    return frozenset(name for name, rows in wrappers().items() if any(getattr(row, feature) for row in rows))


def files_of_name(path: str) -> list[HoldingFile]:
    """The kinds that a file at an absolute path may be, by its name."""
    path = path.replace("\\", "/")
    return [kind for kind in holding_files() if any(_fits(path, pattern) for pattern in kind.files)]


def may_hold_commands(data: bytes) -> bool:
    """Whether bytes may hold a command under some key of the table."""
    return _KEYS.search(data) is not None


def keys_of(path: str) -> tuple[str, ...]:
    """The keys of a dotted path, of which those with dots of their own stand in double quotes."""
    return tuple(quoted or plain for quoted, plain in _KEY.findall(path))


_KEY = regex(r'"([^"]*)"|([^."]+)')


def _fits(path: str, pattern: str) -> bool:
    return fnmatchcase(path, f"*/{pattern}")
