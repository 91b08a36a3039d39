"""TRL803: `vllm_tensor_parallel_size` does not divide the processes of a colocated run."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._phrases import places
from trl_lint.checks.inference._vllm import has_modes, is_split
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run


class TensorParallelSizeMisfit(Rule):
    code = "TRL803"
    runs = True
    launched = True

    def check_run(self, run: Run) -> Iterator[Finding]:
        processes = run.processes
        if not isinstance(processes, Setting) or processes.integer is None or not has_modes(run):
            return
        count = processes.integer
        size = run.config.given("vllm_tensor_parallel_size")
        if not isinstance(size, Setting) or size.integer is None or size.integer < 1 or count % size.integer == 0:
            return

        def is_bad(release: str) -> bool:
            return is_split(run, release)

        verdict = judge_releases(run.choices["trl"], is_bad, Level(self, run.launch.is_documentation))
        if verdict is None:
            return
        yield self.finding(
            size.location or run.launch.location,
            f"the trainer stops: `vllm_tensor_parallel_size` {size.integer} does not divide {count} "
            f"{'process' if count == 1 else 'processes'} ({verdict.scope})",
            severity=verdict.severity,
            related=(*places([("processes", processes)]), *verdict.related),
        )


rule = TensorParallelSizeMisfit()
