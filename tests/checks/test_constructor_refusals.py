"""What classes of libraries refuse of their arguments: which classes are looked at, and that defaults are fine."""

from __future__ import annotations

import ast

import pytest

from trl_lint.checks.configs._constructor_refusals import CLASSES
from trl_lint.knowledge.api import resolve, signature
from trl_lint.knowledge.condition_language import UNKNOWN, truth_of
from trl_lint.knowledge.conditions import conditions_of, has_conditions, is_recorded
from trl_lint.knowledge.histories import releases
from trl_lint.missing import Missing
from trl_lint.run.effective import of_default

# Classes that refuse to be made with their defaults: they ask for something.
ASKING = frozenset(
    {"AdaLoraConfig", "BnbQuantizationConfig", "OFTConfig", "XLoraConfig", "PromptTuningConfig", "BOFTConfig",
     "VeraConfig", "TorchTensorParallelPlugin", "GuidedDecodingParams", "StructuredOutputsParams"}
)  # fmt: skip
BROKEN = {("FP8RecipeKwargs", "0.26.0"), ("FP8RecipeKwargs", "0.26.1")}  # its default is none of its own choices


class Defaults:
    """A world in which nobody gives anything."""

    def __init__(self, dotted: str, version: str) -> None:
        package = dotted.partition(".")[0]
        found = resolve(dotted, {package: version})
        self.signature = signature(found, {package: version}) if isinstance(found, str) else None

    def field(self, name: str) -> object:
        parameter = self.signature.parameters.get(name) if self.signature is not None else None
        said = of_default(parameter.default) if parameter is not None else None
        return UNKNOWN if said is None or isinstance(said, Missing) or isinstance(said.value, Missing) else said.value

    def base(self, name: str) -> object:
        return UNKNOWN

    arg = base

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        return UNKNOWN


@pytest.mark.parametrize("dotted", CLASSES)
def test_every_class_has_something_to_say(dotted: str) -> None:
    assert has_conditions(dotted.partition(".")[0], dotted.rpartition(".")[2])


@pytest.mark.parametrize("dotted", [each for each in CLASSES if each.rpartition(".")[2] not in ASKING])
def test_defaults_of_every_release_are_fine(dotted: str) -> None:
    package, name = dotted.partition(".")[0], dotted.rpartition(".")[2]
    for version in releases(package):
        if is_recorded(package, version) and (name, version) not in BROKEN:
            world = Defaults(dotted, version)
            for condition in conditions_of(package, name, version):
                said = f"{version}: {condition.condition}"
                assert condition.kind != "refuse" or truth_of(condition.condition, world) is not True, said


def test_conditions_are_expressions() -> None:
    for dotted in CLASSES:
        package, name = dotted.partition(".")[0], dotted.rpartition(".")[2]
        for condition in conditions_of(package, name, releases(package)[-1]):
            assert ast.parse(condition.condition, mode="eval")
