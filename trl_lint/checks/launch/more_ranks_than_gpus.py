"""TRL503: a command starts more processes, or more ranks of a model, than it makes GPUs visible."""

from __future__ import annotations

import math
from collections.abc import Iterator

from trl_lint.checks._phrases import places
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Location
from trl_lint.grading import milder
from trl_lint.knowledge.families import Server
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.project.effective import Setting, of_document, of_flag
from trl_lint.project.runs import Run
from trl_lint.project.servers import read_server, share_of, shown_ids

# With these the ranks of a server are not all on the machine of the command.
_SPREAD = (
    "pipeline_parallel_size", "distributed_executor_backend", "data_parallel_address", "data_parallel_size_local",
    "headless", "nnodes", "data_parallel_backend", "data_parallel_hybrid_lb", "data_parallel_external_lb",
)  # fmt: skip
_CONFIGS = (".yaml", ".yml", ".json")
_CPU = ("--cpu", "--use_cpu", "--use_mps_device", "--tpu", "--use_xpu")


class MoreRanksThanGpus(Rule):
    code = "TRL503"
    runs = True
    launched = True

    def check_run(self, run: Run) -> Iterator[Finding]:
        found = list(self._check_ranks(run))
        yield from found or self._check_own_vllm(run)

    def _check_own_vllm(self, run: Run) -> Iterator[Finding]:
        """A trainer of trl 0.14 or 0.15 starts vLLM on one more GPU, and stops with a ValueError if it is not there."""
        from trl_lint.checks.launch._own_vllm import missing_gpu

        missing = missing_gpu(run)
        if missing is not None:
            message, severity, related = missing
            place = run.launch.location
            yield self.finding(
                place,
                message,
                severity=severity,
                related=tuple(one for one in related if one[:3] != place[:3]),
            )

    def _check_ranks(self, run: Run) -> Iterator[Finding]:
        ids = run.launch.visible_gpus
        if not ids:  # none at all is a run on the CPU
            return
        program = run.launch.program
        server = program.server_of(run.launch.subcommand) if program is not None else None
        if run.framework == "vllm":
            yield from self._check_server(run, ids)
        elif server is not None:
            yield from self._check_sizes(run, server, ids)
        elif run.framework == "verl":
            yield from self._check_ray(run, ids)
        elif program is not None and program.starts_programs and not program.hides_gpus:
            yield from self._check_training(run, ids)

    def _check_server(self, run: Run, ids: tuple[str, ...]) -> Iterator[Finding]:
        if any(of_flag(run.launch, name) is not ABSENT for name in _SPREAD) or run.launch.flag("-pp") is not ABSENT:
            return
        ranks = read_server(run).ranks
        if ranks is not None and ranks > len(ids):
            yield self._finding(run, f"the server needs {ranks} GPUs", ids, ())

    def _check_sizes(self, run: Run, server: Server, ids: tuple[str, ...]) -> Iterator[Finding]:
        """A server of another framework: the product of its sizes."""
        if server.reads_configs and any((word.text or "").endswith(_CONFIGS) for word in run.launch.args):
            return  # a config may set the sizes
        if not server.sizes or any(of_flag(run.launch, name) is not ABSENT for name in server.spread):
            return
        said = [of_flag(run.launch, name) for name in server.sizes]
        if UNKNOWN in said:
            return
        sizes = [setting.integer if isinstance(setting, Setting) else 1 for setting in said]
        ranks = math.prod(size or 0 for size in sizes)
        if ranks > len(ids):
            yield self._finding(run, f"the server needs {ranks} GPUs", ids, ())

    def _check_ray(self, run: Run, ids: tuple[str, ...]) -> Iterator[Finding]:
        """A warning: a cluster that is running on the machine may have been started with other GPUs."""
        from trl_lint.checks.launch._verl_gpus import wanted_gpus

        wanted = wanted_gpus(run)
        if wanted is not None and wanted.number > len(ids):
            said = "" if wanted.places else ", by default"
            what = f"verl asks Ray for {wanted.number} GPUs (`trainer.n_gpus_per_node`{said})"
            yield self._finding(run, what, ids, wanted.places, is_mild=True)

    def _check_training(self, run: Run, ids: tuple[str, ...]) -> Iterator[Finding]:
        if not run.launch.options.keys().isdisjoint(_CPU) or _has_own_ids(run):
            return
        number = share_of(run).number
        if number is not None and number > len(ids):
            said = [("processes", run.processes)] if isinstance(run.processes, Setting) else []
            yield self._finding(run, f"{number} processes start on a machine", ids, places(said))

    def _finding(
        self, run: Run, what: str, ids: tuple[str, ...], related: tuple[Location, ...], is_mild: bool = False
    ) -> Finding:
        word = run.launch.visible_word
        place = run.launch.location if word is None else run.launch.source.location(word.start, word.end)
        gpus = f"1 GPU ({ids[0]}) is" if len(ids) == 1 else f"{len(ids)} GPUs ({shown_ids(ids)}) are"
        return self.finding(
            place,
            f"{what}, and {gpus} visible",
            severity=milder(self.page.severity, is_mild or run.launch.is_documentation),
            related=(*related, run.launch.location._replace(message="the run")),
        )


def _has_own_ids(run: Run) -> bool:
    """Whether the accelerate config chooses the GPUs or the CPU: that replaces CUDA_VISIBLE_DEVICES of the shell."""
    if run.accelerate is None:
        return False
    ids = of_document(run.accelerate, "gpu_ids")
    if isinstance(ids, Setting) and ids.value not in ("all", None):
        return True
    return run.accelerate.value("use_cpu") is True or run.accelerate.value("distributed_type") not in (
        "MULTI_GPU", "DEEPSPEED", "FSDP", "MEGATRON_LM",
    )  # fmt: skip


rule = MoreRanksThanGpus()
