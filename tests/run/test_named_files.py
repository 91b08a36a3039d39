"""The files a launch names, and what is known about each."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.project import Project
from trl_lint.project.launch_table import launches_in
from trl_lint.run.named_files import named_files
from trl_lint.run.runs import run_of
from trl_lint.settings import Settings
from trl_lint.sources import Files


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("src/train.py", "src/eval.py", "configs/zero2.yaml", "configs/zero3.yaml", "configs/ds.json"):
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", "utf-8")
    (tmp_path / "project" / ".git").mkdir()
    return tmp_path / "project"


def links(project: Path, text: str, name: str = "run.sh") -> list[tuple[str, str, list[str]]]:
    (project / name).parent.mkdir(exist_ok=True)
    path = str(project / name)
    whole = Project(str(project), Files({path: text.encode()}), Settings(str(project)))
    return [
        (link.kind, link.status, sorted(Path(path).relative_to(project).as_posix() for path in link.paths))
        for launch in launches_in(path, whole)
        for link in named_files(run_of(launch, whole))
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "accelerate launch --config_file configs/zero3.yaml src/train.py --deepspeed configs/ds.json",
            [
                ("script", "exact", ["src/train.py"]),
                ("accelerate", "exact", ["configs/zero3.yaml"]),
                ("deepspeed", "exact", ["configs/ds.json"]),
            ],
        ),
        ("python src/$NAME.py", [("script", "candidates", ["src/eval.py", "src/train.py"])]),
        ('python "$1"', [("script", "unknown", [])]),
        ("python $DIR/train.py", [("script", "unknown", [])]),
        ("NAME=train\npython src/${NAME}.py", [("script", "exact", ["src/train.py"])]),
        ('ARGS=(src/train.py --a 1)\npython "${ARGS[@]}"', [("script", "exact", ["src/train.py"])]),
        ('CMD="python src/train.py"\neval "$CMD"', [("script", "exact", ["src/train.py"])]),
        ('CMD="src/train.py --x $X"\ntorchrun $CMD', [("script", "exact", ["src/train.py"])]),
        ('srun --jobid $ID bash -c "cd src && python train.py"', [("script", "exact", ["src/train.py"])]),
        ("git clone https://x.y/project\ncd project\npython src/train.py", [("script", "exact", ["src/train.py"])]),
        ("cd /workspace/project/src\npython train.py", [("script", "exact", ["src/train.py"])]),
        ("cd /workspace\npython src/train.py", [("script", "exact", ["src/train.py"])]),
        ("W=/path/to/workdir\ncd $W\npython src/train.py", [("script", "exact", ["src/train.py"])]),
        ("cd /workspace/other\npython train.py", [("script", "external", [])]),
        ("cd /workspace/project\npython src/other.py", [("script", "external", [])]),
        ("python path/to/train.py", [("script", "placeholder", [])]),
        ("python src/other.py", [("script", "missing", [])]),
        ("python /opt/train.py", [("script", "external", [])]),
        ("uv run https://x.y/train.py", [("script", "external", [])]),
        (
            "accelerate launch --config_file configs/$X.yaml src/train.py --config $1",
            [
                ("script", "exact", ["src/train.py"]),
                ("accelerate", "candidates", ["configs/zero2.yaml", "configs/zero3.yaml"]),
                ("recipe", "unknown", []),
            ],
        ),
        (
            "trl sft --accelerate_config zero2 --config configs/no.yaml",
            [("accelerate", "external", []), ("recipe", "missing", [])],
        ),
        ("axolotl train configs/zero3.yaml", [("recipe", "exact", ["configs/zero3.yaml"])]),
    ],
)  # fmt: skip
def test_links(project, text, expected):
    assert links(project, text + "\n") == expected


def test_the_folder_of_the_script(project):
    text = 'DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"\npython "$DIR/src/train.py"\n'
    assert links(project, text, "scripts/run.sh") == [("script", "exact", ["src/train.py"])]
    text = 'cd "$(dirname "$0")"\npython ../src/train.py\n'
    assert links(project, text, "scripts/run.sh") == [("script", "exact", ["src/train.py"])]
