"""Hydra overrides of a command, and what they do to a configuration.

Read and run in hydra-core 1.3.2. A configuration is a tree of dicts; a leaf is a value of YAML, a list, `MISSING`
(`???`) or UNKNOWN (an interpolation, or what a value that nobody knows has put there). A composed configuration takes
no new keys, so:

* `key=value` needs the key; nothing below a value, a null or an empty dict can be set this way;
* `+key=value` needs that there is nothing, or a null, at the key, unless the value is a dict or a list;
* `++key=value` always works; `~key` needs the key.
"""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal

from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.project.launches import Launch
from trl_lint.project.links import linked_files
from trl_lint.python.values import literal_of
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources.shell import Word
from trl_lint.sources.shell_values import HOLE

Tree = dict[str, Any]
Sign = Literal["", "+", "++", "~"]
Fault = Literal["override", "append", "delete"]

_OVERRIDE = regex(r"(?P<sign>\+\+|\+|~|)(?P<key>[A-Za-z_][\w./@:-]*)(?:=(?P<value>.*))?\Z", re.DOTALL)
_KEY_OF_HOLE = regex(r"[\"']?(?P<sign>\+\+|\+|~|)(?P<key>[A-Za-z_][\w./@:-]*)=(?P<value>.*)\Z", re.DOTALL)
_ARGUMENTS = regex(r"[\"']?\$(?:[@*]|\{[@*]\})[\"']?\Z")
_OPTIONS = {"-cn": "--config-name", "-cp": "--config-path"}
_GROUP_SIGNS = frozenset("@/:")
_VARIABLE = regex(r"[\"']?\$\{?([A-Za-z_]\w*)(?:\[[@*]\])?\}?[\"']?\Z")
# The pieces of a list: a quoted part up to its quote or else to the end, what is escaped, a bracket, a comment.
_PIECE = regex(
    r"\"(?:[^\"\\]|\\(?:.|\Z))*(?:\"|\Z)|'[^']*(?:'|\Z)|\\(?:.|\Z)|(?<!\S)#[^\n]*|[()]|\s+|[^\s\"'\\()]+", re.DOTALL
)
_NUMBER = regex(r"[+-]?(?:\d[\d_]*)\Z")
_FLOAT = regex(r"[+-]?(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:e[+-]?\d+)?\Z", re.IGNORECASE)
_LONGEST_NUMBER = 400  # characters; beyond, Python may refuse to read it


class Mandatory(enum.Enum):
    """A value that has to be given; an enumeration, so that a copied tree has the very same one."""

    MISSING = "???"


MISSING = Mandatory.MISSING


class Override(NamedTuple):
    """One override; `value` is None where it is not known.

    `is_certain`: the command has it in every case; False for what stands in a variable that some branch may fill.
    """

    sign: Sign
    key: str
    value: str | None
    word: Word
    is_certain: bool = True

    @property
    def head(self) -> str:
        return self.sign + self.key

    @property
    def is_container(self) -> bool | None:
        """Whether the value is a dict or a list; None if nobody knows."""
        if self.value is None:
            return None
        return self.value.lstrip()[:1] in ("{", "[")


class CommandLine(NamedTuple):
    """The overrides of a command in their order, the config it names and where it looks ("": the program's own).

    `groups`: options that select whole configs (`actor@actor_rollout_ref.actor=dp_actor`). `takes_more`: the command
    ends in the arguments of its script (`"$@"`).
    """

    overrides: tuple[Override, ...]
    config_name: str
    config_path: str
    groups: tuple[Override, ...]
    takes_more: bool


