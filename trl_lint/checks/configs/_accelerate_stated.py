"""What accelerate's own classes refuse of its config file, read from the source of each release (`rules/conditions`).

The launcher puts the keys of a block into the environment of the processes, `fsdp_config.fsdp_use_orig_params` as
FSDP_USE_ORIG_PARAMS, and each process makes the class of the block without arguments, which reads them there
(utils/launch.py, utils/dataclasses.py and parallelism_config.py, 0.20.3 to 1.15.0).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache

from packaging.version import Version

from trl_lint.checks._phrases import either
from trl_lint.checks.configs._accelerate import SEVERAL_DEVICES, SHARDING, AccelerateFile, read_accelerate
from trl_lint.checks.configs._problems import Problem, fine_but_in, is_known
from trl_lint.knowledge.api import signature
from trl_lint.knowledge.condition_language import UNKNOWN, parse, truth_of
from trl_lint.knowledge.condition_names import deciding
from trl_lint.knowledge.condition_sentences import filled_in
from trl_lint.knowledge.conditions import Condition, releases_of
from trl_lint.knowledge.configs import launch_options, option_of
from trl_lint.missing import Missing
from trl_lint.project.documents import Document
from trl_lint.run.effective import of_default
from trl_lint.sources.nodes import Entry, Scalar, value_of
from trl_lint.sources.nodes import Mapping as Tree
from trl_lint.sources.placeholders import is_blank

# By block its class, and the backends of which the processes make it.
_BLOCKS: Mapping[str, tuple[str, frozenset[str]]] = {
    "fsdp_config": ("accelerate.utils.dataclasses:FullyShardedDataParallelPlugin", frozenset({"FSDP"})),
    "parallelism_config": ("accelerate.parallelism_config:ParallelismConfig", SEVERAL_DEVICES | SHARDING),
}
_VERSION = "fsdp_version"  # which of two plugins it is: part of nearly every condition, and of few sentences
_TRUE = "yes"


class _Launched:
    """What a process finds in its environment, in one release: the keys of a block, and the launcher's defaults."""

    def __init__(self, file: AccelerateFile, block: str, version: str) -> None:
        self._file = file
        self._block = block
        self._options = launch_options(version) or {}
        self._fields = signature(_BLOCKS[block][0], {"accelerate": version}).parameters

    def field(self, name: str) -> object:
        parameter = self._fields.get(name)
        said = of_default(parameter.default) if parameter is not None else None
        return UNKNOWN if said is None or isinstance(said, Missing) or isinstance(said.value, Missing) else said.value

    def base(self, name: str) -> object:
        return UNKNOWN

    def arg(self, name: str) -> object:
        return UNKNOWN

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        if name != "env" or not isinstance(arguments[0], str):
            return UNKNOWN
        option = arguments[0].lower()
        default = self._options.get(option)
        if default is None:
            return UNKNOWN  # no option of this launcher: another program may set the variable
        entry = self._file.entry(f"{self._block}.{option}")
        if entry is None:
            value: object = ast.literal_eval(default) if _is_plain(default) else UNKNOWN
        else:
            value = value_of(entry.value) if is_to_be_read(entry, option) else UNKNOWN
        if value is None and default == "None":
            return arguments[1] if len(arguments) > 1 else None  # the launcher leaves it out
        return value if value is UNKNOWN else str(value)


def is_to_be_read(entry: Entry, option: str) -> bool:
    """Whether an entry has a value of its own: not a blank, not a block."""
    node = entry.value
    return isinstance(node, Scalar) and is_known(node) and not is_blank(str(node.value), option, in_capitals=True)


def _is_plain(default: str) -> bool:
    try:
        ast.literal_eval(default)
    except (ValueError, SyntaxError):
        return False
    return True


def stated_values(document: Document) -> Iterator[Problem]:
    """The values that a class does not take, each by itself."""
    yield from _refused(document, is_one=True)


def stated_contradictions(document: Document) -> Iterator[Problem]:
    """The values that a class does not take together."""
    yield from _refused(document, is_one=False)


