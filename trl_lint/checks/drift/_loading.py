"""Keywords that functions hand on unread (`from_pretrained(torch_dtype=…)`), and their new names.

No signature tells of them; `rules/compat/loading.toml` does. They stand in the call, or in a dict that nothing but such
calls unpacks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.drift._calls import arguments, is_unsloth
from trl_lint.checks.drift._classes import Argument
from trl_lint.checks.drift._moves import edit_spelling
from trl_lint.checks.drift._unpacked import dict_bound_by, is_dict, unpacked
from trl_lint.checks.drift._wording import sentence
from trl_lint.checks.drift.model_dtype_not_read import is_model
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, Verdict, judge_pins
from trl_lint.finding import Edit, Finding, Fix
from trl_lint.knowledge.renames import Keyword, keywords
from trl_lint.memos import per_module
from trl_lint.project import Project
from trl_lint.project.packages import Package
from trl_lint.project.stack import environment_at
from trl_lint.python.guards import last_name
from trl_lint.python.module import PythonModule
from trl_lint.python.version_guards import is_guarded
from trl_lint.records import NamedTuple


class Passed(NamedTuple):
    """A keyword of the table that a call certainly passes. `sites`: the nodes that spell it; `is_clear`: nothing else
    may pass the new name, and all of them are seen.
    """

    row: Keyword
    call: ast.Call
    sites: tuple[ast.keyword | ast.expr, ...]
    is_clear: bool


class Told(NamedTuple):
    """What the releases in use say of such a keyword."""

    passed: Passed
    package: Package
    verdict: Verdict

    @property
    def place(self) -> ast.keyword | ast.expr:
        return self.passed.sites[0]

    def word(self, is_gone: bool) -> str:
        """The message; `is_gone`: the old name is read no more."""
        row, name = self.passed.row, last_name(self.passed.call.func)
        since = (row.gone if is_gone else row.deprecated).removeprefix(">=")
        happened = f"{row.package} {since} {'removed' if is_gone else 'deprecated'} `{row.old}` of `{name}`"
        return sentence(happened, f"use `{row.new}{f'={row.becomes}' if row.becomes else ''}`", self.verdict.scope)


def findings(rule: Rule, module: PythonModule, project: Project, is_gone: bool) -> Iterator[Finding]:
    """What a rule says of the keywords that are gone, or else of those that are deprecated."""
    for found in told(module, project, is_gone, rule):
        yield rule.finding(
            module.location(found.place),
            found.word(is_gone),
            severity=found.verdict.severity,
            related=found.verdict.related,
            fix=edit_keyword(found, module),
            part_of=module.location(found.passed.call),
        )


def told(module: PythonModule, project: Project, is_gone: bool, rule: Rule) -> Iterator[Told]:
    """The keywords that releases in use do not read, or else that they have deprecated."""
    for passed in _passed(module):
        row = passed.row
        around = environment_at(module, passed.call, project, row.package)
        if around is None or around.package(row.package).is_own or is_guarded(module, passed.call, is_narrowed=True):
            continue
        level = Level(rule, is_mild=is_gone)
        removed = judge_pins(around, {row.package: row.gone}, level) if row.gone else None
        verdict = removed if is_gone or removed else judge_pins(around, {row.package: row.deprecated}, level)
        if verdict is not None and not verdict.only_old and is_gone == (removed is not None):
            yield Told(passed, around.package(row.package), verdict)


@per_module
def _passed(module: PythonModule) -> list[Passed]:
    rows = [row for row in keywords() if row.old in module.text]
    return list(_read(rows, module)) if rows and not is_unsloth(module) else []


def _read(rows: list[Keyword], module: PythonModule) -> Iterator[Passed]:
    seen: set[ast.AST] = set()
    for call in module.calls:
        concerned = [row for row in rows if _is_of(row, call, module)]
        if not concerned:
            continue
        direct = list(arguments(call))
        dicts = [d for k in call.keywords if k.arg is None and (d := _dict_of(k.value, concerned, module)) is not None]
        held = [argument for found in dicts for argument in found]
        for row in concerned:
            sites = tuple(one.node for one in (*direct, *held) if one.name == row.old and one.node not in seen)
            seen.update(sites)
            if sites:
                names = [one.name for one in (*direct, *held)]
                # A dict that is not understood may hold the new name.
                unread = [k for k in call.keywords if k.arg is None and not is_dict(k.value)]
                yield Passed(row, call, sites, row.new not in names and len(unread) == len(dicts))


def _is_of(row: Keyword, call: ast.Call, module: PythonModule) -> bool:
    if last_name(call.func) not in ("from_pretrained", *(name.rpartition(".")[2] for name in row.of)):
        return False
    origins = module.names.origins(call.func)
    return bool(origins) and module.names.is_certain(call.func) and all(_is_one_of(row, one) for one in origins)


def _is_one_of(row: Keyword, origin: str) -> bool:
    if origin.endswith(".from_pretrained") and origin.startswith("transformers."):
        return "any" in row.of or ("model" in row.of and is_model(origin))
    return origin in row.of


def _dict_of(value: ast.expr, rows: list[Keyword], module: PythonModule) -> list[Argument] | None:
    """What a dict with a name holds, where nothing but calls of these functions unpacks it; None where that is not
    certain.
    """
    found = unpacked(value, module)
    if found is None or not all(_are_all_of(row, found.bound, module) for row in rows):
        return None
    return [*found.made, *found.later]


@per_module
def _are_all_of(row: Keyword, bound: ast.Name, module: PythonModule) -> bool:
    """Whether a row is about all the calls that unpack a dict."""
    found = dict_bound_by(bound, module)
    return found is not None and all(_is_of(row, call, module) for call in found.readers)


def edit_keyword(found: Told, module: PythonModule) -> Fix | None:
    """Write the new name. Safe where the pins are settled and every allowed release takes the same value under it.

    Withheld where the new name may be passed as well, where some allowed release does not take it, and where a value
    becomes another one that is not written out.
    """
    row = found.passed.row
    if not found.passed.is_clear or found.package.holds(row.deprecated) != "all":
        return None
    edits = [_edit(site, row, module) for site in found.passed.sites]
    if not all(edits):
        return None
    is_safe = found.package.source in ("pin", "lock", "target")
    title = f"Rename `{row.old}` to `{row.new}`" if not row.value else f"Write `{row.new}={row.becomes}`"
    return Fix(title, "safe" if is_safe else "unsafe", tuple(edit for edit in edits if edit is not None))


def _value_of(value: ast.expr, row: Keyword, module: PythonModule) -> str:
    """What the new name is given; "" where that is not certain. Off was never more than left out."""
    if ast.unparse(value) == row.value:
        return row.becomes
    test: ast.expr | None = value if isinstance(value, (ast.Name, ast.Attribute)) else None
    if isinstance(value, ast.IfExp) and ast.unparse(value.body) == row.value:
        test = value.test if ast.unparse(value.orelse) in ("False", "None") else None
    shown = module.segment(test) if test is not None else ""
    return f"{row.becomes} if {shown} else None" if shown and "\n" not in shown and "#" not in shown else ""


def _edit(site: ast.keyword | ast.expr, row: Keyword, module: PythonModule) -> Edit | None:
    start, end = module.span(site)
    if row.value:
        shown = _value_of(site.value, row, module) if isinstance(site, ast.keyword) else ""
        return module.source.edit(start, end, f"{row.new}={shown}") if shown else None
    return edit_spelling(site, row.old, row.new, module)
