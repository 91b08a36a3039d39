"""What torch does on a real GPU, for the tables of `trl_lint/python/dataflow/torch_facts.py`; kept in `gpu_facts.json`.

    python tests/oracle/gpu_facts.py            # where torch and a GPU are; writes gpu_facts.json

Two questions. Of every function and method in which tensors have to share a device: does it run with all of them on the
GPU, and which error is raised with one of them, of one or of no dimension, on the CPU? And of the random programs of
`tensor_programs.py`, whose verdicts in `tensor_verdicts.txt` come from fake tensors: where do they stop on the GPU,
with NCCL as the backend of the collectives? `tests/python/test_gpu_facts.py` compares.
"""

from __future__ import annotations

import json
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KEPT = HERE / "gpu_facts.json"
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parents[1]))

# How an operation is called: v, w vectors of four floats, m a matrix, p probabilities, b, c masks, i indices. The
# first form that runs with everything on the GPU is asked about.
FUNCTION_FORMS = """
{f}(v, w) | {f}(m, v) | {f}(m, n) | {f}(m, v, w) | {f}(m, n, o) | {f}(m[None], n[None]) | {f}(m[None], n[None], o[None])
{f}(b, c) | {f}(b, v, w) | {f}([v, w]) | {f}("i,i->i", v, w) | {f}(v, w, 0.5) | {f}(v, 0, i) | {f}(v, 0, i, w)
{f}(v, b, 0.0) | {f}(v, b) | {f}(m, i) | {f}(i, m) | {f}(i, j)
"""
# Of the operations that take other tensors as bounds, each form is asked about.
BOUND_FORMS = """
torch.{f}(v, w) | torch.{f}(v, max=w) | torch.{f}(v, min=w) | torch.{f}(v, v / 2, w)
v.{f}(w) | v.{f}(max=w) | v.{f}(min=w)
"""
METHOD_FORMS = """
v.{f}(w) | m.{f}(n) | m[None].{f}(n[None]) | b.{f}(c) | i.{f}(j) | v.{f}(0, i) | v.{f}(0, i, w) | v.{f}(b, 0.0)
v.{f}(b, w) | v.{f}(b) | v.{f}(i, 0)
"""


def _forms(text: str) -> list[str]:
    return [form.strip() for form in text.replace("\n", "|").split("|") if form.strip()]


def _values(place: str) -> dict[str, Any]:
    import torch

    v = torch.tensor([0.1, 0.2, 0.3, 0.4], device=place)
    b = torch.tensor([True, False, True, False], device=place)
    i = torch.tensor([0, 1, 2, 3], device=place)
    m = torch.outer(v, v)
    return {"v": v, "w": v / 2, "m": m, "n": m / 2, "o": m / 3, "b": b, "c": ~b, "i": i, "j": 3 - i}


def _error(code: str, names: dict[str, Any]) -> str:
    """The first line of what an expression raises, "" where it runs."""
    import torch

    try:
        eval(code, {"torch": torch, **names})
        torch.cuda.synchronize()
    except Exception as error:
        return str(error).partition("\n")[0][:200] or type(error).__name__
    return ""


def operation(name: str, forms: list[str]) -> dict[str, object] | None:
    """What an operation does with one operand on the CPU, for each operand in turn; None if no form runs at all."""
    import torch
    import torch.nn.functional

    home = "torch" if hasattr(torch, name) else "torch.nn.functional"
    gpu, cpu = _values("cuda"), _values("cpu")
    for form in forms:
        text = form.format(f=f"{home}.{name}" if form.startswith("{f}") else name)
        if _error(text, gpu):
            continue
        answers = {}
        for operand in [part for part in compile(text, "<form>", "eval").co_names if part in cpu]:
            answers[f"{operand} vector"] = _error(text, {**gpu, operand: cpu[operand]})
            answers[f"{operand} scalar"] = _error(text, {**gpu, operand: cpu[operand].flatten()[0]})
        return {"form": text, "answers": answers}
    return None


def bounds(name: str) -> dict[str, str]:
    """What an operation does with a bound, or a second operand, that is on the CPU; by its form and its rank."""
    gpu, cpu = _values("cuda"), _values("cpu")
    texts = [form.format(f=name) for form in _forms(BOUND_FORMS)]
    return {
        f"{text} {rank}": _error(text, {**gpu, "w": value})
        for text in texts
        if not _error(text, gpu)
        for rank, value in (("vector", cpu["w"]), ("scalar", cpu["w"][0]))
    }


