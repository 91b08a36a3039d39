"""Giving an override of verl its new name.

Imported where a finding is written.
"""

from __future__ import annotations

from trl_lint.finding import Fix
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.programs import successors
from trl_lint.missing import ABSENT
from trl_lint.run.readers.hydra import Override, Tree, find
from trl_lint.run.readers.verl import VerlRun, config_name, tree_in_release


def edit_renamed(override: Override, run: VerlRun) -> Fix | None:
    """Set the key that the releases read in its place (`rules/commands/verl.toml`). Unsafe: none of them says so.

    Withheld where one of the releases that may be installed lacks it, where its default is of another type than that
    of the old one, where the command sets it already, and where the word is not written as it is.
    """
    key, word = override.key, override.word
    quote = word.raw[:1] if word.raw[:1] in ("'", '"') else ""
    if override.sign or not word.raw.startswith(f"{quote}{key}="):
        return None
    trees = [tree_in_release(config_name(run, version), version) for version in run.choices["verl"].releases]
    found = [new for new in successors("verl", key) if all(_has(tree, new) for tree in trees)]
    if len(found) != 1 or trees[-1] is None:
        return None
    new, old = find(trees[-1], found[0]), _last(key, run)
    if isinstance(new, dict) or type(new) is not type(old) or _sets(found[0], run):
        return None
    at = word.start + len(quote)
    edit = run.launch.source.edit(at, at + len(key), found[0])
    return Fix(f"Rename `{key}` to `{found[0]}`", "unsafe", (edit,))


def _has(tree: Tree | None, key: str) -> bool:
    return tree is not None and find(tree, key) is not ABSENT


def _last(key: str, run: VerlRun) -> object:
    """The default of a key in the newest release that had it."""
    for version in reversed(releases("verl")):
        tree = tree_in_release(config_name(run, version), version)
        if tree is not None and _has(tree, key):
            return find(tree, key)
    return ABSENT


def _sets(key: str, run: VerlRun) -> bool:
    """Whether the command sets a key, something around it, or something below it."""
    others = (other.key for other in run.overrides)
    return any(f"{key}.".startswith(f"{other}.") or f"{other}.".startswith(f"{key}.") for other in others)
