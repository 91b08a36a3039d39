"""The GPUs that a PPO command of OpenRLHF asks Ray for: it waits for them without end where there are fewer."""

from __future__ import annotations

from trl_lint.checks.configs._asserts import UnknownValueError
from trl_lint.checks.configs._openrlhf_groups import PROGRAM, RELEASES, groups, values_in
from trl_lint.checks.launch._verl_gpus import Wanted, may_be_elsewhere
from trl_lint.knowledge.ranges import holds
from trl_lint.run.readers.openrlhf import OpenRLHFRun, read_run
from trl_lint.run.runs import Run


def wanted_gpus(run: Run) -> Wanted | None:
    """What all releases in use ask for; None where that is not known, or is not for the machine of the command."""
    if may_be_elsewhere(run):
        return None
    ppo = read_run(run.launch, run.project)
    if ppo is None or ppo.own is not None or ppo.module != PROGRAM or "openrlhf" not in ppo.choices:
        return None
    found = [_groups(ppo, version) for version in ppo.choices["openrlhf"].releases]
    if not found or not found[0] or any(one != found[0] for one in found):
        return None
    number = sum(found[0].values())
    told = ", ".join(f"{name} {size}" for name, size in found[0].items())
    return Wanted(number, f"OpenRLHF asks Ray for {number} GPUs ({told}) and waits for them", ())


def _groups(run: OpenRLHFRun, version: str) -> dict[str, int] | None:
    values = values_in(run, version) if holds(RELEASES, version) else None
    try:
        return groups(values) if values is not None else None
    except (UnknownValueError, TypeError):
        return None
