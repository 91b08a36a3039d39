"""TRL811: a block of options that is handed to vLLM has one that its release does not take."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from functools import lru_cache, partial

from trl_lint.checks._run_models import package_of
from trl_lint.checks._trainer_rule import TrainerRule
from trl_lint.checks.drift._wording import did_you_mean
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding, Location
from trl_lint.knowledge.families import EngineBlock, family_of
from trl_lint.knowledge.ranges import holds
from trl_lint.missing import UNKNOWN
from trl_lint.project.stack import Choices
from trl_lint.records import NamedTuple
from trl_lint.run.config import Config
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.run.trainer import Made, TrainerCall

_VLLM = "vllm"


class Option(NamedTuple):
    """An option of a block, and where it stands."""

    name: str
    place: Location


class OptionNotOfEngine(TrainerRule):
    code = "TRL811"
    needles = (b"generation_kwargs",)
    runs = True
    launched = True

    def check_run(self, run: Run) -> Iterator[Finding]:
        """The blocks of a config or a command."""
        family = family_of(run.framework)
        chosen = run.choices.get(package_of(run)) if family is not None and family.engine_block else None
        if family is None or chosen is None:
            return
        for block in family.engine_block:
            if not all(holds(block.releases, release) for release in chosen.releases if block.releases):
                continue
            options = list(_options(block, run.config))
            if options and all(_is_so(run.config, name, value) for name, value in block.when.items()):
                yield from self._judge(block, options, run.choices, run.launch.is_mild)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        """The blocks of the training arguments in a script."""
        family = family_of("trl")
        for block in family.engine_block if family is not None else ():
            is_so = all(
                [made.value if made.kind == "literal" else UNKNOWN for made in call.field(name)] == [value]
                for name, value in block.when.items()
            )
            options = [option for made in call.field(block.name) for option in _entries(made)] if is_so else []
            if options:
                yield from self._judge(block, options, call.environment.choices, False)

    def _judge(self, block: EngineBlock, options: list[Option], choices: Choices, mild: bool) -> Iterator[Finding]:
        chosen = choices.get(_VLLM)
        if chosen is None:
            return
        callee = block.takes[0].removeprefix("vllm.")
        for option in options:
            verdict = judge_releases(
                chosen, partial(_lacks, block.takes, option.name), Level(self, mild, of_code=False)
            )
            if verdict is None or verdict.only_old:
                continue
            near = did_you_mean(option.name, _known(block.takes, verdict.version))
            yield self.finding(
                option.place,
                f"vLLM has no option `{option.name}`: what stands in `{block.name}` goes to `{callee}`, which stops at "
                f"an unexpected keyword{f'; {near}' if near else ''} ({verdict.scope})",
                severity=verdict.severity,
                related=verdict.related,
            )


def _options(block: EngineBlock, config: Config) -> Iterator[Option]:
    above, seen = f"{block.name}.", set()
    for name in config.names():
        first = name.removeprefix(above).partition(".")[0]
        if not name.startswith(above) or first in seen:
            continue
        seen.add(first)
        said = config.given(name)
        # An option that is null is left out.
        if isinstance(said, Setting) and said.location is not None and said.value is not None:
            yield Option(first, said.location)
    said = config.given(block.name)
    if isinstance(said, Setting) and said.location is not None:
        held = said.value if isinstance(said.value, dict) else _parsed(said.value)
        for key in held:
            if isinstance(key, str) and key not in seen:
                yield Option(key, said.location)


def _parsed(value: object) -> dict[object, object]:
    """What a JSON text holds."""
    try:
        found = json.loads(value) if isinstance(value, str) and value.startswith("{") else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _entries(made: Made) -> Iterator[Option]:
    """The keys of a dict in a script."""
    module = made.frame.module
    if made.kind == "dict" and isinstance(made.node, ast.Dict):
        for key in made.node.keys:
            name = module.value(key) if key is not None else UNKNOWN
            if key is not None and isinstance(name, str):
                yield Option(name, module.location(key))
    elif made.kind == "dict" and isinstance(made.node, ast.Call):
        for keyword in made.node.keywords:
            if keyword.arg is not None:
                yield Option(keyword.arg, module.location(keyword))


def _is_so(config: Config, name: str, value: object) -> bool:
    said = config.final(name)
    return isinstance(said, Setting) and (said.value == value or (isinstance(value, bool) and said.truth is value))


@lru_cache(maxsize=256)
def _taken(callee: str, release: str) -> frozenset[str] | None:
    """The parameters of a class of vLLM in a release; None where they are not known."""
    from trl_lint.knowledge.api import resolve, signature

    found = resolve(callee, {_VLLM: release})
    known = signature(found, {_VLLM: release}) if isinstance(found, str) else None
    return frozenset(known.parameters) if known is not None and known.parameters else None


def _lacks(takes: tuple[str, ...], name: str, release: str) -> bool:
    found = [_taken(callee, release) for callee in takes]
    return None not in found and not any(name in known for known in found if known is not None)


def _known(takes: tuple[str, ...], release: str) -> list[str]:
    return sorted({each for callee in takes for each in _taken(callee, release) or () if not each.startswith("_")})


rule = OptionNotOfEngine()