def read_command_line(launch: Launch) -> CommandLine | None:
    """The Hydra command line of a launch; None if words are hidden, or if it leads to configs from elsewhere."""
    overrides: list[Override] = []
    options = {"--config-name": "", "--config-path": ""}
    takes_more, tail = False, ""
    words = iter(launch.args)
    for word in words:
        text = word.text
        if text is not None and text.startswith("-"):
            name, equals, value = text.partition("=")
            name = _OPTIONS.get(name, name)
            held = None if equals else next(words, None)
            given = value if equals else getattr(held, "text", None)
            if name == "--config-path" and given is None and (below := _below_unknown(held)):
                given, tail = below, below
            if name not in options or not given:
                return None
            options[name] = given
        elif text is None and (below := _below_unknown(word, "--config-path=") or _below_unknown(word, "-cp=")):
            tail = below
        elif text is None and _ARGUMENTS.match(word.raw):
            if not overrides and word is not launch.args[-1]:
                return None  # what is given from outside comes first, and may add any key
            takes_more = True
        elif (override := _read_override(word)) is not None:
            overrides.append(override)
        elif text is None and (possible := _possible_overrides(word, launch)) is not None:
            overrides += possible
        else:
            return None  # a placeholder of a document, or a word that nobody knows
    path = options["--config-path"]
    if tail:
        name = options["--config-name"].removesuffix(".yaml")
        files = linked_files(f"{tail}/{name}.yaml", launch.source, "") if name else []
        if len(files) != 1:
            return None
        path = os.path.dirname(files[0])
    own = [override for override in overrides if not override.key.startswith("hydra.")]
    groups = tuple(override for override in own if _names_group(override))
    if any(override.key == "hydra.searchpath" for override in overrides) or not all(o.is_certain for o in groups):
        return None
    return CommandLine(
        tuple(override for override in own if not _names_group(override)),
        options["--config-name"].removesuffix(".yaml"),
        path,
        groups,
        takes_more,
    )


def _below_unknown(word: Word | None, option: str = "") -> str:
    """`a/config` of `--config-path="$HERE/a/config"`, or of its value alone; "" for all else."""
    before, slash, path = word.template.partition("/") if word is not None else ("", "", "")
    return path if slash and before == option + HOLE and path and HOLE not in path else ""


def _names_group(override: Override) -> bool:
    return not _GROUP_SIGNS.isdisjoint(override.key)


def _possible_overrides(word: Word, launch: Launch) -> list[Override] | None:
    """The overrides that `"${ACTOR[@]}"` or `$ACTOR` may stand for: all that the script ever assigns to the variable.

    None where they cannot all be read there.
    """
    match = _VARIABLE.match(word.raw)
    if match is None:
        return None
    pattern = rf"(?<![\w$]){match[1]}\+?=(?:\(|\"(?:[^\"\\]|\\.)*\"|'[^']*'|(?=\s|;|$))"
    assigned = list(re.finditer(pattern, launch.source.text, re.DOTALL))
    every = re.findall(rf"(?<![\w$]){match[1]}\+?=", launch.source.text)
    otherwise = rf"\b(?:for|read|mapfile|readarray|printf[ \t]+-v)\b[^\n;|&]{{0,300}}\b{match[1]}\b"
    if len(every) != len(assigned) or re.search(otherwise, launch.source.text):
        return None
    found: list[Override] = []
    for each in assigned:
        text = each[0].partition("=")[2].strip("\"'")
        if text == "(":
            end = _end_of_list(launch.source.text, each.end())
            if end is None:
                return None
            text = launch.source.text[each.end() : end]
        for item in _items(text):
            head = _KEY_OF_HOLE.match(item)
            if head is None:
                return None
            found.append(Override(_sign(head), head["key"], None, word, False))
    return found if assigned else None


def _items(text: str) -> list[str]:
    """The words of a list, with their quotes; comments are left out."""
    found, is_open = [""], False
    for match in _PIECE.finditer(text):
        if match[0][0] == "#" or match[0].isspace():
            is_open = False
        elif is_open:
            found[-1] += match[0]
        else:
            found.append(match[0])
            is_open = True
    return found[1:]


def _end_of_list(text: str, start: int) -> int | None:
    """Where the `)` of an array stands; quotes and comments are passed over."""
    for match in _PIECE.finditer(text, start):
        if match[0] == ")":
            return match.start()
        if match[0] == "(" and text[match.start() - 1] != "$":
            return None
    return None


def _read_override(word: Word) -> Override | None:
    if word.text is not None:
        match = _OVERRIDE.match(word.text)
        if match is None or (match["value"] is None and match["sign"] != "~"):
            return None
        return Override(_sign(match), match["key"], match["value"], word)
    match = _KEY_OF_HOLE.match(word.raw)
    return Override(_sign(match), match["key"], None, word) if match is not None else None


