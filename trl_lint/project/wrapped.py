"""The commands that stand as values under keys of YAML, JSON, TOML and INI files, by the rows of `rules/wrappers.toml`.

Each command knows the variables, the working directory and the GPUs that the file gives it. What runs on another
machine or in a container has the words of that around it (`Command.outer`), as behind `docker run`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from trl_lint.knowledge.wrappers import Block, HoldingFile, files_of_name, holding_files, keys_of, may_hold_commands
from trl_lint.project.fillings import BLANKS, Fillings, at_path
from trl_lint.project.mounts import Mount, mount_of, on_host, read_mount
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import Source, SourceError, SourceFile
from trl_lint.sources.excerpt import Excerpt
from trl_lint.sources.nodes import Mapping, Node, Scalar, Sequence, Value, value_of
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.scalar_text import filled, script_of
from trl_lint.sources.shell import Command, Word, read_commands
from trl_lint.sources.shell_options import MOST_OPTIONS, new_each
from trl_lint.sources.shell_state import State
from trl_lint.sources.shell_values import HOLE, Option
from trl_lint.sources.trees import read_trees

# What editors call the root of the project.
_ROOT = regex(r"\$\{(?:workspaceFolder|workspaceRoot|containerWorkspaceFolder)\}/?")
_SHELLS = regex(r"(?:.*/)?(?:ba|z|da|k)?sh\b")
_VARIABLE = regex(r"([A-Za-z_]\w*)(?:=(.*))?", re.DOTALL)
_COUNT = regex(r"(?:[\w.+/-]+:)*(\d+)")
# The key of a text in a list of blocks, which may have other keys as well.
_INNER = ("cmd", "command", "run")
_REQUIREMENT = regex(r"[^\s#][^\n]*")
_COMMENT = regex(r"\s#")
_PART = regex(r"\S+")
_DEVICES = "NVIDIA_VISIBLE_DEVICES"
_MOST_BLOCKS = 5_000  # of one file


class Held(NamedTuple):
    """The commands of one block of a file: the names of the entries that lead to it, the kind of the file, and the text
    that they stand in: the file, or one in it.
    """

    names: tuple[str, ...]
    kind: HoldingFile
    commands: list[Command]
    source: Source


def held_in(file: SourceFile) -> list[Held]:
    """The commands of a file, block by block, in the order of the text.

    Raises SourceError where a file whose name tells its kind cannot be read; of another one nobody knows what it is.
    """
    kinds = files_of_name(file.path) if may_hold_commands(file.data) else []
    source = Source(file, _language(file.path))
    if not kinds:
        return []
    try:
        roots = _roots(source)
    except (SourceError, RecursionError):
        if any(kind.by_name for kind in kinds):
            raise
        return []
    found: list[tuple[int, Held]] = []
    for root in roots:
        for kind in kinds:
            if isinstance(root, Mapping) and is_kind(root, kind):
                for block in kind.block:
                    found += _of_blocks(root, block, kind, source)
    return [held for _, held in sorted(found, key=lambda pair: pair[0])]


def _language(path: str) -> str:
    if path.endswith(".json"):
        return "json"
    if path.endswith(".ini"):
        return "ini"
    return "toml" if path.endswith((".toml", "Pipfile")) else "yaml"


def _roots(source: Source) -> list[Node]:
    if source.language != "json":
        return read_trees(source)
    from trl_lint.sources.json import read_json_text, without_comments

    return [read_json_text(without_comments(source.text))]


def is_kind(root: Mapping, kind: HoldingFile) -> bool:
    """Whether the root of a document is that of a kind of file whose name it has."""
    return (
        all(at_path(root, key) is not None for key in kind.has)
        and (not kind.any_of or any(at_path(root, key) is not None for key in kind.any_of))
        and not any(at_path(root, key) is not None for key in kind.without)
        and (not kind.only or root.keys() <= kind.only)
        and all(
            any(fnmatchcase(str(value_of(at_path(root, key))), pattern) for pattern in patterns)
            for key, patterns in kind.values.items()
        )
    )


# -- the way to a block -----------------------------------------------------------------------------------------------


class _Way(NamedTuple):
    """A node, the names of the entries that lead to it, and the mappings around it, outermost first."""

    node: Node
    names: tuple[str, ...]
    levels: tuple[Mapping, ...]


def _of_blocks(root: Mapping, block: Block, kind: HoldingFile, source: Source) -> Iterator[tuple[int, Held]]:
    for at in block.at:
        for number, way in enumerate(_ways(root, at)):
            if number >= _MOST_BLOCKS:
                from trl_lint import budget

                budget.note(
                    source.path, f"of its blocks with commands, those behind the first {_MOST_BLOCKS} were not read"
                )
                break
            commands = _Reader(way, block, kind, source.text).commands()
            if commands:
                yield way.node.start, Held(way.names, kind, commands, source)
            for key, name in block.inside.items():
                inner = at_path(way.node, key)
                if isinstance(inner, Scalar) and isinstance(inner.value, str):
                    yield from ((inner.start, held) for held in _inside(inner, name, way.names, source))


def _inside(scalar: Scalar, name: str, names: tuple[str, ...], source: Source) -> Iterator[Held]:
    """The commands of a text under a key: a Dockerfile, or a file in YAML of the kind with that name."""
    if isinstance(source, Excerpt):
        return  # what stands in a text under a key holds no others
    pieces = script_of(source.text, scalar)
    if name == "dockerfile":
        from trl_lint.sources.dockerfile import run_commands

        image = Excerpt(source.file, name, pieces)
        yield Held(names, HoldingFile(name, (), (), (), elsewhere=True), run_commands(image), image)
        return
    try:
        text = Excerpt(source.file, "yaml", pieces)
        roots = read_trees(text)
    except (SourceError, RecursionError):
        return
    for kind in holding_files():
        for root in roots if kind.name == name else ():
            for block in kind.block if isinstance(root, Mapping) else ():
                assert isinstance(root, Mapping)
                yield from (held._replace(names=names) for _, held in _of_blocks(root, block, kind, text))


def _ways(root: Mapping, path: str) -> Iterator[_Way]:
    ways = [_Way(root, (), (root,))]
    for key in keys_of(path):
        step = key.removesuffix("[]")
        ways = [after for way in ways for after in _steps(way, step)]
        for _ in range(key.count("[]")):
            ways = [_into(way, item) for way in ways if isinstance(way.node, Sequence) for item in way.node.items]
        ways = ways[: _MOST_BLOCKS + 1]
    yield from ways


def _steps(way: _Way, key: str) -> Iterator[_Way]:
    if not isinstance(way.node, Mapping):
        return
    if "*" not in key:
        node = way.node.get(key)
        if node is not None:
            yield _into(way, node)
        return
    for entry in way.node.entries:
        if isinstance(entry.key.value, str) and fnmatchcase(entry.key.value, key):
            yield _into(way, entry.value)._replace(names=(*way.names, entry.key.value))


def _into(way: _Way, node: Node) -> _Way:
    return _Way(node, way.names, (*way.levels, node) if isinstance(node, Mapping) else way.levels)


# -- one block --------------------------------------------------------------------------------------------------------


class _Reader:
    """What one block of a file starts."""

    def __init__(self, way: _Way, block: Block, kind: HoldingFile, text: str) -> None:
        self.way = way
        self.block = block
        self.kind = kind
        self.text = text
        self.fillings = Fillings(kind, way.levels, text)

    def commands(self) -> list[Command]:
        if any(not _is_shell(value) for level in self.way.levels for value in self._values(level, self.block.shell)):
            return []
        found: list[Command] = []
        lines = [node for key in self.block.script for node in self._texts(key)]
        if lines:
            found += self._of_lines(lines, self._state())
        for key in self.block.each:
            for node in self._texts(key):
                found += self._of_lines([node], self._state())
        if self.block.words or self.block.default:
            found += self._of_words(self._state())
        found += self._installed()
        if found and self.kind.elsewhere:
            front = (_made("docker"), _made(self.kind.name), *self._gpus())
            for command in found:
                command.outer = (*front, *command.outer)
        return found

    def _values(self, level: Mapping, keys: tuple[str, ...]) -> Iterator[Node]:
        for key in keys:
            node = at_path(level, key)
            if node is not None:
                yield node

    def _node(self, key: str) -> Node | None:
        return at_path(self.way.node, key) if key else self.way.node

    def _texts(self, key: str) -> list[Scalar]:
        """The texts under a key: one, or those of a list, of which each may stand under a key of its own."""
        node = self._node(key)
        found: list[Scalar] = []
        for item in node.items if isinstance(node, Sequence) else [node]:
            if isinstance(item, Mapping) and item is not node:
                item = next((inner for name in _INNER if isinstance(inner := item.get(name), Scalar)), None)
            if isinstance(item, Scalar) and isinstance(item.value, str):
                found.append(item)
        return found

    # -- variables and folder

    def _state(self) -> State:
        state = State()
        block = self.block
        if any(at_path(self.way.node, key) is not None for key in block.opens if self.way.node is not None):
            state.forget_all()
        directory: str | None = None if self.kind.elsewhere else ""
        for level in self.way.levels:
            for node in self._values(level, block.environment):
                for name, word in self._variables(node):
                    state.set(name, word, True)
            for node in self._values(level, block.directory):
                directory = self._folder(value_of(node), level)
        for variable, key in block.counts.items():
            found = counted(self._node(key))
            if found is not None:
                state.set(variable, self._number(*found), True)
        for key, names in block.sets.items():
            if not key or at_path(self.way.node, key) is not None:
                for name in names:
                    state.set(name, Word(None, "", 0, 0), True)
        state.change_directory(directory)
        return state

    def _folder(self, value: Value, level: Mapping) -> str | None:
        if not isinstance(value, str):
            return None
        folder = _ROOT.sub("", value, 1) if self.kind.blank == "${X}" else value
        if self.kind.blank and self.kind.defined:
            folder = self.fillings.of_word(folder)[0] or folder
        if "$" in folder or "{" in folder or "://" in folder or folder.startswith("~"):
            return None
        if folder.startswith("/") and self.kind.elsewhere:
            mounts = [mount for node in self._values(level, self.block.mounts) for mount in mounts_of(node)]
            return on_host(folder, mounts)
        folder = folder.rstrip("/").removeprefix("./")
        return "" if folder == "." else folder

    def _variables(self, node: Node) -> Iterator[tuple[str, Word]]:
        if isinstance(node, Mapping):
            for entry in node.entries:
                value = entry.value
                if isinstance(value, Mapping):
                    value = value.get("value") or value
                yield str(entry.key.value), self._word(value)
        for item in node.items if isinstance(node, Sequence) else [] if isinstance(node, Mapping) else [node]:
            if isinstance(item, Mapping):
                name, given = item.get("name"), item.get("value")
                if isinstance(name, Scalar):
                    yield str(name.value), self._word(item if given is None else given)
                continue
            match = _VARIABLE.fullmatch(str(value_of(item)))
            if match is not None:  # without a value it is that of whoever starts it
                word = self._word(item)
                known = match[2] if word.text is not None else None
                yield match[1], word._replace(text=known)

    # -- scripts

    def _script(self, scalar: Scalar, state: State) -> Pieces:
        if scalar.alias:
            script = Pieces()
            script.put(str(scalar.value), scalar.start, scalar.end)
        else:
            script = script_of(self.text, scalar)
        if self.kind.blank == "${X}" and "${" in script.text:
            script = _at_root(script)
        if not self.kind.blank:
            return script
        return filled(BLANKS[self.kind.blank], script, lambda blank: self.fillings.of_script(blank, state))

    def _of_lines(self, lines: list[Scalar], state: State) -> list[Command]:
        found: list[Command] = []
        for line in lines:  # one after the other in one shell: what a line sets holds for the next
            script = self._script(line, state)
            found += read_commands(script.text, script, state, original=self.text)
        return found

    # -- words

    def _of_words(self, state: State) -> list[Command]:
        block = self.block
        nodes = [node for key in block.words if isinstance(node := self._node(key), (Scalar, Sequence))]
        if not nodes and not block.default:
            return []
        if len(nodes) == 1 and not block.front and not block.parameters and isinstance(nodes[0], Scalar):
            return self._of_lines([nodes[0]], state) if isinstance(nodes[0].value, str) else []
        if block.front and self._node(block.words[0]) is None:
            return []
        words = self._words(nodes)
        program = words[len(block.front)] if len(words) > len(block.front) else None
        if program is None or (program.text is None and not program.template):
            return []
        first = next((word for word in words if word.end), program)
        words = [word if word.end else word._replace(start=first.start, end=first.start) for word in words]
        end = max(word.end for word in words)
        command = Command(tuple(words), state.view(), state.directory, min(word.start for word in words), end)
        command.exec_form = True
        return [command]

    def _words(self, nodes: list[Scalar | Sequence]) -> list[Word]:
        block = self.block
        words: list[Word] = []
        for node in nodes:
            if isinstance(node, Sequence):
                for item in node.items:
                    words += self._filled(item)
            elif isinstance(node, Scalar):
                has_blank = any(char.isspace() for char in str(node.value))
                if has_blank and (node is not nodes[0] or (len(nodes) > 1 and not block.front)):
                    words += self._split(node)
                else:
                    words += self._filled(node)
        if not nodes:
            words = [word for name in block.default for word in self._stands_for(name, self.way.node)]
        return [*map(_made, block.front), *words]

    def _split(self, scalar: Scalar) -> list[Word]:
        """The words of a text that is split as a shell splits."""
        found = self._of_lines([scalar], State())
        return list(found[0].words) if found else []

    def _filled(self, node: Node) -> list[Word]:
        value = value_of(node)
        if self.block.parameters and isinstance(value, str) and value.startswith("${"):
            return self._stands_for(value, node)
        return [self._word(node)]

    def _word(self, node: Node) -> Word:
        """A value as a program gets it; not known where something is filled in, or YAML may read another value."""
        raw = self.text[node.start : node.end]
        value = value_of(node)
        if isinstance(node, Scalar) and not isinstance(value, str) and raw.isdecimal():
            value = raw
        if not isinstance(value, str) or not isinstance(node, Scalar):
            return Word(None, raw, node.start, node.end)
        if self.kind.blank == "${X}":
            value = _ROOT.sub("", value)
        if not self.kind.blank or BLANKS[self.kind.blank].search(value) is None:
            return Word(value, raw, node.start, node.end)
        template, texts = self.fillings.of_word(value)
        if len(texts) == 1:
            return Word(texts[0][1], raw, node.start, node.end)
        options = tuple(Option(key, (Word(text, raw, node.start, node.end),)) for key, text in texts)
        return Word(None, raw, node.start, node.end, False, "" if template == HOLE else template, options)

    # -- packages

    def _installed(self) -> list[Command]:
        """What is installed before anything starts, as the command that does it."""
        state = self._state()
        words: list[Word] = []
        for key in self.block.requirements:
            if isinstance(node := self._node(key), Scalar) and isinstance(node.value, str):
                words += [_made("-r")._replace(start=node.start), self._word(node)]
        lists = [node for key in self.block.packages if isinstance(node := self._node(key), (Scalar, Sequence))]
        for node in lists:
            is_file = isinstance(node, Scalar) and any(self._node(key) is node for key in self.block.requirements)
            for item in [] if is_file else node.items if isinstance(node, Sequence) else [node]:
                if isinstance(item, Scalar) and isinstance(item.value, str):
                    words += _required(self._script(item, state), self.text)
        if not words:
            return []
        start, end = min(word.start for word in words), max(word.end for word in words)
        front = [_made(text)._replace(start=start, end=start) for text in ("pip", "install")]
        command = Command((*front, *words), state.view(), state.directory, start, end)
        command.exec_form = True
        return [command]

    # -- flags that are tried

    def _stands_for(self, name: str, node: Node) -> list[Word]:
        block = self.block
        if name in block.flags:
            return self._flags(block.flags[name], name in block.switches)
        known = block.stands_for.get(name)
        if known is None:
            return [Word(None, name, node.start, node.end, name.startswith("${args"))]
        if known.startswith("{"):
            inner = self._node(known[1:-1])
            return [self._word(inner)] if isinstance(inner, Scalar) else []
        return [_made(known)]

    def _flags(self, form: str, has_switches: bool) -> list[Word]:
        parameters = self._node(self.block.parameters)
        found: list[Word] = []
        for entry in parameters.entries if isinstance(parameters, Mapping) else ():
            name = str(entry.key.value)
            start, end = entry.key.start, max(entry.key.end, entry.value.end)
            prefix = form.replace("{name}", name).replace("{value}", "")
            values = _values_of(entry.value)
            if has_switches and {"True", "False"} & set(values):
                if values == ["True"]:
                    found.append(Word(prefix.rstrip("="), self.text[start:end], start, end))
                elif values != ["False"]:
                    found.append(Word(None, self.text[start:end], start, end, True))
                continue
            if len(values) == 1:
                found.append(Word(prefix + values[0], self.text[start:end], start, end))
                continue
            options: tuple[Option, ...] = ()
            if 1 < len(values) <= MOST_OPTIONS:
                decision = new_each()
                options = tuple(
                    Option(frozenset({(decision, way)}), (Word(prefix + value, self.text[start:end], start, end),))
                    for way, value in enumerate(values)
                )
            found.append(Word(None, f"{prefix}{HOLE}", start, end, False, f"{prefix}{HOLE}", options))
        return found

    # -- GPUs

    def _gpus(self) -> Iterator[Word]:
        """The GPUs of a block as options of `docker run`, none where the file does not tell how many there are."""
        block = self.block
        if any(at_path(self.way.node, key) is not None for key in block.gpus_unless):
            return
        for level in self.way.levels:
            for node in self._values(level, block.environment):
                for name, word in self._variables(node):
                    if name == _DEVICES and word.text is not None:
                        yield word._replace(text="-e")
                        yield word._replace(text=f"{name}={word.text}")
        given = [counted(inner) for key in block.gpus if (inner := self._node(key)) is not None]
        first = given[0] if given and len({each and each[0] for each in given}) == 1 else None
        if first is not None and first[0]:
            word = self._number(*first)
            yield word._replace(text=f"--gpus={word.text}")

    def _number(self, number: int, node: Node) -> Word:
        return Word(str(number), self.text[node.start : node.end], node.start, node.end)


def counted(node: Node | None) -> tuple[int, Node] | None:
    """How many there are by a node, and what says it: `4`, `A100:4`, `{A100: 4}`, `{count: 4}`, `{device_ids: [0, 1]}`,
    or a list that says the same in all its items, or has one block; None where it does not tell.
    """
    if isinstance(node, Scalar):
        match = _COUNT.fullmatch(str(node.value)) if not isinstance(node.value, bool) else None
        return (int(match[1]), node) if match is not None and len(match[1]) < 6 else None
    if isinstance(node, Mapping):
        return _counted_block(node)
    if isinstance(node, Sequence) and node.items:
        if len(node.items) > 1 and any(isinstance(item, Mapping) for item in node.items):
            return None
        found = [counted(item) for item in node.items]
        return found[0] if len({each and each[0] for each in found}) == 1 else None
    return None


def _counted_block(node: Mapping) -> tuple[int, Node] | None:
    if value_of(node.get("driver")) not in (None, "nvidia"):
        return None
    count, ids = node.get("count"), node.get("device_ids")
    if isinstance(ids, Sequence) and count is None and ids.items:
        names = {str(value_of(item)) for item in ids.items}
        return None if any("$" in name or "," in name or name == "all" for name in names) else (len(names), ids)
    if count is not None:
        return counted(count) if ids is None else None
    return counted(node.entries[0].value) if len(node.entries) == 1 else None


def mounts_of(node: Node) -> Iterator[Mount]:
    """The mounts of a list of them."""
    for item in node.items if isinstance(node, Sequence) else ():
        if isinstance(item, Mapping):
            found = mount_of(value_of(item.get("source")), value_of(item.get("target")))
        else:
            found = read_mount(str(value_of(item)))
        if found is not None:
            yield found


def _values_of(node: Node) -> list[str]:
    """The values that a flag is tried with, as its program gets them; none where they are not all written out."""
    if isinstance(node, Scalar):
        return [_shown(node)]
    if not isinstance(node, Mapping):
        return []
    one, several = node.get("value"), node.get("values")
    if isinstance(one, Scalar):
        return [_shown(one)]
    if isinstance(several, Sequence) and all(isinstance(item, Scalar) for item in several.items):
        return list(dict.fromkeys(_shown(item) for item in several.items if isinstance(item, Scalar)))
    return []


def _shown(scalar: Scalar) -> str:
    return str(scalar.value)


def _made(text: str) -> Word:
    """A word that is written nowhere."""
    return Word(text, text, 0, 0)


def _required(script: Pieces, text: str) -> Iterator[Word]:
    """The words of requirements, one a line: an option and its value, or all of the line."""
    for line in _REQUIREMENT.finditer(script.text):
        last = len(_COMMENT.split(line[0], 1)[0].rstrip())
        parts = _PART.finditer(line[0], 0, last) if line[0].startswith("-") else [None]
        for part in parts:
            first, behind = (0, last) if part is None else part.span()
            start, end = script.start(line.start() + first), script.end(line.start() + behind)
            yield Word(line[0][first:behind], text[start:end], start, end)


def _is_shell(node: Node) -> bool:
    if isinstance(node, Sequence) and node.items:
        node = node.items[0]
    value = value_of(node)
    return not isinstance(value, str) or _SHELLS.match(value) is not None


def _at_root(script: Pieces) -> Pieces:
    """A text in which names of files do not begin with the root of the project."""
    result = Pieces(script)
    position = 0
    for match in _ROOT.finditer(script.text):
        result.copy(script.text, position, match.start())
        result.put("" if match[0].endswith("/") else ".", match.start(), match.end())
        position = match.end()
    result.copy(script.text, position, len(script.text))
    return result
