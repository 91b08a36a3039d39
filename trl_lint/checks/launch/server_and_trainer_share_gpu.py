"""TRL502: vLLM and the trainer that it generates for take the same GPU."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks.inference._vllm import has_modes, is_local, mode_of, uses_vllm
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding, Location, Severity
from trl_lint.run.runs import Run
from trl_lint.run.servers import Server, is_beside, servers_of, share_of, shown_ids


class ServerAndTrainerShareGpu(Rule):
    code = "TRL502"
    runs = True
    launched = True

    def check_run(self, run: Run) -> Iterator[Finding]:
        yield from self._check_own_vllm(run)
        if run.framework != "trl" or not has_modes(run) or run.workers[0].machines != 1:
            return
        for server in servers_of(run):
            if is_beside(run, server):
                yield from self._judge(run, server)

    def _check_own_vllm(self, run: Run) -> Iterator[Finding]:
        """vLLM runs inside the trainer, on a GPU where one of its processes trains."""
        from trl_lint.checks.launch._own_vllm import shared_gpu

        trouble = shared_gpu(run)
        if trouble is not None:
            place = run.launch.location
            yield self.finding(
                place,
                trouble.message,
                severity=trouble.severity,
                related=tuple(one for one in trouble.related if one[:3] != place[:3]),
            )

    def _judge(self, run: Run, server: Server) -> Iterator[Finding]:
        found = shared_gpus(run, server)
        if found is None:
            return
        ids, severity = found

        def meets(release: str) -> bool:
            return (
                uses_vllm(run, release) is True and mode_of(run, release) == "server" and is_local(run, server, release)
            )

        verdict = judge_releases(run.choices["trl"], meets, Level(severity, run.launch.is_documentation))
        if verdict is None:
            return
        gpus = f"GPU {ids[0]}" if len(ids) == 1 else f"GPUs {shown_ids(ids)}"
        visible = run.launch.visible_gpus is not None
        message = f"the trainer takes {gpus}, which the vLLM server takes too: they cannot share a communicator"
        if not visible:
            message = f"nothing keeps the trainer off {gpus}, which the vLLM server takes: set its CUDA_VISIBLE_DEVICES"
        yield self.finding(
            run.launch.location,
            f"{message} ({verdict.scope})",
            severity=verdict.severity,
            related=(server_place(server), *verdict.related),
        )


def shared_gpus(run: Run, server: Server) -> tuple[tuple[str, ...], Severity] | None:
    """The GPUs that both certainly take, and how sure that is; None if none, or if nobody can tell."""
    if server.gpus is None or server.ranks is None:
        return None
    theirs = server.gpus[: server.ranks]
    share = share_of(run)
    if share.number is None:
        return None
    if share.ids is not None:
        ours = share.taken or ()
        both = tuple(gpu for gpu in ours if gpu in theirs)
        return (both, "error") if both else None
    # Without CUDA_VISIBLE_DEVICES the processes take the first GPUs of the machine, unless the shell limits them.
    both = tuple(str(gpu) for gpu in range(share.number) if str(gpu) in theirs)
    return (both, "warning") if both and "CUDA_VISIBLE_DEVICES" not in run.launch.env else None


def server_place(server: Server) -> Location:
    return server.run.launch.location._replace(message=f"the server takes GPUs {shown_ids(server.gpus)}")


rule = ServerAndTrainerShareGpu()
