"""`rules/models/<package>.txt`: what the releases of a package state about models, as intervals of releases."""

from __future__ import annotations

from functools import partial

from trl_lint.knowledge.refresher.history import merge
from trl_lint.knowledge.refresher.models import Memo, is_wanted, model_facts, without_constants
from trl_lint.knowledge.refresher.tables import read_releases
from trl_lint.knowledge.refresher.write import render

# The oldest release read.
SINCE = {"peft": "0.4", "transformers": "4.40", "trl": "0.9", "vllm": "0.6"}


def build(name: str) -> str:
    """The text of what a package states about models.

    Raises OSError (network), zipfile.BadZipFile and tarfile.TarError (damaged archive).
    """
    memo: Memo = {}
    releases = [
        (version, model_facts(name, contents.members, memo))
        for version, contents in read_releases(name, SINCE[name], partial(is_wanted, name))
    ]
    return render(name, [version for version, _ in releases], without_constants(merge(releases)), "models")
