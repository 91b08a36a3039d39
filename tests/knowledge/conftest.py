"""Histories made from small archives: `recorded("trl", {"1.0": {"trl/__init__.py": "…"}})`."""

from __future__ import annotations

import io
import textwrap
import zipfile

import pytest

from trl_lint.knowledge import api, histories, names
from trl_lint.knowledge.refresher import index
from trl_lint.knowledge.refresher.history import merge
from trl_lint.knowledge.refresher.packages import Package
from trl_lint.knowledge.refresher.release import release_facts
from trl_lint.knowledge.refresher.write import render


def wheel(files):
    """An open wheel with these files."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, source in files.items():
            archive.writestr(name, textwrap.dedent(source))
    return zipfile.ZipFile(data)


def facts_of(name, files, **options):
    """The facts of one release, from a wheel in memory."""
    package = Package(name, "0", options.pop("wanted", rf"{name}/.*\.(py|yaml)"), **options)
    return release_facts(package, index.read_zip(wheel(files), package.is_wanted), {})


def forget():
    for cache in (histories.text_of, histories._starts, histories.releases, histories.positions, histories.block):
        cache.cache_clear()
    api._signature.cache_clear()
    names.exports.cache_clear()
    names.definition.cache_clear()


@pytest.fixture
def recorded(monkeypatch):
    """Write the history of a package from its releases; the reader then sees only what was recorded."""
    written: dict[str, str] = {}
    monkeypatch.setattr(histories, "read_history", written.get)
    forget()

    def record(name, releases, **options):
        history = merge([(version, facts_of(name, files, **options)) for version, files in releases.items()])
        text = render(name, list(releases), history)
        written[f"api/{name}"] = text
        forget()
        return text

    yield record
    forget()
