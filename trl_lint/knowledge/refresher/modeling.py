"""What the modeling files of a release of transformers state of their family: layer classes, and layers by name.

A family is a folder of `transformers/models`. Of each module that its classes make in `self.NAME = …` the name is kept
where an adapter can be put on it: linear layers, convolutions and embeddings.
"""

from __future__ import annotations

import ast
import re

from trl_lint.knowledge.refresher.trees import parsed
from trl_lint.python.default_text import last_name
from trl_lint.records import NamedTuple

_PATH = re.compile(r"transformers/models/(\w+)/modeling_(?!tf_|flax_)\w+\.py")
# Classes of torch and transformers that PEFT can put an adapter on (peft/tuners/lora/model.py, `_create_new_module`).
_LEAVES = re.compile(r"\w{0,80}(?:Linear|Conv[123][dD]|Embedding(?:Bag)?)")
# Modules whose parts have names that the file does not state.
_GENERATES_TEXT = re.compile(r"\w{1,80}(ForCausalLM|LMHeadModel|ForConditionalGeneration|ForImageTextToText)")
_BUILDS_OTHERS = re.compile(r"Auto(Model|Backbone)\w*")


class Modeling(NamedTuple):
    """One modeling file. `classes` are all that it defines; `layers`: what `_no_split_modules` names; `named`: the
    attributes with a layer; `parameters`: those with a bare parameter.

    `open`: it builds models of other families, so that there may be other classes and names.
    """

    classes: frozenset[str]
    layers: frozenset[str]
    named: frozenset[str]
    parameters: frozenset[str]
    open: bool


def family_of(path: str) -> str:
    """The family that a file of the package belongs to, "" for any other file."""
    found = _PATH.fullmatch(path)
    return found[1] if found else ""


def read_modeling(source: bytes) -> Modeling | None:
    """What a modeling file states, None where it cannot be parsed."""
    tree = parsed(source)
    if tree is None:
        return None
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    leaves = _leaf_classes(classes)
    layers: set[str] = set()
    named: set[str] = set()
    parameters: set[str] = set()
    is_open = _imports_models(tree)
    for node in classes.values():
        layers |= _layers(node)
        for inner in ast.walk(node):
            if isinstance(inner, (ast.Assign, ast.AnnAssign)):
                targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
                made = {_made(call, classes, leaves) for call in _calls(inner.value)}
                for name in filter(None, map(_attribute, targets)):
                    if "layer" in made:
                        named.add(name)
                    elif "parameter" in made:
                        parameters.add(name)
                is_open = is_open or "model" in made
            elif isinstance(inner, ast.Call) and last_name(inner.func) in ("setattr", "add_module", "register_module"):
                is_open = True
    return Modeling(frozenset(classes), frozenset(layers), frozenset(named), frozenset(parameters - named), is_open)


def generates_text(found: Modeling) -> bool:
    """Whether a family has a model that generates text."""
    return any(_GENERATES_TEXT.fullmatch(name) for name in found.classes)


def _imports_models(tree: ast.Module) -> bool:
    """Whether the file takes classes from the modeling file of another family."""
    return any(
        isinstance(node, ast.ImportFrom)
        and ".modeling_" in f".{node.module}"
        and node.level >= 2
        and (node.module or "").count(".") == 1
        for node in ast.walk(tree)
    )


def _leaf_classes(classes: dict[str, ast.ClassDef]) -> set[str]:
    """The classes of the file that are layers themselves."""
    found: set[str] = set()
    for _ in range(3):  # chains of bases are short
        for name, node in classes.items():
            bases = {last_name(base) for base in node.bases}
            if bases & found or any(_LEAVES.fullmatch(base) for base in bases - classes.keys()):
                found.add(name)
    return found


def _layers(node: ast.ClassDef) -> set[str]:
    for statement in node.body:
        value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        is_asked = any(isinstance(target, ast.Name) and target.id == "_no_split_modules" for target in targets)
        if is_asked and isinstance(value, (ast.List, ast.Tuple, ast.Set)):
            texts = (item.value for item in value.elts if isinstance(item, ast.Constant))
            return {text for text in texts if isinstance(text, str) and text.isidentifier()}
    return set()


def _attribute(target: ast.expr) -> str:
    is_own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
    return target.attr if is_own and isinstance(target, ast.Attribute) else ""


def _calls(value: ast.expr | None) -> list[ast.Call]:
    """The calls that an expression may be: itself, and the branches of a choice."""
    if isinstance(value, ast.Call):
        return [value]
    if isinstance(value, ast.IfExp):
        return [*_calls(value.body), *_calls(value.orelse)]
    if isinstance(value, ast.BoolOp):
        return [call for part in value.values for call in _calls(part)]
    return []


def _made(call: ast.Call, classes: dict[str, ast.ClassDef], leaves: set[str]) -> str:
    """What a call makes: `layer`, `parameter`, `model`, "" for anything else."""
    name = last_name(call.func)
    outer = last_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    if _BUILDS_OTHERS.fullmatch(name) or _BUILDS_OTHERS.fullmatch(outer):
        return "model"
    if name == "Parameter":
        return "parameter"
    if name in classes:
        return "layer" if name in leaves else ""
    # `linear_class(…)`: a class in a variable may be any.
    is_variable = isinstance(call.func, ast.Name) and name.endswith(("class", "cls", "type", "linear", "layer"))
    return "layer" if _LEAVES.fullmatch(name) or is_variable else ""
