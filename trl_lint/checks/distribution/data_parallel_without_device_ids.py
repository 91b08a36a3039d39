"""TRL102: `nn.DataParallel(model)` spreads over every visible GPU, the one that vLLM lives on included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.checks.inference._vllm import is_engine, is_made
from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding, Fix, Location
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project.launch_table import all_launches, launches_of
from trl_lint.python.guards import exclusive
from trl_lint.python.islands import rewrite, with_keyword
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument, literal
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.project import Project
    from trl_lint.project.launches import Launch

_CUDA = regex(r"cuda:(\d{1,9})")
_HERE = frozenset({"", "0.0.0.0", "localhost", "127.0.0.1", "::1"})
_SERVER_MODULES = frozenset({"vllm.entrypoints.openai.api_server", "trl.scripts.vllm_serve"})
# These start a command on some other machine, or nobody knows where: what it sees says nothing about this one.
_ELSEWHERE = frozenset({"srun", "ssh", "mpirun", "ray", "kubectl"})


class Owner(NamedTuple):
    """Something that gives vLLM GPUs of its own, and where it is written.

    `gpus` are the numbers under which the trainer knows them, `visible` is how many GPUs it sees; None if unknown.
    """

    location: Location
    gpus: tuple[int, ...] | None
    visible: int | None = None


class DataParallelWithoutDeviceIds(Rule):
    code = "TRL102"
    triggers = ("torch.nn.DataParallel",)

    def check_call(self, site: Site) -> Iterator[Finding]:
        ids = argument(site.call, "device_ids", 1)
        if ids is not ABSENT and not (isinstance(ids, ast.expr) and literal(ids) is None):
            return
        owners = list(read_owners(site))
        if not owners:
            return
        owner = next((owner for owner in owners if owner.gpus), owners[0])
        yield self.finding(
            site.location,
            f"`{site.module.segment(site.call.func)}` without `device_ids` puts a replica on every visible GPU, "
            f"also on {describe(owner)}",
            related=(owner.location,),
            fix=edit_device_ids(site, owner),
        )


def describe(owner: Owner) -> str:
    if owner.gpus is None:
        return "the one that vLLM uses"
    if len(owner.gpus) == 1:
        return f"GPU {owner.gpus[0]}, which vLLM uses"
    return f"GPUs {', '.join(map(str, owner.gpus))}, which vLLM uses"


# -- who owns a GPU ----------------------------------------------------------------------------------------------


def read_owners(site: Site) -> Iterator[Owner]:
    """Every vLLM that lives beside this DataParallel: in the process, or started by the same shell script."""
    for call in site.module.calls:
        owners = [*read_engine(call, site.module), *read_config(call, site)]
        if owners and not _apart(site.module, site.call, call):
            yield from owners
    if is_script(site):
        yield from read_servers(site)


def is_script(site: Site) -> bool:
    """Whether the module does something when it is run; a library is started by nobody, so no launch is looked for."""
    body = site.module.tree.body
    calls_main = any(isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) for statement in body)
    return calls_main or "__main__" in site.module.text or site.module.function(site.call) is None


def _apart(module: PythonModule, one: ast.Call, other: ast.Call) -> bool:
    """Two classes are two backends to choose from, and so are two branches: they need not meet in one process."""
    first, second = module.class_of(one), module.class_of(other)
    return (first is not None and second is not None and first is not second) or exclusive(module, one, other)


def read_engine(call: ast.Call, module: PythonModule) -> Iterator[Owner]:
    """vLLM built in this process: `LLM(model, device=…)`; without a device it takes the first GPUs."""
    if not is_engine(call, module):
        return
    gpus = None
    device = argument(call, "device")
    if device is ABSENT and not is_made(call):
        size = argument(call, "tensor_parallel_size")
        count = 1 if size is ABSENT else _value(module, size)
        gpus = tuple(range(count)) if isinstance(count, int) else None
    elif isinstance(device, ast.expr):
        gpus = _gpu(_value(module, device))
    yield Owner(module.location(call, "vLLM is started here"), gpus)


def read_config(call: ast.Call, site: Site) -> Iterator[Owner]:
    """`GRPOConfig(use_vllm=True)`: TRL 0.14 to 0.15.2 start vLLM in the process, on `vllm_device`.

    0.16 and 0.17 ignore `vllm_device` and ask a server, 0.18 has no such field; "colocate" shares every GPU on purpose.
    """
    module = site.module
    if _value(module, argument(call, "use_vllm")) is not True:
        return
    if not any(origin.startswith("trl.") for origin in module.names.origins(call.func)):
        return
    place = next(keyword for keyword in call.keywords if keyword.arg == "use_vllm")
    device = argument(call, "vllm_device")
    trl = site.project.environment(module.path).package("trl")
    pinned = trl.source != "assumed"
    in_process = trl.holds("<0.16") if pinned else "all" if device is not ABSENT else "none"
    if in_process in ("all", "some"):
        if device is not ABSENT:
            place = next((keyword for keyword in call.keywords if keyword.arg == "vllm_device"), place)
        yield Owner(module.location(place, "vLLM gets a GPU here"), _gpu(_value(module, device)))
        return
    mode = argument(call, "vllm_mode")
    # Before 1.0 the default was a server; since 1.0 it is "colocate".
    served = trl.holds("<1.0") == "all" if mode is ABSENT else _value(module, mode) == "server"
    host = argument(call, "vllm_server_host")
    if served and (host is ABSENT or _value(module, host) in _HERE) and not _gpus_are_chosen(site):
        yield Owner(module.location(place, "a vLLM server on this machine owns a GPU"), None)


def _gpus_are_chosen(site: Site) -> bool:
    """Whether every known launch of the script names the GPUs it may see: then the server was thought of."""
    launches = launches_of(site.module.path, site.project)
    return bool(launches) and all(launch.visible_gpus is not None for launch in launches)


def read_servers(site: Site) -> Iterator[Owner]:
    """A vLLM server that the shell script which starts this trainer starts too, on a GPU the trainer sees."""
    for launch in launches_of(site.module.path, site.project):
        for server in _servers_beside(launch, site.project):
            gpus = _seen_by(launch, server)
            if gpus:
                visible = len(launch.visible_gpus) if launch.visible_gpus is not None else None
                yield Owner(server.location._replace(message="this vLLM server owns the GPU"), gpus, visible)


def _servers_beside(launch: Launch, project: Project) -> list[Launch]:
    return [
        other
        for other in all_launches(project)
        if other.source.path == launch.source.path
        and _is_server(other)
        and (other.command.background or other.is_documentation)  # else it has ended before the trainer starts
        and not _ELSEWHERE.intersection((*launch.wrappers, *other.wrappers))
    ]


def _is_server(launch: Launch) -> bool:
    """`vllm serve`, `trl vllm-serve`, or the modules behind them."""
    if launch.launcher == "vllm" or launch.module in _SERVER_MODULES:
        return True
    return launch.launcher == "trl" and launch.subcommand == "vllm-serve"


def _seen_by(trainer: Launch, server: Launch) -> tuple[int, ...]:
    """The GPUs of the server by the trainer's own numbers; none where they are unknown or out of its sight."""
    owned = server.visible_gpus
    if owned is None or not all(gpu.isdecimal() and len(gpu) < 9 for gpu in owned):
        return ()
    seen = trainer.visible_gpus
    if seen is None:
        # Written nowhere, so the trainer sees all; set to something that cannot be read, nobody knows.
        return () if "CUDA_VISIBLE_DEVICES" in trainer.env else tuple(sorted(int(gpu) for gpu in owned))
    return tuple(index for index, gpu in enumerate(seen) if gpu in owned)


