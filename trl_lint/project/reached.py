"""Which modules of a project something runs: an entry point, a test, or what these import.

A module that defines functions and classes alone does nothing when it is started. Where nothing names it, what is
wrong in it strikes nobody as long as that is so. Who names it is judged widely: an import anywhere in a file, a word in
a text of a program, a config, a script, a notebook or the code that a page shows. A project that is installed as a
package, or that imports by names which only show when it runs, reaches all of its modules.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from contextlib import suppress

from trl_lint import budget, tracked
from trl_lint.memos import per_project
from trl_lint.paths import MARKDOWN, is_retired_name, is_test_file, repository_around
from trl_lint.project import CONTEXT_FILE_BYTES, Project, is_larger
from trl_lint.python.guards import key_of
from trl_lint.python.imports import imports_in
from trl_lint.python.module import FUNCTIONS, PythonModule
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import SourceError
from trl_lint.sources.files import words_of

_MOST_FILES = 10_000
_MOST_BYTES = 30_000_000
_WORTH_COUNTING = 4096
_SETUPS = ("setup.py", "setup.cfg")
# What other programs load by its name: pytest, pip, nox, invoke, fabric, locust, web servers, serving of models.
_LOADED = frozenset(
    ("conftest", "setup", "noxfile", "tasks", "fabfile", "locustfile", "wsgi", "asgi", "sitecustomize", "usercustomize",
     "hubconf", "handler", "inference", "predict", "__main__")
)  # fmt: skip
# Imports of modules whose names only show when the code runs.
_BY_UNKNOWN_NAME = regex(
    rb"import_module\(\s*(?!\s|[\"'])|__import__\(\s*(?!\s|[\"'])|import_module\([^)\n]{0,80}[%+{]|\bwalk_packages\b"
    rb"|\biter_modules\b|\bspec_from_file_location\b|\brun_path\b|\brun_module\b|\bexec\(|\bload_module\b|\bload_source\b"
)
_STAR = regex(rb"\bfrom[ \t]+([.\w]{1,200})[ \t]+import[ \t]*\*")
_TEXT = regex(rb"\"[^\"\n]{1,300}\"|'[^'\n]{1,300}'")
# A line at the first column that only defines: whatever else stands there may do something.
_DEFINING = regex(
    rb"(?:import|from|def|class|async\s+def|else|try|except|finally)\b|if\s+(?:typing\.)?TYPE_CHECKING\b|[)\]}#\"'\\]"
    rb"|[A-Za-z_][\w.]*\s*(?::[^=\n]{1,200})?=(?![^\n]*\()|[A-Za-z_]\w*\s*=\s*(?:logging\.)?(?:getLogger|get_logger|TypeVar)\("
    rb"|@(?:dataclass|dataclasses\.dataclass|torch\.no_grad|contextmanager|contextlib\.contextmanager|lru_cache|functools\.)"
)
_TREE = regex("[\u2500-\u257f]|\\|--|`--")
# Calls at the top of a module that prepare it, and decorators that leave a function to those who call it.
_PREPARING = frozenset(
    ("getLogger", "get_logger", "TypeVar", "ParamSpec", "NewType", "namedtuple", "compile", "getenv", "get", "Path",
     "basicConfig", "filterwarnings", "simplefilter", "load_dotenv", "insert", "append", "setdefault", "frozenset",
     "set", "dict", "list", "tuple", "int", "float", "str", "bool", "join", "dirname", "abspath", "resolve", "device",
     "field")
)  # fmt: skip
_INERT = frozenset(
    ("dataclass", "staticmethod", "classmethod", "property", "no_grad", "inference_mode", "contextmanager", "wraps",
     "lru_cache", "cache", "cached_property", "abstractmethod", "overload", "override", "total_ordering", "final")
)  # fmt: skip


def is_unreached(module: PythonModule, project: Project) -> bool:
    """Whether a module of the project only defines things, and nothing that runs imports or names it."""
    path = module.path
    name = name_of(path)
    if not name.isidentifier() or name in _LOADED or is_test_file(path) or not _is_whole(project):
        return False
    if _is_installed(path, project):
        return False
    return not runs_alone(module) and path in _reach(project).unreached


def is_replaced(path: str, project: Project) -> bool:
    """Whether a script is called like one that another has taken the place of, and no other file names it."""
    return is_retired_name(path) and _is_whole(project) and path in _reach(project).unnamed


def runs_alone(module: PythonModule) -> bool:
    """Whether a module does anything itself, or hands what it defines to somebody who calls it."""
    return any(map(_works, module.tree.body))


def _works(statement: ast.stmt) -> bool:
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return any(_last(decorator) not in _INERT for decorator in statement.decorator_list)
    if isinstance(statement, (ast.Import, ast.ImportFrom, ast.Pass)):
        return False
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return statement.value is not None and _calls(statement.value)
    if isinstance(statement, ast.Expr):
        return _calls(statement.value)
    if isinstance(statement, ast.Try):
        handled = [one for handler in statement.handlers for one in handler.body]
        blocks = (statement.body, handled, statement.orelse, statement.finalbody)
        return any(_works(one) for block in blocks for one in block)
    if isinstance(statement, ast.If):
        is_guard = any(isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(statement.test))
        return is_guard or any(map(_works, (*statement.body, *statement.orelse)))
    return not isinstance(statement, ast.Raise)


def _calls(value: ast.expr) -> bool:
    """Whether an expression calls more than what prepares a module."""
    return any(isinstance(node, ast.Call) and _last(node) not in _PREPARING for node in ast.walk(value))


def _last(node: ast.expr) -> str:
    return key_of(node.func if isinstance(node, ast.Call) else node).rpartition(".")[2]


def name_of(path: str) -> str:
    """The last part of the name by which a file is imported."""
    stem = os.path.basename(path).removesuffix(".py")
    return os.path.basename(os.path.dirname(path)) if stem == "__init__" else stem


def _is_whole(project: Project) -> bool:
    """Whether a project is all of a repository, or a folder that says what it is."""
    around = repository_around(project.root)
    if around is not None:
        return around == project.root
    names = ("README.md", "README.rst", "README", "pyproject.toml", "requirements.txt")
    return any(tracked.is_file(os.path.join(project.root, name)) for name in names)


def _is_installed(path: str, project: Project) -> bool:
    """Whether a folder around a file is built into a package: whoever installs that may use all of it."""
    folder = os.path.dirname(path)
    while True:
        if any(tracked.is_file(os.path.join(folder, name)) for name in _SETUPS):
            return True
        with suppress(OSError):
            if project.files.holds(os.path.join(folder, "pyproject.toml"), b"[build-system]", b"[tool.poetry]"):
                return True
        if folder == project.root or len(folder) <= len(project.root):
            return False
        folder = os.path.dirname(folder)


class _Reach(NamedTuple):
    """The Python files of a project that no file names which runs, and those that no other file names at all."""

    unreached: frozenset[str] = frozenset()
    unnamed: frozenset[str] = frozenset()


@per_project
def _reach(project: Project) -> _Reach:
    """What is reached in a project; all of it where that cannot be told."""
    paths = [path for path in project.paths if not is_larger(path, CONTEXT_FILE_BYTES)]
    if len(paths) > _MOST_FILES:
        budget.note(project.root, f"of more than {_MOST_FILES:,} files it was not asked which of them nothing imports")
        return _Reach()
    code = [path for path in paths if path.endswith(".py")]
    others = [path for path in paths if not path.endswith(".py")]
    by_name: dict[bytes, list[str]] = {}
    for path in code:
        by_name.setdefault(name_of(path).encode(), []).append(path)
    mentions: dict[str, frozenset[bytes]] = {}
    waiting: list[str] = []
    size = 0
    for path in (*code, *others):
        use = _noted_use(path, project)
        size += use.size
        if size > _MOST_BYTES:
            budget.note(
                project.root, f"of more than {_MOST_BYTES:,} bytes it was not asked which modules nothing imports"
            )
            return _Reach()
        if use.names_unknown:
            return _Reach()
        mentions[path] = use.names & by_name.keys()
        if use.is_started:
            waiting.append(path)
    if not any(path.endswith((".py", ".ipynb")) for path in waiting):
        return _Reach()  # nothing here starts anything: others do
    reached = set(waiting)
    while waiting:
        for name in mentions[waiting.pop()]:
            found = [path for path in by_name[name] if path not in reached]
            reached.update(found)
            waiting += found
    named = {other for path, names in mentions.items() for name in names for other in by_name[name] if other != path}
    return _Reach(frozenset(code) - reached, frozenset(code) - named)


class _Use(NamedTuple):
    """All that is taken from a file here. Few changes of the file change its `size`: a power of two, or none."""

    size: int
    is_started: bool = False
    names_unknown: bool = False  # modules that show when it runs
    names: frozenset[bytes] = frozenset()

    def __str__(self) -> str:
        return b"\n".join((b"%d %d %d" % self[:3], *sorted(self.names))).decode("latin-1")


@per_project
def _names(project: Project) -> frozenset[bytes]:
    """The names of all modules of a project."""
    return frozenset(name_of(path).encode() for path in project.paths if path.endswith(".py"))


def _use_of(path: str, data: bytes, project: Project) -> _Use:
    size = 1 << len(data).bit_length() >> 1 if len(data) >= _WORTH_COUNTING else 0
    is_code = path.endswith(".py")
    if is_code and _BY_UNKNOWN_NAME.search(data):
        return _Use(size, names_unknown=True)
    is_started = not is_code or is_test_file(path) or _may_run(data) or name_of(path) in _LOADED
    return _Use(size, is_started, names=frozenset(_words(path, data) & _names(project)))


def _noted_use(path: str, project: Project) -> _Use:
    """As `_use_of`; it is written down, so that no other change of the file concerns the others."""
    with tracked.for_itself(path):
        use = _use_of(path, _data(path, project), project)
    tracked.note_content("is used as", str(use), path, True)
    return use


def is_used_as(path: str, use: str, project: Project) -> bool:
    """Whether a file says of the modules of its project what it said before."""
    return str(_use_of(path, project.files.own(path).data, project)) == use


def _data(path: str, project: Project) -> bytes:
    with suppress(OSError, SourceError):
        return project.files.read(path)
    return b""


def _words(path: str, data: bytes) -> set[bytes]:
    """The words of a file that may name a module."""
    if path.endswith(MARKDOWN):
        return words_of(b"\n".join(_shown(data)))
    if not path.endswith(".py"):
        return words_of(data)
    names = " ".join(part for one in imports_in(data) for part in (one.module, one.name)).encode()
    return words_of(b" ".join((names, *_STAR.findall(data), *_TEXT.findall(data))))


def _shown(data: bytes) -> Iterator[bytes]:
    """The lines in the blocks of a page, without those that draw a tree of files."""
    for number, block in enumerate(data.split(b"```")):
        for line in block.split(b"\n")[1:] if number % 2 else ():
            first = line.split(None, 1)[:1]
            if not (first and first[0].endswith((b".py", b"/"))) and not _TREE.search(line.decode("utf-8", "replace")):
                yield line


def _may_run(data: bytes) -> bool:
    """Whether a Python file may do something when it is started, as far as its first columns tell."""
    if b"__main__" in data:
        return True
    lines = _without_texts(data).split(b"\n")
    return any(line[:1].strip() and not _DEFINING.match(line) for line in lines)


def _without_texts(data: bytes) -> bytes:
    """The bytes of a Python file without texts in three quotes."""
    for quotes in (b'"""', b"'''"):
        data = b'""'.join(data.split(quotes)[::2])
    return data
