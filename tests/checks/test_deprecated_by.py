"""A deprecation is told of the package whose release brought it, with the pin of that package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trl_lint.checks.drift._calls import parameter, signature_of
from trl_lint.checks.drift.deprecated_in_release import deprecated_since
from trl_lint.cli import main
from trl_lint.knowledge.histories import positions, releases
from trl_lint.knowledge.presence import points_of_parameter
from trl_lint.knowledge.releases import days

PACKAGES = ("trl", "transformers")
CLASSES = [
    *(f"trl.{name}Config" for name in ("SFT", "DPO", "GRPO", "Reward", "KTO", "RLOO", "PPO", "ORPO", "CPO")),
    *(f"trl.{name}Trainer" for name in ("SFT", "DPO", "GRPO", "Reward", "KTO", "PPO")),
    "transformers.TrainingArguments",
    "transformers.Seq2SeqTrainingArguments",
    "transformers.Trainer",
]
# Pairs that were the newest of their day.
ERAS = [
    ("0.7.11", "4.38.2"),
    ("0.11.4", "4.46.0"),
    ("0.15.2", "4.49.0"),
    ("0.19.1", "4.53.3"),
    ("0.29.1", "5.5.4"),
    ("1.16.0", "5.23.0"),
]


def on(day: str, package: str) -> str:
    """The newest release of a package on a day."""
    known = [one for one in releases(package) if days(package).get(one, "9") <= day]
    return known[-1] if known else releases(package)[0]


def deprecations(trl: str, transformers: str) -> list[tuple[str, str]]:
    newest = {"trl": trl, "transformers": transformers}
    found = []
    for dotted in CLASSES:
        signature = signature_of(dotted, newest)
        for name in getattr(signature, "parameters", ()):
            name = name if isinstance(name, str) else name.name
            given = parameter(dotted, name, newest)
            if given is not None and given.deprecated:
                found.append((dotted, name))
    return found


@pytest.mark.parametrize(("trl", "transformers"), ERAS)
def test_the_release_before_had_it_without_a_word(trl, transformers):
    newest = {"trl": trl, "transformers": transformers}
    seen = 0
    for dotted, name in deprecations(trl, transformers):
        points = points_of_parameter(dotted, name)
        package, since = deprecated_since(dotted, name, {one: newest[one] for one in points if one in newest}, points)
        at = positions(package)[since]
        if at == 0:
            continue
        other = "trl" if package == "transformers" else "transformers"
        beside = {other: on(days(package)[since], other), package: releases(package)[at - 1]}
        before = parameter(dotted, name, beside)
        assert before is None or not before.deprecated, (dotted, name, package, since, beside)
        seen += 1
    assert seen or not deprecations(trl, transformers)


NOTATIONS = [
    {"requirements.txt": "trl=={trl}\ntransformers=={transformers}\n"},
    {"requirements.txt": "transformers=={transformers}\ntrl=={trl}\n"},
    {"setup.sh": "pip install trl=={trl} transformers=={transformers}\n"},
    {"environment.yml": "dependencies:\n  - pip:\n    - trl=={trl}\n    - transformers=={transformers}\n"},
    {"requirements.txt": "trl=={trl}\n-c constraints.txt\n", "constraints.txt": "transformers=={transformers}\n"},
    {"requirements.txt": "trl\ntransformers\n"},
    {},
]
CASES = [
    ("RewardConfig", "trl", "gradient_checkpointing_kwargs", "{{}}", "1.16.0", "5.23.0", "transformers 5.23.0"),
    ("SFTConfig", "trl", "use_liger_kernel", "True", "1.16.0", "5.23.0", "trl 1.15.0"),
    ("SFTConfig", "trl", "pad_token", "'x'", "1.16.0", "5.23.0", "trl 1.1.0"),
    ("TrainingArguments", "transformers", "gradient_checkpointing", "True", "1.16.0", "5.23.0", "transformers 5.23.0"),
    ("GRPOConfig", "trl", "evaluation_strategy", "'no'", "0.15.2", "4.49.0", "transformers 4.41.0"),
]


@pytest.mark.parametrize("notation", range(len(NOTATIONS)))
@pytest.mark.parametrize(("cls", "home", "name", "value", "trl", "transformers", "wanted"), CASES)
def test_the_words_and_the_pin_are_of_one_package(
    tmp_path: Path, monkeypatch, capsys, notation, cls, home, name, value, trl, transformers, wanted
):
    files = NOTATIONS[notation]
    if trl != "1.16.0" and (not files or "trl\n" in files.get("requirements.txt", "")):
        pytest.skip("another release would be taken")
    (tmp_path / ".git").mkdir()
    for file, text in files.items():
        (tmp_path / file).write_text(text.format(trl=trl, transformers=transformers))
    value = value.replace("{{}}", "{'use_reentrant': False}")
    (tmp_path / "train.py").write_text(f'from {home} import {cls}\nargs = {cls}(output_dir="x", {name}={value})\n')
    monkeypatch.chdir(tmp_path)
    main(["check", ".", "--hints", "--output-format", "concise", "--no-cache", "--select", "TRL303"])
    line = next(line for line in capsys.readouterr().out.splitlines() if "TRL303" in line)
    assert f"{wanted} deprecated `{name}`" in line
    package = wanted.partition(" ")[0]
    named = re.search(r"\((?:pinned: (\S+) |nothing pins (\S+);|your pin takes any (\S+);)", line)
    assert named is not None and package in named.groups(), line
