"""What the releases of a program refuse of its settings (`rules/conditions`), read for one command.

The settings are a tree (`Block`): keys of a composed config, or flags. A release's statements are read in the world of
the tree; those of a class that is made of a block, in the world of that block.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from trl_lint.checks.verdict import Level, Verdict, judge
from trl_lint.knowledge.condition_language import CRASH, UNKNOWN, Block, parse, raised_by, truth_of
from trl_lint.knowledge.condition_names import deciding
from trl_lint.knowledge.conditions import Condition, conditions_of
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.value_types import fits, shown
from trl_lint.project.stack import Choices
from trl_lint.records import NamedTuple

_DECLARED = "ValidationError: "
# Which class a block is made of: chosen with the strategy, and written by nobody.
_CHOSEN = "_target_"


class Beside(Protocol):
    """What is known beside the settings; each answers a plain value or UNKNOWN.

    `base`: a field of the class of another package that reads them; `fact`: of the run; `keys_of`: the settings on
    which one of these rests (`base.x`, `fact()`).
    """

    def base(self, name: str) -> object: ...

    def fact(self, name: str) -> object: ...

    def keys_of(self, name: str) -> Iterable[str]: ...


class BlockWorld:
    """A world of settings in blocks. Facts about machines and installations are not known.

    `absent`: what a setting is that is not there. `beside`: what is known beside the settings.
    """

    def __init__(self, block: Block, whole: Block, absent: object = UNKNOWN, beside: Beside | None = None) -> None:
        self.block = block
        self.whole = whole
        self.absent = absent
        self.beside = beside

    def field(self, name: str) -> object:
        return self.whole if name == "root" else self.block.get(name, self.absent)

    def base(self, name: str) -> object:
        return UNKNOWN if self.beside is None else self.beside.base(name)

    def arg(self, name: str) -> object:
        return UNKNOWN

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        return UNKNOWN if self.beside is None else self.beside.fact(name)


class Reading(NamedTuple):
    """A class or a program of a package (`owner`) and the block of settings that it gets, `because` of settings."""

    owner: str
    block: Block
    because: tuple[str, ...] = ()


class Settings(NamedTuple):
    """The settings of a command in one release, who reads which of them, and the names by which they are written.

    `readings` are in the order in which they happen. `same`: a setting that nobody gave, and the one whose value it
    takes. `absent`: what a setting is that is not there; `beside`: what is known beside them.
    """

    whole: Block
    readings: tuple[Reading, ...]
    same: Mapping[str, str] = {}
    absent: object = UNKNOWN
    beside: Beside | None = None


class Refused(NamedTuple):
    """A statement that refuses the settings: `keys` are those that decide, in the order in which it names them."""

    condition: Condition
    world: BlockWorld
    keys: tuple[str, ...]
    crashes: bool


class Broken(NamedTuple):
    """A refusal with the judgement over the releases in use, and its words. `is_declared`: of what one setting may be,
    as its class declares it.
    """

    message: str
    verdict: Verdict
    keys: tuple[str, ...]
    is_declared: bool = False


def refused_in(package: str, version: str, settings: Settings, is_read: bool = True) -> list[Refused]:
    """Every statement of a release that refuses the settings, while it reads them (`is_read`) or later."""
    from trl_lint.knowledge.later_refusals import later_conditions

    found: list[Refused] = []
    stated = conditions_of if is_read else later_conditions
    for reading in settings.readings:
        world = BlockWorld(reading.block, settings.whole, settings.absent, settings.beside)
        for condition in stated(package, reading.owner, version):
            if condition.kind == "type":
                found += _of_other_type(condition, reading.block, world)
            if condition.kind != "refuse":
                continue
            truth = truth_of(condition.condition, world)
            if truth is True or truth is CRASH:
                keys = _keys(condition.condition, reading, world, settings)
                found.append(Refused(condition, world, keys, truth is CRASH))
    return found


def _refused_at_all(package: str, version: str, settings: Settings) -> list[Refused]:
    return [*refused_in(package, version, settings), *refused_in(package, version, settings, is_read=False)]


def _of_other_type(condition: Condition, block: Block, world: BlockWorld) -> Iterator[Refused]:
    """The setting that a class declares to be of another type than it is."""
    key, kind = condition.condition, condition.sentence
    if fits(_at(block, key), kind) is False:
        told = condition._replace(sentence=f"{_DECLARED}{key}: Input should be {shown(kind)}".replace("{", "{{"))
        yield Refused(told, world, (key,), False)


def _told_anyway(refused: Refused, settings: Settings, given: frozenset[str]) -> Refused | None:
    """What is refused by the rest of a condition, of which a part raises for want of a setting that nobody gave."""
    tree = parse(refused.condition.condition)
    if not isinstance(tree, ast.BoolOp) or not isinstance(tree.op, ast.And):
        return None
    texts = [ast.unparse(part) for part in tree.values]
    rest = " and ".join(f"({text})" for text in texts if truth_of(text, refused.world) is not CRASH)
    if truth_of(texts[-1], refused.world) is CRASH or truth_of(rest, refused.world) is not True:
        return None
    keys = _keys(rest, Reading("", refused.world.block), refused.world, settings)
    return refused._replace(keys=keys, crashes=False) if given & set(keys) else None


def _keys(text: str, reading: Reading, world: BlockWorld, settings: Settings) -> tuple[str, ...]:
    """The dotted names of the settings that decide; of one that follows another, the other."""
    order: dict[str, None] = {}
    found = deciding(text, world)
    names = {key for name in found for key in _rests_on(name, settings)}
    for name in sorted(names, key=lambda each: (text.find(each.rpartition(".")[2]), each)):
        if "(" in name or name in ("_", "root"):
            continue
        key = name if "." in name or not reading.block.path else f"{reading.block.path}.{name}"
        order[settings.same.get(key, key)] = None
    order.update(dict.fromkeys(reading.because))
    return tuple(key for key in order if key.rpartition(".")[2] != _CHOSEN)


def _rests_on(name: str, settings: Settings) -> Iterable[str]:
    if settings.beside is None or not (name.startswith("base.") or name.endswith("()")):
        return (name,)
    return settings.beside.keys_of(name)


def broken(
    package: str,
    choices: Choices,
    settings_in: Callable[[str], Settings | None],
    written: Iterable[str],
    level: Level,
    shown: str,
    crashes: Callable[[Refused], bool] = lambda refused: True,
) -> Iterator[Broken]:
    """The refusals that hold for a command in the releases in use; of those about the same settings the first.

    `settings_in` is asked once for each release. `written`: the settings that the command gives. `shown`: the package's
    name as people write it. `crashes`: whether an expression that raises by itself counts as well.
    """
    if package not in choices:
        return
    newest = choices[package].newest
    settings = settings_in(newest)
    if settings is None:
        return
    refused: dict[str, list[Refused] | None] = {newest: _refused_at_all(package, newest, settings)}

    def known(version: str) -> list[Refused] | None:
        if version not in refused:
            found = settings_in(version)
            refused[version] = None if found is None else _refused_at_all(package, version, found)
        return refused[version]

    given = frozenset(written)
    told: set[frozenset[str]] = set()
    points = {package: frozenset(range(len(releases(package))))}
    for found in known(newest) or ():
        if found.crashes and not crashes(found):
            continue
        one = _told_anyway(found, settings, given) if found.crashes and given.isdisjoint(found.keys) else found
        about = frozenset() if one is None else given & set(one.keys) or frozenset(one.keys)
        if one is None or not about or about in told:
            continue  # that without any setting is no fault of the command
        sentence = one.condition.sentence

        def ask(versions: dict[str, str], about: frozenset[str] = about, sentence: str = sentence) -> bool | None:
            there = known(versions[package])
            if there is None:
                return None
            return not any(about <= set(each.keys) or each.condition.sentence == sentence for each in there)

        # A value may be allowed by now; that settings go together which never did is another matter.
        verdict = judge(choices, points, ask, level, package, may_be_new=len(one.keys) == 1)
        if verdict is not None:
            told.add(about)
            words = _worded(f"{shown} {newest}", one, given, settings, verdict)
            yield Broken(words, verdict, one.keys, one.condition.sentence.startswith(_DECLARED))


def _worded(who: str, refused: Refused, given: frozenset[str], settings: Settings, verdict: Verdict) -> str:
    from trl_lint.knowledge.condition_sentences import filled_in

    told = []
    for key in refused.keys:
        value = _at(settings.whole, key)
        if value is UNKNOWN and settings.absent is None and "." not in key:
            if not refused.condition.sentence.startswith(_DECLARED):
                told.append(f"`{key}` is not set" if key not in settings.whole else f"`{key}` is not known")
        elif value is not UNKNOWN and not isinstance(value, Block) and (key in given or _has_a_say(refused, key)):
            told.append(f"`{key}` is {value}" + ("" if key in given else " by default"))
    kind, _, text = refused.condition.sentence.partition(": ")
    kind = kind.rstrip(":")
    if refused.crashes:
        from trl_lint.checks.configs._release_refusals import raised_words

        quoted = raised_words(raised_by(refused.condition.condition, refused.world))
    elif text:
        quoted = f'{kind}: "{filled_in(text, refused.world).rstrip(".")}"'
    else:
        quoted = f"{kind} where `{_own(refused.condition.condition)}`"
    colon = ": " if told else ""  # a refusal of the type of a block names it in what is quoted
    return f"{who} refuses this{colon}{', '.join(told)} ({quoted}; {verdict.scope})"


def _has_a_say(refused: Refused, key: str) -> bool:
    """Whether a default decides: not a switch that may be turned without ending the refusal."""
    block = refused.world.block
    name = key.removeprefix(f"{block.path}.")
    value = block.get(name)
    if not isinstance(value, bool):
        return True
    turned = Block(block.path, {**block, name: not value})
    whole = turned if refused.world.whole is block else refused.world.whole
    world = BlockWorld(turned, whole, refused.world.absent, refused.world.beside)
    return truth_of(refused.condition.condition, world) is not True


def _own(condition: str) -> str:
    """What an assertion without words asserts, negated: the last part of its condition."""
    tree = parse(condition)
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        tree = tree.values[-1]
    return ast.unparse(tree) if tree is not None else condition


def _at(whole: Block, key: str) -> object:
    value: object = whole
    for part in key.split("."):
        value = value.get(part, UNKNOWN) if isinstance(value, Block) else UNKNOWN
    return value