def half() -> dict[str, dict[str, str]]:
    """What fills with a value beyond the range of half precision raise on the GPU and on the CPU."""
    import torch

    lowest = torch.finfo(torch.float32).min
    tried = """
x.masked_fill(mask, -1e9) | x.masked_fill_(mask, -1e9) | x.masked_fill(mask, -1e4) | y.masked_fill(mask, -1e9)
x.masked_fill(mask, float("-inf")) | x.masked_fill(mask, torch.tensor(-1e9)) | x.fill_(-1e9) | y.fill_(lowest)
y.masked_fill(mask, lowest) | torch.full_like(x, -1e9) | torch.full_like(y, lowest) | x.new_full((4,), -1e9)
torch.full((4,), -1e9, dtype=torch.float16, device=x.device) | torch.full((4,), lowest, dtype=torch.bfloat16)
torch.where(mask, x, -1e9) | torch.where(mask, -1e9, x) | torch.where(mask, x, float("-inf"))
torch.where(mask, y, lowest)
torch.where(mask, x, torch.tensor(-1e9)) | torch.where(mask, x, torch.tensor(-1e9, device=x.device))
torch.where(mask, x, torch.tensor(-1e9, dtype=x.dtype)) | x.__setitem__(mask, -1e9) | y.__setitem__(mask, lowest)
x.__setitem__(0, -1e9) | x - 1e9 | torch.tensor(-1e9, dtype=torch.float16) | x.clamp(min=-1e9) | x.add(-1e9)
x.index_fill(0, i, -1e9) | torch.nn.functional.pad(x, (0, 1), value=-1e9) | x.masked_fill(mask, 1e9) | x * mask + -1e9
"""
    found: dict[str, dict[str, str]] = {}
    for place in ("cuda", "cpu"):
        names = _values(place)
        x = torch.zeros(4, device=place, dtype=torch.float16)
        names |= {"x": x, "y": x.bfloat16(), "mask": names["b"], "lowest": lowest}
        found[place] = {text: _error(text, names) for text in _forms(tried)}
    return found


def softmax() -> dict[str, str]:
    """By how much log-softmax over 32,000 words is off in each precision on the GPU, for the same rounded logits."""
    import torch

    torch.manual_seed(0)
    logits = torch.randn(256, 32_000, device="cuda") * 4
    found = {}
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        rounded = logits.to(dtype)
        worst = (rounded.log_softmax(-1).double() - rounded.double().log_softmax(-1)).abs().max().item()
        found[str(dtype)[6:]] = f"{worst:.6f}"
    return found


def _is_about_devices(message: str) -> bool:
    known = ("same device", "two devices", "device between self", "No backend type", "on cpu or on the same")
    return any(part in message for part in known)


def programs() -> dict[str, object]:
    """Where the kept programs stop on the GPU, against what fake tensors said of them."""
    import torch
    import torch.distributed as dist
    from tensor_programs import program
    from tensor_verdicts import kept

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    dist.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{port}", rank=0, world_size=1)
    found: dict[str, object] = {}
    differs, other, same = {}, {}, 0
    for number, line in kept()[1].items():
        results: list[int | None] = []
        for flag in (True, False):
            names: dict[str, Any] = {}
            exec(compile(program(number), "<program>", "exec"), names)
            place = torch.device("cuda:0")
            one, two = torch.tensor([0.1, 0.2, 0.3, 0.4], device=place), torch.ones(4, device=place)
            ids = torch.arange(4, device=place)
            try:
                names["f"](one, two, ids, place, flag)
                torch.cuda.synchronize()
                results.append(0)
            except Exception as error:
                frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<program>"]
                if _is_about_devices(str(error)):
                    results.append(frames[-1].lineno or 0)
                else:
                    other[str(number)] = str(error).partition("\n")[0][:160]
                    results.append(None)
        if None in results:
            continue
        real = max(results, key=bool)
        if real == line:
            same += 1
        else:
            differs[str(number)] = [line, real]
    found["same"], found["differs"], found["other errors"] = same, differs, other
    dist.destroy_process_group()
    return found


def run() -> None:
    """Ask the GPU everything, and keep the answers."""
    import warnings

    import torch

    from trl_lint.python.dataflow import torch_facts

    warnings.simplefilter("ignore")  # that two shapes differ
    kept: dict[str, object] = {"torch": torch.__version__.partition("+")[0], "gpu": torch.cuda.get_device_name()}
    for title, names, forms in (
        ("functions", torch_facts.MIXING_FUNCTIONS, _forms(FUNCTION_FORMS)),
        ("methods", torch_facts.MIXING_METHODS, _forms(METHOD_FORMS)),
    ):
        kept[title] = {name: operation(name, forms) for name in sorted(names)}
    kept["bounds"] = {name: bounds(name) for name in sorted(torch_facts.MIXING_WITH_OPERANDS)}
    kept["half"] = half()
    kept["softmax"] = softmax()
    kept["programs"] = programs()
    KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run()
