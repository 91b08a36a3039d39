"""The commands that run a Python file, and the accelerate config each of them names."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from trl_lint.finding import Location

if TYPE_CHECKING:
    from trl_lint.project import Project
    from trl_lint.project.launches import Launch
    from trl_lint.sources.nodes import Mapping


class AccelerateConfig(NamedTuple):
    """The accelerate config of a launch; `location` is its `distributed_type`."""

    root: Mapping
    location: Location


def runs_of(path: str, project: Project) -> list[Launch]:
    """The launches whose script is the file at `path`, or imports it by its name."""
    starts = import_pattern(path)
    verdicts = {path: True}
    found = []
    for launch in project.launches():
        script = launch.script_path
        if script is None:
            continue
        if script not in verdicts:
            try:
                verdicts[script] = starts.search(project.files.get(script).data) is not None
            except OSError:
                verdicts[script] = False
        if verdicts[script]:
            found.append(launch)
    return found


def import_pattern(path: str) -> re.Pattern[bytes]:
    """What an import of the module at `path` looks like, whatever package it is in."""
    stem = os.path.splitext(os.path.basename(path))[0]
    if stem == "__init__":
        stem = os.path.basename(os.path.dirname(path))
    name = rf"(?:[\w.]*\.)?{re.escape(stem)}"
    package = rf"(?:[\w.]+[ \t]+import[ \t]+{re.escape(stem)}\b)"
    text = rf"^[ \t]*(?:from[ \t]+(?:{name}[ \t]+import|{package})|import[ \t]+{name}\b)"
    return re.compile(text.encode(), re.MULTILINE)


def accelerate_config(launch: Launch, project: Project) -> AccelerateConfig | None:
    """The recognised accelerate config that a launch names with `--config_file`."""
    from trl_lint.sources.nodes import Mapping

    if launch.config_file is None:
        return None
    for document in project.documents("accelerate"):
        if document.path == launch.config_file and isinstance(document.root, Mapping):
            entry = document.root.entry("distributed_type")
            if entry is not None:
                return AccelerateConfig(document.root, document.source.location(entry.key.start, entry.value.end))
    return None
