"""What a sentence decides by itself: likely where it says what the title says, and no further."""

from __future__ import annotations

import io

import pytest

from trl_lint.diagnose.answers import Diagnosis
from trl_lint.diagnose.causes import diagnose
from trl_lint.diagnose.reader import read_log

LIBRARY = '  File "/env/lib/python3.11/site-packages/foo/run.py", line 3, in load\n'


def said(text: str) -> Diagnosis:
    return diagnose(read_log(io.BytesIO(text.encode())), "run.log")


def traced(code: str, message: str, frame: str = LIBRARY) -> str:
    return f"Traceback (most recent call last):\n{frame}    {code}\n{message}\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ModuleNotFoundError: No module named 'jieba'", "LOG203"),
        ("ModuleNotFoundError: No module named 'axolotl.monkeypatch.models'", "LOG211"),
        (traced("from peft.tuners.lora.awq import f", "ModuleNotFoundError: No module named 'peft.tuners.lora.awq'"),
         "LOG211"),
        ("ReadTimeout: HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out.", "LOG905"),
        ("requests.exceptions.ConnectionError: HTTPSConnectionPool(host='api.wandb.ai', port=443): Read timed out.",
         "LOG909"),
        ("TypeError: cannot pickle '_thread.RLock' object", "LOG726"),
        ("RuntimeError: Triton Error [CUDA]: out of memory", "LOG615"),
        ("ValueError: expected sequence of length 512 at dim 1 (got 498)", "LOG743"),
        ("ValueError: Unknown split \"train\". Should be one of ['test'].", "LOG769"),
        ("ValueError: FlatParameter requires uniform dtype but got torch.float16 and torch.float32", "LOG423"),
        ("node1: ValueError: FlatParameter requires uniform dtype but got torch.float16 and torch.float32", "LOG423"),
        ("int4 报错：RuntimeError: self and mat2 must have the same dtype", "LOG614"),
        ("OSError: 120000000 requested and 0 written", "LOG908"),
        ("nvcc fatal   : Unsupported gpu architecture\nninja: build stopped: subcommand failed.", "LOG213"),
        ("sbatch: error: fetch_config: DNS SRV lookup failed", "LOG913"),
        ("srun: error: Munge encode failed: Failed to access \"/run/munge.socket.2\": No such file", "LOG913"),
        ("CondaError: Run 'conda init' before 'conda activate'", "LOG918"),
        ("Indexing.hip:1: indexSelectLargeIndex: Device-side assertion `srcIndex < srcSelectDimSize' failed", "LOG608"),
        (traced("if isinstance(model, PeftModel):", "NameError: name 'PeftModel' is not defined"), "LOG203"),
        ("RuntimeError: Failed to import trl.trainer.ppo_config because of the following error (look up to see its "
         "traceback):\nNo module named 'tyro'", "LOG203"),
        (traced("loss.backward()", "OutOfMemoryError: CUDA out of memory. Tried to allocate 1.42 GiB (GPU 2; 11.78 GiB "
                "total capacity; 8.01 GiB already allocated; 1.32 GiB free; 9.29 GiB reserved in total by PyTorch)"),
         "LOG605"),
        ("train.sh: 1: srun: not found", "LOG914"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'sbatch': 'sbatch'", "LOG914"),
        ("Process finished with exit code 137 (interrupted by signal 9: SIGKILL)", "LOG606"),
        ("Process finished with exit code 139 (interrupted by signal 11: SIGSEGV)", "LOG911"),
    ],
)  # fmt: skip
def test_a_sentence_decides(text: str, code: str):
    causes = said(text).causes
    assert [(one.code, one.likelihood) for one in causes][:1] == [(code, "likely")]


@pytest.mark.parametrize(
    "text",
    [
        # Names that projects give their own modules, parts that are compiled, and modules that a run names itself.
        "ModuleNotFoundError: No module named 'utils'",
        "ModuleNotFoundError: No module named 'utils.data'",
        "ModuleNotFoundError: No module named 'deepspeed.ops.adam.cpu_adam_op'",
        traced("importlib.import_module(name)", "ModuleNotFoundError: No module named 'mine.rewards'"),
        traced("x = config.LR", "AttributeError: module 'config' has no attribute 'LR'"),
        traced("x = plug.a", "AttributeError: module 'plug' has no attribute 'a'", '  File "/run.py", line 3, in f\n'),
        "AttributeError: 'Trainer' object has no attribute 'meta_interval'",
        traced("if isinstance(model, Mine):", "NameError: name 'Mine' is not defined"),
        traced("loss.backward()", "OutOfMemoryError: CUDA out of memory. Tried to allocate 1.42 GiB (GPU 2; 79.78 GiB "
               "total capacity; 8.01 GiB already allocated; 0.32 GiB free; 9.29 GiB reserved in total by PyTorch)"),
        traced("import dpo", "NameError: name 'RetroConfig' is not defined", '  File "/r.py", line 22, in <module>\n'),
        # What a run survives, or only tells.
        "WARNING: HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out\n" + "{'loss': 1.0}\n" * 4,
        "completion: the user saw `MemoryError` and asked why\nreward: 0.3",
        "srun: error: node1: task 3: Exited with exit code 1",
        "srun: error: eio_handle_mainloop: Abandoning IO 60 secs after job shutdown initiated",
        "slurmstepd: error: couldn't chdir to `/x': No such file or directory: going to /tmp instead",
        "ray.exceptions.RayActorError: The actor died unexpectedly before finishing this task.",
        "Process finished with exit code 0",
    ],
)  # fmt: skip
def test_nothing_is_likely(text: str):
    assert all(one.likelihood == "possible" for one in said(text).causes)


def test_an_environment_that_was_not_found_gives_way_to_what_failed_in_the_other_one():
    text = "Could not find conda environment: torch2\n" + traced(
        "import torch", "ModuleNotFoundError: No module named 'torch'", '  File "t.py", line 1, in <module>\n'
    )
    assert said(text).causes[0].code == "LOG203"
    assert said("Could not find conda environment: torch2\n").causes[0].code == "LOG918"


def test_what_the_message_decides_needs_no_frames():
    """The frames of another pattern of the same cause stay open, and do not make it less than likely."""
    (one,) = said("pyarrow.lib.ArrowInvalid: JSON parse error: Missing a closing quotation mark in row 14").causes
    assert (one.code, one.likelihood) == ("LOG729", "likely")


def test_what_only_a_traceback_could_tell_does_not_silence_what_the_message_is_about():
    text = "RuntimeError: The expanded size of the tensor (207) must match the existing size (206) at dimension 3."
    assert [one.code for one in said(text).causes][:1] == ["LOG767"]
