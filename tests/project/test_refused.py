"""A file that a person or a command names is read, or the report says why nothing of it was checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.settings import Settings

SCRIPT = """\
from trl import GRPOConfig, GRPOTrainer, TrlParser

(args,) = TrlParser((GRPOConfig,)).parse_args_and_config()
GRPOTrainer(model="m", args=args, reward_funcs=[len], train_dataset=ds).train()
"""
BROKEN = {
    ".yaml": [
        b"a: [1\n",
        b"a: 'b\n",
        b"\ta: 1\n",
        b"a: b: c\n",
        b"a\0b: 1\n",
        b"\xff\xfe" + "a: [1\n".encode("utf-16-le"),
    ],
    ".yml": [b"x: {\n", b"\xfe\xff" + "a: [1\n".encode("utf-16-be")],
    ".json": [b"{\n", b'{"a": 1\n', b"{'a': 1}\n", b'{"a": 1}}\n', b"\xff\xfe" + b"{\0" + b'"\0', b"\xff", b""],
    ".toml": [b"[a\n", b"a = \n", b"\xff"],
}
# What a command gives as a config, and is none.
NO_CONFIG = {
    ".yaml": [b"- a\n- b\n", b"text\n", b"", b"a: 1\n---\nb: 2\n", b"\xff\xfe" + "text\n".encode("utf-16-le")],
    ".yml": [b"[]\n"],
    ".json": [b"[1]\n", b"1\n"],
}
FINE = {
    ".yaml": [b"output_dir: out\n", b"\xff\xfe" + "output_dir: out\n".encode("utf-16-le")],
    ".json": [b'{"output_dir": "out"}\n'],
}
# A person may name anything: what a hook hands over, all that has changed.
ANYTHING = {
    **{suffix: [*texts] for suffix, texts in NO_CONFIG.items()},
    ".json": [b"[1]\n", b'{"a": 1}\n{"a": 2}\n', b'{\n "a": 1\n}\n{"a": 2}', b'// a\n{"a": 1, /* b */}\n', b"1\n2\n"],
    ".toml": [b"[a]\nb = 1\n", b""],
    ".txt": [b"[a\n", b"\xff"],
    ".cfg": [b"{\n"],
}


def said(folder: Path, name: str, data: bytes, by_command: bool) -> list[str]:
    """What a report says of a file that is named."""
    (folder / name).write_bytes(data)
    if by_command:
        (folder / "train.py").write_text(SCRIPT)
        (folder / "run.sh").write_text(f"python train.py --config {name}\n")
    result = check([str(folder if by_command else folder / name)], Settings(root=str(folder)))
    found = [finding.location.path for finding in result.findings if finding.code == "TRL001"]
    notices = [one.location.path for one in result.notices if one.kind in ("unread-file", "large-file")]
    return [path for path in (*found, *notices) if path.endswith(name)]


def cases(table: dict[str, list[bytes]]) -> list[tuple[str, bytes]]:
    return [(f"a{suffix}", data) for suffix, texts in table.items() for data in texts]


@pytest.mark.parametrize(("name", "data"), cases(BROKEN))
def test_a_broken_file_that_a_person_names(tmp_path: Path, name: str, data: bytes):
    assert len(said(tmp_path, name, data, False)) == 1


@pytest.mark.parametrize(("name", "data"), [case for case in cases(BROKEN) if not case[0].endswith(".toml")])
def test_a_broken_file_that_a_command_names(tmp_path: Path, name: str, data: bytes):
    assert len(said(tmp_path, name, data, True)) == 1


@pytest.mark.parametrize(("name", "data"), cases(NO_CONFIG))
def test_a_config_without_keys_that_a_command_names(tmp_path: Path, name: str, data: bytes):
    assert len(said(tmp_path, name, data, True)) == 1


@pytest.mark.parametrize(("name", "data"), cases(FINE))
def test_a_config_that_can_be_read(tmp_path: Path, name: str, data: bytes):
    assert said(tmp_path, name, data, True) == []
    assert said(tmp_path, name, data, False) == []


@pytest.mark.parametrize(("name", "data"), cases(ANYTHING))
def test_a_person_may_name_anything(tmp_path: Path, name: str, data: bytes):
    assert said(tmp_path, name, data, False) == []
