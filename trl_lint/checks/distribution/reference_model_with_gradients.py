"""TRL107: a reference or reward model that is run with gradients, or in training mode, beside the policy."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding
from trl_lint.memos import per_module
from trl_lint.paths import is_test_file
from trl_lint.python.guards import bindings, calls_by_function, key_of, last_name
from trl_lint.python.module import FunctionNode, PythonModule, mentions
from trl_lint.python.values import literal
from trl_lint.regexes import regex

if TYPE_CHECKING:
    from trl_lint.python.dataflow.recorder import Flows, Forward

_FROZEN_ROLE = regex(r"^(?:ref|reference|reward|rm|teacher)(?:_(?:model|policy|net|network))?$|^model_ref$", re.I)
# Calls that make a model whose parameters ask for gradients, unless somebody says otherwise.
_MAKES = regex(r"from_pretrained$|^deepcopy$")
# What makes parameters ask for none, anywhere in the file.
_FREEZES = regex(r"requires_grad_?\b|\bfreeze|frozen|create_reference_model|set_grad_enabled|disable_adapter", re.I)


class ReferenceModelWithGradients(Rule):
    code = "TRL107"
    triggers = (".backward", ".train")
    needles = (b".backward(",)
    skips_tests = True

    def check_call(self, site: Site) -> Iterator[Finding]:
        module = site.module
        if is_test_file(module.path):
            return
        func = site.call.func
        if isinstance(func, ast.Attribute) and func.attr == "train":
            if is_training_switch(site.call, module):
                name = key_of(func.value)
                yield self.finding(
                    site.location,
                    f"`{name}` is put into training mode, and its dropout makes what it says random: call `.eval()`",
                )
            return
        function = module.function(site.call)
        if mentions(module, _FREEZES) or first_backward(function, module) is not site.call or not holds_judge(module):
            return
        from trl_lint.python.dataflow.gradient import flows

        found = flows(module, function or module.tree)
        for forward in live_references(found, module) if found is not None else ():
            yield self.finding(
                module.location(forward.call),
                f"`{forward.name}` runs with gradients though nothing trains it, which keeps the activations of this "
                "call and fills its gradients: call it under torch.no_grad()",
                related=(module.location(site.call, "the backward pass"),),
            )


@per_module
def first_backward(function: FunctionNode | None, module: PythonModule) -> ast.Call | None:
    calls = calls_by_function(module).get(function, ())
    return next((call for call in calls if last_name(call.func) == "backward"), None)


def live_references(found: Flows, module: PythonModule) -> Iterator[Forward]:
    """The forward calls of models that only judge, whose output the trained loss reaches beside that of a policy."""
    live = [forward for forward in found.forwards if forward.mode == "grad" and forward.atom in found.trained]
    if all(is_judge(forward.name) for forward in live):
        return  # what is trained may be the judge
    for forward in live:
        if is_judge(forward.name) and is_made_here(forward.name, module) and not is_trained(forward.name, module):
            yield forward


def is_judge(name: str) -> bool:
    return _FROZEN_ROLE.match(name.rpartition(".")[2]) is not None


@per_module
def holds_judge(module: PythonModule) -> bool:
    """Whether a file makes a model that only judges: else no forward call of one has to be looked for."""
    return any(is_judge(name) and is_made_here(name, module) for name in bindings(module))


def is_made_here(name: str, module: PythonModule) -> bool:
    """Whether all that a name is bound to in the file are models that ask for gradients."""
    values = bindings(module).get(name, [])
    trained = trained_classes(module)
    made = [value for value in values if makes_model(value, trained)]
    return bool(made) and all(value in made or is_same_model(value, name) for value in values)


def trained_classes(module: PythonModule) -> set[str]:
    """What the models are made by whose parameters the file hands to somebody: it leaves them asking for gradients."""
    known = bindings(module)
    names = [
        key_of(call.func.value)
        for call in module.calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "parameters" and not call.args
    ]
    values = [value for name in names for value in known.get(name, [])]
    values += [other for value in values if isinstance(value, ast.Name) for other in known.get(value.id, [])]
    return {value.func.id for value in values if isinstance(value, ast.Call) and isinstance(value.func, ast.Name)}


def makes_model(value: ast.expr, trained: set[str]) -> bool:
    """`Model.from_pretrained(…)`, `deepcopy(model)`, the class of the model that is trained; and methods behind it that
    leave the parameters alone.
    """
    while isinstance(value, ast.Call):
        if _MAKES.search(last_name(value.func)) or (isinstance(value.func, ast.Name) and value.func.id in trained):
            return True
        if not isinstance(value.func, ast.Attribute) or value.func.attr not in (
            "to",
            "cuda",
            "eval",
            "half",
            "bfloat16",
        ):
            return False
        value = value.func.value
    return False


def is_same_model(value: ast.expr, name: str) -> bool:
    """`ref_model = ref_model.to(device)`, `accelerator.prepare(ref_model)`."""
    return any(key_of(part) == name for part in ast.walk(value) if isinstance(part, (ast.Name, ast.Attribute)))


def is_trained(name: str, module: PythonModule) -> bool:
    """Whether the parameters of a model are handed to somebody, or it is trained as a model."""
    used = {
        call.func.attr
        for call in module.calls
        if isinstance(call.func, ast.Attribute) and key_of(call.func.value) == name
    }
    return not used.isdisjoint(("parameters", "named_parameters", "train"))


def is_training_switch(call: ast.Call, module: PythonModule) -> bool:
    """`ref_model.train()`, of a model that a file loads, in a file that trains another one by hand."""
    if not isinstance(call.func, ast.Attribute) or ".backward(" not in module.text:
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    name = key_of(call.func.value)
    if (given and literal(given[0]) is not True) or not is_judge(name) or not is_made_here(name, module):
        return False
    others = [
        key_of(other.func.value)
        for other in module.calls
        if isinstance(other.func, ast.Attribute) and other.func.attr == "parameters"
    ]
    return bool(others) and name not in others


rule = ReferenceModelWithGradients()
