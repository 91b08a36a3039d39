"""flake8 as a process, the way editors and CI start it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from flake8_cases import FAULT, PINNED

from trl_lint.cli import main

HINT = "from trl import GRPOConfig\n\nconfig = GRPOConfig(output_dir='out', fp16=True)\n"


def flake8(*args: str, cwd: Path, stdin: str | None = None) -> list[str]:
    command = [sys.executable, "-m", "flake8", "--isolated", "--select=TRL,E9,F", *args]
    done = subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr and done.returncode in (0, 1)
    return done.stdout.splitlines()


def statused(*args: str, cwd: Path) -> tuple[int, list[str]]:
    command = [sys.executable, "-m", "flake8", "--isolated", "--select=TRL", *args]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def ours(lines: list[str]) -> list[str]:
    return [line for line in lines if ": TRL" in line]


@pytest.mark.usefixtures("registered")
class TestProcess:
    def test_the_findings_of_the_command_line_at_its_columns(self, project: Path):
        (project / "train.py").write_text(FAULT)
        (line,) = ours(flake8("train.py", cwd=project))
        assert line.startswith("train.py:6:12: TRL103 `torch.arange(…)` makes a tensor on the CPU")

    @pytest.mark.parametrize("name", ["train.py", "{folder}/train.py"], ids=["relative", "absolute"])
    def test_the_buffer_counts_and_not_the_file(self, project: Path, name: str):
        (project / "train.py").write_text("x = 1\n")
        shown = name.format(folder=project)
        found = flake8("-", "--stdin-display-name", shown, cwd=project, stdin="\n" + FAULT)
        assert [entry.split(":")[-3] for entry in found if "TRL103" in entry] == ["7"]

    def test_a_buffer_without_a_name_is_python_of_this_folder(self, project: Path):
        (project / "requirements.txt").write_text("trl==0.18.0\n")
        (line,) = ours(flake8("-", cwd=project, stdin=PINNED))
        assert line.startswith("stdin:3:39: TRL301") and "0.18.0" in line

    def test_noqa_is_honoured(self, project: Path):
        (project / "train.py").write_text(FAULT.replace("<= ids", "<= ids  # noqa: TRL103"))
        assert ours(flake8("train.py", cwd=project)) == []

    @pytest.mark.parametrize("comment", ["  # noqa", "  # noqa: TRL103", "\n# flake8: noqa"])
    def test_disable_noqa(self, project: Path, comment: str):
        (project / "train.py").write_text(FAULT.replace("<= ids\n", f"<= ids{comment}\n"))
        assert ours(flake8("train.py", cwd=project)) == []
        (line,) = ours(flake8("--disable-noqa", "train.py", cwd=project))
        assert line.startswith("train.py:6:12: TRL103")

    def test_hints_are_shown_when_asked_for(self, project: Path):
        """flake8 and the command line agree whether a file with hints only is fine."""
        (project / "requirements.txt").write_text("trl==0.18.0\n")
        (project / "train.py").write_text(HINT)
        assert main(["train.py", "--output-format", "concise"]) == 0
        status, found = statused("train.py", cwd=project)
        assert (status, ours(found)) == (0, [])
        status, found = statused("--trl-hints", "train.py", cwd=project)
        (line,) = ours(found)
        assert status == 1 and "TRL602" in line

    def test_hints_can_be_asked_for_in_the_configuration_of_flake8(self, project: Path):
        (project / "requirements.txt").write_text("trl==0.18.0\n")
        for number in range(4):
            (project / f"train_{number}.py").write_text(HINT)
        (project / ".flake8").write_text("[flake8]\nselect = TRL\ntrl-hints = true\n")
        for jobs in ("--jobs=1", "--jobs=3"):
            command = [sys.executable, "-m", "flake8", jobs, "."]
            done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
            assert len(ours(done.stdout.splitlines())) == 4

    @pytest.mark.parametrize("setting", ["hints = true", 'fail-on = "info"'])
    def test_hints_can_be_asked_for_in_the_settings(self, project: Path, setting: str):
        (project / "requirements.txt").write_text("trl==0.18.0\n")
        (project / "train.py").write_text(HINT)
        (project / "trl-lint.toml").write_text(f"{setting}\n")
        assert len(ours(flake8("train.py", cwd=project))) == 1

    def test_settings_of_the_project_hold(self, project: Path):
        (project / "train.py").write_text(FAULT)
        (project / "trl-lint.toml").write_text('ignore = ["TRL103"]\n')
        assert ours(flake8("train.py", cwd=project)) == []

    def test_a_mistake_in_the_settings_is_one_finding_and_the_run_goes_on(self, project: Path):
        (project / "train.py").write_text("import os\n" + FAULT)
        (project / "trl-lint.toml").write_text("ignor = []\n")
        found = flake8("train.py", cwd=project)
        (mistake,) = ours(found)
        assert any("F401 'os'" in line for line in found)
        assert "TRL003 trl-lint failed" in mistake and "did you mean `ignore`?" in mistake

    @pytest.mark.parametrize("text", ["", "\n", "\n\n", "\f\n", "# only this\n"])
    def test_an_empty_file_has_nothing(self, project: Path, text: str):
        (project / "train.py").write_text(text)
        assert flake8("train.py", cwd=project) == []

    @pytest.mark.parametrize("option", ["--ignore=W291", "--extend-ignore=W291", "--extend-select=TRL9"])
    def test_selections_of_flake8_switch_on_nothing_that_our_settings_leave_off(self, project: Path, option: str):
        (project / "train.py").write_text(FAULT)
        (project / "trl-lint.toml").write_text('select = ["TRL2"]\n')
        command = [sys.executable, "-m", "flake8", "--isolated", option, "train.py"]
        assert b"TRL" not in subprocess.run(command, cwd=project, capture_output=True, check=False).stdout

    def test_several_processes_find_what_one_finds(self, project: Path):
        (project / "requirements.txt").write_text("trl==0.18.0\n")
        for number in range(12):
            (project / f"train_{number}.py").write_text(f"{FAULT}\n\nprint(mask)\n" if number % 2 else PINNED)
        alone = sorted(ours(flake8("--jobs=1", ".", cwd=project)))
        assert len(alone) == 12
        assert sorted(ours(flake8("--jobs=3", ".", cwd=project))) == alone

    def test_what_the_settings_exclude_stays_out(self, project: Path):
        (project / "old").mkdir()
        (project / "old" / "train.py").write_text(FAULT)
        (project / "trl-lint.toml").write_text('extend-exclude = ["old"]\n')
        assert ours(flake8(".", cwd=project)) == []

    def test_a_yaml_document_that_passes_for_python_has_no_findings(self, project: Path):
        text = "model_name_or_path: model\nlearning_rate: 0\nmax_grad_norm: 0\noutput_dir: out\n"
        (project / "recipe.yaml").write_text(text)
        assert ours(flake8("recipe.yaml", cwd=project)) == []
        assert ours(flake8("-", "--stdin-display-name", "recipe.yaml", cwd=project, stdin=text)) == []
