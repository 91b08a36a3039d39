"""Recipes that nothing in their text shows to be one, and the command that names them does."""

from __future__ import annotations

from trl_lint.project.documents import Document
from trl_lint.project.runs import Run, read_quietly


def linked_recipe(run: Run) -> Document | None:
    """The recipe of a run, if it is no document of a known kind when it is read by itself; else None."""
    recipe = run.recipe
    if recipe is None:
        return None
    alone = read_quietly(recipe.path, run.project)
    return recipe if alone is None or alone.kind == "other" else None
