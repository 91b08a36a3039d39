"""The measuring scripts: what they take for a use, for a finding about it, and for a label."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import precision, projects, recall, recall_probe
from benchmarks.environments import read_environments
from benchmarks.uses import Use, uses_of

PACKAGES = ("trl", "transformers")
SCRIPT = """\
from trl import PPOConfig, SFTTrainer as Trainer
from transformers import pipeline
from datasets import load_dataset

try:
    from trl import PPOTrainer
except ImportError:
    PPOTrainer = None

if __name__ == "__main__":
    trainer = Trainer(
        model="gpt2",
        tokenizer=None,
        **{"packing": True},
    )
    pipeline = pipeline(task="text-generation")
"""


@pytest.fixture
def uses(tmp_path: Path) -> list[Use]:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT, "utf-8")
    return uses_of(tmp_path, path, PACKAGES)


def test_uses_are_imports_and_keywords_of_imported_names(uses):
    found = {(use.name, use.keyword, use.lines, use.guarded) for use in uses}
    assert found == {
        ("trl:PPOConfig", "", (1, 1), False),
        ("trl:SFTTrainer", "", (1, 1), False),
        ("transformers:pipeline", "", (2, 2), False),
        ("trl:PPOTrainer", "", (6, 6), True),
        ("trl:SFTTrainer", "model", (12, 12), False),
        ("trl:SFTTrainer", "tokenizer", (13, 13), False),
    }


def finding(code: str, line: int, message: str) -> dict[str, object]:
    return {"code": code, "path": "train.py", "severity": "error", "start": {"line": line}, "message": message}


def test_what_fails_and_is_not_reported_is_missed_and_what_works_and_is_reported_is_extra(uses):
    truth = recall.Truth(
        {},
        {"trl:PPOConfig": "no", "trl:SFTTrainer": "yes", "transformers:pipeline": "yes", "trl:PPOTrainer": "no"},
        {("trl:SFTTrainer", "model"): "yes", ("trl:SFTTrainer", "tokenizer"): "no"},
    )
    right = [
        finding("TRL302", 1, "`PPOConfig` cannot be imported from `trl` in trl 1.16.0"),
        finding("TRL301", 13, "`SFTTrainer` has no argument `tokenizer` in trl 1.16.0"),
    ]
    found = recall.compare(uses, truth, right)
    assert (found.missed, found.extra, found.beyond) == ([], [], [])
    assert found.counts["imports that fail"] == found.counts["imports reported"] == 1
    assert found.counts["imports that fail, guarded"] == 1
    assert found.counts["keywords reported"] == 1

    wrong = [
        finding("TRL302", 1, "`SFTTrainer` cannot be imported from `trl` in trl 1.16.0"),
        finding("TRL301", 15, "`Other` has no argument `packing` in trl 1.16.0"),
    ]
    found = recall.compare(uses, truth, wrong)
    assert [(use.name, use.keyword) for use in found.missed] == [("trl:PPOConfig", ""), ("trl:SFTTrainer", "tokenizer")]
    assert [use.name for use in found.extra] == ["trl:SFTTrainer"]
    assert found.beyond == wrong[1:]


def test_a_missing_module_covers_all_that_is_imported_from_it():
    told = finding("TRL302", 1, "there is no module `trl.extras` in trl 1.16.0; trl 0.2.0 to 0.28.0 has it")
    assert recall.is_about(told, Use("train.py", 0, (1, 3), "trl.extras.profiling:profiling_context", "", False))
    assert not recall.is_about(told, Use("train.py", 0, (1, 3), "trl.extra:Thing", "", False))
    assert not recall.is_about(told, Use("train.py", 0, (2, 3), "trl.extras:Thing", "", False))


def test_probe_tells_what_is_there(tmp_path, monkeypatch):
    (tmp_path / "probed.py").write_text(
        "import dataclasses\n"
        "@dataclasses.dataclass\nclass Config:\n    rate: float = 1.0\n"
        "def call(a, /, b, **more): ...\n"
    )
    (tmp_path / "broken.py").write_text("import no_such_dependency_at_all\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    names = ["probed:", "probed:Config", "probed:Other", "probed.deeper:X", "broken:X"]
    answers = [recall_probe.has(name) for name in names]
    assert answers[:4] == ["yes", "yes", "no", "no"]
    assert answers[4].startswith("ModuleNotFoundError")
    asked = [("probed:Config", "rate"), ("probed:Config", "tokenizer"), ("probed:call", "a"), ("probed:Other", "a")]
    assert [recall_probe.takes(*each) for each in asked] == ["yes", "no", "open", "gone"]
    sys.modules.pop("probed")


@pytest.mark.parametrize(
    ("message", "subject"),
    [
        (
            "trl 0.12.0 removed the argument `log_with` of `PPOConfig`: use `report_to`",
            "PPOConfig log_with",
        ),
        ("`PPOConfig` has no argument `log_with`; use `report_to`", "PPOConfig log_with"),
        ("`T.log` does not take `start_time`, which `Trainer` passes since transformers 4.47.0", "T.log start_time"),
        ("not JSON: expecting property name", ""),
    ],
)
def test_a_label_is_found_again_whatever_the_advice(message: str, subject: str):
    assert precision.key_of({"code": "TRL301", "path": "a.py", "message": message}) == ("TRL301", "a.py", subject)


def test_every_label_is_read_and_none_is_false():
    labels = {**precision.read_labels(), **precision.read_labels(projects.LABELS)}
    assert labels
    for key, label in labels.items():
        assert label.label in ("true", "debatable"), key
        assert label.reason, key
        assert key.rule in precision.RULES


def test_environments_begin_with_trl_0_8_and_name_transformers():
    found = read_environments()
    assert found[0].tag == "v0.8.0"
    assert all({"trl", "transformers"} <= set(each.versions) for each in found)
    assert [each.day for each in found] == sorted(each.day for each in found)