def _value(module: PythonModule, node: ast.expr | Missing) -> object:
    return UNKNOWN if isinstance(node, Missing) else module.value(node)


def _gpu(device: object) -> tuple[int, ...] | None:
    match = _CUDA.fullmatch(device) if isinstance(device, str) else None
    return (int(match[1]),) if match else None


# -- the remedy ----------------------------------------------------------------------------------------------


def edit_device_ids(site: Site, owner: Owner) -> Fix | None:
    """Name the GPUs that are left. Safe: the first GPU stays the first, so a module that lives there still may.

    Withheld where vLLM has GPU 0: DataParallel wants the module on its first device, so the module would have to move.
    """
    if not owner.gpus or 0 in owner.gpus:
        return None
    if owner.visible is not None:
        ids = str([index for index in range(owner.visible) if index not in owner.gpus])
    else:
        torch = ast.Name("torch")
        if site.module.names.origins(torch) != {"torch"} or not site.module.names.is_imported("torch"):
            return None
        test = f"i != {owner.gpus[0]}" if len(owner.gpus) == 1 else f"i not in {owner.gpus}"
        ids = f"[i for i in range(torch.cuda.device_count()) if {test}]"

    def change(call: cst.Call) -> cst.Call:
        import libcst as cst

        args = list(call.args)
        if len(args) > 1 and args[1].keyword is None:  # a positional None
            return call.with_changes(args=[args[0], args[1].with_changes(value=cst.parse_expression(ids)), *args[2:]])
        return with_keyword(call, "device_ids", ids)

    edit = rewrite(site, site.call, change)
    names = " and ".join(map(str, owner.gpus))
    return None if edit is None else Fix(f"Leave GPU {names} to vLLM with `device_ids=`", "safe", (edit,))


rule = DataParallelWithoutDeviceIds()
