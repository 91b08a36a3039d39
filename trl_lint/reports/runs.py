"""Runs for people and for programs: one description, written as text or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

from trl_lint.finding import Location
from trl_lint.missing import ABSENT
from trl_lint.paths import relative_to
from trl_lint.reports import visible
from trl_lint.reports.colors import Palette
from trl_lint.reports.log_safe import dump_json
from trl_lint.run.effective import Setting
from trl_lint.run.overview import backend_of, packages_of, values_of
from trl_lint.run.runs import Run
from trl_lint.run.servers import Server, servers_of, share_of, shown_ids
from trl_lint.run.vllm_device import own_device

_LONGEST = 60
_MOST_GPUS = 64  # shown of a machine


def describe(run: Run, cwd: str, everything: bool = False) -> dict[str, Any]:
    """A run as JSON has it; paths from the working directory. None stands for what is not known.

    With `everything`, the values that are left to a default as well.
    """
    launch = run.launch

    def place(location: Location | None) -> dict[str, Any]:
        if location is None:
            return {"path": None, "line": None}
        position = run.project.files.own(location.path).position(location.start)
        return {"path": relative_to(location.path, cwd), "line": position.line}

    share = share_of(run) if run.framework != "vllm" else None
    return {
        "name": run.name,
        "framework": run.framework,
        "method": run.method or None,
        "batch": _batch(run),
        "launcher": launch.launcher,
        **place(launch.location),
        "documentation": launch.is_documentation,
        "config": run.arguments_class or None,
        "backend": backend_of(run) or None,
        "processes": _processes(run, place),
        "nodes": run.workers[0].machines if run.framework != "vllm" else None,
        "ray": bool(run.asked_of_ray),
        "workers": [
            {
                "role": one.role,
                "processes": one.total,
                "nodes": one.machines,
                "pool": one.pool,
                "size": one.size.integer if isinstance(one.size, Setting) else None,
            }
            for one in (run.workers if run.framework != "vllm" else ())
        ],
        "gpus": {
            "visible": None if launch.visible_gpus is None else list(launch.visible_gpus),
            "used": None if share is None or share.taken is None else list(share.taken),
            "per_machine": None if share is None else share.number,
        },
        "vllm": _vllm(run, place),
        "servers": [_server(server, place(server.run.launch.location)) for server in servers_of(run)],
        "links": _links(run, cwd),
        "versions": _versions(run, place),
        "values": (values := _values(run, place, everything)),
        "candidates": [
            {
                "label": candidate.label,
                "guess": candidate.is_guess,
                "processes": _processes(candidate.run, place),
                "backend": backend_of(candidate.run) or None,
                "links": _links(candidate.run, cwd),
                "values": [value for value in _values(candidate.run, place) if value not in values],
            }
            for candidate in run.guesses or run.candidates or run.calls
        ],
    }


def _processes(run: Run, place: Any) -> dict[str, Any] | None:
    said = run.processes
    known = isinstance(said, Setting) and said.is_known
    return {"value": said.value, **place(said.location)} if isinstance(said, Setting) and known else None


def _batch(run: Run) -> dict[str, Any] | None:
    batch = run.batch
    if batch is None:
        return None
    return {"samples": batch.samples, "parts": [{"name": name, "value": said.integer} for name, said in batch.parts]}


def _vllm(run: Run, place: Any) -> dict[str, Any] | None:
    """Where the trainer generates with vLLM: in its own processes, at a server, or (up to trl 0.17) on one device."""
    versions = run.choices.newest(("trl", "transformers"))
    used = run.config.at(versions).final("use_vllm")
    if not isinstance(used, Setting) or used.truth is not True:
        return None
    mode, device = run.config.at(versions).final("vllm_mode"), run.config.at(versions).final("vllm_device")
    processes = run.processes.integer if isinstance(run.processes, Setting) else None
    seen = None if run.launch.visible_gpus is None else len(run.launch.visible_gpus)
    own = own_device(run, versions["trl"], processes, seen) if "trl" in versions else None
    said = mode.value if isinstance(mode, Setting) and isinstance(mode.value, str) else None
    if mode is ABSENT and own is None and run.config.at(versions).default("vllm_server_host") is not ABSENT:
        said = "server"  # trl 0.16 and 0.17 know nothing else
    return {
        "mode": said,
        "device": device.value if isinstance(device, Setting) and isinstance(device.value, str) else None,
        "gpu": None if own is None else own.gpu,
        **place(used.location),
    }


def _links(run: Run, cwd: str) -> list[dict[str, Any]]:
    return [
        {
            "kind": link.kind,
            "text": link.text,
            "status": link.status,
            "paths": [relative_to(path, cwd) for path in link.paths],
        }
        for link in run.links
    ]


def _values(run: Run, place: Any, everything: bool = False) -> list[dict[str, Any]]:
    return [
        {"name": line.name, "value": line.value, "default": line.default, **place(line.location)}
        | ({"reason": line.reason} if line.reason else {})
        for line in values_of(run, everything)
    ]


def _server(server: Server, place: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": server.run.name,
        **place,
        "gpus": None if server.gpus is None else list(server.gpus),
        "ranks": server.ranks,
        "tensor": server.tensor,
        "pipeline": server.pipeline,
        "port": server.port,
    }


def _versions(run: Run, place: Any) -> dict[str, Any]:
    found = {}
    for name in packages_of(run):
        package = run.environment.package(name)
        if package.source in ("assumed", "unknown") and not package.pins:
            continue
        found[name] = {
            "specifier": package.specifier,
            "resolved": None if package.resolved is None else str(package.resolved),
            "source": package.source,
            **place(package.pins[0].location if package.pins else None),
        }
    return found


def write_json(runs: Sequence[dict[str, Any]], stream: TextIO) -> None:
    """Write the runs as one JSON document."""
    dump_json({"version": 1, "runs": list(runs)}, stream)


def write_text(runs: Iterable[dict[str, Any]], stream: TextIO, palette: Palette) -> None:
    """Write each run as a block: a headline, and below it what the run consists of."""
    for number, run in enumerate(runs):
        if number:
            stream.write("\n")
        stream.write(f"{visible(run['path'])}:{run['line']}: {palette.bold(visible(run['name']))} {_how(run)}\n")
        for label, text, where in _rows(run):
            stream.write(
                f"  {label:<14}{visible(text)}" + (f"  {palette.cyan(visible(where))}" if where else "") + "\n"
            )
        _write_values(run["values"], "    ", stream, palette)
        for index, candidate in enumerate(run["candidates"], 1):
            head = candidate_in_words(candidate, index, len(run["candidates"]))
            stream.write(f"  {visible(head)}{_apart(candidate, run)}\n")
            _write_values(candidate["values"], "      ", stream, palette)


def _write_values(values: Sequence[dict[str, Any]], indent: str, stream: TextIO, palette: Palette) -> None:
    width = max((len(visible(value["name"])) for value in values), default=0)
    for value in values:
        shown = f"? ({value['reason']})" if value["value"] is None else shortened(value["value"])
        usual = f" (default {shortened(value['default'])})" if value["default"] is not None else ""
        where = palette.cyan(visible(_where(value)) or "the default")
        stream.write(f"{indent}{visible(value['name']):<{width}} = {visible(shown)}{visible(usual)}  {where}\n")


def candidate_in_words(candidate: dict[str, Any], number: int, count: int) -> str:
    """`1 of 2: small.yaml`; one that rests on a default or on a name from outside says so."""
    which = f"{number} of {count}: " if count > 1 else ""
    return f"{'perhaps ' if candidate['guess'] else ''}{which}{candidate['label']}"


def _apart(candidate: dict[str, Any], run: dict[str, Any]) -> str:
    """What a candidate knows that the run does not, besides its values."""
    found = []
    if run["processes"] is None and candidate["processes"] is not None:
        found.append(counted(candidate["processes"]["value"]))
    if run["backend"] is None and candidate["backend"] is not None:
        found.append(candidate["backend"])
    return f" ({', '.join(found)})" if found else ""


def counted(processes: object) -> str:
    """`1 process`, `8 processes`."""
    return "1 process" if processes == 1 else f"{processes} processes"


def shortened(text: str) -> str:
    """A value in one line of a length that leaves room for its place."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def _how(run: dict[str, Any]) -> str:
    parts = [] if run["name"].startswith(run["launcher"]) else [f"by {run['launcher']}"]
    processes = run["processes"]
    if run["framework"] == "vllm":
        return " ".join(parts)
    if processes is None:
        parts.append("with an unknown number of processes")
    else:
        parts.append(f"with {counted(processes['value'])}")
    if run["nodes"] not in (None, 1):
        parts.append(f"on {run['nodes']} machines")
    return " ".join(parts)


