"""Which room of the package may ask which."""

from __future__ import annotations

from rooms import imports

REFRESHER = "trl_lint.knowledge.refresh"


def test_nothing_imports_the_refresher_which_no_wheel_has():
    found = [one for one in imports() if one.imported.startswith(REFRESHER)]
    assert found
    assert [one for one in found if not one.importer.startswith(REFRESHER)] == []
