"""What a key that Hydra refuses was meant to be: one that is nearly the same, one that code reads, another config's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from trl_lint import tracked
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.run.readers.hydra import Fault, Override, Tree, apply_all, copied, find
from trl_lint.sources import SourceError
from trl_lint.words import nearest

# How like a known key must be that a misspelt one is taken for: `grad_offload` is no `param_offload` (0.8).
_LIKENESS = 0.85
_MOST_NEAR = 2  # of more, none is told: it is no good advice
_MOST_CONFIGS = 40  # that are called most alike; the finding stands without one
# What a configuration is called in code: `config.mode`, `self.cfg["mode"]`, `actor_config.get("mode")`; not `args`,
# which are those of other programs.
_HOLDER = r"\w*(?:conf|config|cfg)"


def near_keys(key: str, tree: Tree, given: frozenset[str]) -> list[str]:
    """The keys of a configuration that a refused one can be meant for, two at most; none if nothing is near enough.

    `given`: the keys that the command sets itself, which are not meant a second time.
    """
    found = _beside(key, tree, given) or _elsewhere(key, tree, given)
    return found if len(found) <= _MOST_NEAR else []


def _beside(key: str, tree: Tree, given: frozenset[str]) -> list[str]:
    """Keys that differ in the first part that is not there: a word too few, or a letter or two."""
    parts = key.split(".")
    known, node = 0, tree
    while known < len(parts) and isinstance(below := node.get(parts[known]), dict):
        known, node = known + 1, below
    if known == len(parts):
        return []
    wanted, rest = parts[known], parts[known + 1 :]
    at = {child: ".".join([*parts[:known], child, *rest]) for child in node}
    there = {child: whole for child, whole in at.items() if whole not in given and _is_value(tree, whole)}
    longer = [whole for child, whole in there.items() if _is_longer(child, wanted)]
    like = nearest(wanted, there, _LIKENESS)
    return [there[like]] if like else longer


def _elsewhere(key: str, tree: Tree, given: frozenset[str]) -> list[str]:
    """The only other key with that last part, in a section of the same name or below the same one."""
    *above, last = key.split(".")
    if "_" not in last or not above:
        return []
    found = [
        other
        for other in _values(tree)
        if other.rpartition(".")[2] == last
        and other not in given
        and (other.split(".")[:1] == above[:1] or other.split(".")[-2:-1] == above[-1:])
    ]
    return found if len(found) == 1 else []


def _is_value(tree: Tree, key: str) -> bool:
    found = find(tree, key)
    return found is not ABSENT and not isinstance(found, dict)


def _values(tree: Tree, above: str = "") -> Iterator[str]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _values(value, f"{above}{name}.")
        else:
            yield f"{above}{name}"


def _is_longer(name: str, wanted: str) -> bool:
    """Whether a name is another one with one word more before or behind it: `train_datasets` for `datasets`."""
    return name.count("_") == wanted.count("_") + 1 and (name.startswith(f"{wanted}_") or name.endswith(f"_{wanted}"))


def _likeness(one: str, other: str) -> float:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, one.lower(), other.lower()).ratio()


def is_read(key: str, project: Project) -> bool:
    """Whether Python code of the project reads a key, from its section or from something called like a configuration.

    Then it may be added with `+`; what nothing reads does nothing there.
    """
    *above, last = key.split(".")
    # Below a section only a name of several words is told from others: `config.name` may be any.
    holders = [re.escape(above[-1])] if above else []
    holder = "|".join([*holders, _HOLDER] if not above or "_" in last else holders)
    name = re.escape(last)
    reading = re.compile(
        rf"\b(?:{holder})(?:\.{name}\b|\[[\"']{name}[\"']\]|\.(?:get|pop)\(\s*[\"']{name}[\"'])".encode(), re.IGNORECASE
    )
    for path in project.paths:
        if path.endswith(".py"):
            with suppress(OSError, SourceError):
                if project.files.holds(path, last.encode()) and reading.search(project.files.get(path).data):
                    return True
    return False


def config_that_takes(
    overrides: Sequence[Override],
    refused: Mapping[int, Fault],
    current: str,
    folder: str,
    compose: Callable[[str], Tree | None],
) -> str:
    """The config beside the one in use that has every key which Hydra refuses, "" if there is none.

    The one that is called most like it, of several. `refused`: what the config in use refuses, by the position
    of the override; the other one may refuse nothing more. `compose`: the configuration that a name gives.
    """
    names = [name.removesuffix(".yaml") for name in tracked.names(folder) if name.endswith(".yaml")]
    names = sorted((n for n in names if n != current), key=lambda n: (-_likeness(n, current), n))[:_MOST_CONFIGS]
    for name in names:
        tree = compose(name)
        if tree is None:
            continue
        # What is added with `+` and there already is a fault of its own.
        if all(refused.get(index, "override") != "override" for index, _ in apply_all(copied(tree), overrides)):
            return name
    return ""
