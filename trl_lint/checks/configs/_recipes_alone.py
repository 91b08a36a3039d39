"""Recipes of TRL that no known run uses, judged as runs of every config class that takes their keys.

Only what stands in the recipe counts: defaults may be those of a class of the project, and a command may add to it.
What all classes that the recipe may be for refuse is told, one level lower than of a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from trl_lint.checks._runs import after_commands
from trl_lint.checks.configs._release_refusals import stated_in
from trl_lint.grading import milder
from trl_lint.knowledge.api import resolve, signature
from trl_lint.knowledge.commands import command_classes
from trl_lint.run.readers.classes import recipe_alone
from trl_lint.run.runs import Run, runs_with
from trl_lint.sources.nodes import Mapping

if TYPE_CHECKING:
    from trl_lint.checks.configs._release_says import Refusal
    from trl_lint.checks.rule import Rule
    from trl_lint.finding import Location
    from trl_lint.project import Project
    from trl_lint.project.documents import Document

_COMMANDS = ("sft", "dpo", "kto", "grpo", "rloo", "reward", "distillation")
# Those without a command, but with recipes.
_OTHERS = ("trl.ORPOConfig", "trl.CPOConfig", "trl.BCOConfig", "trl.GKDConfig", "transformers.TrainingArguments")
_BESIDE = ("trl.ModelConfig", "trl.ScriptArguments", "trl.scripts.grpo.GRPOScriptArguments")


class RecipeRun(Run):
    """A run of which nothing is known but a recipe and a config class that may read it."""

    def __init__(self, document: Document, config: str, project: Project) -> None:
        from trl_lint.project.launch import Launch
        from trl_lint.sources.shell import Command, Word
        from trl_lint.sources.shell_state import State

        hidden = Word(None, "$@", 0, 0, several=True)
        launch = Launch("", hidden, Command((hidden,), State().view(), None, 0, 0), document.source)
        super().__init__(launch, project)
        self.is_launched, self.is_partial = False, True
        self.recipe, self.parser, self.script, self.arguments_class = document, None, None, config
        self.environment = project.environment(document.path)
        self.config = recipe_alone(self)


def stated_in_recipe(document: Document, project: Project, rule: Rule) -> Iterator[Refusal]:
    """What all classes that a recipe may be for refuse of what stands in it, as far as it belongs to the rule."""
    if any(run.arguments_class for run in runs_with(document.path, project)):
        return
    runs = [RecipeRun(document, config, project) for config in _classes(document, project)]
    found = [{one.location: one for one in stated_in(run, rule, set())} for run in runs]
    for place, one in found[0].items() if found else ():
        if all(place in others for others in found[1:]):
            names = tuple(_names_at(document, [one.location, *one.related]))
            severity = after_commands(milder(one.severity), names, document, project)
            if severity is not None:
                yield one._replace(severity=severity)


def _names_at(document: Document, places: list[Location]) -> Iterator[str]:
    starts = {place.start for place in places if place.path == document.path}
    root = document.root
    for entry in root.entries if isinstance(root, Mapping) else ():
        if document.place(entry).start in starts and isinstance(entry.key.value, str):
            yield entry.key.value


def _classes(document: Document, project: Project) -> list[str]:
    """The config classes of the releases in use that take every key of the recipe which any of them takes."""
    versions = project.environment(document.path).choices.newest(("trl", "transformers"))
    if not isinstance(document.root, Mapping):
        return []
    keys = frozenset(str(entry.key.value) for entry in document.root.entries)
    taken = {config: _taken(config, tuple(versions.items())) for config in _candidates()}
    taken = {config: names for config, names in taken.items() if names}
    beside = frozenset[str]().union(*(_taken(config, tuple(versions.items())) for config in _BESIDE))
    known = (keys & frozenset[str]().union(*taken.values())) - beside
    return [config for config, names in taken.items() if known <= names]


@lru_cache(maxsize=1)
def _candidates() -> tuple[str, ...]:
    classes = (each for command in _COMMANDS for each in command_classes(command))
    return (*dict.fromkeys(each for each in classes if each.endswith("Config") and each not in _BESIDE), *_OTHERS)


@lru_cache(maxsize=256)
def _taken(config: str, versions: tuple[tuple[str, str], ...]) -> frozenset[str]:
    """The fields of a class in these releases; none where they are not known."""
    found = resolve(config, dict(versions))
    known = signature(found, dict(versions)) if isinstance(found, str) and not found.endswith(":") else None
    return frozenset(known.parameters) if known is not None and not known.open else frozenset()
