"""The GPUs of a run as boxes: ranks of the trainer, engines, and what takes a GPU twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from trl_lint.reports.html_page import told
from trl_lint.reports.runs import gpu_roles, is_by_ray
from trl_lint.words import read_count

_MOST = 64  # boxes of one group
_ROLLOUT = "actor_rollout_ref.rollout.tensor_model_parallel_size"


def gpu_grid(run: dict[str, Any]) -> str:
    """The boxes of a run as `reports.runs.describe` gives it; nothing where no GPU is known."""
    if is_by_ray(run):
        return "".join(_by_ray({value["name"]: value["value"] for value in run["values"]}))
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


def _by_ray(said: dict[str, str | None]) -> Iterator[str]:
    """What the command of a program asks Ray for, group by group; nothing for what it leaves to a default."""

    def count(*names: str) -> int | None:
        return next((read_count(said[name]) for name in names if said.get(name)), None)

    gpus = count("trainer.n_gpus_per_node")
    if gpus is not None:
        tensor = count(_ROLLOUT)
        fits = tensor is not None and tensor > 0 and gpus % tensor == 0
        rows = [[engine_rank(index, tensor)] if fits and tensor else [] for index in range(min(gpus, _MOST))]
        machines = count("trainer.nnodes")
        where = f" on each of {machines} machines" if machines not in (None, 1) else ""
        boxes = [("both", f"worker {index}", lines) for index, lines in enumerate(rows)]
        yield _grid(f"{gpus} GPUs{where}, shared by what verl trains and generates with", boxes)
    for group in ("actor", "ref", "critic", "reward"):
        each = count(f"{group}_num_gpus_per_node", f"{group}.num_gpus_per_node")
        nodes = count(f"{group}_num_nodes", f"{group}.num_nodes")
        if each is not None and nodes is not None:
            boxes = [("trainer", f"{group} rank {index}", []) for index in range(min(each * nodes, _MOST))]
            yield _grid(f"{group}: {each * nodes} GPUs", boxes)
    engines, tensor = (
        count("vllm_num_engines", "vllm.num_engines"),
        count("vllm_tensor_parallel_size", "vllm.tensor_parallel_size"),
    )
    if engines is not None:
        size = tensor or 1
        boxes = [("server", engine_rank(index, size), []) for index in range(min(engines * size, _MOST))]
        yield _grid(f"vLLM: {engines} engines" + (f" of {tensor} GPUs" if tensor else ""), boxes)


def _grid(title: str, boxes: Iterable[tuple[str, str, Iterable[str]]]) -> str:
    rows = []
    for kind, head, lines in boxes:
        inner = "".join(f"<span>{told(line)}</span>" for line in lines)
        rows.append(f'<li class="gpu {kind}"><b>{told(head)}</b>{inner}</li>')
    return f'<p class="dim">{told(title)}</p><ul class="gpus">{"".join(rows)}</ul>' if rows else ""
