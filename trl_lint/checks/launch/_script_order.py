"""Commands of a script that are never reached, do not last, or name what they start in the wrong way."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator

from trl_lint.checks.launch._nodes import Fault
from trl_lint.checks.launch._visible import TRANSPARENT
from trl_lint.knowledge.families import framework_of
from trl_lint.memos import per_project
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.project.modules import folders_by_name
from trl_lint.project.scripts import Script
from trl_lint.regexes import regex
from trl_lint.run.runs import run_of
from trl_lint.run.servers import share_of

# With these the launchers meet elsewhere, or belong together.
_OTHER_MEETING = (
    "--standalone", "--rdzv_backend", "--rdzv_endpoint", "--config_file", "--nnodes", "--num_machines", "--num_nodes",
    "--node_rank", "--machine_rank",
)  # fmt: skip
_ENDS = regex(r"\b(?:wait|sleep|kill|ssh)\b")
_SERVERS = frozenset({"sglang.launch_server", "lmdeploy.serve.openai.api_server", "vllm.entrypoints.api_server"})
# What may make a folder.
_MAKES = ("mkdir", "git clone", "unzip", "tar ", "cp -r", "rsync", "wget", "mv ")
# These say something, and wait for nothing.
_BRIEF = frozenset({"echo", "printf", "date", "hostname", "export", "cd", "set", "true", ":", "disown"})


def unreached(script: Script, project: Project) -> Iterator[Fault]:
    """A server in the foreground, before what needs it."""
    for at, launch in enumerate(script.launches):
        command = launch.command
        if command.background or launch.is_documentation or command.errors or command.function:
            continue
        if not _serves(launch, project) or not TRANSPARENT.issuperset(launch.wrappers) or "timeout" in launch.wrappers:
            continue
        after = next((one for one in script.launches[at + 1 :] if set(command.branch) <= set(one.command.branch)), None)
        if (
            after is None
            or _serves(after, project)
            or after.command.start < command.end
            or after.command.function
            or command.piped_from
        ):
            continue
        yield Fault(
            launch.location,
            "this server runs in the foreground and does not return, so the command below it never starts: put `&` "
            "behind it, and wait until it answers",
            (after.location._replace(message="never reached"),),
        )


def _serves(launch: Launch, project: Project) -> bool:
    program = launch.program
    if program is not None and (program.serves_only or program.server_of(launch.subcommand) is not None):
        return True
    return launch.module in _SERVERS or run_of(launch, project).framework == "vllm"


def cut_short(script: Script) -> Iterator[Fault]:
    """A job that ends with its script while what it put into the background still runs."""
    if script.scheduler is None or not script.launches or "wait" in script.source.text.split():
        return
    last = script.launches[-1]
    if not last.command.background or last.command.function or last.command.errors or last.is_documentation:
        return
    later = [one for one in script.commands if one.start > last.command.start and one.start >= last.command.end]
    if any(one.words[0].text not in _BRIEF for one in later):
        return
    yield Fault(
        last.location,
        "the script ends while this runs in the background, and the job ends with it: end the script with `wait`",
    )


def same_port(script: Script, project: Project) -> Iterator[Fault]:
    """Two launchers that run at the same time and meet at one port."""
    before: Launch | None = None
    for launch in script.launches:
        program = launch.program
        if program is None or not program.starts_programs or launch.is_documentation or launch.command.errors:
            continue
        if before is not None and _port(before, project) == _port(launch, project) is not None:
            between = script.source.text[before.command.end : launch.command.start]
            if before.command.branch == launch.command.branch and not _ENDS.search(between):
                yield Fault(
                    launch.location,
                    f"both launchers take port {_port(launch, project)}, and the second one stops: give it another",
                    (before.location._replace(message="this one runs at the same time"),),
                )
        before = launch if launch.command.background and not launch.command.function else None


def _port(launch: Launch, project: Project) -> str | None:
    """The port at which the processes of a launcher meet; None where it is not known, or chosen by itself."""
    if launch.hides_options() or not TRANSPARENT.issuperset(launch.wrappers) or "srun" in launch.wrappers:
        return None
    if any(name in launch.options for name in _OTHER_MEETING):
        return None
    number = share_of(run_of(launch, project)).number
    if number is None or number < 2 or "MASTER_PORT" in launch.env:
        return None
    words = [launch.options[name] for name in ("--master_port", "--main_process_port") if name in launch.options]
    return words[0].text if words else "29500"


def wrong_folder(script: Script, project: Project) -> Iterator[Fault]:
    """`cd` into a folder that nobody has, before a script that lies in another one."""
    if any(mark in script.source.text for mark in _MAKES):
        return
    moves = [one for one in script.commands if one.words[0].text == "cd"]
    starts = [one.start for one in moves]
    told: set[int] = set()
    for launch in script.launches if moves else ():
        name, folder = launch.script.text if launch.script is not None else None, launch.command.directory
        if name is None or not name.endswith(".py") or launch.candidates or launch.is_documentation:
            continue
        if not folder or os.path.isabs(folder) or folder.startswith("."):
            continue
        at = bisect_left(starts, launch.command.start) - 1
        if at < 0 or at in told or moves[at].branch:
            continue
        told.add(at)
        known = folders_by_name(project).get(os.path.basename(name), ())
        homes = {home for home in known if f"{home}/".endswith(f"/{_above(name)}")}
        if len(homes) != 1 or os.path.basename(os.path.normpath(folder)) in _folders(project):
            continue
        said, home = moves[at], os.path.relpath(next(iter(homes)), project.root).replace(os.sep, "/")
        yield Fault(
            script.source.location(said.start, said.end),
            f"there is no folder `{folder}` here, so `{name}` is not found: it lies in `{home}`",
            (launch.location._replace(message="started here"),),
        )


def _above(name: str) -> str:
    folder = os.path.dirname(name)
    return f"{folder}/" if folder else ""


@per_project
def _folders(project: Project) -> frozenset[str]:
    """The names of the project's folders, and of those around it."""
    homes = {home for found in folders_by_name(project).values() for home in found}
    return frozenset(part for home in homes for part in home.split("/"))


def misnamed(launch: Launch, project: Project) -> Iterator[Fault]:
    """`python -m pkg/mod.py`, which names no module, and `python pkg.mod`, which names no file."""
    command, module = launch.command, launch.module
    if command.errors:
        return
    if module and command.directory is not None and (module.endswith(".py") or "/" in module):
        word = next(word for word in command.words if word.text == module)
        path = module if module.endswith(".py") else f"{module}.py"
        if len(launch.files_named(path)) == 1:
            dotted = path[:-3].removeprefix("./").replace("/", ".")
            message = f"`-m` takes the name of a module: write `-m {dotted}`, or leave `-m` out"
            yield Fault(launch.source.location(word.start, word.end), message)
    script = launch.script
    text = (script.text or "") if script is not None else ""
    if script is None or launch.candidates or not all(map(str.isidentifier, text.split("."))) or "." not in text:
        return
    is_of_framework = framework_of(None, None, text) != ""
    is_here = command.directory is not None and len(launch.files_named(text.replace(".", "/") + ".py")) == 1
    if not text.endswith(".py") and (is_of_framework or is_here):
        option = "--module" if launch.launcher == "deepspeed" else "-m"
        message = f"there is no file `{text}`: a module is started with `{option} {text}`"
        yield Fault(launch.source.location(script.start, script.end), message)
