"""What a run trains on between two updates, whichever options its framework multiplies for it."""

from __future__ import annotations

import math

from trl_lint.knowledge.ranges import holds
from trl_lint.missing import UNKNOWN, Missing
from trl_lint.records import NamedTuple
from trl_lint.run.config import Config
from trl_lint.run.effective import Setting, without_reason
from trl_lint.run.runs import Run


class Batch(NamedTuple):
    """So many samples, of all processes: the product of the `parts`, each with what its framework calls it."""

    samples: int
    parts: tuple[tuple[str, Setting], ...]

    @property
    def product(self) -> str:
        return " * ".join(name for name, _ in self.parts)


def batch_of(run: Run, config: Config) -> Batch | None:
    """The batch of a run with the releases of a config of its; None where a part is not known, or others divide it.

    Where no option says it, a micro batch of each process, as often as is accumulated. A batch of prompts holds a group
    of answers to each of them.
    """
    held = config.held("whole_batch")
    if held is None or held.unknown or not config.counts("whole_batch"):
        return None
    whats = ("micro_batch", "accumulation") if held.none else ("whole_batch",)
    whats = (*whats, "group") if held.unit == "prompt" else whats
    if not all(config.counts(what) for what in whats):
        return None
    said = [(config.option(what), accumulation_of(run, config) if what == "accumulation" else config.setting(what))
            for what in whats]  # fmt: skip
    parts = [(name, one) for name, one in said if isinstance(one, Setting)]
    if held.none and isinstance(run.processes, Setting):
        parts.append(("processes", run.processes))
    numbers = [one.integer for _, one in parts if one.integer]
    if len(numbers) < len(whats) + bool(held.none):
        return None
    return Batch(math.prod(numbers), tuple(parts))


def accumulation_of(run: Run, config: Config) -> Setting | Missing:
    """The steps between two updates, also where the framework works them out because nothing says it."""
    said, held = without_reason(config.setting("accumulation")), config.held("accumulation")
    if held is None or not held.fills or not isinstance(said, Setting) or said.value is not None:
        return said
    since = held.but_for.get(run.method)
    if since is not None and holds(since, config.release):
        return Setting(1, "default", None)
    micro = config.setting("micro_batch")
    size = micro.integer if isinstance(micro, Setting) else None
    count = run.processes.integer if isinstance(run.processes, Setting) else None
    return Setting(max(1, math.ceil(held.fills / size / count)), "default", None) if size and count else UNKNOWN
