"""What verl reads of rows that a script of the project makes."""

import json
from pathlib import Path

import pytest

from trl_lint.cli import main

RUN = """python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo \\
  data.train_files=data/train.parquet data.val_files=data/test.parquet \\
  actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.rollout.n=8 \\
  actor_rollout_ref.rollout.name=vllm custom_reward_function.path=reward.py {}
"""
PREP = """import datasets

ds = datasets.load_dataset("raw")
for part in ("train", "test"):
    ds[part].map(
        lambda r: {{
            "data_source": {source},
            "{prompt}": [{{"role": "user", "content": r["q"]}}],
            "reward_model": {reward},
        }},
        {rest}
    ).to_parquet(f"data/{{part}}.parquet")
"""
TRUTH = '{"style": "rule", "ground_truth": r["a"]}'
ALONE = "remove_columns=ds[part].column_names,"


def _said(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str = "", **parts: str) -> list[tuple[str, int]]:
    given = {"source": '"openai/gsm8k"', "prompt": "prompt", "reward": TRUTH, "rest": ALONE, **parts}
    (tmp_path / "prep.py").write_text(PREP.format(**given))
    (tmp_path / "reward.py").write_text(
        "def compute_score(data_source, solution_str, ground_truth, extra_info=None): ...\n"
    )
    (tmp_path / "run.sh").write_text(RUN.format(words))
    (tmp_path / "requirements.txt").write_text("verl==0.5.0\n")
    capsys.readouterr()
    main(["check", str(tmp_path), "--isolated", "--no-cache", "--select", "TRL402", "--output-format", "json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    return [(Path(one["path"]).name, one["start"]["line"]) for one in found]


@pytest.mark.parametrize(
    ("words", "parts", "place"),
    [
        ("", {"prompt": "question"}, ("prep.py", 7)),
        ("data.prompt_key=problem", {}, ("run.sh", 4)),
        ("", {"reward": '{"style": "rule", "answer": r["a"]}'}, ("prep.py", 9)),
    ],
)
def test_a_column_that_is_not_written_is_told(tmp_path, capsys, words, parts, place):
    assert _said(tmp_path, capsys, words, **parts) == [place]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("", {}),
        ("data.prompt_key=question", {"prompt": "question"}),
        ("", {"prompt": "question", "rest": ""}),  # the columns that were there stay
        ("data.custom_cls.path=own.py", {"prompt": "question"}),
        ("reward_model.reward_manager=batch", {"reward": '{"style": "rule", "answer": r["a"]}'}),
        ("", {"reward": "reward_of(r)"}),
        ("", {"reward": '{**r, "style": "rule"}'}),
    ],
)
def test_nothing_is_told_of_rows_that_fit_or_are_not_known(tmp_path, capsys, words, parts):
    assert _said(tmp_path, capsys, words, **parts) == []


def test_names_of_files_are_read_in_loops(tmp_path, capsys):
    found = _said(tmp_path, capsys, "custom_reward_function.path=null", source='"mine/math"')
    assert found == [("prep.py", 7)]
