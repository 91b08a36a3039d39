"""Writing `rules/models/<package>.txt`: what the releases of a package state about models, as intervals of releases."""

from __future__ import annotations

import os
import sys
import tarfile
import zipfile
from collections.abc import Iterator

from packaging.version import Version

from trl_lint.knowledge import rules_dir
from trl_lint.knowledge.refresher import index
from trl_lint.knowledge.refresher.build import show
from trl_lint.knowledge.refresher.history import merge
from trl_lint.knowledge.refresher.index import Facts
from trl_lint.knowledge.refresher.models import Memo, is_wanted, model_facts
from trl_lint.knowledge.refresher.write import render

# The oldest release read.
RECORDED = {"peft": "0.4", "transformers": "4.40", "trl": "0.9"}


def refresh_models(names: list[str]) -> int:
    """Write what releases state about models. Returns 0, or 1 if a package could not be read (its file stays)."""
    failed = 0
    for name in names:
        try:
            releases = list(_read_releases(name))
        except (OSError, zipfile.BadZipFile, tarfile.TarError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed += 1
            continue
        text = render(name, [version for version, _ in releases], merge(releases), "models")
        path = os.path.join(rules_dir(), "models", f"{name}.txt")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        print(f"{name}: {len(text):,} bytes")
    return 1 if failed else 0


def _read_releases(name: str) -> Iterator[tuple[str, Facts]]:
    archives = index.archives(name, Version(RECORDED[name]))
    memo: Memo = {}
    for number, archive in enumerate(archives, 1):
        show(name, number, len(archives), str(archive.version))
        contents = index.read(archive, lambda path: is_wanted(name, path))
        yield str(archive.version), model_facts(name, contents.members, memo)
    show(name, 0, 0, "")
