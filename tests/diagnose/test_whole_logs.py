"""Whole logs: several runs in one file, warnings, exceptions that speak of another, lines that come again."""

from __future__ import annotations

import io

import pytest

from trl_lint.diagnose.causes import diagnose
from trl_lint.diagnose.first import complaints, first_failure, runs
from trl_lint.diagnose.reader import Log, read_log

STARTS = (
    "nohup: ignoring input",
    "W0503 22:51:04.443386 479 torch/distributed/run.py:757] Setting OMP_NUM_THREADS environment variable for each",
    "2025-02-25 19:42:16,238\tINFO worker.py:1841 -- Started a local Ray instance.",
    "[2024-08-19 10:27:57,181] [INFO] [runner.py:568:main] cmd = /usr/bin/python -u -m deepspeed.launcher.launch",
    "Loading checkpoint shards:   0%|          | 0/2 [00:00<?, ?it/s]",
)
PREFIXES = ("", "[rank1]: ", "node-7: [rank1]: ", "10.0.0.30: [rank1]: ", "(WorkerDict pid=77) ")
DONE = "{'train_runtime': 4849.001, 'train_samples_per_second': 0.264, 'epoch': 1.0}"


def read(*parts: str) -> Log:
    return read_log(io.BytesIO("\n".join(parts).encode()))


def trace(exception: str, name: str = "main", path: str = "/home/u/train.py", prefix: str = "") -> str:
    lines = ["Traceback (most recent call last):", f'  File "{path}", line 12, in <module>', "    main()"]
    lines += [f'  File "{path}", line 7, in {name}', "    step()", exception]
    return "\n".join(prefix + line for line in lines)


def text(log: Log) -> str:
    failure = first_failure(log)
    return failure.text if failure is not None else ""


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_the_last_of_several_runs_is_asked(start: str, prefix: str):
    log = read(start, trace("KeyError: 'old'", prefix=prefix), start, trace("ValueError: new", prefix=prefix))
    assert text(log) == "ValueError: new"
    assert len(runs(log)) == 2


@pytest.mark.parametrize("start", STARTS)
def test_what_only_follows_is_no_run_of_its_own(start: str):
    late = trace("RuntimeError: NCCL error: remote process exited", "allreduce")
    log = read(start, trace("KeyError: 'text'"), start, late)
    assert text(log) == "KeyError: 'text'"
    assert len(runs(log)) == 1


@pytest.mark.parametrize("start", STARTS)
def test_a_run_that_came_to_its_end_after_a_failure_has_none(start: str):
    assert text(read(start, trace("KeyError: 'old'"), start, DONE)) == ""
    assert text(read(start, DONE, trace("OSError: cannot push"))) == "OSError: cannot push"


@pytest.mark.parametrize(
    "refused", ["error: argument --fp16: Truthy value expected", "error: unrecognized arguments: --bf-16"]
)
def test_a_command_line_that_was_mended_is_not_the_one_that_is_told(refused: str):
    log = read(
        "usage: t.py [-h]", "t.py: error: argument --stage: invalid choice: 'x'", "usage: t.py [-h]", f"t.py: {refused}"
    )
    assert refused in text(log)


def test_a_file_that_cannot_be_parsed_is_a_run_of_its_own():
    broken = '  File "train.py", line 232\n    optim="x"\n    ^\nSyntaxError: invalid syntax'
    assert "SyntaxError" in text(read(trace("ValueError: old"), broken))
    # Words of a shell that goes on, and of a process that started late, are none.
    one_liner = '  File "<string>", line 1\n    import f{\n            ^\nSyntaxError: invalid syntax'
    assert "old" in text(read(trace("ValueError: old"), one_liner))


@pytest.mark.parametrize("doubled", [1, 2])
def test_two_processes_that_write_one_exception_into_each_other(doubled: int):
    end = "SyntaxError" * doubled + ": " * doubled + "invalid syntax" * doubled
    assert text(read('  File "train.py", line 2\n    a b\n      ^', end)).startswith("SyntaxError: invalid syntax")


def test_a_traceback_that_a_hook_prints_without_the_exception():
    one = (
        'File "t.py", line 2, in <module>\n    main()\n  File "t.py", line 9, in main\n    raise ValueError(\nbad value'
    )
    log = read("  " + one, "  " + one, "  " + one)
    assert next(failure.text for failure in log.failures) == "ValueError: bad value"


