"""What the sub-commands do. `parsers` and `plain` read the command line."""


class UsageError(Exception):
    """A command line that makes no sense; the text says why."""
