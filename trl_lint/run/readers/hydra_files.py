"""Puts together the configuration of a Hydra program from the project's own YAML files, as `hydra.compose` does it.

Understood are defaults lists with `_self_`, configs, `group: choice`, `group@package: choice`, `optional`, `override`,
interpolated choices, the `# @package` header and a `hydra.searchpath` into the project. What is not understood, or lies
outside the project, leaves the configuration unknown (None): structured configs, plugins, `???` choices. A choice that
is not there leaves the package unknown that it goes to.
Read in hydra/_internal/defaults_list.py and config_loader_impl.py of 1.3.2.
"""

from __future__ import annotations

import ast
import os
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from trl_lint import budget, tracked
from trl_lint.knowledge.loaders import as_read
from trl_lint.memos import per_project
from trl_lint.missing import UNKNOWN
from trl_lint.project import Project
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.readers.hydra import MISSING, Tree, put
from trl_lint.sources import Source, SourceError
from trl_lint.sources import nodes as yaml_nodes
from trl_lint.words import listed

_HEADER = regex(r"^#\s*@package\s+(\S+)\s*$", re.MULTILINE)
_INTERPOLATION = regex(r"\$\{([\w@./]+)\}")
_DEEPEST = 20
_MOST_VALUES = 50_000  # of one config


class Program(NamedTuple):
    """Where `@hydra.main` of a script looks: a folder, and the config it begins with."""

    folder: str
    config: str


class NotUnderstoodError(Exception):
    """The configuration uses something that is not read here."""


class Entry(NamedTuple):
    """One config of a composition: its path below the folder, without suffix, and the package its keys go to."""

    path: str
    package: str
    body: yaml_nodes.Mapping


@per_project
def read_program(path: str, project: Project) -> Program | None:
    """What `@hydra.main(config_path="config", config_name="x")` of the script at `path` names; None for all else."""
    try:
        if not project.files.holds(path, b"hydra.main"):
            return None
        functions = project.module_in(path).functions
    except (OSError, SourceError):
        return None
    found = [
        decorator
        for function in functions
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "hydra.main"
    ]
    if len(found) != 1 or found[0].args:
        return None
    given = {k.arg: k.value.value for k in found[0].keywords if isinstance(k.value, ast.Constant)}
    folder, name = given.get("config_path"), given.get("config_name")
    if not isinstance(folder, str) or not isinstance(name, str) or "://" in folder:
        return None
    folder = os.path.normpath(os.path.join(os.path.dirname(path), folder))
    return Program(folder, name.removesuffix(".yaml")) if tracked.is_folder(folder) else None


def compose(program: Program, choices: Mapping[str, str], project: Project) -> Tree | None:
    """The tree of a program with `choices` of groups (by `group` or `group@package`).

    None if something is not understood, or if a choice selects nothing in the defaults lists.
    """
    composer = _Composer(program, dict(choices), project)
    try:
        entries = list(composer.visit(program.config, "", 0))
        if composer.unused:
            return None
        tree: Tree = {}
        for entry in entries:
            merge(_below(tree, entry.package), entry.body)
        for package in composer.missing.values():
            put(tree, package, UNKNOWN)
        tree.pop("hydra", None)
    except (NotUnderstoodError, OSError, SourceError, RecursionError):
        return None
    if composer.missing:
        names = listed([f"`{name}`" for name in composer.missing])
        path = os.path.join(program.folder, f"{program.config}.yaml")
        budget.note(
            path, f"configs that its defaults list names are not here ({names}), so their keys were not checked"
        )
    return tree


class Loaded(NamedTuple):
    """A config file: its defaults list, the package its header names, and the rest. Not to be changed."""

    defaults: list[yaml_nodes.Node]
    header: str | None
    body: yaml_nodes.Mapping


