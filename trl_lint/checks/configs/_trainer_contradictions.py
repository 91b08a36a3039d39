"""Values of a run that its training arguments or its trainer refuse together, or of which one is ignored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from trl_lint.checks._trainers import library_trainer, only_trainer, uses_trainer
from trl_lint.checks.configs._conditions import Read, all_hold
from trl_lint.checks.verdict import Level, Verdict, judge_releases
from trl_lint.finding import Location, Severity
from trl_lint.knowledge.contradictions import COMPARING, Contradiction, contradictions, old_names
from trl_lint.knowledge.ranges import holds
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.records import NamedTuple
from trl_lint.run.effective import Setting, Unknown, without_reason
from trl_lint.run.sharding import backend_of

if TYPE_CHECKING:
    from trl_lint.checks.rule import Rule
    from trl_lint.project.stack import Choice
    from trl_lint.run.runs import Run

_PACKAGES = ("trl", "transformers")
# Every trainer begins with a model, and none has its evaluation data among the first three.
_POSITIONAL = 3
_POSITIONS = {"model": 0, "ref_model": 1}  # of the trainers that have a reference model


class Found(NamedTuple):
    """A row that is true of a run: where, what, how severe, and the other places that it rests on."""

    location: Location
    message: str
    severity: Severity
    related: tuple[Location, ...]


def contradictions_in(run: Run, rule: Rule) -> Iterator[Found]:
    """What a rule has to say about the values of a run, each place once."""
    level = Level(rule, run.launch.is_documentation)
    seen: set[Location] = set()
    readers: dict[tuple[bool, tuple[str, ...]], Read] = {}

    def reader_of(versions: dict[str, str], with_defaults: bool) -> Read:
        key = with_defaults, tuple(text for package in sorted(versions) for text in (package, versions[package]))
        if key not in readers:
            readers[key] = _once(reader(run, versions, with_defaults))
        return readers[key]

    from trl_lint.checks.configs._release_says import is_made

    for row in contradictions(run.arguments_class):
        if row.code != rule.code or row.package not in run.choices or not _concerns(run, row):
            continue
        others = run.choices.newest(_PACKAGES)

        def read_in(version: str, row: Contradiction = row, others: dict[str, str] = others) -> Read:
            return reader_of({**others, row.package: version}, with_defaults=True)

        def said_in(version: str, row: Contradiction = row, others: dict[str, str] = others) -> Read:
            return reader_of({**others, row.package: version}, with_defaults=False)

        where = (run.launch.location._replace(message="the run"),) if run.launch.launcher else ()

        def made_in(version: str, package: str = row.package, others: dict[str, str] = others) -> bool:
            return is_made(run, {**others, package: version})

        found = _found(row, run.choices[row.package], made_in, read_in, said_in, level, where)
        if found is not None and found.location not in seen:
            seen.add(found.location)
            yield found


def _once(read: Read) -> Read:
    """The same reader, which looks up each field once: many rows are about the same ones."""
    known: dict[str, Setting | Missing] = {}

    def read_once(field: str) -> Setting | Missing:
        if field not in known:
            known[field] = read(field)
        return known[field]

    return read_once


def _concerns(run: Run, row: Contradiction) -> bool:
    """Whether the run certainly has the trainer that checks."""
    if row.trainer != "any":
        return uses_trainer(run, row.trainer)
    return (run.parser is not None and run.parser.kind == "trl-command") or library_trainer(run) is not None


def _found(
    row: Contradiction,
    chosen: Choice,
    made_in: Callable[[str], bool],
    read_in: Callable[[str], Read],
    said_in: Callable[[str], Read],
    level: Level,
    where: tuple[Location, ...],
) -> Found | None:
    """What a row says about the values that `read_in` gives for the releases of its package; None if nothing.

    `made_in` tells in which of them there is a config at all.

    `said_in` gives what somebody wrote of them.
    """
    if not _is_written(row, said_in, chosen):
        return None

    def is_bad(version: str) -> bool:
        return holds(row.releases, version) and all_hold(row.when, read_in(version)) is True and made_in(version)

    verdict = judge_releases(chosen, is_bad, level._replace(stops=bool(row.raises)))
    if verdict is None:
        return None
    read = read_in(verdict.version)
    said = [(name, found) for name in fields(row) if isinstance(found := read(name), Setting)]
    place = next((setting.location for _, setting in said if setting.location is not None), None)
    if place is None:
        return None  # nobody wrote any of it
    from trl_lint.checks._phrases import places

    related = places((name.rpartition(":")[2], setting) for name, setting in said if setting.location != place)
    message = worded(row, dict(said), verdict)
    return Found(place, message, verdict.severity, (*related, *where, *verdict.related))


def _is_written(row: Contradiction, said_in: Callable[[str], Read], chosen: Choice) -> bool:
    """Whether anything that a row is about stands somewhere; of defaults alone nothing is said.

    What stands there is the same for all releases, but for names that only the oldest or the newest of them take.
    """
    ends = dict.fromkeys(chosen.releases[:: max(len(chosen.releases) - 1, 1)])
    readers = [said_in(version) for version in ends]
    said = (read(name) for read in readers for name in fields(row))
    return any(isinstance(one, Setting) and one.location is not None for one in said)


def fields(row: Contradiction) -> tuple[str, ...]:
    """The fields that a row is about, those that it compares with too."""
    names: dict[str, None] = {}
    for condition in row.when:
        names[condition.field] = None
        if condition.operator in COMPARING:
            names[str(condition.operand)] = None
    return tuple(names)


def worded(row: Contradiction, said: dict[str, Setting], verdict: Verdict) -> str:
    """The message of a row, with the values and what is a default among them."""
    message = row.message.format_map({name: _shown(setting) for name, setting in said.items()})
    if not row.raises:
        return f"{message} ({verdict.scope})"
    who = "the trainer stops" if row.trainer else "the arguments are refused"
    return f"{who}: {message} ({verdict.scope})"


def _shown(setting: Setting) -> str:
    return f"{setting.value}" + (" by default" if setting.origin == "default" and setting.location is None else "")


def reader(run: Run, versions: dict[str, str], with_defaults: bool = True) -> Read:
    """What the fields of the table are in a run with these releases; those of arguments maybe without defaults, which
    have no place."""

    def read(field: str) -> Setting | Missing:
        kind, _, name = field.rpartition(":")
        if kind in ("accelerate", "deepspeed"):
            config = run.configs.accelerate if kind == "accelerate" else run.configs.deepspeed
            return without_reason(config.given(name)) or UNKNOWN
        if kind == "trainer":
            return _of_trainer(run, name)
        if field in _DERIVED:
            return _DERIVED[field](run)
        return _of_arguments(run, field, versions, with_defaults)

    return read


def _of_arguments(run: Run, field: str, versions: dict[str, str], with_defaults: bool) -> Setting | Missing:
    for old, is_taken in old_names(field, versions.get("transformers", "")):
        said = run.config.given(old)
        if said is not ABSENT:
            return said if is_taken and isinstance(said, Setting) else UNKNOWN
    config = run.config
    return without_reason(config.at(versions).final(field) if with_defaults else config.given(field))


def _scheduler(run: Run) -> Setting | Missing:
    """Whose scheduler sets the learning rate: that of the DeepSpeed config, where it has one, comes first."""
    named = run.config.given("deepspeed")
    is_named = isinstance(named, Setting) and named.value not in (None, "", "None")
    if run.configs.accelerate.given("deepspeed_config.deepspeed_config_file"):
        is_named = True
    if run.link("deepspeed") is None and not is_named:
        return Setting("transformers", "default", None) if not isinstance(named, Unknown) else UNKNOWN
    root = run.deepspeed.mapping if run.deepspeed is not None else None
    if root is None:
        return UNKNOWN
    return Setting("transformers" if root.get("scheduler") is None else "deepspeed", "default", None)


_DERIVED: dict[str, Callable[[Run], Setting | Missing]] = {"backend": backend_of, "scheduler": _scheduler}


def _of_trainer(run: Run, name: str) -> Setting | Missing:
    """An argument of the call that builds the trainer: whether there is one, and what it is as far as its text says."""
    from trl_lint.checks.configs._trainer_objects import ObjectsGiven
    from trl_lint.knowledge.condition_things import Thing

    built = only_trainer(run.script.module) if run.script is not None else None
    if built is None or run.script is None or not built[1].startswith("trl."):
        return UNKNOWN
    (call, trainer), module = built, run.script.module
    given = ObjectsGiven(trainer, call, module, run)
    position = _POSITIONS.get(name)
    found = given.argument(name, position)
    if found is ABSENT:
        is_clear = given.positional <= (_POSITIONAL if position is None else position)
        return Setting(None, "script", module.location(call.func)) if is_clear else UNKNOWN
    if isinstance(found, Missing):
        return UNKNOWN
    if isinstance(found.value, Thing):
        is_adapted = "PeftModel" in found.value.kinds
        return Setting("a PeftModel" if is_adapted else "an object", "script", found.location)
    return Setting(None, "script", found.location) if found.value is None else UNKNOWN
