"""Files outside of a repository are neither read nor written because the repository says so, nor behind its links."""

from __future__ import annotations

import os
import stat
import textwrap
from pathlib import Path

import pytest
from command_line import SCRIPT, Shell, process

from trl_lint import tracked, writing
from trl_lint.settings import load
from trl_lint.settings_file import SettingsError
from trl_lint.writing import put_file, write_file

FILES = {"baseline": '"{}"', "extend": '"{}"', "knowledge": '["{}"]', "cache-dir": '"{}"'}
BASELINE = '{"version": 1, "findings": []}'


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository beside a file of somebody else, with the working folder in it."""
    folder = tmp_path / "checkout" / "train"
    (folder / ".git").mkdir(parents=True)
    (folder / "sub").mkdir()
    (folder / "sub" / "train.py").write_text(SCRIPT)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("")
    monkeypatch.chdir(folder)
    return folder


# -- what settings name -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", FILES)
@pytest.mark.parametrize("way", ["up", "whole", "link", "folder link", "inside and out", "extended"])
def test_settings_of_a_repository_name_nothing_outside(repository: Path, setting: str, way: str):
    (repository / "link").symlink_to("../../other/file")
    (repository / "linked").symlink_to("../../other")
    name = {
        "up": "../../../other/file", "whole": f"{repository}/../../other/file",
        "link": "../link", "folder link": "../linked/file",
        "inside and out": "../sub/../../../other/file", "extended": "../../../other/file",
    }[way]  # fmt: skip
    config = repository / "sub" / "trl-lint.toml"
    text = f"{setting} = {FILES[setting].format(name)}\n"
    if way == "extended":
        (repository / "sub" / "team.toml").write_text(text)
        text = 'extend = "team.toml"\n'
    config.write_text(text)
    with pytest.raises(SettingsError, match=f"`{setting}`: `.*` is outside of the repository"):
        load(str(config))
    load(str(config), is_named=True)


@pytest.mark.parametrize("setting", FILES)
@pytest.mark.parametrize("name", ["../team/file", "file", "./here/../file", "../link"])
@pytest.mark.parametrize("is_repository", [True, False])
def test_what_stands_in_the_repository_may_be_named(repository: Path, setting: str, name: str, is_repository: bool):
    (repository / "team").mkdir()
    for path in ("team/file", "sub/file"):
        (repository / path).write_text("")
    (repository / "link").symlink_to("team/file")
    if not is_repository:
        (repository / ".git").rmdir()
    config = repository / "sub" / "trl-lint.toml"
    config.write_text(f"{setting} = {FILES[setting].format(name)}\n")
    load(str(config))


def test_settings_without_a_repository_are_a_persons_own(repository: Path):
    config = repository.parent / "trl-lint.toml"
    config.write_text('extend = "../other/file"\n')
    load(str(config))


# -- what is written --------------------------------------------------------------------------------------------------

COMMANDS = {
    "report": ("check", ".", "--output-format", "sarif", "--output-file"),
    "again": ("check", ".", "--output-format", "json", "--output-file"),
    "baseline": ("check", ".", "--write-baseline", "--baseline"),
    "page": ("runs", ".", "--html"),
    "plan": ("upgrade", ".", "--plan"),
    "diff": ("check", ".", "--diff", "--output-file"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("link", ["file", "nothing", "folder", "inside"])
def test_no_command_writes_through_a_link_of_the_project(
    repository: Path, command: str, link: str, capsys: pytest.CaptureFixture[str]
):
    victim = repository.parent.parent / "other" / "file"
    victim.write_text(BASELINE)
    (repository / "requirements.txt").write_text("trl==0.15.2\n")
    name = "folder/file" if link == "folder" else "out"
    target = {"file": victim, "nothing": victim.with_name("new"), "folder": victim.parent, "inside": "sub/train.py"}
    (repository / name.split("/")[0]).symlink_to(target[link])
    shell = Shell(repository, capsys)
    if command == "again":  # the second time from the cache
        assert shell("check", ".", "--output-format", "json", "--output-file", "x.json").status == 1
    done = shell(*COMMANDS[command], name)
    reasons = ("of the project, which may lead anywhere", "is no plan", "is no baseline", "cannot be read")
    assert done.status == 2 and any(reason in done.err for reason in reasons)
    assert victim.read_text() == BASELINE and os.listdir(victim.parent) == ["file"]
    assert (repository / "sub" / "train.py").read_text() == SCRIPT


def test_a_kept_report_is_not_written_through_a_link(repository: Path):
    arguments = ["check", ".", "--output-format", "json", "--output-file", "out"]
    victim = repository.parent.parent / "other" / "file"
    assert process(arguments, repository).returncode == 1
    (repository / "out").unlink()
    (repository / "out").symlink_to(victim)
    done = process(arguments, repository)
    assert done.returncode == 2 and b"a link of the project" in done.stderr and victim.read_text() == ""


def test_links_outside_of_the_project_are_a_persons_own(repository: Path, tmp_path: Path):
    target = tmp_path / "other" / "file"
    (tmp_path / "link").symlink_to(target)
    (tmp_path / "linked").symlink_to(tmp_path / "other")
    put_file(str(tmp_path / "link"), b"1")
    assert target.read_bytes() == b"1" and (tmp_path / "link").is_symlink()
    put_file(str(tmp_path / "linked" / "file"), b"2")
    put_file(str(tmp_path / "linked" / "new"), b"3")
    assert (target.read_bytes(), target.with_name("new").read_bytes()) == (b"2", b"3")
    # The same project by another name.
    (tmp_path / "alias").symlink_to(repository)
    (repository / "out").symlink_to(target)
    put_file(str(tmp_path / "alias" / "plain"), b"4")
    with pytest.raises(OSError, match="a link of the project"):
        put_file(str(tmp_path / "alias" / "out"), b"5")


@pytest.mark.parametrize(
    ("text", "is_written"),
    [
        (BASELINE, True),
        ('{"version": 77, "findings": [', True),
        (f"{BASELINE[:-2]}\n<<<<<<< ours\n=======\n>>>>>>> theirs\n]}}", True),
        ("", True),
        ("\n", True),
        ("export PATH=x\n", False),
        ('{"findings": []}', False),
        ('{"name": "x", "version": 1}', False),
        (" " * 9999 + "x", False),
    ],
)
def test_a_baseline_is_written_over_a_baseline_alone(
    repository: Path, text: str, is_written: bool, capsys: pytest.CaptureFixture[str]
):
    path = repository / "known.json"
    path.write_text(text)
    (repository / "trl-lint.toml").write_text('baseline = "known.json"\n')
    done = Shell(repository, capsys)("check", ".", "--write-baseline")
    assert done.status == (0 if is_written else 2)
    assert (path.read_text() != text) == is_written


# -- how it is written ------------------------------------------------------------------------------------------------


@pytest.fixture(params=["nameless", "named"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that has files without a name, and one that does not."""
    if request.param == "named":
        monkeypatch.delattr(writing.os, "O_TMPFILE", raising=False)


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_new_file_has_the_mode_of_any_new_file_and_comes_whole(
    repository: Path, mask: int, monkeypatch: pytest.MonkeyPatch
):
    before = os.umask(mask)
    seen: list[bool] = []
    fsync = os.fsync
    monkeypatch.setattr(writing.os, "fsync", lambda handle: (seen.append((repository / "x").exists()), fsync(handle)))
    try:
        put_file("x", b"1")
    finally:
        os.umask(before)
    assert stat.S_IMODE((repository / "x").stat().st_mode) == 0o666 & ~mask
    assert seen == [False] and sorted(os.listdir()) == [".git", "sub", "x"]


