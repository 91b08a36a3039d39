"""TRL761: the texts of a training have marks that the model, or the code that looks for them, does not know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trl_lint.checks._trainer_rule import TrainerRule
from trl_lint.finding import Finding
from trl_lint.project import Project
from trl_lint.project.modules import modules_around
from trl_lint.python.module import PythonModule
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall

_LOOKING = ("DataCollatorForCompletionOnlyLM", "train_on_responses_only")


class TemplateNotInText(TrainerRule):
    code = "TRL761"
    imports = ("trl", "transformers", "unsloth", "vllm", "datasets")
    documents = ("command",)
    runs = True
    launched = True

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        if any(name in module.text for name in _LOOKING):
            yield from super().check_module(module, project)
        around = tuple(one for one in modules_around(module, b"|>", project) if "|>" in one.text)
        if around:
            from trl_lint.checks.algorithm._turn_marks import misspelt_marks

            for found in misspelt_marks(module, around, project):
                yield self.finding(found.place, found.message)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        from trl_lint.checks.algorithm._answers_in_text import unfound_answers

        yield from unfound_answers(call, self)

    def check_run(self, run: Run) -> Iterator[Finding]:
        if run.framework in ("trl", "transformers", "other"):
            return
        said, model = run.config.given_setting("template"), run.config.given_setting("model")
        if isinstance(said, Setting) and isinstance(model, Setting) and said.origin == "flag" and said.location:
            from trl_lint.checks.algorithm._turn_marks import of_another_family

            message = of_another_family(said.value, model.value)
            if message:
                yield self.finding(said.location, message)

    def check_document(self, document: Any, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.algorithm._turn_marks import of_another_family
        from trl_lint.knowledge.families import families
        from trl_lint.sources.nodes import Scalar, find

        family = next((one for one in families() if any(kind.kind == document.kind for kind in one.document)), None)
        if family is None or family.settings is None:
            return
        for name in family.settings.template.names:
            node = find(document.root, name)
            models = [document.value(each) for each in family.settings.model.names]
            model = next((one for one in models if one is not None), None)
            message = of_another_family(node.value, model) if isinstance(node, Scalar) else ""
            if message and isinstance(node, Scalar):
                yield self.finding(document.source.location(node.start, node.end), message)


rule = TemplateNotInText()
