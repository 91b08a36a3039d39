"""Which files have to be in which encoding: what their program refuses is an error, and all others are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import Result, check
from trl_lint.project.roots import starting_in
from trl_lint.selection import Selection
from trl_lint.settings import Settings
from trl_lint.sources.files import open_file

CODE = "# {} ü\nfrom trl import PPOConfig\n"
RECIPE = "# ü\nmodel_name_or_path: m\noutput_dir: out\nnum_generations: 8\nbf16: true\nfp16: true\nbeta: 0.0\n"
COMMAND = "trl grpo --model_name_or_path m --output_dir out --no_such_flag 1"
PAGE = f"# Größe ü\n\n```bash\n{COMMAND}\n```\n"
SHELL = f"#!/bin/bash\n# ü\n{COMMAND}\n"
TRL301, TRL302, TRL602 = "TRL301", "TRL302", "TRL602"

READ: dict[str, tuple[str, bytes, str]] = {
    "Python, utf-8": ("a.py", CODE.format("").encode(), TRL302),
    "Python, mark": ("a.py", CODE.format("").encode("utf-8-sig"), TRL302),
    **{
        f"Python, {name}": ("a.py", CODE.format(f"-*- coding: {name} -*-").encode(name), TRL302)
        for name in ("latin-1", "cp1252", "iso-8859-15", "gb18030", "big5hkscs")
    },
    **{
        f"recipe, {name}": ("grpo.yaml", RECIPE.encode(name), TRL602)
        for name in ("utf-8", "utf-8-sig", "utf-16", "utf-32")
    },
    "recipe, utf-16-be": ("grpo.yaml", b"\xfe\xff" + RECIPE.encode("utf-16-be"), TRL602),
    "recipe, utf-32-be": ("grpo.yaml", b"\x00\x00\xfe\xff" + RECIPE.encode("utf-32-be"), TRL602),
    **{
        f"{name}, {encoding}": (name, text.encode(encoding), TRL301)
        for name, text in {
            "README.md": PAGE,
            "docs/guide.mdx": PAGE,
            "train.sh": SHELL,
            "job.slurm": SHELL,
            "Makefile": f"# ü\ntrain:\n\t{COMMAND}\n",
            "Dockerfile": f"# ü\nFROM python\nCMD {COMMAND}\n",
        }.items()
        for encoding in ("latin-1", "cp1252", "gb18030")
    },
}
REFUSED: dict[str, tuple[str, bytes]] = {
    "Python that declares nothing": ("a.py", CODE.format("").encode("latin-1")),
    "Python that declares another": ("a.py", CODE.format("coding: utf-8").encode("latin-1")),
    "Python that declares none there is": ("a.py", CODE.format("coding: klingon").encode("latin-1")),
    "Python, utf-16": ("a.py", CODE.format("").encode("utf-16")),
    "recipe, latin-1": ("grpo.yaml", RECIPE.encode("latin-1")),
    "recipe, half a character": ("grpo.yaml", RECIPE.encode("utf-16") + b"\x00"),
    "pyproject, latin-1": ("pyproject.toml", '[project]\nname = "ü"\ndependencies = ["trl"]\n'.encode("latin-1")),
}


def run(folder: Path, name: str, data: bytes) -> Result:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    if name != "requirements.txt":
        (folder / "requirements.txt").write_text("trl==1.16.0\n")
    codes = ("TRL001", TRL301, TRL302, TRL602)
    with starting_in([str(folder)]):
        return check([str(folder)], Settings(str(folder), layers=[Selection(select=codes)]))


@pytest.mark.parametrize("name", READ)
def test_read(name: str, tmp_path: Path) -> None:
    path, data, code = READ[name]
    result = run(tmp_path, path, data)
    assert [finding.code for finding in result.findings] == [code]
    notices = [notice.message for notice in result.notices if "UTF-8" in notice.message]
    assert len(notices) == (path.split(".")[-1] in ("md", "mdx", "sh", "slurm", "Makefile", "Dockerfile"))


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    result = run(tmp_path, *REFUSED[name])
    assert [(finding.code, finding.severity) for finding in result.findings] == [("TRL001", "error")]


def test_a_page_without_commands_is_passed_over(tmp_path: Path) -> None:
    result = run(tmp_path, "docs/report.md", "# Größe\n\ntrl is used.\n".encode("latin-1"))
    assert not result.findings and not result.notices


@pytest.mark.parametrize("name", READ)
def test_what_is_read_is_written_to_the_same_bytes(name: str, tmp_path: Path) -> None:
    path, data, _ = READ[name]
    (tmp_path / "x").mkdir()
    place = tmp_path / "x" / Path(path).name
    place.write_bytes(data)
    file = open_file(str(place))
    assert file.encode(file.text) == data
