"""Giving an attribute that is read from an object its new name.

Imported where a finding is written.
"""

from __future__ import annotations

from trl_lint.checks.drift._members import GoneMember
from trl_lint.checks.drift._moves import is_settled, takes_over
from trl_lint.checks.drift._past import read_past
from trl_lint.finding import Fix
from trl_lint.knowledge.presence import points_of_parameter
from trl_lint.knowledge.renames import is_same_value
from trl_lint.python.module import PythonModule


def edit_reads(gone: GoneMember, module: PythonModule) -> Fix | None:
    """Rename every read of a gone attribute where its own release announced the new name of the field.

    Safe where that release took the value over unchanged and the pins are settled, as for keywords. Withheld where a
    class of the file defines the new name itself.
    """
    owner, old = gone.reads[0].owner, gone.reads[0].node.attr
    newest = gone.known.newest(points_of_parameter(owner.dotted, old))
    past = read_past(owner.dotted, old, newest)
    if past is None or not past.is_rename or not past.successor.isidentifier():
        return None
    new = past.successor
    if any(new in read.owner.own for read in gone.reads) or not takes_over(owner.dotted, old, new, gone.known):
        return None
    edits = []
    for read in gone.reads:
        _, end = module.span(read.node)
        edits.append(module.source.edit(end - len(old), end, new))
    is_safe = is_same_value(owner.dotted, old, new) and is_settled(
        owner.dotted, new, past.elsewhere.package, gone.known
    )
    return Fix(f"Rename `{old}` to `{new}`", "safe" if is_safe else "unsafe", tuple(edits))
