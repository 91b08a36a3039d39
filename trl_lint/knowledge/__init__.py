"""Reading `rules/`: the rule pages, known releases, compatibility tables, advisories. Facts live there, not here."""

from __future__ import annotations

import os
from functools import cache


class KnowledgeError(Exception):
    """What `rules/` holds is malformed or missing: a fault of ours, and no finding in anybody's file.

    The text is one sentence that names the file, with the line where there is one.
    """


@cache
def rules_dir() -> str:
    """The folder of the knowledge: inside the package when installed, beside it in a checkout."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    packaged = os.path.join(here, "rules")
    return packaged if os.path.isdir(packaged) else os.path.join(os.path.dirname(here), "rules")
