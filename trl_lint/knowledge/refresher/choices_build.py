"""Writing `rules/values/<package>.txt`: which texts each release knows of a field, by the chains that ask for them."""

from __future__ import annotations

import ast
import os
import sys
import warnings
from collections.abc import Iterator

from packaging.version import Version

from trl_lint.knowledge import rules_dir
from trl_lint.knowledge.refresher import index
from trl_lint.knowledge.refresher.choices import Choice, choices_of
from trl_lint.knowledge.refresher.packages import PACKAGES

SINCE = {"trl": "0.9"}
# Parts whose functions no trainer of the package itself calls with a field of its config.
_LEFT_OUT = ("trl/experimental/", "trl/scripts/", "trl/extras/", "trl/commands/", "trl/core.py")

Facts = dict[tuple[str, str, str, tuple[str, ...]], tuple[str, ...]]
"""By holder, name, method and switches: the texts that every chain of the method knows."""


def refresh_values(names: list[str]) -> int:
    """Write the values of packages. Returns 0, or 1 if one could not be read."""
    failed = 0
    for name in names:
        try:
            text = render(list(_releases(name)))
        except OSError as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed += 1
            continue
        path = os.path.join(rules_dir(), "values", f"{name}.txt")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        print(f"{name}: {len(text):,} bytes")
    return 1 if failed else 0


def _releases(name: str) -> Iterator[tuple[str, Facts]]:
    package = PACKAGES[name]
    for archive in index.archives(name, Version(SINCE[name])):
        contents = index.read(archive, package.is_wanted)
        trees = {}
        for path, (_, data) in contents.members.items():
            if path.endswith(".py") and not path.startswith(_LEFT_OUT):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    trees[path] = ast.parse(data)
        yield str(archive.version), facts_of(choices_of(trees))


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
