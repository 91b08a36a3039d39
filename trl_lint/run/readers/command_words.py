"""The words of a command, of which a config file may stand for some: `COMMAND sft sft.yaml`, `--config sft.yaml`.

cli/main.py of ms-swift makes flags of such a file before anything else reads them: `prepare_config_args` (3.10.0 to
4.0.4) puts those behind the others, `parse_yaml_args` (since 4.1.0) before them, and sets the variables of a block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from trl_lint.coverage import CONFIGURATION, HIDDEN, NO_DEFAULT, NO_FILE, NO_RELEASE, NOT_KNOWN
from trl_lint.finding import Location
from trl_lint.knowledge.command_keys import defaults_of
from trl_lint.knowledge.families import Arguments, arguments_of, framework_of
from trl_lint.knowledge.needles import MAX_BYTES
from trl_lint.knowledge.ranges import holds
from trl_lint.memos import per_project
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project import Project
from trl_lint.project.launchers import Flags, read_flags
from trl_lint.project.launches import Launch
from trl_lint.records import NamedTuple
from trl_lint.run.config import Config, Layer, Read, Versions, nothing_known, of_history, why
from trl_lint.run.effective import Said, Setting, Unknown, of_document, of_flag, of_words
from trl_lint.run.inputs import Inputs
from trl_lint.sources import Source, SourceError
from trl_lint.sources.nodes import Mapping, Node, Scalar, Sequence, value_of
from trl_lint.sources.placeholders import is_marked
from trl_lint.sources.shell import Word

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_SUFFIXES = (".yaml", ".yml", ".json")
_FLAG = "--config"
_FILE_LIMIT = 1 << 40  # beyond every place in a file


class Given(NamedTuple):
    """All words of a command. `of_file` are those that stand in `file`; `sets`: it sets variables of the process."""

    words: tuple[Word, ...]
    launch: Launch
    file: Source | None = None
    of_file: frozenset[Word] = frozenset()
    sets: bool = False

    def place(self, word: Word, end: int | None = None) -> Location:
        """Where a word stands, or the part of it before `end`."""
        source = self.file if self.file is not None and word in self.of_file else self.launch.source
        return source.location(word.start, word.end if end is None else min(word.end, end))

    def may_abbreviate(self, name: str) -> bool:
        """Whether a word may be the beginning of a flag, which argparse takes for the whole."""
        return any(_abbreviates(word.text or "", name) for word in self.words)

    def setting(self, name: str) -> Setting | Missing:
        """What the command and its file say about an argument, as `of_flag`."""
        if self.file is None:
            return of_flag(self.launch, name)
        flags = _flags_among(self.words)
        is_last = self.words[-1] in self.of_file

        def order(word: Word) -> int:
            return word.start + (_FILE_LIMIT if (word in self.of_file) is is_last else 0)

        return of_words(lambda flag: flags.given.get(flag, flags.absent), name, order, self.place)


@per_project
def words_of(launch: Launch, project: Project) -> Given | None:
    """The words behind a subcommand, with those of its config file; None where it is not known what that gives."""
    args = tuple(word._replace(text=None) if is_marked(word.text or "") else word for word in launch.args)
    family = arguments_of(framework_of(launch.program, launch.subcommand, launch.module))
    if family is None or not family.config_first:
        return Given(args, launch)
    if args and (args[0].text or "").endswith(_SUFFIXES):
        name, before, after, where = args[0], (), args[1:], family.config_first
        return _with_file(name, before, after, where, launch, family, project)
    at = next((index for index, word in enumerate(args) if (word.text or "").partition("=")[0] == _FLAG), None)
    if at is None:
        return Given(args, launch)
    if args[at].text != _FLAG or at + 1 == len(args):
        return None
    return _with_file(args[at + 1], (*args[:at], *args[at + 2 :]), (), family.config_flag, launch, family, project)


def _with_file(
    name: Word,
    before: tuple[Word, ...],
    after: tuple[Word, ...],
    where: str,
    launch: Launch,
    family: Arguments,
    project: Project,
) -> Given | None:
    chosen = project.environment(launch.source.path).choices.get(family.package)
    if chosen is None or not all(holds(where, version) for version in chosen.releases):
        return None  # other releases do not read it
    path = launch.file_named(name.text) if name.text else None
    read = _read(path, project) if path is not None else None
    if read is None:
        return None
    source, root = read
    words = tuple(_flags(root, source, family.config_sets))
    sets = bool(family.config_sets) and root.get(family.config_sets) is not None
    return Given((*before, *words, *after), launch, source, frozenset(words), sets)


def _abbreviates(word: str, name: str) -> bool:
    beginning = word[2:].partition("=")[0].replace("-", "_")
    return word.startswith("--") and bool(beginning) and beginning != name and name.startswith(beginning)


@lru_cache(maxsize=64)
def _flags_among(words: tuple[Word, ...]) -> Flags:
    return read_flags(words)


@per_project
def _read(path: str, project: Project) -> tuple[Source, Mapping] | None:
    """A config file, if it is one block of keys and values."""
    from trl_lint.sources.trees import read_trees

    try:
        file = project.files.get(path)
        if len(file.data) > MAX_BYTES:
            return None
        source = Source(file, "json" if path.endswith(".json") else "yaml")
        roots = read_trees(source)
    except (OSError, SourceError):
        return None
    root = roots[0] if len(roots) == 1 else None
    return (source, root) if isinstance(root, Mapping) else None


def _flags(root: Mapping, source: Source, left_out: str) -> Iterator[Word]:
    text = source.text
    for entry in root.entries:
        if not isinstance(entry.key.value, str) or entry.key.value == left_out:
            continue
        yield Word(f"--{entry.key.value}", text[entry.key.start : entry.key.end], entry.key.start, entry.key.end)
        for value in entry.value.items if isinstance(entry.value, Sequence) else (entry.value,):
            yield Word(_text_of(value), text[value.start : value.end], value.start, value.end)


def _text_of(node: Node) -> str | None:
    """A value as a word; not known where it is filled in, and for what no flag is written like."""
    value = value_of(node) if isinstance(node, Scalar) else UNKNOWN
    if isinstance(value, (bool, int, float)):
        return str(value)
    return value if isinstance(value, str) and "${" not in value and not is_marked(value) else None


# -- the options ---------------------------------------------------------------------------------------------------


def read_config(inputs: Inputs) -> Config:
    """LLaMA-Factory, ms-swift, axolotl: the flags, or the words `key=value`, over the config file."""
    arguments, launch = arguments_of(inputs.framework), inputs.launch
    if arguments is None:
        return nothing_known(inputs.framework, NOT_KNOWN, launch.location)
    words = words_of(launch, inputs.project)
    over_file = arguments.over_file
    recipe, link = (inputs.recipe, inputs.link("recipe")) if over_file else (None, None)
    if words is None or (link is not None and recipe is None):
        missing = link is not None and link.status == "missing"
        place = link.location if link is not None else launch.location
        return nothing_known(inputs.framework, NO_FILE if missing else CONFIGURATION, place)
    here = launch.location

    def of_flags(name: str) -> Said:
        return why(words.setting(name) if recipe is None else of_flag(launch, name), HIDDEN, here)

    def flags() -> Iterator[str]:
        texts = (word.text or "" for word in words.words)
        yield from (text.partition("=")[0][2:].replace("-", "_") for text in texts if text[:2] == "--" != text)

    def of_assignments(name: str) -> Said:
        return _assigned(launch.args, name, launch.source.location)

    def assignments() -> Iterator[str]:
        yield from (word.text.partition("=")[0] for word in launch.args if "=" in (word.text or "") and word.text)

    layers = [Layer(of_flags, flags)]
    if recipe is not None:
        if over_file == "assignments":
            layers = [Layer(of_assignments, assignments)]
        root = recipe.mapping
        in_file = [*_leaves(root)] if root is not None else []
        layers.append(Layer(lambda name: why(of_document(recipe, name), CONFIGURATION, here), lambda: in_file))

    package = arguments.package
    command = arguments.keys_for(launch.subcommand or "train")

    def defaults(versions: Versions) -> Read:
        if not versions.get(package):
            return lambda name: Unknown(NO_RELEASE, here)
        known = defaults_of(package, command, versions[package])

        def default(name: str) -> Said:
            if name in known:
                return of_history(known[name])
            return Unknown(NO_DEFAULT) if name.partition(".")[0] in known else ABSENT  # a part of a block

        return default

    return Config(inputs.framework, tuple(layers), defaults, inputs.choices.newest((package,)), package)


def _assigned(words: tuple[Word, ...], name: str, location: Callable[[int, int], Location]) -> Said:
    """What `key=value` says of a name: the last one counts, and a word that nobody knows hides those before it."""
    found: Said = ABSENT
    for word in words:
        key, equal, value = (word.raw.lstrip("\"'") if word.text is None else word.text).partition("=")
        if word.text is None and not (equal and key.replace(".", "_").isidentifier()):
            found = Unknown(HIDDEN, location(word.start, word.end))
        elif equal and key == name:
            read = None if value in _NULL else value
            found = Setting(UNKNOWN if word.text is None else read, "flag", location(word.start, word.end))
    return found


def _leaves(root: Mapping, above: str = "") -> Iterator[str]:
    """The dotted keys of a document that hold a value; of lists the key alone."""
    for entry in root.entries:
        name = f"{above}{entry.key.value}"
        if isinstance(entry.value, Mapping) and entry.value.entries:
            yield from _leaves(entry.value, f"{name}.")
        else:
            yield name
