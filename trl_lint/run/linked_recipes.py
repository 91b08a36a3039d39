"""Recipes that nothing in their text shows to be one, and the command that names them does."""

from __future__ import annotations

from trl_lint.paths import DOCUMENTS
from trl_lint.project.documents import Document
from trl_lint.run.runs import Run, read_quietly


def linked_recipe(run: Run) -> Document | None:
    """The recipe of a run, if it is no document of a known kind when it is read by itself; else None."""
    recipe = run.recipe
    if recipe is None:
        return None
    alone = read_quietly(recipe.path, run.project)
    return recipe if alone is None or alone.kind == "other" else None


def configs_read_by(run: Run) -> list[str]:
    """The files of the project that the program of a run reads as YAML or JSON: what `--config` and its kin name."""
    found = []
    for link in run.links:
        if link.status == "exact" and link.kind != "script" and link.paths[0].endswith(DOCUMENTS):
            is_first = link.kind == "recipe" and link.word is run.launch.first_config
            if not is_first or run.parser is not None or run.framework not in ("other", "transformers"):
                found.append(link.paths[0])
    return found
