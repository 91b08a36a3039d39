"""Writing `rules/conditions/<package>.txt`: the releases that it does not have yet are read and added."""

from __future__ import annotations

import os
import sys
import tarfile
import zipfile

from packaging.version import Version

from trl_lint.knowledge import rules_dir
from trl_lint.knowledge.refresher import index
from trl_lint.knowledge.refresher.build import show
from trl_lint.knowledge.refresher.conditions import release_conditions
from trl_lint.knowledge.refresher.conditions_source import Trees
from trl_lint.knowledge.refresher.conditions_write import History, add_release, parse, render
from trl_lint.knowledge.refresher.packages import PACKAGES

# The oldest release read, and the modules whose classes are asked.
RECORDED = {
    "trl": ("0.7", ("trl.*",)),
    "transformers": ("4.40", ("transformers.training_args*", "transformers.trainer")),
}


def refresh_conditions(names: list[str], anew: bool = False) -> int:
    """Write the conditions of packages, with `anew` of all releases again. Returns 0, or 1 if one could not be read."""
    failed = 0
    for name in names:
        path = conditions_path(name)
        history = History([], {}, {})
        if not anew and os.path.exists(path):
            with open(path, encoding="utf-8") as stream:
                history = parse(stream.read())
        try:
            _add_new(name, history)
        except (OSError, zipfile.BadZipFile, tarfile.TarError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed += 1
            continue
        text = render(name, history)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        print(f"{name}: {len(text):,} bytes")
    return 1 if failed else 0


def conditions_path(name: str) -> str:
    return os.path.join(rules_dir(), "conditions", f"{name}.txt")


def _add_new(name: str, history: History) -> None:
    package, known = PACKAGES[name], Trees()
    since, modules = RECORDED[name]
    archives = index.archives(name, Version(since))
    for number, archive in enumerate(archives, 1):
        version = str(archive.version)
        if version not in history.releases:
            show(name, number, len(archives), version)
            contents = index.read(archive, package.is_wanted)
            found = release_conditions(name, contents.members, known, modules)
            history.releases.append(version)
            add_release(history, version, found)
    history.releases.sort(key=Version)
    show(name, 0, 0, "")
