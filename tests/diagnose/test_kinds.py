"""Kinds of failures, where no pattern knows the message: who raised, what it is about, and how sure that is."""

from __future__ import annotations

import io

import pytest

from trl_lint.diagnose.answers import Diagnosis
from trl_lint.diagnose.causes import diagnose
from trl_lint.diagnose.failures import Failure, Frame, Part
from trl_lint.diagnose.raiser import raised_by
from trl_lint.diagnose.reader import read_log
from trl_lint.knowledge.causes import causes
from trl_lint.knowledge.symptoms import tables

SITE = "/opt/venv/lib/python3.11/site-packages"
OWN = "/home/me/project/train.py"


def failure(*frames: tuple[str, str]) -> Failure:
    found = Failure(1, None, "", 0)
    part = Part()
    part.exception = "KeyError"
    for path, function in frames:
        part.add_frame(Frame(path, 7, function))
    found.parts.append(part)
    return found


def said(message: str, *frames: tuple[str, str, str]) -> Diagnosis:
    lines = [f'  File "{path}", line 7, in {function}\n    {code}\n' for path, function, code in frames]
    text = f"Traceback (most recent call last):\n{''.join(lines)}{message}\n" if frames else f"{message}\n"
    return diagnose(read_log(io.BytesIO(text.encode())), "run.log")


@pytest.mark.parametrize(
    ("frames", "who", "package"),
    [
        (((OWN, "main"), (f"{SITE}/peft/x.py", "f")), "library", "peft"),
        (((f"{SITE}/trl/x.py", "f"), (OWN, "reward")), "project", ""),
        # Python's own code, and what looks names up for others, raise for somebody else.
        (((OWN, "main"), ("/usr/lib/python3.11/json/decoder.py", "decode")), "project", ""),
        (((OWN, "main"), (f"{SITE}/torch/nn/modules/module.py", "__getattr__")), "project", ""),
        (((f"{SITE}/trl/x.py", "f"), (f"{SITE}/torch/nn/modules/module.py", "__getattr__")), "library", "trl"),
        ((("/mnt/LLaMA-Factory/src/llamafactory/data/loader.py", "f"),), "library", "llamafactory"),
        ((("/mnt/swift/swift/llm/sft.py", "f"),), "library", "swift"),
        ((("C:\\env\\Lib\\site-packages\\trl\\x.py", "f"),), "library", "trl"),
        ((("/root/.cache/huggingface/modules/transformers_modules/m/modeling_m.py", "f"),), "library",
         "the code that came with the model"),
        ((("/opt/bin/torchrun", "<module>"),), "unknown", ""),
        ((("<frozen runpy>", "_run_code"),), "unknown", ""),
        ((), "unknown", ""),
    ],
)  # fmt: skip
def test_who_raised(frames: tuple[tuple[str, str], ...], who: str, package: str):
    found = raised_by(failure(*frames))
    assert (found.who, found.package) == (who, package)


def test_where_it_was_raised_is_told():
    found = raised_by(failure((OWN, "main"), (f"{SITE}/peft/tuners/x.py", "inject")))
    assert found.told == "Raised by peft in `inject` (peft/tuners/x.py:7), which project/train.py:7 led to"
    assert raised_by(failure((OWN, "<module>"))).told == "Raised (project/train.py:7)"
    assert raised_by(failure()).told == ""


LIBRARY = (f"{SITE}/somelib/core.py", "run", "value = table.lookup(key)")
CHECK = (f"{SITE}/somelib/core.py", "check", "raise ValueError(")
MINE = (OWN, "main", "trainer.train()")


