"""GitHub on loopback: one pull request with its diff, threads and comments, under the rules of the real one.

What it enforces, and from where: bodies and parameters as in GitHub's OpenAPI description (schemas/github-api.json);
lines and hunks as in the messages of its 422s; bodies up to 65,536 characters; lists in pages of at most 100 with Link
headers, and at most 3,000 files; threads that follow their lines from push to push, and are outdated when those are
gone; comments of others; a token that may not resolve threads, or not write at all; rate limits. What breaks a rule of
the form is also kept in `violations`. `faults` makes single requests fail.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import jsonschema
from documents import ROOT

from trl_lint.review.diff import read_patch
from trl_lint.review.state import COMMENTS, THREADS

SCHEMA: dict[str, Any] = json.loads((ROOT / "tests" / "schemas" / "github-api.json").read_text("utf-8"))
REPOSITORY = "octo/train"
NUMBER = 7
TOKEN = "ghs_" + "Secret0123456789" * 2
BOT = "github-actions[bot]"
LIMIT = 65_536


class WrongError(Exception):
    """An answer that is an error: status, message, more headers."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers


class _LateError(Exception):
    """No answer, for as long as anybody waits."""


class Seen(NamedTuple):
    method: str
    path: str
    body: Any
    at: float


class Fault(NamedTuple):
    """What goes wrong with a request whose path holds `path`: `before` it is done (never done), or `after`."""

    path: str
    kind: str
    when: str = "before"
    method: str = "POST"
    headers: dict[str, str] = {}


def blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class GitHub:
    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.graphql = prefix.removesuffix("/v3") + "/graphql"
        self.base: dict[str, bytes] = {}
        self.files: dict[str, bytes] = {}
        self.head = ""
        self.branch, self.origin = "topic", "stranger/train"
        self.threads: list[dict[str, Any]] = []
        self.comments: list[dict[str, Any]] = []
        self.seen: list[Seen] = []
        self.violations: list[str] = []
        self.faults: list[Fault] = []
        self.refuse: Callable[[dict[str, Any]], bool] = lambda comment: False
        self.may_write = self.may_resolve = True
        self.echo = False
        self.token = TOKEN
        self.closed = threading.Event()
        self._ids = 2_500_000_000  # beyond what 32 bits hold, as the real ones are
        self.lock = threading.RLock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}{self.prefix}"

    def close(self) -> None:
        self.closed.set()
        self.server.shutdown()
        self.server.server_close()

    # -- what people do -------------------------------------------------------------------------------------------

    def push(self, files: dict[str, bytes]) -> None:
        """A new head; whether by a commit or by force is all the same to the threads."""
        before, self.files = self.files, dict(files)
        self.head = hashlib.sha1(
            json.dumps({k: blob(v) for k, v in files.items()}).encode() + self.head.encode()
        ).hexdigest()
        for thread in self.threads:
            moved = _moved(
                before.get(thread["path"], b""), files.get(thread["path"], b""), thread["start"], thread["line"]
            )
            if moved is None or not self._shows(thread["path"], *moved):
                thread["outdated"] = True
            if not thread["outdated"]:
                thread["start"], thread["line"] = moved  # type: ignore[misc]

    def push_folder(self, folder: Path) -> None:
        self.push({p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()})

    def reply(self, thread: dict[str, Any], body: str = "Why?", author: str = "ada") -> None:
        thread["comments"].append(self._comment(body, author))

    def say(self, body: str, author: str = "ada") -> None:
        self.comments.append(self._comment(body, author))

    def thread(self, path: str, line: int, body: str, author: str = "ada") -> dict[str, Any]:
        made = {
            "id": f"PRRT_{self._next()}", "path": path, "start": line, "line": line, "outdated": False,
            "resolved_by": None, "comments": [self._comment(body, author)],
        }  # fmt: skip
        self.threads.append(made)
        return made

    # -- what tests look at ---------------------------------------------------------------------------------------

    @property
    def writes(self) -> list[Seen]:
        """The requests that changed something, or tried to."""
        return [one for one in self.seen if one.method != "GET" and "query" not in str(one.body.get("query"))[:5]]

    @property
    def open(self) -> list[dict[str, Any]]:
        return [one for one in self.threads if one["resolved_by"] is None]

    # -- what the API does ----------------------------------------------------------------------------------------

    def _next(self) -> int:
        self._ids += 1
        return self._ids

    def _comment(self, body: str, author: str) -> dict[str, Any]:
        return {"id": self._next(), "body": body, "author": author}

    def _patch(self, path: str) -> str:
        old, new = (side.get(path, b"").decode().split("\n") for side in (self.base, self.files))
        if path not in self.base:
            old = []
        rows = list(difflib.unified_diff(old, new[:-1] if new[-1] == "" else new, lineterm=""))[2:]
        return "\n".join(rows)

    def changed(self) -> list[str]:
        return sorted(name for name in self.files if self.base.get(name) != self.files[name])

    def removed(self) -> list[str]:
        return sorted(self.base.keys() - self.files.keys())

    def _shows(self, path: str, first: int, last: int) -> bool:
        return path in self.changed() and any(hunk.has(first, last) for hunk in read_patch(self._patch(path)))

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any, dict[str, str]]:
        pull = f"/repos/{REPOSITORY}/pulls/{NUMBER}"
        if path == self.graphql and method == "POST":
            return 200, self._graphql(body), {}
        if not path.startswith(self.prefix):
            raise WrongError(404, "Not Found")
        path = path[len(self.prefix) :]
        if method == "GET":
            return self._get(path, query, pull)
        if not self.may_write:
            raise WrongError(403, "Resource not accessible by integration")
        if path == f"{pull}/reviews" and method == "POST":
            self._hold("POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews", body)
            return 200, self._review(body), {}
        if path == f"/repos/{REPOSITORY}/issues/{NUMBER}/comments" and method == "POST":
            self._hold("POST /repos/{owner}/{repo}/issues/{issue_number}/comments", body)
            self._fits(body["body"])
            self.comments.append(self._comment(body["body"], BOT))
            return 201, {"id": self._ids}, {}
        if method == "PATCH" and (match := re.fullmatch(rf"/repos/{REPOSITORY}/(pulls|issues)/comments/(\d+)", path)):
            self._hold(f"PATCH /repos/{{owner}}/{{repo}}/{match[1]}/comments/{{comment_id}}", body)
            self._fits(body["body"])
            return 200, self._rewrite(match[1], int(match[2]), body["body"]), {}
        raise WrongError(404, "Not Found")

    def _get(self, path: str, query: dict[str, str], pull: str) -> tuple[int, Any, dict[str, str]]:
        described = {
            pull: "GET /repos/{owner}/{repo}/pulls/{pull_number}",
            f"{pull}/files": "GET /repos/{owner}/{repo}/pulls/{pull_number}/files",
            f"/repos/{REPOSITORY}/pulls": "GET /repos/{owner}/{repo}/pulls",
        }
        if path not in described:
            raise WrongError(404, "Not Found")
        for name in query.keys() - SCHEMA["parameters"][described[path]].keys():
            self.violations.append(f"{path}: unknown parameter {name}")
        if path == pull:
            return 200, self._pull(), {}
        if path == f"/repos/{REPOSITORY}/pulls":
            owner = self.origin.partition("/")[0]
            asked = query.get("head") == f"{owner}:{self.branch}" and query.get("state") == "open"
            return self._page([self._pull()] if asked else [], path, query)
        rows = [self._file(name) for name in sorted([*self.changed(), *self.removed()])[:3000]]
        described_rows = SCHEMA["answers"][described[path]]
        errors = jsonschema.Draft202012Validator(described_rows).iter_errors(rows[:50])
        self.violations += [f"our own answer: {error.message}" for error in errors]
        return self._page(rows, path, query)

    def _pull(self) -> dict[str, Any]:
        head = {"sha": self.head, "ref": self.branch, "repo": {"full_name": self.origin}}
        address = f"https://github.com/{REPOSITORY}/pull/{NUMBER}"
        count = len(self.changed()) + len(self.removed())
        return {"number": NUMBER, "state": "open", "html_url": address, "head": head, "changed_files": count}

    def _file(self, name: str) -> dict[str, Any]:
        url = f"https://github.com/{REPOSITORY}/blob/{self.head}/{name}"
        patch = self._patch(name)
        status = "removed" if name not in self.files else "modified" if name in self.base else "added"
        counts = {
            "additions": len(re.findall(r"(?m)^\+", patch)),
            "deletions": len(re.findall(r"(?m)^-", patch)),
        }
        row = {
            "sha": blob(self.files.get(name, self.base.get(name, b""))), "filename": name, "status": status, **counts,
            "changes": sum(counts.values()), "blob_url": url, "raw_url": url, "contents_url": url,
        }  # fmt: skip
        return {**row, "patch": patch} if len(patch) < 100_000 else row

    def _page(self, rows: list[Any], path: str, query: dict[str, str]) -> tuple[int, Any, dict[str, str]]:
        size, page = min(int(query.get("per_page", 30)), 100), int(query.get("page", 1))
        if int(query.get("per_page", 30)) > 100:
            self.violations.append(f"{path}: more than 100 a page")
        more = page * size < len(rows)
        link = f'<{self.url}{path}?per_page={size}&page={page + 1}>; rel="next"' if more else ""
        return 200, rows[(page - 1) * size : page * size], {"Link": link} if more else {}

    def _hold(self, name: str, body: Any) -> None:
        """Hold a body against the published description; nothing that it does not know is let through, too."""
        schema = SCHEMA["bodies"][name]
        found = [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(body)]
        rows = [(body, schema["properties"])]
        rows += [(one, schema["properties"]["comments"]["items"]["properties"]) for one in body.get("comments", ())]
        found += [f"unknown field {key}" for row, known in rows for key in row.keys() - known.keys()]
        if found:
            self.violations += [f"{name}: {one}" for one in found]
            raise WrongError(422, "Validation Failed")

    def _fits(self, body: str) -> None:
        if not body.strip():
            raise WrongError(422, "Body cannot be blank")
        if len(body) > LIMIT:
            raise WrongError(422, f"Body is too long (maximum is {LIMIT} characters)")

    def _review(self, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("event") != "COMMENT" or not body.get("body"):
            raise WrongError(422, "Unprocessable Entity: a body is required")
        self._fits(body["body"])
        if body.get("commit_id") != self.head:
            raise WrongError(422, "The commit_id is not part of the pull request")
        if len(body["comments"]) > 30:
            self.violations.append("more than 30 comments in a review")
        for comment in body["comments"]:
            self._allowed(comment)
        for comment in body["comments"]:
            made = self.thread(comment["path"], comment["line"], comment["body"], BOT)
            made["start"] = comment.get("start_line", comment["line"])
        return {"id": self._next()}

    def _allowed(self, comment: dict[str, Any]) -> None:
        self._fits(comment["body"])
        line, start = comment.get("line"), comment.get("start_line")
        if comment.get("side") != "RIGHT" or line is None or not self._shows(comment["path"], line, line):
            raise WrongError(422, "Pull request review thread line must be part of the diff")
        if start is not None and start >= line:
            raise WrongError(422, "Pull request review thread start line must precede the end line.")
        if start is not None and (
            comment.get("start_side") != "RIGHT" or not self._shows(comment["path"], start, line)
        ):
            raise WrongError(422, "Pull request review thread start line must be part of the same hunk as the line.")
        if self.refuse(comment):
            raise WrongError(422, "Pull request review thread diff hunk can't be blank")

    def _rewrite(self, kind: str, number: int, body: str) -> dict[str, Any]:
        known = self.comments if kind == "issues" else [one for thread in self.threads for one in thread["comments"]]
        for comment in known:
            if comment["id"] == number:
                if comment["author"] != BOT:
                    raise WrongError(403, "Must have admin rights to Repository.")
                comment["body"] = body
                return {"id": number}
        raise WrongError(404, "Not Found")

    def _graphql(self, body: dict[str, Any]) -> Any:
        text, variables = body["query"], body["variables"]
        if match := re.fullmatch(
            r"mutation\(\$thread: ID!\) \{ ((?:un)?resolveReviewThread)\(input: \{threadId: \$thread\}\) "
            r"\{ thread \{ isResolved \} \} \}",
            text,
        ):
            return self._resolve(match[1], variables["thread"])
        if text not in (THREADS, COMMENTS):
            self.violations.append(f"a query nobody knows: {text}")
            return {"errors": [{"message": "Parse error"}]}
        if f"{variables['owner']}/{variables['name']}" != REPOSITORY or variables["number"] != NUMBER:
            return {"data": {"repository": None}, "errors": [{"type": "NOT_FOUND", "message": "Could not resolve"}]}
        is_threads = text == THREADS
        rows = [self._thread_node(one) for one in self.threads] if is_threads else list(map(self._node, self.comments))
        size = 50 if is_threads else 100
        start = int(variables["after"] or 0)
        info = {"hasNextPage": start + size < len(rows), "endCursor": str(start + size)}
        field = "reviewThreads" if is_threads else "comments"
        pull = {field: {"pageInfo": info, "nodes": rows[start : start + size]}}
        return {"data": {"viewer": {"login": BOT}, "repository": {"pullRequest": pull}}}

    def _resolve(self, name: str, number: str) -> Any:
        if not (self.may_write and self.may_resolve):
            return {"data": {name: None}, "errors": [
                {"type": "FORBIDDEN", "message": "Resource not accessible by integration"}]}  # fmt: skip
        (thread,) = (one for one in self.threads if one["id"] == number)
        thread["resolved_by"] = BOT if name == "resolveReviewThread" else None
        return {"data": {name: {"thread": {"isResolved": thread["resolved_by"] is not None}}}}

    def _thread_node(self, thread: dict[str, Any]) -> dict[str, Any]:
        # The account that comments as `github-actions[bot]` resolves as `github-actions`.
        by = thread["resolved_by"]
        nodes = [self._node(one) for one in thread["comments"][:50]]
        return {
            "id": thread["id"],
            "path": thread["path"],
            "isResolved": by is not None,
            "isOutdated": thread["outdated"],
            "line": None if thread["outdated"] else thread["line"],
            "startLine": None if thread["outdated"] or thread["start"] == thread["line"] else thread["start"],
            "resolvedBy": None if by is None else {"login": by.removesuffix("[bot]")},
            "comments": {"totalCount": len(thread["comments"]), "nodes": nodes},
        }

    def _node(self, comment: dict[str, Any]) -> dict[str, Any]:
        url = f"https://github.com/{REPOSITORY}/pull/{NUMBER}#r{comment['id']}"
        mine = comment["author"] == BOT
        return {"fullDatabaseId": str(comment["id"]), "url": url, "body": comment["body"], "viewerDidAuthor": mine}


def _moved(before: bytes, after: bytes, first: int, last: int) -> tuple[int, int] | None:
    """Where lines went; None if they changed."""
    old, new = before.decode().split("\n"), after.decode().split("\n")
    for block in difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        if block.a < first and last <= block.a + block.size:
            return first + block.b - block.a, last + block.b - block.a
    return None


def _handler(hub: GitHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # or the body of each answer waits 40 ms for the client to confirm its head

        def log_message(self, *arguments: object) -> None:
            pass

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            text = self.rfile.read(length)
            body = json.loads(text) if text else {}
            with hub.lock:
                hub.seen.append(Seen(self.command, parts.path, body, time.monotonic()))
                try:
                    status, answer, headers = self._answer(parts.path, parse_qs(parts.query), body)
                except _LateError:
                    status, answer, headers = 0, None, {}
                except WrongError as wrong:
                    status, headers = wrong.status, wrong.headers
                    answer = {"message": wrong.message}
                    if hub.echo:
                        answer["message"] += f" (you sent {self.headers.get('Authorization')})"
            if not status:
                hub.closed.wait()  # without the lock: whoever gives up waiting asks again
                self.close_connection = True
                return
            data = json.dumps(answer).encode()
            limits = {"X-RateLimit-Limit": "1000", "X-RateLimit-Remaining": "900", "X-RateLimit-Reset": "1900000000"}
            with suppress(OSError):  # whoever asked may have gone
                self.send_response(status)
                for name, value in {**limits, "Content-Type": "application/json", **headers}.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def _answer(self, path: str, query: dict[str, list[str]], body: Any) -> tuple[int, Any, dict[str, str]]:
            if self.headers.get("Authorization") not in (f"token {hub.token}", f"Bearer {hub.token}"):
                raise WrongError(401, "Bad credentials")
            if not self.headers.get("User-Agent"):
                raise WrongError(403, "Request forbidden by administrative rules: no User-Agent")
            fault = next((f for f in hub.faults if f.path in path and f.method == self.command), None)
            if fault is not None:
                hub.faults.remove(fault)
                if fault.when == "before":
                    self._fail(fault)
            done = hub.answer(self.command, path, {name: values[0] for name, values in query.items()}, body)
            if fault is not None and fault.when == "after":
                self._fail(fault)
            return done

        def _fail(self, fault: Fault) -> None:
            if fault.kind == "timeout":
                raise _LateError
            if fault.kind == "reset":
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                raise WrongError(500, "")
            status, _, message = fault.kind.partition(" ")
            raise WrongError(int(status), message, **fault.headers)

        do_GET = do_POST = do_PATCH = _serve  # noqa: N815

    return Handler
