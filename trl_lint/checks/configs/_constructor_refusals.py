"""What a class of a library refuses of the arguments that a script gives it (`rules/conditions`): `LoraConfig(r=0)`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from trl_lint.checks.rule import Rule, Site
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding
from trl_lint.knowledge.api import resolve, signature
from trl_lint.knowledge.condition_language import UNKNOWN as NOT_KNOWN
from trl_lint.knowledge.condition_language import raised_by, truth_of
from trl_lint.knowledge.condition_names import deciding, words_in
from trl_lint.knowledge.conditions import Condition, conditions_of, enum_defaults, has_conditions
from trl_lint.knowledge.signatures import Signature
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project.stack import Choice, choices_at
from trl_lint.python.guards import is_expected_to_fail
from trl_lint.python.names import is_from
from trl_lint.python.values import argument, is_none
from trl_lint.records import NamedTuple
from trl_lint.run.effective import of_default

# The classes whose constructors are looked at: a test compares them with what is recorded.
CLASSES = (
    "peft.AdaLoraConfig", "peft.BOFTConfig", "peft.FourierFTConfig", "peft.HRAConfig", "peft.IA3Config",
    "peft.LNTuningConfig", "peft.LoHaConfig", "peft.LoKrConfig", "peft.LoraConfig", "peft.OFTConfig",
    "peft.PrefixTuningConfig", "peft.PromptEncoderConfig", "peft.PromptTuningConfig", "peft.VBLoRAConfig",
    "peft.VeraConfig", "peft.XLoraConfig",
    "accelerate.ParallelismConfig", "accelerate.TorchContextParallelConfig", "accelerate.TorchTensorParallelConfig",
    "accelerate.TorchTensorParallelPlugin",
    "accelerate.utils.BnbQuantizationConfig", "accelerate.utils.FP8RecipeKwargs", "accelerate.utils.MSAMPRecipeKwargs",
    "accelerate.utils.TERecipeKwargs", "accelerate.FullyShardedDataParallelPlugin",
    "transformers.BitsAndBytesConfig", "transformers.GPTQConfig", "transformers.AwqConfig", "transformers.HqqConfig",
    "transformers.QuantoConfig",
    "vllm.SamplingParams", "vllm.GuidedDecodingParams", "vllm.StructuredOutputsParams",
)  # fmt: skip

ACCELERATOR = "accelerate.Accelerator"
# Two arguments of which it takes one: accelerator.py, 0.20.0 to 1.15.0.
_TOGETHER = (
    ("gradient_accumulation_plugin", "gradient_accumulation_steps"),
    ("dynamo_plugin", "dynamo_backend"),
    ("deepspeed_plugin", "deepspeed_plugins"),
)


class _World:
    """A world of one call: what it gives, else the default of the release. Machines and environments are unknown."""

    def __init__(self, site: Site, found: Signature, dotted: str, version: str) -> None:
        self.site = site
        self.signature = found
        package = dotted.partition(".")[0]
        self.versions = {package: version}
        self.members = enum_defaults(package, dotted.rpartition(".")[2], version)

    def given(self, name: str) -> ast.expr | Missing:
        """The expression that is given by name; UNKNOWN where it may be one of those without."""
        found = argument(self.site.call, name)
        return UNKNOWN if found is ABSENT and self.site.call.args else found

    def field(self, name: str) -> object:
        node = self.given(name)
        if node is not ABSENT:
            value = self.site.module.value(node)
            return NOT_KNOWN if isinstance(value, Missing) else value
        if name in self.members:
            return self.members[name]
        parameter = self.signature.parameters.get(name)
        said = of_default(parameter.default) if parameter is not None else UNKNOWN
        return NOT_KNOWN if isinstance(said, Missing) or isinstance(said.value, Missing) else said.value

    def base(self, name: str) -> object:
        return NOT_KNOWN

    def arg(self, name: str) -> object:
        return NOT_KNOWN

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        return self.versions.get(str(arguments[0]), NOT_KNOWN) if name == "version" and arguments else NOT_KNOWN


class _Found(NamedTuple):
    """A statement that refuses a call in a release, and the names of the arguments that decide."""

    condition: Condition
    world: _World
    names: tuple[str, ...]


def refusals(site: Site, rule: Rule) -> Iterator[Finding]:
    """What the releases in use refuse of a call, as far as it belongs to the rule: the first of several."""
    dotted = _class_of(site)
    package, name = dotted.partition(".")[0], dotted.rpartition(".")[2]
    if not site.call.keywords or not has_conditions(package, name):
        return
    choices = choices_at(site.module, site.call, site.project, package)
    if choices is None or package not in choices:
        return
    chosen = choices[package]
    if chosen.is_tip or chosen.package.is_own:
        return
    bad = _refusing(site, dotted, chosen)
    for found in bad.values():
        newest = found[next(reversed(found))]
        if rule.code != ("TRL402" if len(newest.names) == 1 else "TRL403"):
            continue
        verdict = judge_releases(chosen, found.__contains__, Level(rule))
        if verdict is None or is_expected_to_fail(site.module, site.call):
            return
        from trl_lint.project.own_copy import is_shadowed
        from trl_lint.python.version_guards import is_guarded

        if is_guarded(site.module, site.call, is_narrowed=True):
            return
        if is_shadowed(chosen, site.module.path, site.project, name):
            return
        written = [(each, node) for each in newest.names if isinstance(node := newest.world.given(each), ast.expr)]
        location = site.module.location(written[-1][1])
        beside = tuple(site.module.location(node)._replace(message="together with this") for _, node in written[:-1])
        message = f"{package} {verdict.version} refuses this: {_told(newest)}; {verdict.scope})"
        related = (*beside, *verdict.related)
        yield rule.finding(location, message, severity=verdict.severity, related=related, pin=verdict.pin)
        return


def _class_of(site: Site) -> str:
    """Which of the classes a call certainly makes an object of, "" if that is not sure."""
    origins = site.module.names.origins(site.call.func)
    if not site.module.names.is_certain(site.call.func):
        return ""
    known = {next((each for each in CLASSES if is_from(origin, each)), "") for origin in origins}
    return known.pop() if len(known) == 1 else ""


def _refusing(site: Site, dotted: str, chosen: Choice) -> dict[tuple[str, str], dict[str, _Found]]:
    """The statements that refuse the call, by release. Without a written argument that decides none counts.

    What a check raises by itself counts where the release has no words for anything of the call.
    """
    package, name = dotted.partition(".")[0], dotted.rpartition(".")[2]
    given = {keyword.arg for keyword in site.call.keywords}
    bad: dict[tuple[str, str], dict[str, _Found]] = {}
    for version in chosen.releases:
        target = resolve(dotted, {package: version})
        if not isinstance(target, str):
            continue
        takes = signature(target, {package: version})
        if not takes.open and not given <= {None, *takes.parameters}:
            continue  # a TypeError comes first
        world = _World(site, takes, dotted, version)
        asked = [
            each
            for each in conditions_of(package, name, version)
            if each.kind == "refuse" and not given.isdisjoint(words_in(each.condition))
        ]
        worded = _about(world, (each for each in asked if truth_of(each.condition, world) is True))
        raising = _about(world, (each for each in asked if _raises(each, world))) if not worded else []
        for found in worded or raising[:1]:
            bad.setdefault((found.condition.holder, found.condition.sentence), {})[version] = found
    return bad


def _about(world: _World, refusing: Iterable[Condition]) -> list[_Found]:
    """Those among statements that rest on an argument which is written."""
    found = [_Found(each, world, _deciding(each, world)) for each in refusing]
    return [each for each in found if any(isinstance(world.given(name), ast.expr) for name in each.names)]


def _raises(condition: Condition, world: _World) -> str:
    """What the check of the arguments raises by itself, "" where nothing."""
    from trl_lint.checks.configs._release_says import may_crash

    return raised_by(condition.condition, world) if may_crash(condition) else ""


def _deciding(condition: Condition, world: _World) -> tuple[str, ...]:
    order = {name: number for number, name in reversed(list(enumerate(words_in(condition.condition))))}
    names = [name for name in deciding(condition.condition, world) if "." not in name and "(" not in name]
    return tuple(sorted(names, key=lambda name: (order.get(name, 0), name)))


def _told(found: _Found) -> str:
    """The values that decide and the library's own sentence, with an open bracket."""
    from trl_lint.knowledge.condition_sentences import filled_in

    values = {name: found.world.field(name) for name in found.names}
    told = ", ".join(
        f"`{name}` is {value!r}" + ("" if isinstance(found.world.given(name), ast.expr) else " by default")
        for name, value in values.items()
        if value is not NOT_KNOWN
    )
    if raises := _raises(found.condition, found.world):
        from trl_lint.checks.configs._release_refusals import raised_words

        return f"{told} ({raised_words(raises)}"
    kind, _, text = found.condition.sentence.partition(": ")
    shown = filled_in(text, found.world).rstrip(".")
    return f'{told} ({kind.rstrip(":")}: "{shown}"' if shown else f"{told} ({kind.rstrip(':')}"


def given_together(site: Site, rule: Rule) -> Iterator[Finding]:
    """TRL403: two arguments of which the class takes one."""
    module = site.module
    if is_expected_to_fail(module, site.call) or ACCELERATOR not in module.names.origins(site.call.func):
        return
    for first, second in _TOGETHER:
        one, other = (argument(site.call, name) for name in (first, second))
        if not isinstance(one, ast.expr) or not isinstance(other, ast.expr) or is_none(one) or is_none(other):
            continue
        if not isinstance(one, ast.Call | ast.Name) or module.value(other) in (UNKNOWN, 1, None):
            continue
        yield rule.finding(
            module.location(site.call),
            f"`Accelerator` takes `{first}` or `{second}`, not both of them (ValueError): leave `{second}` out",
            severity=Level(rule).severity,
        )