def _refused(document: Document, is_one: bool) -> Iterator[Problem]:
    file = read_accelerate(document)
    for block, (path, backends) in _BLOCKS.items() if file is not None else ():
        assert file is not None
        tree = file.root.get(block)
        if file.backend not in backends or not isinstance(tree, Tree):
            continue
        written = frozenset(option_of(block, str(entry.key.value)) for entry in tree.entries)
        found: dict[tuple[str, ...], dict[str, tuple[Condition, _Launched]]] = {}
        for condition, versions in releases_of("accelerate", path.partition(":")[2]).items():
            read = _read(condition.condition)
            if condition.kind != "refuse" or written.isdisjoint(read):
                continue
            newest = max(versions, key=Version)
            world = _Launched(file, block, newest)
            if truth_of(condition.condition, world) is not True:
                continue
            keys = _keys(condition, world)
            if written.isdisjoint(keys) or (len(keys) == 1) is not is_one:
                continue
            absent = read - written
            same = {
                each
                for each in versions
                if _has(read & written, each) and _defaults(absent, each) == _defaults(absent, newest)
            }
            found.setdefault(keys, {}).update(dict.fromkeys(same, (condition, world)))
        about: set[frozenset[str]] = set()
        for keys, said in found.items():
            given = written & set(keys)
            if given not in about:  # the class stops at the first fault of a value
                about.add(given)
                yield _problem(document, file, block, keys, said)


@lru_cache(maxsize=256)
def _read(condition: str) -> frozenset[str]:
    """The options that a condition reads from the environment."""
    tree = parse(condition)
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call)) if tree is not None else ()
    return frozenset(
        str(call.args[0].value).lower()
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "env" and isinstance(call.args[0], ast.Constant)
    )


def _has(options: frozenset[str], version: str) -> bool:
    """Whether the launcher of a release hands all of these on."""
    return options <= (launch_options(version) or {}).keys()


@lru_cache(maxsize=1024)
def _defaults(read: frozenset[str], version: str) -> tuple[str | None, ...]:
    options = launch_options(version) or {}
    return tuple(options.get(name) for name in sorted(read))


def _keys(condition: Condition, world: _Launched) -> tuple[str, ...]:
    """The options that decide; the version only where the sentence names it."""
    names = deciding(condition.condition, world)
    options = {name[4:-1].lower() for name in names if name.startswith("env(")}
    if _VERSION not in condition.sentence:
        options.discard(_VERSION)
    return tuple(sorted(options))


def _problem(
    document: Document,
    file: AccelerateFile,
    block: str,
    keys: tuple[str, ...],
    said: Mapping[str, tuple[Condition, _Launched]],
) -> Problem:
    """A problem of which the releases in `said` speak, in the words of the newest."""
    condition, world = said[max(said, key=Version)]
    entries = {key: entry for key in keys if (entry := file.entry(f"{block}.{key}")) is not None}
    places = sorted(entries.values(), key=lambda entry: entry.key.start)
    told = [f"`{entry.key.value}` is {_written(entry, document)}" for entry in places]
    told += [f"`{key}` is not set" for key in keys if key not in entries]
    kind, _, text = condition.sentence.partition(": ")
    message = f'accelerate refuses this: {", ".join(told)} ({kind}: "{filled_in(text, world)}"){_instead(condition)}'
    related = tuple(document.place(entry, "together with this") for entry in places[:-1])
    options = file.replacing(_VERSION, *keys)
    return Problem(places[-1], message, "accelerate", fine_but_in("accelerate", said), options=options, related=related)


def _written(entry: Entry, document: Document) -> str:
    return document.source.text[entry.value.start : entry.value.end]


def _instead(condition: Condition) -> str:
    """What the value may be, where that is a list of constants."""
    tree = parse(condition.condition)
    lists = [node for node in ast.walk(tree) if isinstance(node, ast.Compare)] if tree is not None else []
    words = [
        str(each.value)
        for node in lists
        if isinstance(node.ops[0], ast.NotIn) and isinstance(node.comparators[0], (ast.List, ast.Tuple))
        for each in node.comparators[0].elts
        if isinstance(each, ast.Constant)
    ]
    return "" if not words else ": use true or false" if _TRUE in words else f": use {either(words)}"
