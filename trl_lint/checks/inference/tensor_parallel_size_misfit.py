"""TRL803: `vllm_tensor_parallel_size` does not divide the processes of a colocated run."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._phrases import places
from trl_lint.checks._run_models import package_of
from trl_lint.checks.inference._vllm import has_engine, tensor_parallel_engine
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
        if not isinstance(processes, Setting) or processes.integer is None or not has_engine(run):
            return
        count, config = processes.integer, run.config
        mode = config.held("engine_mode")
        size = config.given_setting("tensor_parallel")
        if not isinstance(size, Setting) or size.integer is None or size.integer < 1 or count % size.integer == 0:
            return
        if mode is None or not mode.names:
            return  # its engines have processes of their own

        def is_bad(release: str) -> bool:
            return config.is_on("engine_mode", release) is True and tensor_parallel_engine(run, release) == "run"

        chosen = run.choices[package_of(run)]
        verdict = judge_releases(chosen, is_bad, Level(self, run.launch.is_documentation))
        if verdict is None:
            return
        yield self.finding(
            size.location or run.launch.location,
            f"the trainer stops: `{config.option('tensor_parallel')}` {size.integer} does not divide {count} "
            f"{'process' if count == 1 else 'processes'} ({verdict.scope})",
            severity=verdict.severity,
            related=(*places([("processes", processes)]), *verdict.related),
        )


rule = TensorParallelSizeMisfit()
