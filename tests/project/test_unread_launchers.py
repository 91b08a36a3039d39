"""Files that start something and are not read: they are named once, and others are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.settings import Settings


def said(folder: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = check([str(folder)], Settings(root=str(folder)))
    return [notice.message for notice in found.notices if notice.kind == "unread-launcher"]


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("go.ps1", "accelerate launch train.py --lr 1\n", "accelerate launch"),
        ("a/go.bat", "set A=1\r\ntorchrun --nproc_per_node 2 train.py\r\n", "torchrun -"),
        ("run", "#!/bin/bash\ndeepspeed train.py\n", "deepspeed train.py"),
        ("main.nf", "process a {\n  script: '''\n  axolotl train c.yml\n  '''\n}\n", "axolotl train c.yml"),
        ("job.sh.j2", "{% if a %}\nllamafactory-cli train {{ a }}.yaml\n", "llamafactory-cli train {{ a }}.yaml"),
        (
            "a.service",
            "ExecStart=/opt/bin/python -m verl.trainer.main_ppo a=1\n",
            "python -m verl.trainer.main_ppo",
        ),
        ("other.yaml", "jobs:\n  - line: swift sft --model a\n", "swift sft --m"),
        ("Jenkinsfile", "sh 'trl grpo --config a.yaml'\n", "trl grpo --c"),
    ],
)
def test_a_file_that_starts_something_is_named(name: str, text: str, shown: str, tmp_path: Path):
    found = said(tmp_path, {name: text})
    assert len(found) == (1 if shown else 0)
    if shown:
        assert found[0].startswith(f"1 file names a launcher and is of a kind that is not read: `{shown}` in ")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("notes.txt", "accelerate launch train.py\n"),  # prose, and logs
        ("out.log", "torchrun train.py\n"),
        ("data.jsonl", '{"a": "torchrun train.py"}\n'),
        ("go.ps1", "# accelerate launch train.py\nWrite-Host hello\n"),
        ("go.bat", "python setup.py install\n"),
        ("LICENSE", "the swift of the accelerate launcher, trl and deepspeed\n"),
        ("recipe.yaml", "# accelerate launch train.py --config recipe.yaml\nmodel_name_or_path: a\n"),
        ("a.yaml", "distributed_type: DEEPSPEED\nlauncher: torchrun\n"),
        ("run.sh", "torchrun train.py\n"),  # this one is read
        ("sky.yaml", "resources: {accelerators: A100:4}\nrun: torchrun train.py\n"),
        (".github/workflows/a.yml", "jobs: {a: {steps: [{run: torchrun train.py}]}}\n"),
        ("big.ps1", "torchrun train.py\n" * 20_000),
        ("binary", "torchrun train.py\n\0"),
    ],
)
def test_others_are_not(name: str, text: str, tmp_path: Path):
    assert said(tmp_path, {name: text}) == []


def test_several_are_one_notice(tmp_path: Path):
    (found,) = said(tmp_path, {f"{letter}.ps1": "torchrun train.py\n" for letter in "abcde"})
    assert found == (
        "5 files name a launcher and are of a kind that is not read: `torchrun train.py` in a.ps1, `torchrun train.py` "
        "in b.ps1, `torchrun train.py` in c.ps1 and 2 more; what they start was not checked"
    )
