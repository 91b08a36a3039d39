"""Runs for people and for programs: one description, written as text or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from trl_lint.paths import relative_to
from trl_lint.project.effective import Setting
from trl_lint.project.overview import PACKAGES, backend_of, values_of
from trl_lint.project.servers import Server, servers_of, share_of, shown_ids
from trl_lint.reports import visible

if TYPE_CHECKING:
    from trl_lint.finding import Location
    from trl_lint.project.runs import Run
    from trl_lint.reports.colors import Palette


_LONGEST = 60


def describe(run: Run, cwd: str) -> dict[str, Any]:
    """A run as JSON has it; paths from the working directory. None stands for what is not known."""
    launch = run.launch

    def place(location: Location | None) -> dict[str, Any]:
        if location is None:
            return {"path": None, "line": None}
        position = run.project.files.get(location.path).position(location.start)
        return {"path": relative_to(location.path, cwd), "line": position.line}

    processes = run.processes
    share = share_of(run) if run.framework != "vllm" else None
    return {
        "name": run.name,
        "framework": run.framework,
        "launcher": launch.launcher,
        **place(launch.location),
        "documentation": launch.is_documentation,
        "config": run.config or None,
        "backend": backend_of(run) or None,
        "processes": None
        if not isinstance(processes, Setting) or not processes.is_known
        else {"value": processes.value, **place(processes.location)},
        "gpus": {
            "visible": None if launch.visible_gpus is None else list(launch.visible_gpus),
            "used": None if share is None or share.taken is None else list(share.taken),
        },
        "servers": [_server(server, place(server.run.launch.location)) for server in servers_of(run)],
        "links": [
            {
                "kind": link.kind,
                "text": link.text,
                "status": link.status,
                "paths": [relative_to(path, cwd) for path in link.paths],
            }
            for link in run.links
        ],
        "versions": _versions(run, place),
        "values": [
            {"name": line.name, "value": line.value, "default": line.default, **place(line.location)}
            for line in values_of(run)
        ],
    }


def _server(server: Server, place: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": server.run.name,
        **place,
        "gpus": None if server.gpus is None else list(server.gpus),
        "ranks": server.ranks,
        "port": server.port,
    }


def _versions(run: Run, place: Any) -> dict[str, Any]:
    found = {}
    for name in PACKAGES:
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
    json.dump({"version": 1, "runs": list(runs)}, stream, indent=2)
    stream.write("\n")


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
        values = run["values"]
        width = max((len(visible(value["name"])) for value in values), default=0)
        for value in values:
            shown = "?" if value["value"] is None else shortened(value["value"])
            usual = f" (default {shortened(value['default'])})" if value["default"] is not None else ""
            where = palette.cyan(f"{visible(value['path'])}:{value['line']}")
            stream.write(f"    {visible(value['name']):<{width}} = {visible(shown)}{visible(usual)}  {where}\n")


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
        parts.append("with 1 process" if processes["value"] == 1 else f"with {processes['value']} processes")
    return " ".join(parts)


def _rows(run: dict[str, Any]) -> Iterable[tuple[str, str, str]]:
    """The rows below a headline: label, text, and the place that says so."""
    if run["processes"] is not None and run["processes"]["path"]:
        yield "processes", str(run["processes"]["value"]), _where(run["processes"])
    visible_gpus, used = run["gpus"]["visible"], run["gpus"]["used"]
    if visible_gpus is not None:
        yield "GPUs", shown_ids(tuple(used if used is not None else visible_gpus)), ""
    for server in run["servers"]:
        gpus = None if server["gpus"] is None else tuple(server["gpus"])
        yield "server", f"{server['name']} on GPUs {shown_ids(gpus)}, port {server['port'] or '?'}", _where(server)
    for link in run["links"]:
        state = {"exact": "", "builtin": " (comes with TRL)"}.get(link["status"], f" ({link['status']})")
        yield link["kind"], (link["paths"][0] if len(link["paths"]) == 1 else link["text"]) + state, ""
    if run["config"]:
        yield "config", run["config"], ""
    if run["backend"]:
        yield "backend", run["backend"], ""
    for name, package in run["versions"].items():
        resolved = package["resolved"] or "not known"
        yield name, f"{resolved}" + (f" of {package['specifier']}" if package["specifier"] else ""), _where(package)


def _where(place: dict[str, Any]) -> str:
    return f"{place['path']}:{place['line']}" if place.get("path") else ""
