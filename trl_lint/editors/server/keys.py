"""Dotted keys: the overrides of a Hydra command, and what stands in the blocks of a YAML or JSON config.

What a program reads is taken where the rules take it: from the project's own configs, else from the histories of the
releases.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache

from trl_lint.finding import Location
from trl_lint.knowledge.api import Change, config_keys, releases
from trl_lint.knowledge.configs import option_of, value_rows
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.launch_table import launches_in
from trl_lint.project.launches import Launch, holds_launches
from trl_lint.records import NamedTuple
from trl_lint.run.readers.hydra import Tree, find
from trl_lint.run.readers.verl import VerlRun, config_name, place_of, read_run
from trl_lint.sources import SourceError
from trl_lint.sources.nodes import Mapping, value_of
from trl_lint.sources.nodes import Sequence as ListNode

_USUAL_CONFIG = "ppo_trainer"


class Key(NamedTuple):
    """A dotted key of a configuration that a package reads (of one of the project's own, if that is ""), where it is
    written, and the command that sets it.
    """

    name: str
    package: str
    config: str
    location: Location
    run: VerlRun | None = None

    def setting(self, version: str) -> object:
        """What the command runs with; UNKNOWN where nobody knows."""
        tree = self.run.composed(version) if self.run is not None else None
        found = UNKNOWN if tree is None else find(tree, self.name)
        return UNKNOWN if found is ABSENT or isinstance(found, dict) else found

    def own(self) -> object:
        """What the project's own configuration says of it; UNKNOWN where it has none, ABSENT where it has no such."""
        own = self.run.own if self.run is not None else None
        return UNKNOWN if own is None else find(own.tree, self.name)

    def history(self) -> list[Change]:
        """When it came, changed its default and went."""
        found: list[Change] = []
        for version in releases(self.package) if self.package else ():
            keys = keys_in(self.package, self.config, version)
            value = None if keys is None else keys.get(self.name)
            if keys is not None and (found or value is not None) and (not found or found[-1].value != value):
                found.append(Change(version, value))
        return found


@lru_cache(maxsize=256)
def keys_in(package: str, config: str, version: str) -> dict[str, str] | None:
    """The dotted keys of a configuration in a release as they are written, with defaults; None if it was not read."""
    found = config_keys(package, config, version)
    if isinstance(found, Missing):
        return None
    if package != "accelerate":
        return found
    parts = ((key.partition("."), value) for key, value in found.items())
    return {f"{block}{dot}{option_of(block, key) if dot else ''}": value for (block, dot, key), value in parts}


# -- commands ---------------------------------------------------------------------------------------------------------


def launch_at(path: str, offset: int, project: Project) -> Launch | None:
    """The command at an offset of a file."""
    with suppress(OSError, SourceError):
        launches = launches_in(path, project) if holds_launches(path) else ()
        return next((one for one in launches if one.location.start <= offset <= one.location.end), None)
    return None


def key_of_override(path: str, offset: int, project: Project) -> Key | None:
    """The key of the override at an offset of a file."""
    launch = launch_at(path, offset, project)
    run = read_run(launch, project) if launch is not None else None
    if launch is None or run is None:
        return None
    for override in run.line.overrides:
        place = place_of(override, launch)
        if place.start <= offset <= place.end:
            if run.own is not None:
                return Key(override.key, "", run.own.program.config, place, run)
            return Key(override.key, "verl", config_name(run, newest("verl", path, project)), place, run)
    return None


def keys_to_override(launch: Launch, offset: int, project: Project) -> Iterator[tuple[str, object]]:
    """The keys that may be written at an offset of a launch, with their values, as the other overrides leave them."""
    run, version = _run_without(launch, offset, project)
    tree = run.composed(version) or run.tree(version) if run is not None else None
    yield from _leaves(tree or {}, "")


def values_to_override(launch: Launch, offset: int, key: str, project: Project) -> list[str]:
    """The values that the release in use takes for a key of a launch of verl, where it names them one by one."""
    from trl_lint.editors.server.override_values import values_of_override

    run, version = _run_without(launch, offset, project)
    return values_of_override(run, key, version) if run is not None else []


def _run_without(launch: Launch, offset: int, project: Project) -> tuple[VerlRun | None, str]:
    """A launch as its words leave it but for the one at an offset, and the release of verl."""
    rest = copy.copy(launch)  # without the word that is being written: it is seldom one that can be read
    place = launch.source.location
    rest.args = tuple(
        word for word in launch.args if not place(word.start, 0).start <= offset <= place(0, word.end).end
    )
    return read_run(rest, project), newest("verl", launch.source.path, project)


def _leaves(tree: Tree, above: str) -> Iterator[tuple[str, object]]:
    for name, value in tree.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def newest(package: str, path: str, project: Project) -> str:
    """The newest release in use of a package, "" if nothing is known about it."""
    return project.environment(path).choices.newest((package,)).get(package, "")


# -- documents --------------------------------------------------------------------------------------------------------


def config_of(document: Document) -> tuple[str, str] | None:
    """The package that reads a document, and which of its configurations it is; None for any that is not recorded."""
    if document.kind in ("accelerate", "deepspeed"):
        return document.kind, document.kind
    if document.kind != "verl" or document.mapping is None:
        return None
    listed = document.mapping.get("defaults")
    names = [value_of(item) for item in listed.items] if isinstance(listed, ListNode) else []
    last = releases("verl")[-1]
    return "verl", next((one for one in map(str, names) if keys_in("verl", one, last) is not None), _USUAL_CONFIG)


def key_in_document(document: Document, offset: int) -> Key | None:
    """The key at an offset of a document, with the blocks that it stands in."""
    config = config_of(document)
    block, above = document.mapping if config is not None else None, ""
    while block is not None and config is not None:
        inner = None
        for entry in block.entries:
            name = f"{above}{entry.key.value}"
            place = document.source.location(entry.key.start, entry.key.end)
            if place.start <= offset <= place.end:
                return Key(name, *config, place)
            whole = document.place(entry)
            if isinstance(entry.value, Mapping) and not entry.value.alias and whole.start <= offset <= whole.end:
                inner, above_inner = entry.value, f"{name}."
        if inner is None:
            return None
        block, above = inner, above_inner
    return None


def keys_below(document: Document, above: str, project: Project) -> dict[str, str]:
    """The keys that may stand directly in a block (`above` with its dot; "" for the top), with their defaults."""
    config = config_of(document)
    version = newest(config[0], document.path, project) if config is not None else ""
    keys = keys_in(*config, version) if config is not None and version else None
    found: dict[str, str] = {}
    for key, value in (keys or {}).items():
        if key.startswith(above):
            name, dot, _ = key[len(above) :].partition(".")
            found.setdefault(name, "" if dot else value)
    return found


def values_for(document: Document, key: str, default: str, project: Project) -> list[str]:
    """The values that a dotted key may have, where they are known."""
    if default in ("True", "False"):
        return ["true", "false"]
    if document.kind not in ("accelerate", "deepspeed"):
        return []
    version = newest(document.kind, document.path, project)
    rows = [row for row in value_rows("accelerate" if document.kind == "accelerate" else "deepspeed") if row.key == key]
    found = ((word, row.case) for row in rows for word in row.values(version) or ())
    return list(dict.fromkeys(word.lower() if case == "any" else word for word, case in found))
