"""A baseline: the findings a project has today, so that only new ones are shown.

What a finding is recognised by is in fingerprints.py. Equal ones are counted.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from trl_lint import tracked
from trl_lint.finding import Finding
from trl_lint.fingerprints import Key, Keys
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources.files import Files

VERSION = 1
_BEGINNING = regex(rb'\s*\{\s*"version":\s*\d+,\s*"findings":\s*\[')


class BaselineError(Exception):
    """A baseline that cannot be used; the text names the file."""


class Comparison(NamedTuple):
    """The findings that a baseline does not know, and of those that it does how often each was not found again."""

    new: list[Finding]
    gone: Counter[Key]


class Baseline:
    """Known findings and how often each was there. Paths are relative to the folder of the baseline's file."""

    def __init__(self, path: str, counts: Counter[Key]) -> None:
        self.path = path
        self.counts = counts

    def new(self, findings: Iterable[Finding], files: Files) -> list[Finding]:
        """The findings that are not in the baseline."""
        return self.compare(findings, files).new

    def compare(self, findings: Iterable[Finding], files: Files) -> Comparison:
        """Hold findings against the baseline. Of several equal ones the last are the new ones."""
        left = Counter(self.counts)
        found = []
        keys = Keys(os.path.dirname(self.path), files)
        for finding in findings:
            key = keys.of(finding)
            if left[key] > 0:
                left[key] -= 1
            else:
                found.append(finding)
        return Comparison(found, +left)

    def gone_from(self, gone: Counter[Key], paths: Iterable[str], is_asked: Callable[[str], bool]) -> int:
        """How many of the findings that are gone stood in these files and folders, of rules that were asked.

        `is_asked`: whether a rule was, by its code.
        """
        places = [os.path.join(os.path.abspath(path), "") for path in paths]
        folder = os.path.dirname(self.path)
        return sum(
            count
            for key, count in gone.items()
            if is_asked(key.code)
            and any(os.path.join(os.path.normpath(os.path.join(folder, key.path)), "").startswith(p) for p in places)
        )


def is_baseline(data: bytes) -> bool:
    """Whether a file may be replaced by a baseline: it is one, of any version and however it was merged, or empty."""
    return not data.strip() or _BEGINNING.match(data) is not None


def read_baseline(path: str) -> Baseline:
    """Read a baseline. Raises BaselineError."""
    import json

    try:
        document: Any = json.loads(tracked.read(path).decode())
    except FileNotFoundError:
        raise BaselineError(f"{path}: no such baseline; `--write-baseline` makes one") from None
    except OSError as error:
        raise BaselineError(f"{path}: {tracked.reason(error)}") from None
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{path}: not a baseline: {error}") from None
    try:
        if document["version"] != VERSION:
            raise BaselineError(f"{path}: written by another version; make it again with `--write-baseline`")
        counts: Counter[Key] = Counter()
        for item in document["findings"]:
            key = Key(*(str(item[name]) for name in Key._fields))
            counts[key] += int(item["count"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BaselineError(f"{path}: not a baseline: {type(error).__name__}: {error}") from None
    return Baseline(path, counts)


def baseline_text(path: str, findings: Iterable[Finding], files: Files) -> str:
    """The content of the baseline at an absolute path that holds these findings; sorted, one finding on a line."""
    import json

    keys = Keys(os.path.dirname(path), files)
    counts = Counter(keys.of(finding) for finding in findings)
    rows = [json.dumps({**key._asdict(), "count": count}) for key, count in sorted(counts.items())]
    listed = "".join(f"\n    {row}{',' if index < len(rows) else ''}" for index, row in enumerate(rows, 1))
    return f'{{\n  "version": {VERSION},\n  "findings": [{listed}\n  ]\n}}\n'
