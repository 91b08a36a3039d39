"""`rules/values/<package>.txt`: which texts each release knows of a field, by the chains that ask for them."""

from __future__ import annotations

import ast

from trl_lint.knowledge.refresher.choices import Choice, choices_of
from trl_lint.knowledge.refresher.index import Contents
from trl_lint.knowledge.refresher.packages import PACKAGES
from trl_lint.knowledge.refresher.tables import read_releases
from trl_lint.knowledge.refresher.trees import tree_of

SINCE = {"trl": "0.9"}
# Parts whose functions no trainer of the package itself calls with a field of its config.
_LEFT_OUT = ("trl/experimental/", "trl/scripts/", "trl/extras/", "trl/commands/", "trl/core.py")

Facts = dict[tuple[str, str, str, tuple[str, ...]], tuple[str, ...]]
"""By holder, name, method and switches: the texts that every chain of the method knows."""


def build(name: str) -> str:
    """The text of the values that a package knows.

    Raises OSError (network), zipfile.BadZipFile and tarfile.TarError (damaged archive).
    """
    return render(
        [
            (version, facts_of(choices_of(_trees(contents))))
            for version, contents in read_releases(name, SINCE[name], PACKAGES[name].is_wanted)
        ]
    )


def _trees(contents: Contents) -> dict[str, ast.Module]:
    paths = [path for path in contents.members if path.endswith(".py") and not path.startswith(_LEFT_OUT)]
    return {path: tree for path in paths if (tree := tree_of(contents.members, path)) is not None}


def facts_of(choices: list[Choice]) -> Facts:
    """What the chains of each method leave together: a value that one of them does not know is refused."""
    found: Facts = {}
    for one in choices:
        key = (one.holder, one.name, one.method, one.when)
        before = found.get(key)
        found[key] = one.values if before is None else tuple(value for value in before if value in one.values)
    return found


def render(releases: list[tuple[str, Facts]]) -> str:
    """The text of a file: the releases, oldest first, then a line for each fact with the releases at its ends.

    `DPOTrainer.loss_type dpo_loss - sigmoid,hinge | 0.9.2 0.9.6`: the holder and the name, the method, the switches
    around ("-": none, "?": one that nobody knows), the values, and from which release on up to before which one.
    """
    versions = [version for version, _ in releases]
    lines: dict[str, list[str]] = {}
    last: set[str] = set()
    for version, facts in releases:
        now = {
            f"{holder}.{name} {method} {','.join(when) or '-'} {','.join(values)}"
            for (holder, name, method, when), values in facts.items()
            if values
        }
        for line in sorted(now ^ last):
            lines.setdefault(line, []).append(version)
        last = now
    body = "".join(f"{line} | {' '.join(turns)}\n" for line, turns in sorted(lines.items()))
    return f"releases {' '.join(versions)}\n{body}"
