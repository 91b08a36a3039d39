"""TRL121: FSDP is told to wrap layers of another family of models than the one that is trained."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._run_models import listed_texts, model_of_run
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level
from trl_lint.finding import Finding, Location
from trl_lint.knowledge.architectures import families_with_layer, is_composed, layer_classes
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.models import family_of
from trl_lint.missing import ABSENT
from trl_lint.records import NamedTuple
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.words import listed

_TRANSFORMERS = "models/transformers"
_KEY = "fsdp_transformer_layer_cls_to_wrap"
# Where training arguments, and the configs of frameworks that hand them on, may say it besides.
_KEYS = (_KEY, f"fsdp_config.{_KEY}", "fsdp_config.transformer_layer_cls_to_wrap")


class Wrapped(NamedTuple):
    """The names of the classes that FSDP shall wrap, and where they stand."""

    names: tuple[str, ...]
    location: Location


class WrapClassNotInModel(Rule):
    code = "TRL121"
    runs = True
    launched = True

    def check_run(self, run: Run) -> Iterator[Finding]:
        wrapped = _wrapped(run)
        if wrapped is None:
            return
        identifier, place = model_of_run(run)
        family = family_of(identifier) if identifier else None
        if family is None:
            return
        foreign = [name for name in wrapped.names if is_foreign(name, family.name)]
        if not foreign:
            return
        own = sorted(layer_classes(family.name, releases(_TRANSFORMERS)[-1]) or ())
        yield self.finding(
            wrapped.location,
            f"accelerate stops, because {listed([f'`{name}`' for name in foreign])} is no layer of {identifier}: wrap "
            f"{listed([f'`{name}`' for name in own])}, or leave the key out: then accelerate takes the model's own",
            severity=Level(self, run.launch.is_documentation).severity,
            related=(*((place._replace(message="the model"),) if place is not None else ()), run.launch.location),
        )


def is_foreign(name: str, family: str) -> bool:
    """Whether a class is a layer of other families, and was never one of this family in any release."""
    known = releases(_TRANSFORMERS)
    found = [layer_classes(family, version) for version in known]
    if not any(found) or any(is_composed(family, version) for version in known):
        return False
    return not any(name in (classes or ()) for classes in found) and bool(families_with_layer(name, known[-1]))


def _wrapped(run: Run) -> Wrapped | None:
    """What the accelerate config says, else the training arguments."""
    config, option = run.configs.accelerate, ""
    said, kind = config.given(f"fsdp_config.{_KEY}"), config.given("distributed_type")
    if isinstance(kind, Setting) and kind.value == "FSDP":
        policy = config.given("fsdp_config.fsdp_auto_wrap_policy")
        if not isinstance(policy, Setting) or policy.value != "TRANSFORMER_BASED_WRAP":
            return None
    else:
        found = [run.config.given(key) for key in _KEYS]
        option, said = next(
            (one for one in zip(_KEYS, found, strict=True) if isinstance(one[1], Setting)), ("", ABSENT)
        )
        fsdp, policy = run.config.given("fsdp"), run.config.given("fsdp_config.fsdp_auto_wrap_policy")
        words = " ".join(listed_texts(run, "fsdp")) if isinstance(fsdp, Setting) else ""
        is_wrapped = "auto_wrap" in words
        is_wrapped = is_wrapped or (isinstance(policy, Setting) and policy.value == "TRANSFORMER_BASED_WRAP")
        if not is_wrapped:
            return None
    if not isinstance(said, Setting) or said.location is None:
        return None
    texts = said.value.split(",") if isinstance(said.value, str) else listed_texts(run, option)
    names = tuple(name.strip() for name in texts)
    return Wrapped(names, said.location) if names and all(name.isidentifier() for name in names) else None


rule = WrapClassNotInModel()
