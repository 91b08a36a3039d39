"""Simple commands, assignments, redirections and builtins: what the leaves of a shell tree do."""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable

from tree_sitter import Node

from trl_lint import budget
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.shell_fragments import inner_script
from trl_lint.sources.shell_state import State
from trl_lint.sources.shell_syntax import ARGUMENTS, NAME, appended, is_fed_to_shell, script_word
from trl_lint.sources.shell_values import HOLE, Array, Word
from trl_lint.sources.shell_words import Words
from trl_lint.sources.simple_commands import Command, Cut, Heredoc, Redirect

MAXIMUM_DEPTH = 120  # nesting that no person writes; deeper parts are left out instead of exhausting the stack

# These start somewhere else, or with a cleaned environment: nothing known here holds there.
_ELSEWHERE = frozenset({"docker", "podman", "kubectl", "ssh", "sudo", "ray", "enroot"})
# Files that set up a shell or a Python environment and leave the variables of a launch alone.
_HARMLESS_SOURCES = regex(
    r"(?:^|/)(?:activate|\.?bashrc|\.bash_profile|\.?profile|conda\.sh|init\.sh|bash)$|/etc/profile"
)
_HARMLESS_EVAL = regex(r"\b(?:conda|mamba|micromamba|ssh-agent|pyenv|direnv|modulecmd)\b")
_PLACEHOLDER = regex(r"(?<![<A-Za-z0-9&])<[A-Za-z](?:[\w ./-]*[\w./-])?>")
_OPERATORS = frozenset({"&&", "||"})
_CUT = regex(r"(?P<before>[ \t]*)\\(?:(?P<blanks>[ \t]+(?:#[^\n]*)?)(?=\r?\n|\Z)|\r?\n(?=[ \t]*(?:#|\r?\n)))")
_ESCAPED_IN_HEREDOC = regex(r"\\\\|\\`|\\\$(\{?\w+\}?|[@*#?])?")
_NOTHING = regex(r"(?:[ \t]*(?:#[^\n]*)?(?:\n|\Z))*")


