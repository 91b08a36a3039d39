"""What a run says about vLLM: whether it generates with it, in which mode, and which options belong to which mode."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Literal

from trl_lint.checks._run_models import Served, package_of
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.project.discovery import listings
from trl_lint.python.guards import is_expected_to_fail, never_runs
from trl_lint.python.module import PythonModule
from trl_lint.python.names import is_from
from trl_lint.python.values import argument
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.run.servers import Server
from trl_lint.sources import SourceError

SERVER_OPTIONS = ("vllm_server_base_url", "vllm_server_host", "vllm_server_port", "vllm_server_timeout")
# The files in which people write how services are started, and which no reader of ours understands.
_SERVICES = regex(
    r"\.(?:service|conf|cfg|ini|txt|rst|j2|tmpl|tpl|hcl|nomad|tf|env|bat|ps1|pbs|job|mk|fish|zsh|ksh|org|adoc)\Z"
    r"|\A(?:Procfile|Vagrantfile|Jenkinsfile|justfile|Justfile|README)|\A[^.]+\Z"
)
# Options of the engine inside the trainer; a server gets them on its own command line.
COLOCATE_OPTIONS = (
    "vllm_gpu_memory_utilization", "vllm_tensor_parallel_size", "vllm_max_model_length", "vllm_enable_sleep_mode",
)  # fmt: skip
_HERE = ("localhost", "127.0.0.1", "0.0.0.0", "")
_ENGINES = ("vllm.LLM", "vllm.LLMEngine", "vllm.AsyncLLM", "vllm.AsyncLLMEngine")
_ENGINE_MAKERS = frozenset({"from_engine_args", "from_vllm_config"})


def model_of_engine(call: ast.Call, module: PythonModule, overriding: Iterable[str]) -> Served | None:
    """The model that an `LLM(…)` certainly loads; None where it is not known, or its config may be another one.

    `overriding`: keywords with which vLLM goes by something else than the config of the model.
    """
    if not is_engine(call, module) or is_made(call) or not module.names.is_certain(call.func):
        return None
    if never_runs(module, call) or is_expected_to_fail(module, call):
        return None
    if any(keyword.arg is None or keyword.arg in overriding for keyword in call.keywords):
        return None
    model = argument(call, "model", 0)
    name = module.value(model) if isinstance(model, ast.expr) else None
    return Served(name, module.location(model)) if isinstance(name, str) and isinstance(model, ast.expr) else None


def says_anywhere(project: Project, *words: bytes) -> bool:
    """Whether any file of the project has one of some words, those for services included."""
    return any(_holds(path, project, words) for path in (*project.paths, *_of_services(project)))


def _of_services(project: Project) -> Iterator[str]:
    for folder, entries in listings(project.root, project.settings):
        for entry in entries or ():
            if _SERVICES.search(entry.name) and not project.settings.is_excluded(entry.path):
                yield os.path.join(folder, entry.name)


def _holds(path: str, project: Project, words: tuple[bytes, ...]) -> bool:
    with suppress(OSError, SourceError):
        return project.files.holds(path, *words)
    return False


class Option(NamedTuple):
    """A field that somebody set; `name` is what they call it."""

    name: str
    setting: Setting


def is_made(call: ast.Call) -> bool:
    """Whether a call asks a class for an engine made from settings: `LLMEngine.from_engine_args(args)`."""
    return isinstance(call.func, ast.Attribute) and call.func.attr in _ENGINE_MAKERS


def is_engine(call: ast.Call, module: PythonModule) -> bool:
    """Whether a call builds an engine of vLLM in this process."""
    func = call.func
    made_by = func.value if isinstance(func, ast.Attribute) and is_made(call) else func
    origins = module.names.origins(made_by)
    return any(is_from(origin, engine) for origin in origins for engine in _ENGINES)


def options_of(run: Run, names: Iterable[str]) -> list[Option]:
    """Those of the fields that the run certainly sets to something."""
    found = []
    for name in names:
        said = run.arguments.config.given(name)
        if isinstance(said, Setting) and said.location is not None and said.value is not None:
            found.append(Option(run.arguments.shown(name), said))
    return found


def has_modes(run: Run) -> bool:
    """Whether the config of the run has `vllm_mode` in a release that may be in use."""
    if not run.arguments.dotted.startswith("trl.") or "trl" not in run.choices:
        return False
    if run.arguments.is_filled and run.choices["trl"].assumed and not _says_which_trl(run):
        return False
    return run.arguments.config.at(versions_of(run, run.choices["trl"].newest)).default("vllm_mode") is not ABSENT


def _says_which_trl(run: Run) -> bool:
    """Whether the framework of a run declares which releases of trl it goes with."""
    from packaging.version import Version

    from trl_lint.knowledge.requirements import declared

    chosen = run.choices.get(package_of(run))
    known = declared(chosen.package.name, Version(chosen.newest)) if chosen is not None else None
    return known is not None and "trl" in known.parts


def versions_of(run: Run, trl: str) -> dict[str, str]:
    return {**run.choices.newest(("trl", "transformers")), "trl": trl}


def uses_vllm(run: Run, trl: str) -> bool | None:
    """Whether the run generates with vLLM; None if nobody can tell."""
    said = run.arguments.config.at(versions_of(run, trl)).final("use_vllm")
    return said.truth if isinstance(said, Setting) else None


def mode_of(run: Run, trl: str) -> str | None:
    """The mode with a release of trl, None if it is not known."""
    said = run.arguments.config.at(versions_of(run, trl)).final("vllm_mode")
    return said.value if isinstance(said, Setting) and isinstance(said.value, str) else None


def is_local(run: Run, server: Server, trl: str) -> bool:
    """Whether the trainer certainly talks to this server: on this machine, at its port."""
    if run.arguments.config.given("vllm_server_base_url") is not ABSENT:
        return False
    host = run.arguments.config.at(versions_of(run, trl)).final("vllm_server_host")
    port = run.arguments.config.at(versions_of(run, trl)).final("vllm_server_port")
    if not isinstance(host, Setting) or host.value not in _HERE or not isinstance(port, Setting):
        return False
    return server.port is not None and port.integer == server.port


# Whose engine a setting is for: one that the processes of a run hold, or a server that the same config may start.
Place = Literal["", "run", "server"]


def engine_of(run: Run, what: str, release: str) -> Place:
    """The engine that certainly reads a setting of a run in a release of its framework; "" where there is none."""
    config, subcommand = run.config, run.launch.subcommand
    held, mode = config.held(what), config.held("engine_mode")
    if held is None or mode is None:
        return ""
    if held.read_by and config.is_read(what, subcommand, release):
        return "run"
    if config.is_on("engine", release) is not True or config.kind() not in (None, "rl"):
        return ""
    if mode.none or config.is_on("engine_mode", release):
        return "run" if held.worker == "engine" else ""
    return "server" if held.read_by else ""


def has_engine(run: Run) -> bool:
    """Whether the framework of a run may start engines, in a release that is in use."""

    held = run.config.held("tensor_parallel")
    return held is not None and bool(held.names) and package_of(run) in run.choices


def tensor_parallel_engine(run: Run, release: str) -> Place:
    """As `engine_of`, of the GPUs that share one; "" in releases that let nothing share them."""

    there = run.config.setting("tensor_parallel", release) is not ABSENT
    return engine_of(run, "tensor_parallel", release) if there else ""
