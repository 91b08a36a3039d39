"""TRL722: LoRA is given names of layers that the model does not have, or none where PEFT knows none for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding, Location
from trl_lint.grading import Evidence, graded, milder
from trl_lint.knowledge.histories import releases
from trl_lint.memos import per_module
from trl_lint.project import Project
from trl_lint.project.stack import environment_at
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.run.trainer import Line, Made, TrainerCall, is_absent, trainer_calls
from trl_lint.words import listed

if TYPE_CHECKING:
    from trl_lint.knowledge.models import Family

_TRANSFORMERS = "models/transformers"
_MOST_SHOWN = 8  # names in a message
_HEADS = frozenset({"lm_head", "score", "qa_outputs", "classifier", "summary"})
_ALL = frozenset({"all", "auto", "linear", "all_linear"})
# With these the names are taken otherwise, or other modules are adapted besides.
_OTHER_WAYS = ("target_parameters", "exclude_modules", "layer_replication")


class Adapter(NamedTuple):
    """The LoRA of a trainer: its config, and the one model that it is put on, with the ways on which it came there."""

    config: Made
    identifier: str
    family: Family
    lines: tuple[Line, ...]

    @property
    def has_own_layers(self) -> bool:
        """Whether nobody has put anything into the model."""
        from trl_lint.run.trainer.models import has_own_layers

        return all(map(has_own_layers, self.lines))


class Named(NamedTuple):
    """A list of names for the layers of a model, and where it stands."""

    identifier: str
    family: str
    place: Location


class AdapterTargetNotInModel(Rule):
    code = "TRL722"
    imports = ("peft",)
    words = (b"LoraConfig",)
    skips_tests = True
    runs = True
    launched = True

    def check_run(self, run: Run) -> Iterator[Finding]:
        """The names in a config or a command of a framework, which makes the adapter itself."""
        from trl_lint.checks._run_models import listed_texts, model_of_run
        from trl_lint.knowledge.models import family_of

        config = run.config
        held, said = config.held("adapter_targets"), config.given_setting("adapter_targets")
        if run.script is not None or held is None or not held.names or not isinstance(said, Setting):
            return
        name, place = model_of_run(run) if config.is_on("adapter") is not False else ("", None)
        family = family_of(name) if name else None
        targets = _names_of(listed_texts(run, config.option("adapter_targets")))
        known = (
            known_names(family.name) if family is not None and targets and said.location is not None else frozenset()
        )
        foreign = [target for target in targets if target.isidentifier() and target not in known] if known else []
        if family is None or not foreign or said.location is None:
            return
        yield self._told(
            foreign,
            len(foreign) == len(targets),
            Named(name, family.name, said.location),
            place._replace(message="the model") if place is not None else run.launch.location,
            run.launch.is_mild,
        )

    def _told(
        self, foreign: list[str], is_all: bool, named: Named, related: Location, is_mild: bool = False
    ) -> Finding:
        shown = listed([f"`{name}`" for name in foreign[:_MOST_SHOWN]])
        has = ", ".join(f"`{name}`" for name in sorted(_shown_names(named.family)))
        if is_all:
            level, what = graded("error", Evidence(always=True)), "PEFT stops, because no target is found"
        else:
            level, what = "warning", "PEFT leaves them out silently"
        are = "are no layers" if len(foreign) > 1 else "is no layer"
        return self.finding(
            named.place,
            f"{shown} {are} of {named.identifier} ({named.family}): {what}; it has {has}",
            severity=milder(level) if is_mild else level,
            related=(related,),
        )

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        if is_unsloth(module):
            return  # it has defaults of its own, and loads other classes
        for call in trainer_calls(module, project):
            if call.is_certain and call.own is None:
                for adapter in _adapters(call):
                    yield from self._judge(adapter, module, project)

    def _judge(self, adapter: Adapter, module: PythonModule, project: Project) -> Iterator[Finding]:
        given = adapter.config.argument("target_modules")
        if not all(is_absent(adapter.config.argument(name)) for name in _OTHER_WAYS):
            return
        if is_absent(given):
            yield from self._without_targets(adapter, project)
            return
        targets = _texts(given)
        known = known_names(adapter.family.name) if targets else frozenset()
        foreign = [name for name in targets if name.isidentifier() and name not in known] if known else []
        modules = (module, adapter.config.frame.module, given[0].frame.module)
        if not foreign or any(_is_mentioned(name, given[0], other) for name in foreign for other in modules):
            return  # the project may add a layer of that name
        if not adapter.has_own_layers:
            return
        yield self._told(
            foreign,
            len(foreign) == len(targets),
            Named(adapter.identifier, adapter.family.name, given[0].location),
            adapter.config.location._replace(message="the adapter"),
        )

    def _without_targets(self, adapter: Adapter, project: Project) -> Iterator[Finding]:
        kind = adapter.family.model_type
        config = adapter.config
        environment = environment_at(config.frame.module, config.node, project, "peft")
        chosen = environment.choices.get("peft") if environment is not None else None
        if chosen is None:
            return
        from trl_lint.knowledge.architectures import default_targets

        verdict = judge_releases(chosen, lambda version: default_targets(kind, version) == (), Level(self))
        if verdict is not None and adapter.has_own_layers:
            yield self.finding(
                config.location,
                f"LoRA of PEFT knows no layers to adapt in `{kind}` ({adapter.identifier}): it stops and asks for "
                f"`target_modules` ({verdict.scope})",
                severity=verdict.severity,
                related=verdict.related,
            )


def _names_of(found: list[str]) -> list[str]:
    """The names of layers in a list; none where one may be a pattern, or a word for all layers."""
    names = [name.rpartition(".")[2] for name in found]
    return names if all(name.isidentifier() and name not in _ALL for name in names) else []


def _adapters(call: TrainerCall) -> Iterator[Adapter]:
    """The LoRA configs of a trainer whose model is certainly one."""
    lines = call.lines("model")
    names = {_identifier(line, call) for line in lines}
    identifier = names.pop() if len(names) == 1 else ""
    if not identifier:
        return
    from trl_lint.knowledge.models import family_of

    family = family_of(identifier)
    if family is None:
        return
    given = [made for made in call.given("peft_config") if made.kind != "absent" and not made.is_none]
    wrapped = [line.step("get_peft_model") for line in lines]
    for step in wrapped:
        given += step.argument("peft_config", 1) if step is not None else ()
    for made in {(made.node, made.frame): made for made in given}.values():
        is_plain = made.kind == "call" and made.name == "LoraConfig" and made.origin.startswith("peft.")
        if is_plain and not made.changes:
            yield Adapter(made, identifier, family, lines)


def _identifier(line: Line, call: TrainerCall) -> str:
    """The id of the model that a line begins with, "" where it is not known or does not tell the class."""
    from trl_lint.run.trainer.models import checkpoint

    found = checkpoint(line, call)
    return found[0].value if len(found) == 1 and isinstance(found[0].value, str) else ""


def _texts(options: tuple[Made, ...]) -> list[str]:
    """The names of a list that is written down; none where it may be another, or is one text: a pattern."""
    if len(options) != 1:
        return []
    items = options[0].items()
    if not items:
        return []
    found = [item[0].value if len(item) == 1 and item[0].kind == "literal" else None for item in items]
    names = [text.rpartition(".")[2] for text in found if isinstance(text, str)]
    return names if len(names) == len(found) else []


def _is_mentioned(name: str, given: Made, module: PythonModule) -> bool:
    """Whether a module names a layer anywhere but where it is to be adapted."""
    own = {item.node for options in given.items() or () for item in options}
    return any(node not in own for node in _mentions(module).get(name, ()))


@per_module
def _mentions(module: PythonModule) -> dict[str, list[ast.AST]]:
    """The attributes, keywords and texts of a module, by each name in them, but for lists of layers to adapt."""
    found: dict[str, list[ast.AST]] = {}
    for attribute in module.of(ast.Attribute):
        found.setdefault(attribute.attr, []).append(attribute)
    for keyword in module.of(ast.keyword):
        if keyword.arg is not None:
            found.setdefault(keyword.arg, []).append(keyword)
    for text in module.of(ast.Constant):
        if isinstance(text.value, str) and " " not in text.value and not _is_target(text, module):
            for part in text.value.split("."):
                found.setdefault(part, []).append(text)
    return found


def _is_target(text: ast.Constant, module: PythonModule) -> bool:
    """Whether a text stands in a list that a call gets as `target_modules`."""
    around = module.parents.get(text)
    keyword = module.parents.get(around) if isinstance(around, (ast.List, ast.Tuple, ast.Set)) else None
    return isinstance(keyword, ast.keyword) and keyword.arg == "target_modules"


@lru_cache(maxsize=256)
def known_names(family: str) -> frozenset[str]:
    """The names of layers that a family has had in any release; none where it has parts of other families."""
    from trl_lint.knowledge.architectures import adapted_names, is_composed, parameter_names

    found: set[str] = set()
    for version in releases(_TRANSFORMERS):
        names = adapted_names(family, version)
        if names is not None:
            if is_composed(family, version):
                return frozenset()
            found |= names | (parameter_names(family, version) or frozenset())
    return frozenset(found)


def _shown_names(family: str) -> frozenset[str]:
    """The linear layers of the newest release, without heads and embeddings."""
    from trl_lint.knowledge.architectures import adapted_names

    names = adapted_names(family, releases(_TRANSFORMERS)[-1]) or frozenset()
    embeddings = ("embed", "wte", "wpe", "word_")
    return frozenset(name for name in names - _HEADS if not name.startswith(embeddings))


rule = AdapterTargetNotInModel()
