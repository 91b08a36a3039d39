"""After an edit only those files are checked again that rest on it, and the report is that of a whole run."""

from __future__ import annotations

from pathlib import Path

import pytest
from cached import Cached, copy_project
from fixture_cases import FIXTURES

from trl_lint import tracked
from trl_lint.cache.parts import Parts, decoded, encoded
from trl_lint.coverage import Seen
from trl_lint.dependency_record import resting_on
from trl_lint.engine import check
from trl_lint.finding import Edit, Finding, Fix, Location, Notice, OpenPin
from trl_lint.settings import Settings
from trl_lint.sources import Files

FILES = {
    "requirements.txt": "trl==0.15.2\n",
    "run.sh": "python started.py\n",
    "started.py": "from trl import GRPOConfig\n\nconfig = GRPOConfig(use_vllm=True)\n",
    "helpers.py": "import torch\n\n\ndef make(n):\n    return torch.zeros(n)\n",
    "step.py": "import torch\nfrom helpers import make\n\n\ndef f(x: torch.Tensor):\n    return x.cuda() + make(3)\n",
    "alone.py": "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.cuda() + torch.zeros(3)\n",
    "quiet.py": "print('nothing')\n",
    "excused.py": "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.cuda() + torch.zeros(3)  # noqa: TRL103\n",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    source = tmp_path / "source"
    source.mkdir()
    (source / ".git").mkdir()
    for name, text in FILES.items():
        (source / name).write_text(text, "utf-8")
    folder = copy_project(source, tmp_path / "project")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("edited", "again"),
    [
        ("alone.py", {"alone.py"}),
        ("quiet.py", {"quiet.py"}),
        ("excused.py", {"excused.py"}),
        ("step.py", {"step.py"}),
        ("helpers.py", {"helpers.py", "step.py"}),  # that `make` has no device is told by the call of it
        ("started.py", FILES.keys()),  # the run of run.sh rests on it
        ("run.sh", FILES.keys()),
        ("requirements.txt", FILES.keys()),
    ],
)
def test_what_is_checked_again(edited: str, again: set[str], project: Path, cached: Cached, checked: list[str]) -> None:
    cached.fresh()
    with open(project / edited, "a", encoding="utf-8") as stream:
        stream.write("\n# a remark\n")
    expected = cached.plain()
    checked.clear()
    assert cached() == expected
    assert set(checked) == set(again) and len(checked) == len(again)
    checked.clear()
    assert cached.warm() == expected and not checked


def test_findings_come_and_go(project: Path, cached: Cached, checked: list[str]) -> None:
    before = cached.fresh().out
    for name, fault, repaired in (
        ("alone.py", "torch.zeros(3)", "torch.zeros(3, device=x.device)"),
        ("helpers.py", "torch.zeros(n)", 'torch.zeros(n, device="cuda")'),
        ("excused.py", "  # noqa: TRL103", ""),
    ):
        text = (project / name).read_text("utf-8")
        (project / name).write_text(text.replace(fault, repaired), "utf-8")
        checked.clear()
        after = cached.fresh().out
        assert after == cached.plain().out != before
        assert len(checked) - len(FILES) < 3  # `plain` checks all
        (project / name).write_text(text, "utf-8")
        assert cached().out == before


def test_config_that_a_script_uses_is_judged_again(project: Path, cached: Cached) -> None:
    """Whether its clipping of 0 stops the run (TRL404) or goes unseen (TRL601) stands in the script."""
    script = (
        'from trl import GRPOConfig, GRPOTrainer\n\nargs = GRPOConfig(deepspeed="ds.json"{})\n'
        'GRPOTrainer(model="m", args=args, reward_funcs=len, train_dataset=d).train()\n'
    )
    (project / "ds.json").write_text('{"zero_optimization": {"stage": 2}, "gradient_clipping": 0}', "utf-8")
    (project / "trained.py").write_text(script.format(""), "utf-8")
    for name in FILES:
        (project / name).write_text("trl==1.16.0\n" if name.endswith(".txt") else "x = 1\n", "utf-8")
    before = cached.fresh().out
    (project / "trained.py").write_text(script.format(", max_grad_norm=0.0"), "utf-8")
    assert "TRL404" in before and "TRL601" not in before
    after = cached()
    assert after == cached.plain() and after.out.count("TRL601") == 2


