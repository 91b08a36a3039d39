"""The model that a run trains or serves: its id, and whether all of it is trained."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.finding import Location
from trl_lint.missing import ABSENT
from trl_lint.python.guards import last_name
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument
from trl_lint.records import NamedTuple
from trl_lint.run.effective import Setting, of_flag
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall, is_absent, trainer_calls
from trl_lint.run.trainer.models import (
    checkpoint,
    has_adapter,
    has_own_layers,
    is_name,
    possible_lines,
    registers_classes,
)
from trl_lint.run.trainer.resolver import around, resolver_of
from trl_lint.run.trainer.running import value_in
from trl_lint.sources import SourceError
from trl_lint.sources.nodes import Sequence, find, value_of

_MODELS = "transformers.AutoModel"
_NOT_MODELS = tuple(f"transformers.Auto{name}" for name in ("Tokenizer", "Config", "Processor", "FeatureExtractor"))
_REMOTE = "trust_remote_code"
_SHOWING = ("-v", "--version")  # what ends a command before it does anything


def trained_model(run: Run) -> tuple[str, Location | None]:
    """The id of the one model that a run trains, and where it stands; "" where that is not known."""
    if run.script is None:
        return _of_setting(run) if run.framework != "other" else _of_script(run)
    calls = [call for call in trainer_calls(run.script.module, run.project) if not call.is_dead]
    if not calls:
        return _loaded_model(run.script.module, run)
    found = [one for call in calls for one in named_models(call, run)]
    return found[0] if len({identifier for identifier, _ in found}) == 1 else ("", None)


def _of_script(run: Run) -> tuple[str, Location | None]:
    """The model of a script that fills no training arguments."""
    path = run.launch.script_path
    if path is None or not path.endswith(".py"):
        return "", None
    try:
        module = run.project.module_in(path)
    except (OSError, SourceError):
        return "", None
    return ("", None) if trainer_calls(module, run.project) else _loaded_model(module, run)


def _loaded_model(module: PythonModule, run: Run) -> tuple[str, Location | None]:
    """The one model that a script without a trainer loads by `from_pretrained` of an `Auto` class."""
    found: dict[str, Location] = {}
    if registers_classes(module):
        return "", None
    for call in module.calls:
        origins = module.names.origins(call.func)
        if last_name(call.func) != "from_pretrained" or not any("." in one for one in origins):
            continue
        if any(one.startswith(_NOT_MODELS) for one in origins):
            continue
        given = argument(call, "pretrained_model_name_or_path", 0)
        others = {keyword.arg for keyword in call.keywords}
        if not all(one.startswith(_MODELS) for one in origins) or not others.isdisjoint({None, "config", _REMOTE}):
            return "", None
        if not isinstance(given, ast.expr):
            return "", None
        resolver = resolver_of(module, run.project)
        resolver.refill()
        for made in resolver.options(given, resolver.frame(module, around(given, module))):
            value = value_in(made, run)
            if not isinstance(value, str):
                return "", None
            found.setdefault(value, made.location)
    return next(iter(found.items())) if len(found) == 1 else ("", None)


def _of_setting(run: Run) -> tuple[str, Location | None]:
    """The model of a command of TRL."""
    said, remote = run.config.given("model_name_or_path"), run.config.given("trust_remote_code")
    is_plain = remote is ABSENT or (isinstance(remote, Setting) and remote.truth is False)
    if not is_plain or run.config.given("model_init_kwargs") is not ABSENT:
        return "", None
    return (said.value, said.location) if isinstance(said, Setting) and isinstance(said.value, str) else ("", None)


def named_models(call: TrainerCall, run: Run | None) -> Iterator[tuple[str, Location | None]]:
    """The models that a trainer may be given, "" for one whose layers are not certainly those of its family."""
    for line in possible_lines(call.lines("model"), run):
        is_sure = call.is_certain and call.own is None and not call.is_prepared and has_own_layers(line)
        for made in (checkpoint(line, call, run) if is_sure else ()) or (None,):
            value = value_in(made, run) if made is not None else None
            yield (value, made.location) if made is not None and isinstance(value, str) else ("", None)


def trains_all(call: TrainerCall, run: Run) -> bool:
    """Whether a trainer certainly trains no adapter, but the weights of the model."""
    lines = possible_lines(call.lines("model"), run)
    is_whole = bool(lines) and all(is_name(line.made) or has_adapter(line) is False for line in lines)
    return is_whole and is_absent(call.given("peft_config"))


def package_of(run: Run) -> str:
    """The package whose release decides what a run reads."""
    from trl_lint.knowledge.families import arguments_of

    arguments = arguments_of(run.framework)
    return arguments.package if arguments is not None else "trl" if run.arguments_class else run.framework


def model_of_run(run: Run) -> tuple[str, Location | None]:
    """The id of the one model of a run, and where it stands; "" where that, or its config, is not known."""
    if run.arguments_class or run.framework in ("trl", "transformers", "other"):
        return trained_model(run)

    config = run.config
    said = config.setting("model") if config.counts("model") else ABSENT
    return (said.value, said.location) if isinstance(said, Setting) and isinstance(said.value, str) else ("", None)


class Served(NamedTuple):
    """The model that a server is told to load, as it is written, and where."""

    name: str
    location: Location


def served_model(run: Run) -> Served | None:
    """The model of a command that starts a vLLM server; None if that is not known, or nothing is started."""
    launch = run.launch
    if any(word.text in _SHOWING or (word.text or "").startswith("--help=") for word in launch.args):
        return None
    said = of_flag(launch, "model")
    if isinstance(said, Setting) and isinstance(said.value, str):
        return Served(said.value, said.location or launch.location)
    first = launch.args[0] if said is ABSENT and launch.args and launch.subcommand == "serve" else None
    if first is None or not first.text or first.text.startswith("-"):
        return None
    return Served(first.text, launch.source.location(first.start, first.end))


def listed_texts(run: Run, name: str) -> list[str]:
    """The texts of an option that is a list in the recipe of a run, or one text with commas; none for any other."""
    said = run.config.given(name)
    if not isinstance(said, Setting):
        return []
    if isinstance(said.value, str):
        return [part.strip() for part in said.value.split(",")]
    node = find(run.recipe.root, name) if run.recipe is not None else None
    items = [value_of(item) for item in node.items] if isinstance(node, Sequence) else []
    return [item for item in items if isinstance(item, str)] if all(isinstance(item, str) for item in items) else []