def _rows(run: dict[str, Any]) -> Iterable[tuple[str, str, str]]:
    """The rows below a headline: label, text, and the place that says so."""
    if run["method"]:
        yield "method", run["method"], ""
    if run["batch"] is not None:
        parts = " x ".join(f"{part['value']} {part['name']}" for part in run["batch"]["parts"])
        yield "batch", f"{run['batch']['samples']} samples: {parts}", ""
    if run["processes"] is not None and run["processes"]["path"]:
        yield "processes", str(run["processes"]["value"]), _where(run["processes"])
    if run["ray"]:
        yield "Ray", ", ".join(pools_in_words(run["workers"])), ""
    roles = gpu_roles(run)
    if roles:
        ids = {role: tuple(gpu for gpu, one in roles.items() if one == role) for role in dict.fromkeys(roles.values())}
        yield "GPUs", ", ".join(f"{shown_ids(gpus)} {role}" for role, gpus in ids.items()), ""
    if run["vllm"] is not None:
        yield "vLLM", vllm_in_words(run["vllm"]), _where(run["vllm"])
    for server in run["servers"]:
        gpus = None if server["gpus"] is None else tuple(server["gpus"])
        yield "server", f"{server['name']} on GPUs {shown_ids(gpus)}, port {server['port'] or '?'}", _where(server)
    for link in run["links"]:
        state = {"exact": "", "builtin": " (comes with TRL)"}.get(link["status"], f" ({link['status']})")
        shown = link["paths"][0] if len(link["paths"]) == 1 else link["text"]
        yield link["kind"], shown + state, ""
    if run["config"]:
        yield "config", run["config"], ""
    if run["backend"]:
        yield "backend", run["backend"], ""
    for name, package in run["versions"].items():
        resolved = package["resolved"] or "not known"
        yield name, f"{resolved}" + (f" of {package['specifier']}" if package["specifier"] else ""), _where(package)


