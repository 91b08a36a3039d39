"""TRL763: messages are rendered with the chat template of a model whose tokenizer has none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from trl_lint.checks._trainer_rule import TrainerRule, first_found
from trl_lint.checks.algorithm._tokenizers import HARMLESS, loaded_name, tokenizer_name
from trl_lint.checks.algorithm.no_assistant_tokens import is_off
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import Level, Verdict, judge_pins, judge_releases, level_in
from trl_lint.finding import Finding, Location
from trl_lint.knowledge.chats import has_no_template
from trl_lint.knowledge.families import Renders, families, family_of
from trl_lint.knowledge.ranges import holds
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.project.own_copy import has_own_copy
from trl_lint.project.stack import environment_at
from trl_lint.python.guards import is_expected_to_fail
from trl_lint.python.module import PythonModule, mentions
from trl_lint.regexes import regex
from trl_lint.run.columns import columns_of
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall, is_absent
from trl_lint.run.trainer.lines import lines_of
from trl_lint.run.trainer.resolver import resolver_of
from trl_lint.run.trainer.running import possible_in

# `apply_chat_template` of tokenization_utils_base.py; before, there was a template for every tokenizer.
_RAISES = ">=4.44.0"
_SETS = regex(r"chat_template\s{0,4}=|setup_chat_format|clone_chat_template|get_chat_template|chat_template_path")
_RENDERS = "apply_chat_template"
_ROLES = ("prompt", "messages", "chosen", "completion")


class ModelWithoutTemplate(TrainerRule):
    code = "TRL763"
    documents = ("command",)
    runs = True
    launched = True

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        if mentions(module, _SETS):
            return
        yield from super().check_module(module, project)
        if _RENDERS in module.text:
            for call in module.calls:
                if isinstance(call.func, ast.Attribute) and call.func.attr == _RENDERS:
                    yield from self._rendered(call, call.func.value, module, project)

    def _rendered(
        self, call: ast.Call, tokenizer: ast.expr, module: PythonModule, project: Project
    ) -> Iterator[Finding]:
        if any(keyword.arg in (None, "chat_template") for keyword in call.keywords):
            return
        resolver = resolver_of(module, project)
        resolver.refill()
        lines = lines_of(resolver.options(tokenizer, resolver.frame_at(call, resolver.frame(module))))
        name = loaded_name(lines, None, HARMLESS)
        if not name or not has_no_template(name) or is_expected_to_fail(module, call):
            return
        environment = environment_at(module, call, project, "transformers") or project.environment(module.path)
        verdict = judge_pins(environment, {"transformers": _RAISES}, Level(self))
        if verdict is not None:
            yield self._told(name, module.location(call.func), verdict, (lines[0].location,))

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if not call.trainer.startswith("trl.") or call.own is not None or is_unsloth(call.module):
            return
        if all(is_absent(call.given(name)) for name in ("formatting_func", "data_collator")):
            yield from first_found(call, lambda run: self._in_trainer(call, run))

    def _in_trainer(self, call: TrainerCall, run: Run | None) -> Finding | None:
        name = tokenizer_name(call, run, HARMLESS)
        if not name or not has_no_template(name):
            return None
        if not all(is_off(call, field, run) for field in ("chat_template_path", "dataset_kwargs")):
            return None
        datasets = columns_of(possible_in(call.given("train_dataset"), run))
        if not datasets or not all(any(one.certain.get(role) == "messages" for role in _ROLES) for one in datasets):
            return None
        verdict = judge_pins(call.environment, {"transformers": _RAISES}, level_in(self, run))
        return None if verdict is None else self._told(name, call.location, verdict, ())

    def _told(self, name: str, place: Location, verdict: Verdict, related: tuple[Location, ...]) -> Finding:
        message = (
            f"{name} is a base model, whose tokenizer has no chat template to render messages with (ValueError): take "
            f"the instruct model, or set a template ({verdict.scope})"
        )
        return self.finding(place, message, severity=verdict.severity, related=(*related, *verdict.related))

    def check_run(self, run: Run) -> Iterator[Finding]:
        family = family_of(run.framework) if run.framework not in ("transformers", "trl") else None
        for row in family.renders if family is not None else ():
            said = run.config.setting("model")
            if row.datasets or not isinstance(said, Setting) or not isinstance(said.value, str):
                continue
            if not has_no_template(said.value) or not _is_rendered(run, row):
                continue
            where = run.launch.source.path
            place = said.location or run.launch.location
            yield from self._of_command(said.value, place, row, where, run.project, run.launch.is_mild)

    def check_document(self, document: Any, project: Project) -> Iterator[Finding]:
        from trl_lint.sources.nodes import Mapping, Scalar, Sequence, find

        for family in families():
            rows = [row for row in family.renders if row.datasets]
            if not rows or not any(kind.kind == document.kind for kind in family.document):
                continue
            settings = family.settings
            names = settings.model.names if settings is not None else ()
            model = next((found for name in names if isinstance(found := find(document.root, name), Scalar)), None)
            if model is None or not isinstance(model.value, str) or not has_no_template(model.value):
                continue
            for row in rows:
                listed = find(document.root, row.datasets)
                items = listed.items if isinstance(listed, Sequence) else []
                is_given = any(document.value(name) is not None for name in row.templates)
                rendered = [one for one in items if isinstance(one, Mapping) and _is_of_messages(one, row)]
                if rendered and not is_given:
                    place = document.source.location(model.start, model.end)
                    yield from self._of_command(model.value, place, row, document.path, project, False)

    def _of_command(
        self, name: str, place: Location, row: Renders, path: str, project: Project, is_mild: bool
    ) -> Iterator[Finding]:
        chosen = project.environment(path).choices.get(row.package)
        if chosen is None or chosen.package.is_own or has_own_copy(row.package, path, project):
            return
        level = Level(self, is_mild, of_code=False)
        verdict = judge_releases(chosen, lambda version: holds(row.releases, version), level)
        if verdict is not None:
            yield self._told(name, place, verdict, ())


def _is_rendered(run: Run, row: Renders) -> bool:
    """Whether the options say that messages are rendered, and give no template for that."""
    if any(run.config.given(name) is not ABSENT for name in row.templates):
        return False
    if not row.when:
        return run.config.counts("model")
    for name, values in row.when.items():
        said = run.config.given(name)
        if isinstance(said, Setting) and (said.value in values or said.truth in values):
            return True
    return False


def _is_of_messages(entry: Any, row: Renders) -> bool:
    found = {name: entry.get(name) for name in ("type", *row.templates)}
    kind = found.pop("type")
    is_given = any(one is not None for one in found.values())
    return getattr(kind, "value", None) in row.types and not is_given


rule = ModelWithoutTemplate()
