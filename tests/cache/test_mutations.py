"""Whatever happens to a project between two runs, the run with a cache says what the run without one says."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from cached import Cached, copy_project, source_files
from fixture_cases import FIXTURES

SEED = int(os.environ.get("TRL_LINT_TEST_SEED", "8"))
PROJECTS = int(os.environ.get("TRL_LINT_TEST_PROJECTS", "12"))
STEPS = 7
NUMBERS = [number if number < 4 else pytest.param(number, marks=pytest.mark.slow) for number in range(PROJECTS)]
PINS = ("trl==0.15.2\nvllm==0.9.0\n", "trl>=0.11\n", "torch==2.1.0\ntransformers==4.40.0\n", "")
SETTINGS = ('ignore = ["TRL1"]\n', 'select = ["ALL"]\n', 'exclude = ["*.py"]\n', 'target = {trl = "0.11.0"}\n', "")
MODULE = "from trl import GRPOConfig\n\nconfig = GRPOConfig(fp16=True, max_grad_norm=0, use_vllm=True)\n"
LAUNCH = "accelerate launch --num_processes 8 train.py --config recipe.yaml\n"


def nothing(folder: Path, chance: random.Random) -> None:
    pass


def touch(folder: Path, chance: random.Random) -> None:
    os.utime(chance.choice(source_files(folder)))


def edit(folder: Path, chance: random.Random) -> None:
    path = chance.choice(source_files(folder))
    lines = path.read_bytes().splitlines(keepends=True) or [b""]
    del lines[chance.randrange(len(lines))]
    path.write_bytes(b"".join(lines))


def edit_unseen(folder: Path, chance: random.Random) -> None:
    """Another letter or digit, the same size, the same time of modification."""
    path = chance.choice(source_files(folder))
    status, data = path.stat(), bytearray(path.read_bytes())
    places = [match.start() for match in re.finditer(rb"\d", bytes(data))] or list(range(len(data)))
    if places:
        place = chance.choice(places)
        data[place] = ord("7") if data[place] != ord("7") else ord("2")
    path.write_bytes(bytes(data))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def rewrite(folder: Path, chance: random.Random) -> None:
    """The same contents in a new file, as an editor or a checkout leaves it."""
    path = chance.choice(source_files(folder))
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)


def delete(folder: Path, chance: random.Random) -> None:
    chance.choice(source_files(folder)).unlink()


def rename(folder: Path, chance: random.Random) -> None:
    path = chance.choice(source_files(folder))
    path.rename(path.with_name(f"moved_{path.name}"))


def swap(folder: Path, chance: random.Random) -> None:
    one, other = chance.choices(source_files(folder), k=2)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def link(folder: Path, chance: random.Random) -> None:
    path = chance.choice(source_files(folder))
    target = path.with_name(f"real_{path.name}")
    path.rename(target)
    path.symlink_to(chance.choice((target, Path("/nowhere"))))


def add(name: str, contents: tuple[str, ...]) -> Callable[[Path, random.Random], None]:
    def write(folder: Path, chance: random.Random) -> None:
        path = folder / chance.choice(("", "", "train", "configs")) / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(chance.choice(contents), "utf-8")

    return write


def ignore(folder: Path, chance: random.Random) -> None:
    (folder / ".gitignore").write_text(chance.choice(source_files(folder)).name + "\n", "utf-8")


def repository(folder: Path, chance: random.Random) -> None:
    path = folder / chance.choice((".git", "train/.git"))
    if path.exists():
        shutil.rmtree(path)
    else:
        path.mkdir(parents=True)


MUTATIONS = (
    nothing, nothing, touch, edit, edit, edit_unseen, edit_unseen, rewrite, delete, rename, swap, link, ignore,
    repository,
    add("requirements.txt", PINS), add("requirements.txt", PINS), add("trl-lint.toml", SETTINGS),
    add("train.py", (MODULE,)), add("configs.py", (MODULE, "")), add("__init__.py", (MODULE, "")),
    add("run.sh", (LAUNCH, "")), add("recipe.yaml", ("fp16: true\nbf16: true\nmax_grad_norm: 0\n", "a: b\n")),
    add("conftest.toml", ("",)), add("notes.unread", ("a", "b")),
)  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS)
def test_after_any_change(number: int, tmp_path: Path, cached: Cached, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(f"{SEED} {number}")
    fixture = chance.choice(sorted(FIXTURES.glob("TRL*/*/")))
    folder = copy_project(fixture, tmp_path / "project")
    monkeypatch.chdir(folder)
    arguments = chance.choice((["."], ["--select", "ALL"], ["--output-format", "json", "."], [str(folder)]))
    history = [fixture.name]
    assert cached(*arguments) == cached.plain(*arguments)
    for _ in range(STEPS):
        mutation = chance.choice(MUTATIONS)
        try:
            mutation(folder, chance)
        except (IndexError, OSError):  # no file is left, or a link leads to itself
            break
        history.append(mutation.__qualname__)
        expected = cached.plain(*arguments)
        assert cached(*arguments) == expected, history
        assert cached(*arguments) == expected, history
        assert cached.was_replayed or expected.status == 2, history


PROGRAM = """\
import torch
from helpers import *
from helpers import make


def step(model, batch: torch.Tensor):
    return batch.cuda() + make(batch)
"""
HELPERS = "import torch\n\n\ndef make(batch):\n    return torch.zeros(batch.shape[0]{})\n"
HELPER_TEXTS = tuple(HELPERS.format(device) for device in ("", ", device=batch.device", ', device="cuda"'))
PYTHON_MUTATIONS = (
    edit, edit_unseen, swap, rewrite, delete,
    add("helpers.py", (*HELPER_TEXTS, "")), add("helpers.py", HELPER_TEXTS), add("step.py", (PROGRAM,)),
    add("train.py", (MODULE, f'"""Run `{LAUNCH.strip()}`."""\n{MODULE}', MODULE.replace("fp16", "bf16"))),
    add("requirements.txt", PINS), add("run.sh", (LAUNCH, "")),
)  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS)
def test_after_any_change_among_many_files(
    number: int, tmp_path: Path, cached: Cached, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(f"many {SEED} {number}")
    folder = tmp_path / "project"
    fixtures = chance.sample(sorted(FIXTURES.glob("TRL*/*/")), 4)
    for place, fixture in enumerate(fixtures):
        copy_project(fixture, folder / f"part{place}")
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    arguments = chance.choice((["."], ["--select", "ALL"], ["--output-format", "json", "."]))
    history = [fixture.name for fixture in fixtures]
    assert cached(*arguments) == cached.plain(*arguments)
    for _ in range(STEPS):
        mutation = chance.choice(PYTHON_MUTATIONS)
        part = chance.choice((folder, folder / "part0"))
        with suppress(IndexError):  # no file is left there
            mutation(part, chance)
        history.append(f"{part.name} {mutation.__qualname__}")
        assert cached(*arguments) == cached.plain(*arguments), history


def test_variables_and_arguments_are_part_of_it(
    tmp_path: Path, cached: Cached, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(MODULE, "utf-8")
    monkeypatch.chdir(tmp_path)
    plain = cached.fresh()
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in cached.fresh().out
    monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setenv("NO_COLOR", "1")
    assert cached() == plain
    assert cached.fresh("--select", "TRL2") != plain
    monkeypatch.setenv("COLUMNS", "30")
    assert cached.fresh("--select", "TRL2").out == cached.plain("--select", "TRL2").out
