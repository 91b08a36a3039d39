"""What is advised for a key that Hydra refuses: the key that was meant, another config of the project, or `+`."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from trl_lint.checks.configs._hydra_advice import near_keys
from trl_lint.engine import check
from trl_lint.selection import Selection
from trl_lint.settings import Settings

TREE = {
    "train_datasets": None,
    "test_datasets": None,
    "seed": 1,
    "model": {"name": "x"},
    "data": {"max_prompt_length": 512, "path": "a"},
    "actor": {"optim": {"lr": 1e-6}, "offload": {"param_offload": False}, "clip_ratio": 0.2},
    "critic": {"optim": {"lr": 1e-6}},
}


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("datasets", ["train_datasets", "test_datasets"]),
        ("data.max_promt_length", ["data.max_prompt_length"]),
        ("actor.optm.lr", ["actor.optim.lr"]),
        ("actor.max_prompt_length", []),  # neither the section nor what is above it is the same
        ("actor.optim.clip_ratio", ["actor.clip_ratio"]),
        ("actor.offload.grad_offload", []),  # another thing, not another spelling
        ("mode", []),  # `model` is a section
        ("rollout.path", []),
        ("model", []),
    ],
)
def test_the_key_that_was_meant(key: str, near: list[str]) -> None:
    assert near_keys(key, TREE, frozenset()) == near


def test_what_the_command_sets_itself_was_not_meant() -> None:
    assert near_keys("datasets", TREE, frozenset({"test_datasets"})) == ["train_datasets"]
    assert near_keys("actor.optim.clip_ratio", TREE, frozenset({"actor.clip_ratio"})) == []


@pytest.fixture
def messages(tmp_path: Path) -> object:
    def run(command: str, **files: str) -> list[str]:
        texts = {
            "train.py": """\
                import hydra

                @hydra.main(config_path="config", config_name="config", version_base=None)
                def main(config):
                    print(config.eval_mode, config.trainer.get("patience"))
                """,
            "config/config.yaml": "train_datasets: ???\nseed: 1\ntrainer:\n  epochs: 1\n  extra: {}\n",
            "run.sh": f"python train.py {command}\n",
            **{name.replace("__", "/") + ".yaml": text for name, text in files.items()},
        }
        for name, text in texts.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(dedent(text).replace("\\\n", "\n"), "utf-8")
        settings = Settings(str(tmp_path), layers=[Selection(select=("TRL401",))])
        return [finding.message for finding in check([str(tmp_path)], settings).findings]

    return run


HEAD = "`config/config.yaml` has no key"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("datasets=[shp]", f"{HEAD} `datasets`, and Hydra stops: did you mean `train_datasets`?"),
        ("eval_mode=a", f"{HEAD} `eval_mode`, and Hydra stops: `+eval_mode` adds it"),
        ("trainer.patience=3", f"{HEAD} `trainer.patience`, and Hydra stops: `+trainer.patience` adds it"),
        ("trainer.extra.x=3", f"{HEAD} `trainer.extra.x`, and Hydra stops: `+trainer.extra.x` adds it"),
        ("mode=a", f"{HEAD} `mode`, and Hydra stops"),
        ("trainer.eval_mode2=a", f"{HEAD} `trainer.eval_mode2`, and Hydra stops"),
        ("trainer.epoch=3", f"{HEAD} `trainer.epoch`, and Hydra stops: did you mean `trainer.epochs`?"),
        ("+seed=3", "`+seed` adds a key that `config/config.yaml` has already, and Hydra stops: write `++seed`"),
        ("'~seeds'", "`~seeds` deletes a key that `config/config.yaml` does not have, and Hydra stops"),
    ],
)
def test_the_advice(messages, command: str, said: str) -> None:  # type: ignore[no-untyped-def]
    assert messages(command) == [said]


OTHER = "train_datasets: ???\nseed: 1\nmode: a\ntools: 3\ntrainer:\n  epochs: 1\n"


def test_another_config_that_has_every_key(messages) -> None:  # type: ignore[no-untyped-def]
    said = "`--config-name config_tools` has every key that this command needs"
    found = messages("mode=b tools=4 +seed=3", config__config_tools=OTHER, config__config_b="mode: a\n")
    assert found == [
        f"{HEAD} `mode`, and Hydra stops: {said}",
        f"{HEAD} `tools`, and Hydra stops: {said}",
        "`+seed` adds a key that `config/config.yaml` has already, and Hydra stops: write `++seed`",
    ]


def test_no_other_config_that_would_refuse_something_else(messages) -> None:  # type: ignore[no-untyped-def]
    found = messages("mode=b trainer.extra={}", config__config_tools=OTHER)
    assert found == [f"{HEAD} `mode`, and Hydra stops"]
    found = messages("mode=b +tools=3", config__config_tools=OTHER)
    assert found == [f"{HEAD} `mode`, and Hydra stops"], "there `+tools` would be refused"