class _Composer:
    def __init__(self, program: Program, choices: dict[str, str], project: Project) -> None:
        self.folders = [program.folder]
        self.project = project
        self.given = choices
        self.unused = set(choices)
        self.choices = dict(choices)
        self.overridden: dict[str, str] = {}
        self.missing: dict[str, str] = {}  # configs that are not there, with the package that each would fill

    def visit(self, path: str, package: str, depth: int) -> Iterator[Entry]:
        """The configs behind a config, in the order in which they are merged."""
        if depth > _DEEPEST:
            budget.limit(_DEEPEST, "configs that name each other more than {} deep were not read", path)
            raise NotUnderstoodError
        defaults, header, body = self._load(path)
        if header is not None:
            package = self._package(header, package)
        if depth == 0:
            self._read_searchpath(body)
        items = [self._item(item) for item in defaults]
        if ("_self_", "") not in items:
            items.append(("_self_", ""))
        self._note_choices(items, path, package)
        for key, value in items:
            if key == "_self_":
                yield Entry(path, package, body)
            elif not key:
                name, at, wanted = value.partition("@")
                below = posixpath.dirname(name.lstrip("/")).strip("./").replace("/", ".")
                inner = self._package(wanted, package) if at else _joined(package, below)
                yield from self.visit(self._relative(name, path), inner, depth + 1)
            elif not key.startswith("override "):
                yield from self._visit_group(key, value, path, package, depth)

    def _visit_group(self, key: str, value: str, path: str, package: str, depth: int) -> Iterator[Entry]:
        is_optional = key.startswith("optional ")
        group, target = self._group(key.removeprefix("optional "), path, package)
        chosen = self._choice(group, target) or value
        chosen = _INTERPOLATION.sub(self._filled, chosen)
        if chosen == "null":
            return
        if "$" in chosen or chosen == "???":
            raise NotUnderstoodError
        found = f"{group}/{chosen.removesuffix('.yaml')}"
        has_package = "@" in key
        if self._file(found) is None and (is_optional or (has_package and target)):
            if not is_optional:
                self.missing[found] = target  # such as `data/`, which git ignores
            return
        header = None if has_package else self._load(found)[1]
        inner = target if header is None else self._package(header, package)
        for entry in self.visit(found, inner, depth + 1):
            # The header of the config itself was heard above, and is outvoted by `@package` of the list.
            yield entry if entry.path != found else entry._replace(package=inner)

    def _note_choices(self, items: list[tuple[str, str]], path: str, package: str) -> None:
        for key, value in items:
            if key.startswith("override "):
                group, target = self._group(key.removeprefix("override "), path, package)
                for name in (group, f"{group}@{target}"):
                    self.overridden.setdefault(name, value)
        for key, value in items:
            if key and key != "_self_" and not key.startswith(("override ", "optional ")):
                group, target = self._group(key, path, package)
                self.choices.setdefault(group, self._choice(group, target) or value)

    def _choice(self, group: str, target: str) -> str:
        for name in (f"{group}@{target}", group):
            if name in self.given and (name != group or target in ("", group.replace("/", "."), "_global_")):
                self.unused.discard(name)
                return self.given[name]
        return self.overridden.get(f"{group}@{target}") or self.overridden.get(group, "")

    def _filled(self, match: re.Match[str]) -> str:
        return self.choices.get(match[1], match[0])

    def _group(self, key: str, path: str, package: str) -> tuple[str, str]:
        """The folder of a group below the root, and the package its config goes to."""
        name, at, wanted = key.partition("@")
        group = self._relative(name.strip(), path)
        if at:
            return group, self._package(wanted.strip(), package)
        return group, _joined(package, name.strip().strip("/.").replace("/", "."))

    def _relative(self, name: str, path: str) -> str:
        joined = name.lstrip("/") if name.startswith("/") else posixpath.join(posixpath.dirname(path), name)
        found = posixpath.normpath(joined)
        if found.startswith(".."):
            raise NotUnderstoodError
        return found

    def _package(self, wanted: str, package: str) -> str:
        if wanted == "_global_":
            return ""
        if wanted.startswith("_global_."):
            return wanted[len("_global_.") :]
        if wanted == "_here_":
            return package
        if "_" in (wanted[:1], wanted[-1:]) and wanted.strip("_") in ("group", "name", "group_._name"):
            raise NotUnderstoodError
        return _joined(package, wanted)

    def _item(self, item: yaml_nodes.Node) -> tuple[str, str]:
        """One line of a defaults list as (group, choice): ("_self_", ""), ("", config), ("group@package", "x")."""
        if isinstance(item, yaml_nodes.Scalar) and isinstance(item.value, str):
            return ("_self_", "") if item.value == "_self_" else ("", item.value)
        if isinstance(item, yaml_nodes.Mapping) and len(item.entries) == 1:
            key, value = item.entries[0]
            if isinstance(key.value, str) and isinstance(value, yaml_nodes.Scalar):
                if value.value is None:
                    return key.value, "null"
                if isinstance(value.value, str):
                    return key.value, value.value
        raise NotUnderstoodError

    def _load(self, path: str) -> Loaded:
        name = self._file(path)
        if name is None:
            raise NotUnderstoodError
        self.project.files.get(name)  # programs that differ in one choice read the same, and each of them uses it
        return loaded_config(name, self.project)

    def _file(self, path: str) -> str | None:
        for folder in self.folders:
            name = os.path.normpath(os.path.join(folder, path + ".yaml"))
            if tracked.is_file(name):
                return name
        return None

    def _read_searchpath(self, body: yaml_nodes.Mapping) -> None:
        listed = yaml_nodes.find(body, "hydra.searchpath")
        for item in listed.items if isinstance(listed, yaml_nodes.Sequence) else ():
            kind, _, name = str(yaml_nodes.value_of(item)).partition("://")
            place = name.replace(".", "/") if kind == "pkg" else name
            folder = None if os.path.isabs(place) or kind not in ("pkg", "file") else self._folder_above(place)
            if folder is None:
                raise NotUnderstoodError
            self.folders.append(folder)

    def _folder_above(self, place: str) -> str | None:
        """A folder as the program finds it: below where it is started, which is a folder around its configs."""
        around, root = self.folders[0], self.project.root
        while around != root and around.startswith(root.rstrip(os.sep) + os.sep):
            around = os.path.dirname(around)
            folder = os.path.normpath(os.path.join(around, place))
            if tracked.is_folder(folder):
                return folder
        return None


