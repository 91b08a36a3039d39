"""`trl-lint why`: how a finding came about, why it is not shown, and why there is none."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixture_cases import Case, Expectation, cases
from trl_lint import asked, tracked
from trl_lint.cli import main
from trl_lint.selection import known_codes

Why = Callable[..., tuple[int, str, str]]

GONE = 'from trl import SFTConfig\nargs = SFTConfig(output_dir="x", max_seq_length=5)\n'
SCRIPT = """\
from trl import GRPOConfig, GRPOTrainer, ModelConfig, TrlParser

args, model_args = TrlParser((GRPOConfig, ModelConfig)).parse_args_and_config()
trainer = GRPOTrainer(model=model_args.model_name_or_path, args=args, reward_funcs=print)
"""


@pytest.fixture
def why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Why:
    """Lays out files as one repository and runs the command in it: status, output, errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def run(files: dict[str, str], *arguments: str) -> tuple[int, str, str]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        tracked.forget()
        status = main(["why", *arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return status, captured.out, captured.err

    return run


def test_a_finding_is_told_with_the_release_it_rests_on(why):
    status, out, _ = why({"train.py": GONE, "requirements.txt": "trl==1.16.0\n"}, "TRL301", "train.py:2")
    assert status == 0
    assert out.startswith(
        "TRL301 (argument-not-in-release) at train.py:2: told\n  train.py:2:34: error: trl 0.20.0 removed"
    )
    assert "1.16.0 (pin)  requirements.txt:1:1" in out
    assert "not shown" not in out


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"train.py": GONE.replace("=5)", "=5)  # noqa")}, "a comment on the line suppresses it"),
        ({"trl-lint.toml": 'ignore = ["TRL301"]'}, "the rule is off here: --extend-select TRL301"),
        ({"trl-lint.toml": '[per-file-ignores]\n"*.py" = ["TRL301"]'}, "`per-file-ignores` turns the rule off"),
        ({"trl-lint.toml": 'extend-exclude = ["train.py"]'}, "the file is left out"),
        ({".gitignore": "train.py\n"}, "the file is left out"),
    ],
)
def test_what_is_found_and_not_shown_says_why(why, files, reason):
    project = {"train.py": GONE, "requirements.txt": "trl==1.16.0\n", **files}
    _, out, _ = why(project, "TRL301", "train.py:2")
    assert "told, but not shown" in out
    assert f"  not shown: {reason}" in out


def test_what_a_baseline_has_says_so(why, capsys):
    project = {"train.py": GONE, "requirements.txt": "trl==1.16.0\n", "trl-lint.toml": 'baseline = "known.json"'}
    why(project, "TRL301", "train.py:2")
    main(["--write-baseline", "."])
    capsys.readouterr()
    _, out, _ = why({}, "TRL301", "train.py:2")
    assert "not shown: the baseline known.json has it" in out


def test_a_hint_says_how_it_is_shown(why):
    _, out, _ = why({"requirements.txt": "trl>=0.20\n", "train.py": "import trl\n"}, "TRL203", "requirements.txt:1")
    assert "not shown: it is a hint: --hints shows it" in out


def test_the_first_unknown_is_named_with_what_makes_it_known(why):
    pin = "trl @ git+https://example.org/fork/trl@abcdef0\n"
    _, out, _ = why({"train.py": GONE, "requirements.txt": pin}, "TRL301", "train.py:2")
    assert ": not told\n  trl: not known" in out
    assert "to make it known: say which release it is: --target trl==RELEASE" in out
    _, out, _ = why({}, "TRL301", "train.py:2", "--target", "trl==1.16.0")
    assert ": told\n" in out


def test_a_fault_that_is_withheld_is_not_called_right(why):
    guarded = "try:\n    from trl import PPOTrainerGone, ORPOTrainer\nexcept ImportError:\n    ORPOTrainer = None\n"
    _, out, _ = why({"train.py": guarded, "requirements.txt": "trl==1.16.0\n"}, "TRL302", "train.py")
    assert ": not told" in out
    assert "withholds it" in out or "wrong (" not in out


