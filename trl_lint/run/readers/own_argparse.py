"""The options that a program of the project declares itself, with the `argparse` of the standard library.

A parser is read where all of it can be: one `ArgumentParser`, in the script or in a function of the project that it
calls, with what every function that gets the parser adds to it. Where something else may add an option, or reads the
command line as well, nothing is known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from typing import Literal

from trl_lint import budget
from trl_lint.coverage import CUT, PARSER, PASSED, Reason
from trl_lint.finding import Location
from trl_lint.knowledge.families import flags_added_by
from trl_lint.knowledge.wrappers import names_of_wrappers
from trl_lint.memos import per_module, per_project
from trl_lint.missing import UNKNOWN
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.project.modules import module_file
from trl_lint.python.flags import Flag as Declared
from trl_lint.python.flags import declared_in
from trl_lint.python.guards import functions_named, key_of
from trl_lint.python.module import FunctionNode, PythonModule, nodes_in
from trl_lint.python.values import argument
from trl_lint.records import NamedTuple
from trl_lint.run.parsers import PARSER_NAMES, is_command_line, writes_arguments
from trl_lint.run.readers.argparse_flags import Arguments, Flag, read_arguments, read_flag
from trl_lint.sources import SourceError

_PARSER = "argparse.ArgumentParser"
_KNOWN_KEYWORDS = frozenset(
    {
        "prog", "usage", "description", "epilog", "formatter_class", "argument_default", "conflict_handler", "add_help",
        "allow_abbrev",
    }
)  # fmt: skip
_GROUPS = frozenset({"add_argument_group", "add_mutually_exclusive_group"})
_PARSES = frozenset({"parse_args", "parse_known_args"})
_MEMBERS = _GROUPS | _PARSES | {
    "add_argument", "description", "epilog", "error", "exit", "format_help", "format_usage", "get_default",
    "print_help", "print_usage", "prog", "set_defaults", "usage",
}  # fmt: skip
_LOOKS_AT = frozenset({"print", "isinstance", "type", "id", "repr", "str", "hasattr"})
# Whoever is named so reads a command line in another way.
_OTHERS = (
    rb"\bfire\.Fire\b|\bclick\.|\btyper\b|\btyro\b|\babsl\b|hydra\.main|\bOmegaConf\.from_cli\b|\bREMAINDER\b|\bdocopt\b"
    rb"|jsonargparse|simple_parsing|\bdraccus\b|\bchz\b"
)
_DEEP = 8  # functions in functions that a parser is handed to
_ROUNDS = 8  # names that are given to names that stand above
_ANYTHING = "None action=own"  # a flag of which only the name is known


Surplus = Literal["refused", "ignored", "kept"]
_SURPLUS: tuple[Surplus, ...] = ("kept", "ignored")  # of several ways to parse, the one that refuses least


class OwnParser(NamedTuple):
    """What a program of the project takes: its flags, by their names with dashes.

    `required`: all names of each flag that has to be given. `takes_words`: it has arguments without a name. `surplus`:
    what becomes of a flag that it does not know; "kept": something else may read it. `fields`: all names of the flag by
    the field that it fills.
    """

    path: str
    flags: dict[str, Flag]
    required: tuple[tuple[str, ...], ...]
    takes_words: bool
    surplus: Surplus
    location: Location
    fields: dict[str, tuple[str, ...]]


class _UnreadError(Exception):
    """Something that may add an option was not understood."""


def parser_of_launch(launch: Launch, project: Project) -> OwnParser | Reason | None:
    """The parser of the script that a command starts; None where it has none of this kind, or may be one of several."""
    path = launch.script_path
    found = parser_of(path, project) if path is not None and path.endswith(".py") else None
    if found is None or isinstance(found, str):
        return found
    if launch.command.errors or any(word.text == "--" for word in launch.args):
        return CUT
    return PASSED if not names_of_wrappers("mixed").isdisjoint(launch.wrappers) else found


def arguments_of_launch(launch: Launch, parser: OwnParser) -> Arguments:
    """What the parser makes of a command; without words behind a flag that takes none, where they may be others."""
    found = read_arguments(launch.args, parser.flags)
    if not parser.takes_words:
        return found
    faults = (one for one in found.faults if one.kind != "surplus" or (one.word.text or "").startswith("--"))
    return found._replace(faults=tuple(faults))


@per_project
def parser_of(path: str, project: Project) -> OwnParser | Reason | None:
    """The parser of a script; None if it has none of argparse, a reason if it is not understood."""
    with suppress(OSError, SourceError):
        if any(project.files.holds(path, name) for name in PARSER_NAMES):
            return None
        module = project.module_in(path)
        reader = _Reader(project)
        try:
            reader.read(module, module.tree, frozenset(), 0)
            reader.read_imported(module)
            return reader.result(module)
        except _UnreadError:
            return PARSER
    return None


class _Reader:
    """Reads a script and the functions its parser is made in or handed to."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.parsers: list[Location] = []
        self.declared: dict[ast.Call, list[Declared]] = {}
        self.added: set[str] = set()
        self.parses: set[Surplus] = set()
        self.done: dict[tuple[str, ast.AST, frozenset[str]], bool] = {}
        self.names: dict[str, frozenset[str]] = {}  # of the parser, by the file

    def result(self, module: PythonModule) -> OwnParser | None:
        """What was read, if it is one parser that reads the command line. Raises _UnreadError."""
        if not self.parsers and not self.parses:
            return None
        if len(self.parsers) != 1 or not self.parses:
            raise _UnreadError
        if writes_arguments(module) or self.project.files.fits(module.path, _OTHERS):
            raise _UnreadError
        flags: dict[str, Flag] = {name: read_flag(name, _ANYTHING) for name in self.added}
        flags["--help"] = read_flag("--help", "False action=store_true")
        takes_words = False
        for one in (one for found in self.declared.values() for one in found):
            takes_words |= not one.name.startswith("-")
            is_clear = one.is_whole and one.name not in flags  # declared twice, one of the two counts
            flags[one.name] = read_flag(one.name, one.text if is_clear else _ANYTHING)
        surplus: Surplus = next((one for one in _SURPLUS if one in self.parses), "refused")
        required = tuple(
            names
            for call, found in self.declared.items()
            if _has_to_be_given(found, flags)
            for names in ([_names(call)] if _names(call) else [(one.name,) for one in found])  # of a loop over names
        )
        fields: dict[str, tuple[str, ...]] = {}
        for call in self.declared:
            name = _field_of(call, flags)
            fields[name] = () if name in fields else _names(call)  # of two, nobody knows which counts
        return OwnParser(module.path, flags, required, takes_words, surplus, self.parsers[0], fields)

    def read_imported(self, module: PythonModule) -> None:
        """Read the files of the project that parse the command line when the script imports them."""
        for statement in module.tree.body:
            names = _imported(statement)
            paths = {path for name in names if (path := module_file(name, module.path, self.project)) is not None}
            for path in sorted(paths):
                if self.project.files.holds(path, b"ArgumentParser(") and self.project.files.holds(path, b".parse_"):
                    other = self.project.module_in(path)
                    if any(map(_parses_at_once, other.tree.body)):
                        self.read(other, other.tree, frozenset(), 1)

    def read(self, module: PythonModule, root: ast.Module | FunctionNode, held: frozenset[str], depth: int) -> bool:
        """Read a file, or a function whose parameters `held` are the parser; whether it gives the parser back.

        Raises _UnreadError.
        """
        key = (module.path, root, held)
        if key in self.done:
            return self.done[key]
        if depth > _DEEP:
            raise _UnreadError
        self.done[key] = False
        nodes = list(nodes_in(root))
        self._declare(module, root, nodes)
        scope = _Scope(self, module, root, nodes, held, depth)
        scope.find_parsers()
        scope.follow()
        self.done[key] = scope.gives_parser
        if isinstance(root, ast.Module):
            self.names[module.path] = frozenset(scope.names)
        return scope.gives_parser

    def _declare(self, module: PythonModule, root: ast.Module | FunctionNode, nodes: list[ast.AST]) -> None:
        found = declared_in(root.body, _constants(module))
        if found is None:
            budget.note(module.path, "loops repeat its flags so often that they were not read")
            raise _UnreadError
        calls: dict[ast.Call, list[Declared]] = {}
        for one in found:
            calls.setdefault(one.call, []).append(one)
        for node in nodes:
            if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "add_argument":
                continue
            if node not in calls and not all(map(_is_short, node.args)):
                raise _UnreadError
        self.declared.update(calls)


