"""Options that dataclasses of transformers and TRL hold: what a parser fills in, or a script gives them itself.

The order of `HfArgumentParser` and `TrlParser` (read in transformers 4.57.1 and trl 0.24.0): what the script assigns
afterwards, flags, the config file, the defaults of the project's own class, those of the library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache, partial

from trl_lint.coverage import (
    CONFIGURATION,
    HIDDEN,
    NO_DEFAULT,
    NO_FILE,
    NO_SCRIPT,
    NOT_STARTED,
    OUTSIDE,
    PARSER,
    UNMAPPED,
)
from trl_lint.finding import Location
from trl_lint.knowledge.api import Signature, resolve, signature
from trl_lint.knowledge.families import Settings, family_of
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project.launches import Launch
from trl_lint.regexes import regex
from trl_lint.run.config import Arguments, Config, Layer, Read, Versions, nothing_known, of_history, why
from trl_lint.run.effective import Said, Setting, Unknown, of_document, of_flag
from trl_lint.run.inputs import Inputs
from trl_lint.run.parsers import ScriptParser, beginnings
from trl_lint.run.script import Script

_FLAG = regex(r"--(?P<name>[A-Za-z][\w.-]*)(?:=(?P<value>.*))?", re.DOTALL)
_OF_THE_COMMAND = frozenset({"config", "accelerate_config"})
_PLAIN = (str, int, float, bool, type(None))


def read_config(inputs: Inputs) -> Config:
    """The training arguments of a run, with the other options that its parser reads."""
    layers: list[Layer] = []
    parser, script, launch = inputs.parser, inputs.script, inputs.launch
    if script is not None and (parser is None or parser.location is not None):
        layers.append(_of_script(script, inputs))
    if script is None or script.call is None or not layers:
        if parser is None:
            reason = PARSER if script is not None or launch.script_path is not None else NO_SCRIPT
            if not inputs.is_launched:
                return nothing_known(inputs.framework, NOT_STARTED, None)
            found = nothing_known(inputs.framework, reason, launch.location)
            found.layers = (_of_words(launch), *found.layers)
            return found
        layers += [_of_flags(parser, inputs), _of_file(inputs), _of_own_classes(parser)]
    defaults = partial(_defaults, inputs.arguments_class, parser)
    return Config(inputs.framework, tuple(layers), defaults, newest_of(inputs), "trl")


def newest_of(inputs: Inputs) -> Versions:
    """The newest releases in use of the packages whose classes hold training arguments."""
    return inputs.choices.newest(("trl", "transformers"))


def recipe_alone(inputs: Inputs) -> Config:
    """The training arguments as a config file has them that no known command names."""
    defaults = partial(_defaults, inputs.arguments_class, None)
    return Config(inputs.framework, (_of_recipe(inputs),), defaults, newest_of(inputs), "trl")


def handed_on(inputs: Inputs, config: Config) -> Arguments | None:
    """What a framework fills a class of TRL with; None where it trains with none, or with other sizes than these."""
    family = family_of(inputs.framework)
    handed, said = family.handed if family is not None else None, config.setting("method")
    dotted = handed.classes.get(str(said.value), "") if handed is not None and isinstance(said, Setting) else ""
    if handed is None or not dotted or not (config.counts("group") and config.counts("accumulation")):
        return None
    fields, left, release = handed.fields, handed.left, config.release

    def read(name: str) -> Said:
        own = fields.get(name)
        if own is None:
            return ABSENT if name in left else Unknown(UNMAPPED)
        found = config.setting(own, release) if own in Settings._fields else config.given(own)
        is_empty = isinstance(found, Setting) and found.value is not False and found.value in (None, "null", 0)
        return ABSENT if is_empty else found

    names = {name: config.option(own) if own in Settings._fields else own for name, own in fields.items()}
    layer = Layer(read, lambda: fields)
    filled = Config("trl", (layer,), partial(_defaults, dotted, None), newest_of(inputs), "trl")
    return Arguments(dotted, filled, names)


def _defaults(arguments_class: str, parser: ScriptParser | None, versions: Versions) -> Read:
    return lambda name: _default(arguments_class, parser, name, versions)


def _of_script(script: Script, inputs: Inputs) -> Layer:
    """What a script builds its config with, and what it assigns to it later.

    The layer does not refer to the run, which keeps it.
    """
    given, hides = script.given()
    changed = frozenset(script.changed)
    for keyword in script.call.keywords if script.call is not None and inputs.is_launched else ():
        name = keyword.arg or ""
        if name in given and name not in changed and not given[name].is_known:
            from trl_lint.run.readers.script_flags import of_command

            given[name] = of_command(keyword.value, script.module, inputs) or given[name]
    arguments_class, newest = inputs.arguments_class, newest_of(inputs)
    part = None
    if script.call is not None and inputs.is_launched and isinstance(hides, Unknown) and hides.reason == OUTSIDE:
        from trl_lint.run.loaded_files import spread_of

        part = spread_of(script.call, script.module, inputs.launch, inputs.project)

    def names() -> Iterator[str]:
        default = _defaults(arguments_class, None, newest)
        yield from (name for name in given if name not in changed or default(name) is not ABSENT)

    def read(name: str) -> Said:
        if name in given or part is None:
            return given.get(name, hides)
        return why(part(name), CONFIGURATION)

    return Layer(read, names)


def _of_flags(parser: ScriptParser, inputs: Inputs) -> Layer:
    launch = inputs.launch
    place: Location | None = launch.location if inputs.is_launched else None
    hidden = Unknown(HIDDEN if inputs.is_launched else NOT_STARTED, place)
    short = frozenset(beginnings(launch, parser, newest_of(inputs)))

    def read(name: str) -> Said:
        said = of_flag(launch, name)
        spellings = (name, f"no_{name}")
        # A flag in full is no beginning of itself, where the classes of the parser are not known either.
        if said is UNKNOWN or any(full[:end] in short for full in spellings for end in range(len(full))):
            return hidden
        return said

    def names() -> Iterator[str]:
        for word in launch.args:
            match = _FLAG.fullmatch(word.text or "")
            if match is not None and match["name"] not in _OF_THE_COMMAND:
                yield match["name"].replace("-", "_")

    return Layer(read, names)


def _of_words(launch: Launch) -> Layer:
    """The flags of a program that nobody understands: what it does with them is its own affair."""
    return Layer(lambda name: why(of_flag(launch, name), HIDDEN, launch.location))


def _of_file(inputs: Inputs) -> Layer:
    return Layer(lambda name: ABSENT) if inputs.link("recipe") is None else _of_recipe(inputs)


def _of_recipe(inputs: Inputs) -> Layer:
    recipe, link = inputs.recipe, inputs.link("recipe")
    if recipe is None:
        is_missing = link is None or link.status == "missing"
        unknown = Unknown(NO_FILE if is_missing else CONFIGURATION, link.location if link is not None else None)
        return Layer(lambda name: unknown)
    root = recipe.mapping
    keys = [str(entry.key.value) for entry in root.entries] if root is not None else []
    return Layer(lambda name: why(of_document(recipe, name), CONFIGURATION), lambda: keys)


def _of_own_classes(parser: ScriptParser) -> Layer:
    own = parser.fields.own

    def read(name: str) -> Said:
        field = own.get(name)
        if field is None:
            return ABSENT
        value = field.value if isinstance(field.value, _PLAIN) else UNKNOWN
        return Setting(value, "default", field.location)

    return Layer(read)


def _default(arguments_class: str, parser: ScriptParser | None, name: str, versions: Versions) -> Said:
    """The default of a field, of the training arguments or of another class of the parser that has it."""
    key = tuple(versions.items())
    found = default_text(signature_of(arguments_class, key), name)
    if found is not ABSENT:
        return Unknown(NO_DEFAULT) if isinstance(found, Missing) else of_history(found)
    for dotted in parser.fields.bases if parser is not None else ():
        known = signature_of(dotted, key)
        if known is not None and name in known.parameters:
            return of_history(known.parameters[name].default)
    return ABSENT


@lru_cache(maxsize=1024)
def signature_of(dotted: str, versions: tuple[tuple[str, str], ...]) -> Signature | None:
    """What a class takes with these releases; None if that is not known."""
    found = resolve(dotted, dict(versions)) if dotted else None
    return signature(found, dict(versions)) if isinstance(found, str) else None


def default_text(signature: Signature | None, name: str) -> str | Missing | None:
    """The default as the histories spell it, None if it has none; ABSENT if there is no such field."""
    if signature is None:
        return UNKNOWN
    parameter = signature.parameters.get(name)
    if parameter is None:
        return UNKNOWN if signature.open else ABSENT
    return parameter.default
