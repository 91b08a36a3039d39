"""GitHub's API: the one module that opens a connection, by way of PyGithub.

PyGithub keeps the distance between two writes, waits where GitHub says that there were too many, and reads again what
failed. It never repeats a write whose fate is unknown: whoever asked for it looks what became of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

from trl_lint import __version__
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.reports import visible
from trl_lint.review import InvalidError, RefusedError, ReviewError, UnclearError

DEFAULT_URL = "https://api.github.com"
# Seconds. GitHub asks for one between two writes; a minute is what it asks for after too many of them.
TIMEOUT = 15
BETWEEN_WRITES = 1.0
BETWEEN_REQUESTS = 0.0
LONGEST_WAIT = 120.0  # seconds; then the review fails, and says so
AFTER_TOO_MANY = 60.0
BACKOFF = 1.0
_RETRIES = 3
_PAGE = 100
_LIBRARIES = ("github", "requests", "urllib3")
_LOCAL = regex(r"localhost|127(?:\.\d+){3}|::1")


class Request(NamedTuple):
    """A request that writes, as it is sent; `path` counts from the API's address, and is "" for GraphQL."""

    method: str
    path: str
    body: Mapping[str, Any]


class Client(Protocol):
    """What a review needs of GitHub. Every method raises ReviewError, and no other exception."""

    def get(self, path: str, **parameters: str | int) -> Any: ...

    def pages(self, path: str, most: int, **parameters: str | int) -> Iterator[Any]: ...

    def query(self, text: str, variables: Mapping[str, Any]) -> Any: ...

    def send(self, request: Request) -> Any: ...


def check_url(url: str) -> str:
    """The address of an API without a slash at its end. Raises ReviewError where a token must not be sent to it."""
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    if not host or parts.scheme not in ("https", "http") or parts.query or parts.fragment or "@" in parts.netloc:
        raise ReviewError(f"`{visible(url)}` is no address of an API, such as https://github.example.com/api/v3")
    if parts.scheme == "http" and not _LOCAL.fullmatch(host):
        raise ReviewError(f"{visible(url)} would send the token in the clear; use https")
    return url.strip().rstrip("/")


def graphql_url(url: str) -> str:
    """Where GraphQL is beside an address of the REST API: GitHub Enterprise Server has them in different folders."""
    return f"{url.removesuffix('/v3')}/graphql" if url.endswith("/api/v3") else f"{url}/graphql"


def connect(url: str, token: str) -> Client:
    """A client for an API at a checked address. Raises ReviewError if the token is none or PyGithub is missing."""
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise ReviewError("GITHUB_TOKEN holds characters that no token has")
    _ignore_warnings()
    try:
        from github.GithubRetry import GithubRetry
    except ImportError:
        raise ReviewError("`trl-lint review` needs PyGithub: pip install 'trl-lint[review]'") from None
    _silence_logs()
    if "max_rate_limit_wait" not in GithubRetry.__init__.__code__.co_varnames:
        raise ReviewError("`trl-lint review` needs a newer PyGithub: pip install --upgrade 'trl-lint[review]'")
    return _GitHub(url, token)


# What a library has to say comes back as an error, and is said once and in our words. None of them writes by itself.


def _ignore_warnings() -> None:
    import warnings

    for library in _LIBRARIES:
        warnings.filterwarnings("ignore", module=rf"{library}\b")


def _silence_logs() -> None:
    """Take away the handler that PyGithub gives itself at its import; whoever sets up logging still gets it all."""
    import logging

    for library in _LIBRARIES:
        logging.getLogger(library).handlers[:] = [logging.NullHandler()]


def _retry() -> Any:
    from github.GithubRetry import GithubRetry

    class Retry(GithubRetry):
        """Waits that have an end, and no second attempt at a write that may have been done."""

        def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:
            if status_code in (403, 429):  # refused, so not done, whatever it was
                return bool(self.total)
            again: bool = super().is_retry(method, status_code, False)
            return again

        def increment(self, method=None, url=None, response=None, error=None, _pool=None, _stacktrace=None):  # type: ignore[no-untyped-def]
            wait = response.headers.get("Retry-After", "") if response is not None else ""
            if wait.isdigit() and float(wait) > LONGEST_WAIT:
                raise _TooLongError
            return super().increment(method, url, response, error, _pool, _stacktrace)

    return Retry(
        total=_RETRIES,
        backoff_factor=BACKOFF,
        status_forcelist=[429, 500, 502, 503, 504],
        allowed_methods={"GET"},
        raise_on_status=False,
        secondary_rate_wait=AFTER_TOO_MANY,
        max_rate_limit_wait=LONGEST_WAIT,
    )