@per_module
def _constants(module: PythonModule) -> dict[str, ast.expr]:
    """The names of a module that stand for one literal, of lists only where nothing else is done with them."""
    found: dict[str, ast.expr] = {}
    for statement in module.tree.body:
        names = _assigned(statement)
        value = statement.value if isinstance(statement, ast.Assign) else None
        for name in names if value is not None and len(names) == 1 else ():
            uses = [one for one in module.named(name) if isinstance(one.ctx, ast.Load)]
            is_kept = isinstance(value, ast.Constant) or all(
                isinstance(module.parents[use], (ast.keyword, ast.Compare)) for use in uses
            )
            if is_kept and value is not None and module.value(ast.Name(name, ast.Load())) is not UNKNOWN:
                found[name] = value
    return found


def _has_to_be_given(found: list[Declared], flags: dict[str, Flag]) -> bool:
    """Whether every command has to give the flag of a declaration."""
    return bool(found) and all(flags[one.name].is_required for one in found)


def _names(call: ast.Call) -> tuple[str, ...]:
    return tuple(node.value for node in call.args if isinstance(node, ast.Constant) and isinstance(node.value, str))


def _field_of(call: ast.Call, flags: dict[str, Flag]) -> str:
    """What a flag fills; "" for what is none."""
    name = next((name for name in _names(call) if name.startswith("--")), "")
    return (flags[name].dest or name[2:].replace("-", "_")) if name in flags else ""


