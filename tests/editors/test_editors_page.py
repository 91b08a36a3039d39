"""docs/editors.md against what was tried: `make editors` follows the page in real editors, and keeps what it saw."""

from __future__ import annotations

import json
import re

import pytest
import tomli

from benchmarks.editors.page import PAGE, ROOT, SEEN, digest, results, said, with_results
from benchmarks.editors.project import FILES, OTHERS, in_bytes

RESULTS = results()
TEXT = PAGE.read_text("utf-8")
VSCODE = ROOT / "trl_lint" / "editors" / "vscode"
PICTURES = re.findall(r"!\[[^\]]+\]\((editors-[\w-]+\.png)\)", TEXT)
_MOST_BYTES = 150_000


def test_every_editor_was_tried_as_the_page_says():
    """Where a block has changed since, `make editors` has to try it again."""
    for one in [*RESULTS["tried"], RESULTS["pylsp"]]:
        assert digest(one["page"]["blocks"]) == one["page"]["digest"], one["page"]["blocks"]
    editors = {one["editor"] for one in RESULTS["tried"]}
    assert editors == {"Neovim", "Emacs", "VS Code"}
    assert [one["version"] for one in RESULTS["tried"] if one["editor"] == "Neovim"] == ["0.11.4", "0.7.2"]


def test_what_was_seen_is_right_and_on_the_page():
    assert all(all(one["seen"][name] for name in SEEN) for one in RESULTS["tried"])
    assert RESULTS["pylsp"]["times shown"] == {"both": 2.0, "as the page says": 1.0}
    assert with_results(TEXT, RESULTS) == TEXT


def test_pictures_are_small_and_all_are_shown():
    assert {path.name for path in (ROOT / "docs").glob("editors-*.png")} == set(PICTURES)
    assert len(PICTURES) == 3
    for name in PICTURES:
        data = (ROOT / "docs" / name).read_bytes()
        assert data.startswith(b"\x89PNG") and len(data) < _MOST_BYTES


def test_the_table_belongs_to_the_page():
    with pytest.raises(ValueError, match="no place"):
        with_results("# Page\n", RESULTS)
    with pytest.raises(ValueError, match=r"nothing of init\.xyz"):
        said("init.xyz")


def test_columns_of_clients_are_compared_in_bytes():
    line = FILES["train.py"].splitlines()[5]
    at = line.index("packing")
    assert in_bytes("train.py", 6, at) == in_bytes("train.py", 6, at + 1, "utf-16-le") == len(line[:at].encode())


def test_settings_of_editors_that_were_not_tried_have_the_form_they_take():
    """LSP4IJ reads id, name, programArgs and mappings (its ServerTemplateJsonDeserializer); the others their own."""
    template = json.loads(said("template.json"))
    assert set(template) == {"id", "name", "programArgs", "fileTypeMappings"}
    assert template["programArgs"]["default"] == "trl-lint server"
    for one in template["fileTypeMappings"]:
        assert one["languageId"] and one["fileType"]["patterns"]
    helix = tomli.loads(said("languages.toml"))
    (server,) = helix["language-server"]
    assert all(one["language-servers"] == [server] for one in helix["language"])
    (client,) = json.loads(said("LSP.sublime-settings"))["clients"].values()
    assert client["command"] == ["trl-lint", "server"]


def test_the_extension_is_small_and_starts_for_each_of_its_languages():
    about = json.loads((VSCODE / "package.json").read_text("utf-8"))
    assert about["contributes"]["configuration"]["properties"]["trl-lint.command"]["default"] == ["trl-lint", "server"]
    code = (VSCODE / about["main"]).read_text("utf-8")
    assert len(code.splitlines()) < 60
    languages = set(json.loads("[" + code.split("LANGUAGES = [")[1].split("]")[0].strip().rstrip(",") + "]"))
    assert {f"onLanguage:{name}" for name in languages} <= set(about["activationEvents"])


def test_the_project_has_a_file_of_each_kind():
    assert {*OTHERS, "train.py", "run.sh"} == set(FILES)
