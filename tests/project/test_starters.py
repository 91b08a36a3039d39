"""What the files around a script may give it from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.project import Project
from trl_lint.project.starters import may_be_given
from trl_lint.settings import Settings
from trl_lint.sources import Files


def is_given(folder: Path, name: str, files: dict[str, str]) -> bool:
    (folder / ".git").mkdir()
    for path, text in {"grpo/run.sh": "python train.py\n", **files}.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    return may_be_given(frozenset({name}), str(folder / "grpo" / "run.sh"), Project(str(folder), Files({}), Settings()))


@pytest.mark.parametrize(
    ("name", "path", "text"),
    [
        ("GPUS", "all.sh", "GPUS=4 bash grpo/run.sh"),
        ("GPUS", "all.sh", "export GPUS=4\ncd grpo\n./run.sh"),
        ("GPUS", "all.sh", 'GPUS=4 bash "$HERE/run.sh"'),
        ("GPUS", "submit.py", 'subprocess.run(["bash", "run.sh"], env={"GPUS": "4"})'),
        ("GPUS", "submit.py", 'os.environ["GPUS"] = "4"\nos.system("bash run.sh")'),
        ("GPUS", "job.yaml", "env:\n  GPUS: 4\nrun: bash grpo/run.sh"),
        ("1", "all.sh", "bash grpo/run.sh 4"),
        ("1", "README.md", "```sh\nbash run.sh 4\n```"),
        ("2", "submit.py", 'subprocess.run(["bash", "run.sh", "4"])'),
    ],
)
def test_another_file_may_give_it(tmp_path: Path, name: str, path: str, text: str):
    assert is_given(tmp_path, name, {path: text})


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("GPUS", {}),
        ("GPUS", {"all.sh": "GPUS=4 bash other.sh"}),
        ("GPUS", {"all.sh": "N_GPUS=4 bash grpo/run.sh"}),
        ("GPUS", {"all.sh": "echo $GPUS; bash grpo/run.sh"}),
        ("1", {"all.sh": "bash grpo/run.sh"}),
        ("1", {"all.sh": "bash grpo/run.sh | tee log"}),
        ("1", {"all.sh": "bash grpo/run.sh  # on one machine"}),
        # Another script of that name stands beside, or is named with its folder.
        ("1", {"ppo/run.sh": "python ppo.py", "ppo/README.md": "bash run.sh 4"}),
        ("1", {"all.sh": "bash ppo/run.sh 4"}),
    ],
)
def test_nobody_gives_it(tmp_path: Path, name: str, files: dict[str, str]):
    assert not is_given(tmp_path, name, files)