class Tail(NamedTuple):
    """What a redirection around a command adds to it."""

    words: tuple[Node, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    heredocs: tuple[Heredoc, ...] = ()
    bodies: tuple[tuple[int, int], ...] = ()  # of the here-documents, in the text that is read
    errors: bool = False


class Around:
    """What holds where the walk over a script stands.

    `depth`: how deep the statement is nested. `branch`, `background`, `errors` and `function` are as in `Command`;
    `functions` are the names of those that the script has defined so far.
    """

    __slots__ = ("background", "branch", "depth", "errors", "function", "functions")

    def __init__(self, depth: int, branch: tuple[tuple[int, int], ...]) -> None:
        self.depth = depth
        self.branch = branch
        self.background = False
        self.errors = False
        self.function = ""
        self.functions: set[str] = set()


class Commands:
    """What the simple commands of one shell text do; `found` collects them.

    `read_inner` reads a script inside a word of this one, with a state of its own. `called` is told when a function of
    the script, or a command nobody knows, has run.
    """

    __slots__ = ("around", "called", "found", "read_inner", "shell", "state", "words")

    def __init__(
        self,
        words: Words,
        around: Around,
        read_inner: Callable[[Pieces, State], list[Command]],
        called: Callable[[], None],
    ) -> None:
        self.words = words
        self.shell = words.shell
        self.state = words.fragments.state
        self.around = around
        self.read_inner = read_inner
        self.called = called
        self.found: list[Command] = []

    def assignments(self, node: Node, tail: Tail) -> None:
        for child in node.named_children:
            self.assignment(child, tail)

    def assignment(self, node: Node, tail: Tail, exported: bool | None = None) -> None:
        name, value, operator = self._read_assignment(node)
        if name is None:
            return
        if operator == "+=":
            value = appended(self.state.get(name), value)
        self.state.set(name, value, exported)

    def _read_assignment(self, node: Node) -> tuple[str | None, Word | Array, str]:
        """Name, value and operator; the name is None (and its value forgotten) where one item of an array is set."""
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        operator = "+=" if any(child.type == "+=" for child in node.children) else "="
        if name is None or name.type != "variable_name":
            self.state.forget(NAME.findall(self.shell.slice(name))[:1] if name is not None else ())
            return None, self.shell.hole(node), operator
        if value is None:
            _, end = self.shell.span(node)
            return self.shell.slice(name), Word("", "", *self.shell.place(end, end)), operator
        if value.type == "array":
            items = [child for child in value.named_children if child.type != "comment"]
            words = tuple(word for item in items for word in self.words.of(item))
            return self.shell.slice(name), Array(words), operator
        return self.shell.slice(name), self.words.one_word(value), operator

    def declaration(self, node: Node, tail: Tail) -> None:
        keyword = node.children[0].type
        flags = "".join(self.shell.slice(child) for child in node.named_children if child.type == "word")
        exported = True if keyword == "export" or "x" in flags else None
        for child in node.named_children:
            if child.type == "variable_assignment":
                self.assignment(child, tail, exported)
            elif child.type == "variable_name":
                if "-n" in flags:
                    self.state.export(self.shell.slice(child), False)
                elif exported:
                    self.state.export(self.shell.slice(child))
            elif child.type != "word":
                # `export "NAME=value"`: the grammar sees one string.
                word = self.words.one_word(child)
                name, equals, text = (word.text or "").partition("=")
                if equals and NAME.fullmatch(name):
                    self.state.set(name, word._replace(text=text), exported)
                elif word.text is None:
                    self.state.forget(NAME.findall(word.raw.partition("=")[0])[:1])

    def unset(self, node: Node, tail: Tail) -> None:
        for child in node.named_children:
            if child.type == "variable_name":
                self.state.set(self.shell.slice(child), None, False)

    def command(self, node: Node, tail: Tail) -> None:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        nodes: list[Node] = []
        redirects = list(tail.redirects)
        extra: list[Node] = []
        pending: list[Node] = []
        for child in node.children:
            if child.type == "variable_assignment" and not words:
                name, value, _ = self._read_assignment(child)
                if name is not None:
                    assignments.append((name, value if isinstance(value, Word) else self.shell.hole(child)))
            elif child.type in ("file_redirect", "herestring_redirect"):
                self.redirect(child, extra, redirects)
            elif child.type == "command_name":
                pending.extend(child.children or [child])
            else:
                pending.append(child)
            for part in (*pending, *extra):
                self._add_words(part, words, nodes)
            pending.clear()
            extra.clear()
        for part in tail.words:
            self._add_words(part, words, nodes)
        if not words:
            return
        start = min(self.shell.span(node)[0], *(self.shell.span(n)[0] for n in nodes[:1]))
        end = max(self.shell.span(n)[1] for n in nodes)
        command = Command(tuple(words), self.state.view(), self.state.directory, *self.shell.place(start, end))
        command.assignments = tuple(assignments)
        command.redirects = tuple(redirects)
        command.heredocs = tail.heredocs
        command.background = self.around.background
        command.branch = self.around.branch
        command.function = self.around.function
        command.errors = self.around.errors or tail.errors or node.has_error or self._has_placeholder(node, redirects)
        if command.words and command.words[0].text in self.around.functions:
            command.errors = True  # the script's own function, whatever its name
        command.cut = self._cut(end)
        self.found.append(command)
        self._inner(command, nodes)
        self._fed(command, tail.bodies)
        self._builtin(command)

    def _cut(self, end: int) -> Cut | None:
        """The failed continuation behind a command whose last word ends at `end`."""
        match = _CUT.match(self.shell.text, end)
        if match is None:
            return None
        rest = _NOTHING.match(self.shell.text, match.end())
        after = rest.end() if rest else match.end()
        if not match["blanks"] and not match["before"] and self.shell.text.startswith("#", match.end()):
            return None  # `name\` and `#` below it are one word
        first, last = self.shell.place(match.end("before"), after)[0], self.shell.place(end, after)[1]
        return Cut(first, last, bool(match["blanks"]))

    def _has_placeholder(self, node: Node, redirects: list[Redirect]) -> bool:
        """`--model <your model> --lr 1` is a redirection for a shell, and a blank to fill in for whoever wrote it."""
        if not any(redirect.operator == "<" for redirect in redirects):
            return False
        start, end = self.shell.span(node)
        text = self.shell.text
        return _PLACEHOLDER.search(text, start, text.find("\n", end) + 1 or len(text)) is not None

    def _add_words(self, node: Node, words: list[Word], nodes: list[Node]) -> None:
        for word in self.words.of(node):
            words.append(word)
            nodes.append(node)

    def _inner(self, command: Command, nodes: list[Node]) -> None:
        """The commands inside `bash -c "…"` and `eval "…"`."""
        index = script_word(command.words)
        if index is None:
            return
        # `eval` puts all of its words together, and several words of a variable have one node.
        is_eval = command.words[0].text == "eval"
        script = list(dict.fromkeys(nodes[index:])) if is_eval else [nodes[index]]
        pieces = inner_script(self.words.fragments, script, is_eval)
        if pieces is None:
            return
        if self.around.depth >= MAXIMUM_DEPTH // 2:
            self.leave_out(nodes[index])
            return
        inner = self.read_inner(pieces, self._inner_state(command))
        for found in inner:
            found.outer = (*command.words[:index], *found.outer)
            found.background = found.background or command.background
            found.errors = found.errors or command.errors
        self.found.extend(inner)

    def leave_out(self, node: Node) -> None:
        """Say that something is nested too deeply to be read."""
        self._leave_out_at(self.shell.span(node)[0])

    def _leave_out_at(self, start: int) -> None:
        place, _ = self.shell.place(start, start)
        budget.limit(
            MAXIMUM_DEPTH, "commands that are nested some {} deep, as the reader counts, were not read", start=place
        )

    def _fed(self, command: Command, bodies: tuple[tuple[int, int], ...]) -> None:
        """The commands of a here-document that a shell or the scheduler gets, or that is written into a script."""
        if not bodies or not is_fed_to_shell(command):
            return
        if self.around.depth >= MAXIMUM_DEPTH // 2:
            self._leave_out_at(bodies[-1][0])
            return
        (start, end), quoted = bodies[-1], command.heredocs[-1].quoted
        pieces = Pieces(self.shell.pieces)
        position = start
        for match in _ESCAPED_IN_HEREDOC.finditer(self.shell.text, start, end) if not quoted else ():
            pieces.copy(self.shell.text, position, match.start())
            # What the outer shell does not expand belongs to a script whose variables nobody knows here.
            pieces.put(HOLE if match[1] else match[0][1:], match.start(), match.end())
            position = match.end()
        pieces.copy(self.shell.text, position, end)
        inner = self.read_inner(pieces, self._fed_state(command, quoted))
        for found in inner:
            found.outer = (*command.words, *found.outer)
            found.errors = found.errors or command.errors
        self.found.extend(inner)

    def _fed_state(self, command: Command, quoted: bool) -> State:
        state = self._inner_state(command)
        if not quoted:
            # The outer shell fills in its own variables, exported or not.
            for name, word in command.env.items():
                state.set(name, word, command.env.exported(name))
        return state

    def _inner_state(self, command: Command) -> State:
        state = State()
        programs = {os.path.basename(word.text) for word in command.words if word.text}
        if programs & _ELSEWHERE and command.words[0].text != "bash":
            state.change_directory(None)
            return state
        evaluated = command.words[0].text == "eval"
        for name, word in command.env.items():
            if evaluated or command.env.exported(name):
                state.set(name, word, command.env.exported(name))
        for name, word in command.assignments:
            state.set(name, word, True)
        state.change_directory(command.directory)
        return state

    def _builtin(self, command: Command) -> None:
        """What a command does to the variables and the working directory of the script itself."""
        words = command.words
        name = words[0].text
        if name is None or name in self.around.functions:
            self.called()
        elif name in ("cd", "pushd"):
            if name == "pushd":
                self.state.push_directory()
            self._change_directory([word for word in words[1:] if word.text not in ("--", "-P", "-L")])
        elif name == "popd":
            self.state.pop_directory()
        elif name in ("source", "."):
            if len(words) < 2 or not _HARMLESS_SOURCES.search(words[1].text or words[1].raw.strip("\"'")):
                self.state.forget_all()
        elif name == "eval":
            if not _HARMLESS_EVAL.search("".join(word.raw for word in words)):
                self.state.forget_all()
        elif name == "set":
            options = [word.text or "" for word in words[1:]]
            if "allexport" in options or any(_has_letter_a(option) for option in options):
                self.state.export_all = not any(option.startswith("+") for option in options)
            if "--" in options:
                self.state.forget(ARGUMENTS)
        elif name == "shift":
            self.state.forget(ARGUMENTS)
        elif name in ("read", "mapfile", "readarray", "getopts", "let"):
            self.state.forget([n for word in words[1:] for n in NAME.findall(word.text or word.raw)])
            if name == "read":
                self._read_heredoc(command)
        elif name == "printf" and len(words) > 2 and words[1].text == "-v":
            self.state.forget([words[2].text or ""])

    def _read_heredoc(self, command: Command) -> None:
        """`read -r -d '' NAME <<EOF`: the whole here-document becomes the value, without the blanks around it."""
        words = [word.text for word in command.words]
        if len(words) < 4 or "" not in words or "-r" not in words or len(command.heredocs) != 1:
            return
        if set(words[1:-1]) != {"-r", "-d", ""} or words.index("") != words.index("-d") + 1:
            return
        heredoc = command.heredocs[0]
        text = heredoc.text
        if not heredoc.quoted:
            if re.search(r"[$`]|\\[^\n]", text):
                return  # the shell fills in values
            text = text.replace("\\\n", "")
        self.state.set(words[-1] or "", Word(text.strip(" \t\n"), heredoc.text, heredoc.start, heredoc.end))

    def _change_directory(self, words: list[Word]) -> None:
        here = self.state.directory
        target = words[0].text if len(words) == 1 and not words[0].several else None
        if target == "-":
            self.state.go_back()
        elif not target or (here is None and not target.startswith("/")):
            self.state.change_directory(None)
        else:
            path = os.path.normpath(os.path.join(here or "", target)).replace("\\", "/")
            self.state.change_directory("" if path == "." else path)

    def redirect(self, node: Node, words: list[Node], redirects: list[Redirect]) -> None:
        """A redirection takes one word; the grammar hands it all that follow."""
        operator = next((child.type for child in node.children if not child.is_named), ">")
        targets = [child for child in node.named_children if child.type != "file_descriptor"]
        if targets:
            found = self.words.of(targets[0])
            redirects.append(Redirect(operator, found[0] if found else self.shell.hole(targets[0])))
            words.extend(targets[1:])

    def heredoc(
        self,
        node: Node,
        words: list[Node],
        redirects: list[Redirect],
        heredocs: list[Heredoc],
        bodies: list[tuple[int, int]],
        following: list[tuple[str, Node]],
    ) -> None:
        quoted = False
        operator = ""
        for child in node.children:
            field = child.type
            if field == "heredoc_start":
                quoted = self.shell.slice(child)[:1] in ("'", '"', "\\")
            elif field == "heredoc_body":
                start, end = self.shell.span(child)
                bodies.append((start, end))
                heredocs.append(Heredoc(self.shell.text[start:end], *self.shell.place(start, end), quoted))
            elif field in ("file_redirect", "herestring_redirect"):
                self.redirect(child, words, redirects)
            elif field == "pipeline":
                following.extend(("|", part) for part in child.named_children)
            elif field in _OPERATORS:
                operator = field
            elif operator and child.is_named:
                following.append((operator, child))
                operator = ""
            elif field != "heredoc_end" and child.is_named and child.type != "ERROR":
                words.append(child)


def _has_letter_a(option: str) -> bool:
    """Whether an option of `set` is a group of letters with `a` in it: `-a`, `+ea`."""
    return option[:1] in ("-", "+") and option[1:].isalnum() and "a" in option
