"""Giving an argument its new name, or moving it from a trainer to its config, in the text of the calls."""

from __future__ import annotations

import ast

from trl_lint.checks.drift._calls import accepts
from trl_lint.checks.drift._classes import Argument, Callee, root_of
from trl_lint.checks.drift._objects import construction, object_of
from trl_lint.checks.drift._past import Past
from trl_lint.checks.drift._unpacked import passes, spelled
from trl_lint.finding import Edit, Fix
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.presence import intervals, points_of_parameter
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.renames import Move, is_same_value, move_of, rename_in_class, takers
from trl_lint.missing import UNKNOWN
from trl_lint.project.stack import Choices
from trl_lint.python.module import PythonModule
from trl_lint.python.scopes import scopes


def edit_move(
    call: ast.Call, argument: Argument, callee: Callee, past: Past | None, known: Choices, module: PythonModule
) -> Fix | None:
    """Move an argument that the trainer once wrote into its config to the call that builds it; see `_config_class` for
    configs that come from elsewhere.
    """
    move = move_of(callee.package, callee.name, argument.name)
    node = argument.node
    if move is None or past is None or not isinstance(node, ast.keyword) or node not in call.keywords or callee.own:
        return None
    if isinstance(node.value, ast.Constant) and node.value.value is None:
        removal = edit_removal(call, node, module)
        return None if removal is None else Fix(f"Drop `{argument.name}=None`, which is not given", "safe", (removal,))
    return _edit_construction(call, node, move, past, known, module)


def _edit_construction(
    call: ast.Call, node: ast.keyword, move: Move, past: Past, known: Choices, module: PythonModule
) -> Fix | None:
    """Move the argument to the call that builds the config.

    Safe where the value is a written one and the pins are settled. Withheld where the call that builds the config is
    not certain, may have the field already, or builds it for another trainer too, where some allowed release does not
    have the field, where the value may not exist yet when the config is built, and where a comment would be lost.
    """
    name = node.arg or ""
    given = [keyword.value for keyword in call.keywords if keyword.arg == "args"]
    config = construction(given[0], module) if given and all(k.arg for k in call.keywords) else None
    built = object_of(given[0], module) if config is not None else None
    if config is None or built is None or built.own or (built.package, built.name) != (move.package, move.config):
        return None
    taken = {keyword.arg for keyword in config.keywords}
    fields = move.arguments[name]
    field = next((f for f in fields if is_everywhere(built.dotted, f, known)), None)
    if field is None or None in taken or taken & set(fields) or len(config.args) > 1:
        return None
    if any(isinstance(value, ast.Starred) for value in config.args) or not is_only_use(given[0], field, module):
        return None
    value = module.value(node.value)
    if value is None or not is_known_at(node.value, config, given[0], module):
        return None
    edits = [edit_removal(call, node, module), edit_insertion(config, field, module.segment(node.value), module)]
    if None in edits:
        return None
    title = f"Move `{name}` to `{move.config}`" + (f" as `{field}`" if field != name else "")
    is_safe = value is not UNKNOWN and is_settled(built.dotted, field, past.elsewhere.package, known)
    return Fix(title, "safe" if is_safe else "unsafe", tuple(edit for edit in edits if edit is not None))


def edit_rename(
    call: ast.Call, argument: Argument, past: Past | None, dotted: str, known: Choices, module: PythonModule
) -> Fix | None:
    """Rename the keyword where its own release announced the new name.

    Safe where that release is known to have taken the value over unchanged (`rules/compat/renames.toml`) and the pins
    are settled; what is announced as a new name is sometimes a near relative. Unsafe where the call may pass the new
    name in `**kwargs`. Withheld where it does so for certain, where the name stands in a dict that may be used for
    something else, and where some of the allowed releases do not take the new name.

    A class that stood elsewhere before announced what it renamed there: `trl.experimental.cpo` never saw `tokenizer`.
    """
    package = dotted.partition(".")[0]
    if past is None:
        row = rename_in_class(package, dotted.rpartition(".")[2], argument.name)
        if row is None:
            return None
        new, is_same = row.new, row.same
    elif past.is_rename and past.successor.isidentifier():
        new, is_same = past.successor, is_same_value(dotted, argument.name, past.successor)
        package = past.elsewhere.package
    else:
        return None
    sites = spelled(call, argument, module)
    is_there = passes(call, new, module)
    if not sites or is_there or not takes_over(dotted, argument.name, new, known):
        return None
    edits = [edit_spelling(site, argument.name, new, module) for site in sites]
    if not all(edits):
        return None
    is_safe = is_same and is_there is False and is_settled(dotted, new, package, known)
    title = f"Rename `{argument.name}` to `{new}`"
    return Fix(title, "safe" if is_safe else "unsafe", tuple(edit for edit in edits if edit is not None))


def edit_spelling(site: ast.keyword | ast.expr, old: str, new: str, module: PythonModule) -> Edit | None:
    """Rename a keyword, or a key in quotes; None for a key that is written in another way."""
    start, end = module.span(site)
    at = start if isinstance(site, ast.keyword) else start + 1
    is_plain = module.text[at : at + len(old)] == old and (isinstance(site, ast.keyword) or end == at + len(old) + 1)
    return module.source.edit(at, at + len(old), new) if is_plain else None


def is_everywhere(dotted: str, name: str, known: Choices) -> bool:
    """Whether every allowed release takes a parameter."""
    newest = known.newest(points_of_parameter(dotted, name))
    return bool(newest) and all(_in_all(dotted, name, newest, package, known[package].releases) for package in newest)


