"""Code actions: what they change is what the command line changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import SCRIPT
from fixture_cases import Case, cases, snapshot

pytest.importorskip("pygls", reason="the language server needs pygls 2")

from lsp_client import Client, changed, span
from lsprotocol import types

from trl_lint.commands.options import read_options
from trl_lint.commands.parsers import check_parser
from trl_lint.editors.server.desk import Desk
from trl_lint.editors.server.repairs import edits_between, edits_of, repaired
from trl_lint.editors.server.texts import UTF16, View
from trl_lint.editors.server.wire import Can, Writer
from trl_lint.finding import Finding
from trl_lint.fixes.apply import by_path, edited
from trl_lint.fixes.repair import Repair
from trl_lint.sources.files import Files, open_file
from trl_lint.sources.notebook import NotebookFile

_WITH_FIXES = [case for case in cases() if any(case.folder.rglob("*.fixed"))]
# One in eight at each run of the tests, all of them among the slow ones.
REPAIRED = [
    pytest.param(case, id=case.id, marks=[pytest.mark.slow] * bool(number % 8))
    for number, case in enumerate(_WITH_FIXES)
]
CAN: dict[str, Any] = {
    "textDocument": {
        "publishDiagnostics": {"versionSupport": True},
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}},
            "resolveSupport": {"properties": ["edit"]},
        },
    },
    "workspace": {"workspaceEdit": {"documentChanges": True}},
}
# The finding stands in a file that is not the one whose check finds it.
FOUND_ELSEWHERE = {
    "TRL204/bad_constraint",
    "TRL204/bad_requirements_file_that_is_included",
    "TRL601/bad_norm_without_effect",
    "TRL601/bad_trainer_with_deepspeed_json",
    "TRL601/bad_transformers_trainer_with_deepspeed_json",
}
EVERYWHERE = span(0, 0, 9_999, 0)


def _all_fixed(desk: Desk, project: Path) -> dict[str, bytes]:
    """Repair one file after the other, over the wire; what became of them."""
    paths = [str(path) for path in sorted(project.rglob("*")) if path.is_file()]
    for path in paths:
        checked = desk.check(path)
        for finding in checked.findings:
            _is_its_fix(finding, repaired(desk, path, finding), checked.files)
        for other, edits in by_path(edits_of(repaired(desk, path, unsafe=True))).items():
            file = checked.files.own(other)
            assert _by_protocol(file.path, file.text, edits) == edited(file.text, edits)
            desk.put({other: file.encode(edited(file.text, edits))})
    return {path: data for path in paths if (data := desk.contents.get(path)) is not None}


def _is_its_fix(finding: Finding, done: Repair, files: Files) -> None:
    """What the action of a finding changes is its fix, whole, or nothing at all."""
    assert finding.fix is not None or not done.changed
    if finding.fix is not None and done.changed:
        for path, edits in by_path(finding.fix.edits).items():
            file = files.own(path)
            assert done.changed.get(path, file.data) == file.encode(edited(file.text, edits))


def _by_protocol(path: str, text: str, edits: list[Any]) -> str:
    """The text after edits that went over the wire."""
    view = View(path, Path(path).as_uri(), text, 1, UTF16)
    desk_files = type("", (), {"own": staticmethod(lambda _: open_file(path))})()
    writer = Writer(desk_files, {path: view}.get, Can(types.ClientCapabilities()), UTF16)
    found = writer.workspace_edit(edits)
    assert found is not None and found.changes is not None
    whole = [
        {
            "range": {
                "start": {"line": e.range.start.line, "character": e.range.start.character},
                "end": {"line": e.range.end.line, "character": e.range.end.character},
            },
            "newText": e.new_text,
        }
        for e in found.changes[view.uris[0]]
    ]
    return changed(text, whole)


@pytest.mark.parametrize("case", REPAIRED)
def test_the_actions_of_a_fixture_write_what_fix_writes(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    if case.id in FOUND_ELSEWHERE:
        pytest.skip("what is wrong is found when another file is checked")
    project = case.copy_to(tmp_path / "project")
    monkeypatch.chdir(project)
    args = check_parser().parse_args(case.args())
    desk = Desk({**read_options(args), "hints": True})
    found = {str(Path(path).relative_to(project)): data for path, data in _all_fixed(desk, project).items()}
    before = snapshot(project)
    assert _seen({**before, **found}) == _seen({**before, **case.fixed()})


def _seen(files: dict[str, bytes]) -> dict[str, object]:
    """Files as they are edited: of a notebook the cells, not the layout of its JSON text."""
    return {
        path: [cell.text for cell in NotebookFile(path, data).cells] if path.endswith(".ipynb") else data
        for path, data in files.items()
    }


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT)
    found = Client(CAN)
    yield found
    found.hang_up()


def _actions(client: Client, uri: str, only: list[str] | None = None, where: Any = EVERYWHERE) -> dict[str, Any]:
    context: dict[str, Any] = {"diagnostics": []} if only is None else {"diagnostics": [], "only": only}
    asked = {"textDocument": {"uri": uri}, "range": where, "context": context}
    return {one["title"].partition(": ")[2]: one for one in client.ask("textDocument/codeAction", asked)}


def _applied(client: Client, action: dict[str, Any], text: str) -> str:
    found = client.ask("codeAction/resolve", action)
    (change,) = found["edit"]["documentChanges"]
    assert change["textDocument"]["version"] == 1
    return changed(text, change["edits"])


def test_a_finding_can_be_fixed_suppressed_and_explained(client: Client, tmp_path: Path):
    uri = client.open(tmp_path / "train.py")
    actions = _actions(client, uri)
    (fix,) = [one for one in actions.values() if one.get("isPreferred")]
    assert "edit" not in fix and fix["diagnostics"][0]["code"] == "TRL103"
    after = _applied(client, fix, SCRIPT)
    assert after != SCRIPT
    assert _applied(client, actions["fix all that is safe"], SCRIPT) == after
    assert "  # noqa: TRL103\n" in _applied(client, actions["suppress here with `# noqa: TRL103`"], SCRIPT)
    command = actions["explain"]["command"]
    asked = {"command": command["command"], "arguments": command["arguments"]}
    client.ask("workspace/executeCommand", asked)
    assert any("TRL103-" in str(m.get("params")) for m in client.said if m["method"] == "window/showMessage")


def test_only_what_is_asked_for_is_offered(client: Client, tmp_path: Path):
    uri = client.open(tmp_path / "train.py")
    assert list(_actions(client, uri, ["source.fixAll"])) == ["fix all that is safe"]
    assert _actions(client, uri, ["refactor"]) == {}
    assert list(_actions(client, uri, where=span(0, 0, 0, 0))) == ["fix all that is safe"]


def test_an_action_for_a_text_that_is_another_by_now_changes_nothing(client: Client, tmp_path: Path):
    uri = client.open(tmp_path / "train.py")
    (fix,) = [one for one in _actions(client, uri).values() if one.get("isPreferred")]
    client.change(uri, "\n" + SCRIPT)
    assert "edit" not in client.ask("codeAction/resolve", fix)


def test_a_client_that_cannot_resolve_gets_edits_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT)
    client = Client()
    actions = _actions(client, client.open(tmp_path / "train.py"))
    assert all("edit" in one or "command" in one for one in actions.values())
    client.hang_up()


def test_an_open_pin_can_be_bounded(client: Client, tmp_path: Path):
    pins = tmp_path / "requirements.txt"
    pins.write_text("trl>=0.12\n")
    script = tmp_path / "grpo.py"
    script.write_text("from trl import GRPOConfig\n\nGRPOConfig(max_prompt_length=1)\n")
    actions = _actions(client, client.open(script))
    (pin,) = [one for title, one in actions.items() if title.startswith("pin ")]
    (change,) = pin["edit"]["documentChanges"]
    after = changed("trl>=0.12\n", change["edits"])
    assert after.startswith("trl>=0.12,<")


@pytest.mark.parametrize(("before", "after"), [("a\nb\nc\n", "a\nB\nc\n"), ("a\n", ""), ("", "x"), ("a\r\nb", "a\nb")])
def test_edits_between_two_texts(before: str, after: str, tmp_path: Path):
    path = tmp_path / "a.py"
    path.write_bytes(before.encode())
    edits = list(edits_between(open_file(str(path)), after.encode()))
    text = before
    for edit in edits:
        text = text[: edit.start] + edit.content + text[edit.end :]
    assert text == after