@per_project
def loaded_config(path: str, project: Project) -> Loaded:
    """One config file. Raises NotUnderstoodError, SourceError and OSError."""
    from trl_lint.sources.yaml import read_yaml

    source = Source(project.files.get(path), "yaml")
    documents = read_yaml(source)
    if not documents:
        return Loaded([], None, yaml_nodes.Mapping([], 0, 0))
    body = documents[0]
    if len(documents) > 1 or not isinstance(body, yaml_nodes.Mapping) or _is_vast(body):
        raise NotUnderstoodError
    header = _HEADER.search(source.text)
    listed = body.get("defaults")
    if listed is not None and not isinstance(listed, yaml_nodes.Sequence):
        raise NotUnderstoodError
    rest = [entry for entry in body.entries if entry.key.value != "defaults"]
    kept = yaml_nodes.Mapping(rest, body.start, body.end)
    kept.merged, kept.has_rivals = body.merged, body.has_rivals
    return Loaded(list(listed.items) if listed is not None else [], header[1] if header else None, kept)


def _is_vast(body: yaml_nodes.Mapping) -> bool:
    """Whether a config has too many values when all of its aliases are written out: each level may double them."""
    count = 0
    waiting: list[yaml_nodes.Node] = [body]
    while waiting and count <= _MOST_VALUES:
        node = waiting.pop()
        count += 1
        if isinstance(node, yaml_nodes.Mapping):
            waiting += (entry.value for entry in node.entries)
            waiting += node.merged
    return bool(waiting)


def _joined(package: str, below: str) -> str:
    return f"{package}.{below}" if package and below else package or below


def _below(tree: Tree, package: str) -> Tree:
    node = tree
    for part in package.split(".") if package else ():
        child = node.get(part)
        if not isinstance(child, dict):
            child = node[part] = {}
        node = child
    return node


def merge(into: Tree, body: yaml_nodes.Mapping) -> None:
    """OmegaConf.merge: mappings are joined, everything else is replaced, `???` replaces nothing."""
    _join(into, _read_tree(body))


def _join(into: Tree, tree: Tree) -> None:
    for name, value in tree.items():
        if isinstance(value, dict):
            child = into.get(name)
            if not isinstance(child, dict):
                child = into[name] = {}
            _join(child, value)
        elif value is not MISSING or name not in into:
            into[name] = value


def _read_tree(body: yaml_nodes.Mapping) -> Tree:
    """The values of one file, with what its merge keys take in."""
    tree: Tree = {}
    for merged in reversed(body.merged):
        for name, value in _read_tree(merged).items():
            tree[name] = UNKNOWN if body.has_rivals and tree.get(name, value) != value else value
    for key, node in body.entries:
        if key.value == "<<" and not key.quoted:
            continue
        tree[str(key.value)] = _read_tree(node) if isinstance(node, yaml_nodes.Mapping) else _value(node)
    return tree


def _value(node: yaml_nodes.Node) -> Any:
    if not isinstance(node, yaml_nodes.Scalar):
        return []
    if not isinstance(node.value, str):
        return node.value
    if node.value == "???":
        return MISSING
    if "${" in node.value:
        return UNKNOWN
    return as_read(node, "OmegaConf")
