"""A config of another program that `accelerate launch --config_file` is given: it stops at the first key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from trl_lint.checks._phrases import with_scope
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_config
from trl_lint.finding import Finding
from trl_lint.knowledge import configs
from trl_lint.memos import per_project
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.sources import SourceError
from trl_lint.sources.nodes import Mapping

_ADVICE = {
    "deepspeed": "a DeepSpeed config; accelerate reads it with `--use_deepspeed --deepspeed_config_file`, or where "
    "`deepspeed_config.deepspeed_config_file` of its own config names it",
}


def misread_config(launch: Launch, rule: Rule, project: Project) -> Iterator[Finding]:
    """The file that `accelerate launch` takes for its own config, where none of its keys is one of accelerate's."""
    word = launch.options.get("--config_file") if launch.launcher == "accelerate" else None
    if word is None or launch.config_file is None or launch.command.errors:
        return
    keys = _keys(launch.config_file, project)
    if not keys:
        return

    def is_fine(version: str) -> bool | None:
        known = configs.top_keys("accelerate", version)
        return None if known is None else not keys.isdisjoint({*known, *configs.keys_of_forks()})

    environment = project.environment_of(launch)
    verdict = judge_config(environment.choices, "accelerate", is_fine, Level(rule, launch.is_mild, of_code=False))
    if verdict is not None:
        kind = _kind(launch.config_file, project)
        what = _ADVICE.get(kind, f"no config of accelerate: it has none of the keys, {_few(keys)}")
        message = f"accelerate stops at `{word.text}`, which is {what}"
        yield rule.finding(
            launch.place_of(word, word.text or ""),
            with_scope(message, verdict.scope),
            severity=verdict.severity,
            related=verdict.related,
        )


def _few(keys: frozenset[str]) -> str:
    return ", ".join(f"`{key}`" for key in sorted(keys)[:3])


def _kind(path: str, project: Project) -> str:
    document = project.document_in(path)
    return document.kind if document is not None else ""


@per_project
def _keys(path: str, project: Project) -> frozenset[str]:
    """The keys at the top of a document; none where a part of it is not known, or it is no document."""
    with suppress(OSError, SourceError):
        document = project.document_in(path) or project.recipe_in(path)
        root = document.mapping if document is not None else None
        if isinstance(root, Mapping) and not root.merged:
            names = [entry.key.value for entry in root.entries]
            if all(isinstance(name, str) for name in names):
                return frozenset(str(name) for name in names)
    return frozenset()