@pytest.mark.parametrize(
    "wrapper",
    [
        "RuntimeError: The actor with name WorkerDict failed to import on the worker. It may be because:",
        "WorkerError: the worker raised:",
    ],
)
@pytest.mark.parametrize("gap", [[], [""]])
def test_a_message_that_ends_with_a_colon_leads_to_the_traceback_below(wrapper: str, gap: list[str]):
    log = read(trace(wrapper), *gap, trace("ImportError: a.so: undefined symbol: _Z", "load"))
    failure = first_failure(log)
    assert failure is not None and failure.exception == "ImportError"
    # A message without one stands for itself, and so does an exception without a message.
    assert text(read(trace("ValueError: one"), trace("KeyError: 'two'"))).startswith("ValueError: one")


@pytest.mark.parametrize(
    "warning",
    [
        "/opt/trl/trainer.py:105: FutureWarning: `tokenizer` is deprecated and will be removed in 5.0.0.",
        "t.py:1: FutureWarning: `evaluation_strategy` is deprecated. Use `eval_strategy` instead",
        "[W] Environment variable NCCL_ASYNC_ERROR_HANDLING is deprecated; use TORCH_NCCL_ASYNC_ERROR_HANDLING instead",
        "UserWarning: TRL currently supports vLLM versions: 0.10.2, 0.11.0. You have 0.9.0 installed.",
    ],
)
def test_no_run_ends_at_a_warning(warning: str):
    assert diagnose(read(warning, "step 3 done"), "run.log").causes == ()
    found = diagnose(read(warning, trace("ZeroDivisionError: division by zero")), "run.log").causes
    assert {cause.code for cause in found}.isdisjoint({"TRL303", "TRL506", "TRL202"})


def test_a_line_that_comes_again_at_the_end_counts_there():
    line = "an error occurred at step 1"
    log = read(line, *(f"warning {chr(97 + n % 26) * (n + 1)}" for n in range(90)), "an error occurred at step 9")
    assert [failure.number for failure in complaints(log)][:1] == [92]


def test_hints_of_programs_are_not_part_of_a_message():
    hydra = "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace."
    assert text(read(trace("NotImplementedError"), hydra)) == "NotImplementedError"


BAR = "Running tokenizer (num_proc=8):  49%|####     | 49/100 [03:06<02:46,  3.27s/ examples]"
CANCELLED = "*** JOB 167426 ON trig0046 CANCELLED AT 2025-12-22T20:30:13 ***"


@pytest.mark.parametrize(
    ("lines", "code", "words"),
    [
        ((f"{BAR}slurmstepd: error: {CANCELLED}",), "LOG902", "whole job"),
        ((f"slurmstepd-gpu016: error: {CANCELLED}",), "LOG902", "whole job"),
        (
            ("E0922 01:43:22.2 140 torch/api.py:833] failed (exitcode: -9) local_rank: 2 (pid: 36) of binary: python3",
             "slurmstepd-gpu016: error: Detected 1 oom_kill event in StepId=25.batch."),
            "LOG606", "SLURM says so",
        ),
        # A shell goes on with its next line; what it could not run is told where nothing else ended.
        (
            ("/spool/slurm_script: line 68: /scratch/a.sh: No such file or directory",
             "slurmstepd: error: execve(): ray: No such file or directory"),
            "LOG914", "no `ray`",
        ),
        (("slurmstepd: error: execve(): env.sh: Permission denied",), "LOG914", "`env.sh` is there"),
        (("FATAL:   could not open image /a/b.sif: failed to retrieve path: no such file",), "LOG919", "b.sif"),
        (("[launch.py:328:sigkill_handler] Main process received SIGINT, exiting",), "LOG907", "Ctrl-C"),
        (
            ("ValueError: Some keys are not used by the HfArgumentParser: ['--debug', 'True']",),
            "TRL401", "['--debug', 'True']",
        ),
    ],
)  # fmt: skip
def test_words_of_schedulers_shells_and_containers(lines: tuple[str, ...], code: str, words: str):
    cause = diagnose(read("step 1", *lines), "run.log").causes[0]
    assert (cause.code, cause.likelihood) == (code, "likely")
    assert words in cause.why and any(seen.path == "run.log" and seen.line > 1 for seen in cause.evidence)


def test_an_exception_of_python_ends_the_run_and_not_the_shell_before_it():
    log = read(
        "run.sh: line 3: module: command not found", *["step"] * 60, trace("ZeroDivisionError: division by zero")
    )
    assert text(log).startswith("ZeroDivisionError")
