"""What a statement that failed says, over messages, places and who calls whom."""

from __future__ import annotations

import io

import pytest

from trl_lint.diagnose.causes import diagnose
from trl_lint.diagnose.first import first_failure
from trl_lint.diagnose.reader import read_log
from trl_lint.diagnose.statement import Stated, expression_before, stated

SITE = "/opt/venv/lib/python3.11/site-packages"
SCRIPT = ("/home/u/p/train.py", "<module>", "main()")
Frame = tuple[str, str, str]


def log(exception: str, *frames: Frame) -> str:
    shown = "".join(f'  File "{path}", line 7, in {function}\n    {code}\n' for path, function, code in frames)
    return f"Traceback (most recent call last):\n{shown}{exception}\n"


def said(exception: str, *frames: Frame) -> Stated | None:
    failure = first_failure(read_log(io.BytesIO(log(exception, *frames).encode())))
    assert failure is not None
    return stated(failure)


def own(code: str) -> tuple[Frame, Frame]:
    return SCRIPT, ("/home/u/p/data.py", "rows", code)


@pytest.mark.parametrize(
    ("exception", "code", "what"),
    [
        ("KeyError: 'text'", "log(raw['train'][i]['text'])", "`raw['train'][i]` has no key `text`"),
        ("KeyError: 'text'", 'return row["text"].strip()', "`row` has no column `text`"),
        ("KeyError: 'x'", "TABLE[name]", "`TABLE[name]` asks for `x`, which is not there"),
        ("KeyError: 3", "ranks[3]", "`ranks` has no key `3`"),
        (
            "AttributeError: 'str' object has no attribute 'to'",
            "model.to('cuda')",
            "`model` is a `str` there, which has no",
        ),
        ("AttributeError: 'NoneType' object has no attribute 'id'", "x = a.tok(b).id", "`a.tok(b)` is None there"),
        ("AttributeError: 'list' object has no attribute 'strip'", "[c[0].strip() for c in cs]", "`c[0]` is a `list`"),
        ("NameError: name 'os' is not defined", "rank = os.environ['RANK']", "the name `os` has no value"),
        ("UnboundLocalError: local variable 'cfg' referenced before assignment", "use(cfg)", "the name `cfg` has no"),
        ("ZeroDivisionError: division by zero", "return hits / total", "`return hits / total` fails: division by zero"),
        ("ValueError: could not convert string to float: 'a'", "float(x)", "`float(x)` fails: could not convert"),
        ("IndexError: list index out of range", "parts[3]", "`parts[3]` fails: list index"),
        ("TypeError: unsupported operand type(s) for +: 'int' and 'str'", "a + b", "`a + b` fails: unsupported"),
        ("AssertionError", "assert len(a) == len(b)", "`rows` gave up at `assert len(a) == len(b)`"),
    ],
)
def test_code_of_the_project_that_failed_at_its_own_values(exception: str, code: str, what: str):
    found = said(exception, *own(code))
    assert found is not None and found.what.startswith(what)
    if exception != "AssertionError" and "asks for" not in what:
        assert found.decides == "LOG766"
        (cause,) = diagnose(read_log(io.BytesIO(log(exception, *own(code)).encode())), "run.log").causes[:1]
        assert (cause.code, cause.likelihood) == ("LOG766", "likely") and cause.why[1:].startswith(what[1:])


@pytest.mark.parametrize(
    "frames",
    [
        (
            SCRIPT,
            (f"{SITE}/torch/utils/data/fetch.py", "fetch", "f(d)"),
            ("/home/u/p/train.py", "collate", "row['text']"),
        ),
        (("/home/u/p/data.py", "rows", "row['text']"),),  # cut off: who called is not known
        (SCRIPT, ("/home/u/lib/nemo/data.py", "rows", "row['text']")),  # another folder: a framework perhaps
        (SCRIPT, (f"{SITE}/trl/data.py", "rows", "row['text']")),
    ],
)
def test_what_a_library_may_have_brought_about_is_not_decided(frames: tuple[Frame, ...]):
    found = said("KeyError: 'text'", *frames)
    assert found is not None and found.decides == ""


