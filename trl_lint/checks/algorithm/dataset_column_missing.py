"""TRL721: the dataset that a trainer is given lacks a column that this trainer needs."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks.drift._calls import accepts, is_unsloth
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding, Location
from trl_lint.knowledge.columns import Alone, Needs, trainer_columns
from trl_lint.project import Project
from trl_lint.project.environment import Environment
from trl_lint.project.stack import environment_at
from trl_lint.python.module import PythonModule
from trl_lint.run.columns import Columns, columns_of
from trl_lint.run.trainer import Options, TrainerCall, is_absent, literals, trainer_calls
from trl_lint.words import listed

_MOST_SHOWN = 6  # names in a message, which counts the others


class DatasetColumnMissing(Rule):
    code = "TRL721"
    imports = ("trl",)
    words = (b"train_dataset",)
    skips_tests = True

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        if is_unsloth(module):
            return  # it puts its own preparation in the place of the trainer's
        for call in trainer_calls(module, project):
            finding = self._judge(call, project) if call.is_certain and call.own is None else None
            if finding is not None:
                yield finding

    def _judge(self, call: TrainerCall, project: Project) -> Finding | None:
        table = trainer_columns()
        every: list[Needs | Alone] = [*table.needs, *table.alone]
        rows = [row for row in every if call.name in row.trainers]
        if not rows or not call.trainer.startswith("trl."):
            return None
        given = call.given("train_dataset")
        datasets = () if is_absent(given) else columns_of(given)
        if not datasets or any(not one.complete and not one.certain and not one.gone for one in datasets):
            return None
        environment = environment_at(call.module, call.call, project, "trl")
        if environment is None or _is_refused(call, environment):
            return None
        level = Level("warning" if any(one.is_remembered for one in datasets) else self)
        for row in rows:
            message = _needed(row, call, datasets) if isinstance(row, Needs) else _alone(row, call, datasets)
            verdict = judge_pins(environment, {"trl": row.releases}, level) if message else None
            if verdict is not None:
                return self.finding(
                    call.module.location(call.call.func),
                    f"{message} ({verdict.scope})",
                    severity=verdict.severity,
                    related=(*_places(datasets), *verdict.related),
                )
        return None


def _is_refused(call: TrainerCall, environment: Environment) -> bool:
    """Whether the trainer takes a keyword no more: the call ends before the dataset is looked at (TRL301)."""
    names = [keyword.arg for keyword in call.call.keywords if keyword.arg is not None]
    releases = environment.choices.newest({"trl"})
    return any(accepts(call.trainer, name, releases) is False for name in names)


def _places(datasets: tuple[Columns, ...]) -> tuple[Location, ...]:
    """Where the datasets begin."""
    return tuple(one.places[0]._replace(message="the dataset begins here") for one in datasets if one.places)


def _is_spared(row: Needs | Alone, call: TrainerCall) -> bool:
    return any(not is_absent(call.given(name)) or _is_set(_field(call, name)) for name in row.spared_by)


def _field(call: TrainerCall, name: str) -> Options:
    """A field of the config; absent, too, where the trainer makes its own config."""
    given = call.given("args")
    return given if is_absent(given) else call.field(name)


def _is_set(options: Options) -> bool:
    """Whether a field of the config may be set; what a recipe may say of it in some run does not count."""
    return any(made.kind not in ("absent", "field") and not made.is_none for made in options)


def _needed(row: Needs, call: TrainerCall, datasets: tuple[Columns, ...]) -> str:
    """What is missing, "" where nothing certainly is."""
    wanted = [_named(names, call) for names in row.one_of]
    known = [names for names in wanted if names is not None]
    if len(known) < len(wanted) or any(_satisfies(one, names) for one in datasets for names in known):
        return ""
    if _is_spared(row, call):
        return ""
    return f"{call.name} finds {_shown(datasets)}; {_asked(known)}: it stops with {row.fails}"


def _named(names: tuple[str, ...], call: TrainerCall) -> tuple[str, ...] | None:
    """The columns, `$field` by what the config says; None where that is not known."""
    found: list[str] = []
    for name in names:
        if not name.startswith("$"):
            found.append(name)
            continue
        values = literals(_field(call, name[1:]))
        if values is None or len(values) != 1:
            return None
        # `dataset_text_field` is "text" by default in every release of the table.
        found.append(values[0] if isinstance(values[0], str) else "text")
    return tuple(found)


def _satisfies(columns: Columns, names: tuple[str, ...]) -> bool:
    return not any(columns.lacks(name) for name in names)


def _alone(row: Alone, call: TrainerCall, datasets: tuple[Columns, ...]) -> str:
    is_alone = all(
        row.column in one.certain and one.lacks(row.asks) and all(one.lacks(name) for name in row.spared_by_columns)
        for one in datasets
    )
    if not is_alone or _is_spared(row, call):
        return ""
    return (
        f"{call.name} takes a dataset with `{row.column}` for pairs of prompt and completion, and there is no "
        f"`{row.asks}`: it stops with {row.fails}; rename or remove the column"
    )


def _shown(datasets: tuple[Columns, ...]) -> str:
    if not all(one.complete for one in datasets):
        gone = sorted(frozenset.intersection(*(one.gone for one in datasets)))
        return f"no column {_either([f'`{name}`' for name in gone[:_MOST_SHOWN]])} any more"
    names = list(dict.fromkeys(name for one in datasets for name in one.names))
    shown = [f"`{name}`" for name in names[:_MOST_SHOWN]]
    rest = [f"{len(names) - len(shown)} more"] if len(names) > len(shown) else []
    return f"the column{'s' if len(names) > 1 else ''} {listed([*shown, *rest])}"


def _asked(known: list[tuple[str, ...]]) -> str:
    """The ways to satisfy the trainer, without those for data that is prepared already."""
    plain = [names for names in known if not any("_ids" in name or name.startswith("image") for name in names)]
    return "it needs " + _either([" with ".join(f"`{name}`" for name in names) for names in plain])


def _either(texts: list[str]) -> str:
    return " or ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


rule = DatasetColumnMissing()