@pytest.mark.parametrize(
    ("message", "frames", "first"),
    [
        ("AttributeError: 'SomeEngine' object has no attribute 'executor'", (MINE, LIBRARY), "LOG211"),
        ("AttributeError: 'SomeThing' object has no attribute 'executor'", (), "LOG211"),
        ("TypeError: prepare() missing 1 required positional argument: 'plan'", (MINE, LIBRARY), "LOG211"),
        ("AttributeError: 'NoneType' object has no attribute 'shape'", (MINE, LIBRARY), "LOG223"),
        ("IndexError: list index out of range", (MINE, LIBRARY), "LOG223"),
        ("IndexError: list index out of range", (LIBRARY, MINE), "LOG766"),
        ("RuntimeError: isTuple() INTERNAL ASSERT FAILED at x.h:1, please report a bug", (), "LOG223"),
        ("ValueError: The widths of two layers were given in the wrong order", (), "LOG429"),
        ("KeyError: 'answer'", ((f"{SITE}/somelib/dataset.py", "encode", "x[key]"),), "LOG737"),
        ("RuntimeError: The expanded size of the tensor (5) must match the existing size (6)", (LIBRARY,), "LOG767"),
        ("RuntimeError: graph capture of this operation is not known", (MINE, LIBRARY), "LOG768"),
        ("requests.exceptions.ConnectionError: Max retries exceeded with url: /v1", (), "LOG916"),
        ("subprocess.CalledProcessError: Command 'make' returned non-zero exit status 2.", (), "LOG917"),
    ],
)
def test_a_kind_is_named_and_is_possible_at_most(message: str, frames: tuple[tuple[str, str, str], ...], first: str):
    named = [(one.code, one.likelihood) for one in said(message, *frames).causes]
    assert named[:1] == [(first, "possible")]
    assert len(named) <= 4


@pytest.mark.parametrize(
    ("message", "first"),
    [
        ("ValueError: The widths of two layers were given in the wrong order", "LOG429"),
        ("ValueError: Your rows must contain a 'prompt' column", "LOG706"),
    ],
)
def test_the_sentence_of_a_library_that_refuses_is_the_answer(message: str, first: str):
    found, *_ = said(message, MINE, CHECK).causes
    assert (found.code, found.likelihood) == (first, "likely") and message.partition(": ")[2] in found.why


@pytest.mark.parametrize(
    ("message", "frames", "first"),
    [
        ("ERROR:    PermissionError: [Errno 13] Permission denied: '/app/.triton'", (), "LOG908"),
        ("OSError: [Errno 16] Device or resource busy: '/x/a.so' -> '/x/b.so'", (), "LOG908"),
        ("RuntimeError: Socket Timeout", (), "LOG501"),
        ("httpx.HTTPStatusError: Server error '503 Service Unavailable' for url 'http://10.0.0.7/x'", (), "LOG916"),
        ("requests.exceptions.HTTPError: 416 Client Error for url: https://huggingface.co/x", (), "LOG905"),
        ("error: command '/usr/bin/nvcc' failed with exit code 255", (), "LOG213"),
        ("RuntimeError: both inputs should have same dtype", (), "LOG614"),
        ("IndexError: Invalid key: 0 is out of bounds for size 0", (), "LOG733"),
        ("KeyError: 'grpo'", (MINE, (LIBRARY[0], "find", "return LOSS_MAPPING[name]")), "LOG742"),
        ("ImportError: No bitsandbytes", ((OWN, "main", "raise ImportError("),), "LOG203"),
        ("AttributeError: 'Accelerator' object has no attribute 'engine'", (), "LOG211"),
        ("ImportError: cannot import name 'Nothing' from 'peft.utils' (/v/site-packages/peft/utils.py)", (), "LOG211"),
        ("slurmstepd: error: Job 7 exceeded memory limit (6 > 5), being killed\n"
         "slurmstepd: error: *** JOB 7 ON node1 CANCELLED AT 2022-06-10T17:11:35 ***", (), "LOG606"),
        ("  exitcode  : -11 (pid: 3182701)", (), "LOG911"),
    ],
)  # fmt: skip
def test_what_the_message_decides_is_likely(message: str, frames: tuple[tuple[str, str, str], ...], first: str):
    assert [(one.code, one.likelihood) for one in said(message, *frames).causes][:1] == [(first, "likely")]


def test_ranks_that_all_wait_are_no_proof_of_a_missing_one():
    line = "[rank{0}]:[E ProcessGroupNCCL.cpp:616] [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL()"
    alone = said(line.format(0)).causes
    both = said(f"{line.format(0)}\n{line.format(1)}").causes
    assert [(one[0].code, one[0].likelihood) for one in (alone, both)] == [("LOG501", "likely"), ("LOG501", "possible")]