def test_what_the_whole_project_was_read_for_is_asked_again_for_each_file(
    tmp_path: Path, cached: Cached, checked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two scripts rest on a file that masks labels: it is read once, and a change of it concerns both."""
    folder = copy_project(FIXTURES / "TRL603" / "bad_rows_without_labels", tmp_path / "project")
    (folder / ".git").mkdir()
    (folder / "again.py").write_text((folder / "train.py").read_text("utf-8"), "utf-8")
    (folder / "apart.py").write_text("import torch\n\n\ndef f(x):\n    return x.cuda() + torch.zeros(3)\n", "utf-8")
    monkeypatch.chdir(folder)
    arguments = ("--output-format", "json", ".")
    assert cached.fresh(*arguments).out.count("masks whole rows") == 2
    data = (folder / "data.py").read_text("utf-8")
    for text, again in (
        ("# A line more, and both tell of another place.\n" + data, {"again.py", "train.py", "data.py"}),
        (data.replace("labels[:] = ", "labels[0] = "), {path.name for path in folder.glob("*.py")}),
    ):
        (folder / "data.py").write_text(text, "utf-8")
        expected = cached.plain(*arguments)
        checked.clear()
        assert cached.fresh(*arguments) == expected
        assert set(checked) == again
    assert "masks whole rows" not in expected.out


@pytest.mark.parametrize(
    "added",
    [
        '"""Start it with `accelerate launch --num_processes 8 alone.py`."""\n',  # a launch
        "# /// script\n# dependencies = ['trl==0.9.0']\n# ///\n",  # pins
        "from trl import TrlParser, GRPOConfig\nargs = TrlParser((GRPOConfig,)).parse_args_and_config()\n",  # a parser
        "x = 'num_generations'\n",
        "#" * 1_000_001 + "\n",  # too large to be read for the sake of others
    ],
)
def test_what_others_may_ask_for(added: str, project: Path, cached: Cached) -> None:
    (project / "grpo.yaml").write_text("num_generations: 8\nnum_generation: 3\n", "utf-8")
    cached("--select", "ALL")
    path = project / "quiet.py"
    path.write_text(added + path.read_text("utf-8"), "utf-8")
    assert cached("--select", "ALL") == cached.plain("--select", "ALL")


def test_several_files_at_once(project: Path, cached: Cached, checked: list[str]) -> None:
    cached.fresh()
    kept = {"alone.py": "", "quiet.py": "print()\n", "step.py": "import helpers\n"}  # what says who reaches whom
    for name, text in kept.items():
        (project / name).write_text(f"import torch\n{text}", "utf-8")
    checked.clear()
    assert cached.fresh() == cached.plain()
    assert sorted(checked[:3]) == ["alone.py", "quiet.py", "step.py"] and len(checked) == 3 + len(FILES)


def test_who_reaches_a_module_is_asked_again(project: Path, cached: Cached) -> None:
    before = cached.fresh().out
    for text in ("import alone\n\nprint('nothing')\n", FILES["quiet.py"]):
        (project / "quiet.py").write_text(text, "utf-8")
        after = cached.fresh()
        assert after == cached.plain() and (after.out == before) == (text == FILES["quiet.py"])


def test_an_edit_and_a_new_file(project: Path, cached: Cached) -> None:
    cached.fresh()
    (project / "alone.py").write_text("import torch\n", "utf-8")
    (project / "new.py").write_text(FILES["alone.py"], "utf-8")
    assert cached.fresh() == cached.plain()


def test_other_projects_are_still_there(project: Path, cached: Cached) -> None:
    inner = project / "inner"
    inner.mkdir()
    (inner / "trl-lint.toml").write_text("", "utf-8")
    (inner / "requirements.txt").write_text("trl==0.11.0\n", "utf-8")
    cached("--output-format", "json", ".")
    (project / "quiet.py").write_text("print('still nothing')\n", "utf-8")
    assert cached.fresh("--output-format", "json", ".") == cached.plain("--output-format", "json", ".")


# -- the notation -----------------------------------------------------------------------------------------------------

PLACE = Location("/p/a.py", 3, 5, "here")
FIX = Fix("do it", "unsafe", (Edit("/p/b.py", 1, 2, "\x00\n\ud800"),))
PIN = OpenPin("trl", ">=0.19", PLACE, "0.20.0", "1.16.0", False)
PARTS = Parts(
    ["/p/a.py", "/p/b\udcff.py"],
    {"/p/a.py": [Finding("TRL103", "says “no”", PLACE, "error", (PLACE, Location("/q/c", 0, 0)), FIX, PLACE, PIN)]},
    {"/p/a.py": [Notice("newer-release", "unread", PLACE, "trl", "1.17.0", "1.16.0"), Notice("skipped-file", "off")]},
    {"/p/a.py": [Seen("command", "x", "broken", PLACE), Seen("object", "X", "", PLACE, "trl 1.0", PLACE)]},
    ["/p/b\udcff.py"],
    ["/p"],
    {("holds", "a\nb"): {"/p/a.py": True, "/p/b\udcff.py": False}, ("is empty", "launches"): {"/p/a.py": True}},
    {"/p/a.py": {"/p/b\udcff.py", "/p/c.py"}},
    {"/p/c.py"},
)


def test_parts_are_read_as_they_were_written() -> None:
    assert "\0" not in encoded(PARTS, "/base")
    assert decoded(encoded(PARTS, "/base"), "/base") == PARTS


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", '{"paths": []}', "[" * 100_000])
def test_anything_else_is_no_parts(text: str) -> None:
    assert decoded(text, "/base") is None
    whole = encoded(PARTS, "/base")
    assert decoded(whole[: len(whole) // 2], "/base") is None


def test_who_rests_on_what() -> None:
    taken = {"a": {"b"}, "b": {"c"}, "d": {"c"}, "c": {"a"}, "e": {"f"}}
    assert resting_on({"c"}, taken) == {"a", "b", "c", "d"}
    assert resting_on({"f"}, taken) == {"e", "f"}
    assert resting_on({"e", "x"}, taken) == {"e", "x"}


# -- what is noted ----------------------------------------------------------------------------------------------------


def test_using_a_file_is_noted(project: Path) -> None:
    record = tracked.Record()
    with tracked.recording(record):
        files = Files()
        files.own("alone.py")
        assert files.holds("quiet.py", b"nothing") and not files.fits("step.py", rb"^z+")
        assert not record.used
        files.get("alone.py")  # it is open already
        tracked.read("run.sh")
        tracked.size("step.py")
        tracked.read("helpers.py", by="step.py")
    assert record.used == {"alone.py", "run.sh", "step.py"}
    assert record.needed == {"step.py": {"helpers.py"}}
    assert record.contents == {("holds", "nothing"): {"quiet.py": True}, ("fits", "^z+"): {"step.py": False}}


def test_what_is_collected_is_noted_for_the_file_that_is_checked(project: Path) -> None:
    record = tracked.Record()
    with tracked.recording(record):
        with tracked.collecting() as inner, tracked.collecting() as paths:
            tracked.read("helpers.py")
            tracked.note_collected({"quiet.py"})
        assert (paths, inner, record.used, record.needed) == ({"helpers.py", "quiet.py"}, set(), set(), {})
        for path in ("step.py", "quiet.py"):
            with tracked.checking(path):
                tracked.note_collected(paths)
        assert record.needed == {"step.py": {"helpers.py", "quiet.py"}, "quiet.py": {"helpers.py"}}
        assert not record.used
        tracked.note_collected(paths)  # for no file alone
    assert record.used == paths


def test_nothing_is_noted_without_a_record(project: Path) -> None:
    assert check(["."], Settings(str(project))).parts is None
