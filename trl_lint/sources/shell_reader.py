"""The walk over a tree-sitter-bash tree: statements decide what is known where, simple commands are collected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from weakref import proxy

from tree_sitter import Node

from trl_lint import budget
from trl_lint.regexes import regex
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.shell_commands import MAXIMUM_DEPTH, Around, Commands, Tail
from trl_lint.sources.shell_fragments import Fragments
from trl_lint.sources.shell_options import joined, new_decision, one_of, options_of
from trl_lint.sources.shell_parse import parse, seconds_for
from trl_lint.sources.shell_state import WORKING_DIRECTORY, State
from trl_lint.sources.shell_syntax import (
    ARGUMENTS,
    CHANGES_DIRECTORY,
    OPENS_ANYTHING,
    assigned_again,
    assigned_in,
    flatten,
    is_ampersand,
    is_broken,
    leaves,
    printed_path,
)
from trl_lint.sources.shell_text import ShellText
from trl_lint.sources.shell_values import Value, Word
from trl_lint.sources.shell_words import Words
from trl_lint.sources.simple_commands import Command, Heredoc, Redirect

_ESCAPED_IN_BACKQUOTES = regex(r"\\([`\\$])")
_LONGEST_PIPE = 50  # programs remembered behind a command


class Reader:
    """Reads one shell text. `commands` holds the result after `read`; the state is left as the script leaves it.

    Its parts: `words` says what the words are, `simple` what simple commands do, `around` what holds where they stand.
    """

    def __init__(
        self,
        shell: ShellText,
        state: State,
        script: str | None,
        depth: int = 0,
        branch: tuple[tuple[int, int], ...] = (),
    ) -> None:
        self.shell = shell
        self.state = state
        self.around = Around(depth, branch)
        # The parts call back while it reads. A reference would keep all of it in memory after that.
        me = proxy(self)
        self.words = Words(shell, Fragments(shell, state, script, lambda node: me.substitute(node)))
        self.simple = Commands(self.words, self.around, lambda *inner: me.read_inner(*inner), lambda: me.called())
        self._assigned_in_functions: set[str] = set()
        self._assigned_again: set[str] = set()
        self._assigned: set[str] = set()
        self._functions_open_anything = False
        self._opens_anything = False
        self._printed: dict[tuple[int, int], str | None] = {}

    @property
    def commands(self) -> list[Command]:
        """The commands read so far."""
        return self.simple.found

    def read(self) -> None:
        for stretch in parse(self.shell.offsets.data):
            if stretch.root is not None:
                self._block(stretch.root.children)
                continue
            # It may hold anything.
            self.state.forget_all()
            start, _ = self.shell.place(*self.shell.span_of(stretch.start, stretch.end))
            seconds = seconds_for(len(self.shell.offsets.data))
            budget.limit(
                seconds, "its broken shell commands take more than {} s to parse; some were not read", None, start
            )

    # -- statements -----------------------------------------------------------------------------------------------

    def _block(self, nodes: Sequence[Node]) -> None:
        for index, node in enumerate(nodes):
            if not node.is_named:
                continue
            background, errors = self.around.background, self.around.errors
            self.around.background = background or is_ampersand(nodes, index + 1)
            self.around.errors = errors or is_broken(nodes, index - 1) or is_broken(nodes, index + 1)
            self._statement(node)
            if node.has_error:
                # It may hold more than what was read of it.
                self._forget_assigned(self.shell.slice(node))
            self.around.background, self.around.errors = background, errors

    def _statement(self, node: Node, tail: Tail | None = None) -> None:
        method = _STATEMENTS.get(node.type)
        if method is None:
            return
        if self.around.depth >= MAXIMUM_DEPTH:
            self.state.forget_all()
            self.simple.leave_out(node)
            return
        self.around.depth += 1
        method(self, node, tail or Tail())
        self.around.depth -= 1

    def _compound(self, node: Node, tail: Tail) -> None:
        if node.children and node.children[0].type == "((":
            self.state.forget(assigned_in(self.shell.slice(node)))
        else:
            self._block(node.children)

    def _subshell(self, node: Node, tail: Tail) -> None:
        mark = self.state.mark()
        self._block(node.children)
        self.state.undo(mark)

    def _negated(self, node: Node, tail: Tail) -> None:
        for child in node.named_children:
            self._statement(child, tail)

    def _pipeline(self, node: Node, tail: Tail) -> None:
        parts = [child for child in node.children if child.is_named]
        starts = []
        for index, child in enumerate(parts):
            starts.append(len(self.commands))
            mark = self.state.mark()
            self._statement(child, tail if index == len(parts) - 1 else None)
            self.state.undo(mark)  # every part runs in a process of its own
        starts.append(len(self.commands))
        self._connect(starts)

    def _connect(self, starts: list[int]) -> None:
        programs: list[str] = []
        for index in range(len(starts) - 2, -1, -1):
            part = self.commands[starts[index] : starts[index + 1]]
            for command in part:
                command.pipes_to += tuple(programs)
                command.piped_from = command.piped_from or index > 0
            programs.insert(0, (part[0].words[0].text or "?") if part and part[0].words else "?")
            del programs[_LONGEST_PIPE:]

    def _list(self, node: Node, tail: Tail) -> None:
        operands, operators = flatten(node)
        self._operands(operands, operators, tail)

    def _operands(self, operands: list[Node], operators: list[str], tail: Tail) -> None:
        self._statement(operands[0], tail if len(operands) == 1 else None)
        mark = self.state.mark()
        for index, operator in enumerate(operators, 1):
            if operator == "||":
                # Nobody knows how far the chain got, so what it changed is uncertain here.
                self.state.blur(self.state.changed_since(mark))
            self._statement(operands[index], tail if index == len(operators) else None)
            if operator == "||" and index < len(operators):
                self.state.blur(self.state.changed_since(mark))
        self.state.blur(self.state.changed_since(mark))

    def _branches(self, branches: Iterable[Sequence[Node]], is_complete: bool = False) -> None:
        """Read branches of which one is taken, or perhaps none where they are not complete."""
        changes = []
        ways: list[dict[str, tuple[Value | None, bool]]] = [] if is_complete else [{}]
        around, place = self.around.branch, new_decision()
        for number, branch in enumerate(branches):
            mark = self.state.mark()
            self.around.branch = (*around, (place, number))
            self._block(branch)
            self.around.branch = around
            left = {name: self._left(name) for name in self.state.changed_since(mark).names}
            changes.append(self.state.undo(mark))
            if not leaves(branch):
                ways.append(left)
        names = {name for change in changes for name in change.names}
        if any(change.anything for change in changes):
            self.state.forget_all()
            self.state.forget(names)
        elif ways:
            self._join(names, ways)

    def _left(self, name: str) -> tuple[Value | None, bool]:
        return self.state.get(name), self.state.is_exported(name)

    def _join(self, names: set[str], ways: list[dict[str, tuple[Value | None, bool]]]) -> None:
        """Give each name the values that the ways leave it with."""
        decision = new_decision()
        found = {}
        counts = Counter(name for way in ways for name in way)
        for name in names:
            if counts[name] < len(ways) and not options_of(self.state.get(name)):
                continue  # unknown on one of the ways: with as many branches as names, nobody asks each for each
            left = [way[name] if name in way else self._left(name) for way in ways]
            value = joined(decision, dict(enumerate(value for value, _ in left)))
            if value is not None and (
                name != WORKING_DIRECTORY or (isinstance(value, Word) and value.text is not None)
            ):
                found[name] = value, all(exported for _, exported in left)
        self.state.forget(names - found.keys())
        for name, (value, exported) in found.items():
            self.state.set(name, value, exported)

    def _if(self, node: Node, tail: Tail) -> None:
        body: list[Node] = []
        condition: list[Node] = []
        branches: list[Sequence[Node]] = [body]
        part = condition
        for child in node.children:
            if child.type == "then":
                part = body
            elif child.type in ("elif_clause", "else_clause"):
                branches.append(child.children)
            else:
                part.append(child)
        self._block(condition)
        self._branches(branches, is_complete=any(child.type == "else_clause" for child in node.children))

    def _case(self, node: Node, tail: Tail) -> None:
        items = [child for child in node.children if child.type == "case_item"]
        patterns = [self.shell.slice(value) for item in items for value in item.children_by_field_name("value")]
        # Behind `;;&` and `;&` the next branch runs too.
        falls = any(child.type in (";&", ";;&") for item in items for child in item.children)
        bodies = [[child for child in item.children if child.type not in (";;", ")")] for item in items]
        self._branches(bodies, is_complete="*" in patterns)
        if falls:
            self._forget_assigned(self.shell.slice(node))

    def _loop(self, node: Node, tail: Tail) -> None:
        variable = node.child_by_field_name("variable")
        values = [word for value in node.children_by_field_name("value") for word in self.words.of(value)]
        # A later round sees what an earlier one assigned.
        self._forget_assigned(self.shell.slice(node))
        mark = self.state.mark()
        if variable is not None:
            chosen = one_of(values) if node.children[0].type == "for" else None
            if chosen is None:
                self.state.forget([self.shell.slice(variable)])
            else:
                self.state.set(self.shell.slice(variable), chosen)
        self._block([child for child in node.children if child.type != "variable_name"])
        changes = self.state.undo(mark)
        # It may end in the middle of any round.
        self.state.blur(changes)

    def _function(self, node: Node, tail: Tail) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return
        self._count_assignments()
        text, fragments = self.shell.slice(body), self.words.fragments
        self.around.functions.add(self.shell.slice(name))
        assigned = assigned_in(text)
        if CHANGES_DIRECTORY.search(text):
            assigned.add(WORKING_DIRECTORY)
        self._assigned_in_functions |= assigned
        self._functions_open_anything |= OPENS_ANYTHING.search(text) is not None
        mark = self.state.mark()
        # It runs when it is called: only a variable that is assigned once keeps its value until then.
        if self._opens_anything:
            self.state.forget_all()
        self.state.forget_known(self._assigned_again)
        around, fragments.set_elsewhere = fragments.set_elsewhere, self._assigned
        outer, self.around.function = self.around.function, self.shell.slice(name)
        self._statement(body)
        fragments.set_elsewhere, self.around.function = around, outer
        self.state.undo(mark)
        # From here on it may be called at any time.
        self.state.forget(n for n in assigned if self.state.get(n) is None)

    def called(self) -> None:
        """A function of the script, or a command nobody knows, has run."""
        if self._functions_open_anything:
            self.state.forget_all()
        self.state.forget_known(self._assigned_in_functions)

    def _count_assignments(self) -> None:
        if self._assigned_again:
            return
        self._assigned_again = assigned_again(self.shell.text) | {WORKING_DIRECTORY}
        self._assigned = assigned_in(self.shell.text) | ARGUMENTS
        self._opens_anything = OPENS_ANYTHING.search(self.shell.text) is not None

    def _error(self, node: Node, tail: Tail) -> None:
        errors, self.around.errors = self.around.errors, True
        self._block(node.children)
        self.around.errors = errors
        # The unreadable part may have assigned anything.
        self.state.forget_all()

    def _redirected(self, node: Node, tail: Tail) -> None:
        body: Node | None = None
        words: list[Node] = []
        redirects: list[Redirect] = []
        heredocs: list[Heredoc] = []
        bodies: list[tuple[int, int]] = []
        following: list[tuple[str, Node]] = []
        errors = False
        for child in node.children:
            if child.type == "heredoc_redirect":
                self.simple.heredoc(child, words, redirects, heredocs, bodies, following)
            elif child.type in ("file_redirect", "herestring_redirect"):
                self.simple.redirect(child, words, redirects)
            elif child.is_named and body is None:
                body = child
            errors = errors or (child is not body and child.has_error)
        extra = Tail(
            (*tail.words, *words),
            (*tail.redirects, *redirects),
            (*tail.heredocs, *heredocs),
            (*tail.bodies, *bodies),
            tail.errors or errors,
        )
        if body is None:
            return
        if not following:
            self._statement(body, extra)
        elif following[0][0] == "|":
            start = len(self.commands)
            self._statement(body, extra)
            starts = [start, len(self.commands)]
            for _, part in following:
                mark = self.state.mark()
                self._statement(part)
                self.state.undo(mark)
                starts.append(len(self.commands))
            self._connect(starts)
        else:
            self._statement(body, extra)
            self._follow(following)

    def _follow(self, following: list[tuple[str, Node]]) -> None:
        mark = self.state.mark()
        for operator, part in following:
            if operator == "||":
                self.state.blur(self.state.changed_since(mark))
            self._statement(part)
        self.state.blur(self.state.changed_since(mark))

    # -- substitutions --------------------------------------------------------------------------------------------

    def substitute(self, node: Node) -> str | None:
        """Read the commands of a `$(…)`; what it prints, where that is known."""
        # A word that is a script of its own is read twice; what is nested in it must not be read twice at each level.
        place = (node.start_byte, node.end_byte)
        if place not in self._printed:
            self._printed[place] = self._substitute(node)
        return self._printed[place]

    def _substitute(self, node: Node) -> str | None:
        if self.around.depth >= MAXIMUM_DEPTH:
            self.simple.leave_out(node)
            return None
        mark, count = self.state.mark(), len(self.commands)
        if (escaped := self._with_backquotes_in_it(node)) is not None:
            if self.around.depth >= MAXIMUM_DEPTH // 2:
                self.simple.leave_out(node)
            else:
                self.commands.extend(self.read_inner(escaped, self.state))
            self.state.undo(mark)
            return None
        self.around.depth += 1
        self._block(node.children)
        directory = self.state.directory
        self.state.undo(mark)
        self.around.depth -= 1
        parts = node.named_children
        found = self.commands[count:]
        if len(parts) != 1 or not found or parts[0].type not in ("command", "list"):
            return None
        last = [word.text for word in found[-1].words]
        if parts[0].type == "list" and last[0] != "pwd":
            return None
        return printed_path(last, directory)

    def _with_backquotes_in_it(self, node: Node) -> Pieces | None:
        r"""The script between backquotes that has others in it, written with `\``: the grammar takes them for words."""
        start, end = self.shell.span(node)
        text = self.shell.text
        if text[start : start + 1] != "`" or "\\`" not in text[start:end]:
            return None
        pieces, position = Pieces(self.shell.pieces), start + 1
        for match in _ESCAPED_IN_BACKQUOTES.finditer(text, position, end - 1):
            pieces.copy(text, position, match.start())
            pieces.put(match[1], match.start(), match.end())
            position = match.end()
        pieces.copy(text, position, end - 1)
        return pieces

    def read_inner(self, pieces: Pieces, state: State) -> list[Command]:
        """The commands of a script inside a word of this one."""
        shell = ShellText(pieces.text, self.shell.original, pieces)
        inner = Reader(shell, state, None, self.around.depth + 10, self.around.branch)
        inner.read()
        return inner.commands

    def _forget_assigned(self, text: str) -> None:
        if OPENS_ANYTHING.search(text):
            self.state.forget_all()
        else:
            self.state.forget(assigned_in(text))
        if CHANGES_DIRECTORY.search(text):
            # `cd sub` in every round ends in sub/sub/…
            self.state.change_directory(None)


_STATEMENTS = {
    "ERROR": Reader._error,
    "c_style_for_statement": Reader._loop,
    "case_statement": Reader._case,
    "command": lambda reader, node, tail: reader.simple.command(node, tail),
    "compound_statement": Reader._compound,
    "declaration_command": lambda reader, node, tail: reader.simple.declaration(node, tail),
    "do_group": Reader._compound,
    "elif_clause": Reader._compound,
    "else_clause": Reader._compound,
    "for_statement": Reader._loop,
    "function_definition": Reader._function,
    "if_statement": Reader._if,
    "list": Reader._list,
    "negated_command": Reader._negated,
    "pipeline": Reader._pipeline,
    "redirected_statement": Reader._redirected,
    "subshell": Reader._subshell,
    "unset_command": lambda reader, node, tail: reader.simple.unset(node, tail),
    "variable_assignment": lambda reader, node, tail: reader.simple.assignment(node, tail),
    "variable_assignments": lambda reader, node, tail: reader.simple.assignments(node, tail),
    "while_statement": Reader._loop,
}
