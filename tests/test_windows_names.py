"""Names that lead to another computer or to a device on Windows are not opened, wherever a repository has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trl_lint import stamps, tracked, windows
from trl_lint.cli import main
from trl_lint.writing import WriteError, put_file, write_file

SHARES = (
    "//evil/share/x.yaml",
    "\\\\evil\\share\\x.yaml",
    "//evil/share",
    "//evil",
    "\\\\?\\UNC\\evil\\share\\x.yaml",
    "//?/unc/evil/share/x.yaml",
    "\\\\.\\pipe\\x",
    "\\\\.\\PhysicalDrive0",
    "\\\\?\\GLOBALROOT\\Device\\x",
    "/\\evil/share/x.yaml",
    "//evil@SSL@8443/DavWWWRoot/x.yaml",
)
DEVICES = ("CON", "nul", "NUL.txt", "aux.yaml", "com1", "LPT9.json", "COM¹", "CONIN$", "nul ", "con:", "a/nul/b.py")
OTHERS = (
    "C:\\p\\x.yaml",
    "C:/p/x.yaml",
    "p/x.yaml",
    "/p/x.yaml",
    "\\p\\x.yaml",
    "\\\\?\\C:\\p\\x.yaml",
    "con_fig.yaml",
    "console.py",
    "nuls/x.py",
    "com10.py",
    "com.py",
    "x.nul",
    "auxiliary.yaml",
    ".con",
)


@pytest.mark.parametrize("path", [*SHARES, *DEVICES, *(f"C:\\p\\{name}" for name in DEVICES)])
def test_what_leads_away(path: str):
    assert windows.is_away(path)


@pytest.mark.parametrize("path", OTHERS)
def test_what_does_not(path: str):
    assert not windows.is_away(path)


@pytest.mark.parametrize("named", ["//Host/Share/p", "\\\\host\\share", "\\\\?\\UNC\\HOST\\share\\p\\q"])
def test_a_share_that_a_person_named_is_near_and_no_other(named: str):
    near = {windows.share_of(named)}
    assert not windows.is_away("\\\\host\\share\\p\\x.yaml", near)
    assert not windows.is_away("//HOST/SHARE/x.yaml", near)
    assert windows.is_away("\\\\host\\share\\p\\nul", near)
    assert windows.is_away("\\\\host\\other\\x.yaml", near)
    assert windows.is_away("\\\\evil\\share\\x.yaml", near)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the system is asked for, on what is taken for Windows."""
    monkeypatch.setattr(stamps, "IS_WINDOWS", True)
    monkeypatch.setattr(windows, "_named", set())
    windows._is_folder_away.cache_clear()
    found: list[str] = []

    def noting(name: str) -> None:
        real = getattr(os, name)

        def note(path: object, *rest: object, **more: object) -> object:
            found.append(os.fspath(path) if isinstance(path, (str, os.PathLike)) else "")  # type: ignore[arg-type]
            return real(path, *rest, **more)

        monkeypatch.setattr(os, name, note)

    for name in ("open", "stat", "scandir", "listdir"):
        noting(name)
    return found


def is_bad(path: str) -> bool:
    return "evil" in path or windows.is_away(path)


@pytest.mark.parametrize("path", ["//evil/share/x.yaml", "/p/nul", "CON"])
def test_nothing_is_asked_of_the_system(path: str, asked: list[str]):
    for look in (tracked.is_file, tracked.is_folder, tracked.exists, tracked.is_there, tracked.is_link):
        assert not look(path)
    for read in (tracked.read, tracked.size, tracked.entries, stamps.opened):
        with pytest.raises(FileNotFoundError):
            read(path)
    assert tracked.real(path) == path
    with pytest.raises(OSError, match="another computer or to a device"):
        put_file(path, b"")
    with pytest.raises(WriteError):
        write_file(path, b"", b"")
    assert not any(map(is_bad, asked))


@pytest.mark.parametrize("target", ["//evil/share", "//evil/share/x.yaml", "nul"])
def test_a_link_is_not_followed_there(target: str, asked: list[str], tmp_path: Path):
    (tmp_path / "link").symlink_to(target)
    (tmp_path / "second").symlink_to("link")
    (tmp_path / "fine").symlink_to("x.yaml")
    (tmp_path / "x.yaml").write_text("a: 1\n")
    for name in ("link", "link/x.yaml", "second", "second/x/y"):
        assert not tracked.is_file(str(tmp_path / name)) and not tracked.is_folder(str(tmp_path / name))
    assert tracked.is_file(str(tmp_path / "fine"))
    assert not any("evil" in path or path.endswith("nul") for path in asked)


