"""The values of a run that decide what a release says of it: who wrote them, and what they are, in words."""

from __future__ import annotations

from trl_lint.checks._phrases import places
from trl_lint.checks.configs._run_world import RunWorld
from trl_lint.finding import Location
from trl_lint.knowledge.condition_names import deciding, words_in
from trl_lint.knowledge.condition_things import Thing
from trl_lint.knowledge.conditions_join import Statement
from trl_lint.missing import Missing
from trl_lint.records import NamedTuple
from trl_lint.run.effective import Setting
from trl_lint.words import with_article


class Deciding(NamedTuple):
    """What decides. `names`: of fields, `arg.x` of arguments of a trainer, `fact()` of facts of the run; `location`:
    where the value stands that says most; `related`: where the others stand; `told`: all of them, in words; `texts`:
    the values of the fields, by name.
    """

    names: frozenset[str]
    location: Location
    related: tuple[Location, ...]
    told: str
    texts: tuple[tuple[str, str], ...]


def deciding_values(world: RunWorld, statement: Statement, named: str = "", is_typed: bool = False) -> Deciding | None:
    """The values that decide a statement; None where nobody wrote one of them, or one may be another by then.

    `named`: the one that the statement is about, if it says so. `is_typed`: their types decide as well, and None where
    whoever reads them from a file or a command may make another type of one.
    """
    condition = statement.condition.condition
    names = statement.world.rests_on(deciding(condition, statement.world))
    order = {name: number for number, name in enumerate(words_in(condition))}
    fields = sorted((name for name in names if "." not in name and "(" not in name), key=lambda n: (order.get(n, 0), n))
    settings = [(field, said) for field in fields if isinstance(said := world.setting(field), Setting)]
    if any(world.is_doubtful(field) for field in fields):
        return None
    if is_typed and not all(_has_type(world, field, said) for field, said in settings):
        return None
    arguments = [
        (name.removeprefix("arg."), found)
        for name in sorted(names, key=lambda n: order.get(n.removeprefix("arg."), 0))
        if name.startswith("arg.") and not isinstance(found := world.argument(name.removeprefix("arg.")), Missing)
    ]
    written = [(field, said) for field, said in settings if said.location is not None]
    call = world.given.location if world.given is not None else None
    # Old trainers take as an argument what their config has as well; one that is not given says nothing beside it.
    arguments = [one for one in arguments if one[0] not in fields or one[1].location != call]
    # A switch says less about what is wrong than the value that it makes count, or the object that does not fit it.
    telling: list[Location | None] = [said.location for name, said in written if name == named]
    telling += [value.location for name, value in arguments if name == named and value.location != call]
    telling += [said.location for _, said in written if not isinstance(said.value, bool)]
    telling += [value.location for _, value in arguments if value.location != call]
    telling += [said.location for _, said in written]
    place = next((each for each in telling if each is not None), None)
    if place is None:
        return None
    told = [
        f"`{field}` is {repr(world.field(field)) if is_typed else _shown(world, field, said)}"
        + (" by default" if said.location is None else "")
        for field, said in settings
        if said.location is not None or not world.is_old_name(field)
    ]
    told += [_told(name, value.value, value.location == call) for name, value in arguments]
    given = tuple(value.location._replace(message=f"`{name}`") for name, value in arguments if value.location != place)
    return Deciding(
        names,
        place,
        (*places((field, said) for field, said in written if said.location != place), *dict.fromkeys(given)),
        ", ".join(told),
        tuple((field, _shown(world, field, said)) for field, said in settings),
    )


def _has_type(world: RunWorld, field: str, said: Setting) -> bool:
    """Whether a value is of the type that the class gets: as a script writes it, or as any reader makes it."""
    if said.origin in ("script", "default"):
        return True
    value, usual = world.field(field), world.default(field)
    if isinstance(value, bool) or isinstance(usual, bool):
        return False
    return isinstance(usual, (int, float)) and isinstance(value, (int, float))


def _shown(world: RunWorld, field: str, said: Setting) -> str:
    """The value of a field, as it is written; a list or dict as it is read."""
    return f"{said.value if said.is_known else world.field(field)}"


def _told(name: str, value: object, is_default: bool) -> str:
    """What an argument of a trainer is, in words."""
    if is_default and value is None:
        return f"`{name}` is not given"
    if isinstance(value, (bool, int, float, str)) or value is None:
        return f"`{name}` is {value!r}" + (" by default" if is_default else "")
    kinds = sorted(value.kinds - {"Module"}) if isinstance(value, Thing) else []
    return f"`{name}` is {with_article(kinds[0])}" if len(kinds) == 1 else f"`{name}` is given"
