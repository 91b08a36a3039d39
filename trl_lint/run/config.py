"""What the options of a run come to, whichever parser reads them: one `Config` for every framework.

`given` is what the project says: the topmost layer that sets a name decides, and one that cannot be read makes the name
unknown instead of being skipped. `value` is that, or else the default of the newest release in use. `setting` asks by
what an option means, and `rules/families` says what each framework calls it.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator

from trl_lint.finding import Location
from trl_lint.knowledge.families import Arguments, Family, arguments_of, family_of
from trl_lint.memos import per_project
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project import Project
from trl_lint.project.effective import Setting, of_default, of_document, of_flag
from trl_lint.project.runs import Run
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources.nodes import Mapping
from trl_lint.sources.shell import Word

Read = Callable[[str], "Setting | Missing"]

_FLAG = regex(r"--(?P<name>[A-Za-z][\w.-]*)(?:=(?P<value>.*))?", re.DOTALL)


class Config(NamedTuple):
    """The options of a run.

    `given`, `default`: what the project says of a name, ABSENT where nothing sets it, and what the release in use says;
    each UNKNOWN where nobody can tell. `names`: those that something in the project sets, as far as that can be read.
    """

    framework: str
    given: Read
    default: Read
    names: Callable[[], Iterator[str]]

    def value(self, name: str) -> Setting | Missing:
        """What an option is in the run: what is given, else the default."""
        said = self.given(name)
        return said if said is not ABSENT else self.default(name)

    def setting(self, what: str) -> Setting | Missing:
        """An option by what it means, a field of `families.Settings`; ABSENT where the framework has none."""
        name = self.option(what)
        return self.value(name) if name else ABSENT if self._family is not None else UNKNOWN

    def given_setting(self, what: str) -> Setting | Missing:
        """As `setting`, without the default of the release."""
        name = self.option(what)
        return self.given(name) if name else ABSENT if self._family is not None else UNKNOWN

    def option(self, what: str) -> str:
        """What the framework calls a setting: of several names that which something sets, else that of the release."""
        settings = self._family.settings if self._family is not None else None
        names: tuple[str, ...] = getattr(settings, what) if settings is not None else ()
        if len(names) < 2:
            return names[0] if names else ""
        given = next((name for name in names if self.given(name) is not ABSENT), "")
        return given or next((name for name in names if self.default(name) is not ABSENT), names[0])

    @property
    def _family(self) -> Family | None:
        return family_of(self.framework)


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


def _nothing(framework: str) -> Config:
    return Config(framework, lambda name: UNKNOWN, lambda name: UNKNOWN, lambda: iter(()))


# -- dataclasses of transformers and TRL ------------------------------------------------------------------------------


def _of_classes(run: Run) -> Config:
    if run.parser is None and (run.script is None or run.script.call is None):
        return _nothing(run.framework)
    reference = weakref.ref(run)

    def given(name: str) -> Setting | Missing:
        found = reference()
        return found.field(name) if found is not None else UNKNOWN

    def default(name: str) -> Setting | Missing:
        found = reference()
        return _default_of_classes(found, name) if found is not None else UNKNOWN

    def names() -> Iterator[str]:
        found = reference()
        return _names_given(found) if found is not None else iter(())

    return Config(run.framework, given, default, names)


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


def _default_of_classes(run: Run, name: str) -> Setting | Missing:
    """The default of a field, of the training arguments or of another class of the parser that has it."""
    versions = run.choices.newest(("trl", "transformers"))
    found = run.default(name, versions)
    if found is not ABSENT or run.parser is None:
        return found
    from trl_lint.knowledge.api import resolve, signature

    for dotted in run.parser.fields.bases:
        target = resolve(dotted, versions)
        known = signature(target, versions) if isinstance(target, str) else None
        if known is not None and name in known.parameters:
            return of_default(known.parameters[name].default)
    return ABSENT


# -- a command with a config file and flags ---------------------------------------------------------------------------


def _of_command(run: Run, arguments: Arguments) -> Config:
    """LLaMA-Factory, ms-swift, axolotl: the flags, or the words `key=value`, over the config file."""
    from trl_lint.knowledge.command_keys import defaults_of
    from trl_lint.run.readers.command_words import words_of

    words = words_of(run.launch, run.project)
    over_file = arguments.over_file
    recipe = run.recipe if over_file else None
    if words is None or (over_file and recipe is None and run.link("recipe") is not None):
        return _nothing(run.framework)
    launch = run.launch

    def given(name: str) -> Setting | Missing:
        if recipe is None:
            return words.setting(name)
        said = of_flag(launch, name) if over_file == "flags" else _assigned(launch.args, name, launch.source.location)
        return said if said is not ABSENT else of_document(recipe, name)

    package = arguments.package
    command = arguments.keys_for(launch.subcommand or "train")
    newest = run.choices[package].newest if package in run.choices else ""

    def default(name: str) -> Setting | Missing:
        if not newest:
            return UNKNOWN
        known = defaults_of(package, command, newest)
        return of_default(known[name]) if name in known else ABSENT

    def names() -> Iterator[str]:
        if recipe is not None and recipe.mapping is not None:
            yield from _leaves(recipe.mapping)
        for word in words.words:
            text = word.text or ""
            name = text.partition("=")[0]
            if recipe is not None and over_file == "assignments" and "=" in text:
                yield name
            elif text.startswith("--") and (recipe is None or over_file == "flags"):
                yield name[2:].replace("-", "_")

    return Config(run.framework, given, default, names)


def _assigned(words: tuple[Word, ...], name: str, location: Callable[[int, int], Location]) -> Setting | Missing:
    """What `key=value` says of a name, the last one of several; UNKNOWN where a word may be one."""
    found: Setting | Missing = ABSENT
    for word in words:
        if word.text is None:
            return UNKNOWN
        key, equal, value = word.text.partition("=")
        if equal and key == name:
            found = Setting(value, "flag", location(word.start, word.end))
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
    from trl_lint.run.readers.openrlhf import arguments_in, flags_of, read_run

    found = read_run(run.launch, run.project)
    if found is None or (found.own is None and "openrlhf" not in found.choices):
        return _nothing(run.framework)
    newest = found.choices["openrlhf"].newest if "openrlhf" in found.choices else ""
    arguments, flags = arguments_in(found, newest), flags_of(found, newest)
    if arguments is None or flags is None:
        return _nothing(run.framework)
    source = run.launch.source

    def given(name: str) -> Setting | Missing:
        flag = f"--{name}"
        word = arguments.words.get(flag)
        if word is not None:
            value = arguments.values.get(flag, UNKNOWN)
            return Setting(value, "flag", source.location(word.start, word.end))
        return UNKNOWN if arguments.hidden else ABSENT

    def default(name: str) -> Setting | Missing:
        known = flags.get(f"--{name}")
        if known is None:
            return ABSENT
        return known.default if isinstance(known.default, Missing) else Setting(known.default, "default", None)

    return Config(run.framework, given, default, lambda: (flag[2:] for flag in arguments.words))


# -- Hydra -------------------------------------------------------------------------------------------------------------


def _of_verl(run: Run) -> Config:
    """verl: the overrides over the composed config of the release, or of the project itself."""
    from trl_lint.run.readers.hydra import find
    from trl_lint.run.readers.verl import place_of, read_run

    found = read_run(run.launch, run.project)
    if found is None or (found.own is None and "verl" not in found.choices):
        return _nothing(run.framework)
    tree = found.composed(found.choices["verl"].newest if "verl" in found.choices else "")
    if tree is None:
        return _nothing(run.framework)
    places = {override.key: place_of(override, run.launch) for override in found.line.overrides}
    is_whole = all(override.is_certain for override in found.line.overrides)

    def read(name: str) -> Setting | Missing:
        value = find(tree, name)
        if isinstance(value, (dict, list)):
            return UNKNOWN
        return value if isinstance(value, Missing) else Setting(value, "default", None)

    def given(name: str) -> Setting | Missing:
        if name not in places:
            return ABSENT if is_whole else UNKNOWN
        said = read(name)
        return said._replace(origin="flag", location=places[name]) if isinstance(said, Setting) else UNKNOWN

    return Config(run.framework, given, read, lambda: iter(places))
