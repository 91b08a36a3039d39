"""A little of `make torture`, and that it would notice."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from documents import ROOT

from benchmarks import edits, fix_safety, histories, kills, torture
from benchmarks.structure_edits import Restructured
from trl_lint.checks.registry import all_rules
from trl_lint.python.triage import Triage


@pytest.fixture(autouse=True)
def _every_rule_is_active(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Triage, "active", torture.every_rule_is_active)


def test_no_rule_about_python_is_left_out():
    rules = {rule for rule in all_rules() if rule.triggers or rule.imports}
    assert torture.every_rule_is_active(Triage(all_rules()), b"") == rules and len(rules) > 15


@pytest.mark.parametrize("files", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_broken_fixtures_break_nothing(files: int):
    toll = torture.summed(torture.break_fixtures(files, seed=2026))
    assert toll.files == files and toll.failures == []
    assert toll.unreadable > files // 10  # else nothing was broken


def test_a_rule_that_raises_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "train.py").write_text("import trl\ntrl.GRPOConfig()\n", "utf-8")
    (rule,) = (rule for rule in all_rules() if rule.code == "TRL301")
    monkeypatch.setattr(rule, "check_module", lambda module, project: [1 / 0])
    toll = torture.torture(torture.sources_below(str(tmp_path)), str(tmp_path))
    assert ["ZeroDivisionError" in failure.what for failure in toll.failures] == [True]


def test_a_hang_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "train.py").write_text("import trl\ntrl.GRPOConfig()\n", "utf-8")
    (rule,) = (rule for rule in all_rules() if rule.code == "TRL301")
    monkeypatch.setattr(rule, "check_module", lambda module, project: time.sleep(60) or [])
    monkeypatch.setattr(torture, "_SECONDS", 0.2)
    toll = torture.torture(torture.sources_below(str(tmp_path)), str(tmp_path))
    assert [failure.what for failure in toll.failures] == ["more than 0 s"]


def test_a_tree_is_repaired_without_damage(tmp_path: Path):
    case = ROOT / "fixtures" / "TRL601" / "bad_config"
    shutil.copytree(case, tmp_path / "tree", ignore=shutil.ignore_patterns("*.fixed", "*.expect"))
    outcome = fix_safety.repair_copy(tmp_path / "tree")
    assert outcome.changed > 0 and outcome.problems == []


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (b"a = 1\n", b"a = (1\n", "does not parse any more"),
        (b"\xef\xbb\xbfa = 1\n", b"a = 2\n", "lost its byte order mark"),
        (b"a = 1\r\nb = 2\r\n", b"a = 1\r\nb = 3\n", "has line ends of a new kind"),
        (b"a = 1\n", b"a = 2", "lost its last line end"),
    ],
)
def test_damage_is_noticed(old: bytes, new: bytes, what: str):
    assert fix_safety.damage_of("a.py", old, new) == [what]
    assert fix_safety.damage_of("a.py", old, old.replace(b"1", b"2")) == []


def test_lost_modes_and_left_overs_are_noticed():
    before = {"a.py": fix_safety.State(b"", 0o644), "b.py": fix_safety.State(b"", 0o644)}
    after = {"a.py": fix_safety.State(b"", 0o600), "c.tmp": fix_safety.State(b"", 0o600)}
    assert sorted(fix_safety.damage(before, after)) == ["a.py: mode 644 became 600", "b.py went", "c.tmp came"]


def test_a_command_that_is_not_understood_any_more():
    def report(*scripts: str) -> bytes:
        runs = [
            {"path": "run.sh", "name": name, "links": [{"kind": "script", "paths": [name] * name.endswith(".py")}]}
            for name in scripts
        ]
        return json.dumps({"runs": runs}).encode()

    assert fix_safety.lost_programs(report("train.py"), report("train.py", "serve.py")) == []
    (lost,) = fix_safety.lost_programs(report("train.py", "train.py"), report("train.py", "python"))
    assert "run.sh" in lost and "train.py" in lost


@pytest.mark.parametrize("copies", [1, pytest.param(12, marks=pytest.mark.slow)])
def test_killed_repairs_leave_whole_files(copies: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fix_safety, "_COPIES", copies)
    counts, problems = fix_safety.kill_at_random(2, seed=1)
    assert sum(counts.values()) == 2 and problems == []


def test_what_a_killed_repair_leaves_is_removed_by_the_next(tmp_path: Path):
    script = tmp_path / "a.py"
    script.write_text("from trl import GRPOConfig\n\nGRPOConfig(max_prompt_length=512)\n", "utf-8")
    (tmp_path / "requirements.txt").write_text("trl==1.0.0\n", "utf-8")
    gone, foreign = (tmp_path / f".trl-lint-{name}.tmp" for name in (2**22 + 1, "notes"))
    for path in (gone, foreign):
        path.write_bytes(b"")
    names = {gone.name, foreign.name}
    assert fix_safety.kept_scratch(tmp_path, set()) == set() and gone.exists()
    assert fix_safety.kept_scratch(tmp_path, names) == {foreign.name}
    assert "max_prompt_length" not in script.read_text("utf-8")


def test_edits_and_the_cache(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TRL_LINT_NO_CACHE", raising=False)
    folder = tmp_path / "project"
    for name in ("a.py", "b.py"):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("import torch\n\n\ndef f(x):\n    return x.cuda() + torch.zeros(3)\n", "utf-8")
    assert edits.main([str(folder), "--edits", "3"]) == 0
    assert "project: 3 edits, 0 wrong" in capsys.readouterr().out
    assert not (folder / ".trl_lint_cache").exists() and "zeros" in (folder / "a.py").read_text("utf-8")


def test_a_cache_that_says_something_else_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.py").write_text("import torch\n", "utf-8")
    plain = edits.run

    def run(command: tuple[str, ...], folder: str, **options: bool):
        cost = plain((sys.executable, "-c", "print('something')"), folder, **options)
        return cost if "--no-cache" in command else cost._replace(output=b"another")

    monkeypatch.setattr(edits, "run", run)
    assert edits.main([str(tmp_path), "--edits", "1"]) == 1


@pytest.mark.parametrize("edit", edits.EDITS)
def test_every_edit_changes_something(edit: Callable[[list[bytes], random.Random], None]):
    text = b"import torch\n\nx = torch.zeros(3, device=y.device)\n"
    after = set()
    for seed in range(20):
        lines = text.splitlines(keepends=True)
        edit(lines, random.Random(seed))
        after.add(b"".join(lines))
    assert len(after - {text}) > 0


# -- edits of the structure, and kills of every command ----------------------------------------------------------------


def test_edits_of_the_structure_are_told_alike():
    played = [histories.play(number, "structure", 4, kind=Restructured) for number in range(3)]
    assert not any(history.wrong for history in played) and sum(history.checks for history in played) > 20


@pytest.mark.slow
def test_killed_commands_lose_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRL_LINT_NO_CACHE", "1")
    monkeypatch.setattr(kills, "COMMANDS", [one for one in kills.COMMANDS if one.name in ("--fix", "report again")])
    counts, problems = kills.kill_all(6, 7)
    assert problems == [] and sum(n for (_, what), n in counts.items() if what == "killed") > 3


def test_a_command_that_loses_something_is_noticed(monkeypatch: pytest.MonkeyPatch):
    def replace(target: str, data: bytes, status: object) -> None:
        with open(target, "wb") as stream:
            stream.write(data[:10])
            stream.flush()
            os.chmod(target, 0o644)
            stream.write(data[10:])

    monkeypatch.setenv("TRL_LINT_NO_CACHE", "1")
    monkeypatch.setattr("trl_lint.writing._replace", replace)
    monkeypatch.setattr(kills, "COMMANDS", [one for one in kills.COMMANDS if one.name == "new baseline"])
    _, problems = kills.kill_all(4, 7)
    assert any("neither old nor new" in one for one in problems)
