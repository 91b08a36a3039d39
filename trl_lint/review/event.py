"""Which pull request a run of GitHub Actions is about, from what the runner says and never from what a report says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trl_lint.regexes import regex
from trl_lint.review import ReviewError
from trl_lint.review.github import Client
from trl_lint.review.state import Target

_REPOSITORY = regex(r"[\w.-]+/[\w.-]+")
_COMMIT = regex(r"[0-9a-f]{40}|[0-9a-f]{64}")


def read_event(path: str) -> Mapping[str, Any]:
    """The event that started a workflow (the file in GITHUB_EVENT_PATH). Raises ReviewError."""
    import json

    try:
        with open(path, encoding="utf-8") as stream:
            event = json.load(stream)
    except (OSError, ValueError, RecursionError):
        raise ReviewError(f"{path}: the event cannot be read") from None
    if not isinstance(event, dict):
        raise ReviewError(f"{path}: not an event")
    return event


def is_of_strangers(event: Mapping[str, Any]) -> bool:
    """Whether what a workflow is about may be made by people without a right here.

    One that begins after another (`workflow_run`) has what was made there, whoever's code ran; so has one on a pull
    request from another repository.
    """
    if "workflow_run" in event:
        return True
    pull = event.get("pull_request")
    if not isinstance(pull, dict):
        return False
    names = [((pull.get(side) or {}).get("repo") or {}).get("full_name") for side in ("head", "base")]
    return names[0] != names[1]


def find_target(client: Client, repository: str, event: Mapping[str, Any], number: int | None) -> Target | None:
    """The pull request to review; None if the one that was checked has been closed. Raises ReviewError.

    A workflow that another one started is not told the number if the pull request comes from a fork (the event's
    `pull_requests` is empty then), so the API is asked which open one has the branch and the commit of the event.
    """
    if not _REPOSITORY.fullmatch(repository):
        raise ReviewError("no repository is named: use `--repository OWNER/NAME` or set GITHUB_REPOSITORY")
    head = ""
    if pull := event.get("pull_request"):
        head = _commit(pull, "head", "sha")
        number = number or pull.get("number")
    elif run := event.get("workflow_run"):
        head = _commit(run, "head_sha")
        number = number or _number_of(client, repository, run, head)
        if number is None:
            return None
    if not isinstance(number, int):
        raise ReviewError("no pull request is named: use `--pull-request NUMBER`, or run on `pull_request`")
    return Target(repository, number, head)


def _commit(place: Any, *names: str) -> str:
    for name in names:
        place = place.get(name) if isinstance(place, dict) else None
    if not isinstance(place, str) or not _COMMIT.fullmatch(place):
        raise ReviewError("the event names no commit")
    return place


def _number_of(client: Client, repository: str, run: Mapping[str, Any], head: str) -> int | None:
    if run.get("event") != "pull_request":
        raise ReviewError("the workflow that was started first did not run on `pull_request`")
    source = run.get("head_repository") or {}
    owner = (source.get("owner") or {}).get("login")
    branch = run.get("head_branch")
    if not owner or not branch:
        raise ReviewError("the event does not say which branch was checked")
    for pull in client.pages(f"/repos/{repository}/pulls", 1_000, state="open", head=f"{owner}:{branch}"):
        origin = pull["head"]["repo"] or {}
        if pull["head"]["sha"] == head and origin.get("full_name") == source.get("full_name"):
            return int(pull["number"])
    return None