@pytest.mark.usefixtures("system")
@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="the system has no extended attributes")
@pytest.mark.parametrize("write", ["fix", "report"])
def test_what_is_put_on_a_file_stays_on_it(repository: Path, write: str):
    path = repository / "a.py"
    path.write_bytes(b"old")
    path.chmod(0o2751)
    access = bytes.fromhex("0200000001000600ffffffff02000400e803000004000500ffffffff10000500ffffffff20000100ffffffff")
    try:
        os.setxattr(path, "user.mark", b"kept")
        os.setxattr(path, "system.posix_acl_access", access)
    except OSError:
        pytest.skip("this file system has none")
    before = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    mode = path.stat().st_mode
    if write == "fix":
        write_file(str(path), b"new", b"old")
    else:
        put_file(str(path), b"new")
    assert path.read_bytes() == b"new" and path.stat().st_mode == mode
    assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == before


# -- what is read -----------------------------------------------------------------------------------------------------

OUTSIDE = {
    "acc.yaml": "distributed_type: DEEPSPEED\nnum_processes: 4711\n",
    "ds.json": '{"zero_optimization": {"stage": 3}}',
    "req.txt": "trl==0.9.6\n",
    "train.py": "from trl import SFTConfig\nSFTConfig(max_seq_length=4711)\n",
    "recipe.yaml": "max_seq_length: 4711\nmodel_name_or_path: s3cret\n",
    "lib.sh": "export SECRET=4711\npython train.py\n",
    "rows.jsonl": '{"s3cret": "4711"}\n',
    "VERSION": "4711.0\n",
    "mod.py": '__version__ = "4711.0"\nX = 4711\n',
    "Dockerfile": "FROM python\nRUN pip install trl==0.9.6\n",
    "compose.yml": "services:\n  a:\n    command: python train.py --x 4711\n",
    "common.mk": "X = 4711\n",
}
NAMING = {
    "run.sh": """
        source P/lib.sh
        pip install -r P/req.txt
        accelerate launch --config_file P/acc.yaml P/train.py --deepspeed P/ds.json --config P/recipe.yaml
        accelerate launch --config_file=P/acc.yaml train.py --config P/recipe.yaml
        axolotl train P/recipe.yaml
        deepspeed P/train.py --deepspeed_config P/ds.json
        cd P && python train.py
        python -m verl.trainer.main_ppo --config-path=P --config-name=recipe data.train_files=P/rows.jsonl
        make -f P/common.mk
        docker build -f P/Dockerfile .
        pip install $(cat P/req.txt)
    """,
    "requirements.txt": "-r P/req.txt\n-c P/req.txt\ntransformers==4.40.0\n-e P\n",
    "Makefile": "include P/common.mk\nall:\n\taccelerate launch --config_file P/acc.yaml train.py\n",
    "docker-compose.yml": "include:\n  - P/compose.yml\nservices:\n  b:\n    extends:\n      file: P/compose.yml\n"
    "      service: a\n",
    "pyproject.toml": """
        [project]
        name = "x"
        dynamic = ["version", "dependencies"]
        [tool.setuptools.dynamic]
        version = {file = "P/VERSION"}
        dependencies = {file = ["P/req.txt"]}
        [tool.hatch.version]
        path = "P/mod.py"
    """,
    "sub/setup.cfg": "[metadata]\nname=x\nversion=file:P/VERSION\n[options]\ninstall_requires=file:P/req.txt\n",
    "sub/setup.py": "from setuptools import setup\n"
    "setup(name='x', install_requires=open('P/req.txt').read().splitlines())\n",
    "recipe.yaml": "defaults:\n  - P/recipe\nhydra:\n  searchpath:\n    - file://P\ndeepspeed: P/ds.json\n"
    "train_file: P/rows.jsonl\n"
    "datasets:\n  - path: P/rows.jsonl\n    type: alpaca\n",
    "accelerate.yaml": "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: P/ds.json\n",
    "train.py": """
        import yaml
        from datasets import load_dataset
        from trl import SFTConfig, SFTTrainer
        ds = load_dataset("json", data_files="P/rows.jsonl")
        SFTConfig("o", deepspeed="P/ds.json", **yaml.safe_load(open("P/recipe.yaml")))
        SFTTrainer("m", train_dataset=ds)
    """,
    "environment.yml": "name: x\ndependencies:\n  - pip:\n    - -r P/req.txt\n",
    ".github/workflows/ci.yml": "on: push\njobs:\n  a:\n    steps:\n"
    "      - run: accelerate launch --config_file P/acc.yaml train.py\n",
    "README.md": "```bash\naccelerate launch --config_file P/acc.yaml train.py\npip install -r P/req.txt\n```\n",
}  # fmt: skip


