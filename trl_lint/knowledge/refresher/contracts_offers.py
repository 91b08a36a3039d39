"""What a release offers for import: its modules and their names, read when somebody asks for them. Nothing is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from trl_lint.knowledge.refresher.extract import absolute, module_name, targets, walk_block
from trl_lint.knowledge.refresher.index import Contents
from trl_lint.knowledge.refresher.lazy_tables import DUMMY, LazyTable, has_lazy_table, read_lazy_table
from trl_lint.knowledge.refresher.release import existing_modules
from trl_lint.knowledge.refresher.served import global_names, makes_names, served_names
from trl_lint.knowledge.refresher.trees import parsed
from trl_lint.python.default_text import read_string
from trl_lint.records import NamedTuple

# What every module has.
_ALWAYS = frozenset(
    ("__name__", "__file__", "__path__", "__doc__", "__dict__", "__spec__", "__loader__", "__package__")
)
_WORD = re.compile(rb"[\"'](\w+)[\"']")


class Names(NamedTuple):
    """The names that one file binds. `bound`: name -> `module:name` where it is imported from, "" elsewhere.

    `stars`: the modules all of whose names it takes. `public`: its `__all__`, None where none can be read. `is_open`:
    it may have other names. `words`: the texts of a package's root that serves modules through `sys.modules`.
    """

    bound: dict[str, str]
    stars: tuple[str, ...]
    lazy: LazyTable | None
    public: frozenset[str] | None
    is_open: bool
    words: frozenset[str]


# By path and checksum: most files are the same in the next release.
Memo = dict[tuple[str, int, int], "Names | frozenset[str] | None"]


def read_names(path: str, source: bytes) -> Names | None:
    """The names of a file, None where this Python cannot parse it.

    `extract.read_module` reads classes and signatures too, which nobody asks for here, of thousands of files.
    """
    tree = parsed(source)
    if tree is None:
        return None
    is_package = path.endswith("/__init__.py")
    name = module_name(path)
    package = name if is_package else name.rpartition(".")[0]
    statements = list(walk_block(tree.body))
    bound: dict[str, str] = {}
    stars: list[str] = []
    for node in statements:
        if isinstance(node, ast.Import):
            bound.update((each.asname or each.name.partition(".")[0], "") for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = absolute(node, package)
            stars += [module for each in node.names if each.name == "*"]
            bound.update((each.asname or each.name, f"{module}:{each.name}") for each in node.names if each.name != "*")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound[node.name] = ""
        else:
            bound.update((target, "") for target in targets(node))
    served = served_names(statements, {})
    bound.update((each, "") for each in (*(served or ()), *global_names(tree)) if each not in bound)
    lazy = read_lazy_table(tree, statements) if has_lazy_table(source) else None
    has_hook = "__getattr__" in bound and served is None and lazy is None
    words = _words(tree) if is_package and b"sys.m" in source else frozenset()
    return Names(bound, tuple(stars), lazy, _public(statements), has_hook or makes_names(statements), words)


def _public(statements: list[ast.stmt]) -> frozenset[str] | None:
    """The names of `__all__`, None where it is not written as lists of texts alone."""
    found: list[str] | None = None
    for node in statements:
        if "__all__" in targets(node):
            value = getattr(node, "value", None)
            if not isinstance(value, (ast.List, ast.Tuple)):
                return None
            found = [*(found or ()), *map(read_string, value.elts)]
    return None if found is None or not all(found) else frozenset(found)


def _words(tree: ast.Module) -> frozenset[str]:
    """The texts of a file that may be the names of modules, with the constant ends of f-strings."""
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return frozenset(text.lstrip(".") for text in constants if isinstance(text, str) and re.fullmatch(r"[\w.]+", text))


class Offers:
    """The modules and names of one release of a package. `root`: its top-level module.

    Each question has three answers: True, False, and None where nobody can tell.
    """

    def __init__(self, root: str, contents: Contents, memo: Memo) -> None:
        self.root = root
        self._memo = memo
        self._files = {module_name(path): path for path in contents.members if path.endswith(".py")}
        self._members = contents.members
        self._existing = existing_modules(root, contents.names)
        self._known: dict[tuple[str, str], bool | None] = {}
        self._below: dict[str, Mapping[str, str]] = {}
        self._tables: dict[str, Mapping[str, str]] = {}

    @cached_property
    def modules(self) -> frozenset[str]:
        """The modules whose files were read."""
        return frozenset(self._files)

    def names(self, module: str) -> Names | None:
        """The names of a module's file, None where it was not read or cannot be parsed."""
        path = self._files.get(module)
        if path is None:
            return None
        crc, source = self._members[path]
        key = path, crc, len(source)
        if key not in self._memo:
            self._memo[key] = read_names(path, source)
        found = self._memo[key]
        assert not isinstance(found, frozenset)
        return found

    def has_module(self, module: str) -> bool | None:
        """Whether `import module` finds it."""
        if module in self._existing:
            return True
        parts = module.split(".")
        for end in range(1, len(parts)):
            above = ".".join(parts[:end])
            if above not in self._existing:
                return False
            names = self.names(above)
            if names is None:
                return None if above in self._files else False
            # Served under another name by hooks of a package (`sys.modules`, `sys.meta_path`), or bound as a name.
            rest = ".".join(parts[end:])
            if names.words and any(rest == word or parts[-1] == word.rpartition(".")[2] for word in names.words):
                return None
            if parts[end] in names.bound and f"{above}.{parts[end]}" not in self._existing:
                return None
        return False

    def has(self, module: str, name: str) -> bool | None:
        """Whether `from module import name` finds it."""
        key = module, name
        if key not in self._known:
            self._known[key] = None  # modules that take their names from each other
            self._known[key] = self._find(module, name)
        return self._known[key]

    def _find(self, module: str, name: str) -> bool | None:
        there = self.has_module(module)
        if there is not True or f"{module}.{name}" in self._existing or name in _ALWAYS:
            return there
        names = self.names(module)
        if names is None:  # compiled, not read, or a folder without a file of its own
            return None if module in self._files or not self._is_folder(module) else False
        lazy = names.lazy
        if name in names.bound or name in self.lazy_names(module):
            return True
        is_open = names.is_open or name in names.words
        if lazy is not None and lazy.open:
            below = self._exported(module)
            if name in below:
                return True
            is_open = is_open or not (below or lazy.names)
        for star in names.stars:
            if lazy is not None and lazy.open and star.startswith(f"{module}."):
                continue  # that is what `define_import_structure` has told
            if star.partition(".")[0] != self.root:
                is_open = True
            elif lazy is None or DUMMY not in star:
                found = self.has(star, name) if self._gives(star, name) else False
                if found:
                    return True
                is_open = is_open or found is None
        return None if is_open else False

    def _gives(self, star: str, name: str) -> bool:
        """Whether `from star import *` may give a name."""
        names = self.names(star)
        if names is None or names.public is None:
            return not name.startswith("_")
        return name in names.public

    def _is_folder(self, module: str) -> bool:
        return any(other.startswith(f"{module}.") for other in self._existing)

    def _exported(self, module: str) -> Mapping[str, str]:
        """What `define_import_structure` takes from the files below a package: name -> module."""
        if module not in self._below:
            found: dict[str, str] = {}
            for other in self._files:
                if other.startswith(f"{module}."):
                    for name in self._exports(other):
                        found.setdefault(name, other)
            self._below[module] = found
        return self._below[module]

    def _exports(self, module: str) -> frozenset[str]:
        path = self._files[module]
        crc, source = self._members[path]
        key = f"exports of {path}", crc, len(source)
        if key not in self._memo:
            self._memo[key] = frozenset(word.decode() for word in exported(source))
        found = self._memo[key]
        assert isinstance(found, frozenset)
        return found

    def lazy_names(self, module: str) -> Mapping[str, str]:
        """The names of a module's lazy table: name -> module that it is taken from."""
        if module not in self._tables:
            names = self.names(module)
            table = names.lazy.names.items() if names is not None and names.lazy is not None else ()
            # `Name=Other` serves `Other` as `Name`.
            self._tables[module] = {
                entry.partition("=")[0]: f"{module}.{part}" if part else ""
                for part, entries in table
                for entry in entries
            }
        return self._tables[module]

    def home(self, module: str, name: str) -> str:
        """The module of this package that a lazy table takes a name from, "" where it is none."""
        names = self.names(module)
        if names is None or names.lazy is None:
            return ""
        found = self.lazy_names(module).get(name)
        return found if found is not None else (self._exported(module).get(name, "") if names.lazy.open else "")


def exported(source: bytes) -> Iterator[bytes]:
    """What `define_import_structure` takes from a file: its `__all__`, and what is decorated to be exported."""
    is_listed = is_decorated = False
    for line in source.split(b"\n"):
        if is_listed or line.startswith(b"__all__"):
            listed = line if is_listed else line.partition(b"=")[2]
            yield from _WORD.findall(listed)
            is_listed = b"]" not in listed and b")" not in listed
        elif line.startswith(b"@"):
            is_decorated = is_decorated or b"requires" in line or b"export" in line
        elif is_decorated and line.startswith((b"class ", b"def ")):
            yield line.split()[1].partition(b"(")[0].rstrip(b":")
            is_decorated = False
        elif line and not line.startswith((b" ", b")")):  # what a decorator is called with goes over several lines
            is_decorated = False
