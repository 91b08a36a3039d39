"""The parts of words: quotes, escapes and expansions of known values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from tree_sitter import Node

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.shell_options import NO_KEY, Texts, computed, concatenated, new_guess, texts_of
from trl_lint.sources.shell_state import State
from trl_lint.sources.shell_text import ShellText
from trl_lint.sources.shell_values import HOLE as UNKNOWN_TEXT
from trl_lint.sources.shell_values import LONGEST_VALUE, Array, Option, Word

_ESCAPE = regex(r"\\(\n|.)", re.DOTALL)
_ESCAPE_IN_WORD = regex(r"\\([\s\S])")
_ESCAPE_IN_STRING = regex(r"\\([$`\"\\\n])")
_ANSI_ESCAPE = regex(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|[0-7]{1,3}|.)", re.DOTALL)
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_GLOB = regex(r"(?<!\\)[*?]")
_BRACES = regex(r"(?<!\\)(?<!\$)\{([^{}\s]*)\}")
# `${V:-d}` and its like are the value of V where it has one.
_KEEPS_VALUE = (":-", "-", ":=", "=", ":?", "?")
# What schedulers, clusters and the login set: a default for it is for those who have none of them.
_SET_BY_MACHINES = regex(
    r"(?:SLURM|PBS|LSB|OMPI|PMI|PMIX|PET|MLP|ARNOLD|VC|KUBERNETES)_\w*|(?:WORLD_SIZE|(?:LOCAL_|NODE_)?RANK|MASTER_\w+)"
    r"|HOME|USER|PATH|SHELL|LANG|TMPDIR|HOSTNAME|PWD|UID"
)
_EXPANSIONS = frozenset({"simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"})


class Fragment(NamedTuple):
    """A part of a word. `text` is None for a hole; `splits`: white space in it separates words.

    `template` and `options` are what is known of a hole, as in `Word`.
    """

    text: str | None
    splits: bool = False
    template: str = ""
    options: Texts = ()


_LONGEST_WORD = 1_000_000  # characters; a longer one is a hole, as any that is not known
HOLE = Fragment(None)
SPLITTING_HOLE = Fragment(None, True)


class Fragments:
    """What the parts of words are, with the variables of a state.

    `script` is the path of a file that is a script. `substitute` reads the commands of a `$(…)`, and says what it
    prints, where that is known. `set_elsewhere`: the names that may have a value which is not read yet.
    """

    __slots__ = ("script", "set_elsewhere", "shell", "state", "substitute")

    def __init__(
        self, shell: ShellText, state: State, script: str | None, substitute: Callable[[Node], str | None]
    ) -> None:
        self.shell = shell
        self.state = state
        self.script = script
        self.substitute = substitute
        self.set_elsewhere: AbstractSet[str] = frozenset()

    def of(self, node: Node) -> list[Fragment]:
        """The parts of a word, in their order."""
        kind = node.type
        if kind == "string":
            return self._string(node)
        if kind == "raw_string":
            return [Fragment(self.shell.slice(node)[1:-1])]
        if kind == "ansi_c_string":
            return [Fragment(_ANSI_ESCAPE.sub(_ansi, self.shell.slice(node)[2:-1]))]
        if kind == "concatenation":
            if _expands_braces(_without_quotes(self.shell, node)):
                self._visit(node)
                return [SPLITTING_HOLE]
            return [part for child in node.children for part in self.of(child)]
        if kind in _EXPANSIONS:
            return self.expansion(node, quoted=False)
        if kind in ("ERROR", "process_substitution", "brace_expression", "translated_string") or node.child_count:
            self._visit(node)
            return [SPLITTING_HOLE]
        text = self.shell.slice(node)
        if text.startswith("~"):
            return [HOLE]
        if ("*" in text or "?" in text) and _GLOB.search(text):
            return [Fragment(None, True, _GLOB.sub(UNKNOWN_TEXT, text))]
        return [Fragment(_ESCAPE.sub(_unescaped, text) if "\\" in text else text)]

    def _visit(self, node: Node) -> None:
        """Read the commands inside a node whose value nobody knows."""
        for child in node.named_children:
            if child.type in ("command_substitution", "process_substitution"):
                self.substitute(child)
            elif child.child_count:
                self._visit(child)
        if node.type == "process_substitution":
            self.substitute(node)

    def _string(self, node: Node) -> list[Fragment]:
        parts: list[Fragment] = []
        start, end = self.shell.span(node)
        position = start + 1
        for child in node.named_children:
            if child.type not in _EXPANSIONS:
                continue
            first, last = self.expansion_span(child)
            if first > position:
                parts.append(Fragment(_ESCAPE_IN_STRING.sub(_unescaped, self.shell.text[position:first])))
            parts.extend(self.expansion(child, quoted=True))
            position = last
        if end - 1 > position or not parts:
            text = self.shell.text[position : max(position, end - 1)]
            parts.append(Fragment(_ESCAPE_IN_STRING.sub(_unescaped, text)))
        return parts

    def expansion_span(self, node: Node) -> tuple[int, int]:
        """The grammar counts the blanks before `$X` inside a string to the expansion."""
        start, end = self.shell.span(node)
        text = self.shell.text[start:end]
        return start + len(text) - len(text.lstrip()), end

    def expansion(self, node: Node, quoted: bool) -> list[Fragment]:
        if node.type == "command_substitution":
            return [Fragment(self.substitute(node), not quoted)]
        if node.type == "arithmetic_expansion":
            numbers = self._arithmetic(node.named_children[0]) if node.named_child_count == 1 else ()
            if len(numbers) == 1 and numbers[0][0] == NO_KEY:
                return [Fragment(numbers[0][1])]
            return [Fragment(None, options=numbers)]
        return [part._replace(splits=part.splits or not quoted) for part in self._parameter(node)]

    def _parameter(self, node: Node) -> list[Fragment]:
        name = node.named_children[0] if node.named_child_count else None
        array, _ = subscript(node)
        if array is not None:
            is_script = self.shell.slice(array) == "BASH_SOURCE" and self.script is not None
            return [Fragment(self.script) if is_script else SPLITTING_HOLE]
        if name is None or name.type not in ("variable_name", "special_variable_name"):
            self._visit(node)
            return [HOLE]
        variable = self.shell.slice(name)
        text = self._variable(variable)
        if variable in ("@", "*"):
            return [SPLITTING_HOLE]
        rest = [child for child in node.children if child.end_byte > name.end_byte and child.type != "}"]
        if node.type == "simple_expansion" or not rest:
            before = [child.type for child in node.children if child.end_byte <= name.start_byte]
            if before not in (["$"], ["${"]) and node.type != "simple_expansion":
                return [HOLE]
            if text is not None:
                return [Fragment(text)]
            return [Fragment(None, False, self._known_part(variable), self._texts(variable))]
        options = self._texts(variable)
        if text is None and rest[0].type in _KEEPS_VALUE and options and all(option for _, option in options):
            return [Fragment(None, options=options)]
        if text is None and rest[0].type in (":-", "-", ":=", "=") and self._comes_from_outside(variable):
            options = self._guessed(node, variable, rest[1:])
            if rest[0].type in (":=", "="):
                self._assign(node, variable, options)
            return [Fragment(None, options=options)]
        return self._with_default(text, rest[0].type, rest[1:])

    def _comes_from_outside(self, name: str) -> bool:
        """Whether only a caller can have set a variable: nothing in the script has, as far as it is read."""
        if self.state.get(name) is not None or name in self.set_elsewhere or self.state.is_opened:
            return False
        if name.isdecimal():
            return self.script is not None
        return name.isidentifier() and _SET_BY_MACHINES.fullmatch(name) is None

    def _guessed(self, node: Node, name: str, operands: list[Node]) -> Texts:
        """What `${V:-default}` is while nobody sets V."""
        parts = [part for child in operands for part in self.of(child)]
        guess = new_guess(name, self.shell.slice(node))
        return tuple((key | {(guess, 0)}, text) for key, text in options_of_parts(parts))

    def _assign(self, node: Node, name: str, options: Texts) -> None:
        """`${V:=default}` is the value of V from there on."""
        found = tuple(Option(key, (self.shell.word(node, text),)) for key, text in options)
        self.state.set(name, self.shell.word(node, None)._replace(options=found))

    def _with_default(self, text: str | None, operator: str, operands: list[Node]) -> list[Fragment]:
        """`${V:-d}`, `${V:+d}`, `${V:?message}`, and those without the colon."""
        if text is None:
            self._visit_all(operands)
            return [HOLE]
        is_set = bool(text) or not operator.startswith(":")
        if operator in _KEEPS_VALUE and is_set:
            return [Fragment(text)]
        if operator in (":+", "+") and not is_set:
            return [Fragment("")]
        if operator in (":-", ":+", "+"):
            return [part for child in operands for part in self.of(child)]
        self._visit_all(operands)
        return [HOLE]

    def _visit_all(self, nodes: list[Node]) -> None:
        for node in nodes:
            self._visit(node)

    def _variable(self, name: str) -> str | None:
        """The value of a variable, None if it is not known."""
        if name in ("0", "BASH_SOURCE"):
            return self.script
        if name == "PWD":
            here = self.state.directory
            return here if here is not None and here.startswith("/") else None
        value = self.state.get(name)
        if isinstance(value, Array):
            return value.items[0].text if value.items else None
        return value.text if value is not None else None

    def _texts(self, name: str) -> Texts:
        """The options of a variable whose value is not known."""
        value = self.state.get(name)
        return texts_of(value) if isinstance(value, Word) else ()

    def _known_part(self, name: str) -> str:
        """The template of a variable whose value is not known."""
        value = self.state.get(name)
        return value.template if isinstance(value, Word) else ""

    def _arithmetic(self, node: Node) -> Texts:
        """The numbers that an expression may be; empty where that is not known."""
        if node.type == "number":
            text = self.shell.slice(node)
            return _as_numbers(((NO_KEY, text),))
        if node.type == "variable_name" or node.type == "simple_expansion":
            return self._numbers(self.shell.slice(node).lstrip(" $"))
        if node.type == "expansion":
            (part,) = self._parameter(node)[:1] or (HOLE,)
            return _as_numbers(((NO_KEY, part.text),) if part.text is not None else part.options)
        if node.type == "parenthesized_expression" and node.named_child_count == 1:
            return self._arithmetic(node.named_children[0])
        if node.type == "binary_expression" and node.child_count == 3:
            left, operator, right = node.children
            return computed(self._arithmetic(left), operator.type, self._arithmetic(right))
        return ()

    def _numbers(self, name: str) -> Texts:
        text = self._variable(name)
        return _as_numbers(((NO_KEY, text),) if text is not None else self._texts(name))


def inner_script(fragments: Fragments, nodes: Sequence[Node], is_eval: bool) -> Pieces | None:
    """The text of words that are a script (`bash -c "…"`), with the places of its characters; None if unreadable.

    Whoever evaluates words takes those that a variable without quotes is split into all the same.
    """
    pieces = Pieces(fragments.shell.pieces)
    for number, node in enumerate(nodes):
        if number:
            start, _ = fragments.shell.span(node)
            pieces.put(" ", start, start)
        # Who quotes a quote once more ends one string, and begins another of the other kind.
        parts = node.children if node.type == "concatenation" else [node]
        if not all(_copied(fragments, part, pieces, is_eval) for part in parts):
            return None
    return pieces


def _put_value(fragments: Fragments, node: Node, pieces: Pieces) -> int:
    """Add the value of a variable to the text of a script; where it ends."""
    first, last = fragments.expansion_span(node)
    value = fragments.expansion(node, quoted=True)
    # A name that nothing assigns stays a hole in the inner script.
    known = "".join(part.text or "" for part in value) if is_known(value) else template_of(value) or UNKNOWN_TEXT
    pieces.put(known, first, last)
    return last


def _copied(fragments: Fragments, node: Node, pieces: Pieces, is_eval: bool) -> bool:
    """Add the text of a string, or of a word without variables, to that of a script; whether it is one of these."""
    shell = fragments.shell
    start, end = shell.span(node)
    if is_eval and node.type in _EXPANSIONS:
        _put_value(fragments, node, pieces)
        return True
    if node.type == "raw_string":
        pieces.copy(shell.text, start + 1, end - 1)
        return True
    is_part = node.parent is not None and node.parent.type == "concatenation"
    if node.type in ("word", "number") and (is_eval or is_part):
        _copy_unescaped(pieces, shell.text, start, end, _ESCAPE_IN_WORD)
        return True
    if node.type != "string":
        return False
    position = start + 1
    for child in node.named_children:
        if child.type not in _EXPANSIONS:
            continue
        _copy_unescaped(pieces, shell.text, position, fragments.expansion_span(child)[0])
        position = _put_value(fragments, child, pieces)
    _copy_unescaped(pieces, shell.text, position, max(position, end - 1))
    return True


def _copy_unescaped(
    pieces: Pieces, text: str, start: int, end: int, escape: re.Pattern[str] = _ESCAPE_IN_STRING
) -> None:
    for match in escape.finditer(text, start, end):
        pieces.copy(text, start, match.start())
        pieces.put(match[1] if match[1] != "\n" else "", match.start(), match.end())
        start = match.end()
    pieces.copy(text, start, end)


def subscript(node: Node) -> tuple[Node | None, Node | None]:
    """Array name and index of `${A[i]}` if there is nothing else in the braces."""
    if node.type != "expansion" or node.child_count != 3 or node.children[1].type != "subscript":
        return None, None
    inner = node.children[1]
    return inner.child_by_field_name("name"), inner.child_by_field_name("index")


def _without_quotes(shell: ShellText, node: Node) -> str:
    """The unquoted parts of a concatenation, quoted ones and expansions blanked: braces count only outside of them."""
    hidden = [child.type in _EXPANSIONS or child.type.endswith("string") for child in node.children]
    return "".join("_" if hide else shell.slice(child) for hide, child in zip(hidden, node.children, strict=True))


def _expands_braces(text: str) -> bool:
    """Whether a shell would make several words of `a{b,c}` or `a{1..3}`. In time linear in the text."""
    return any("," in match[1] or ".." in match[1] for match in _BRACES.finditer(text))


def _unescaped(match: re.Match[str]) -> str:
    return "" if match[1] == "\n" else match[1]


def _ansi(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xu" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return _ANSI.get(code, code)


def is_known(parts: list[Fragment]) -> bool:
    """Whether all parts are known, and not too long to be worth it."""
    return all(part.text is not None for part in parts) and sum(len(part.text or "") for part in parts) < _LONGEST_WORD


def options_of_parts(parts: list[Fragment]) -> Texts:
    """All the texts that parts of which some are not known can make; empty where that is not known either."""
    if any(part.text is None and not part.options for part in parts):
        return ()
    return concatenated(((NO_KEY, part.text),) if part.text is not None else part.options for part in parts)


def template_of(parts: list[Fragment]) -> str:
    """What is known of the text of these parts; "" where that is nothing, or too much to be worth it."""
    texts = [part.template or UNKNOWN_TEXT if part.text is None else part.text for part in parts]
    known = any(text != UNKNOWN_TEXT for text in texts) and sum(map(len, texts)) <= LONGEST_VALUE
    return "".join(texts) if known else ""


def _as_numbers(texts: Texts) -> Texts:
    return texts if all(_is_number(text) for _, text in texts) else ()


def _is_number(text: str) -> bool:
    """Whether a shell reads a text as a number with ten digits; one that begins with a zero is octal there."""
    return text.isdecimal() and len(text) < 16 and (text == "0" or text[0] != "0")
