"""Variables that are set and never reach who reads them: not exported, set below `ray start`, or below an import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress

from trl_lint.checks.launch._nodes import Fault
from trl_lint.checks.launch._variables import names_used
from trl_lint.memos import per_project
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.project.scripts import Script
from trl_lint.python.module import PythonModule
from trl_lint.regexes import regex
from trl_lint.run.runs import run_of
from trl_lint.sources import SourceError

# What libraries read, whoever starts them.
_READ = regex(
    r"(?:CUDA_VISIBLE_DEVICES|CUDA_LAUNCH_BLOCKING|CUDA_DEVICE_ORDER|PYTORCH_CUDA_ALLOC_CONF|TOKENIZERS_PARALLELISM|OMP_NUM_THREADS"
    r"|HF_(?:HOME|TOKEN|ENDPOINT|HUB_\w{1,40}|DATASETS_\w{1,40})|TRANSFORMERS_OFFLINE|WANDB_(?:PROJECT|MODE|API_KEY|RUN_GROUP"
    r"|NAME|ENTITY|DIR|TAGS)|NCCL_(?:DEBUG|SOCKET_IFNAME|IB_\w{1,20}|P2P_\w{1,20}|TIMEOUT|NVLS_ENABLE)|VLLM_(?:WORKER_MULTIPROC_METHOD|LOGGING_LEVEL)|TORCH_NCCL_\w{1,40})\Z"
)
# What the workers of Ray read, and no framework hands on to them.
_READ_BY_WORKERS = regex(
    r"(?:NCCL_(?:SOCKET_IFNAME|IB_\w{1,20}|P2P_\w{1,20})|GLOO_SOCKET_IFNAME|HF_(?:HOME|ENDPOINT|HUB_OFFLINE)|TRANSFORMERS_OFFLINE)\Z"
)
_ASSIGNED = regex(r"(?m)^[ \t]{0,40}([A-Z][A-Z0-9_]{3,60})=")
_EXPORTED = regex(r"\bexport[ \t]{1,9}([A-Z][A-Z0-9_]{3,60})=")
_ASKED = regex(rb"(?:environ(?:\.get)?|getenv)[\[(]\s{0,4}[\"']([A-Z][A-Z0-9_]{3,60})[\"']")
_OTHER_PROCESSES = regex(r"\b(?:subprocess|os\.system|multiprocessing|Popen|os\.exec\w*)\b")


def not_exported(script: Script, project: Project) -> Iterator[Fault]:
    """`NAME=value` on a line of its own, which no program sees unless the shell around has exported the name."""
    text = script.source.text
    wanted = _wanted(script, project)
    for launch in script.launches if wanted else ():
        around = launch.command.env
        if launch.is_documentation or launch.command.errors or around.is_partial or launch.wrappers[:1] == ("env",):
            continue
        for name in tuple(wanted):
            word = around.get(name)
            if word is None or word.text is None or around.exported(name):
                continue
            start = word.start - len(name) - 1
            if text[start : word.start] == f"{name}=" and (_READ.match(name) or name in _read_by(launch, project)):
                wanted.remove(name)
                yield Fault(
                    script.source.location(start, word.end),
                    f"`{name}` is not exported, so the program below does not see it: write `export {name}=…`",
                    (launch.location._replace(message="this program"),),
                )


def _wanted(script: Script, project: Project) -> list[str]:
    """The names that a script assigns and uses in no other way, and that somebody reads."""
    text = script.source.text
    assigned = sorted(set(_ASSIGNED.findall(text)))
    read = frozenset().union(*(_read_by(launch, project) for launch in script.launches)) if assigned else frozenset()
    used = names_used(text) if assigned else frozenset()
    return [name for name in assigned if (_READ.match(name) or name in read) and name not in used]


def _read_by(launch: Launch, project: Project) -> frozenset[str]:
    """The variables that the script of a command asks its environment for."""
    return _names_read_in(launch.script_path, project) if launch.script_path is not None else frozenset()


@per_project
def _names_read_in(path: str, project: Project) -> frozenset[str]:
    with suppress(OSError, SourceError):
        if path.endswith(".py") and project.files.holds(path, b"environ", b"getenv"):
            return frozenset(name.decode() for name in _ASKED.findall(project.files.get(path).data))
    return frozenset()


def behind_ray(script: Script, project: Project) -> Iterator[Fault]:
    """`export NAME=…` below `ray start`: the workers have the variables with which Ray was started."""
    text = script.source.text
    if "ray start" not in text or "runtime" in text or "env_vars" in text or "export" not in text:
        return
    starts = [
        one for one in script.commands if [word.text for word in one.words[:2]] == ["ray", "start"] and not one.outer
    ]
    wanted = {name for name in _EXPORTED.findall(text) if _READ_BY_WORKERS.match(name)}
    for launch in script.launches if len(starts) == 1 and not starts[0].branch else ():
        if launch.launcher != "python" or launch.wrappers or not run_of(launch, project).asked_of_ray:
            continue
        for name in sorted(wanted):
            word = launch.command.env.get(name)
            if word is None or not launch.command.env.exported(name) or word.start < starts[0].end:
                continue
            wanted.discard(name)
            yield Fault(
                script.source.location(word.start - len(name) - 1, word.end),
                f"`{name}` is exported below `ray start`, and the workers have the variables that Ray was started "
                "with: set it before",
                (script.source.location(starts[0].start, starts[0].end, "Ray is started here"),),
            )


def set_late(module: PythonModule) -> Iterator[Fault]:
    """`os.environ[…] = …` below the import of what reads the variable once."""
    from trl_lint.knowledge.variables import read_once

    if _OTHER_PROCESSES.search(module.text):
        return  # which get it
    imported: dict[str, ast.stmt] = {}
    seen: set[str] = set()
    for node in module.tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            for name in names if not getattr(node, "level", 0) else ():
                imported.setdefault(name.partition(".")[0], node)
        key = _assigned(node, module)
        row = read_once().get(key) if key else None
        if row is None or key in seen:
            continue
        seen.add(key)
        before = next((imported[name] for name in (row.module, *row.importers) if name in imported), None)
        if before is not None:
            yield Fault(
                module.location(node),
                f"`{key}` is read once, when `{row.module}` is imported, and that has happened above: set it before",
                (module.location(before, "imported here"),),
            )


def _assigned(node: ast.stmt, module: PythonModule) -> str:
    """The variable that a statement sets; "" for all others."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
        target = node.targets[0]
        if isinstance(target.slice, ast.Constant) and "os.environ" in module.names.origins(target.value):
            return str(target.slice.value)
    return ""
