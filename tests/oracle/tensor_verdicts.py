"""What torch says about random tensor programs; its verdicts are kept in `tensor_verdicts.txt`.

The programs come from `tensor_programs.py`; `tests/python/test_tensor_programs.py` makes them again and compares what
trl-lint says. Torch is asked with an interpreter that has it (2.13 or newer; no GPU is needed):

    python tests/oracle/tensor_verdicts.py 2000

Every program runs twice, `flag` true and false, with its arguments on an accelerator, under FakeTensorMode. What that
mode does not show is added by `Eager`: an index from elsewhere into a CPU tensor, a bound without dimensions on the
CPU, and which backend a collective would take. Programs that end in any other error are left out. A GPU says the same
of all of them: see `gpu_facts.py`.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from tensor_programs import checksum, program

KEPT = Path(__file__).parent / "tensor_verdicts.txt"


def kept() -> tuple[str, dict[int, int]]:
    """The checksum of the programs, and for each number the line of its device error, 0 where there is none."""
    head, *lines = [line for line in KEPT.read_text(encoding="utf-8").splitlines() if not line.startswith("# torch")]
    return head.removeprefix("# "), {int(number): int(line) for number, line in map(str.split, lines)}


def run(count: str) -> None:
    """Lookup torch about programs until `count` of them have a verdict, and keep the verdicts."""
    import torch

    verdicts: dict[int, int] = {}
    number = 0
    while len(verdicts) < int(count):
        found = _verdict(program(number))
        if found is not None:
            verdicts[number] = found
        number += 1
    lines = [f"# torch {torch.__version__.partition('+')[0]}", f"# {checksum(list(verdicts))}"]
    lines += [f"{number} {line}" for number, line in verdicts.items()]
    KEPT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    errors = sum(line > 0 for line in verdicts.values())
    print(f"{number} programs, {len(verdicts)} with a verdict, {errors} of them device errors")


def _verdict(text: str) -> int | None:
    """The line of the first device error, 0 where there is none; None for any other error."""
    results = [_run(text, flag) for flag in (True, False)]
    return None if None in results else max(results, key=bool)  # type: ignore[type-var]


def _run(text: str, flag: bool) -> int | None:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    names: dict[str, object] = {}
    exec(compile(text, "<program>", "exec"), names)
    with FakeTensorMode(), _eager():
        place = torch.device("cuda:0")
        one, two = (torch.empty(4, device=place) for _ in range(2))
        ids = torch.empty(4, dtype=torch.long, device=place)
        try:
            names["f"](one, two, ids, place, flag)  # type: ignore[operator]
        except Exception as error:
            return _line(error) if _is_about_devices(str(error)) else None
    return 0


def _is_about_devices(message: str) -> bool:
    return any(part in message for part in ("same device", "two devices", "device between self", "No backend type"))


def _line(error: Exception) -> int:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<program>"]
    return frames[-1].lineno or 0


def _eager():  # type: ignore[no-untyped-def]
    """What a fake tensor does not show: its data, the place of an index, and the backend of a collective."""
    import torch
    import torch.distributed as dist
    from torch.overrides import TorchFunctionMode

    group = _process_group()

    class Eager(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            kwargs = kwargs or {}
            if func is torch.Tensor.item:
                return 1.0  # a fake tensor has no data; which number it is decides nothing here
            if func is torch.Tensor.__getitem__ and isinstance(args[1], torch.Tensor):
                owner, index = args[0].device, args[1].device
                if owner.type == "cpu" and index.type != "cpu":  # ATen/native/TensorAdvancedIndexing.cpp
                    raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor")
            if func in (torch.clamp, torch.Tensor.clamp):
                places = {value.device for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)}
                if len(places) > 1:  # the check that is generated for `clamp.Tensor`; fake tensors let scalars through
                    raise RuntimeError("Expected all tensors to be on the same device")
            if func is dist.all_reduce:
                group._get_backend(args[0].device)  # raises for a kind of device that has no backend
            return func(*args, **kwargs)

    return Eager()


def _process_group():  # type: ignore[no-untyped-def]
    """A group of two processes with a backend for accelerators alone, as NCCL is."""
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if not dist.is_initialized():
        dist.init_process_group("cuda:fake", rank=0, world_size=2, store=FakeStore())
    return dist.distributed_c10d._get_default_group()


if __name__ == "__main__":
    run(*sys.argv[1:])
