"""What is told about an option of a framework where it is written: its default, and what the run makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laid_out import lay_out
from tests.run.test_rules_of_settings import AXOLOTL, LLAMAFACTORY
from trl_lint.diagnose.failures import Failure
from trl_lint.diagnose.project import ProjectEvidence
from trl_lint.editors.server.hover import told_of
from trl_lint.editors.server.subjects import subject_at

SWIFT = "swift sft --model a/b --dataset c/d --learning_rate 5"
OPENRLHF = "deepspeed --module openrlhf.cli.train_sft --pretrain a/b --dataset c/d --max_len 7"


@pytest.mark.parametrize(
    ("files", "path", "word", "told"),
    [
        ({"run.sh": "axolotl train cfg.yaml", "cfg.yaml": AXOLOTL}, "cfg.yaml", "sequence_len", ("2048", "cfg.yaml:3")),
        ({"run.sh": "axolotl train cfg.yaml --sequence-len 9", "cfg.yaml": AXOLOTL}, "cfg.yaml", "sequence_len",
         ("`9`", "flag")),
        ({"run.sh": "llamafactory-cli train cfg.yaml cutoff_len=9", "cfg.yaml": LLAMAFACTORY}, "cfg.yaml", "cutoff_len",
         ("`9`", "flag", "default")),
        ({"run.sh": SWIFT}, "run.sh", "--learning_rate", ("`5`", "run.sh:1")),
        ({"run.sh": OPENRLHF}, "run.sh", "--max_len", ("`7`", "default `2048`")),
    ],
)  # fmt: skip
def test_an_option_of_a_framework(
    tmp_path: Path, files: dict[str, str], path: str, word: str, told: tuple[str, ...]
) -> None:
    pins = {"requirements.txt": "axolotl==0.12.2\nllamafactory==0.9.3\nms-swift==3.9.0\nopenrlhf==0.8.5\n"}
    project = lay_out(tmp_path, {**{name: f"{text}\n" for name, text in files.items()}, **pins})
    where = str(tmp_path / path)
    subject = subject_at(where, files[path].index(word) + 3, project)
    assert subject is not None
    text = told_of(subject, where, project, ())
    assert all(one in text for one in told), text


def test_a_diagnosis_asks_the_config_of_every_framework(tmp_path: Path) -> None:
    config = AXOLOTL.format(method="grpo") + "trl:\n  num_generations: 6\n"
    for name, text in (
        ("cfg.yaml", config),
        ("run.sh", "axolotl train cfg.yaml\n"),
        ("requirements.txt", "axolotl==0.12.2\n"),
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / ".git").mkdir()
    evidence = ProjectEvidence(str(tmp_path), Failure(1, None, "", 0), {}, {})
    assert [evidence.setting("num_generations", (number,)).held for number in ("6", "8")] == ["yes", "no"]
