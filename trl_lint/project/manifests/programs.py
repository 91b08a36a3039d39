"""What a Python file installs: for itself, or into the image or job that its calls describe; and what it tells to.

`# pip install trl==0.16.0` in a comment or a docstring is a statement about the file, which nothing installs.
"""

from __future__ import annotations

import os

from trl_lint.paths import is_test_file
from trl_lint.project.manifests.commands import read as read_commands_of
from trl_lint.project.manifests.versions import told_in_commands
from trl_lint.project.pins import Manifest
from trl_lint.sources import Source, SourceFile


def read(file: SourceFile) -> Manifest | None:
    """The pins of a Python file, in its script block and in calls, and the releases that it tells to install."""
    found = None
    if b"# /// script" in file.data:
        from trl_lint.project.manifests import pep723

        found = pep723.read(file)
    if not is_test_file(os.path.join(*file.path.split(os.sep)[-2:])):
        installed = read_commands_of(file, "program")
        if installed is not None:
            found = installed if found is None else found._replace(pins=(*found.pins, *installed.pins))
    told = told_in_commands(Source(file, "python")) if b"pip" in file.data else ()
    return (found or Manifest(file.path, "program", ()))._replace(told=told) if told else found