@pytest.mark.parametrize(
    "exception",
    [
        "AttributeError: 'GRPOTrainer' object has no attribute 'tok'",
        "AttributeError: module 'wandb' has no attribute 'tok'",
        "TypeError: f() takes 2 positional arguments but 3 were given",
        "TypeError: f() missing 1 required positional argument: 'x'",
        "NameError: name 'RetroConfig' is not defined",
        "ImportError: cannot import name 'f' from 'torch'",
        "RuntimeError: CUDA out of memory.",
    ],
)
def test_what_a_release_may_have_brought_about_is_not_decided(exception: str):
    found = said(exception, *own("x.tok(f(1))"))
    assert found is None or found.decides == ""


@pytest.mark.parametrize(
    ("message", "decides"),
    [
        ("The port number of the endpoint 'None:None' must be an integer between 0 and 65536.", "LOG429"),
        ("Expected 8 experts and the config names 4 of them", "LOG429"),
        ("Engine core failed. See the stack trace above for its cause", ""),
        ("A worker process ended with exit code 1", ""),
        ("Failed to run the command of the job at the node", ""),
    ],
)
def test_a_check_of_a_library_says_what_it_refuses(message: str, decides: str):
    found = said(f"ValueError: {message}", SCRIPT, (f"{SITE}/torch/run.py", "parse", "raise ValueError("))
    assert found is not None and found.decides == decides and found.is_quoted
    assert found.what.startswith(f"torch refuses this in `parse`: {message}")
    assert ("never set" in found.what) == ("'None:None'" in message)
    # A line that raises nothing is no check.
    assert said(f"RuntimeError: {message}", SCRIPT, (f"{SITE}/torch/run.py", "parse", "ext.run(x)")) is None


@pytest.mark.parametrize("given", ["trainer.push(private=True, **kw)", "trainer.push(private = flag)"])
def test_an_argument_that_others_hand_on_is_told_where_it_was_given(given: str):
    frames = (("/home/u/p/train.py", "<module>", given), (f"{SITE}/transformers/trainer.py", "push", "self.card(**kw)"))
    found = said("TypeError: SFTTrainer.card() got an unexpected keyword argument 'private'", *frames)
    assert found is not None and found.decides == "TRL301" and f"`{given}` (p/train.py:7) gives" in found.what
    frames = (("/home/u/p/train.py", "<module>", "if private == 1: push(x)"), frames[1])
    found = said("TypeError: SFTTrainer.card() got an unexpected keyword argument 'private'", *frames)
    assert found is not None and found.decides == ""


def test_a_program_or_file_that_is_not_there():
    popen = ("/usr/lib/python3.11/subprocess.py", "_execute_child", "raise child_exception_type(e)")
    found = said("FileNotFoundError: [Errno 2] No such file or directory: '/cvmfs/bin/nvcc'", SCRIPT, popen)
    assert found is not None and found.what == "there is no program `/cvmfs/bin/nvcc`"
    found = said("FileNotFoundError: [Errno 2] No such file or directory: 'a.json'", *own("open(p)"))
    assert found is not None and found.what == "there is no file or folder `a.json`"


def test_a_file_that_is_no_python():
    text = '  File "/home/u/p/train.py", line 232\n    optim="x"\n    ^\nSyntaxError: invalid syntax\n'
    (cause,) = diagnose(read_log(io.BytesIO(text.encode())), "run.log").causes
    assert (cause.code, cause.likelihood) == ("LOG766", "likely")
    assert "cannot parse line 232 of `/home/u/p/train.py`" in cause.why


@pytest.mark.parametrize(
    ("code", "mark", "before"),
    [
        ("a.b", ".b", "a"), ("x = a.b[0].c", ".c", "a.b[0]"), ("f(a, g(b)).c", ".c", "f(a, g(b))"), ("a).c", ".c", ""),
        ("(a + b).c", ".c", ""), ("-a['k'].c", ".c", "a['k']"), ("", "", ""), (".c", ".c", ""), ("]" * 9, "", ""),
    ],
)  # fmt: skip
def test_the_expression_before_a_place(code: str, mark: str, before: str):
    assert expression_before(code, code.rfind(mark) if mark else len(code)) == before


def test_a_split_of_a_data_set_is_called_one():
    frames = (SCRIPT, ("/home/u/p/train.py", "main", 'test = raw["test"]'))
    found = said("KeyError: 'test'", *frames, (f"{SITE}/datasets/dataset_dict.py", "__getitem__", "super().get(k)"))
    assert found is not None and (found.what, found.decides) == ("`raw` has no split `test`", "LOG766")
