"""A run as people want to see it: every value that is not left to a default, with the place that set it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trl_lint.finding import Location
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project.effective import Setting, of_document
from trl_lint.project.runs import Run
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

PACKAGES = ("trl", "transformers", "accelerate", "deepspeed", "peft", "vllm", "openrlhf", "verl", "torch")
_OVERRIDE = regex(r"(?P<name>[+~]{0,2}[A-Za-z_][\w.@/]*)=(?P<value>.*)", re.DOTALL)
_FLAG = regex(r"--(?P<name>[A-Za-z][\w.-]*)(?:=(?P<value>.*))?", re.DOTALL)


class Line(NamedTuple):
    """One value of a run: `value` None where it is not known, `default` None where that is not known.

    One that is left to its default has no place.
    """

    name: str
    value: str | None
    default: str | None
    location: Location | None


def is_shown(run: Run) -> bool:
    """Whether a launch is worth showing: it trains or serves, or its script is configured like a training."""
    program = run.launch.program
    return run.framework != "other" or (program is not None and program.starts_programs)


def values_of(run: Run, everything: bool = False) -> list[Line]:
    """The values somebody wrote, in the order of their names; those that repeat the default are left out.

    With `everything`, those as well, and every field that nobody sets, without a place.
    """
    if run.parser is None and (run.script is None or run.script.call is None):
        return sorted(_options(run) or _words(run), key=lambda line: line.name)
    from trl_lint.run.config import config_of

    versions = run.choices.newest(("trl", "transformers"))
    config = config_of(run)
    found = []
    signature = run.signature(versions) if everything else None
    for name in sorted({*config.names(), *(signature.parameters if signature is not None else ())}):
        said = run.field(name)
        if everything and said is ABSENT and isinstance(usual := run.default(name, versions), Setting):
            found.append(Line(name, _text(usual), _text(usual), None))
        if not isinstance(said, Setting) or said.location is None or said.origin == "default":
            continue
        usual = run.default(name, versions)
        default = _text(usual) if isinstance(usual, Setting) else None
        value = _text(said)
        if everything or value is None or value != default:
            found.append(Line(name, value, default, said.location))
    return found


def _options(run: Run) -> list[Line]:
    """The options that a command and its config set, where it is known what reads them; none where it is not."""
    from trl_lint.run.config import config_of

    config = config_of(run)
    found = []
    for name in dict.fromkeys(config.names()):
        said, usual = config.given(name), config.default(name)
        default = _text(usual) if isinstance(usual, Setting) and run.framework != "verl" else None
        if isinstance(said, Setting):
            found.append(Line(name, _text(said), default, said.location))
        elif said is UNKNOWN:
            found.append(Line(name, None, default, run.launch.location))
    return found


def _words(run: Run) -> Iterator[Line]:
    """The options and overrides of a command whose fields are not known."""
    args = run.launch.args
    for index, word in enumerate(args):
        text = word.text if word.text is not None else word.raw
        location = run.launch.source.location(word.start, word.end)
        if (flag := _FLAG.fullmatch(text)) is not None:
            value = flag["value"]
            if value is None:
                following = args[index + 1] if index + 1 < len(args) else None
                takes = following is not None and not (following.text or following.raw).startswith("--")
                value = (following.text if takes and following is not None else "true") or None
            yield Line(flag["name"], value if word.text is not None else None, None, location)
        elif (override := _OVERRIDE.fullmatch(text)) is not None:
            yield Line(override["name"], override["value"] if word.text is not None else None, None, location)


def _text(setting: Setting) -> str | None:
    """A value as text, so that the 1e-6 of a command line and that of a recipe look alike; None if it is not known."""
    if isinstance(setting.value, Missing):
        return None
    number = setting.number
    if number is not None:
        return f"{number:g}" if isinstance(number, float) else str(number)
    truth = setting.truth
    return str(truth) if truth is not None else str(setting.value)


def backend_of(run: Run) -> str:
    """How the processes work together, in a word or two: `DeepSpeed ZeRO-3`, `FSDP2`, `MULTI_GPU`; "" if unknown."""
    if run.deepspeed is not None:
        return _zero(run.deepspeed.value("zero_optimization.stage"))
    config = run.accelerate
    if config is None:
        return ""
    kind = config.value("distributed_type")
    if kind == "DEEPSPEED":
        stage = of_document(config, "deepspeed_config.zero_stage")
        return _zero(stage.value if isinstance(stage, Setting) else None)
    if kind == "FSDP":
        return "FSDP2" if config.value("fsdp_config.fsdp_version") == 2 else "FSDP"
    return str(kind) if isinstance(kind, str) else ""


def _zero(stage: object) -> str:
    return f"DeepSpeed ZeRO-{stage}" if isinstance(stage, int) else "DeepSpeed"