def test_an_unknown_number_of_processes_is_named(why):
    run = "accelerate launch $OPTIONS train.py --output_dir x --per_device_train_batch_size 3 --num_generations 4\n"
    files = {"train.py": SCRIPT, "run.sh": run, "requirements.txt": "trl==0.16.0\ntransformers==4.50.0\n"}
    _, out, _ = why(files, "TRL701", "run.sh:1")
    assert ": not told\n  processes: not known" in out
    assert "--num_processes" in out
    assert "per_device_train_batch_size  '3' (flag)  run.sh:1:" in out


def test_a_line_without_anything_to_look_at_says_what_the_rule_looks_at(why):
    _, out, _ = why({"train.py": "import torch\nx = torch.optim.SGD([])\n"}, "TRL106", "train.py:2")
    assert "there is nothing at this line that TRL106 looks at (" in out


def test_json_has_what_the_text_has(why):
    _, out, _ = why(
        {"train.py": GONE, "requirements.txt": "trl==1.16.0\n"}, "trl301", "train.py:2", "--output-format", "json"
    )
    facts = json.loads(out)
    assert (facts["version"], facts["code"], facts["path"], facts["line"]) == (1, "TRL301", "train.py", 2)
    assert facts["told"][0]["severity"] == "error"
    assert facts["hidden"] == facts["reason"] == facts["remedy"] == ""
    answers = [answer for look in facts["looked_at"] for answer in look["answers"]]
    assert {"kind": "release", "subject": "trl", "answer": "1.16.0 (pin)", "known": True} | {
        "path": "requirements.txt", "line": 1, "column": 1
    } in answers  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("TRL301", "gone.py:3"), "`gone.py:3`: no such file"),
        (("TRL301", "."), "is a folder; name a file"),
        (("TRL999", "train.py"), "no rule `TRL999`"),
    ],
)
def test_what_makes_no_sense_is_refused(why, arguments, message):
    status, _, err = why({"train.py": GONE}, *arguments)
    assert status == 2
    assert message in err


@pytest.mark.parametrize("code", [code for code in known_codes() if not code.startswith("TRL0")])
def test_every_rule_has_a_story(why, code):
    project = {"train.py": SCRIPT, "run.sh": "python train.py --output_dir x\n", "requirements.txt": "trl==1.16.0\n"}
    for place in ("train.py:4", "run.sh", "requirements.txt:1"):
        status, out, _ = why(project, code, place)
        assert status == 0
        assert out.startswith(f"{code} (")


def test_nothing_is_written_down_unless_somebody_asks(why):
    assert asked.log is None
    why({"train.py": GONE}, "TRL301", "train.py")
    assert asked.log is None


def told_beside_code() -> list[tuple[Case, Expectation]]:
    """Of each rule the first two findings that fixtures expect in configs, commands and lists of packages."""
    found: dict[str, list[tuple[Case, Expectation]]] = {}
    for case in cases():
        if case.is_bad and not case.settings():
            mine = [one for one in case.expectations() if not one.path.endswith((".py", ".ipynb", ".md"))]
            found.setdefault(case.code, []).extend((case, one) for one in mine[:1] if one.code == case.code)
    return [one for ones in found.values() for one in ones[:2]]


@pytest.mark.parametrize(("case", "wanted"), told_beside_code(), ids=lambda one: getattr(one, "id", None))
def test_what_a_check_tells_why_tells_too(why, tmp_path, case, wanted):
    for path in sorted(case.folder.iterdir()):
        if not path.name.endswith((".fixed", ".expect")):
            copy = shutil.copytree if path.is_dir() else shutil.copy
            copy(path, tmp_path / path.name)
    status, out, _ = why({}, case.code, f"{wanted.path}:{wanted.line}")
    assert status == 0
    assert out.split("\n")[0].endswith((": told", ": told, but not shown")), out
