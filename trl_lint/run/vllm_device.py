"""The GPU on which a trainer of TRL runs vLLM itself: `vllm_device` of trl 0.14.0 to 0.15.2.

Read in trl/trainer/grpo_trainer.py and grpo_config.py of every release from 0.14.0 to 0.18.0: the main process starts
vLLM on `vllm_device`, which is "auto" by default and then the GPU behind those of all processes. It refuses a GPU that
is not there, and warns about one on which a process trains. 0.16 and 0.17 ignore the argument and ask a server, 0.18
has no such argument.
"""

from __future__ import annotations

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.words import read_count

_CUDA = regex(r"cuda:(\d{1,9})")
# From 0.15.0 on "auto" is GPU 0 where there is no other; 0.14.0 asks for a second one.
_NEVER_SHARES = frozenset({"0.14.0"})


class OwnDevice(NamedTuple):
    """Where a trainer runs vLLM: `gpu` counts those that its processes see, None where it is not known.

    `is_auto`: the trainer chooses it. `place`: the setting that names it, or else the one that asks for vLLM.
    """

    gpu: int | None
    is_auto: bool
    place: Setting


def own_device(run: Run, trl: str, processes: int | None, seen: int | None) -> OwnDevice | None:
    """The GPU of vLLM with a release of trl, if the trainer certainly runs vLLM on one; else None.

    processes  how many there are on all machines, None unknown
    seen       the number of GPUs that a process sees, None unknown
    """
    versions = {**run.choices.newest(("trl", "transformers")), "trl": trl}
    usual = run.config.at(versions).default("vllm_device")
    if not isinstance(usual, Setting) or usual.value is None:
        return None
    used, device = run.config.at(versions).final("use_vllm"), run.config.at(versions).final("vllm_device")
    if not isinstance(used, Setting) or used.truth is not True or not isinstance(device, Setting):
        return None
    place = device if device.location is not None else used
    if device.value == "auto":
        return OwnDevice(_behind(trl, processes, seen), True, place)
    match = _CUDA.fullmatch(device.value) if isinstance(device.value, str) else None
    return OwnDevice(read_count(match[1]) if match else None, False, place)


def _behind(trl: str, processes: int | None, seen: int | None) -> int | None:
    """The GPU that "auto" takes."""
    if trl not in _NEVER_SHARES and processes == 1 and seen in (None, 1):
        return 0 if seen == 1 else None
    return processes
