"""`rules/requirements/<package>.txt`: what the releases of a package declare to require, as intervals of releases."""

from __future__ import annotations

from trl_lint.knowledge.refresher.history import merge
from trl_lint.knowledge.refresher.index import Facts
from trl_lint.knowledge.refresher.metadata import read_requirements
from trl_lint.knowledge.refresher.packages import PACKAGES
from trl_lint.knowledge.refresher.tables import read_releases
from trl_lint.knowledge.refresher.write import render
from trl_lint.knowledge.releases import known_packages

# The oldest release read of the packages whose API nobody asks for. Of these only the requirements are written that an
# installer has to choose a known release for.
_OTHERS = {
    "autoawq": "0",
    "bitsandbytes": "0.35",
    "datasets": "2.0",
    "huggingface-hub": "0.10",
    "liger-kernel": "0",
    "numba": "0.55",
    "numpy": "1.20",
    "ray": "2.0",
    "safetensors": "0.3",
    "tokenizers": "0.11",
    "torch": "1.10",
    "unsloth": "0",
    "unsloth-zoo": "0",
}
SINCE = {**{name: package.since for name, package in PACKAGES.items()}, **_OTHERS, "transformers": "4.18"}


def build(name: str) -> str:
    """The text of what a package requires.

    Raises OSError (network), zipfile.BadZipFile and tarfile.TarError (damaged archive).
    """
    tracked = frozenset(known_packages())
    releases: list[tuple[str, Facts]] = []
    for version, contents in read_releases(name, SINCE[name], is_wanted):
        found = read_requirements(contents, tracked)
        if name in _OTHERS:
            found = {fact: text for fact, text in found.items() if fact.partition("[")[0] in {*tracked, "python"}}
        releases.append((version, {"requires": found} if found else {}))
    return render(name, [version for version, _ in releases], merge(releases), "requirements")


def is_wanted(path: str) -> bool:
    """Whether a file of an archive tells what the package requires."""
    return path.endswith(".dist-info/METADATA") or path == "PKG-INFO"