def vllm_in_words(vllm: dict[str, Any]) -> str:
    """Where a trainer runs vLLM."""
    if vllm["device"] == "auto" and vllm["mode"] is None:
        return f"on cuda:{vllm['gpu']} (auto)" if vllm["gpu"] is not None else "on the GPU behind the trainer's (auto)"
    if vllm["device"] is not None and vllm["mode"] is None:
        return f"on {vllm['device']}"
    known = {"colocate": "inside the trainer (colocate)", "server": "at a server (server)"}
    return known.get(vllm["mode"], vllm["mode"] or "?")


def pools_in_words(workers: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The GPUs that Ray is asked for, by those who share them: `trainer + engine 8`, `reward ?`."""
    for pool in dict.fromkeys(one["pool"] for one in workers):
        inside = [one for one in workers if one["pool"] == pool]
        owner = next((one for one in inside if one["role"] == pool), inside[0])
        number = "?" if owner["processes"] is None else owner["processes"]
        yield f"{' + '.join(one['role'] for one in inside)} {number}"


def gpu_roles(run: dict[str, Any]) -> dict[str, str]:
    """What each GPU that the texts name does: id -> trainer, server, vLLM, several, idle; empty where none is known."""
    roles: dict[str, str] = {}
    if run["ray"]:
        return roles
    used, visible_ids, vllm = run["gpus"]["used"], run["gpus"]["visible"], run["vllm"] or {}
    count = run["gpus"]["per_machine"]
    is_server = run["framework"] == "vllm"
    if visible_ids is None and count is not None:
        used = [str(index) for index in range(min(count, _MOST_GPUS))]
    for gpu in visible_ids or ():
        roles[gpu] = "server" if is_server else "idle"
    for gpu in used or ():
        roles[gpu] = "trainer + vLLM" if vllm.get("mode") == "colocate" else "trainer"
    for server in run["servers"]:
        for gpu in (server["gpus"] or ())[: server["ranks"] or None]:
            roles[gpu] = "trainer + server" if "trainer" in roles.get(gpu, "") else "server"
    index = vllm.get("gpu")
    if index is not None and (visible_ids is None or index < len(visible_ids)):
        gpu = str(index) if visible_ids is None else visible_ids[index]
        roles[gpu] = "trainer + vLLM" if roles.get(gpu) == "trainer" else "vLLM"
    return dict(sorted(roles.items(), key=lambda item: (len(item[0]), item[0])))


def _where(place: dict[str, Any]) -> str:
    return f"{place['path']}:{place['line']}" if place.get("path") else ""
