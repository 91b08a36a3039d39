"""What the options of a run come to, whichever parser reads them: one `Config` for every framework.

Two questions. `given` is what the project says, as the parser leaves it: of its layers, the one on top comes first, and
the first that may set a name decides; one that cannot be read hides what lies below it, and nothing above. `final` is
what the program works with: that, or the default of the release in use. `setting` asks by what an option means, and
`rules/families` says what each framework calls it.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from trl_lint.coverage import CONFIGURATION, HIDDEN, NO_DEFAULT, NO_FILE, NO_RELEASE, NOT_KNOWN, UNMAPPED, Reason
from trl_lint.finding import Location
from trl_lint.knowledge.families import Arguments, Held, arguments_of, family_of
from trl_lint.knowledge.ranges import holds
from trl_lint.memos import per_project
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project import Project
from trl_lint.project.effective import Said, Setting, Unknown, of_default, of_document, of_flag
from trl_lint.project.runs import Run
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources.nodes import Mapping
from trl_lint.sources.shell import Word

Read = Callable[[str], Said]
ReadIn = Callable[[str, str], Said]

_FLAG = regex(r"--(?P<name>[A-Za-z][\w.-]*)(?:=(?P<value>.*))?", re.DOTALL)


def _no_names() -> Iterable[str]:
    return ()


class Layer(NamedTuple):
    """One of the things that set options: `read` a name, ABSENT where it certainly sets none; the `names` it sets."""

    read: Read
    names: Callable[[], Iterable[str]] = _no_names


class Config:
    """The options of a run. `layers`: what may set them, the one on top first. `default`: what the release says.

    Where a method takes a release of the framework, "" is the newest one in use.
    """

    def __init__(self, framework: str, layers: tuple[Layer, ...], default: ReadIn) -> None:
        self.framework = framework
        self.layers = layers
        self._default = default

    def given(self, name: str) -> Said:
        """What the project sets an option to; ABSENT where its default counts."""
        for layer in self.layers:
            said = layer.read(name)
            if said is not ABSENT:
                return said
        return ABSENT

    def default(self, name: str, release: str = "") -> Said:
        """What a release makes of an option that nothing sets; ABSENT where it has none."""
        return self._default(name, release)

    def final(self, name: str, release: str = "") -> Said:
        """What an option is while the program runs: what is given, else the default."""
        said = self.given(name)
        return said if said is not ABSENT else self.default(name, release)

    def names(self) -> Iterator[str]:
        """The options that something in the project sets, as far as that can be read, each once."""
        return iter(dict.fromkeys(name for layer in self.layers for name in layer.names()))

    def held(self, what: str) -> Held | None:
        """What is known of a setting, a field of `families.Settings`; None for a program that is not known."""
        family = family_of(self.framework)
        settings = family.settings if family is not None else None
        found: Held | None = getattr(settings, what) if settings is not None else None
        return found

    def setting(self, what: str, release: str = "") -> Said:
        """An option by what it means; ABSENT where the framework, or the release, has none."""
        held = self.held(what)
        if held is None or held.unknown:
            return Unknown(UNMAPPED)
        name = self.option(what, release)
        if not name:
            return ABSENT
        usual = Setting(None, "default", None) if held.releases else self.default(name, release)
        if held.releases and release and not holds(held.releases, release):
            usual = ABSENT
        return usual if usual is ABSENT or (said := self.given(name)) is ABSENT else said

    def given_setting(self, what: str) -> Said:
        """As `setting`, without the default of the release."""
        held = self.held(what)
        if held is None or held.unknown:
            return Unknown(UNMAPPED)
        name = self.option(what)
        return self.given(name) if name else ABSENT

    def option(self, what: str, release: str = "") -> str:
        """What the framework calls a setting: of several names that which something sets, else that of the release."""
        held = self.held(what)
        names = held.names if held is not None else ()
        if len(names) < 2:
            return names[0] if names else ""
        given = next((name for name in names if isinstance(self.given(name), Setting)), "")
        return given or next((name for name in names if self.default(name, release) is not ABSENT), names[0])

    def is_on(self, what: str, release: str = "") -> bool | None:
        """Whether a setting is switched on, by the row of its family; None where nobody can tell."""
        held, found = self.held(what), self.setting(what, release)
        if held is None or isinstance(found, Unknown):
            return None
        if not isinstance(found, Setting):
            return False
        if isinstance(found.value, Missing) or any(self.given(name) is not ABSENT for name in held.unless):
            return None
        if found.value is None or found.value in ("null", "None"):
            return False
        if held.on:
            return found.value in held.on
        if held.off:
            return (found.number if found.number is not None else found.value) not in held.off
        return found.truth if found.truth is not None else True


def config_of(run: Run) -> Config:
    """The options of a run; the same object for whoever asks."""
    known = _configs(run.project)
    if run not in known:
        known[run] = _made(run)
    return known[run]


@per_project
def _configs(project: Project) -> weakref.WeakKeyDictionary[Run, Config]:
    return weakref.WeakKeyDictionary()


def _made(run: Run) -> Config:
    # The config holds no run, which would keep itself alive by what is remembered of it.
    arguments = arguments_of(run.framework)
    if run.framework == "verl":
        return _of_verl(run)
    if run.framework == "openrlhf":
        return _of_flags(run)
    if arguments is not None:
        return _of_command(run, arguments)
    return _of_classes(run)


def _nothing(framework: str, reason: Reason, place: Location | None) -> Config:
    unknown = Unknown(reason, place)
    return Config(framework, (Layer(lambda name: unknown),), lambda name, release: unknown)


def _why(said: Setting | Missing, reason: Reason, place: Location | None = None) -> Said:
    """What a reader says of a name, with the reason where that is nothing."""
    return Unknown(reason, place) if said is UNKNOWN else said


def _default(text: str | None) -> Said:
    return _why(of_default(text), NO_DEFAULT)


# -- dataclasses of transformers and TRL ------------------------------------------------------------------------------


def _of_classes(run: Run) -> Config:
    if run.parser is None and (run.script is None or run.script.call is None):
        return _nothing(run.framework, *run.why_unknown(""))
    reference = weakref.ref(run)

    def given(name: str) -> Said:
        found = reference()
        if found is None:
            return Unknown(NOT_KNOWN)
        said = found.field(name)
        return Unknown(*found.why_unknown(name)) if said is UNKNOWN else said

    def default(name: str, release: str) -> Said:
        found = reference()
        return _default_of_classes(found, name, release) if found is not None else Unknown(NOT_KNOWN)

    def names() -> Iterator[str]:
        found = reference()
        return _names_given(found) if found is not None else iter(())

    return Config(run.framework, (Layer(given, names),), default)


def _names_given(run: Run) -> Iterator[str]:
    """The fields that a recipe, the command line or the script names."""
    if run.recipe is not None and run.recipe.mapping is not None:
        yield from (str(entry.key.value) for entry in run.recipe.mapping.entries)
    for word in run.launch.args:
        match = _FLAG.fullmatch(word.text or "")
        if match is not None and match["name"] not in ("config", "accelerate_config"):
            yield match["name"].replace("-", "_")
    script = run.script
    if script is not None:
        yield from (keyword.arg for keyword in (script.call.keywords if script.call else ()) if keyword.arg)
        usual = run.choices.newest(("trl", "transformers"))
        yield from (name for name in script.changed if run.default(name, usual) is not ABSENT)


def _default_of_classes(run: Run, name: str, trl: str) -> Said:
    """The default of a field, of the training arguments or of another class of the parser that has it."""
    versions = {**run.choices.newest(("trl", "transformers")), **({"trl": trl} if trl else {})}
    found = run.default(name, versions)
    if found is not ABSENT or run.parser is None:
        return _why(found, NO_DEFAULT)
    from trl_lint.knowledge.api import resolve, signature

    for dotted in run.parser.fields.bases:
        target = resolve(dotted, versions)
        known = signature(target, versions) if isinstance(target, str) else None
        if known is not None and name in known.parameters:
            return _default(known.parameters[name].default)
    return ABSENT


# -- a command with a config file and flags ---------------------------------------------------------------------------


def _of_command(run: Run, arguments: Arguments) -> Config:
    """LLaMA-Factory, ms-swift, axolotl: the flags, or the words `key=value`, over the config file."""
    from trl_lint.knowledge.command_keys import defaults_of
    from trl_lint.run.readers.command_words import words_of

    words = words_of(run.launch, run.project)
    over_file = arguments.over_file
    recipe = run.recipe if over_file else None
    link = run.link("recipe") if over_file else None
    if words is None or (link is not None and recipe is None):
        missing = link is not None and link.status == "missing"
        place = link.location if link is not None else run.launch.location
        return _nothing(run.framework, NO_FILE if missing else CONFIGURATION, place)
    launch = run.launch
    here = launch.location

    def of_flags(name: str) -> Said:
        return _why(words.setting(name) if recipe is None else of_flag(launch, name), HIDDEN, here)

    def flags() -> Iterator[str]:
        texts = (word.text or "" for word in words.words)
        yield from (text.partition("=")[0][2:].replace("-", "_") for text in texts if text.startswith("--"))

    def of_assignments(name: str) -> Said:
        return _assigned(launch.args, name, launch.source.location)

    def assignments() -> Iterator[str]:
        yield from (word.text.partition("=")[0] for word in launch.args if "=" in (word.text or "") and word.text)

    layers = [Layer(of_flags, flags)]
    if recipe is not None:
        if over_file == "assignments":
            layers = [Layer(of_assignments, assignments)]
        root = recipe.mapping
        in_file = partial(_leaves, root) if root is not None else _no_names
        layers.append(Layer(lambda name: _why(of_document(recipe, name), CONFIGURATION, here), in_file))

    package = arguments.package
    command = arguments.keys_for(launch.subcommand or "train")
    newest = run.choices[package].newest if package in run.choices else ""

    def default(name: str, release: str) -> Said:
        if not (release or newest):
            return Unknown(NO_RELEASE, here)
        known = defaults_of(package, command, release or newest)
        if name not in known and name.partition(".")[0] in known:
            return Unknown(NO_DEFAULT)  # a part of a block
        return _default(known[name]) if name in known else ABSENT

    return Config(run.framework, tuple(layers), default)


def _assigned(words: tuple[Word, ...], name: str, location: Callable[[int, int], Location]) -> Said:
    """What `key=value` says of a name: the last one counts, and a word that nobody knows hides those before it."""
    found: Said = ABSENT
    for word in words:
        key, equal, value = (word.raw.lstrip("\"'") if word.text is None else word.text).partition("=")
        if word.text is None and not (equal and key.replace(".", "_").isidentifier()):
            found = Unknown(HIDDEN, location(word.start, word.end))
        elif equal and key == name:
            found = Setting(UNKNOWN if word.text is None else value, "flag", location(word.start, word.end))
    return found


def _leaves(root: Mapping, above: str = "") -> Iterator[str]:
    """The dotted keys of a document that hold a value; of lists the key alone."""
    for entry in root.entries:
        name = f"{above}{entry.key.value}"
        if isinstance(entry.value, Mapping) and entry.value.entries:
            yield from _leaves(entry.value, f"{name}.")
        else:
            yield name


# -- flags of argparse -------------------------------------------------------------------------------------------------


def _of_flags(run: Run) -> Config:
    """OpenRLHF: what its parser makes of the command line."""
    from trl_lint.run.readers.openrlhf import OpenRLHFRun, arguments_in, flags_of, run_or_reason

    found, here = run_or_reason(run.launch, run.project), run.launch.location
    if not isinstance(found, OpenRLHFRun):
        return _nothing(run.framework, found or NOT_KNOWN, here)
    if found.own is None and "openrlhf" not in found.choices:
        return _nothing(run.framework, NO_RELEASE, here)
    newest = found.choices["openrlhf"].newest if "openrlhf" in found.choices else ""
    arguments = arguments_in(found, newest)
    if arguments is None or flags_of(found, newest) is None:
        return _nothing(run.framework, NO_RELEASE, here)
    source = run.launch.source

    def given(name: str) -> Said:
        flag = f"--{name}"
        word = arguments.words.get(flag)
        if word is not None:
            value = arguments.values.get(flag, UNKNOWN)
            return Setting(value, "flag", source.location(word.start, word.end))
        return Unknown(HIDDEN, here) if arguments.hidden else ABSENT

    def default(name: str, release: str) -> Said:
        known = (flags_of(found, release or newest) or {}).get(f"--{name}")
        if known is None:
            return ABSENT
        return Unknown(NO_DEFAULT) if isinstance(known.default, Missing) else Setting(known.default, "default", None)

    return Config(run.framework, (Layer(given, lambda: (flag[2:] for flag in arguments.words)),), default)


# -- Hydra -------------------------------------------------------------------------------------------------------------


def _of_verl(run: Run) -> Config:
    """verl: the overrides over the composed config of the release, or of the project itself."""
    from trl_lint.run.readers.hydra import find
    from trl_lint.run.readers.verl import VerlRun, place_of, run_or_reason

    found, here = run_or_reason(run.launch, run.project), run.launch.location
    if not isinstance(found, VerlRun):
        return _nothing(run.framework, found or NOT_KNOWN, here)
    if found.own is None and "verl" not in found.choices:
        return _nothing(run.framework, NO_RELEASE, here)
    newest = found.choices["verl"].newest if "verl" in found.choices else ""
    trees = {newest: found.composed(newest)}
    if trees[newest] is None:
        return _nothing(run.framework, CONFIGURATION, here)
    places = {override.key: place_of(override, run.launch) for override in found.line.overrides}
    unsure = next((override for override in found.line.overrides if not override.is_certain), None)

    def read(name: str, release: str) -> Said:
        release = release or newest
        if release not in trees:
            trees[release] = found.composed(release)
        tree = trees[release]
        value = find(tree, name) if tree is not None else UNKNOWN
        if isinstance(value, Missing):
            return _why(value, NO_DEFAULT, places.get(name))
        return Unknown(CONFIGURATION) if isinstance(value, (dict, list)) else Setting(value, "default", None)

    def given(name: str) -> Said:
        if name not in places:
            return ABSENT if unsure is None else Unknown(HIDDEN, place_of(unsure, run.launch))
        said = read(name, newest)
        if isinstance(said, Setting):
            return said._replace(origin="flag", location=places[name])
        return Unknown(HIDDEN, places[name])

    return Config(run.framework, (Layer(given, lambda: places),), read)
