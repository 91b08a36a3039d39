"""`trl-lint diagnose` on logs of gigabytes: `python -m benchmarks.logs [GIGABYTES…]`. See README.md.

The logs are made here, in a temporary folder, and deleted: eight ranks that write at once, progress bars, warnings, a
failure in the middle (with the time-outs of the other ranks behind it) or at the end, and one in which handled errors
print a traceback every few lines. It ends with 1 where a target is missed or the cause is not found.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from benchmarks.machine import head, write_results
from benchmarks.processes import run
from benchmarks.report import logs_tables
from benchmarks.targets import LOG_MEMORY, LOG_SECONDS

_BLOCK = 1 << 20
_DIFFERENT = 32  # blocks; the step in each line makes every copy of them different
_FAILURE = b"""\
[rank3]: Traceback (most recent call last):
[rank3]:   File "/home/user/project/train.py", line 41, in <module>
[rank3]:     main()
[rank3]:   File "/home/user/project/train.py", line 22, in main
[rank3]:     args = GRPOConfig(output_dir="out", max_prompt_length=512)
[rank3]:            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
[rank3]: TypeError: GRPOConfig.__init__() got an unexpected keyword argument 'max_prompt_length'
"""
# What a program prints of an exception that it has caught. (`[rank3]:` is what torch puts before those that end one.)
_HANDLED = """\
Traceback (most recent call last):
  File "/home/user/project/rewards.py", line 12, in verify
    return parse(text)
  File "/home/user/project/rewards.py", line 22, in parse
    return int(text)
ValueError: invalid literal for int() with base 10: 'STEP'
"""
_TIMEOUT = """\
[rank{rank}]:[E1121 10:00:00.000000000 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation \
timeout: WorkNCCL(SeqNum=STEP, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600000 milliseconds.
"""


class Kind(NamedTuple):
    """A kind of log: where the failure stands, as a part of the whole, and how many handled errors a block has."""

    name: str
    place: float
    handled: float


KINDS = (
    Kind("failure at the end", 1.0, 0.0005),
    Kind("failure in the middle", 0.5, 0.0005),
    Kind("handled errors", 1.0, 0.3),
)


def _lines(chance: random.Random, kind: Kind, is_after: bool) -> Iterator[str]:
    """Lines of a run, without end; after the failure the others wait for the one that is gone, and do not train."""
    while True:
        rank, draw, when = chance.randrange(8), chance.random(), f"2026-11-21 10:00:00,{chance.randrange(999):03d}"
        if is_after and draw < 0.5:
            yield _TIMEOUT.format(rank=rank)
        elif is_after or draw < 0.02:
            yield f"\x1b[33m(WorkerDict pid={chance.randrange(9999)})\x1b[0m INFO {when} STEP heartbeat\n"
        elif draw < 0.02 + kind.handled:
            yield _HANDLED
        elif draw < 0.5:
            loss, reward, length = chance.random(), chance.random(), chance.random() * 900
            numbers = f"'loss': {loss:.4f}, 'reward': {reward:.3f}, 'completions/mean_length': {length:.1f}"
            yield f"[rank{rank}]: {{{numbers}, 'step': STEP}}\n"
        elif draw < 0.55:
            bars = (f"{at:3d}%|####      | {at}/1000 [00:{at % 60:02d}<10:00,  1.01s/it]" for at in range(0, 100, 9))
            yield "\r".join(bars) + "\n"
        elif draw < 0.58:
            yield "/opt/lib/site-packages/torch/utils/checkpoint.py:92: UserWarning: STEP\n  warnings.warn(\n"
        else:
            yield f"{rank}: {when} - trainer - INFO - step STEP done\n"


def _blocks(kind: Kind, is_after: bool, seed: int) -> list[bytes]:
    found = []
    for number in range(_DIFFERENT):
        parts: list[str] = []
        size = 0
        for line in _lines(random.Random(f"{seed}/{kind.name}/{is_after}/{number}"), kind, is_after):
            parts.append(line)
            size += len(line)
            if size >= _BLOCK:
                break
        found.append("".join(parts).encode())
    return found


def write_log(path: str, kind: Kind, size: int, seed: int = 1) -> int:
    """Write a log of about `size` bytes; returns how many there are."""
    before, after = _blocks(kind, False, seed), _blocks(kind, True, seed)
    written, number, has_failed = 0, 0, False
    with open(path, "wb") as stream:
        while written < size:
            if not has_failed and written >= kind.place * size:
                written += stream.write(_FAILURE)
                has_failed = True
            block = (after if has_failed else before)[number % _DIFFERENT]
            written += stream.write(block.replace(b"STEP", str(number).encode()))
            number += 1
        if not has_failed:
            written += stream.write(_FAILURE)
    return written


def diagnose(path: str) -> dict[str, Any]:
    """What one run over a log costs, and whether it found the failure that was put there."""
    command = (sys.executable, "-m", "trl_lint", "diagnose", path, "--output-format", "json")
    cost = run(command, os.path.dirname(path), keep_output=True)
    found = json.loads(cost.output) if cost.status in (0, 1) else {}
    failure = found.get("failure") or {}
    is_found = failure.get("rank") == 3 and "max_prompt_length" in str(failure.get("message"))
    return {"seconds": round(cost.wall, 2), "memory": round(cost.memory, 1), "is_found": is_found}


def is_held(results: dict[str, Any]) -> bool:
    for row in results["rows"]:
        if not row["is_found"] or row["memory"] >= LOG_MEMORY:
            return False
        if row["seconds"] / row["bytes"] * 1e9 >= LOG_SECONDS:
            return False
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.logs", description="Measure the diagnosis of large logs."
    )
    parser.add_argument("sizes", nargs="*", type=float, default=[1.0, 2.0], metavar="GIGABYTES")
    parser.add_argument("--output", metavar="FILE", help="keep the results as data")
    args = parser.parse_args(arguments)
    rows = []
    scratch = tempfile.mkdtemp(prefix="trl-lint-logs-")
    path = os.path.join(scratch, "run.log")
    try:
        for size in args.sizes:
            for kind in KINDS:
                written = write_log(path, kind, int(size * 1e9))
                rows.append({"kind": kind.name, "bytes": written, **diagnose(path)})
                print(f"{size} GB, {kind.name}: {rows[-1]['seconds']} s", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    results = {**head(), "rows": rows}
    if args.output:
        write_results(args.output, results)
    print(logs_tables(results))
    return 0 if is_held(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
