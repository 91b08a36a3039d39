"""What the options of a run come to, whichever parser reads them: one `Config` for every framework.

Two questions. `given` is what the project says, as the parser leaves it: of its layers, the one on top comes first, and
the first that may set a name decides; one that cannot be read hides what lies below it, and nothing above. `final` is
what the program works with: that, or the default of the release in use. `setting` asks by what an option means, and
`rules/families` says what each framework calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Literal

from trl_lint import asked
from trl_lint.coverage import HIDDEN, NO_DEFAULT, NOT_STARTED, UNMAPPED, Reason
from trl_lint.finding import Location
from trl_lint.knowledge.families import Held, TrainingKind, family_of
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.records import NamedTuple
from trl_lint.run.effective import Said, Setting, Unknown, of_default

# What would make known what is not known for a reason.
_REMEDIES: dict[Reason, str] = {
    NOT_STARTED: "name the command that starts it",
    HIDDEN: "write the options out, without variables that are set elsewhere",
}
Read = Callable[[str], Said]
Role = Literal["trainer", "reference", "critic", "reward", "teacher", "engine"]
Versions = Mapping[str, str]


def _no_names() -> Iterable[str]:
    return ()


class Layer(NamedTuple):
    """One of the things that set options: `read` a name, ABSENT where it certainly sets none; the `names` it sets."""

    read: Read
    names: Callable[[], Iterable[str]] = _no_names


class Config:
    """The options of one program of a run.

    `layers`: what may set them, the one on top first. `defaults`: what releases say of those that nothing sets, by
    their versions; `versions`: those that are asked, and `package` the one whose options they are. Where a method takes
    a release, it is one of that package, and "" stands for the one in `versions`.
    """

    def __init__(
        self,
        framework: str,
        layers: tuple[Layer, ...],
        defaults: Callable[[Versions], Read],
        versions: Versions,
        package: str,
    ) -> None:
        self.framework = framework
        self.layers = layers
        self.package = package
        self._defaults = defaults
        self._versions = versions
        self._given: dict[str, Said] = {}  # asked for by many rules, each for many releases
        self._others: dict[tuple[tuple[str, str], ...], Config] = {}

    @property
    def release(self) -> str:
        """The release that is asked, "" where none is known."""
        return self._versions.get(self.package, "")

    def given(self, name: str) -> Said:
        """What the project sets an option to; ABSENT where its default counts."""
        found = self._given.get(name)
        if found is None:
            found = self._given[name] = self._read(name)
        if asked.log is not None:
            asked.note(_answer(name, found))
        return found

    def _read(self, name: str) -> Said:
        for layer in self.layers:
            said = layer.read(name)
            if said is not ABSENT:
                return said
        return ABSENT

    def default(self, name: str, release: str = "") -> Said:
        """What a release makes of an option that nothing sets; ABSENT where it has none."""
        return self._of(release)._usual(name)

    @cached_property
    def _usual(self) -> Read:
        return self._defaults(self._versions)

    def final(self, name: str, release: str = "") -> Said:
        """What an option is while the program runs: what is given, else the default."""
        said = self.given(name)
        return said if said is not ABSENT else self.default(name, release)

    def _of(self, release: str) -> Config:
        return self.at({**self._versions, self.package: release}) if release else self

    def at(self, versions: Versions) -> Config:
        """The same options with other releases: what is given stays, what is left to a default may differ."""
        key = tuple(versions.items())
        found = self._others.get(key)
        if found is None:
            found = self._others[key] = Config(self.framework, self.layers, self._defaults, versions, self.package)
            found._given = self._given
        return found

    def block(self, path: str) -> Config:
        """The options of a nested block, by their names in it."""
        above = f"{path}."

        def inside(layer: Layer) -> Layer:
            return Layer(
                lambda name: layer.read(above + name),
                lambda: [name.removeprefix(above) for name in layer.names() if name.startswith(above)],
            )

        def defaults(versions: Versions) -> Read:
            usual = self._defaults(versions)
            return lambda name: usual(above + name)

        return Config(self.framework, tuple(map(inside, self.layers)), defaults, self._versions, self.package)

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
        if held.releases and release:
            from trl_lint.knowledge.ranges import holds

            usual = usual if holds(held.releases, release) else ABSENT
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
        """Whether a setting is switched on, by the row of its family; None where nobody can tell.

        Several switches of one release, such as those for 4 and for 8 bits, are alternatives.
        """
        held = self.held(what)
        if held is None or not self.counts(what):
            return None
        there = [name for name in held.names if self.default(name, release) is not ABSENT]
        names = there if held.names and not held.releases else [self.option(what, release)]
        answers = [_is_on(self.final(name, release) if len(names) > 1 else self.setting(what, release), held)
                   for name in names]  # fmt: skip
        return True if True in answers else None if None in answers else False

    def counts(self, what: str) -> bool:
        """Whether certainly nothing is set with which a setting does not count."""
        held = self.held(what)
        if held is None or any(self.given(name) is not ABSENT for name in held.unless):
            return False
        blocks = tuple(f"{name}." for name in held.unless)
        return not (blocks and any(name.startswith(blocks) for name in self.names()))

    def is_read(self, what: str, subcommand: str | None, release: str) -> bool:
        """Whether a subcommand reads a setting in a release, as far as its row tells of them."""
        from trl_lint.knowledge.ranges import holds

        held = self.held(what)
        if held is None or not held.read_by:
            return held is not None
        where = held.read_by.get(subcommand or "")
        return where is not None and (not where or holds(where, release))

    def kind(self) -> TrainingKind | None:
        """The kind of training, by the option that says it; None where the framework has none."""
        family = family_of(self.framework)
        kinds = family.document if family is not None else ()
        method = family.method if family is not None else None
        method = method or next((kind.method for kind in kinds if kind.method is not None and kind.method.key), None)
        if method is None:
            return None
        said = self.final(method.key)
        value = said.value if isinstance(said, Setting) else None
        if value in method.rl:
            return "rl"
        if value in method.preference:
            return "preference"
        return method.rest if isinstance(value, str) else "other"


def _is_on(found: Said, held: Held) -> bool | None:
    if isinstance(found, Unknown):
        return None
    if not isinstance(found, Setting):
        return False
    if isinstance(found.value, Missing):
        return None
    if found.value is None or found.value in ("null", "None"):
        return False
    if held.on:
        return found.value in held.on
    if held.off:
        return (found.number if found.number is not None else found.value) not in held.off
    return found.truth if found.truth is not None else True


def nothing_known(framework: str, reason: Reason, place: Location | None) -> Config:
    unknown = Unknown(reason, place)
    return Config(framework, (Layer(lambda name: unknown),), lambda versions: lambda name: unknown, {}, "")


def why(said: Setting | Missing, reason: Reason, place: Location | None = None) -> Said:
    """What a reader says of a name, with the reason where that is nothing."""
    return Unknown(reason, place) if said is UNKNOWN else said


def of_history(text: str | None) -> Said:
    return why(of_default(text), NO_DEFAULT)


def _answer(name: str, found: Said) -> asked.Answer:
    """What an option is, as an answer to somebody who asks why."""
    if isinstance(found, Unknown):
        return asked.Answer(
            "value", name, f"not known: {found.reason}", found.place, False, _REMEDIES.get(found.reason, "")
        )
    if found is ABSENT:
        return asked.Answer("unset", name, "not set: its default counts")
    if found.is_known:
        return asked.Answer("value", name, f"{found.value!r} ({found.origin})", found.location)
    remedy = "write the value itself there"
    return asked.Answer("value", name, f"not known: the {found.origin} computes it", found.location, False, remedy)


class Arguments(NamedTuple):
    """The training arguments of a run, of the class `dotted`: those of a script, or those that a framework fills.

    `names`: what the framework calls a field, where that differs. "" for `dotted`: there are none, or none known.
    """

    dotted: str
    config: Config
    names: Mapping[str, str] = {}

    @property
    def is_filled(self) -> bool:
        return bool(self.names)

    def shown(self, field: str) -> str:
        return self.names.get(field, field)


# -- what the options have started ------------------------------------------------------------------------------------


class Workers(NamedTuple):
    """The processes of a run that do one thing, one on each GPU.

    `number`: of them all, `nodes`: the machines they are spread over; UNKNOWN where nobody can tell, and `nodes` ABSENT
    where they may stand anywhere. `pool`: whose GPUs they are on, their own role where they have them alone.
    `size`: the GPUs that share one engine. `device`: what they run on.
    """

    role: Role
    number: Setting | Missing
    nodes: Setting | Missing = ABSENT
    pool: Role = "trainer"
    size: Setting | Missing = ABSENT
    device: str = "cuda"

    @property
    def total(self) -> int | None:
        return self.number.integer if isinstance(self.number, Setting) else None

    @property
    def machines(self) -> int | None:
        return self.nodes.integer if isinstance(self.nodes, Setting) else None


def times(one: Setting | Missing, other: Setting | Missing) -> Setting | Missing:
    """A number of processes, so many on each machine: at the place of the first that somebody wrote."""
    if not isinstance(one, Setting) or not isinstance(other, Setting):
        return UNKNOWN
    if one.integer is None or other.integer is None:
        return UNKNOWN
    place = one if one.location is not None else other
    return place._replace(value=one.integer * other.integer)
