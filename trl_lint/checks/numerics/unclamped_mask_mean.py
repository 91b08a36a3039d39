"""TRL603: the mean of a row under a mask, divided by a count that may be zero."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding, Fix, Location
from trl_lint.memos import read_per_project
from trl_lint.paths import is_test_file
from trl_lint.python.dataflow.interpreter import dotted
from trl_lint.python.guards import last_name
from trl_lint.python.islands import rewrite, with_keyword
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.values import argument, literal
from trl_lint.sources import SourceError

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.project import Project

# What makes a number of the nan that a row without tokens gives.
_MENDS = frozenset({"nan_to_num", "nan_to_num_", "where", "masked_fill", "masked_fill_", "nanmean", "nansum"})
# All labels of one row are set to what a loss leaves out.
_IGNORED = r"(?:-100\b|[\w.]{0,80}?(?:ignore|IGNORE)_?(?:index|INDEX|id|ID|token|TOKEN)\w{0,40})"
_EMPTIED = (
    rf"\b(?:\w*_)?(?:label|target)s?(?:\[\w+\])?"
    rf"(?:\[(?::|\.\.\.)\][ \t]*=[ \t]*{_IGNORED}|\.fill_\({_IGNORED}\))"
)
_TESTS = (ast.If, ast.IfExp, ast.Assert, ast.While)


class UnclampedMaskMean(Rule):
    code = "TRL603"
    triggers = (".sum",)
    needles = (b"mask.sum(", b"masks.sum(")
    patterns = (
        rb"/[\s\\(]{0,200}(?:#[^\n]{0,100}\n[\s\\(]{0,50}){0,2}(?:[\w\x80-\xff][\w.\s\\\x80-\xff]{0,100})?masks?\.sum\(",
    )
    skips_tests = True

    def check_call(self, site: Site) -> Iterator[Finding]:
        if not is_count_of_rows(site.call, site.module) or is_taken_care_of(site.call, site.module):
            return
        labels = read_labels(site.call, site.module)
        # A completion has one token at least. Which tokens have a loss is for the data to say.
        if labels is None and "loss" not in mask_of(site.call).lower():
            return
        emptied = emptied_rows(site.project) if labels is not None else None
        shown = "" if emptied is None else ", and this project masks whole rows of labels"
        yield self.finding(
            site.location,
            f"a row of `{mask_of(site.call)}` without a single 1 has nan as its mean{shown}: clamp the count at 1",
            severity="warning" if emptied is not None else "info",
            related=tuple(place for place in (labels, emptied) if place is not None),
            fix=edit_clamp(site),
        )


def mask_of(call: ast.Call) -> str:
    return (dotted(call.func.value) or "") if isinstance(call.func, ast.Attribute) else ""


def is_count_of_rows(call: ast.Call, module: PythonModule) -> bool:
    """`… mask … / mask.sum(dim)`: one divisor for each row, of the mask that the dividend was multiplied with."""
    mask = mask_of(call)
    parent = module.parents.get(call)
    if not mask.lower().endswith(("mask", "masks")) or not isinstance(parent, ast.BinOp):
        return False
    if not isinstance(parent.op, ast.Div) or parent.right is not call:
        return False
    dim = (
        argument(call, "axis") if any(keyword.arg == "axis" for keyword in call.keywords) else argument(call, "dim", 0)
    )
    return isinstance(literal(dim), int) and mask in names_in(parent.left)


def names_in(node: ast.AST) -> set[str]:
    found = (dotted(part) for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Attribute)))
    return {name for name in found if name is not None}


def is_taken_care_of(call: ast.Call, module: PythonModule) -> bool:
    """Whether a test of the function is about the mask, or what comes out is mended in the same expression."""
    if is_test_file(module.path):
        return True
    for parent in module.ancestors(call):
        if isinstance(parent, ast.Call) and last_name(parent.func) in _MENDS:
            return True
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            mask = mask_of(call)
            tests = [node.test for node in ast.walk(parent) if isinstance(node, _TESTS)]
            return any(is_about_values(test, mask) for test in tests) or is_rebuilt(parent, mask)
    return False


def is_about_values(test: ast.expr, mask: str) -> bool:
    """`mask.sum() == 0`, `mask.any()`; not `mask is None` and not a comparison of shapes."""
    calls = [node for node in ast.walk(test) if isinstance(node, ast.Call)]
    return any(mask in names_in(node) for node in calls)


def is_rebuilt(function: FunctionNode, mask: str) -> bool:
    """Whether a place is set to 1 whatever it was: `mask[:, 0] = 1`."""
    targets = [target for node in ast.walk(function) if isinstance(node, ast.Assign) for target in node.targets]
    return any(isinstance(target, ast.Subscript) and dotted(target.value) == mask for target in targets)


def read_labels(call: ast.Call, module: PythonModule) -> Location | None:
    """Where the mask is made of labels: a row whose answer was cut off then has none that counts."""
    function, mask = module.function(call), mask_of(call)
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.Assign) and mask in [dotted(target) for target in node.targets]:
            for part in ast.walk(node.value):
                if isinstance(part, ast.Compare) and "label" in ast.unparse(part.left):
                    return module.location(node, "the mask is made of labels")
    return None


@read_per_project
def emptied_rows(project: Project) -> Location | None:
    """A place of the project that leaves a row without a label that counts: `labels[:] = IGNORE_INDEX`."""
    return next(_emptied_rows(project), None)


def _emptied_rows(project: Project) -> Iterator[Location]:
    for path in project.paths:
        with suppress(OSError, SourceError):
            if path.endswith(".py") and not is_test_file(path) and project.files.fits(path, _EMPTIED.encode()):
                match = re.search(_EMPTIED, project.files.get(path).text)
                if match is not None:
                    yield Location(path, match.start(), match.end(), "no label of this row counts")


def edit_clamp(site: Site) -> Fix | None:
    """Divide by one at least. Not safe: the sum of weights below one would be raised as well."""

    def clamped(call: cst.Call) -> cst.Call:
        import libcst as cst

        return with_keyword(cst.Call(cst.Attribute(call, cst.Name("clamp"))), "min", "1")

    edit = rewrite(site, site.call, clamped)
    return Fix("Add `.clamp(min=1)`", "unsafe", (edit,)) if edit is not None else None


rule = UnclampedMaskMean()
