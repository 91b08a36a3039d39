"""Giving a flag of OpenRLHF its new name.

Imported where a finding is written.
"""

from __future__ import annotations

from trl_lint.finding import Fix
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.programs import successors, value_of_flag
from trl_lint.run.readers.argparse_flags import Fault, Flag
from trl_lint.run.readers.openrlhf import OpenRLHFRun, flags_in_release, place_of


def edit_renamed(fault: Fault, run: OpenRLHFRun) -> Fix | None:
    """Write the flag that came for another one (`rules/commands/openrlhf.toml`).

    Safe where all releases that may be installed are known. Withheld where one of those that are known lacks it, where
    it takes other values than the old one did, where the command gives it already, and where the old one is put
    together.
    """
    known, place, command = run.choices["openrlhf"], place_of(fault, run.launch), run.launch.command
    if run.launch.source.text[place.start : place.end] != fault.flag:
        return None
    if not command.start <= place.start < command.end:
        return None  # in a variable, which other commands may take as well
    of_release = [flags_in_release(run.module, version) or {} for version in known.releases]
    found = [new for new in successors("openrlhf", fault.flag) if new in of_release[-1]]
    if len(found) != 1 or not all(found[0] in flags for flags in of_release):
        return None
    new, old = of_release[-1][found[0]], _last(fault.flag, run)
    given = {(word.text or "").partition("=")[0] for word in run.launch.args}
    value = value_of_flag("openrlhf", fault.flag)
    takes = _takes_value(value, new, old) if value else old is not None and _takes_values_of(new, old)
    if not takes or any(word and new.name.startswith(word) for word in given):
        return None
    edit = run.launch.source.edit(place.start, place.end, f"{new.name} {value}".rstrip())
    is_safe = known.complete and not known.assumed
    return Fix(f"Rename `{fault.flag}` to `{new.name}`", "safe" if is_safe else "unsafe", (edit,))


def _last(name: str, run: OpenRLHFRun) -> Flag | None:
    """A flag as the newest release had it that had it."""
    for version in reversed(releases("openrlhf")):
        if name in (flags := flags_in_release(run.module, version) or {}):
            return flags[name]
    return None


def _takes_value(value: str, new: Flag, old: Flag | None) -> bool:
    """Whether a flag that took no value is said by one that takes this value."""
    is_bare = old is not None and old.action == "store_true"
    return is_bare and (new.type, new.least, new.most) == ("str", 1, 1) and (not new.choices or value in new.choices)


def _takes_values_of(new: Flag, old: Flag) -> bool:
    is_alike = (new.type, new.least, new.most, new.action) == (old.type, old.least, old.most, old.action)
    return is_alike and (not new.choices or (bool(old.choices) and set(old.choices) <= set(new.choices)))