def takes_over(dotted: str, old: str, new: str, known: Choices) -> bool:
    """Whether a new name takes the value of the old one in every allowed release."""
    return is_everywhere(dotted, new, known) and all(
        package in known and all(holds(releases, version) for version in known[package].releases)
        for package, releases in takers(dotted, old, new).items()
    )


def _in_all(dotted: str, name: str, versions: dict[str, str], package: str, allowed: tuple[str, ...]) -> bool:
    """Whether a parameter is there with all of the releases of a package; between two changes one of them is asked."""
    points = points_of_parameter(dotted, name).get(package, frozenset())
    return all(accepts(dotted, name, {**versions, package: s[-1]}) for s in intervals(package, allowed, points))


def is_settled(dotted: str, name: str, named: str, known: Choices) -> bool:
    """Whether a new name is right wherever the code runs: the package that took the old one away is pinned to releases
    that are all known, and what may be installed of the others makes no difference.
    """
    newest = known.newest(points_of_parameter(dotted, name))
    loose = [package for package in newest if known[package].assumed or not known[package].complete]
    return named not in loose and all(
        _in_all(dotted, name, newest, package, tuple(releases(package))) for package in loose
    )


def is_only_use(given: ast.expr, field: str, module: PythonModule) -> bool:
    """Whether a config goes to one trainer alone, and nobody reads the field from it."""
    if isinstance(given, ast.Call):
        return True
    if not isinstance(given, ast.Name):
        return False
    binding = scopes(module).binding(given)
    for node in module.parents:
        if not isinstance(node, ast.Name) or node.id != given.id or node is given or not isinstance(node.ctx, ast.Load):
            continue
        parent = module.parents[node]
        is_read = isinstance(parent, ast.Attribute) and parent.attr != field
        if scopes(module).binding(node) is not binding or not is_read:
            return False
    return True


def is_known_at(value: ast.expr, config: ast.Call, given: ast.expr, module: PythonModule) -> bool:
    """Whether an expression means the same where the config is built."""
    if config is given:  # in the same call
        return not any(
            isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for part in ast.walk(value)
        )
    root = root_of(value)
    if not isinstance(root, ast.Name):
        return module.value(value) is not UNKNOWN
    binding = scopes(module).binding(root)
    if binding is None:
        return False
    there = scopes(module).scope(binding)
    is_seen = there is scopes(module).scope(config) or there is module.tree
    return is_seen and module.span(binding)[1] <= module.span(config)[0]


def edit_removal(call: ast.Call, node: ast.keyword, module: PythonModule) -> Edit | None:
    """Take an argument out of a call, with its comma, and with its line if it has one to itself."""
    text = module.text
    start, end = module.span(node)
    close = module.span(call)[1] - 1
    after = end + len(text[end:close]) - len(text[end:close].lstrip(" \t"))
    comma = after if text[after : after + 1] == "," else None
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end) if "\n" in text[end:] else len(text)
    rest = text[(comma + 1 if comma is not None else after) : line_end]
    is_alone = not text[line_start:start].strip() and not rest.strip() and line_end < close
    if is_alone and line_start > module.span(call)[0]:
        return module.source.edit(line_start, line_end + 1, "")
    spans = sorted(module.span(other) for other in (*call.args, *call.keywords) if other is not node)
    following = [s for s, _ in spans if s >= end]
    preceding = [e for _, e in spans if e <= start]
    if following and "\n" not in text[end : following[0]]:
        removed = (start, following[0])
    elif "#" in text[after : min(line_end, close) if line_start > module.span(call)[0] else line_end]:
        return None  # the comment is about this argument, or about a call of one line
    elif preceding:
        removed = (preceding[-1], end)
    elif following:
        return None
    else:
        removed = (start, comma + 1 if comma is not None else end)
    gap = text[removed[0] : start] + text[end : removed[1]]
    return None if gap.strip(" \t\r\n,") else module.source.edit(*removed, "")


def edit_insertion(call: ast.Call, name: str, value: str, module: PythonModule) -> Edit | None:
    """Put one more keyword at the end of a call, on a line of its own if the last argument has one."""
    text = module.text
    close = module.span(call)[1] - 1
    spans = sorted(module.span(argument) for argument in (*call.args, *call.keywords))
    if not spans:
        is_empty = text[close - 1 : close] == "("
        return module.source.edit(close, close, f"{name}={value}") if is_empty else None
    return insertion_behind(spans[-1], close, f"{name}={value}", module)


def insertion_behind(last: tuple[int, int], close: int, content: str, module: PythonModule) -> Edit | None:
    """Put one more argument or parameter behind the last one, whose span is given, on a line of its own if that has
    one. `close`: where the bracket closes.
    """
    text = module.text
    start, end = last
    line_start = text.rfind("\n", 0, start) + 1
    indent = text[line_start:start]
    tail = text[end:close]
    has_comma = tail.lstrip().startswith(",")
    if indent.strip() or "\n" not in tail:
        return module.source.edit(end, end, f", {content}") if "#" not in tail else None
    if not has_comma:
        return module.source.edit(end, end, f",\n{indent}{content}") if "#" not in tail else None
    comma = end + tail.index(",") + 1
    line_end = text.find("\n", comma)
    if line_end > close or tail[: tail.index(",")].strip():
        return None
    line_end -= text[line_end - 1] == "\r"
    return module.source.edit(line_end, line_end, f"\n{indent}{content},")
