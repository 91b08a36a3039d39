"""TRL808: a vLLM server is told to load what the trainer does not train: a script, or a model of other dimensions."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._run_models import Served, served_model, trained_model
from trl_lint.checks.inference._vllm import has_modes, is_local, mode_of, uses_vllm
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding
from trl_lint.knowledge.models import Model, model_of
from trl_lint.run.runs import Run
from trl_lint.run.servers import Server, is_up, servers_of


class ServerOfAnotherModel(Rule):
    code = "TRL808"
    runs = True
    launched = True

    def check_run(self, run: Run) -> Iterator[Finding]:
        if run.framework == "vllm":
            yield from self._check_script(run)
        elif has_modes(run):
            yield from self._check_models(run)

    def _check_script(self, run: Run) -> Iterator[Finding]:
        """The first word behind the subcommand is a script: nothing else may stand there but a model."""
        launch = run.launch
        first = launch.args[0] if launch.args and launch.subcommand in ("serve", "vllm-serve") else None
        if first is None or not first.text or first.text.startswith("-") or not first.text.endswith(".py"):
            return
        yield self.finding(
            launch.source.location(first.start, first.end),
            f"`{run.name}` starts no script: it loads a model and serves it; give it the model that the trainer gets, "
            f"and start {first.text} by a command of its own, on other GPUs",
            severity=Level(self, launch.is_documentation).severity,
        )

    def _check_models(self, run: Run) -> Iterator[Finding]:
        """The server that the same file starts for a trainer."""
        servers = (server for server in servers_of(run) if is_up(run, server))
        known = [(server, served) for server in servers if (served := served_model(server.run)) is not None]
        if not known:
            return
        name, place = trained_model(run)
        own = model_of(name) if name else None
        for server, served in known:
            if own is None or (message := _misfit(own, served)) == "":
                continue

            def asks(release: str, server: Server = server) -> bool:
                is_asked = uses_vllm(run, release) is True and mode_of(run, release) == "server"
                return is_asked and is_local(run, server, release)

            verdict = judge_releases(run.choices["trl"], asks, Level(self, run.launch.is_documentation))
            if verdict is None:
                continue
            related = (place._replace(message="the model of the trainer"),) if place is not None else ()
            yield self.finding(
                served.location,
                f"{message} ({verdict.scope})",
                severity=verdict.severity,
                related=(*related, run.launch.location._replace(message="the run"), *verdict.related),
            )


def _misfit(own: Model, served: Served) -> str:
    """What is wrong with the model of a server beside a trainer of another; "" where their weights may fit."""
    other = model_of(served.name)
    if other is None or not own.hidden or not other.hidden or own.hidden == other.hidden:
        return ""
    return (
        f"the server loads {served.name}, whose layers are {other.hidden} wide, and gets weights of {own.id}, whose "
        f"layers are {own.hidden} wide: it stops at the first of them; serve {own.id}"
    )


rule = ServerOfAnotherModel()
