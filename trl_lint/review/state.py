"""What stands in a pull request: its diff, our threads and our summary.

A comment counts as ours if it was written by whoever the token belongs to and carries our marker: a marker alone can be
written by anybody, and others use the same account (`github-actions`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trl_lint.records import NamedTuple
from trl_lint.review import RefusedError, ReviewError
from trl_lint.review.diff import Diff, read_diff, read_gone
from trl_lint.review.github import Client
from trl_lint.review.markdown import Mark, Web, read_mark, read_web

# The API lists no more files of a pull request than this, however many it changes.
MAX_FILES = 3_000
_REPLIES = 50
_MOST_PAGES = 200  # of threads, or of comments

THREADS = """\
query($owner: String!, $name: String!, $number: Int!, $after: String) {
  viewer { login }
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 50, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes {
          id isResolved isOutdated path line startLine
          resolvedBy { login }
          comments(first: 50) { totalCount nodes { fullDatabaseId url body viewerDidAuthor } }
        }
      }
    }
  }
}"""
COMMENTS = """\
query($owner: String!, $name: String!, $number: Int!, $after: String) {
  viewer { login }
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      comments(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes { fullDatabaseId body viewerDidAuthor }
      }
    }
  }
}"""


class Target(NamedTuple):
    """A pull request of a repository; `head` is the commit that was checked, "" if that is not known."""

    repository: str
    number: int
    head: str = ""

    @property
    def path(self) -> str:
        return f"/repos/{self.repository}/pulls/{self.number}"


class Thread(NamedTuple):
    """A thread that we began. `lines` are those it stands at now, None once they have changed; `closed` says who
    resolved it: nobody (""), "us" or "others"."""

    id: str
    comment: int
    url: str
    path: str
    mark: Mark
    lines: tuple[int, int] | None
    closed: str
    has_replies: bool


class State(NamedTuple):
    """`is_whole`: the diff has all files that the pull request changes. `gone`: names under which it leaves no file.
    `web`: where people read its files.
    """

    head: str
    diff: Diff
    threads: tuple[Thread, ...]
    summary: tuple[int, Mark] | None
    is_whole: bool = True
    gone: frozenset[str] = frozenset()
    web: Web | None = None


def read_state(client: Client, target: Target, name: str) -> State:
    """Everything a plan needs; `name` tells our review from others of the same account. Raises ReviewError."""
    pull = client.get(target.path)
    diff = read_diff(files := list(client.pages(f"{target.path}/files", MAX_FILES)))
    threads = tuple(thread for thread in _threads(client, target) if thread.mark.name == name)
    summary = next((found for found in _summaries(client, target) if found[1].name == name), None)
    count = pull.get("changed_files")
    is_whole = not isinstance(count, int) or count <= len(files)
    head = str(pull["head"]["sha"])
    return State(head, diff, threads, summary, is_whole, read_gone(files), read_web(pull.get("html_url"), head))


def _threads(client: Client, target: Target) -> Iterator[Thread]:
    for viewer, node in _nodes(client, target, THREADS, "reviewThreads"):
        comments = node["comments"]["nodes"]
        if not comments or not comments[0]["viewerDidAuthor"]:
            continue
        mark = read_mark(comments[0]["body"])
        if mark is None or not mark.fingerprint:
            continue
        closed = ""
        if node["isResolved"]:
            closed = "us" if _login(node["resolvedBy"]) == _login(viewer) != "" else "others"
        line = None if node["isOutdated"] else node["line"]
        yield Thread(
            node["id"],
            int(comments[0]["fullDatabaseId"]),
            comments[0]["url"],
            node["path"],
            mark,
            None if line is None else (node["startLine"] or line, line),
            closed,
            node["comments"]["totalCount"] > _REPLIES or not all(one["viewerDidAuthor"] for one in comments),
        )


def _summaries(client: Client, target: Target) -> Iterator[tuple[int, Mark]]:
    for _, node in _nodes(client, target, COMMENTS, "comments"):
        mark = read_mark(node["body"]) if node["viewerDidAuthor"] else None
        if mark is not None and not mark.fingerprint:
            yield int(node["fullDatabaseId"]), mark


_FIELDS = {"reviewThreads": "threads", "comments": "comments"}


def _login(user: Any) -> str:
    # The same app is `github-actions` to one part of the API and `github-actions[bot]` to another.
    return "" if user is None else str(user["login"]).removesuffix("[bot]")


def _nodes(client: Client, target: Target, query: str, field: str) -> Iterator[tuple[Any, Any]]:
    owner, _, name = target.repository.partition("/")
    after = None
    for _ in range(_MOST_PAGES):
        variables = {"owner": owner, "name": name, "number": target.number, "after": after}
        data = client.query(query, variables)
        pull = (data.get("repository") or {}).get("pullRequest")
        if pull is None:
            raise RefusedError("GitHub shows no such pull request to this token")
        for node in pull[field]["nodes"]:
            yield data.get("viewer"), node
        info = pull[field]["pageInfo"]
        if not info["hasNextPage"]:
            return
        if info["endCursor"] == after:
            raise ReviewError("GitHub answers with the same page again and again")
        after = info["endCursor"]
    # Who does not know all of them would say things twice.
    raise ReviewError(f"the pull request has more than {_MOST_PAGES} pages of {_FIELDS[field]}, so nothing was posted")