def _is_short(node: ast.expr) -> bool:
    """Whether an argument is the name of a flag with one dash, which nothing here judges."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value[:1] == "-" != node.value[1:2]


class _Scope:
    """A file, or a function, with the names that stand for the parser in it."""

    def __init__(
        self,
        reader: _Reader,
        module: PythonModule,
        root: ast.Module | FunctionNode,
        nodes: list[ast.AST],
        held: frozenset[str],
        depth: int,
    ) -> None:
        self.reader, self.module, self.root, self.nodes, self.depth = reader, module, root, nodes, depth
        self.names = set(held)
        self.givers: set[str] = set()  # functions of this file that give the parser back
        self.found: set[ast.expr] = set()
        self.gives_parser = False

    def find_parsers(self) -> None:
        """Every expression that stands for the parser or for a group of it, until no more are found."""
        calls = [node for node in self.nodes if isinstance(node, ast.Call)]
        if isinstance(self.root, ast.Module):
            self.names.update(self._imported_parsers())
        for call in calls:
            if self.module.names.origins(call.func) == {_PARSER} and self.module.names.is_certain(call.func):
                if {keyword.arg for keyword in call.keywords} - _KNOWN_KEYWORDS or len(call.args) > 1:
                    raise _UnreadError
                self.reader.parsers.append(self.module.location(call))
                self.found.add(call)
            elif self._makes_parser(call):
                self.found.add(call)
        before, rounds = -1, 0
        while before < (before := len(self.found) + len(self.names) + len(self.givers)):
            rounds += 1
            if rounds > _ROUNDS:
                raise _UnreadError
            self._spread(calls)

    def _imported_parsers(self) -> Iterator[str]:
        """The names by which the file imports a parser that another file makes."""
        project = self.reader.project
        for statement in self.module.tree.body:
            if not isinstance(statement, ast.ImportFrom):
                continue
            path = module_file(_imported(statement)[0], self.module.path, project)
            if path is None or path == self.module.path or not project.files.holds(path, b"ArgumentParser("):
                continue
            other = project.module_in(path)
            wanted = {alias.name for alias in statement.names}
            if any(not wanted.isdisjoint(_assigned(one)) for one in other.tree.body):
                self.reader.read(other, other.tree, frozenset(), self.depth + 1)
                names = self.reader.names.get(path, frozenset())
                yield from (alias.asname or alias.name for alias in statement.names if alias.name in names)

    def _spread(self, calls: list[ast.Call]) -> None:
        self.found.update(call for call in calls if call not in self.found and self._gives_parser(call))
        for node in self.nodes:
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and self._is_parser(node.value):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                self.names |= {key_of(target) for target in targets}
            elif isinstance(node, ast.Return) and self._is_parser(node.value):
                function = self.module.function(node)
                if function is self.root:
                    self.gives_parser = True
                elif function is not None:
                    self.givers.add(function.name)

    def _gives_parser(self, call: ast.Call) -> bool:
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in _GROUPS and self._is_parser(func.value):
            return True
        if isinstance(func, ast.Name) and func.id in self.givers:
            return True
        return any(map(self._is_parser, _given(call))) and self._hands_back(call)

    def _is_parser(self, node: ast.expr | None) -> bool:
        return node is not None and (node in self.found or (bool(key := key_of(node)) and key in self.names))

    def follow(self) -> None:
        """Follow each use of the parser. Raises _UnreadError for one that is not understood."""
        for node in self.nodes:
            if isinstance(node, ast.expr) and self._is_parser(node) and _is_read(node):
                self._use(node)

    def _use(self, node: ast.expr) -> None:
        parent = self.module.parents.get(node)
        if isinstance(parent, ast.keyword):
            parent = self.module.parents.get(parent)
        if isinstance(parent, ast.Attribute):
            self._member(parent)
        elif isinstance(parent, ast.Call) and node is not parent.func:
            if self._function(parent) is None and not self._is_known(parent):
                raise _UnreadError
            self._hands_back(parent)
        elif isinstance(parent, ast.Assign):
            if not all(map(_is_variable, parent.targets)):
                raise _UnreadError
        elif not isinstance(
            parent, (ast.Return, ast.Expr, ast.AnnAssign, ast.NamedExpr, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.If)
        ):
            raise _UnreadError

    def _member(self, node: ast.Attribute) -> None:
        if node.attr not in _MEMBERS:
            if key_of(node) in self.names:  # `self` is not the parser, `self.parser` is
                return
            raise _UnreadError
        call = self.module.parents.get(node)
        if node.attr in _PARSES and isinstance(call, ast.Call):
            if not is_command_line(argument(call, "args", 0), call, self.module):
                raise _UnreadError
            self.reader.parses.add("refused" if node.attr == "parse_args" else self._rest(call))

    def _rest(self, call: ast.Call) -> Surplus:
        """What becomes of the words that `parse_known_args` does not know."""
        parent = self.module.parents.get(call)
        if isinstance(parent, ast.Subscript):
            return "ignored" if self.module.value(parent.slice) == 0 else "kept"
        target = parent.targets[0] if isinstance(parent, ast.Assign) and len(parent.targets) == 1 else None
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not isinstance(target.elts[1], ast.Name):
            return "kept"
        reads = [name for name in self.module.named(target.elts[1].id) if _is_read(name)]
        if not reads:
            return "ignored"
        return "refused" if all(map(self._stops_at, reads)) else "kept"

    def _stops_at(self, name: ast.Name) -> bool:
        """Whether the program asks for what is left only to stop: `assert not rest, rest`, `if rest: raise …`."""
        for node in self.module.ancestors(name):
            if isinstance(node, ast.Assert):
                return True
            if isinstance(node, ast.If):
                last = node.body[-1]
                call = last.value if isinstance(last, ast.Expr) else None
                leaves = isinstance(call, ast.Call) and key_of(call.func).rpartition(".")[2] in ("error", "exit")
                return isinstance(last, ast.Raise) or leaves
            if isinstance(node, ast.stmt) and not isinstance(node, ast.Expr):
                return isinstance(node, ast.Raise) and any(
                    isinstance(one, ast.If) for one in self.module.ancestors(node)
                )
        return False

    def _is_known(self, call: ast.Call) -> bool:
        """Whether a function that gets the parser does nothing to it, or adds what is known."""
        if isinstance(call.func, ast.Name) and call.func.id in _LOOKS_AT:
            return True
        added = self._added(call)
        self.reader.added.update(added or ())
        return added is not None

    def _added(self, call: ast.Call) -> tuple[str, ...] | None:
        origins = self.module.names.origins(call.func)
        return flags_added_by(next(iter(origins))) if len(origins) == 1 else None

    def _hands_back(self, call: ast.Call) -> bool:
        """Whether a function that gets the parser gives it back; what it adds is read."""
        found = self._function(call)
        if found is None:
            return self._added(call) is not None
        module, function = found
        held = frozenset(self._parameters(call, function))
        return self.reader.read(module, function, held, self.depth + 1)

    def _parameters(self, call: ast.Call, function: FunctionNode) -> Iterator[str]:
        """The parameters of a function by which it gets the parser. Raises _UnreadError."""
        names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
        for position, given in enumerate(call.args):
            if self._is_parser(given):
                if position >= len(names) or any(isinstance(one, ast.Starred) for one in call.args):
                    raise _UnreadError
                yield names[position]
        for keyword in call.keywords:
            if self._is_parser(keyword.value):
                if keyword.arg is None:
                    raise _UnreadError
                yield keyword.arg

    def _makes_parser(self, call: ast.Call) -> bool:
        """Whether a function of another file, or beside the one that is read, makes the parser and gives it back.

        What it declares and parses is read.
        """
        found = self._function(call)
        if found is None or (found[0] is self.module and isinstance(self.root, ast.Module)):
            return False
        module, function = found
        if not self.reader.project.files.holds(module.path, b"ArgumentParser") or not _concerns(function):
            return False
        return self.reader.read(module, function, frozenset(), self.depth + 1)

    def _function(self, call: ast.Call) -> tuple[PythonModule, FunctionNode] | None:
        """The function of the project that is called, with its module; None for methods and all else."""
        func, names, project = call.func, self.module.names, self.reader.project
        if isinstance(func, ast.Name) and not names.is_imported(func.id):
            return _only(self.module, func.id)
        origins = names.origins(func)
        if len(origins) != 1 or not names.is_certain(func):
            return None
        home, _, name = next(iter(origins)).rpartition(".")
        path = module_file(home, self.module.path, project) if home else None
        if path is None:
            return None
        with suppress(OSError, SourceError):
            return _only(project.module_in(path), name)
        return None


def _imported(statement: ast.stmt) -> list[str]:
    """The modules that a statement imports."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    if isinstance(statement, ast.ImportFrom):
        return ["." * statement.level + (statement.module or "")]
    return []