def test_links_in_a_circle_lead_nowhere(asked: list[str], tmp_path: Path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert not tracked.is_file(str(tmp_path / "a"))


SFT = "trl sft --model_name_or_path m --dataset_name d --output_dir o"
PLACES = {
    "settings that extend": ("trl-lint.toml", 'extend = "{}"\n'),
    "a baseline": ("trl-lint.toml", 'baseline = "{}"\n'),
    "knowledge": ("trl-lint.toml", 'knowledge = ["{}"]\n'),
    "the cache": ("trl-lint.toml", 'cache-dir = "{}"\n'),
    "what is left out": ("trl-lint.toml", 'extend-exclude = ["{}"]\n'),
    "a recipe of a command": ("run.sh", SFT + " --config {}\n"),
    "a config of a launcher": ("run.sh", "accelerate launch --config_file {} train.py\n"),
    "a script": ("run.sh", "accelerate launch {}\n"),
    "a sourced script": ("run.sh", "source {}\n" + SFT + "\n"),
    "a folder": ("run.sh", "cd {}\n" + SFT + " --config x.yaml\n"),
    "requirements": ("requirements.txt", "-r {}\ntrl==0.20.0\n"),
    "constraints": ("requirements.txt", "-c {}\ntrl==0.20.0\n"),
    "a package on the disk": ("requirements.txt", "-e {}\ntrl==0.20.0\n"),
    "a file in setup.cfg": ("setup.cfg", "[options]\ninstall_requires = file: {}\n"),
    "a script's dataset": (
        "train.py",
        "from datasets import load_dataset\nfrom trl import SFTTrainer\n"
        'SFTTrainer("m", train_dataset=load_dataset("json", data_files="{}")["train"])\n',
    ),
    "a script's DeepSpeed config": (
        "train.py",
        'from trl import SFTConfig\nSFTConfig(output_dir="o", deepspeed="{}")\n',
    ),
    "a recipe's DeepSpeed config": ("sft.yaml", "model_name_or_path: m\nlearning_rate: 1e-5\ndeepspeed: {}\n"),
    "a data set of axolotl": ("axolotl.yaml", "base_model: m\nrl: dpo\ndatasets:\n  - path: {}\noutput_dir: o\n"),
    "an image": ("Dockerfile", "FROM x\nCOPY {} .\nRUN pip install -r {}\n"),
    "a Makefile": ("Makefile", "include {}\nall:\n\t" + SFT + "\n"),
    "a workflow": (
        ".github/workflows/x.yml",
        "on: push\njobs:\n  a:\n    steps:\n      - run: " + SFT + " --config {}\n",
    ),
    "a compose file": ("compose.yaml", "services:\n  a:\n    env_file: {}\n    command: " + SFT + "\n"),
    "a page": ("README.md", "```bash\n" + SFT + " --config {}\n```\n"),
    "a log": (
        "train.log",
        'Traceback (most recent call last):\n  File "{}", line 1, in <module>\n    x[1]\nKeyError: 1\n',
    ),
    "an ignore file": (".gitignore", "{}\n"),
    "a repository elsewhere": (".git", "gitdir: {}\n"),
}


@pytest.mark.parametrize("target", ["//evil/share/x.yaml", "CON"])
@pytest.mark.parametrize("place", PLACES)
def test_a_repository_opens_none(
    place: str, target: str, asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: object
):
    name, text = PLACES[place]
    folder = tmp_path / "checkout"
    path = folder / name
    path.parent.mkdir(parents=True)
    if name != ".git":
        (folder / ".git").mkdir()
    if name != "train.py":
        (folder / "train.py").write_text('from trl import SFTConfig\nSFTConfig(output_dir="o")\n')
    path.write_text(text.replace("{}", target))
    monkeypatch.chdir(folder)
    arguments = ["diagnose", name] if name.endswith(".log") else ["--no-cache", "-j1", "."]
    assert main(arguments) in (0, 1, 2)
    away = [path for path in asked if not path.startswith(f"{folder}/")]  # a log is compared with files of the checkout
    assert [path for path in away if "evil" in path] == []
    assert [path for path in asked if path.rpartition("/")[2] == "CON"] == []
