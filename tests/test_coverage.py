"""What of training a run saw, and how much of it was understood: silence about the rest is no all-clear."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest
from command_line import Shell
from laid_out import lay_out

from trl_lint.coverage import KINDS, MADE_UP, Reason, Seen, once, sentence
from trl_lint.finding import Location

PINS = "trl==0.15.2\ntransformers==4.49.0\n"
SCRIPT = "from trl import GRPOConfig, ModelConfig, TrlParser\nparser = TrlParser((ModelConfig, GRPOConfig))\n"
SCRIPT += "model, config = parser.parse_args_and_config()\n"
RECIPE = "model_name_or_path: x\noutput_dir: x\nlearning_rate: 1.0e-6\nper_device_train_batch_size: 1\n"


def coverage(sh: Shell, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(sh(*arguments, "--output-format", "json").out)["coverage"]
    return found


def reasons(sh: Shell, what: str) -> list[str | None]:
    return [one["reason"] for one in coverage(sh)["entry_points"] if one["what"] == what for _ in range(one["number"])]


@pytest.fixture
def empty(sh: Shell) -> Shell:
    for path in sh.folder.iterdir():
        path.unlink()
    return sh


# -- the last line ----------------------------------------------------------------------------------------------------


def test_all_clear_only_where_everything_was_understood(empty: Shell) -> None:
    lay_out(empty.folder, {"requirements.txt": PINS, "train.py": SCRIPT, "run.sh": "python train.py --beta 0.1\n"})
    assert empty().out == (
        "All checks passed! 3 files, 1 training command and 1 argument object, trl 0.15.2 (requirements.txt:1).\n"
    )
    empty.write("run.sh", "python train.py --beta 0.1\npython -m skyrl.train.main a.b=1\npython -m skyrl.train.main\n")
    assert empty("--output-format", "concise").out == (
        "run.sh:2:1: note: 2 commands start `skyrl.train.main`, which is not known: their options were not checked\n"
        "No errors or warnings: 3 files, 1 of 3 training commands and 1 of 1 argument object understood,"
        " trl 0.15.2 (requirements.txt:1).\n"
    )
    assert empty("--quiet").out == ""


def test_what_a_baseline_hides_is_no_all_clear(empty: Shell) -> None:
    faulty = SCRIPT + "\nGRPOConfig(max_prompt_lenght=1)\n"
    lay_out(empty.folder, {"requirements.txt": PINS, "train.py": faulty})
    empty("--baseline", "known.json", "--write-baseline")
    shown = empty("--baseline", "known.json").out
    assert "of the baseline not shown" in shown
    assert "All checks passed" not in shown


def test_findings_keep_their_line(empty: Shell) -> None:
    commands = "python train.py --vllm_mod server\npython -m skyrl.train.main a.b=1\n"
    lay_out(empty.folder, {"requirements.txt": PINS, "train.py": SCRIPT, "run.sh": commands})
    lines = empty().out.splitlines()
    at = lines.index("Found 1 error.")
    assert lines[at + 1] == "1 of 2 training commands and 1 of 1 argument object understood."


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"README.md": "# Nothing\n"},
        {"app.py": "import flask\n", "requirements.txt": "flask==3.0\n", "run.sh": "python app.py --port 1\n"},
        {"deploy.yaml": "apiVersion: v1\nlr: 1\nbatch_size: 1\n", "a.json": "{}", "setup.py": "import setuptools\n"},
    ],
)
def test_nothing_to_check_is_said_and_leaves_nothing(
    empty: Shell, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRL_LINT_NO_CACHE", raising=False)
    lay_out(empty.folder, files)
    run = empty()
    assert run.status == 0
    assert run.out.startswith("Nothing to check: no file here trains or configures anything (")
    assert sorted(path.name for path in empty.folder.iterdir()) == sorted(files)


def test_a_cache_that_was_there_stays(empty: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRL_LINT_NO_CACHE", raising=False)
    empty.write("requirements.txt", PINS)
    empty()
    (empty.folder / "requirements.txt").unlink()
    assert empty().out.startswith("Nothing to check") and (empty.folder / ".trl_lint_cache").exists()


def test_few_lines_for_many_entry_points(empty: Shell) -> None:
    empty.write("run.sh", "".join(f"torchrun train_{number}.py --x\n" * number for number in range(1, 7)))
    lines = empty().out.splitlines()
    assert len(lines) == 5 and "6 commands start `train_6.py`, which is not in this project" in lines[0]
    assert lines[3] == "note: 6 more were not understood; `trl-lint runs --coverage` has them all"
    assert len(empty("--verbose").out.splitlines()) == 7
    assert [one["number"] for one in coverage(empty)["entry_points"]] == [6, 5, 4, 3, 2, 1]


def test_nothing_is_counted_where_the_rules_that_know_are_off(empty: Shell) -> None:
    empty.write("run.sh", "torchrun train.py --x\n")
    assert coverage(empty, "--ignore", "TRL401") is None
    assert empty("--select", "TRL501").out == "No errors or warnings: 1 file.\n"


def test_an_edit_keeps_what_the_other_files_held(empty: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRL_LINT_NO_CACHE", raising=False)
    lay_out(empty.folder, {"requirements.txt": PINS, "train.py": SCRIPT, "run.sh": "python train.py --beta 0.1\n"})
    before = coverage(empty)
    empty.write("other.py", "from trl import SFTConfig\nSFTConfig(output_dir='x')\n")
    after = coverage(empty)
    assert (before["objects"]["seen"], after["objects"]["seen"]) == (1, 2)
    assert after["commands"] == before["commands"] == {"seen": 1, "understood": 1}
    assert coverage(empty, "-j2", "--no-cache") == after


# -- reasons ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python train.py --beta 1", [None]),
        ("accelerate launch train.py --beta 1", [None]),
        ("torchrun --nproc_per_node 8 train.py --beta 1", [None]),
        ("trl grpo --beta 1", [None]),
        ("python train.py --beta 1 -- x", ["command could not be read to its end"]),
        ("python train_plain.py --beta 1", [None]),
        ("python train_kept.py --beta 1", ["unknown names are passed over"]),
        ("python train_other.py --beta 1", ["parser could not be read"]),
        ("python train_gone.py --beta 1", ["script not found"]),
        ("torchrun $SCRIPT --beta 1", ["command could not be read to its end"]),
        ("python -m nobody.train.main a=1", ["entry point is not known"]),
        ("python -m verl.trainer.main_ppo data.x=1", [None]),
        ("python -m verl.trainer.main_ppo hydra.searchpath=[x]", ["command could not be read to its end"]),
        ("python -m openrlhf.cli.train_sft --x 1", [None]),
        ("llamafactory-cli train --x 1", [None]),
        ("swift sft --x 1", [None]),
        ("swift sft --x 1 --ignore_args_error true", ["unknown names are passed over"]),
        ("python train_open.py --beta 1", ["unknown names are passed over"]),
        # These train nothing.
        ("python eval.py --beta 1", []),
        ("python -m pytest tests", []),
        ("python setup.py install", []),
        ("vllm serve x --port 1", []),
        ("trl vllm-serve --model x", []),
        ("python app.py", []),
        ("python download_data.py --x 1", []),
        ("accelerate launch evaluate.py --x 1", []),
        ("pip install trl", []),
    ],
)
def test_commands(empty: Shell, command: str, expected: list[str | None]) -> None:
    passing = SCRIPT.replace("_and_config()", "_into_dataclasses(return_remaining_strings=True)")
    plain = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--beta')\nparser.parse_args()\n"
    pins = PINS + "verl==0.5.0\nopenrlhf==0.8.0\nllamafactory==0.9.3\nms-swift==3.6.0\n"
    scripts = {"train.py": SCRIPT, "train_plain.py": plain, "train_open.py": passing, "eval.py": plain, "app.py": plain}
    scripts["train_kept.py"] = plain.replace("parser.parse_args()", "print(parser.parse_known_args())")
    scripts["train_other.py"] = f"import x\n{plain}x.add_flags(parser)\n"
    lay_out(empty.folder, {"requirements.txt": pins, **scripts, "run.sh": command + "\n"})
    assert reasons(empty, "command") == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from trl import GRPOConfig\nGRPOConfig(output_dir='x')\n", [None]),
        ("import trl\ntrl.GRPOConfig()\n", [None]),
        ("from transformers import TrainingArguments\nTrainingArguments('x')\n", [None]),
        ("from trl import GRPOConfig\nimport x\nGRPOConfig(**x.ARGS)\n", ["names come from outside"]),
        ("from trl import GRPOConfig\nd = {'beta': 1}\nGRPOConfig(**d)\n", [None]),
        ("import unsloth\nfrom trl import GRPOConfig\nGRPOConfig(beta=1)\n", ["something rewrites it"]),
        (SCRIPT, [None]),
        (SCRIPT.replace("(ModelConfig, GRPOConfig)", "CLASSES"), ["parser could not be read"]),
        ("class GRPOConfig: ...\nGRPOConfig()\nprint('trl')\n", []),
        ("from transformers import AutoConfig\nAutoConfig.from_pretrained('x')\n", []),
    ],
)
def test_argument_objects(empty: Shell, code: str, expected: list[str | None]) -> None:
    lay_out(empty.folder, {"requirements.txt": PINS, "train.py": code})
    assert reasons(empty, "object") == expected


@pytest.mark.parametrize("call", ["GRPOConfig", "SFTConfig", "DPOTrainer", "ModelConfig"])
@pytest.mark.parametrize("transformers", ["4.49.0", "4.0.0", "3.5.1"])
def test_a_base_class_of_a_release_that_is_not_recorded(empty: Shell, transformers: str, call: str) -> None:
    pins = f"trl==0.15.2\ntransformers=={transformers}\n"
    lay_out(empty.folder, {"requirements.txt": pins, "train.py": f"from trl import {call}\n{call}(beta=1)\n"})
    is_derived = call in ("GRPOConfig", "SFTConfig")
    expected = "release is not known" if is_derived and transformers != "4.49.0" else None
    assert reasons(empty, "object") == [expected]


@pytest.mark.parametrize(
    ("name", "text", "command", "expected"),
    [
        ("r.yaml", RECIPE, "python train.py --config r.yaml", [None]),
        ("r.yaml", RECIPE, "", ["nobody is known who reads it"]),
        ("r.yaml", "beta: 0.1\n", "python train.py --config r.yaml", [None]),
        ("r.yaml", "beta: 0.1\n", "", []),
        ("s.yaml", RECIPE, "python train.py --config r.yaml", ["file not found", "nobody is known who reads it"]),
        ("a.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\n", "", [None]),
        ("ds.json", '{"zero_optimization": {"stage": 3}, "train_batch_size": 8}', "", [None]),
        ("own.yaml", "policy:\n  lr: 1.0e-6\ntrain:\n  batch_size: 8\n", "", ["not a kind of config that is known"]),
        ("own.yaml", "policy:\n  lr: 1.0e-6\ntrain:\n  name: 8\n", "", []),
        ("d.yml", "x: 1\nservices:\n  a:\n    lr: 1\n    batch_size: 2\n", "", []),
        ("b.yaml", RECIPE + "bf16: true: false\n", "", ["broken"]),
        *(
            (name, RECIPE, f"python train.py --config {name}", ["not a kind of config that is known"])
            for name in ("r.txt", "r.cfg", "r.yaml.j2", "r.toml", "recipe", "r.py", "conf/r.ini")
        ),
        ("r.txt", RECIPE, "python train.py", []),
        ("r.txt", RECIPE, "python train.py --output_dir r.txt", []),
    ],
)
def test_configs(empty: Shell, name: str, text: str, command: str, expected: list[str | None]) -> None:
    pins = PINS + "accelerate==1.4.0\ndeepspeed==0.16.0\n"
    lay_out(empty.folder, {"requirements.txt": pins, "train.py": SCRIPT, name: text, "run.sh": command + "\n"})
    assert sorted(reasons(empty, "config"), key=str) == expected


def test_each_reason_has_its_sentence() -> None:
    from trl_lint.coverage import Entry

    place = Location("/a", 0, 0)
    for reason in get_args(Reason):
        for what in KINDS:
            for number in (1, 2):
                text = sentence(Entry(what, "x", reason, number, place))
                assert text.startswith(f"{number} ") and "`x`" in text
                assert text.partition(";")[0].endswith(" were not checked")


def test_of_two_answers_about_one_config_what_was_understood_counts() -> None:
    place = Location("/a", 0, 0)
    first, second = Seen("config", "a", "broken", place), Seen("config", "b", "", place)
    assert once([first, second]) == once([second, first]) == (second,)
    assert len(once([first, second._replace(what="command")])) == 2


def test_a_made_up_option_is_told_where_a_command_counts_as_understood(empty: Shell, tmp_path: Path) -> None:
    """And where it does not, it is not."""
    for command, is_known in (
        ("python train.py --beta 1", True),
        ("python train_plain.py", True),
        ("python train_kept.py", False),
    ):
        plain = "import argparse\nparser = argparse.ArgumentParser()\nparser.parse_args()\n"
        kept = plain.replace("parser.parse_args()", "print(parser.parse_known_args())")
        files = {"requirements.txt": PINS, "train.py": SCRIPT, "train_plain.py": plain, "train_kept.py": kept}
        lay_out(empty.folder, {**files, "run.sh": f"{command} --{MADE_UP} 1\n"})
        assert (MADE_UP in empty("--select", "TRL301,TRL401").out) is is_known


# -- commands that documents show -------------------------------------------------------------------------------------

SHOWN = "```sh\npython train.py --beta 0.1\npython elsewhere/train.py --lr {lr}\ntrl sft --learning_rate 1\n```\n"


def test_commands_in_documents_are_counted_apart(empty: Shell) -> None:
    lay_out(empty.folder, {"requirements.txt": PINS, "train.py": SCRIPT, "README.md": SHOWN})
    found = coverage(empty)
    assert found["commands"] == {"seen": 0, "understood": 0}
    assert found["examples"] == {"seen": 3, "understood": 2}
    assert empty().out == (
        "All checks passed! 3 files, 1 argument object, and 2 commands in documents, trl 0.15.2 (requirements.txt:1).\n"
    )
    assert "script not found" in empty("runs", "--coverage").out


def test_what_is_only_shown_spoils_no_all_clear_and_makes_no_note(empty: Shell) -> None:
    shown = "```sh\npython elsewhere/train.py --lr 1\n```\n"
    files = {"requirements.txt": PINS, "train.py": SCRIPT, "run.sh": "python train.py --beta 0.1\n"}
    lay_out(empty.folder, {**files, "README.md": shown})
    assert empty().out == (
        "All checks passed! 4 files, 1 training command and 1 argument object, trl 0.15.2 (requirements.txt:1).\n"
    )


def test_only_shown_and_not_understood_is_no_all_clear(empty: Shell) -> None:
    lay_out(empty.folder, {"README.md": "```sh\npython elsewhere/train.py --lr 1\n```\n"})
    assert not empty().out.startswith("All checks passed!")


def test_a_finding_in_a_document_stands_on_a_command_that_is_counted(empty: Shell) -> None:
    shown = "```sh\npython train.py --vllm_mod server\n```\n"
    lay_out(empty.folder, {"requirements.txt": PINS, "train.py": SCRIPT, "README.md": shown})
    found = json.loads(empty("--output-format", "json").out)
    assert [each["code"] for each in found["findings"]] == ["TRL301"]
    assert found["coverage"]["examples"] == {"seen": 1, "understood": 1}


def test_a_config_that_stands_for_flags_is_understood_with_its_command(empty: Shell) -> None:
    recipe = "model: org/model\ndataset: org/data\noutput_dir: out\nlearning_rate: 1.0e-6\n"
    files = {"requirements.txt": "ms-swift==4.6.0\n", "run.sh": "swift sft c.yaml\n", "c.yaml": recipe}
    lay_out(empty.folder, files)
    found = coverage(empty)
    assert (found["commands"], found["configs"]) == ({"seen": 1, "understood": 1}, {"seen": 1, "understood": 1})
    empty.write("c.yaml", f"{recipe}{MADE_UP}: 1\n")
    assert MADE_UP in empty().out
    empty.write("requirements.txt", "ms-swift==3.5.0\n")  # which reads no such file
    assert coverage(empty)["configs"]["understood"] == 0


STEPS = {
    "torch": "loss.backward()\noptimizer.step()",
    "accelerate": "accelerator.backward(loss)\nself.optimizer.step()",
    "deepspeed": "model_engine.backward(loss)\nmodel_engine.step()",
    "scaler": "scaler.scale(loss).backward()\nscaler.step(opt)",
    "fabric": "fabric.backward(loss)\nopt.step()\nscheduler.step()",
}
LOOPS = {
    "for batch in loader:\n": 1,
    "while True:\n": 1,
    "def train():\n for batch in loader:\n": 1,
    "class Mine:\n def step(self, loss):\n": 1,
    "async def train():\n if first:\n": 1,
}


@pytest.mark.parametrize("steps", list(STEPS))
@pytest.mark.parametrize("around", list(LOOPS))
def test_a_loop_that_is_written_by_hand_is_no_all_clear(empty: Shell, steps: str, around: str) -> None:
    depth = around.count("\n") * " "
    body = "".join(f"{depth}{line}\n" for line in STEPS[steps].splitlines())
    empty.write("loop.py", f"import torch\n{around}{body}")
    shown = empty().out
    assert (
        ": note: 1 training loop is written by hand in `loop.py`: but for known mistakes, its steps were not checked"
        in shown
    )
    assert "No errors or warnings: 1 file, 0 of 1 training loop understood." in shown
    assert coverage(empty)["loops"] == {"seen": 1, "understood": 0}


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ndef loss_of(loss):\n    loss.backward()\n",  # a part of somebody's loop
        "import gym\nobservation, reward = env.step(action)\n",
        "import torch\ndef one(loss):\n    loss.backward()\ndef other(env):\n    env.step(1)\n",
        "from trl import GRPOTrainer\ntrainer = GRPOTrainer('m', f)\ntrainer.train()\n",
        "import torch\n# loss.backward()\n'optimizer.step()'\nx = torch.ones(1)\n",
        "import torch\nbackward(loss)\nstep(optimizer)\n",
    ],
)
@pytest.mark.parametrize("name", ["loop.py", "tests/test_loop.py"])
def test_what_is_no_loop_of_training_is_not_counted(empty: Shell, text: str, name: str) -> None:
    lay_out(empty.folder, {name: text})
    assert coverage(empty)["loops"]["seen"] == 0


def test_a_loop_in_a_test_is_not_counted_and_two_of_one_file_are_one_line(empty: Shell) -> None:
    loop = "    loss.backward()\n    optimizer.step()\n"
    lay_out(empty.folder, {"tests/test_a.py": f"import torch\ndef test_a():\n{loop}"})
    assert coverage(empty)["loops"]["seen"] == 0
    empty.write("b.py", f"import torch\ndef first():\n{loop}{loop}def second():\n{loop}")
    assert (
        "note: 2 training loops are written by hand in `b.py`: but for known mistakes, their steps were not checked"
        in empty().out
    )


# -- what was measured ------------------------------------------------------------------------------------------------


def test_all_that_was_seen_in_public_trees_has_its_reason() -> None:
    kept = json.loads((Path(__file__).parent.parent / "benchmarks/results/coverage.json").read_text("utf-8"))
    assert len(kept["trees"]) >= 60
    known = {"understood", *get_args(Reason)}
    total: Counter[str] = Counter()
    for tree in kept["trees"].values():
        total.update(tree["reasons"])
        for what in KINDS:
            of_kind = {name: number for name, number in tree["reasons"].items() if name.startswith(f"{what}: ")}
            understood, seen = tree.get(f"{what}s", (0, 0))  # loops were not counted then
            assert sum(of_kind.values()) == seen
            assert of_kind.get(f"{what}: understood", 0) == understood
            assert {name.partition(": ")[2] for name in of_kind} <= known
    assert total == kept["reasons"]
