"""Runs that may be one of several: which they are, and when nothing is known of them."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from trl_lint.missing import UNKNOWN
from trl_lint.project import Project
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run, all_runs
from trl_lint.settings import Settings
from trl_lint.sources import Files
from trl_lint.sources.shell import read_commands
from trl_lint.sources.shell_options import MOST_OPTIONS

TRAIN = """
    from trl import GRPOConfig, ModelConfig, TrlParser
    args, model = TrlParser((GRPOConfig, ModelConfig)).parse_args_and_config()
"""


def run_of(folder: Path, text: str) -> Run:
    (folder / ".git").mkdir()
    (folder / "requirements.txt").write_text("trl==1.16.0\n")
    (folder / "train.py").write_text(dedent(TRAIN))
    (folder / "recipes").mkdir()
    for name in ("a", "b"):
        recipe = f"output_dir: {name}\nseed: 1\nmax_steps: 1\nlearning_rate: 1\nmodel_name_or_path: x\n"
        (folder / "recipes" / f"{name}.yaml").write_text(recipe)
    (folder / "run.sh").write_text(dedent(text))
    (run,) = all_runs(Project(str(folder), Files({}), Settings()))
    return run


def values(run: Run, name: str) -> list[object]:
    """What a field is in each of the candidates."""
    said = [candidate.run.config.given(name) for candidate in run.candidates]
    return [one.value if isinstance(one, Setting) else one for one in said]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for s in 1 2; do python train.py --seed $s; done", ["1", "2"]),
        ("for s in 1 2 1; do python train.py --seed=$s; done", ["1", "2"]),
        ('SEEDS=(1 2 3)\nfor s in "${SEEDS[@]}"; do python train.py --seed "$s"; done', ["1", "2", "3"]),
        ("for s in 1 2; do x=1$s\npython train.py --seed $x; done", ["11", "12"]),
        ("if a; then S=1; else S=2; fi\npython train.py --seed $S", ["1", "2"]),
        ("if a; then S=1; elif b; then S=2; else S=3; fi\npython train.py --seed $S", ["1", "2", "3"]),
        ("S=0\nif a; then S=1; fi\npython train.py --seed $S", ["0", "1"]),
        ("case $1 in a) S=1;; b) S=2;; *) exit 1;; esac\npython train.py --seed $S", ["1", "2"]),
        ("S=0\ncase $1 in a) S=1;; esac\npython train.py --seed ${S:-9}", ["0", "1"]),
        ('A=(--seed 1)\nif a; then A+=(--seed 2); fi\npython train.py "${A[@]}"', ["1", "2"]),
        ("A=\nif a; then A='--seed 2'; else A='--seed 1'; fi\npython train.py $A", ["2", "1"]),
        # Two variables that one branch sets belong together.
        ("if a; then N=a S=1; else N=b S=2; fi\npython train.py --config recipes/$N.yaml --seed $S", ["1", "2"]),
        ("python train.py --config recipes/$X.yaml", [1, 1]),
    ],
)
def test_what_a_field_may_be(tmp_path: Path, text: str, expected: list[object]):
    assert values(run_of(tmp_path, text), "seed") == expected


@pytest.mark.parametrize(
    "text",
    [
        "python train.py --seed 1",
        "python train.py --seed $S",
        "if a; then S=1; fi\npython train.py --seed $S",  # inherited, or not there
        "case $1 in a) S=1;; b) S=2;; esac\npython train.py --seed $S",
        "if a; then S=1; else S=$2; fi\npython train.py --seed $S",
        "if a; then S=1; else source env.sh; fi\npython train.py --seed $S",
        "S=1\nwhile a; do S=2; done\npython train.py --seed $S",
        "select s in 1 2; do python train.py --seed $s; done",
        "for s in $(cat seeds); do python train.py --seed $s; done",
        "for s in 1 $X; do python train.py --seed $s; done",
        "for s in 1 2; do a; done\npython train.py --seed $s",
        "for s in 1 2; do if a; then S=3; break; fi; S=4; done\npython train.py --seed $S",
        "case $1 in a) S=1;& b) S=2;; *) S=3;; esac\npython train.py --seed $S",
        "for s in 1 2; do read s\npython train.py --seed $s; done",
        "for s in " + " ".join(map(str, range(MOST_OPTIONS + 1))) + "; do python train.py --seed $s; done",
    ],
)
def test_what_stays_unknown(tmp_path: Path, text: str):
    assert run_of(tmp_path, text).candidates == ()


def test_a_branch_that_ends_the_script_does_not_count(tmp_path: Path):
    run = run_of(tmp_path, "S=1\nif a; then S=2; exit 1; fi\npython train.py --seed $S")
    said = run.config.given("seed")
    assert isinstance(said, Setting)
    assert (said.value, run.candidates) == ("1", ())


def test_only_a_name_from_outside_is_a_guess(tmp_path: Path):
    run = run_of(tmp_path, "for r in a b; do python $D/train.py --config recipes/$r.yaml; done")
    assert [candidate.is_guess for candidate in run.candidates] == [False, False]
    (tmp_path / "run.sh").write_text("python train.py --config recipes/${M}.yaml\n")
    (run,) = all_runs(Project(str(tmp_path), Files({}), Settings()))
    assert [(candidate.label, candidate.is_guess) for candidate in run.candidates] == [
        ("recipes/a.yaml", True), ("recipes/b.yaml", True),
    ]  # fmt: skip
    assert run.links[1].status == "candidates"


def test_a_default_proves_nothing(tmp_path: Path):
    run = run_of(
        tmp_path, "S=${S:-3}\nif a; then R=a; else R=b; fi\npython train.py --config recipes/$R.yaml --seed $S"
    )
    assert values(run, "seed") == [UNKNOWN, UNKNOWN]
    guesses = [(guess.label, guess.is_guess, guess.run.config.given("seed")) for guess in run.guesses]
    assert [(label, is_guess) for label, is_guess, _ in guesses] == [("recipes/a.yaml", True), ("recipes/b.yaml", True)]
    assert {said.value for *_, said in guesses if isinstance(said, Setting)} == {"3"}


def test_the_smaller_decisions_are_followed_where_all_are_too_many(tmp_path: Path):
    seeds = " ".join(map(str, range(15)))
    text = f"for s in {seeds}; do for r in a b; do python train.py --config recipes/$r.yaml --seed $s; done; done"
    run = run_of(tmp_path, text)
    assert [candidate.label for candidate in run.candidates] == ["recipes/a.yaml", "recipes/b.yaml"]
    assert [candidate.run.link("recipe").status for candidate in run.candidates] == ["exact", "exact"]  # type: ignore[union-attr]


def test_visible_gpus_are_chosen_too(tmp_path: Path):
    run = run_of(tmp_path, "for g in 0,1 2,3; do CUDA_VISIBLE_DEVICES=$g torchrun --nproc_per_node 2 train.py; done")
    assert [candidate.run.launch.visible_gpus for candidate in run.candidates] == [("0", "1"), ("2", "3")]


def test_values_of_many_branches_stay_small():
    text = "A=x\n" + "if a; then A=$A$A; else A=y$A; fi\nB+=($A)\n" * 500 + 'python train.py $A "${B[@]}"\n'
    (command,) = [one for one in read_commands(text) if one.words[0].text == "python"]
    assert all(len(word.options) <= MOST_OPTIONS for word in command.words)
