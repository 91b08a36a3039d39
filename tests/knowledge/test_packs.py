"""Texts of `rules/` as a wheel holds them: the same as in a checkout."""

from pathlib import Path
from typing import Any

import pytest
import tomli

from trl_lint import knowledge
from trl_lint.knowledge import PACKED, KnowledgeError, packed, uncommented

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(knowledge, "rules_dir", lambda: str(tmp_path))
    knowledge._pack.cache_clear()
    (tmp_path / "pages").mkdir()
    return tmp_path / "pages"


@pytest.fixture(autouse=True)
def forget():
    yield
    knowledge._pack.cache_clear()


def pack(folder: Path) -> None:
    """What a build does: one file instead of the folder."""
    folder.with_suffix(".txt").write_bytes(packed(str(folder)).encode())
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


@pytest.mark.parametrize("text", ["one\n", "===\n", " ===== x\n", "a\r\nb\n", "\n", "ü\n\n", "a ===== b\n"])
def test_a_packed_text_is_read_as_it_was(folder: Path, text: str):
    (folder / "b.md").write_bytes(text.encode())
    (folder / "a.md").write_text("another\n", "utf-8")
    before = [(name, knowledge.read_text(f"pages/{name}")) for name in knowledge.text_names("pages")]
    knowledge._pack.cache_clear()
    pack(folder)
    assert before == [("a.md", "another\n"), ("b.md", text)]
    assert [(name, knowledge.read_text(f"pages/{name}")) for name in knowledge.text_names("pages")] == before


@pytest.mark.parametrize("text", ["no line end", "", "===== b.md\n", "one\n===== two\nthree\n"])
def test_a_text_that_would_be_read_as_another_is_refused(folder: Path, text: str):
    (folder / "a.md").write_text(text, "utf-8")
    with pytest.raises(KnowledgeError, match=r"a\.md"):
        packed(str(folder))


def test_a_compressed_pack_is_read_as_it_was(folder: Path):
    texts = folder.parent / "symptoms"
    texts.mkdir()
    (texts / "a.toml").write_text("[[symptom]]\n# said\nid = 'ü'\n", "utf-8")
    name, data = knowledge.pack_of(str(texts))
    (texts / "a.toml").unlink()
    texts.rmdir()
    (folder.parent / name).write_bytes(data)
    assert name == "symptoms.txt.bz2" and knowledge.text_names("symptoms") == ["a.toml"]
    assert knowledge.read_text("symptoms/a.toml") == "[[symptom]]\n\nid = 'ü'\n"


def test_a_text_that_is_not_there_is_told(folder: Path):
    pack(folder)
    with pytest.raises(FileNotFoundError, match="pages/none"):
        knowledge.read_text("pages/none.md")
    with pytest.raises(FileNotFoundError):
        knowledge.text_names("symptoms")


def test_an_empty_folder_has_no_texts(folder: Path):
    pack(folder)
    assert knowledge.text_names("pages") == []


ONLY_READ_HERE = ("example", "printed_by", "bad", "fine", "twice", "checked")


def test_tables_say_the_same_without_comments_and_examples():
    for name in ("", *PACKED):
        for path in (ROOT / "rules" / name).glob("*.toml"):
            text = path.read_text("utf-8")
            shorter = uncommented(text)
            names = ONLY_READ_HERE if name == "bugs" else (*ONLY_READ_HERE, "evidence")
            left = tomli.loads(shorter) if name == "bugs" else without(("evidence",), tomli.loads(shorter))
            assert left == without(names, tomli.loads(text)), path
            assert len(shorter.split("\n")) == len(text.split("\n"))


def without(names: tuple[str, ...], value: Any) -> Any:
    """The same without these keys, wherever they stand, and without the code of a bug."""
    if isinstance(value, dict):
        left = {key: inner for key, inner in value.items() if key not in names}
        return {key: without(names, inner) for key, inner in left.items() if (key, type(inner)) != ("code", dict)}
    return [without(names, inner) for inner in value] if isinstance(value, list) else value
