"""Carrying a plan out: requests in their order, and what to do when GitHub says no, or says nothing."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator

from trl_lint.records import NamedTuple
from trl_lint.review import InvalidError, RefusedError, ReviewError, UnclearError
from trl_lint.review.github import Client, Request
from trl_lint.review.plan import Action, Draft, Options, Post, Reopen, Resolve, Rewrite, Summarise, is_stale, plan
from trl_lint.review.report import Reading
from trl_lint.review.state import State, Target, read_state
from trl_lint.words import counted

# How often a pull request is looked at when answers are missing, and seconds to wait before, until it shows what was
# written.
_ROUNDS = 3
SETTLING = 5.0


class MovedError(ReviewError):
    """The pull request has another head than the commit that was checked."""


class Done(NamedTuple):
    """What was posted: comments on lines that are new, have another text, or whose thread was closed or opened again.

    `summary` is what became of the summary, in a word; `notes` are lines for whoever runs the command.
    """

    posted: int = 0
    rewritten: int = 0
    resolved: int = 0
    reopened: int = 0
    summary: str = ""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [counted(self.posted, "new comment"), f"{self.resolved} resolved", f"{self.rewritten} rewritten"]
        parts += [f"{self.reopened} opened again"] if self.reopened else []
        return ", ".join([*parts, f"{self.summary} summary"] if self.summary else parts)


def requests(action: Action, target: Target, head: str) -> Iterator[Request]:
    """The requests that an action comes to, exactly as they are sent."""
    comments = f"/repos/{target.repository}/pulls/comments"
    issues = f"/repos/{target.repository}/issues"
    if isinstance(action, Post):
        yield _review(action.drafts, target, head)
    elif isinstance(action, Rewrite):
        yield Request("PATCH", f"{comments}/{action.comment}", {"body": action.body})
    elif isinstance(action, Summarise) and action.comment is None:
        yield Request("POST", f"{issues}/{target.number}/comments", {"body": action.body})
    elif isinstance(action, Summarise):
        yield Request("PATCH", f"{issues}/comments/{action.comment}", {"body": action.body})
    elif isinstance(action, (Resolve, Reopen)):
        name = "resolveReviewThread" if isinstance(action, Resolve) else "unresolveReviewThread"
        query = f"mutation($thread: ID!) {{ {name}(input: {{threadId: $thread}}) {{ thread {{ isResolved }} }} }}"
        yield Request("POST", "", {"query": query, "variables": {"thread": action.thread}})


def _review(drafts: Collection[Draft], target: Target, head: str) -> Request:
    comments = []
    for draft in drafts:
        lines: dict[str, object] = {"line": draft.last, "side": "RIGHT"}
        if draft.first < draft.last:  # GitHub refuses a start that is the end
            lines.update(start_line=draft.first, start_side="RIGHT")
        comments.append({"path": draft.path, "body": draft.body, **lines})
    # A review needs a text. What else there is to say stands in the summary, which can be rewritten.
    body = f"trl-lint: {counted(len(comments), 'comment')}"
    review = {"commit_id": head, "event": "COMMENT", "body": body, "comments": comments}
    return Request("POST", f"{target.path}/reviews", review)


def preview(target: Target, reading: Reading, options: Options, state: State) -> list[Request]:
    """What `publish` would send if every request succeeded."""
    return [one for action in plan(reading, state, options) for one in requests(action, target, state.head)]


def publish(client: Client, target: Target, reading: Reading, options: Options, state: State) -> Done:
    """Make the pull request, which is in this state, say what the report says. Raises ReviewError; what was posted
    until then stays.

    A write without an answer may have been done, so it is not repeated: the pull request is read again, and a new plan
    holds what is still missing.
    """
    done = Done()
    known: State | None = state
    for left in reversed(range(_ROUNDS)):
        try:
            return _Round(client, target, reading, options, done).run(known)
        except _InterruptedError as interruption:
            done, known = interruption.done, None
            if not left:
                raise UnclearError(
                    f"{interruption.reason}; so far: {done}. Another run posts what is missing, and nothing twice"
                ) from None
            time.sleep(SETTLING)
    raise AssertionError("the last round returns or raises")


class _InterruptedError(Exception):
    def __init__(self, done: Done, reason: str) -> None:
        super().__init__(reason)
        self.done = done
        self.reason = reason


def look(client: Client, target: Target, options: Options) -> State:
    """What stands in the pull request now. Raises ReviewError; MovedError where it has another head than the report."""
    state = read_state(client, target, options.name)
    if target.head and state.head != target.head:
        heads = f"the pull request is at {state.head[:12]} by now, and this report is about {target.head[:12]}"
        raise MovedError(f"{heads}: nothing was posted")
    return state


class _Round:
    def __init__(self, client: Client, target: Target, reading: Reading, options: Options, done: Done) -> None:
        self.client, self.target, self.reading, self.options = client, target, reading, options
        self.done = done
        self.head = ""
        self.refused: set[str] = set()
        self.may_resolve = True

    def run(self, state: State | None) -> Done:
        try:
            state = state or look(self.client, self.target, self.options)
            self.head = state.head
            for path in sorted({finding.place.path for finding in self.reading.findings}):
                if is_stale(path, state.diff, self.reading):
                    self._note(f"{path}: the pull request has it in another state, so no line of it gets a comment")
            actions = plan(self.reading, state, self.options)
            if actions and isinstance(actions[0], Post):
                self._post(actions[0].drafts)
                if self.refused:  # the summary has to say it now
                    actions = plan(self.reading, state, self.options, self.refused)
            for action in actions:
                if not isinstance(action, Post):
                    self._carry_out(action)
        except UnclearError as error:
            raise _InterruptedError(self.done, str(error)) from None
        return self.done

    def _post(self, drafts: tuple[Draft, ...]) -> None:
        """Post comments as one review. GitHub refuses a review for one bad comment, so that one is searched for."""
        try:
            self.client.send(_review(drafts, self.target, self.head))
        except InvalidError as error:
            if len(drafts) == 1:
                self.refused.add(drafts[0].fingerprint)
                self._note(f"{drafts[0].path}:{drafts[0].last}: {error}; the finding is in the summary")
            else:
                self._post(drafts[: len(drafts) // 2])
                self._post(drafts[len(drafts) // 2 :])
            return
        self.done = self.done._replace(posted=self.done.posted + len(drafts))

    def _carry_out(self, action: Action) -> None:
        try:
            if isinstance(action, Resolve) and not self.may_resolve:
                self._instead(action)
                return
            for request in requests(action, self.target, self.head):
                self.client.send(request)
        except InvalidError as error:
            self._note(str(error))
            return
        except RefusedError as error:
            if isinstance(action, Resolve):
                self.may_resolve = False
                self._note(f"no thread can be resolved, for which a token needs `contents: write`: {error}")
                self._instead(action)
                return
            if isinstance(action, Reopen):
                self._note(f"a thread cannot be opened again: {error}")
                return
            raise
        self._count(action)

    def _count(self, action: Action) -> None:
        if isinstance(action, Resolve):
            self.done = self.done._replace(resolved=self.done.resolved + 1)
        elif isinstance(action, Reopen):
            self.done = self.done._replace(reopened=self.done.reopened + 1)
        elif isinstance(action, Rewrite):
            self.done = self.done._replace(rewritten=self.done.rewritten + 1)
        elif isinstance(action, Summarise):
            is_new = action.comment is None or self.done.summary == "new"
            self.done = self.done._replace(summary="new" if is_new else "rewritten")

    def _instead(self, action: Resolve) -> None:
        if action.body:
            self._carry_out(Rewrite(action.comment, action.body))

    def _note(self, text: str) -> None:
        if text not in self.done.notes:
            self.done = self.done._replace(notes=(*self.done.notes, text))
