"""TRL806: a run waits for a vLLM server, and nothing in the project starts one."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainers import uses_trainer
from trl_lint.checks.inference._vllm import mode_of, options_of, says_anywhere, uses_vllm, versions_of
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding
from trl_lint.knowledge.ranges import holds
from trl_lint.memos import read_per_project
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run

_TRAINERS = {
    "trl.GRPOConfig": "trl.GRPOTrainer",
    "trl.RLOOConfig": "trl.RLOOTrainer",
    "trl.OnlineDPOConfig": "trl.OnlineDPOTrainer",
}
# The trainer talks to a server and to nothing else: 0.18.0 brought `vllm_mode`, 0.16.0 the server.
_SERVER_ALONE = ">=0.16.0,<0.18.0"
# What says where the server is: somebody keeps one elsewhere.
_PLACES = ("vllm_server_base_url", "vllm_server_host", "vllm_server_port")
# Any of them in any file is taken for somebody who starts a server, or tells how to.
_SERVING = (
    b"vllm-serve", b"vllm_serve", b"vllm serve", b"vllm.entrypoints", b"VLLMClient", b"vllm/vllm-openai",
    b'"vllm", "serve"', b"'vllm', 'serve'", b"init_communicator", b"vLLM server", b"vllm server",
)  # fmt: skip


class ServerNobodyStarts(Rule):
    code = "TRL806"
    runs = True
    launched = True

    def check_run(self, run: Run) -> Iterator[Finding]:
        trainer = _TRAINERS.get(run.arguments_class)
        if trainer is None or "trl" not in run.choices or not uses_trainer(run, trainer):
            return
        said = run.config.given("use_vllm")
        if not isinstance(said, Setting) or said.truth is not True or options_of(run, _PLACES) or _is_unsloth(run):
            return

        def waits(release: str) -> bool:
            if uses_vllm(run, release) is not True:
                return False
            if run.config.at(versions_of(run, release)).default("vllm_mode") is ABSENT:
                return holds(_SERVER_ALONE, release)
            return mode_of(run, release) == "server"

        verdict = judge_releases(run.choices["trl"], waits, Level(self, run.launch.is_documentation))
        if verdict is None or serves(run.project):
            return
        where = (run.launch.location._replace(message="the run"),)
        yield self.finding(
            said.location or run.launch.location,
            "with this release the trainer generates on a vLLM server that runs beside it, and nothing in the project "
            f"starts one: start `trl vllm-serve --model …` on other GPUs first{_other_way(run)} ({verdict.scope})",
            severity=verdict.severity,
            related=(*where, *verdict.related),
        )


def _other_way(run: Run) -> str:
    """What else can be done in the releases that may run: only from 0.18.0 on the trainer can do without a server."""
    known = [
        run.config.at(versions_of(run, release)).default("vllm_mode") is not ABSENT
        for release in run.choices["trl"].releases
    ]
    if not any(known):
        return ""
    return ', or set `vllm_mode="colocate"`' + ("" if all(known) else " where the release has it")


def _is_unsloth(run: Run) -> bool:
    """Whether the script imports Unsloth, whose engine is in the process of the trainer."""
    return run.script is not None and "unsloth" in run.script.module.names.modules()


@read_per_project
def serves(project: Project) -> bool:
    """Whether any file of the project speaks of starting a server."""
    return says_anywhere(project, *_SERVING)


rule = ServerNobodyStarts()