def _sign(match: re.Match[str]) -> Sign:
    signs: dict[str, Sign] = {"": "", "+": "+", "++": "++", "~": "~"}
    return signs[match["sign"]]


# -- the tree -----------------------------------------------------------------------------------------------------


def find(tree: Tree, key: str) -> Any:
    """What is at a dotted key: a dict, a value, ABSENT, or UNKNOWN (inside a list or something unknown)."""
    node: Any = tree
    for part in key.split("."):
        if isinstance(node, list) or node is UNKNOWN or node is MISSING:
            return UNKNOWN
        if not isinstance(node, dict) or part not in node:
            return ABSENT
        node = node[part]
    return node


def copied(tree: Tree) -> Tree:
    """The tree with dicts and lists of its own, for one command to change."""
    return {key: copied(value) if value.__class__ is dict else _copied(value) for key, value in tree.items()}


def _copied(value: Any) -> Any:
    if value.__class__ is list:
        return [_copied(item) for item in value]
    return copied(value) if value.__class__ is dict else value


def put(tree: Tree, key: str, value: Any) -> None:
    """Set a dotted key; what stands in its way becomes a dict."""
    *above, last = key.split(".")
    node = tree
    for part in above:
        child = node.get(part)
        if child is UNKNOWN or isinstance(child, list):
            return
        if not isinstance(child, dict):
            child = node[part] = {}
        node = child
    node[last] = value


def remove(tree: Tree, key: str) -> None:
    above, _, last = key.rpartition(".")
    owner = find(tree, above) if above else tree
    if isinstance(owner, dict):
        owner.pop(last, None)


def apply(tree: Tree, override: Override) -> Fault | None:
    """Do to a tree what an override does; what Hydra refuses changes nothing."""
    found = find(tree, override.key)
    if not override.is_certain:
        if override.sign or found is not ABSENT:
            put(tree, override.key, UNKNOWN)
        return None
    if override.sign == "~":
        if found is ABSENT or found is None:
            return "delete"
        remove(tree, override.key)
        return None
    if override.sign == "" and found is ABSENT:
        return "override"
    if override.sign == "+" and found is not ABSENT and found is not None and found is not MISSING:
        if found is not UNKNOWN and override.is_container is False:
            return "append"
        put(tree, override.key, UNKNOWN)
        return None
    put(tree, override.key, read_value(override.value))
    return None


def apply_all(tree: Tree, overrides: Sequence[Override]) -> Iterator[tuple[int, Fault]]:
    """Apply overrides in their order; those that Hydra refuses, by their position."""
    for index, override in enumerate(overrides):
        fault = apply(tree, override)
        if fault is not None:
            yield index, fault


def read_value(text: str | None) -> Any:
    """The value an override gives: a number, a truth value, None, a string; UNKNOWN for lists, dicts and the rest."""
    if text is None or "${" in text:
        return UNKNOWN
    text = text.strip()
    if text[:1] in ("[", "{") or "," in text:
        return UNKNOWN
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    plain = {"null": None, "true": True, "false": False}
    if text.lower() in plain:
        return plain[text.lower()]
    if _FLOAT.match(text):  # or a whole number
        return _number(text)
    return UNKNOWN if "(" in text else text


def _number(text: str) -> Any:
    """A number, UNKNOWN where Python reads none (`1__0`)."""
    if len(text) > _LONGEST_NUMBER:
        return UNKNOWN
    try:
        return int(text) if _NUMBER.match(text) else float(text)
    except ValueError:
        return UNKNOWN


def tree_of(keys: dict[str, str]) -> Tree:
    """A tree from the dotted keys of a history (`config ppo_trainer`) and their defaults."""
    tree: Tree = {}
    for key, text in sorted(keys.items(), key=lambda item: item[0].count(".")):
        put(tree, key, _default(text))
    return tree


def _default(text: str) -> Any:
    if text == "{}":
        return {}
    if text.startswith("["):
        return []
    return _plain_default(text)


@lru_cache(maxsize=4096)
def _plain_default(text: str) -> Any:
    """A default that nobody can change; the trees of many releases have the same ones."""
    if text == "'???'":
        return MISSING
    try:
        value = literal_of(text)
    except (ValueError, SyntaxError):
        return UNKNOWN
    return UNKNOWN if isinstance(value, (dict, list, tuple, set, bytes)) else value
