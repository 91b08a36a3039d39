"""A script that a command names by a bare name, and that is not where the commands beside it find theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.finding import Finding
from trl_lint.selection import Selection
from trl_lint.settings import Settings

SCRIPT = "import torch\n"


def found(root: Path, files: dict[str, str]) -> list[Finding]:
    (root / ".git").mkdir()
    for name, text in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return check([str(root)], Settings(str(root), layers=[Selection(select=("TRL504",))])).findings


STARTS = [
    "python {}\n",
    "torchrun --nproc_per_node 2 \\\n  {} --lr 1\n",
    "accelerate launch --num_processes 2 {} --lr 1\n",
    "A=1 deepspeed --num_gpus 2 {} | tee log\n",
    "#!/bin/bash\n#SBATCH --gres=gpu:2\nsrun python {} --lr 1\n",
]
LAYOUTS = [("scripts", "."), ("task/scripts", "task"), ("task", "task"), ("a/b/run", "a")]


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(("commands", "home"), LAYOUTS)
def test_a_script_that_is_not_where_the_others_are(tmp_path, start, commands, home):
    files = {f"{home}/train_one.py": SCRIPT, f"{home}/train_two.py": SCRIPT, "elsewhere/other.py": SCRIPT}
    for name in ("train_one", "train_two", "train_gone"):
        files[f"{commands}/{name}.sh"] = start.format(f"{name}.py")
    (one,) = found(tmp_path, files)
    where = "at the top of the project" if home == "." else f"in `{home}`"
    assert one.message == f"there is no script `train_gone.py` {where}, where the commands beside this one find theirs"
    assert one.severity == "warning" and one.location.path.endswith("train_gone.sh")


BESIDE = {"x/train_one.py": SCRIPT, "x/train_two.py": SCRIPT}
STARTED = {"x/run/one.sh": "python train_one.py\n", "x/run/two.sh": "python train_two.py\n"}


@pytest.mark.parametrize(
    "files",
    [
        {**BESIDE, "x/run/one.sh": "python train_one.py\n"},  # one neighbour proves little
        {**BESIDE, **STARTED, "x/run/more.sh": "python other.py\n", "x/run/other.py": SCRIPT},  # they lie in two places
        {**BESIDE, **STARTED, "y/deep/train_gone.py": SCRIPT},  # it may be typed there
        {
            **BESIDE,
            "z/run/one.sh": "python train_one.py\n",
            "z/run/two.sh": "python train_two.py\n",
        },  # not found either
        {**BESIDE, **STARTED, ".gitignore": "train_gone.py\n"},
        {**BESIDE, "other/one.sh": "python ../x/train_one.py\n", "other/two.sh": "python ../x/train_two.py\n"},
    ],
)
def test_where_nothing_tells_where_it_is_typed(tmp_path, files):
    assert found(tmp_path, {**files, "x/run/gone.sh": "python train_gone.py\n"}) == []


@pytest.mark.parametrize(
    "text",
    [
        "wget https://x.org/train_gone.py\npython train_gone.py\n",
        "cat > train_gone.py <<EOF\nimport torch\nEOF\npython train_gone.py\n",
        "cd $WORK\npython train_gone.py\n",
        "git clone https://x.org/y\ncd y\npython train_gone.py\n",
        "python $NAME.py\n",
        "docker run image python train_gone.py\n",
    ],
)
def test_what_comes_from_elsewhere(tmp_path, text):
    assert found(tmp_path, {**BESIDE, **STARTED, "x/run/gone.sh": text}) == []


@pytest.mark.parametrize("name", ["x/run/README.md", "x/run/notes.md"])
def test_what_a_page_shows(tmp_path, name):
    assert found(tmp_path, {**BESIDE, **STARTED, name: "```bash\npython train_gone.py\n```\n"}) == []