def _assigned(statement: ast.stmt) -> set[str]:
    """The names that a statement of a file gives a value."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _parses_at_once(statement: ast.stmt) -> bool:
    """Whether a statement of a file parses the command line as the file is imported."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    if isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test):
        return False
    return any(isinstance(node, ast.Attribute) and node.attr in _PARSES for node in nodes_in(statement))


def _only(module: PythonModule, name: str) -> tuple[PythonModule, FunctionNode] | None:
    """The one function of this name that stands in no class and no function."""
    found = [one for one in functions_named(module, name) if isinstance(module.parents.get(one), ast.Module)]
    return (module, found[0]) if len(found) == 1 else None


def _is_variable(node: ast.expr) -> bool:
    """Whether only the file itself has what is assigned: a name, or an attribute of `self`."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and key_of(node.value) == "self")


def _given(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (keyword.value for keyword in call.keywords)


def _is_read(node: ast.expr) -> bool:
    return not isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))


def _concerns(function: FunctionNode) -> bool:
    """Whether a function makes a parser, or parses with one that another function makes."""
    return any(
        isinstance(node, (ast.Name, ast.Attribute))
        and (node.id if isinstance(node, ast.Name) else node.attr) in {"ArgumentParser", *_PARSES}
        for node in nodes_in(function)
    )
