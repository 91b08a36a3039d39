"""What is said of a log: which cause comes first, how sure it is, and what is not said without evidence."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from trl_lint.diagnose.answers import PROVED, Diagnosis
from trl_lint.diagnose.causes import diagnose
from trl_lint.diagnose.reader import read_log

TRACE = 'Traceback (most recent call last):\n  File "{path}", line 3, in <module>\n    {code}\n{error}\n'
MINE, SITE = "/home/me/train.py", "/opt/venv/lib/python3.11/site-packages/"


def trace(error: str, path: str = MINE, code: str = "main()") -> str:
    return TRACE.format(path=path, code=code, error=error)


def said(log: str, project: str | None = None) -> Diagnosis:
    return diagnose(read_log(io.BytesIO(log.encode())), "run.log", project)


def first(log: str) -> tuple[str, str]:
    causes = said(log).causes
    return (causes[0].code, causes[0].confidence) if causes else ("", "")


@pytest.mark.parametrize(
    "message",
    [
        "CUDA error: out of memory", "CUDA driver error: out of memory", "CUDA out of memory. Tried to allocate 2 MiB",
        "NPU out of memory. Tried to allocate 22.00 MiB", "HIP out of memory. Tried to allocate 2.00 GiB",
        "XPU out of memory, please use `empty_cache`", "MPS backend out of memory (MPS allocated: 17 GB)",
        "NCCL error: unhandled cuda error\nncclUnhandledCudaError: Cuda failure 2 'out of memory'",
    ],
)  # fmt: skip
def test_memory_of_an_accelerator_is_not_the_host_s(message: str):
    assert first(f"RuntimeError: {message}\n") == ("LOG615", PROVED)


@pytest.mark.parametrize(
    ("line", "code", "confidence"),
    [
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=1.0.", "LOG606", PROVED),
        ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.batch cgroup.", "LOG606", PROVED),
        ("    Reason:       OOMKilled", "LOG606", PROVED),
        ("Memory cgroup out of memory: Killed process 12 (python)", "LOG606", PROVED),
        ("[1.2] Out of memory: Killed process 41 (python) total-vm:8kB", "LOG606", PROVED),
        ("Killed", "LOG606", "likely"),
        ("(raylet) A worker died or was killed. There are some potential root causes. (1) The process is killed by "
         "SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called.", "LOG606", "possible"),
        ("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.", "LOG618", PROVED),
    ],
)  # fmt: skip
def test_who_killed_is_told_apart(line: str, code: str, confidence: str):
    assert first(f"step 12\n{line}\n") == (code, confidence)


def test_a_path_with_the_words_of_a_killer_is_none():
    assert first(trace("FileNotFoundError: No such file: '/data/oom_killer_logs/train.json'"))[0] != "LOG606"


def test_the_kernel_says_more_than_the_process_that_was_killed():
    assert first("Killed\nslurmstepd: error: Detected 1 oom_kill event in StepId=1.0.\n") == ("LOG606", PROVED)


def test_a_library_that_calls_another_one_is_a_pair():
    error = "TypeError: Trainer.__init__() got an unexpected keyword argument 'tokenizer'"
    found = said(trace(error, f"{SITE}trl/trainer/sft_trainer.py", "super().__init__("))
    assert [cause.code for cause in found.causes if cause.likelihood == "likely"] == ["LOG211"]
    assert "trl" in found.causes[0].why and "TRL301" not in {cause.code for cause in found.causes}
    assert first(trace(error.replace("Trainer", "SFTTrainer")))[0] == "TRL301"


def test_an_empty_weight_is_zero3_and_another_size_another_model():
    error = (
        "RuntimeError: Error(s) in loading state_dict for LlamaForCausalLM:\n\tsize mismatch for a.weight: copying a "
    )
    zero = error + "param with shape torch.Size([0]) from checkpoint, the shape in current model is torch.Size([8, 4])."
    other = zero.replace("[0]", "[9, 4]")
    assert first(trace(zero)) == ("LOG424", "likely")
    assert first(trace(other)) == ("LOG727", "likely")


def test_ready_twice_is_not_unused():
    twice = said(trace("RuntimeError: Expected to mark a variable ready only once. This error is caused by"))
    assert twice.causes[0].code == "LOG507" and "use_reentrant" in twice.causes[0].advice
    unused = said(
        trace("RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one")
    )
    assert unused.causes[0].code == "LOG504"


def test_nothing_is_ruled_out_without_evidence():
    alone = said(
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, "
        "cuda:2 and cuda:0!\n"
    )
    assert alone.not_the_cause == ()
    assert "show the log" in alone.causes[0].settle and "It would need" not in alone.causes[0].why


def test_an_ignored_exception_is_not_the_failure():
    ignored = "Exception ignored in: <function Pool.__del__ at 0x7f>\n" + trace(
        "AttributeError: 'NoneType' has no x", "/a.py"
    )
    assert said(ignored).failure is None
    found = said(ignored + trace("RuntimeError: CUDA error: out of memory"))
    assert found.failure is not None and found.failure.exception == "RuntimeError"


def test_the_scheduler_s_line_before_a_traceback_is_first():
    preempted = "slurmstepd: error: *** JOB 1 ON n CANCELLED AT 2026-03-01T12:00:00 DUE TO PREEMPTION ***\n"
    assert first(preempted + trace("ValueError: store barrier")) == ("LOG902", PROVED)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("E1 torch/distributed/elastic/multiprocessing/api.py:833] failed (exitcode: -9) local_rank: 0", "LOG606"),
        ("torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with signal SIGKILL", "LOG606"),
        ("torch.distributed.elastic.multiprocessing.api.SignalException: Process 7 got signal: 1", "LOG907"),
        ("Unable to determine the device handle for GPU 0000:1C:00.0: Unknown Error", "LOG903"),
        ("[W socket.cpp:436] [c10d] The socket has failed to bind to [::]:29500 (errno: 98 - Address already in use)",
         "LOG810"),
        ("Server is not up yet. Retrying in 2.0 seconds...", "LOG801"),
        ("'(ReadTimeoutError(\"x\"))' thrown while requesting HEAD https://huggingface.co/a/c.json", "LOG905"),
        ("FAILED tests/test_a.py::test_b - torch.OutOfMemoryError: CUDA out of memory. Tried to", "LOG615"),
    ],
)  # fmt: skip
def test_lines_that_are_no_exception_are_read(line: str, code: str):
    assert first(f"step 12\n{line}\n")[0] == code


@pytest.mark.parametrize(
    "lead",
    [
        "2026-01-02 10:00:00.1 [177/train/578 (pid 1)] [0aaf-1] ",
        "[swarm] 2026-01-02 10:00:00 ",
        "[pod/x/y] ",
        "[stderr] ",
    ],
)
def test_any_prefix_is_taken_off(lead: str):
    text = trace("RuntimeError: CUDA error: out of memory", f"{SITE}transformers/trainer.py")
    found = said("".join(f"{lead}{line}\n" for line in text.splitlines()))
    assert found.failure is not None and found.failure.innermost is not None and found.causes[0].code == "LOG615"


def test_the_line_that_tells_is_shown():
    text = trace(
        "RuntimeError: Failed to import a.b because of the following error:\n/x/flash.so: undefined symbol: _ZN3c10"
    )
    evidence = said(text).causes[0].evidence[0]
    assert (evidence.line, "undefined symbol" in evidence.text) == (5, True)


def test_a_rule_that_finds_nothing_lowers_and_does_not_remove(tmp_path: Path):
    (tmp_path / "train.py").write_text("print(1)\n")
    log = trace("AttributeError: module 'trl' has no attribute 'NobodyKnowsIt'")
    codes = [cause.code for cause in said(log).causes]
    assert codes and set(codes) <= {cause.code for cause in said(log, str(tmp_path)).causes}


def test_files_of_the_traceback_run_where_the_log_shows_it(tmp_path: Path):
    """The file names no device: without the log nobody knows that it is not for the CPU."""
    (tmp_path / "actor.py").write_text(
        "import torch\n\n\ndef answer_mask(sequences: torch.Tensor, eos: int):\n    length = sequences.size(1)\n"
        "    mask = torch.arange(length).unsqueeze(0).expand(sequences.size(0), -1)\n"
        "    index = sequences.ne(eos).long().argmax(dim=1, keepdim=True)\n    mask = mask <= index\n    return mask\n"
    )
    (tmp_path / "trl-lint.toml").write_text("")
    error = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, "
    log = trace(f"{error}cuda:3 and cpu!", "/data/rlhf/actor.py", "mask = mask <= index").replace("line 3", "line 8")
    found = said(log, str(tmp_path)).causes[0]
    assert (found.code, found.likelihood) == ("TRL103", "likely")
    assert 6 in {one.line for one in found.evidence if one.path.endswith("actor.py")}


AGENT = "W0722 21:16:14.716000 36 torch/distributed/elastic/agent/server/api.py:739] "
SIGNAL = AGENT + "Received {} death signal, shutting down workers\n"
CLOSING = AGENT.replace("agent/server", "multiprocessing") + "Sending process 36 closing signal {}\n"


@pytest.mark.parametrize(
    ("signal", "confidence"),
    [("1", PROVED), ("Signals.SIGHUP", PROVED), ("15", "possible"), ("Signals.SIGTERM", "possible"), ("2", "likely")],
)
def test_a_launcher_that_got_a_signal_was_told_to_stop(signal: str, confidence: str):
    assert first("step 1\n" + SIGNAL.format(signal)) == ("LOG907", confidence)


def test_a_launcher_that_closes_the_others_was_not_told_to_stop():
    assert first("step 1\n" + CLOSING.format("SIGTERM")) == ("", "")


def test_the_hint_at_device_side_assertions_is_no_assertion():
    hint = "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."
    assert first(f"RuntimeError: CUDA error: an illegal memory access was encountered\n{hint}\n")[0] == "LOG617"


FETCH = (
    "Traceback (most recent call last):\n"
    '  File "/opt/v/site-packages/torch/utils/data/_utils/fetch.py", line 54, in fetch\n'
    "    return self.collate_fn(data)\n"
)
MISSING = "KeyError: 'solution'\n"


def test_a_flag_that_the_shell_ran_is_a_lost_backslash():
    assert first("ValueError: no dataset\nrun.sh: line 7: --model_id_or_path: command not found\n") == (
        "TRL505",
        PROVED,
    )
    assert first("run.sh: line 7: -lr=1e-5: command not found\n") == ("TRL505", PROVED)
    assert first("run.sh: line 7: accelerate: command not found\n")[0] != "TRL505"


DDP = (
    "ValueError: DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-"
)


def test_parameters_on_several_gpus_are_a_device_map_and_on_the_cpu_are_none():
    told = (
        DDP + "device GPU modules or CPU modules, but got device_ids [0], output_device 0, and module parameters {}.\n"
    )
    several = "{device(type='cuda', index=0), device(type='cuda', index=1)}"
    assert first(told.replace("{}", several)) == ("LOG410", "likely")
    assert first(told.replace("{}", "{device(type='cpu')}")) == ("LOG429", "possible")


@pytest.mark.parametrize(
    ("log", "code", "confidence"),
    [
        (FETCH + '  File "/home/me/train.py", line 9, in collate\n    x["solution"]\n' + MISSING, "LOG737", "possible"),
        (trace(MISSING, SITE + "datasets/formatting/formatting.py").replace("<module>\n    main()",
         "__getitem__\n    value = self.data[key]"), "LOG737", "likely"),
        (trace(MISSING, "/x/src/llamafactory/data/converter.py").replace("<module>", "__call__"), "LOG737", "likely"),
        (trace(MISSING, "/x/src/llamafactory/train/tuner.py"), "LOG223", "possible"),
        (trace(MISSING), "LOG766", "possible"),
        (trace("RuntimeError: shape '[-1, 8]' is invalid for input of size 17", MINE,
         "rewards.view(-1, self.num_generations).mean(dim=1)"), "TRL701", "likely"),
        (trace("RuntimeError: shape '[-1, 8]' is invalid for input of size 17", MINE, "x.view(-1, heads)"), "LOG767",
         "possible"),
    ],
)  # fmt: skip
def test_columns_and_groups_by_where_they_are_missed(log: str, code: str, confidence: str):
    assert first(log) == (code, confidence)


def test_a_constructor_is_no_reward_function():
    for message in (
        "got an unexpected keyword argument 'processing_class'",
        "missing 1 required positional argument: 'x'",
    ):
        named = {cause.code for cause in said(f"TypeError: Trainer.__init__() {message}\n").causes}
        assert not named & {"LOG701", "LOG702"}
    assert "LOG701" in {
        cause.code for cause in said("TypeError: reward() got an unexpected keyword argument 'x'\n").causes
    }