def test_a_part_that_was_not_compiled_is_no_name_of_another_release():
    found = said("ModuleNotFoundError: No module named 'deepspeed.ops.adam.cpu_adam_op'").causes
    assert all(one.likelihood == "possible" for one in found)


def test_the_last_frame_is_told_with_a_kind():
    found = said("IndexError: list index out of range", MINE, LIBRARY).causes[0]
    assert "Raised by somelib in `run` (somelib/core.py:7), which project/train.py:7 led to." in found.why
    assert found.settle and found.advice


def test_a_name_that_the_project_never_bound_is_proved():
    name = "NameError: name 'tokeniser' is not defined"
    assert [(one.code, one.likelihood) for one in said(name, MINE).causes] == [("LOG766", "likely")]
    assert [one.likelihood for one in said(name, MINE, LIBRARY).causes] == ["possible"]


def test_a_kind_gives_way_to_a_cause_that_is_known():
    named = [one.code for one in said("torch.OutOfMemoryError: CUDA out of memory.", MINE, LIBRARY).causes]
    assert named and not {"LOG766", "LOG223", "LOG429"} & set(named)


def test_an_error_of_a_logger_ends_nothing():
    text = (
        "--- Logging error ---\nTraceback (most recent call last):\n"
        '  File "/usr/lib/python3.11/logging/__init__.py", line 1, in emit\n    msg = self.format(record)\n'
        "TypeError: not all arguments converted during string formatting\nCall stack:\n"
        "  File \"/home/me/train.py\", line 3, in <module>\n    main()\nMessage: 'x'\n"
    )
    found = diagnose(read_log(io.BytesIO((text + "step 1\n").encode() * 3)), "run.log")
    assert found.failure is None and not found.causes


def test_the_last_line_that_complains_counts_where_nothing_else_does():
    complaint = (
        "ERROR: Error downloading model: HTTPSConnectionPool(host='cdn.huggingface.co', port=443): Read timed out."
    )
    steps = "{'loss': 1.0}\n" * 9
    for text in (complaint, f"{steps}{complaint}"):
        found = diagnose(read_log(io.BytesIO(f"{text}\n".encode())), "run.log")
        assert [(one.code, one.likelihood) for one in found.causes] == [("LOG905", "possible")]
    for text in (
        f"{complaint}\n" + "done\n" * 99,
        "INFO Failed to import flash_attn, using sdpa\n",
        "0 failed\n",
        "error\n",
    ):
        found = diagnose(read_log(io.BytesIO(text.encode())), "run.log")
        assert found.failure is None and not found.causes


def test_frames_without_a_header_and_types_in_small_letters_are_read():
    ipython = (
        "File /opt/venv/lib/python3.11/site-packages/peft/config.py:134, in PeftConfigMixin.from_pretrained(cls)\n"
    )
    bare = f"{ipython}--> 134 config = config_cls(**kwargs)\n    135 return config\n\n"
    message = "TypeError: LoraConfig.__init__() got an unexpected keyword argument 'loftq_config'\n"
    found = diagnose(read_log(io.BytesIO((bare + message).encode())), "run.log")
    assert [(one.code, one.likelihood) for one in found.causes][:1] == [("LOG216", "likely")]
    frame = '        File "/opt/venv/lib/python3.11/site-packages/urllib3/connection.py", line 1, in f\n          g()\n'
    found = diagnose(read_log(io.BytesIO(f"{frame}      socket.timeout: timed out\n".encode())), "run.log")
    assert found.failure is not None and found.failure.exception == "socket.timeout"
    assert [one.code for one in found.causes] == ["LOG916"]


def test_a_message_that_lost_its_backquotes_is_the_same():
    told = "You passed a DataCollatorForCompletionOnlyLM to the SFTTrainer. This is not compatible with the packing "
    told += "argument."
    assert [(one.code, one.likelihood) for one in said(f"ValueError: {told}").causes] == [("LOG740", "likely")]


def test_what_is_added_to_a_cause_is_a_fallback():
    added = [row for table in tables() for row in table.also]
    assert added and all(symptom.fallback for row in added for symptom in row.symptoms)
    of_a_kind = {cause.code for cause in causes() for symptom in cause.symptoms if symptom.general}
    assert of_a_kind == {"LOG223", "LOG429", "LOG766", "LOG916", "LOG917"}
