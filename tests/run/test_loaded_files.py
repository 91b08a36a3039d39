"""Configs that a script loads itself: which file, which part of it, and where nobody can tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laid_out import lay_out
from trl_lint.missing import ABSENT
from trl_lint.run.effective import Setting
from trl_lint.run.runs import all_runs
from trl_lint.run.trainer import trainer_calls
from trl_lint.run.trainer.models import only
from trl_lint.run.trainer.running import value_in

HEAD = "import json, sys\nimport yaml\nfrom omegaconf import OmegaConf\nfrom trl import SFTConfig, SFTTrainer\n\n"
TAIL = "\nSFTTrainer('m', args=args, train_dataset=rows)\n"
FLAT = "output_dir: out\nlearning_rate: 0.25\n"
DEEP = "data: rows\ntraining:\n  output_dir: out\n  learning_rate: 0.25\n"

# What stands in the script, the command's words, the files, and the value (None: nobody can tell).
KNOWN = {
    "argv": ("args = SFTConfig(**yaml.safe_load(open(sys.argv[1])))", "a.yaml", {"a.yaml": FLAT}),
    "with": (
        "with open(sys.argv[1]) as fh:\n    args = SFTConfig(**yaml.safe_load(fh))",
        "a.yaml",
        {"a.yaml": FLAT, "b.yaml": FLAT.replace("0.25", "0.5")},
    ),
    "literal": ("args = SFTConfig(**yaml.safe_load(open('a.yaml')))", "", {"a.yaml": FLAT}),
    "part": (
        "said = yaml.safe_load(open(sys.argv[1]))\nargs = SFTConfig(**said['training'])",
        "a.yaml",
        {"a.yaml": DEEP},
    ),
    "named part": (
        "said = yaml.safe_load(open(sys.argv[1]))\npart = said['training']\nargs = SFTConfig(**part)",
        "a.yaml",
        {"a.yaml": DEEP},
    ),
    "flag": ("args = SFTConfig(**yaml.safe_load(open(sys.argv[2])))", "--settings a.yaml", {"a.yaml": FLAT}),
    "flag with =": ("args = SFTConfig(**yaml.safe_load(open(path())))", "--settings=a.yaml", {"a.yaml": FLAT}),
    "json": (
        "args = SFTConfig(**json.load(open(sys.argv[1])))",
        "a.json",
        {"a.json": '{"output_dir": "out", "learning_rate": 0.25}'},
    ),
    "OmegaConf": ("args = SFTConfig(**OmegaConf.load(sys.argv[1]))", "a.yaml", {"a.yaml": FLAT}),
    "beside": ("args = SFTConfig('out', bf16=True, **yaml.safe_load(open(sys.argv[1])))", "a.yaml", {"a.yaml": FLAT}),
}
UNKNOWN = {
    "two configs": (
        "args = SFTConfig(**yaml.safe_load(open(sys.argv[1])))",
        "a.yaml b.yaml",
        {"a.yaml": FLAT, "b.yaml": FLAT},
    ),
    "missing": ("args = SFTConfig(**yaml.safe_load(open(sys.argv[1])))", "c.yaml", {"a.yaml": FLAT}),
    "own function": ("args = SFTConfig(**load(sys.argv[1]))", "a.yaml", {"a.yaml": FLAT}),
    "two names": (
        "said = yaml.safe_load(open(sys.argv[1]))\nif fast:\n    said = {}\nargs = SFTConfig(**said)",
        "a.yaml",
        {"a.yaml": FLAT},
    ),
    "interpolated": (
        "args = SFTConfig(**OmegaConf.load(sys.argv[1]))",
        "a.yaml",
        {"a.yaml": "lr: 0.25\nlearning_rate: ${lr}\n"},
    ),
}


def _given(folder: Path, script: str, words: str, files: dict[str, str]) -> tuple[object, object]:
    """The learning rate as the run and as the picture of the trainer have it."""
    files = {"train.py": HEAD + script + TAIL, "run.sh": f"python train.py {words}\n", **files}
    (run,) = all_runs(lay_out(folder, files))
    (call,) = trainer_calls(run.project.module_in(str(folder / "train.py")), run.project)
    made = only(call.field("learning_rate"), run)
    said = run.config.given("learning_rate")
    return said.value if isinstance(said, Setting) else said, value_in(made, run) if made is not None else None


@pytest.mark.parametrize("name", KNOWN)
def test_the_file_says_it(name: str, tmp_path: Path):
    script, words, files = KNOWN[name]
    assert _given(tmp_path, script, words, files) == (0.25, 0.25)


@pytest.mark.parametrize("name", UNKNOWN)
def test_nobody_can_tell(name: str, tmp_path: Path):
    script, words, files = UNKNOWN[name]
    said, value = _given(tmp_path, script, words, files)
    assert said is not ABSENT and said != 0.25 and value != 0.25
