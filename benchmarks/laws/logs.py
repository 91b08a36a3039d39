"""Logs, for `trl-lint diagnose`."""

from __future__ import annotations

from benchmarks.laws import Files, law, lines
from benchmarks.laws.scripts import HEAD, PINS

_FRAME = '  File "/app/train.py", line {0}, in step\n    loss = model(batch)'
_ERROR = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"


def log(text: str) -> Files:
    return {"run.log": text, "train.py": HEAD, "requirements.txt": PINS}


def traceback(number: int, prefix: str = "") -> str:
    text = f"Traceback (most recent call last):\n{_FRAME.format(number)}\n{_ERROR}"
    return "\n".join(prefix + line for line in text.split("\n"))


@law(64000, "diagnose", "run.log")
def lines_of_a_log(count: int) -> Files:
    return log(lines(count, lambda i: f"{{'loss': 0.{i}, 'learning_rate': 1e-06, 'epoch': {i}}}") + traceback(1) + "\n")


@law(1600, "diagnose", "run.log")
def failures_of_a_log(count: int) -> Files:
    return log(lines(count, traceback))


@law(800, "diagnose", "run.log")
def ranks_of_a_log(count: int) -> Files:
    return log(lines(count, lambda i: traceback(i, f"[rank{i}]: ")))


@law(6400, "diagnose", "run.log")
def frames_of_a_failure(count: int) -> Files:
    frames = lines(count, _FRAME.format)
    return log(f"Traceback (most recent call last):\n{frames}{_ERROR}\n")


@law(800, "diagnose", "run.log")
def causes_of_a_failure(count: int) -> Files:
    behind = "\n\nThe above exception was the direct cause of the following exception:\n\n"
    return log(behind.join(traceback(i) for i in range(count)) + "\n")


@law(16000, "diagnose", "run.log")
def width_of_a_line(count: int) -> Files:
    return log("Error: " + "x y " * (count * 4) + "\n" + traceback(1) + "\n")


@law(16000, "diagnose", "run.log")
def progress_on_a_line(count: int) -> Files:
    return log("".join(f"\r  {i}%|###   | {i}/100 [00:01<00:02,  1.2it/s]" for i in range(count)) + "\n" + traceback(1))


@law(16000, "diagnose", "run.log")
def blanks_of_a_line(count: int) -> Files:
    return log(f"{' ' * count}x\nRuntimeError:{' ' * count}x\n{'-' * count}x\n{'(' * count}x\n{_ERROR}\n")


@law(800, "diagnose", "run.log")
def holes_of_a_message(count: int) -> Files:
    # "{}, {}={}, {}={}, inexact division: {} / {} = {}" of trl, all but the end of it.
    parts = lines(count // 20 + 1, lambda i: "a, b=c, d=e " * min(20, count))
    text = traceback(1).replace("/app/train.py", "/opt/venv/lib/python3.11/site-packages/trl/trainer/utils.py")
    return log(text.replace(_ERROR, f"ValueError: {parts}, inexact division: {'1 / 2 ' * count}\n"))
