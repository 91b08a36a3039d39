"""What the message alone tells, what is taken where nothing else explains a failure, and lines that were not read."""

from __future__ import annotations

import io

import pytest

from trl_lint.diagnose.causes import diagnose
from trl_lint.diagnose.reader import read_log

SITE = "/opt/venv/lib/python3.11/site-packages"
OWN = ("/home/user/project/train.py", "main()")


def traceback(message: str, *frames: tuple[str, str]) -> str:
    shown = "".join(f'  File "{path}", line 3, in f\n    {code}\n' for path, code in (OWN, *frames))
    return f"Traceback (most recent call last):\n{shown}{message}\n"


def named(text: str) -> list[tuple[str, str]]:
    return [(one.code, one.likelihood) for one in diagnose(read_log(io.BytesIO(text.encode())), "run.log").causes]


@pytest.mark.parametrize(
    ("message", "frames", "first"),
    [
        (f"ImportError: cannot import name 'gone' from 'torch.utils' ({SITE}/torch/utils/__init__.py)", (), "TRL302"),
        ("AttributeError: module 'torch.distributed' has no attribute 'gone'", ((f"{SITE}/flash_attn/x.py", "x"),),
         "LOG211"),
        ("ModuleNotFoundError: No module named 'vllm.gone'", ((f"{SITE}/verl/x.py", "x"),), "LOG211"),
        ("ImportError: cannot import name 'load_dataset' from 'datasets' (/home/user/project/datasets.py)", (),
         "LOG217"),
        ("ModuleNotFoundError: No module named 'vllm._C'", ((f"{SITE}/vllm/_custom_ops.py", "x"),), "LOG201"),
        ("KeyError: 'question'", ((f"{SITE}/swift/llm/template.py", "label = example['question']"),), "LOG737"),
        ("ValueError: heads (14) must be divisible by the tensor parallel size (4)", ((f"{SITE}/vllm/x.py", "raise"),),
         "LOG428"),
        ("ValueError: packing is not supported with this collator", ((f"{SITE}/swift/x.py", "raise"),), "LOG429"),
    ],
)  # fmt: skip
def test_a_cause_that_no_table_has_word_for_word(message: str, frames: tuple[tuple[str, str], ...], first: str):
    assert named(traceback(message, *frames))[:1] == [(first, "likely")]


@pytest.mark.parametrize(
    "text",
    [
        # Of these, the project's own code may be the whole reason.
        traceback("ImportError: cannot import name 'f' from 'utils' (/home/user/project/utils.py)"),
        traceback("ImportError: cannot import name 'f' from 'torch' (/home/user/pytorch/torch/__init__.py)"),
        traceback("AttributeError: module 'wandb' has no attribute 'init'"),
        traceback("AttributeError: module 'rewards' has no attribute 'f'"),
        traceback("KeyError: 'qwen2'", ("/home/user/project/x.py", "TEMPLATES[name]")),
        traceback("ValueError: mode x is not supported", ("/home/user/project/x.py", "raise")),
        traceback("jinja2.exceptions.UndefinedError: 'name' is undefined", (f"{SITE}/jinja2/environment.py", "x")),
        traceback("ConnectionError: [Errno 111] Connection refused", ("/home/user/project/rewards.py", "post(u)")),
        traceback("TypeError: f() takes 2 positional arguments but 3 were given"),
        # What went before did not end the run.
        "foo 1.0 requires torch==2.3.0, but you have torch 2.0.1 which is incompatible.\n"
        + traceback("ZeroDivisionError: division by zero"),
        "run.sh: line 3: module: command not found\n"
        + "step\n" * 60
        + traceback("ZeroDivisionError: division by zero"),
    ],
)
def test_nothing_is_called_likely_where_it_may_be_otherwise(text: str):
    assert not [code for code, likelihood in named(text) if likelihood == "likely"]


def test_a_fallback_gives_way():
    message = "ValueError: `rope_scaling` must be a dictionary with two fields, which is not supported with this"
    assert [code for code, _ in named(traceback(message, (f"{SITE}/transformers/x.py", "raise")))] == ["LOG208"]


def test_an_indented_traceback_is_read():
    lines = traceback("ModuleNotFoundError: No module named 'torch'", ("/tmp/pip-install-x/flash-attn/setup.py", "x"))
    text = "".join(f"      {line}\n" for line in lines.splitlines())
    assert named(f"  error: subprocess-exited-with-error\n{text}")[0] == ("LOG221", "likely")


def test_a_frame_that_colab_made_a_link_is_read():
    text = (
        "AttributeError                            Traceback (most recent call last)\n"
        "[/usr/lib/python3/dist-packages/trl/trainer/sft_trainer.py](https://localhost:8080/#) in __init__(self)\n"
        "--> 189         if args.unknown_field:\n\n"
        "AttributeError: 'TrainingArguments' object has no attribute 'unknown_field'\n"
    )
    found = diagnose(read_log(io.BytesIO(text.encode())), "run.log")
    assert found.failure is not None and found.failure.frames[-1].path.endswith("sft_trainer.py")
    assert ("LOG712", "likely") in [(one.code, one.likelihood) for one in found.causes]


def test_the_schedulers_line_behind_a_cut_traceback_counts():
    cut = traceback("", (f"{SITE}/torch/utils/data/dataloader.py", "data = queue.get()")).rstrip("\n")
    assert named(f"{cut}\nsrun: error: gpu001: task 0: Out Of Memory\n")[0] == ("LOG606", "likely")
