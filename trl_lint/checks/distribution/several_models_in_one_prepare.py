"""TRL108: two models in one `Accelerator.prepare()`, which DeepSpeed and FSDP2 refuse."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trl_lint.checks._runs import runs_of
from trl_lint.checks.distribution._accelerators import Evidence, backend_of, constructor_of
from trl_lint.checks.rule import Rule, Site
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding
from trl_lint.python.dataflow.interpreter import dotted
from trl_lint.python.guards import bindings, key_of
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument, is_none
from trl_lint.regexes import regex

# The check stands in `prepare` itself (accelerator.py of 0.17.0 to 1.15.0 read; FSDP2's from 1.8.0 on).
_REFUSING = {"DeepSpeed": ">=0.17.0", "FSDP2": ">=1.8.0"}
_MODEL_CLASS = regex(r"AutoModel\w*|\w+(?:Model|ForCausalLM|ForSequenceClassification|ForConditionalGeneration)")
_LIBRARIES = frozenset({"transformers", "trl", "peft", "diffusers"})
# A branch that knows how the run is distributed may be for another run.
_ABOUT_RUNS = regex(r"deepspeed|zero|fsdp|distributed_type|\bddp\b", re.I)


class SeveralModelsInOnePrepare(Rule):
    code = "TRL108"
    triggers = (".prepare",)
    needles = (b"Accelerator",)

    def check_call(self, site: Site) -> Iterator[Finding]:
        models = read_models(site)
        if not models:
            return
        for evidence in read_evidence(site):
            environment = site.project.environment(site.module.path)
            verdict = judge_pins(environment, {"accelerate": _REFUSING[evidence.kind]}, Level(self, evidence.is_weak))
            if verdict is None:
                continue
            names = " and ".join(f"`{ast.unparse(model)}`" for model in models)
            yield self.finding(
                site.location,
                f"under {evidence.kind} `prepare` takes one model only, but {names} are models: prepare each alone "
                f"({verdict.scope})",
                severity=verdict.severity,
                related=(evidence.location, *verdict.related),
            )
            return


def read_models(site: Site) -> list[ast.expr]:
    """The arguments of `prepare` that certainly are models, if there are two or more."""
    func, module = site.call.func, site.module
    if not isinstance(func, ast.Attribute) or constructor_of(module, func.value) is None:
        return []
    if any(isinstance(p, ast.If) and _ABOUT_RUNS.search(ast.unparse(p.test)) for p in module.ancestors(site.call)):
        return []
    found = [arg for arg in site.call.args if is_model(module, arg)]
    return found if len({ast.unparse(arg) for arg in found}) > 1 else []


def is_model(module: PythonModule, node: ast.expr) -> bool:
    """Whether everything a name is assigned, but for what `prepare` gives back, is a model."""
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return False
    values = bindings(module).get(key_of(node), [])
    return bool(values) and all(makes_model(module, value) for value in values)


def makes_model(module: PythonModule, value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return False
    func = value.func
    if isinstance(func, ast.Attribute) and func.attr in ("from_pretrained", "from_config"):
        origins = module.names.origins(func.value)
        packages = {origin.partition(".")[0] for origin in origins}
        classes = [origin.rpartition(".")[2] for origin in origins]
        return bool(origins) and packages <= _LIBRARIES and all(_MODEL_CLASS.fullmatch(name) for name in classes)
    own = [node for node in module.classes if isinstance(func, ast.Name) and node.name == func.id]
    return len(own) == 1 and any(
        "torch.nn.Module" in module.names.origins(base) for base in own[0].bases if dotted(base) is not None
    )


def read_evidence(site: Site) -> Iterator[Evidence]:
    """What says that the script runs under DeepSpeed or FSDP2: the accelerator itself, or a launch."""
    func = site.call.func
    made = constructor_of(site.module, func.value) if isinstance(func, ast.Attribute) else None
    plugin = argument(made, "deepspeed_plugin") if made is not None else None
    if isinstance(plugin, ast.Call) and not is_none(plugin):
        yield Evidence("DeepSpeed", site.module.location(plugin, "DeepSpeed is chosen here"))
    for launch in runs_of(site.module.path, site.project):
        found = backend_of(launch, site.project) if launch.launcher == "accelerate" else None
        if found is not None and found.kind in _REFUSING:
            yield found


rule = SeveralModelsInOnePrepare()
