"""A review of a pull request on GitHub: what is found stands at its line, once, for as long as it is there.

A report in the tool's own JSON is read (`report`) and held against the diff (`diff`, `suggestion`) and against what
stands in the pull request already (`state`); the difference is a list of actions (`plan`), worded by `markdown`, which
`posting` carries out through the one module that knows the network (`github`).
"""


class ReviewError(Exception):
    """The review cannot be made; the text says why, in one line and without the token."""


class ReportError(ReviewError):
    """A report that is not one of ours, or not one that anybody should post."""


class RefusedError(ReviewError):
    """GitHub does not let the token do this (403, or 404, by which it hides what a token may not see)."""


class InvalidError(ReviewError):
    """GitHub takes the request for invalid (422); nothing of it was done."""


class UnclearError(ReviewError):
    """No answer, or one of a broken server: what was asked may have been done or not."""