@pytest.mark.parametrize("way", ["whole", "up", "folder link", "links"])
def test_nothing_outside_is_read_because_the_project_names_it(
    repository: Path, way: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    outside = repository.parent.parent / "outside"
    outside.mkdir()
    for name, text in OUTSIDE.items():
        (outside / name).write_text(text)
        (repository / f"l_{name}").symlink_to(outside / name)
    (repository / "linked").symlink_to(outside)
    place = {"whole": f"{outside}/", "up": "../../outside/", "folder link": "linked/", "links": "l_"}[way]
    shell = Shell(repository, capsys)
    for name, text in NAMING.items():
        shell.write(name, textwrap.dedent(text).replace("P/", place).replace(" P", f" {place}"))
    read: list[str] = []
    opened = tracked.opened
    monkeypatch.setattr(tracked, "opened", lambda path: (read.append(os.path.realpath(path)), opened(path))[1])
    said = ""
    for command in (("check", ".", "--select", "ALL"), ("runs", ".", "--all"), ("environment", ".")):
        done = shell(*command, "--output-format", "json")
        said += done.out + done.err
    assert [path for path in read if path.startswith(f"{outside}/") and not path.endswith(".gitignore")] == []
    assert "4711" not in said and "s3cret" not in said and "0.9.6" not in said
    if way in ("whole", "up", "links"):
        assert "is outside of this repository, so it was not read" in said
