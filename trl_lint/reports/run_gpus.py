"""The GPUs of a run as boxes: ranks of the trainer, engines, and what takes a GPU twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trl_lint.reports.html_page import told
from trl_lint.reports.runs import gpu_roles, pools_in_words

_MOST = 64  # boxes of one group


def gpu_grid(run: dict[str, Any]) -> str:
    """The boxes of a run as `reports.runs.describe` gives it; nothing where no GPU is known."""
    if run["ray"]:
        return "".join(_by_ray(run["workers"]))
    boxes = []
    for gpu, role in gpu_roles(run).items():
        lines = list(_lines(run, gpu))
        if is_overlap(run, role):
            lines.append("⚠ taken twice")
        kind = "overlap" if is_overlap(run, role) else "both" if "+" in role else role
        boxes.append((kind, f"GPU {gpu}: {role}", lines))
    return _grid("GPUs", boxes)


def is_overlap(run: dict[str, Any], role: str) -> bool:
    """Whether two that do not know of each other take one GPU; vLLM inside the trainer shares it by design."""
    inside = (run["vllm"] or {}).get("mode") == "colocate"
    return role == "trainer + server" or (role == "trainer + vLLM" and not inside)


def _lines(run: dict[str, Any], gpu: str) -> Iterator[str]:
    """What a GPU does, a line each."""
    visible, number = run["gpus"]["visible"], run["gpus"]["per_machine"]
    used = run["gpus"]["used"] if visible is not None else [str(index) for index in range(min(number or 0, _MOST))]
    if gpu in (used or ()) and run["framework"] != "vllm":
        yield f"trainer rank {(used or []).index(gpu)}"
    for server in run["servers"]:
        taken = (server["gpus"] or ())[: server["ranks"] or None]
        if gpu in taken and server["tensor"] and server["pipeline"]:
            yield engine_rank(list(taken).index(gpu), server["tensor"], server["pipeline"])


def engine_rank(index: int, tensor: int, pipeline: int = 1) -> str:
    """The place of a rank: vLLM counts engines, then pipeline stages, then tensor parallel ranks.

    Read in vllm/distributed/parallel_state.py (`initialize_model_parallel`: ExternalDP x DP x PP x TP).
    """
    stage = f", PP {index // tensor % pipeline}" if pipeline > 1 else ""
    return f"engine {index // (tensor * pipeline)}{stage}, TP {index % tensor}"


def _by_ray(workers: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What the command of a program asks Ray for, pool by pool; nothing for what is not known."""
    pools = dict.fromkeys(one["pool"] for one in workers)
    for pool, words in zip(pools, pools_in_words(workers), strict=True):
        inside = [one for one in workers if one["pool"] == pool]
        number = next((one["processes"] for one in inside if one["role"] == pool), None)
        if number is None:
            continue
        size = next((one["size"] for one in inside if one["size"]), None)
        roles = {one["role"] for one in inside}
        kind = "both" if len(roles) > 1 and "engine" in roles else "server" if roles == {"engine"} else "trainer"
        boxes = [
            (kind, f"{pool} {index}", [engine_rank(index, size)] if size and number % size == 0 else [])
            for index in range(min(number, _MOST))
        ]
        nodes = inside[0]["nodes"]
        yield _grid(f"{words} GPUs" + (f" on {nodes} machines" if nodes not in (None, 1) else ""), boxes)


def _grid(title: str, boxes: Iterable[tuple[str, str, Iterable[str]]]) -> str:
    rows = []
    for kind, head, lines in boxes:
        inner = "".join(f"<span>{told(line)}</span>" for line in lines)
        rows.append(f'<li class="gpu {kind}"><b>{told(head)}</b>{inner}</li>')
    return f'<p class="dim">{told(title)}</p><ul class="gpus">{"".join(rows)}</ul>' if rows else ""
