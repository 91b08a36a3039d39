"""TRL701: the batch of a GRPO or RLOO run does not hold whole groups of generations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trl_lint.checks._trainers import uses_trainer
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding, Location
from trl_lint.knowledge.arithmetic import GroupRule, group_rule
from trl_lint.missing import UNKNOWN, Missing
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.records import NamedTuple
from trl_lint.run.effective import Setting, without_reason
from trl_lint.run.runs import Run

_TRAIN = (
    "num_generations", "per_device_train_batch_size", "gradient_accumulation_steps", "steps_per_generation",
    "generation_batch_size",
)  # fmt: skip


Reader = Callable[[str], "Setting | Missing"]


class Fault(NamedTuple):
    """What the trainer refuses, the fields it comes from, and a word about where that is checked."""

    message: str
    fields: tuple[str, ...]
    note: str = ""


class BatchNotDivisibleByGenerations(Rule):
    code = "TRL701"
    runs = True
    launches = True

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.algorithm import _verl_groups
        from trl_lint.checks.configs import _openrlhf_refusals, _verl_validation

        for found in (
            *_verl_validation.groups_of_one(launch, _verl_groups.GROUPS, self, project),
            *_openrlhf_refusals.refused_together(launch, self, project),
        ):
            yield self.finding(found.location, found.message, severity=found.severity, related=found.related)

    def check_run(self, run: Run) -> Iterator[Finding]:
        from trl_lint.checks.configs._release_refusals import refusals_in

        groups = list(self._check_groups(run))
        told = {finding.location for finding in groups}
        for found in refusals_in(run, self):
            if not (found.raises and found.location in told):  # what has words needs none of Python's
                yield self.finding(found.location, found.message, severity=found.severity, related=found.related)
        yield from groups
        yield from self._check_command(run)

    def _check_command(self, run: Run) -> Iterator[Finding]:
        """The same with the commands of a framework that takes flags."""
        if run.arguments_class or run.launch.program is None:
            return
        from trl_lint.checks.algorithm._command_groups import sized_command

        sized = sized_command(run, processes_of(run))
        if sized is None:
            return

        def judged(version: str) -> tuple[Fault | None, Reader | None]:
            rule = sized.rule(version)
            if rule is None:
                return None, None
            read = sized.reader(version)
            return find_fault(rule, read, processes_of(run), run), read

        yield from self._finding(run, sized.arguments.package, judged)

    def _check_groups(self, run: Run) -> Iterator[Finding]:
        """Whole groups of generations, with the commands of TRL that check twice."""
        is_known = run.arguments.dotted in ("trl.GRPOConfig", "trl.RLOOConfig") and "trl" in run.choices
        if not is_known or (run.arguments.is_filled and not run.is_launched):
            return
        yield from self._finding(run, "trl", lambda version: self._fault(run, version))

    def _finding(
        self, run: Run, package: str, judged: Callable[[str], tuple[Fault | None, Reader | None]]
    ) -> Iterator[Finding]:
        """What `judged` finds wrong in the releases of a package in use, with the places of what it read."""
        chosen = run.choices[package]
        faults = {version: judged(version) for version in chosen.releases}
        level = Level(self, run.launch.is_documentation)
        verdict = judge_releases(chosen, lambda version: faults[version][0] is not None, level)
        if verdict is None:
            return
        fault, read = faults[verdict.version]
        if fault is None or read is None:
            return
        said = [(name, found) for name in fault.fields if isinstance(found := read(name), Setting)]
        if isinstance(run.processes, Setting) and "processes" in fault.message:
            said.append(("processes", run.processes))
        place = place_of(run, said)
        from trl_lint.checks._phrases import places

        related = tuple(other for other in places(said) if other[:3] != place[:3])
        yield self.finding(
            place,
            f"the trainer stops: {fault.message}{fault.note} ({verdict.scope})",
            severity=verdict.severity,
            related=(*related, run.launch.location._replace(message="the run"), *verdict.related),
        )

    def _fault(self, run: Run, version: str) -> tuple[Fault | None, Reader | None]:
        rule = group_rule(run.arguments.dotted, version)
        if rule is None or not uses_trainer(run, rule.trainer):
            return None, None
        versions = {**run.choices.newest(("trl", "transformers")), "trl": version}

        def read(name: str) -> Setting | Missing:
            return without_reason(run.arguments.config.at(versions).final(name))

        return find_fault(rule, read, processes_of(run), run), read


def processes_of(run: Run) -> int | None:
    """The processes of the run, None where they are not known."""
    return run.processes.integer if isinstance(run.processes, Setting) else None


def find_fault(rule: GroupRule, read: Reader, processes: int | None, run: Run) -> Fault | None:
    """The first thing that the trainer of one release refuses, None if nothing does or a value is not known."""
    given = {name: integer(read(name)) for name in _TRAIN}
    if given["num_generations"] is None or UNKNOWN in given.values():
        return None
    if _number(given, "num_generations") < 2 and rule.train != "none" and not rule.takes_one:
        return Fault("`num_generations` is below 2, which leaves nothing to compare in a group", ("num_generations",))
    if _both(given) and rule.excludes_both:
        names = ("generation_batch_size", "steps_per_generation")
        return Fault("`generation_batch_size` and `steps_per_generation` cannot both be set", names)
    counts = [(processes, "")] if processes is not None else []
    if run.launch.launcher == "trl" and rule.checks_alone:
        counts.append((1, f"; `{run.name}` checks this once more before it starts the processes, with 1 process"))
    for count, note in counts:
        fault = _train_fault(rule, given, count) or _eval_fault(rule, read, given, count)
        if fault is not None:
            return fault._replace(note=note)
    return None


def _train_fault(rule: GroupRule, given: dict[str, int | Missing | None], processes: int) -> Fault | None:
    generations = _number(given, "num_generations")
    batch = _number(given, "per_device_train_batch_size")
    accumulation = _number(given, "gradient_accumulation_steps")
    names = ["num_generations", "per_device_train_batch_size"]
    what = f"{batch} x {_processes(processes)}"
    size = batch * processes
    if rule.train == "generation" and given["generation_batch_size"] is not None:
        size = _number(given, "generation_batch_size")
        if rule.whole_steps and size % (batch * processes):
            message = f"`generation_batch_size` {size} is no multiple of the batch of {what} = {batch * processes}"
            return Fault(message, ("generation_batch_size", "per_device_train_batch_size"))
        what, names = "`generation_batch_size`", ["num_generations", "generation_batch_size"]
    elif rule.train in ("generation", "effective"):
        steps = given["steps_per_generation"] if rule.train == "generation" else None
        is_own = isinstance(steps, int)
        size *= steps if isinstance(steps, int) else accumulation
        what += f" x {_steps(steps if is_own else accumulation, 'per generation' if is_own else 'accumulated')}"
        names.append("steps_per_generation" if is_own else "gradient_accumulation_steps")
    if rule.train == "none" or size % generations == 0:
        return None
    total = f"a batch of {size} completions ({what})" if "x" in what else f"{what} {size}"
    return Fault(f"{total} is no multiple of `num_generations` {generations}", tuple(names))


def _eval_fault(rule: GroupRule, read: Reader, given: dict[str, int | Missing | None], processes: int) -> Fault | None:
    if rule.eval == "none":
        return None
    strategy, batch = read("eval_strategy"), integer(read("per_device_eval_batch_size"))
    if not isinstance(strategy, Setting) or strategy.value not in ("steps", "epoch") or not isinstance(batch, int):
        return None
    generations = _number(given, "num_generations")
    if rule.eval == "own":
        own = integer(read("num_generations_eval"))
        if own is UNKNOWN:
            return None
        generations = own if isinstance(own, int) and own else generations
    if (batch * processes) % generations == 0:
        return None
    total = f"an evaluation batch of {batch * processes} ({batch} x {_processes(processes)})"
    names = ("num_generations", "per_device_eval_batch_size", "eval_strategy", "num_generations_eval")
    return Fault(f"{total} is no multiple of {generations}, the generations of a group", names)


def integer(setting: Setting | Missing) -> int | Missing | None:
    """The whole number of a field; None where the field is None or not there, UNKNOWN where it is not known."""
    if isinstance(setting, Missing):
        return None if setting is not UNKNOWN else UNKNOWN
    if setting.value is None or setting.value in ("None", "null"):
        return None
    return setting.integer if setting.integer is not None else UNKNOWN


def _both(given: dict[str, int | Missing | None]) -> bool:
    return given["generation_batch_size"] is not None and given["steps_per_generation"] is not None


def _number(given: dict[str, int | Missing | None], name: str) -> int:
    value = given[name]
    return value if isinstance(value, int) and value > 0 else 1


def _steps(count: object, kind: str) -> str:
    steps = "step" if count == 1 else "steps"
    return f"{count} {steps} {kind}" if kind == "per generation" else f"{count} {kind} {steps}"


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"


def place_of(run: Run, said: list[tuple[str, Setting]]) -> Location:
    """Where to report: the first value that somebody wrote, else the command."""
    return next((setting.location for _, setting in said if setting.location is not None), run.launch.location)


rule = BatchNotDivisibleByGenerations()
