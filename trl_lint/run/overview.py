"""A run as people want to see it: every value that is not left to a default, with the place that set it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trl_lint.coverage import NOT_PLAIN
from trl_lint.finding import Location
from trl_lint.knowledge.families import Settings
from trl_lint.missing import ABSENT, Missing
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run import sharding
from trl_lint.run.config import Config
from trl_lint.run.effective import Setting, Unknown
from trl_lint.run.runs import Run

_PACKAGES = ("trl", "transformers", "accelerate", "deepspeed", "peft", "vllm", "torch")
_OVERRIDE = regex(r"(?P<name>[+~]{0,2}[A-Za-z_][\w.@/]*)=(?P<value>.*)", re.DOTALL)
_FLAG = regex(r"--(?P<name>[A-Za-z][\w.-]*)(?:=(?P<value>.*))?", re.DOTALL)


class Line(NamedTuple):
    """One value of a run: `value` None where it is not known, for a `reason`; `default` None where that is not known.

    One that is left to its default has no place.
    """

    name: str
    value: str | None
    default: str | None
    location: Location | None
    reason: str = ""


def packages_of(run: Run) -> tuple[str, ...]:
    """The packages whose releases decide what a run does, that of its framework first."""
    return tuple(dict.fromkeys(filter(None, (run.config.package, *_PACKAGES))))


def is_shown(run: Run) -> bool:
    """Whether a launch is worth showing: it trains or serves, or its script is configured like a training."""
    program = run.launch.program
    return run.framework != "other" or (program is not None and program.starts_programs)


def values_of(run: Run, everything: bool = False) -> list[Line]:
    """The values somebody wrote, in the order of their names; those that repeat the default are left out.

    With `everything`, those as well, and every field that nobody sets, without a place. Where nobody knows what reads
    the words of a command, the words are shown as they are.
    """
    config = run.config
    versions = run.choices.newest(("trl", "transformers"))
    signature = run.signature(versions) if everything else None
    names = {*config.names(), *(signature.parameters if signature is not None else ())}
    if everything:
        names.update(filter(None, map(config.option, Settings._fields)))
    found = [line for name in names if (line := _line(name, run, config, everything)) is not None]
    return sorted(found or _words(run), key=lambda line: line.name)


def _line(name: str, run: Run, config: Config, everything: bool) -> Line | None:
    said, usual = config.given(name), config.default(name)
    if isinstance(said, Setting) and (several := _several(said, run)):
        said = said._replace(value=several)
    default = _text(usual) if isinstance(usual, Setting) else None
    if said is ABSENT or (isinstance(said, Setting) and said.origin == "default"):
        return Line(name, default, default, None) if everything and default is not None else None
    if isinstance(said, Unknown):
        written = _written(said, run)
        return Line(name, written, default, said.place, "" if written is not None else said.reason)
    value = _text(said)
    if value is not None and value == default and not everything:
        return None
    return Line(name, value, default, said.location, "" if value is not None else NOT_PLAIN)


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
            yield _shown(flag["name"], value if word.text is not None else None, location)
        elif (override := _OVERRIDE.fullmatch(text)) is not None:
            yield _shown(override["name"], override["value"] if word.text is not None else None, location)


def _shown(name: str, value: str | None, place: Location) -> Line:
    return Line(name, value, None, place, "" if value is not None else NOT_PLAIN)


def _written(said: Unknown, run: Run) -> str | None:
    """The text of a list or a block that a word of the command gives; None for everything else."""
    place, words = said.place, run.launch.args
    if said.reason != NOT_PLAIN or place is None or place.path != run.launch.source.path:
        return None
    word = next((word for word in words if word.start <= place.start < word.end and "=" in (word.text or "")), None)
    return word.text.partition("=")[2] if word is not None and word.text is not None else None


def _several(said: Setting, run: Run) -> str:
    """All the words of a flag that takes a list, "" where one word is all of it."""
    args, place = run.launch.args, said.location
    if said.origin != "flag" or place is None or place.path != run.launch.source.path:
        return ""
    first = next((at for at, word in enumerate(args) if word.start == place.start and word.end == place.end), None)
    if first is None or (args[first].text or "").startswith("--") or "=" in (args[first].text or ""):
        return ""
    words = [args[first].text]
    for word in args[first + 1 :]:
        if (word.text or word.raw).startswith("-"):
            break
        words.append(word.text)
    return " ".join(filter(None, words)) if len(words) > 1 and None not in words else ""


def _text(setting: Setting) -> str | None:
    """A value as text, so that the 1e-6 of a command line and that of a recipe look alike; None if it is not known."""
    if isinstance(setting.value, Missing):
        return None
    number = setting.number
    if number is not None:
        return f"{number:g}" if isinstance(number, float) else str(number)
    truth = setting.truth if str(setting.value).lower() in ("true", "false") else None
    return str(truth) if truth is not None else str(setting.value)


def backend_of(run: Run) -> str:
    """How the processes work together, in a word or two: `DeepSpeed ZeRO-3`, `FSDP2`, `MULTI_GPU`; "" if unknown."""
    said = sharding.backend_of(run)
    kind = str(said.value) if isinstance(said, Setting) else ""
    if run.deepspeed is not None or kind == "DEEPSPEED":
        stage = sharding.zero_stage(run)
        number = stage.integer if isinstance(stage, Setting) else None
        return f"DeepSpeed ZeRO-{number}" if number is not None else "DeepSpeed"
    return "FSDP2" if sharding.fsdp_version(run) == 2 else kind
