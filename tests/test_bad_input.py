"""Input that cannot be read: one clear line about it, everything else as usual, and never a traceback."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from trl_lint.cli import main
from trl_lint.sources import files

RECIPE = "model_name_or_path: model\noutput_dir: out\nlearning_rate: 1.0e-6\nnum_generations: 8\nmax_grad_norm: 0\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one recipe that has one finding: TRL601 on line 5. It must survive whatever lies beside it."""
    (tmp_path / "recipe.yaml").write_text(RECIPE, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Outcome:
    def __init__(self, status: int, out: str, err: str) -> None:
        report: dict[str, Any] = json.loads(out)
        self.status = status
        self.err = err
        self.errors: list[str] = [str(error) for error in report["errors"]]
        self.findings = [(f["path"], f["code"], f["start"]["line"]) for f in report["findings"]]
        self.messages = {f["path"]: f["message"] for f in report["findings"]}
        assert all("\n" not in f["message"] for f in report["findings"])
        assert "Traceback" not in out + err


def check(capsys: pytest.CaptureFixture[str], *paths: str) -> Outcome:
    capsys.readouterr()
    status = main(["check", *(paths or (".",)), "--isolated", "--output-format", "json"])
    captured = capsys.readouterr()
    return Outcome(status, captured.out, captured.err)


RECIPE_FINDING = ("recipe.yaml", "TRL601", 5)


@pytest.mark.parametrize(
    ("name", "data", "line"),
    [
        ("nul.py", b"import trl\nx = prepare_model(evaluation_mode=True)\x00\n", 2),
        ("latin.py", b"# caf\xe9\nprepare_model(m, evaluation_mode=True)\n", 1),
        ("cut.py", b"a.prepare_model(m, evaluation_mode=True\n", 1),
        ("python2.py", b"a.prepare_model(m, evaluation_mode=True)\nprint 'done'\n", 2),
        ("codec.py", b"# coding: no-such\na.prepare_model(m, evaluation_mode=True)\n", 1),
        ("deep.py", b"a.prepare_model(m, evaluation_mode=" + b"(" * 5000 + b")" * 5000 + b")\n", 1),
        ("cut.ipynb", b'{"cells": [{"cell_type": "code", "source": ["a.prepare_model(evaluation_mode=True)', 1),
        ("list.ipynb", b'["prepare_model(evaluation_mode=True)"]', 1),
        ("tab.yaml", b"compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n\tkey: 1\n", 4),
        ("bytes.yaml", b"distributed_type: FSDP\ncompute_environment: \xff\n", 1),
        ("zero.json", b'{"zero_optimization": {"stage": 3},\n "train_batch_size": }\n', 2),
        ("requirements.txt", b"torch==2.5.1\nvllm==!\ntransformers\ntrl==0.15.2\n", 2),
        ("pyproject.toml", b'[project]\nname = "x"\ndependencies = ["trl==0.15.2"\n', None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_cannot_be_parsed_is_one_finding(
    name: str, data: bytes, line: int | None, project: Path, capsys: pytest.CaptureFixture[str]
):
    (project / name).write_bytes(data)
    outcome = check(capsys)
    about = [finding for finding in outcome.findings if finding[0] == name and finding[1] == "TRL001"]
    assert len(about) == 1
    assert line is None or about[0][2] in (1, line)
    assert len(outcome.messages[name]) > 10
    assert RECIPE_FINDING in outcome.findings
    assert (outcome.status, outcome.errors) == (1, [])


def test_a_sum_of_thousands_is_read_or_refused(project: Path, capsys: pytest.CaptureFixture[str]):
    """Some Pythons can parse it and some cannot; either way the file is not passed over in silence."""
    fault = "from accelerate import Accelerator\nAccelerator().prepare_model(ref_model, evaluation_mode=True)\n"
    (project / "sum.py").write_text(f"{fault}total = {' + '.join(['x'] * 9000)}\n", "utf-8")
    outcome = check(capsys)
    about = [finding for finding in outcome.findings if finding[0] == "sum.py"]
    assert about in ([("sum.py", "TRL101", 2)], [("sum.py", "TRL001", 1)])
    assert RECIPE_FINDING in outcome.findings
    assert (outcome.status, outcome.errors) == (1, [])


@pytest.mark.parametrize("name", ["a.py", "a.ipynb", "a.yaml", "a.json", "a.toml", "a.sh", "requirements.txt"])
def test_an_empty_file_is_fine(name: str, project: Path, capsys: pytest.CaptureFixture[str]):
    (project / name).write_bytes(b"")
    outcome = check(capsys)
    assert (outcome.status, outcome.findings) == (1, [RECIPE_FINDING])


def test_a_generated_file_of_20_mb(project: Path, capsys: pytest.CaptureFixture[str]):
    """Tables of numbers, with no word that any rule looks for, cost one search through their bytes."""
    row = "ROW = [" + ", ".join(str(n) for n in range(1000)) + "]\n"
    (project / "generated.py").write_text(row * (20_000_000 // len(row)), "utf-8")
    outcome = check(capsys)
    assert outcome.findings == [RECIPE_FINDING]


def test_a_large_data_file_of_20_mb(project: Path, capsys: pytest.CaptureFixture[str]):
    rows = [{"prompt": "a" * 200, "fp16": True, "learning_rate": 1}] * 70_000
    (project / "data.json").write_text(json.dumps(rows), "utf-8")
    outcome = check(capsys)
    assert outcome.findings == [RECIPE_FINDING]


def test_a_directory_that_contains_itself(project: Path, capsys: pytest.CaptureFixture[str]):
    (project / "sub").mkdir()
    (project / "sub" / "again").symlink_to(project, target_is_directory=True)
    (project / "dangling.py").symlink_to(project / "nowhere.py")
    outcome = check(capsys)
    assert [finding for finding in outcome.findings if finding[1] != "TRL001"] == [RECIPE_FINDING]
    assert outcome.status == 1


@pytest.fixture
def unreadable(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that the operating system refuses to open; tests that run as root cannot make a real one."""
    path = project / "secret.py"
    path.write_text("prepare_model(m, evaluation_mode=True)\n", "utf-8")
    real = files.open_file

    def refusing(name: str, data: bytes | None = None) -> Any:
        if os.path.basename(name) == path.name and data is None:
            raise PermissionError(13, "Permission denied", name)
        return real(name, data)

    monkeypatch.setattr(files, "open_file", refusing)
    return path


def test_an_unreadable_file_in_a_folder_is_one_finding(unreadable: Path, capsys: pytest.CaptureFixture[str]):
    outcome = check(capsys)
    assert ("secret.py", "TRL001", 1) in outcome.findings
    assert "permission denied; make it readable" in outcome.messages["secret.py"]
    assert RECIPE_FINDING in outcome.findings
    assert (outcome.status, outcome.errors) == (1, [])


def test_an_unreadable_file_named_by_the_user_is_an_error(unreadable: Path, capsys: pytest.CaptureFixture[str]):
    outcome = check(capsys, "secret.py", "recipe.yaml")
    assert outcome.status == 2
    assert len(outcome.errors) == 1 and "secret.py" in outcome.errors[0]
    assert outcome.findings == [RECIPE_FINDING]


def test_a_path_that_does_not_exist_is_an_error(project: Path, capsys: pytest.CaptureFixture[str]):
    outcome = check(capsys, "missing.py", "recipe.yaml")
    assert outcome.status == 2
    assert len(outcome.errors) == 1 and "missing.py" in outcome.errors[0]
    assert outcome.findings == [RECIPE_FINDING]


def test_a_folder_named_like_a_file(project: Path, capsys: pytest.CaptureFixture[str]):
    for name in ("train.py", "requirements.txt", "nb.ipynb"):
        (project / name).mkdir()
    outcome = check(capsys)
    assert (outcome.status, outcome.findings) == (1, [RECIPE_FINDING])


def test_anchors_a_hundred_deep(project: Path, capsys: pytest.CaptureFixture[str]):
    """2**100 values when expanded, a hundred lines as written."""
    levels = [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 100)]
    bomb = "\n".join(["compute_environment: LOCAL_MACHINE", "distributed_type: FSDP", "a0: &a0 [1, 2]", *levels])
    (project / "bomb.yaml").write_text(f"{bomb}\nnum_processes: *a99\n{RECIPE}", "utf-8")
    outcome = check(capsys)
    assert RECIPE_FINDING in outcome.findings
    assert outcome.status == 1


def test_an_anchor_inside_itself(project: Path, capsys: pytest.CaptureFixture[str]):
    (project / "loop.yaml").write_text("distributed_type: FSDP\ncompute_environment: &a\n  again: *a\n", "utf-8")
    outcome = check(capsys)
    assert RECIPE_FINDING in outcome.findings
    assert outcome.status == 1


def test_brackets_ten_thousand_deep(project: Path, capsys: pytest.CaptureFixture[str]):
    for name in ("deep.yaml", "deep.json"):
        nested = "[" * 10_000 + "]" * 10_000
        (project / name).write_text(f'{{"zero_optimization": {nested}, "train_batch_size": 1}}', "utf-8")
    outcome = check(capsys)
    assert [f for f in outcome.findings if f[1] != "TRL001"] == [RECIPE_FINDING]
    assert outcome.status == 1


def test_requirements_that_include_themselves(project: Path, capsys: pytest.CaptureFixture[str]):
    (project / "requirements.txt").write_text("-r requirements.txt\n-r more.txt\ntrl==0.15.2\n", "utf-8")
    (project / "more.txt").write_text("-c requirements.txt\nvllm==0.9.0\n", "utf-8")
    outcome = check(capsys)
    assert RECIPE_FINDING in outcome.findings
    assert [f for f in outcome.findings if f[1] == "TRL202"], "the pins on both sides of the loop are still read"
    assert (outcome.status, outcome.errors) == (1, [])


def test_a_missing_included_file(project: Path, capsys: pytest.CaptureFixture[str]):
    (project / "requirements.txt").write_text("-r nowhere.txt\ntrl==0.15.2\n", "utf-8")
    outcome = check(capsys)
    assert RECIPE_FINDING in outcome.findings
    assert (outcome.status, outcome.errors) == (1, [])


# -- size and depth ---------------------------------------------------------------------------------------------------

GENERATED = [
    ("a.py", "from accelerate import Accelerator\n", "x = acc.prepare_model(model, evaluation_mode=True)\n"),
    ("requirements.txt", "trl==0.15.2\n", "foo==1.0\n"),
    ("pyproject.toml", "[tool.x]\n", "# dependencies = []\n"),
    ("run.sh", "set -e\n", "python train.py\n"),
    ("Makefile", "all:\n", "\tpython train.py\n"),
    ("Dockerfile", "FROM x\n", "RUN pip install trl==0.15.2\n"),
    ("environment.yml", "dependencies:\n- pip:\n", "  - trl==0.15.2\n"),
]


@pytest.mark.parametrize(("name", "head", "line"), GENERATED, ids=[name for name, _, _ in GENERATED])
def test_a_file_too_large_to_be_written_by_hand_is_left_out(
    name: str, head: str, line: str, project: Path, capsys: pytest.CaptureFixture[str]
):
    (project / name).write_text(head + line * (2_100_000 // len(line)), "utf-8")
    outcome = check(capsys)
    assert sorted(outcome.findings) == sorted([(name, "TRL001", 1), RECIPE_FINDING])
    assert outcome.messages[name].startswith("not checked: at 2.1 MB this is generated data")


def test_what_is_left_out_for_its_size_fails_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "run.sh").write_text("python train.py\n" * 150_000, "utf-8")
    assert check(capsys, str(tmp_path)).status == 0


MANY = [
    ("requirements.txt", "trl==0.15.2\n", "foo==1.0\n", 3_000),
    ("constraints.txt", "", "foo==1.0  # noqa: TRL201\n", 3_000),
    ("a.py", "import torch\n", "x = 1  # noqa: TRL101\n", 5_000),
]


@pytest.mark.parametrize(("name", "head", "line", "count"), MANY, ids=[name for name, *_ in MANY])
def test_time_grows_with_the_length_of_a_file(
    name: str, head: str, line: str, count: int, project: Path, capsys: pytest.CaptureFixture[str]
):
    (project / name).write_text(head + line * count, "utf-8")
    start = time.process_time()
    check(capsys)
    assert time.process_time() - start < 6  # less than a second; many if every line looks at all the others


DEEP = [
    "acc.prepare_model(ref_model, evaluation_mode=True, x=1" + "+1" * 3000 + ")",
    "import torch\ndef f(x):\n    return " + "torch.cat([" * 40 + "x" + "])" * 40 + " + torch.zeros(3)",
    "import torch\ndef f(x):\n    return x" + ".to(x" * 60 + ")" * 60 + " + torch.zeros(3)",
    "import torch\ndef f(x):\n    return x" + " + torch.zeros(1)" * 1000,
]


@pytest.mark.parametrize("text", DEEP, ids=["sum", "cat", "to", "factories"])
def test_deep_python_is_neither_a_crash_nor_a_wait(text: str, project: Path, capsys: pytest.CaptureFixture[str]):
    (project / "deep.py").write_text(f"{text}\n", "utf-8")
    outcome = check(capsys)
    assert RECIPE_FINDING in outcome.findings
    assert (outcome.status, outcome.errors) == (1, [])


def test_a_reader_that_crashes_is_said(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def crash(*arguments: object) -> None:
        raise KeyError("surprise")

    monkeypatch.setattr("trl_lint.project.launches.read_launches", crash)
    (project / "run.sh").write_text("python train.py\n", "utf-8")
    outcome = check(capsys)
    assert ("run.sh", "TRL003", 1) in outcome.findings
    assert outcome.status == 2 and "KeyError: 'surprise'" in outcome.err


# -- odd bytes and odd files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["punycode", "undefined", "utf-16", "hex"])
def test_an_encoding_no_editor_writes(name: str, project: Path, capsys: pytest.CaptureFixture[str]):
    (project / "odd.py").write_text(f"# coding: {name}\na.prepare_model(m, evaluation_mode=True)\n", "ascii")
    outcome = check(capsys)
    assert ("odd.py", "TRL001", 1) in outcome.findings and RECIPE_FINDING in outcome.findings


def test_half_a_character_in_a_notebook(project: Path, capsys: pytest.CaptureFixture[str]):
    source = ["x = '\ud83d'\n", "a.prepare_model(m, evaluation_mode=True)"]
    notebook = {"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source}], "metadata": {}}
    (project / "a.ipynb").write_text(json.dumps({**notebook, "nbformat": 4, "nbformat_minor": 5}), "ascii")
    outcome = check(capsys)
    assert ("a.ipynb", "TRL001", 1) in outcome.findings
    assert (outcome.status, outcome.errors) == (1, [])


def test_a_name_that_is_no_text(project: Path, capsys: pytest.CaptureFixture[str]):
    folder = os.path.join(os.fsencode(project), b"caf\xe9")
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("the file system takes only Unicode names")
    with open(os.path.join(folder, b"tra\xefn.py"), "wb") as stream:
        stream.write(b"acc.prepare_model(ref_model, evaluation_mode=True)\n")
    outcome = check(capsys)
    assert [code for _, code, _ in outcome.findings] == ["TRL101", "TRL601"]
    assert (outcome.status, outcome.errors) == (1, [])


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_requirements_that_powershell_wrote(encoding: str, project: Path, capsys: pytest.CaptureFixture[str]):
    path = project / "requirements.txt"
    path.write_bytes("\ufefftrl==0.15.2\r\nvllm==0.3.0\r\n".encode(encoding))
    assert ("requirements.txt", "TRL202", 2) in check(capsys).findings
    main(["--isolated", "--fix", "--unsafe-fixes", "requirements.txt"])
    assert path.read_bytes() == "\ufefftrl==0.15.2\r\nvllm==0.7.2\r\n".encode(encoding)


def test_a_lock_without_packages(project: Path, capsys: pytest.CaptureFixture[str]):
    (project / "uv.lock").write_text('version = 1\nrequires-python = ">=3.10"\n', "utf-8")
    assert check(capsys).findings == [RECIPE_FINDING]


ENDLESS = "9" * 6000


HEXADECIMAL = "0x" + "f" * 6000  # no limit of digits holds for these until they are shown


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("grpo.py", "from trl.experimental.gold import GOLDConfig, GOLDTrainer\n"
         f"args = GOLDConfig(lmbda={HEXADECIMAL}, max_length={HEXADECIMAL}, max_completion_length={HEXADECIMAL})\n"
         "GOLDTrainer(model='a', teacher_model='b', args=args)\n"),
        ("grpo.py", "from trl import GRPOConfig, GRPOTrainer\n"
         f"args = GRPOConfig(num_generations={'9' * 4200}, per_device_train_batch_size={'7' * 4200}, beta=-{HEXADECIMAL})\n"  # noqa: E501
         "GRPOTrainer(model='a', args=args)\n"),
        ("other.yaml", f"model_name_or_path: m\noutput_dir: o\nnum_generations: {HEXADECIMAL}\nmax_grad_norm: 1\n"),
        ("ds.json", f'{{"train_batch_size": {"9" * 4200}, "train_micro_batch_size_per_gpu": {"8" * 4200},'
         f' "gradient_accumulation_steps": {"7" * 4200}}}'),
        ("requirements.txt", f"trl==0.15.2; python_version >= '{ENDLESS}'\ntransformers==4.40.0\n"),
        ("requirements.txt", f"trl==0.15.2; {'(' * 9000}os_name == 'x'{')' * 9000}\ntransformers==4.40.0\n"),
        ("pyproject.toml", f'[tool.poetry.dependencies]\npython = "^{ENDLESS}"\ntrl = "~{ENDLESS}.1"\n'),
        ("run.sh", f"accelerate launch --num_machines {ENDLESS} --num_processes {ENDLESS} train.py\n"),
        ("run.sh", f"torchrun --nnodes {ENDLESS} --nproc_per_node {ENDLESS} train.py\n"),
        ("run.sh", f"CUDA_VISIBLE_DEVICES={ENDLESS} trl vllm-serve --tensor_parallel_size {ENDLESS} --model m &\n"
         "CUDA_VISIBLE_DEVICES=0 accelerate launch train.py --use_vllm\n"),
        ("job.slurm", f"#!/bin/sh\n#SBATCH --gres=gpu:{ENDLESS}\n#SBATCH --ntasks={ENDLESS}\nsrun python train.py\n"),
        ("job.pbs", f"#!/bin/bash\n#PBS -l select=1:ngpus={ENDLESS}\ntorchrun --nproc_per_node 8 train.py\n"),
    ],
)  # fmt: skip
def test_a_number_with_thousands_of_digits(name: str, text: str, project: Path, capsys: pytest.CaptureFixture[str]):
    (project / name).write_text(text, "utf-8")
    (project / "train.py").write_text("import os\nprint(os.environ)\n", "utf-8")
    outcome = check(capsys)
    assert outcome.errors == []
    assert RECIPE_FINDING in outcome.findings


def test_a_version_with_thousands_of_digits(project: Path, capsys: pytest.CaptureFixture[str]):
    (project / "requirements.txt").write_text(f"trl=={'9' * 5000}\nvllm==0.3.0\n", "utf-8")
    outcome = check(capsys)
    assert (outcome.status, outcome.errors) == (1, [])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
def test_what_is_no_file_is_not_waited_for(project: Path, capsys: pytest.CaptureFixture[str]):
    os.mkfifo(project / "pipe.txt")
    (project / "pipe.py").symlink_to(os.devnull)
    (project / "requirements.txt").write_text(f"-r pipe.txt\n-r {os.devnull}\n-r /dev/zero\ntrl==0.15.2\n", "utf-8")
    assert RECIPE_FINDING in check(capsys).findings


def test_a_data_set_is_not_read(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    (project / "data.json").write_text('[{"zero_optimization": 1}' + " " * 2_000_000 + "]", "utf-8")
    opened: list[str] = []
    real = files.open_file
    monkeypatch.setattr(files, "open_file", lambda path, data=None: (opened.append(path), real(path, data))[1])
    assert check(capsys).findings == [RECIPE_FINDING]
    assert str(project / "data.json") not in opened and opened