class _TooLongError(Exception):
    """GitHub asks for a longer wait than a job should make."""


class _GitHub:
    def __init__(self, url: str, token: str) -> None:
        import github

        self._url = url
        self._token = token
        self._requester = github.Github(
            base_url=url,
            auth=github.Auth.Token(token),
            timeout=TIMEOUT,
            user_agent=f"trl-lint/{__version__}",
            retry=_retry(),
            seconds_between_requests=BETWEEN_REQUESTS,
            seconds_between_writes=BETWEEN_WRITES,
        ).requester

    def get(self, path: str, **parameters: str | int) -> Any:
        return self._ask("GET", path, parameters=parameters)[1]

    def pages(self, path: str, most: int, **parameters: str | int) -> Iterator[Any]:
        number = 0
        for page in range(1, -(-most // _PAGE) + 1):
            headers, rows = self._ask("GET", path, parameters={**parameters, "per_page": _PAGE, "page": page})
            for row in rows[: most - number]:
                number += 1
                yield row
            if 'rel="next"' not in headers.get("link", ""):
                return

    def query(self, text: str, variables: Mapping[str, Any]) -> Any:
        return self._graphql({"query": text, "variables": variables})

    def send(self, request: Request) -> Any:
        if not request.path:
            return self._graphql(request.body)
        return self._ask(request.method, request.path, body=request.body)[1]

    def _graphql(self, body: Mapping[str, Any]) -> Any:
        answer = self._ask("POST", graphql_url(self._url), body=body)[1]
        if errors := answer.get("errors"):
            kinds = {error.get("type") for error in errors}
            text = self._said(errors[0].get("message"))
            if kinds & {"FORBIDDEN", "NOT_FOUND", "INSUFFICIENT_SCOPES"}:
                raise RefusedError(f"GitHub refuses this to the token: {text}")
            if kinds & {"RATE_LIMITED", "RATE_LIMIT"}:
                raise ReviewError(f"GitHub takes no more requests for now: {text}")
            raise ReviewError(f"GitHub did not understand a query: {text}")
        return answer.get("data") or {}

    def _ask(
        self, method: str, path: str, parameters: Mapping[str, Any] | None = None, body: Mapping[str, Any] | None = None
    ) -> tuple[Mapping[str, str], Any]:
        """Send a request. Whatever goes wrong becomes a ReviewError that says no more than is safe to show."""
        import requests
        from github.GithubException import GithubException, RateLimitExceededException
        from urllib3.exceptions import HTTPError

        try:
            answer: tuple[Mapping[str, str], Any] = self._requester.requestJsonAndCheck(
                method, path, dict(parameters) if parameters else None, None, dict(body) if body is not None else None
            )
            return answer
        except RateLimitExceededException as error:
            raise ReviewError(f"GitHub takes no more requests for now: {self._message(error)}") from None
        except _TooLongError:
            raise ReviewError("GitHub takes no more requests for now, and asks for a long pause") from None
        except GithubException as error:
            raise self._failure(error.status, self._message(error)) from None
        except (requests.RequestException, HTTPError, OSError) as error:
            raise UnclearError(f"{urlsplit(self._url).hostname} does not answer ({type(error).__name__})") from None
        except Exception as error:
            # Whatever it is, its text may hold what was sent.
            raise UnclearError(f"the answer of GitHub cannot be read ({type(error).__name__})") from None

    def _message(self, error: Any) -> str:
        return self._said(error.data.get("message") if isinstance(error.data, dict) else None)

    def _failure(self, status: int, text: str) -> ReviewError:
        if status == 401:
            return ReviewError(f"GitHub does not accept the token: it may have expired or been revoked ({text}, 401)")
        if status == 429 or (status == 403 and "rate limit" in text.lower()):
            return ReviewError(f"GitHub takes no more requests for now: {text}")
        if status in (403, 404):
            return RefusedError(f"GitHub refuses this to the token: {text} ({status})")
        if status == 422:
            return InvalidError(f"GitHub takes the request for invalid: {text} (422)")
        if status >= 500:
            return UnclearError(f"GitHub is out of order ({status})")
        return ReviewError(f"GitHub answered with {status}: {text}")

    def _said(self, message: object) -> str:
        """What GitHub says, without whatever it may repeat of the token."""
        text = visible(str(message or "no reason given")).replace(self._token, "***")
        return text if len(text) <= 200 else text[:199] + "…"
