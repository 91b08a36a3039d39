"""The worlds in which the oracle reads conditions: of one config, or of the settings of a program.

An asked thing is `module:Class`, or `module:` for a program. A machine with one CPU process is assumed, as that on
which the library is asked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import Any

from trl_lint.checks.configs import _openrlhf_refusals, _verl_refusals
from trl_lint.checks.configs._program_refusals import BlockWorld, Settings
from trl_lint.knowledge.api import resolve, signature
from trl_lint.knowledge.condition_language import UNKNOWN, World, parse
from trl_lint.knowledge.conditions import Condition, conditions_of, enum_defaults
from trl_lint.knowledge.conditions_join import statements
from trl_lint.knowledge.histories import modules_with
from trl_lint.missing import Missing
from trl_lint.run.effective import of_default
from trl_lint.run.readers import openrlhf, verl
from trl_lint.run.readers.hydra import copied

Fields = dict[str, list[Any]]
"""By setting, its default and its annotation, and true if it must be given, as the library itself tells them."""

# What a machine with one CPU process has not, by the names that `is_…_available` gives, and what no environment gets.
_ABSENT = frozenset(
    {"bitsandbytes", "hqq", "torchvision", "sklearn",
     "cuda", "xpu", "npu", "mlu", "musa", "hpu", "sdaa", "neuron", "tpu",
     "torch-xla", "torch-xpu", "torch-npu", "torch-mlu", "torch-musa", "torch-hpu", "torch-mps", "torch-neuroncore",
     "torch-cuda", "sagemaker-mp", "sagemaker-dp", "transformer-engine", "torchao", "msamp", "fp8", "bnb"}
)  # fmt: skip
_FACTS: dict[str, object] = {
    "num_processes": 1, "rank": 0, "n_gpu": 0, "bf16_gpu": False, "tf32": False, "cuda": False, "cuda_device_count": 0,
    "zero3": False, "fsdp": False,
}  # fmt: skip
# Where a program makes data, models and engines, which the oracle has not.
_BEHIND = ("openrlhf.models.", "openrlhf.trainer.", "openrlhf.utils.", "verl.trainer.main_ppo.create_rl_sampler")
# The config of `verl.trainer.main_ppo`, and the class that loads a model when it is made.
_VERL, _LOADED = "ppo_trainer", "HFModelConfig"


class Given:
    """A world of one config on a machine with one CPU process: what was given, else the default of the release.

    Of a class that the histories do not have, the default is that of `fields`.
    """

    def __init__(
        self, config: str, versions: dict[str, str], given: dict[str, Any], fields: Fields | None = None
    ) -> None:
        package, _, name = config.rpartition(".")
        places = (package, *modules_with(package, name))
        found = (each for place in places if isinstance(each := resolve(f"{place}.{name}", versions), str))
        self.signature = next((signature(each, versions) for each in found), None)
        self.versions = versions
        self.given = given
        self.fields = fields or {}
        owner = package.partition(".")[0]
        self.members = enum_defaults(owner, name, versions.get(owner, ""))

    def field(self, name: str) -> object:
        if name in self.given:
            return self.given[name]
        if name in self.members:
            return self.members[name]
        if self.signature is None:
            default, annotation = self.fields.get(name, (None, ""))[:2]
            return default if default is not None or "None" in annotation or "Optional" in annotation else UNKNOWN
        parameter = self.signature.parameters.get(name)
        said = of_default(parameter.default) if parameter is not None else None
        return UNKNOWN if said is None or isinstance(said, Missing) or isinstance(said.value, Missing) else said.value

    def base(self, name: str) -> object:
        return UNKNOWN

    def arg(self, name: str) -> object:
        return UNKNOWN

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        if name == "installed":
            return arguments[0] in self.versions or (False if arguments[0] in _ABSENT else UNKNOWN)
        if name == "version":
            return self.versions.get(str(arguments[0]), UNKNOWN)
        if name == "env":
            return arguments[1] if len(arguments) > 1 else None
        return _FACTS.get(name, UNKNOWN)


def class_of(asked: str) -> tuple[str, str]:
    """The package and the class of `accelerate.utils:FP8RecipeKwargs`; the class of a program is ""."""
    module, _, name = asked.partition(":")
    return module.partition(".")[0], name


def refusing(
    asked: str, versions: dict[str, str], given: dict[str, Any], fields: Fields | None = None
) -> Iterator[tuple[Condition, World]]:
    """The conditions by which what is asked may be refused, in their order, with what is known of what was given."""
    package, name = class_of(asked)
    if name:
        for each in statements(package, name, versions, Given(asked.replace(":", "."), versions, given, fields)):
            if each.condition.kind == "refuse":
                yield each.condition, each.world
        return
    version = versions[package]
    settings = (_of_verl if package == "verl" else _of_openrlhf)(asked.rstrip(":"), version, given)
    for reading in settings.readings:
        world = BlockWorld(reading.block, settings.whole)
        for condition in conditions_of(package, reading.owner, version):
            if condition.kind == "refuse" and not condition.holder.startswith(_BEHIND):
                yield condition, world


def _of_verl(module: str, version: str, given: dict[str, Any]) -> Settings:
    found = verl.tree_in_release(_VERL, version)
    tree = copied(found or {})
    for key, value in given.items():
        *above, name = key.split(".")
        block = tree
        for part in above:
            block = block[part]
        block[name] = value
    settings = _verl_refusals.settings_from(tree, version, frozenset(given))
    return settings._replace(readings=tuple(each for each in settings.readings if each.owner != _LOADED))


def _of_openrlhf(module: str, version: str, given: dict[str, Any]) -> Settings:
    flags = openrlhf.flags_in_release(module, version) or {}
    names = {_openrlhf_refusals.setting_name(name, flags): name for name in flags}
    return _openrlhf_refusals.settings_from(module, flags, {names[key]: value for key, value in given.items()})


def settings_in(condition: Condition, world: World) -> frozenset[str]:
    """The settings that a condition mentions, by their dotted names."""
    path = world.block.path if isinstance(world, BlockWorld) else ""
    return frozenset(f"{path}.{each}".lstrip(".") for each in _mentioned(condition.condition))


@cache
def _mentioned(text: str) -> frozenset[str]:
    tree = parse(text)
    return names_in(tree) if tree is not None else frozenset()


def names_in(tree: ast.AST) -> frozenset[str]:
    """The dotted names of the settings in an expression."""
    found = (_dotted(node) for node in ast.walk(tree))
    return frozenset(each.removeprefix("base.").removeprefix("root.") for each in found if each)


def compared(package: str, program: str, version: str) -> dict[str, list[Any]]:
    """By setting, the constants with which the conditions of a program compare it, each as often as they do."""
    found: dict[str, list[Any]] = {}
    for condition in conditions_of(package, program, version):
        tree = parse(condition.condition) if condition.kind == "refuse" else None
        for name in names_in(tree) if tree is not None else ():
            found.setdefault(name, [])
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Compare):
                constants = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
                for name in names_in(node):
                    found[name].extend(constants)
    return {name: found[name] for name in sorted(found)}


def _dotted(node: ast.AST) -> str:
    """The name that an expression reads: `a.b`, `a.get("b", 1)`; "" for others."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        above = _dotted(node.value)
        return f"{above}.{node.attr}" if above else ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        above, key = _dotted(node.func.value), node.args[0]
        is_name = isinstance(key, ast.Constant) and isinstance(key.value, str)
        return f"{above}.{ast.literal_eval(key)}" if above and is_name else ""
    return ""


def is_arithmetic(condition: Condition) -> bool:
    """Whether a condition counts: whether one number divides another, or how products compare."""
    tree = parse(condition.condition)
    return tree is not None and any(isinstance(node, ast.BinOp) for node in ast.walk(tree))
