"""TRL307: the dtype of a model under a name that the releases in use do not read.

TRL 0.27.0 and later load a model that they are given by its name in float32 unless `model_init_kwargs` has `dtype`
(`create_model_from_path` of trl/trainer/utils.py, read in 0.27.0 to 1.16.0), and transformers takes that before
`torch_dtype`. Before 4.56.0 transformers knows `torch_dtype` only, and hands `dtype` on to the class of the model
(`from_pretrained` of modeling_utils.py, read in 4.30.0 to 5.23.0; tried with 4.52.4, 5.23.0 and TRL 1.16.0).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Edit, Finding, Fix
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT
from trl_lint.python.guards import last_name
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument
from trl_lint.run.effective import Setting, of_document
from trl_lint.run.runs import runs_with

if TYPE_CHECKING:
    from trl_lint.project import Project
    from trl_lint.project.documents import Document
    from trl_lint.run.runs import Run
    from trl_lint.run.trainer import Made, TrainerCall

_LOADS_IN_FLOAT32 = {"trl": ">=0.27"}
_ONLY_TORCH_DTYPE = {"transformers": "<4.56"}
_TRAINERS = frozenset({"SFTTrainer", "DPOTrainer", "GRPOTrainer", "RLOOTrainer", "RewardTrainer", "KTOTrainer"})
_CONFIGS = frozenset(name.replace("Trainer", "Config") for name in _TRAINERS)
_TASKS = ("ForCausalLM", "ForSequenceClassification", "ForConditionalGeneration", "ForTokenClassification", "Model")
_FLOAT32 = frozenset({"torch.float32", "torch.float"})
_HARMLESS = (None, "float32")


class ModelDtypeNotRead(Rule):
    code = "TRL307"
    imports = ("trl", "transformers")
    needles = (b"model_init_kwargs", b" dtype=", b"(dtype=", b"\tdtype=", b",dtype=", b" dtype =")
    documents = ("other",)
    holding = ("script_fields",)

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        if "unsloth" in module.text:
            return  # its own loaders and trainers take either name
        if "torch_dtype" in module.text and "model_init_kwargs" in module.text:
            from trl_lint.run.trainer import trainer_calls

            for call in trainer_calls(module, project):
                if is_loading(call):
                    for made in call.field("model_init_kwargs"):
                        yield from self._check_dict(made, module, project)
        for loading in loads(module):
            yield from self._check_load(loading, module, project)

    def _check_dict(self, made: Made, module: PythonModule, project: Project) -> Iterator[Finding]:
        """The arguments for loading a model that a trainer is given."""
        key = key_of_dict(made, "torch_dtype")
        if made.frame.module is not module or key is None or not is_ignored(made):
            return
        verdict = judge_pins(project.environment(module.path), _LOADS_IN_FLOAT32, self)
        if verdict is None:
            return
        yield self.finding(
            module.location(key),
            f"{_WORDS} ({verdict.scope})",
            severity=verdict.severity,
            related=verdict.related,
            fix=None if verdict.only_old else edit_key(key, module),
        )

    def _check_load(self, call: ast.Call, module: PythonModule, project: Project) -> Iterator[Finding]:
        """`from_pretrained(…, dtype=…)`."""
        from trl_lint.project.stack import environment_at
        from trl_lint.python.version_guards import is_guarded

        environment = environment_at(module, call, project, "transformers")
        if environment is None or is_guarded(module, call, is_narrowed=True):
            return
        verdict = judge_pins(environment, _ONLY_TORCH_DTYPE, self)
        if verdict is None:
            return
        keyword = next(keyword for keyword in call.keywords if keyword.arg == "dtype")
        start = module.span(keyword)[0]
        edit = module.source.edit(start, start + len("dtype"), "torch_dtype")
        yield self.finding(
            module.location(keyword),
            "transformers before 4.56 does not know `dtype` and hands it to the class of the model (TypeError: "
            f"unexpected keyword argument 'dtype'); its name there is `torch_dtype` ({verdict.scope})",
            severity=verdict.severity,
            related=verdict.related,
            fix=None if verdict.only_old else Fix("Call it `torch_dtype`", "safe", (edit,)),
        )

    def check_document(self, document: Document, project: Project) -> Iterator[Finding]:
        """`model_init_kwargs` of a recipe."""
        said = of_document(document, "model_init_kwargs.torch_dtype")
        if not isinstance(said, Setting) or said.location is None or said.value in _HARMLESS:
            return
        if of_document(document, "model_init_kwargs.dtype") is not ABSENT:
            return
        for run in runs_with(document.path, project):
            if run.recipe is None or run.recipe.path != document.path or not loads_by_recipe(run):
                continue
            level = Level(self, run.launch.is_mild, of_code=False)
            verdict = judge_pins(run.environment, _LOADS_IN_FLOAT32, level)
            if verdict is not None and not verdict.only_old:
                where = run.launch.location._replace(message="the run")
                yield self.finding(
                    said.location,
                    f"{_WORDS} ({verdict.scope})",
                    severity=verdict.severity,
                    related=(where, *verdict.related),
                )
                return


_WORDS = "`torch_dtype` is not read here: TRL 0.27 and later load the model in float32 unless `dtype` says otherwise"


def loads_by_recipe(run: Run) -> bool:
    """Whether the trainers of a run load their model by name, with what the recipe says."""
    script = run.script
    if script is None or run.parser is None or run.arguments_class.rpartition(".")[2] not in _CONFIGS:
        return False
    given, others = script.given()
    if given.get("model_init_kwargs", others) is not ABSENT:
        return False
    return _all_load(script.module, run.project)


@per_module
def _all_load(module: PythonModule, project: Project) -> bool:
    """Whether a script builds trainers, and all of them load their model by name: asked for each of its recipes."""
    from trl_lint.run.trainer import trainer_calls

    calls = trainer_calls(module, project)
    return bool(calls) and all(is_loading(call) for call in calls)


def is_loading(call: TrainerCall) -> bool:
    """Whether a trainer is one that loads its model in float32, and is given the name of one."""
    return call.name in _TRAINERS and call.trainer.startswith("trl.") and is_named(call)


def is_named(call: TrainerCall) -> bool:
    """Whether a trainer is certainly given the name of its model, and loads it."""
    return all(made.kind == "field" or isinstance(made.value, str) for made in call.given("model"))


def is_ignored(made: Made) -> bool:
    """Whether arguments for loading ask for another type than float32, and only by the name that is not read."""
    if made.kind != "dict" or any(one.kind != "absent" for one in made.entry("dtype")):
        return False
    asked = [one for one in made.entry("torch_dtype") if one.kind != "absent"]
    return any(not (one.kind == "literal" and one.value in _HARMLESS) and one.origin not in _FLOAT32 for one in asked)


def key_of_dict(made: Made, name: str) -> ast.expr | ast.keyword | None:
    """The key where a dict is written, the keyword of a `dict(…)`; None where it comes from elsewhere."""
    node = made.node
    if isinstance(node, ast.Dict):
        return next((key for key in node.keys if isinstance(key, ast.Constant) and key.value == name), None)
    if isinstance(node, ast.Call):
        return next((keyword for keyword in node.keywords if keyword.arg == name), None)
    return None


def edit_key(key: ast.expr | ast.keyword, module: PythonModule) -> Fix | None:
    """Rename the key. Unsafe: the model is loaded in another type than before, as was meant."""
    start, end = module.span(key)
    text = module.source.text[start:end]
    at = text.find("torch_dtype")
    if at < 0 or (isinstance(key, ast.keyword) and at > 0):
        return None
    edit: Edit = module.source.edit(start + at, start + at + len("torch_dtype"), "dtype")
    return Fix("Call it `dtype`", "unsafe", (edit,))


def is_model(origin: str) -> bool:
    """Whether a dotted name is `from_pretrained` of a class of models of transformers for PyTorch.

    Those for Flax and TensorFlow have parameters of their own: that of Flax has been `dtype` since its first release
    (`FlaxPreTrainedModel.from_pretrained`, read in 4.16.1 and 4.57.1).
    """
    package, _, rest = origin.partition(".")
    name = rest.rpartition(".")[0].rpartition(".")[2]
    return package == "transformers" and (
        name.startswith("AutoModel") or (name.endswith(_TASKS) and not name.startswith(("Flax", "TF")))
    )


def loads(module: PythonModule) -> Iterator[ast.Call]:
    """The calls that load a model of transformers and give its type as `dtype`."""
    for call in module.calls:
        if last_name(call.func) != "from_pretrained" or not isinstance(argument(call, "dtype"), ast.expr):
            continue
        origins = module.names.origins(call.func)
        names = {keyword.arg for keyword in call.keywords}
        is_own = "trust_remote_code" in names  # the class of such a model may take anything
        if origins and all(map(is_model, origins)) and not is_own and "torch_dtype" not in names:
            yield call


rule = ModelDtypeNotRead()
