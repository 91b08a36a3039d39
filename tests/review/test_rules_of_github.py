"""The server of these tests says no where GitHub does; a rule that it forgot would make the other tests say nothing."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("github", reason="PyGithub is in the extra `test`")
pytest.importorskip("jsonschema", reason="jsonschema is in the extra `test`")

from github_server import NUMBER, REPOSITORY, TOKEN, GitHub

from trl_lint.review import InvalidError, RefusedError, ReviewError
from trl_lint.review.github import Client, Request, check_url, connect, graphql_url

PULL = f"/repos/{REPOSITORY}/pulls/{NUMBER}"
BASE = "".join(f"{number}\n" for number in range(1, 41))
HEAD = BASE.replace("\n5\n", "\nfive\n").replace("\n30\n", "\nthirty\n")


@pytest.fixture
def client(hub: GitHub) -> Client:
    hub.base = {"a.txt": BASE.encode()}
    hub.push({"a.txt": HEAD.encode()})
    return connect(hub.url, TOKEN)


def review(hub: GitHub, **comment: Any) -> Request:
    one = {"path": "a.txt", "body": "x", "line": 5, "side": "RIGHT", **comment}
    body = {"commit_id": hub.head, "event": "COMMENT", "body": "x", "comments": [one]}
    return Request("POST", f"{PULL}/reviews", body)


@pytest.mark.parametrize(
    "comment",
    [{}, {"line": 2}, {"line": 8}, {"line": 27}, {"line": 33}, {"start_line": 2, "line": 8, "start_side": "RIGHT"}],
)
def test_lines_of_the_diff_are_taken(client: Client, hub: GitHub, comment: dict[str, Any]):
    client.send(review(hub, **comment))
    assert len(hub.threads) == 1


@pytest.mark.parametrize(
    ("comment", "why"),
    [
        ({"line": 1}, "must be part of the diff"),
        ({"line": 9}, "must be part of the diff"),
        ({"line": 41}, "must be part of the diff"),
        ({"path": "b.txt"}, "must be part of the diff"),
        ({"side": "LEFT"}, "must be part of the diff"),
        ({"start_line": 5, "start_side": "RIGHT"}, "must precede the end line"),
        ({"start_line": 6, "start_side": "RIGHT"}, "must precede the end line"),
        ({"start_line": 8, "line": 30, "start_side": "RIGHT"}, "same hunk"),
        ({"body": "x" * 65_537}, "too long"),
        ({"body": " "}, "blank"),
    ],
)
def test_other_lines_are_refused(client: Client, hub: GitHub, comment: dict[str, Any], why: str):
    with pytest.raises(InvalidError, match=why):
        client.send(review(hub, **comment))
    assert not hub.threads


@pytest.mark.parametrize("change", [{"event": "SHOUT"}, {"comments": [{"path": "a.txt"}]}, {"extra": 1}, {"body": 5}])
def test_bodies_are_held_against_the_description(client: Client, hub: GitHub, change: dict[str, Any]):
    request = review(hub)
    with pytest.raises(InvalidError):
        client.send(request._replace(body={**request.body, **change}))
    assert hub.violations and not hub.threads
    hub.violations.clear()


def test_lists_come_in_pages(client: Client, hub: GitHub):
    hub.base = {}
    hub.push({f"{number:04}.txt": b"x\n" for number in range(250)})
    assert len(list(client.pages(f"{PULL}/files", 3_000))) == 250
    assert len(list(client.pages(f"{PULL}/files", 120))) == 120
    assert [one.path for one in hub.seen] == [f"{PULL}/files"] * 5
    assert len(client.get(f"{PULL}/files", per_page=100, page=3)) == 50
    client.get(f"{PULL}/files", per_page=101)
    assert hub.violations.pop() == f"{PULL}/files: more than 100 a page"


def test_comments_of_others_cannot_be_rewritten(client: Client, hub: GitHub):
    hub.say("mine")
    path = f"/repos/{REPOSITORY}/issues/comments/{hub.comments[0]['id']}"
    with pytest.raises(RefusedError):
        client.send(Request("PATCH", path, {"body": "x"}))
    with pytest.raises(RefusedError):
        client.send(Request("PATCH", path + "0", {"body": "x"}))


def test_unknown_queries_are_errors(client: Client, hub: GitHub):
    with pytest.raises(ReviewError, match="did not understand"):
        client.query("query { viewer { name } }", {})
    hub.violations.clear()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://api.github.com", "https://api.github.com/graphql"),
        ("https://api.acme.ghe.com/", "https://api.acme.ghe.com/graphql"),
        ("https://github.example.com/api/v3/", "https://github.example.com/api/graphql"),
        ("http://127.0.0.1:8080/api/v3", "http://127.0.0.1:8080/api/graphql"),
    ],
)
def test_addresses(url: str, expected: str):
    assert graphql_url(check_url(url)) == expected
    assert connect(check_url(url), TOKEN)._requester.graphql_url == expected  # type: ignore[attr-defined]
