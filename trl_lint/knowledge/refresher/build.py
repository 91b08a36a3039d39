"""`rules/api/<package>.txt`: the history of a whole package."""

from __future__ import annotations

from trl_lint.knowledge.refresher.history import merge
from trl_lint.knowledge.refresher.packages import PACKAGES
from trl_lint.knowledge.refresher.release import Memo, release_facts
from trl_lint.knowledge.refresher.tables import read_releases
from trl_lint.knowledge.refresher.write import render


def build(name: str) -> str:
    """The text of a package's history.

    Raises OSError (network), zipfile.BadZipFile and tarfile.TarError (damaged archive).
    """
    package = PACKAGES[name]
    memo: Memo = {}
    releases = [
        (version, release_facts(package, contents, memo))
        for version, contents in read_releases(name, package.since, package.is_wanted)
    ]
    return render(name, [version for version, _ in releases], merge(releases))
