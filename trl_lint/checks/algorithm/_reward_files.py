"""Reward functions that a command or a config of a framework names: files, dotted names, names in a registry.

How a framework takes them stands in its file in `rules/families` (`Rewards`).
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from contextlib import suppress

from trl_lint.checks.algorithm._none_uses import none_use
from trl_lint.checks.algorithm._reward_functions import (
    is_none,
    kind_of,
    may_be_none,
    required_of,
    returns_of,
    takes,
    top_function,
)
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding, Location, Severity
from trl_lint.knowledge.families import Rewards, families, family_of
from trl_lint.knowledge.ranges import holds
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.modules import module_file
from trl_lint.project.own_copy import has_own_copy
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.records import NamedTuple
from trl_lint.run.effective import Setting
from trl_lint.run.readers.command_words import words_of
from trl_lint.run.runs import Run
from trl_lint.sources import SourceError
from trl_lint.sources.nodes import Scalar, Sequence, find
from trl_lint.sources.placeholders import is_marked


class Fault(NamedTuple):
    """What is wrong, with the part of the code that is; `stops`: whether it certainly ends the run."""

    message: str
    node: ast.AST
    stops: bool = True


class _Named(NamedTuple):
    """A function of the project that is named at a place."""

    module: PythonModule
    function: FunctionNode
    place: Location
    skipped: int = 0  # parameters that come before those that are passed: `self`
    gets_more: bool = False  # from options


def in_run(run: Run, rule: Rule) -> Iterator[Finding]:
    """The faults of the reward functions that a command names."""
    family = family_of(run.framework)
    for row in family.rewards if family is not None and run.framework != "transformers" else ():
        if row.form == "file":
            yield from _of_file(run, row, rule)
        elif row.form == "registered":
            yield from _registered(run, row, rule)


def in_document(document: Document, project: Project, rule: Rule) -> Iterator[Finding]:
    """The faults of the functions that a config names with their modules."""
    for family in families():
        if not any(kind.kind == document.kind for kind in family.document):
            continue
        for row in (one for one in family.rewards if one.form == "dotted"):
            for option in row.options:
                listed = find(document.root, option)
                for item in listed.items if isinstance(listed, Sequence) else (listed,):
                    named = _dotted(item, document, project) if isinstance(item, Scalar) else None
                    if named is not None:
                        yield from _told(named, row, document.path, project, rule)


# -- what is named -----------------------------------------------------------------------------------------------------


def _of_file(run: Run, row: Rewards, rule: Rule) -> Iterator[Finding]:
    for option in row.options:
        said = run.config.given(option)
        if not isinstance(said, Setting) or not isinstance(said.value, str) or not said.value.endswith(".py"):
            continue
        name = run.config.given(option.replace("path", "name")) if option.endswith(".path") else ABSENT
        if name is not ABSENT and not (isinstance(name, Setting) and isinstance(name.value, str)):
            continue
        text = str(name.value) if isinstance(name, Setting) else row.function
        module = _module(run.launch.file_named(said.value), run.project)
        function = top_function(module, text) if module is not None else None
        if module is None or function is None or not _is_so(run, row):
            continue
        place = said.location or run.launch.location
        beside = option.replace("path", "reward_kwargs")
        gets_more = option.endswith(".path") and any(one.startswith(beside) for one in run.config.names())
        named = _Named(module, function, place, gets_more=gets_more)
        yield from _told(named, row, run.launch.source.path, run.project, rule)


def _is_so(run: Run, row: Rewards) -> bool:
    """Whether the options on which a row rests have the values that it tells, where there are such options."""
    for option, values in row.when.items():
        said = run.config.final(option)
        if said is not ABSENT and not (isinstance(said, Setting) and said.value in (None, *values)):
            return False
    return True


def _dotted(item: Scalar, document: Document, project: Project) -> _Named | None:
    module_name, _, name = item.value.rpartition(".") if isinstance(item.value, str) else ("", "", "")
    path = module_file(module_name, document.path, project) if module_name and not is_marked(module_name) else None
    module = _module(path, project)
    function = top_function(module, name) if module is not None else None
    if module is None or function is None:
        return None
    return _Named(module, function, document.source.location(item.start, item.end))


def _module(path: str | None, project: Project) -> PythonModule | None:
    with suppress(OSError, SourceError):
        return project.module_in(path) if path is not None else None
    return None


def _registered(run: Run, row: Rewards, rule: Rule) -> Iterator[Finding]:
    """The names that no plugin registers, and the classes behind the others."""
    named, plugins = _values(run, row.options[0]), _values(run, row.plugins)
    if not named or plugins is None:
        return
    modules = [_module(run.launch.file_named(text), run.project) for text, _ in plugins]
    known = [_registry(module, row.registry) if module is not None else None for module in modules]
    for text, place in named:
        if text in row.known:
            continue
        made = [(module, found[text]) for module, found in zip(modules, known, strict=True) if found and text in found]
        if made:
            for module, value in made:
                named_class = _called(module, value, place) if module is not None else None
                if named_class is not None:
                    yield from _told(named_class, row, run.launch.source.path, run.project, rule)
        elif None not in known:
            yield from _unknown(text, place, modules, row, run, rule)


def _unknown(
    text: str, place: Location, modules: list[PythonModule | None], row: Rewards, run: Run, rule: Rule
) -> Iterator[Finding]:
    shown = " and ".join(f"`{os.path.basename(module.path)}`" for module in modules if module is not None)
    where = f"{shown} puts no `{text}` into" if shown else "no plugin puts it into"
    message = f"there is no reward function `{text}`: {where} `{row.registry}`, and the release has none of that name"
    yield from _judged(message, place, True, row, run.launch.source.path, run.project, rule, ())


def _values(run: Run, option: str) -> list[tuple[str, Location]] | None:
    """The words behind a flag, none where it is not given; None where they are not all known."""
    given = words_of(run.launch, run.project)
    if given is None:
        return None
    found: list[tuple[str, Location]] = []
    is_behind = False
    for word in given.words:
        text = word.text
        if text is None:
            if is_behind or word.several:
                return None
            continue
        if text.startswith("--"):
            name, equals, value = text.partition("=")
            is_behind = name[2:].replace("-", "_") == option
            if is_behind and equals:
                found = [(value, given.place(word))]
            elif is_behind:
                found = []
        elif is_behind:
            found.append((text, given.place(word)))
    return found


def _registry(module: PythonModule, name: str) -> dict[str, ast.expr] | None:
    """What a module puts into a registry that it imports, by key; None where it may put in more."""
    found: dict[str, ast.expr] = {}
    for use in module.named(name):
        parent = module.parents[use]
        above = module.parents.get(parent)
        if isinstance(parent, ast.Subscript) and isinstance(above, ast.Assign):
            if not isinstance(parent.slice, ast.Constant) or not isinstance(parent.slice.value, str):
                return None
            found[parent.slice.value] = above.value
        elif isinstance(parent, ast.Attribute) and parent.attr == "update" and isinstance(above, ast.Call):
            entries = above.args[0] if len(above.args) == 1 and not above.keywords else None
            if not isinstance(entries, ast.Dict):
                return None
            for key, value in zip(entries.keys, entries.values, strict=True):
                if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                    return None
                found[key.value] = value
        elif not (isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load)):
            return None
    is_handed_on = any(name in ast.dump(node) for node in module.imports if isinstance(node, ast.Import))
    return None if is_handed_on else found


def _called(module: PythonModule, value: ast.expr, place: Location) -> _Named | None:
    """The `__call__` of the class that is registered."""
    classes = [one for one in module.classes if isinstance(value, ast.Name) and one.name == value.id]
    methods = [one for one in classes[0].body if isinstance(one, ast.FunctionDef)] if len(classes) == 1 else []
    calls = [one for one in methods if one.name == "__call__" and not one.decorator_list]
    return _Named(module, calls[0], place, 1) if len(calls) == 1 else None


# -- what is wrong -----------------------------------------------------------------------------------------------------


def _told(named: _Named, row: Rewards, path: str, project: Project, rule: Rule) -> Iterator[Finding]:
    fault = next(_faults(named, row, project), None)
    if fault is not None:
        message = f"`{named.function.name}` {fault.message}"
        shown = (named.place._replace(message="it is named here"),)
        place = named.module.location(fault.node)
        if isinstance(fault.node, ast.FunctionDef):
            place = named.module.name_location(fault.node)
        yield from _judged(message, place, fault.stops, row, path, project, rule, shown)


def _judged(
    message: str,
    place: Location,
    stops: bool,
    row: Rewards,
    path: str,
    project: Project,
    rule: Rule,
    shown: tuple[Location, ...],
) -> Iterator[Finding]:
    chosen = project.environment(path).choices.get(row.package)
    if chosen is None or chosen.package.is_own or has_own_copy(row.package, path, project):
        return
    severity: Severity = "error" if stops else "warning"
    verdict = judge_releases(chosen, lambda version: holds(row.releases, version), Level(severity, of_code=False))
    if verdict is not None:
        yield rule.finding(
            place, f"{message} ({verdict.scope})", severity=verdict.severity, related=(*shown, *verdict.related)
        )


def _faults(named: _Named, row: Rewards, project: Project) -> Iterator[Fault]:
    yield from _misfits(named.function, row, named.skipped, named.gets_more)
    returned = returns_of(named.function)
    if returned is None or isinstance(named.function, ast.AsyncFunctionDef):
        return
    yield from _results(named, row, returned, project)
    use = none_use(named.module, named.function, project)
    if use is not None:
        yield Fault(use.message, use.place, stops=False)


def _misfits(function: FunctionNode, row: Rewards, skipped: int, gets_more: bool) -> Iterator[Fault]:
    """The parameters that do not fit what is passed."""
    spec = function.args
    positional = [*spec.posonlyargs, *spec.args][skipped:]
    number = len(positional) + len(spec.kwonlyargs) + (spec.vararg is not None) + (spec.kwarg is not None)
    if number < row.least:
        yield Fault(
            f"is refused at start: it has {number} of at least {row.least} parameters; take `prompts`, `completions` "
            "and `**kwargs`",
            function,
        )
    if row.by_position and len(positional) < len(row.by_position) and spec.vararg is None:
        missing = ", ".join(f"`{name}`" for name in row.by_position)
        yield Fault(
            f"is called with {len(row.by_position)} arguments ({missing}) and takes {len(positional)}", function
        )
    first = {arg.arg for arg in positional[: len(row.by_position)]}
    lacking = [name for name in row.by_name if name in first or not takes(function, name)]
    if lacking:
        words = ", ".join(f"`{name}`" for name in lacking)
        yield Fault(f"does not take {words}, which it is called with: add `**kwargs`", function)
    if gets_more:
        return
    if row.by_name and not row.by_position:
        asked = sorted(required_of(function) - set(row.by_name))
        if asked:
            yield Fault(f"needs `{asked[0]}`, which it is never called with", function)
    elif row.by_position and not row.by_name:
        before = {arg.arg for arg in positional[: len(row.by_position)]}
        asked = sorted(required_of(function) - before)
        if asked:
            yield Fault(f"needs `{asked[0]}`, which it is never called with", function)


def _results(named: _Named, row: Rewards, returned: list[ast.Return], project: Project) -> Iterator[Fault]:
    """What it returns and nobody can use."""
    function, module = named.function, named.module
    if row.gives and not returned and not isinstance(function.body[-1], (ast.Raise, ast.Pass, ast.Expr)):
        yield Fault("returns nothing", function)
    for node in returned if row.gives else ():
        if node.value is None or is_none(node.value):
            yield Fault("gives None as a reward here, which stops the run", node)
            continue
        kind, keys = kind_of(node.value, function), _keys(node.value)
        if keys is not None and row.key not in keys:
            yield Fault(f"gives a dict without `{row.key}`, which is read of it (KeyError)", node)
        elif row.gives == "dict" and kind in ("a tensor", "a list", "one value"):
            yield Fault(f'gives {kind}, where a dict is read: return {{"{row.key}": …}} with the rewards in it', node)
        elif row.gives == "number" and kind == "a list":
            yield Fault("gives a list, where one number is expected", node)
        elif may_be_none(node.value, module, function, project):
            yield Fault("gives None as a reward here, by what it calls, which stops the run", node, stops=False)


def _keys(value: ast.expr) -> set[object] | None:
    """The keys of a dict that is written out; None for anything else."""
    if isinstance(value, ast.Dict) and all(isinstance(key, ast.Constant) for key in value.keys):
        return {key.value for key in value.keys if isinstance(key, ast.Constant)}
    return None
