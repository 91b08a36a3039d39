"""TRL505 against a real shell: what it reports is dropped, what it leaves alone is not, and its fix brings it back."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from fixture_cases import ROOT, cases, run_json

BASH = shutil.which("bash")
# A command that is no launch is not judged, and a script that is sent elsewhere does not run here.
NOT_RUN = ("heredoc", "other_programs")
# Nothing is dropped there: a blank is an argument, which the programs here take.
JOINED = ("bad_lines_joined",)
SCRIPTS = [
    pytest.param(case, path, id=f"{case.id}/{path.name}")
    for case in cases()
    if case.code == "TRL505"
    for path in sorted((ROOT / case.folder).rglob("*"))
    if path.suffix in (".sh", ".slurm") and not any(name in case.id for name in NOT_RUN)
]
# Programs that print what they get instead of training.
PROGRAMS = "".join(f"{name}() {{ printf '%s\\n' \"$@\"; }}\n" for name in ("accelerate", "python", "python3", "srun"))

pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash")


def run(script: Path) -> tuple[str, bool]:
    """What the programs of a script get, and whether bash took an argument for a program of its own."""
    assert BASH is not None
    text = PROGRAMS + script.read_text("utf-8")
    done = subprocess.run([BASH, "-c", text], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout, "not found" in done.stderr


@pytest.mark.parametrize(("case", "path"), SCRIPTS)
def test_a_shell_agrees(case, path, tmp_path, monkeypatch, capsys):
    project = case.copy_to(tmp_path / "project")
    script = project / path.relative_to(case.folder)
    monkeypatch.chdir(project)
    before, dropped = run(script)
    is_joined = any(name in case.id for name in JOINED)
    assert dropped == (case.is_bad and not is_joined)
    assert not is_joined or any(line.startswith(" ") for line in before.split("\n"))
    run_json(["--fix"], capsys)
    after, still_dropped = run(script)
    assert not still_dropped
    assert (after != before) == case.is_bad
    assert not is_joined or not any(line.startswith(" ") for line in after.split("\n"))
    assert set(before.split()) <= set(after.split())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("python train.py --a 1 \\\n\n--b 2\n", True),
        ("python train.py --a 1 \\ \r\n  --b 2\r\n", True),
        ("python train.py --a 1 \\\n  # c\n\n  ~data.x=1\n", True),
        ("python train.py --a 1 \\\n  # c\n  NAME=1 --b\n", False),
        ("python train.py --a 1 \\\n  # c\n  - item\n", False),
        ("python train.py --a 1\\\n# no comment\n  --b 2\n", False),
        ("python train.py --a 1 \\\\\n# c\n  --b 2\n", False),
        ("python train.py --a 1 \\", False),
        ("python train.py --a 1 \\ ", False),
        ("bash -c 'python train.py \\\n # c\n --b 2'\n", True),
        ("if true; then\n  python train.py \\\n    # c\n    --b 2\nfi\n", True),
    ],
)
def test_what_is_cut(text, found, tmp_path, monkeypatch, capsys):
    (tmp_path / "run.sh").write_bytes(text.encode())
    monkeypatch.chdir(tmp_path)
    _, report = run_json(["--select", "TRL505"], capsys)
    assert [f["code"] for f in report["findings"]] == (["TRL505"] if found else [])


def test_line_ends_and_the_lines_above_stay(tmp_path, monkeypatch, capsys):
    script = tmp_path / "run.sh"
    script.write_bytes(b"cd sub && \\\r\n  python train.py \\ \r\n    --a 1 \\\r\n    # c\r\n    --b 2\r\n")
    monkeypatch.chdir(tmp_path)
    run_json(["--select", "TRL505", "--fix"], capsys)
    assert script.read_bytes() == b"# c\r\ncd sub && \\\r\n  python train.py \\\r\n    --a 1 \\\r\n    --b 2\r\n"
