"""A GitHub on loopback for every test here. PyGithub and jsonschema are in the extra `test`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from command_line import Shell

if TYPE_CHECKING:
    from github_server import GitHub
    from review_job import Job


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waiting: the server is ours."""
    from trl_lint.review import github, posting

    for name in ("BETWEEN_WRITES", "AFTER_TOO_MANY", "BACKOFF"):
        monkeypatch.setattr(github, name, 0.0)
    monkeypatch.setattr(github, "TIMEOUT", 1)
    monkeypatch.setattr(posting, "SETTLING", 0.0)


@pytest.fixture
def hub(quick: None) -> Iterator[GitHub]:
    from github_server import GitHub

    made = GitHub()
    yield made
    made.close()
    assert made.violations == []


@pytest.fixture
def job(hub: GitHub, sh: Shell, monkeypatch: pytest.MonkeyPatch) -> Job:
    from review_job import Job

    (sh.folder / "train.py").unlink()
    return Job(hub, sh, monkeypatch)
