"""What is shipped: the wheel and the sdist are built, and the wheel works without the checkout."""

from __future__ import annotations

import bz2
import json
import lzma
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest
from documents import ROOT, tool_folder
from test_wheel_size import MOST

from trl_lint.knowledge import COMPRESSED, PACKED, compressed, pack_of, uncommented, unpacked

LEFT_OUT = (
    "trl_lint/knowledge/refresh", "trl_lint/knowledge/tables.py", "trl_lint/knowledge/condition_tables.py",
    "trl_lint/editors/vscode/",
)  # fmt: skip
SKIPPED = ("__pycache__", ".pyc", ".trl_lint_cache")  # `make demo` leaves a cache


def run(*command: str | Path, cwd: Path | str = ROOT) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel built from that sdist alone."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


def checkout_files(*folders: str) -> set[str]:
    found = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return {p.relative_to(ROOT).as_posix() for p in found if not any(part in str(p) for part in SKIPPED)}


def pack_name(name: str) -> str:
    return f"rules/{pack_of(str(ROOT / 'rules' / name))[0]}"


def ending_of(history: Path) -> str:
    return compressed(history.read_bytes())[0]


def test_wheel_holds_the_package_and_the_rules_and_nothing_else(wheel: Path):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    alone = {name for name in checkout_files("rules") if name.split("/")[1] not in (*PACKED, "coverage")}
    alone = {name + ending_of(ROOT / name) if name.split("/")[1] in COMPRESSED else name for name in alone}
    rules = {f"trl_lint/{name}" for name in alone | {pack_name(name) for name in PACKED}}
    package = {name for name in checkout_files("trl_lint") if not name.startswith(LEFT_OUT)}
    assert names == package | rules


def test_wheel_holds_every_packed_text_but_for_comments_of_tables(wheel: Path):
    archive = zipfile.ZipFile(wheel)
    for name in PACKED:
        data = archive.read(f"trl_lint/{pack_name(name)}")
        unpack = {".xz": lzma.decompress, ".bz2": bz2.decompress}.get(Path(pack_name(name)).suffix, bytes)
        texts = unpacked(unpack(data).decode())
        held = {path.name: path.read_bytes().decode() for path in (ROOT / "rules" / name).iterdir()}
        assert texts == {file: uncommented(text) if file.endswith(".toml") else text for file, text in held.items()}


def test_wheel_holds_every_history(wheel: Path):
    archive = zipfile.ZipFile(wheel)
    for path in [path for folder in COMPRESSED for path in (ROOT / "rules" / folder).iterdir()]:
        ending = ending_of(path)
        held = archive.read(f"trl_lint/rules/{path.parent.name}/{path.name}{ending}")
        unpack = bz2.decompress if ending == ".bz2" else lzma.decompress
        assert unpack(held) == path.read_bytes(), path.name


def test_wheel_is_small(wheel: Path):
    assert wheel.stat().st_size <= MOST


def test_wheel_says_what_it_is(wheel: Path):
    archive = zipfile.ZipFile(wheel)
    texts = {name.split(".dist-info/")[1]: archive.read(name) for name in archive.namelist() if ".dist-info/" in name}
    assert b"trl-lint = trl_lint.__main__:run" in texts["entry_points.txt"]
    assert texts["licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    assert b"\nLicense-Expression: Apache-2.0\n" in texts["METADATA"]
    assert b"\nProject-URL: Issues, " in texts["METADATA"] and "trl_lint/py.typed" in archive.namelist()


def test_wheel_of_the_sdist_is_that_of_the_checkout_to_the_byte(wheel: Path, tmp_path: Path):
    """So the sdist is complete, and whoever builds a release again gets the same file."""
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_sdist_holds_all_that_is_kept(built: Path):
    """`make test` passes in it: nothing that a test reads is left out."""
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    needed = checkout_files("trl_lint", "rules", "tests", "fixtures", "docs", "benchmarks", ".github", ".ci")
    if (ROOT / ".git").exists():
        needed = set(run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")) - {""}
        assert names == {name for name in needed if (ROOT / name).exists()} | {"PKG-INFO"}
    assert needed <= names


def test_installed_wheel_lists_the_rules_from_anywhere(wheel: Path, tmp_path: Path):
    """In a clean environment; only the dependencies come from the one that runs the tests."""
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv)
    python = venv / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel)
    installed = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd="/").strip())
    (installed / "dependencies.pth").write_text(sysconfig.get_path("platlib"), "utf-8")

    where = run(python, "-c", "import trl_lint; print(trl_lint.__file__)", cwd="/").strip()
    assert Path(where).is_relative_to(installed)
    listed = run(venv / "bin" / "trl-lint", "rule", "--all", "--output-format", "json", cwd="/")
    here = run(tool_folder(tmp_path / "bin") / "trl-lint", "rule", "--all", "--output-format", "json", cwd="/")
    assert json.loads(listed) == json.loads(here)
    assert len(json.loads(here)) >= 10
