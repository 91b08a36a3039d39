"""A kept workspace says what a run that knows nothing says, and judges no more than has to be judged."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.histories import play, told
from trl_lint import tracked
from trl_lint.budget import Cancelled, cancelled_by
from trl_lint.engine import check
from trl_lint.selection import Selection
from trl_lint.settings import Settings
from trl_lint.workspace import Workspace

FILES = {
    "requirements.txt": "trl==0.15.2\n",
    "run.sh": "accelerate launch --num_processes 2 started.py --config recipe.yaml\n",
    "recipe.yaml": "fp16: true\n",
    "started.py": "from trl import GRPOConfig, TrlParser\n\nc = TrlParser((GRPOConfig,)).parse_args_and_config()\n",
    "helpers.py": "import torch\n\n\ndef make(n):\n    return torch.zeros(n)\n",
    "step.py": "import torch\nfrom helpers import make\n\n\ndef f(x: torch.Tensor):\n    return x.cuda() + make(3)\n",
    "alone.py": "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.cuda() + torch.zeros(3)\n",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / ".git").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    settings = Settings(str(tmp_path), layers=[Selection(("ALL",))])
    return Workspace(settings, record=tracked.Record())


def agrees(workspace: Workspace, *names: str) -> list[str]:
    """The codes that are found; a fresh run finds the same."""
    paths = [str(Path(workspace.settings.root, name)) for name in names]
    result = workspace.check(paths)
    assert told(result) == told(check(paths, workspace.settings, dict(workspace.files.overlays)))
    return [finding.code for finding in result.findings]


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8, 13, 21, 34, 55])
def test_a_check_that_was_given_up_leaves_nothing_half_done(workspace: Workspace, steps: int) -> None:
    left = iter(range(steps))
    path = str(Path(workspace.settings.root, "step.py"))
    with cancelled_by(lambda: next(left, None) is None), suppress(Cancelled):
        workspace.check([path])
    assert agrees(workspace, "step.py") == ["TRL103"]
    workspace.change({path: FILES["step.py"].replace("make(3)", "torch.zeros(3)").encode()})
    left = iter(range(steps))
    with cancelled_by(lambda: next(left, None) is None), suppress(Cancelled):
        workspace.check([path])
    assert agrees(workspace, "step.py") == ["TRL103"] and agrees(workspace, "started.py") is not None


@pytest.mark.parametrize("number", range(8))
def test_random_edits(number: int) -> None:
    history = play(number, "short", 6)
    assert history.checks and not history.wrong


@pytest.mark.slow
@pytest.mark.parametrize("number", range(200))
def test_more_random_edits(number: int) -> None:
    history = play(number, "long", 12)
    assert history.checks and not history.wrong


def test_nothing_is_judged_twice(workspace: Workspace, checked: list[str]) -> None:
    path = str(Path(workspace.settings.root, "alone.py"))
    assert workspace.is_due([path])
    first = workspace.check([path])
    assert not workspace.is_due([path])
    checked.clear()
    assert told(workspace.check([path])) == told(first) and not checked


@pytest.mark.parametrize(
    ("name", "again"),
    [
        ("alone.py", {"alone.py"}),
        ("helpers.py", {"helpers.py", "step.py"}),
        ("requirements.txt", {"alone.py", "helpers.py", "step.py", "started.py", "recipe.yaml"}),
        ("recipe.yaml", {"alone.py", "helpers.py", "step.py", "started.py", "recipe.yaml"}),
    ],
)
def test_what_a_change_makes_due(name: str, again: set[str], workspace: Workspace) -> None:
    root = Path(workspace.settings.root)
    opened = [str(root / one) for one in ("alone.py", "helpers.py", "step.py", "started.py", "recipe.yaml")]
    for path in opened:
        workspace.check([path])
    data = (root / name).read_bytes()
    workspace.change({str(root / name): data + b"# a remark\n"})
    assert {Path(path).name for path in opened if workspace.is_due([path])} == again
    workspace.change({str(root / name): data})


def test_text_that_is_typed_and_taken_back_makes_nothing_due(workspace: Workspace) -> None:
    path = str(Path(workspace.settings.root, "recipe.yaml"))
    workspace.check([path])
    workspace.change({path: b"bf16: true\n"})
    workspace.change({path: None})
    assert not workspace.is_due([path])


def test_an_unsaved_pin_counts_for_a_script(workspace: Workspace) -> None:
    root = Path(workspace.settings.root)
    pins, path = str(root / "requirements.txt"), str(root / "started.py")
    workspace.change({path: b"from trl import GRPOConfig\n\nconfig = GRPOConfig(max_completion_len=8)\n"})
    agrees(workspace, path)
    for release in ("0.18.0", "0.17.0"):
        workspace.change({pins: f"trl=={release}\n".encode()})
        (finding,) = workspace.check([path]).findings
        assert f"pinned: trl {release}" in finding.message
        agrees(workspace, path)


def test_what_happens_on_the_disk_is_seen(workspace: Workspace) -> None:
    root = Path(workspace.settings.root)
    before = agrees(workspace, "alone.py")
    assert not workspace.look_again()
    (root / "alone.py").write_text("x = 1\n")
    assert workspace.look_again()
    assert before and not agrees(workspace, "alone.py")
    (root / "alone.py").unlink()
    assert workspace.look_again()
    agrees(workspace, "alone.py")


def test_a_saved_file_is_watched(workspace: Workspace) -> None:
    path = Path(workspace.settings.root, "alone.py")
    workspace.check([str(path)])
    text = FILES["alone.py"] + "y = 1\n"
    workspace.change({str(path): text.encode()})
    assert agrees(workspace, "alone.py")
    path.write_text(text)
    workspace.change({str(path): None})
    assert agrees(workspace, "alone.py")
    path.write_text("x = 1\n")
    assert workspace.look_again()
    assert not agrees(workspace, "alone.py")


def test_two_checks_of_one_state_say_the_same(workspace: Workspace) -> None:
    """A script that nobody starts has another run in each."""
    root = Path(workspace.settings.root)
    (root / "requirements.txt").write_text("trl==0.20.0\n")
    made = 'args = SFTConfig(output_dir="o", padding_free=True, per_device_train_batch_size=1)\n'
    trained = 'SFTTrainer("m", args=args, train_dataset=d).train()\n'
    (root / "two.py").write_text(f"from trl import SFTConfig, SFTTrainer\n\n{made}{made}{trained}")
    assert "TRL403" in agrees(workspace, "two.py")
    assert "TRL403" in agrees(workspace, "two.py", "alone.py")


def test_results_keep_the_files_that_they_are_about(workspace: Workspace) -> None:
    path = str(Path(workspace.settings.root, "alone.py"))
    before = workspace.check([path])
    workspace.change({path: b"y = 2\n"})
    workspace.check([path])
    assert before.files.own(path).text == FILES["alone.py"]


def test_without_a_record_everything_is_judged_anew(workspace: Workspace, checked: list[str]) -> None:
    plain = Workspace(workspace.settings)
    root = Path(workspace.settings.root)
    paths = [str(root / "alone.py"), str(root / "helpers.py")]
    plain.check(paths)
    plain.change({paths[0]: b"x = 1\n"})
    checked.clear()
    assert told(plain.check(paths)) == told(check(paths, plain.settings, {paths[0]: b"x = 1\n"}))
    assert checked[:2] == ["alone.py", "helpers.py"]


LONG = "# a remark that fills the file\n" * 600


def test_the_first_step_tells_what_the_slow_rules_found_last(workspace: Workspace) -> None:
    path = str(Path(workspace.settings.root, "alone.py"))
    text = LONG + FILES["alone.py"] + LONG + "\ny = torch.zeros(3).cuda() + torch.ones(3)\n"
    workspace.change({path: text.encode()})
    assert workspace.check_first(path) is None  # nothing is known yet
    whole = [(finding.code, finding.message) for finding in workspace.check([path]).findings]
    assert "TRL103" in {code for code, _ in whole}
    typed = "import os\nfrom trl import GRPOConfig\n\nGRPOConfig(max_completion_len=1)\n" + text
    workspace.change({path: typed.encode()})
    first = workspace.check_first(path)
    assert first is not None
    assert [f._replace(fix=None, part_of=None) for f in workspace.check([path]).findings] == [
        f._replace(fix=None, part_of=None) for f in first.findings
    ]
    assert len(first.findings) == len(whole) + 1


def test_what_was_found_in_text_that_is_gone_is_not_told(workspace: Workspace) -> None:
    path = str(Path(workspace.settings.root, "alone.py"))
    workspace.change({path: (LONG + FILES["alone.py"]).encode()})
    assert workspace.check([path]).findings
    workspace.change({path: (LONG + FILES["alone.py"].replace("torch.zeros(3)", "3")).encode()})
    first = workspace.check_first(path)
    assert first is not None and first.findings == [] == workspace.check([path]).findings


def test_a_small_file_is_checked_in_one_step(workspace: Workspace) -> None:
    path = str(Path(workspace.settings.root, "alone.py"))
    workspace.check([path])
    workspace.change({path: b"x = 1\n"})
    assert workspace.check_first(path) is None
