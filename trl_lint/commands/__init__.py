"""What the sub-commands do. Parsing of the command line is in cli.py."""


class UsageError(Exception):
    """A command line that makes no sense; the text says why."""
