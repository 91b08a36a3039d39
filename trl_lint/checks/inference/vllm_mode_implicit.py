"""TRL801: a run that is meant to use a vLLM server, and with the release in use does not, or not that server."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks.inference._vllm import SERVER_OPTIONS, has_modes, is_local, mode_of, options_of, uses_vllm
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding, Location
from trl_lint.missing import ABSENT
from trl_lint.run.effective import of_flag
from trl_lint.run.runs import Run
from trl_lint.run.servers import Server, is_up, servers_of

# The trainer asks for `/init_communicator/`, which only TRL's own server has (trl/extras/vllm_client.py).
_OWN_SERVER = ">=0.16.0,<1.11.0"
# From 1.11.0 on weights go through vLLM's transfer engine, which a server has only if it was started with one.
_TRANSFER = ">=1.11.0"


class VllmModeImplicit(Rule):
    code = "TRL801"
    runs = True

    def check_run(self, run: Run) -> Iterator[Finding]:
        if not has_modes(run):
            return
        yield from self._implicit(run)
        for server in servers_of(run):
            if is_up(run, server):
                yield from self._wrong_server(run, server)

    def _implicit(self, run: Run) -> Iterator[Finding]:
        """A server is named or started, but the default of the release runs vLLM inside the trainer."""
        if run.arguments.config.given("vllm_mode") is not ABSENT:
            return
        options = options_of(run, SERVER_OPTIONS)
        servers = [server for server in servers_of(run) if server.own or options]
        if not options and not servers:
            return

        def is_inside(release: str) -> bool:
            return uses_vllm(run, release) is True and mode_of(run, release) == "colocate"

        verdict = judge_releases(run.choices["trl"], is_inside, Level(self, run.launch.is_documentation))
        if verdict is None:
            return
        place = options[0].setting.location if options else servers[0].run.launch.location
        mode = run.arguments.shown("vllm_mode")
        server = f'`{mode}: "server"`' if run.arguments.is_filled else f'`{mode}="server"`'
        what = f"`{options[0].name}` names a server" if options else "a server is started"
        related = tuple(server.run.launch.location._replace(message="the server") for server in servers if options)
        yield self.finding(
            place or run.launch.location,
            f"{what}, but it is not used, because `{mode}` is `colocate` by default and the trainer runs vLLM "
            f"itself: set {server} ({verdict.scope})",
            severity=verdict.severity,
            related=(*related, *_where(run), *verdict.related),
        )

    def _wrong_server(self, run: Run, server: Server) -> Iterator[Finding]:
        """The server that the file starts does not speak the protocol of the release."""
        if server.own:
            return

        def meets(release: str) -> bool:
            return (
                uses_vllm(run, release) is True and mode_of(run, release) == "server" and is_local(run, server, release)
            )

        trl = run.choices["trl"]
        level = Level("error", run.launch.is_documentation)
        old = set(trl.package.affected(_OWN_SERVER))
        verdict = judge_releases(trl, lambda release: release in old and meets(release), level)
        message = "the trainer needs `trl vllm-serve`, and plain `vllm serve` has no weight synchronisation for it"
        if verdict is None and of_flag(server.run.launch, "weight_transfer_config") is ABSENT:
            new = set(trl.package.affected(_TRANSFER))
            verdict = judge_releases(trl, lambda release: release in new and meets(release), level)
            message = (
                'the server has no `--weight-transfer-config \'{"backend": "nccl"}\'`, so the trainer cannot give it '
                "new weights"
            )
        if verdict is not None:
            yield self.finding(
                server.run.launch.location,
                f"{message} ({verdict.scope})",
                severity=verdict.severity,
                related=(*_where(run), *verdict.related),
            )


def _where(run: Run) -> tuple[Location, ...]:
    return (run.launch.location._replace(message="the run"),) if run.launch.launcher else ()


rule = VllmModeImplicit()
