"""The flake8 plugin by itself: the buffer that flake8 hands over, and its tree."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from fixture_cases import FIXTURES
from flake8_cases import FAULT, age, codes

from trl_lint.editors import context
from trl_lint.editors.flake8_plugin import Asked, Flake8Checker, _file_on_disk, findings, python_path
from trl_lint.python.module import PythonModule
from trl_lint.sources import Source

FSDP = """from transformers import AutoModelForCausalLM
from trl import GRPOTrainer


class Trainer(GRPOTrainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        ref_model = AutoModelForCausalLM.from_pretrained("x")
        self.ref_model = self.accelerator.prepare_model(ref_model, evaluation_mode=True)
"""


def test_cells_that_an_editor_has_joined_are_python(project: Path):
    (project / "nb.ipynb").write_text("{}")
    assert [line for line, _, _ in findings("nb.ipynb", "\n" + FAULT)] == [7]


def test_names_of_python_and_of_nothing_else(project: Path):
    assert python_path("a/train.py") == str(project / "a" / "train.py")
    assert python_path("/x/stubs.pyi") == "/x/stubs.pyi"
    assert python_path("bin/train") == str(project / "bin" / "train.py")
    for name in ("recipe.yaml", "requirements.txt", "Makefile", "README.md", "run.sh", "pyproject.toml"):
        assert python_path(name) is None


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-8-sig"])
@pytest.mark.parametrize("saved", [True, False])
def test_columns_are_right_in_every_encoding(project: Path, encoding: str, saved: bool):
    cookie = "# coding: latin-1\n" if encoding == "latin-1" else "# é\n"
    text = cookie + FAULT.replace("return torch", "return 'é' != torch")
    (project / "train.py").write_bytes(text.encode(encoding) if saved else b"x = 1\n")
    assert [(line, column) for line, column, _ in findings("train.py", text)] == [(7, 18)]


def test_line_ends_make_no_difference(project: Path):
    (project / "train.py").write_bytes(FAULT.replace("\n", "\r\n").encode())
    for text in (FAULT, FAULT.replace("\n", "\r\n"), FAULT.replace("\n", "\r")):
        assert [(line, column) for line, column, _ in findings("train.py", text)] == [(6, 11)]


def test_no_finding_is_past_the_end(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trl_lint.editors.flake8_plugin.findings", lambda *_: [(0, 0, "TRL1 a"), (99, 0, "TRL1 b")])
    found = Flake8Checker(ast.parse(""), "train.py", ["x = 1\n", "y = 2\n"]).run()
    assert [line for line, _, _, _ in found] == [1, 2]


def test_another_file_that_explains_a_finding_is_named(project: Path):
    (project / "train.py").write_text(FSDP)
    (project / "configs").mkdir()
    (project / "configs" / "fsdp.yaml").write_text("distributed_type: FSDP\nnum_processes: 2\n")
    (project / "run.sh").write_text("accelerate launch --config_file configs/fsdp.yaml train.py\n")
    (entry,) = [entry for entry in findings("train.py", FSDP) if "TRL101" in entry[2]]
    assert entry[:2] == (9, 25) and entry[2].endswith("[configs/fsdp.yaml:1: this run uses FSDP]")


# -- the tree of flake8 ---------------------------------------------------------------------------------------------


def of_flake8(path: Path) -> tuple[list[str], ast.AST]:
    """The lines that flake8 hands over for a file, and the tree that it makes of them."""
    from flake8.processor import FileProcessor

    options = SimpleNamespace(hang_closing=False, indent_size=4, max_line_length=79, max_doc_length=None, verbose=0)
    processor = FileProcessor(str(path), options)  # type: ignore[arg-type]
    return processor.lines, processor.build_ast()


VARIANTS: dict[str, Callable[[str], bytes]] = {
    "plain": lambda text: text.encode(),
    "CR LF": lambda text: text.replace("\n", "\r\n").encode(),
    "CR": lambda text: text.replace("\n", "\r").encode(),
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "latin-1": lambda text: ("# coding: latin-1\n# \xe9\n" + text).encode("latin-1", "replace"),
    "form feeds": lambda text: ("\f\n" + text.replace("\n\n", "\n\f\n\f")).encode(),
    "wide characters": lambda text: ("'\U0001f600'; " + text).encode(),
    "mixed line ends": lambda text: text.replace("\n", "\r\n", 3).replace("\n", "\r", 1).encode(),
}


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("variant", VARIANTS)
def test_its_tree_is_ours_node_by_node(project: Path, variant: str, step: int):
    """In every kind of line end and encoding, for every eighth fixture, or each, that parses so."""
    compared = 0
    path = project / "train.py"
    for fixture in sorted(FIXTURES.rglob("*.py"))[::step]:
        path.write_bytes(VARIANTS[variant](fixture.read_text("utf-8")))
        try:
            lines, tree = of_flake8(path)
        except SyntaxError:  # `from __future__` and such have to come first
            continue
        file = _file_on_disk(str(path), "".join(lines))
        assert file is not None
        own = PythonModule(Source(file, "python"))
        assert ast.dump(own.tree, include_attributes=True) == ast.dump(tree, include_attributes=True)
        file.tree = tree  # type: ignore[assignment]
        given = PythonModule(Source(file, "python"))
        assert given.tree is tree and [given.span(call) for call in given.calls] == list(map(own.span, own.calls))
        compared += 1
    assert compared > 300 // step


def test_nothing_is_parsed_again(project: Path, monkeypatch: pytest.MonkeyPatch):
    path = project / "train.py"
    path.write_bytes(("# \xe9\n" + FAULT).replace("\n", "\r\n").encode())
    lines, tree = of_flake8(path)
    monkeypatch.setattr("trl_lint.python.module.parse", None)
    found = list(Flake8Checker(tree, "train.py", lines).run())
    assert [(line, column, text[:6]) for line, column, text, _ in found] == [(7, 11, "TRL103")]


def test_a_tree_is_not_that_of_the_file_where_the_buffer_is_another_text(project: Path):
    (project / "train.py").write_text("x = 1\n")
    found = findings("train.py", FAULT, ast.parse(FAULT))
    assert [message[:6] for _, _, message in found] == ["TRL103"]
    assert codes(project / "train.py") == []


def test_a_file_that_changed_after_its_project_read_it_is_read_anew(project: Path):
    """Another file has the whole project read, this one with it; its tree is then of another text than the one held."""
    train = project / "train.py"
    train.write_text("\n" + FAULT)
    age(project)
    assert codes(train) == ["TRL103"]
    known = context.context_for(str(train))
    assert known.workspace.files.is_open(str(train))
    train.write_text(FAULT)
    known._next_look = time.monotonic() + 60
    found = findings("train.py", FAULT, ast.parse(FAULT))
    assert [(line, message[:6]) for line, _, message in found] == [(6, "TRL103")]


def test_a_large_file_that_names_nothing_is_still_said_to_be_unread(project: Path):
    text = "x = 1\n" * 400_000
    (project / "data.py").write_text(text)
    assert findings("data.py", text, ast.parse("x = 1\n")) == []  # nor does the command line fail for it
    ((line, _, message),) = findings("data.py", text, ast.parse("x = 1\n"), Asked(hints=True))
    assert line == 1 and message.startswith("TRL001 not checked")


@pytest.mark.parametrize("error", [ValueError("a\nb"), RecursionError("deep"), MemoryError(), KeyError("x")])
def test_a_crash_of_ours_is_one_finding(project: Path, monkeypatch: pytest.MonkeyPatch, error: Exception):
    def crash(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("trl_lint.workspace.check_state", crash)
    (project / "train.py").write_text(FAULT)
    ((line, column, message, _),) = Flake8Checker(ast.parse(FAULT), "train.py", FAULT.splitlines(True)).run()
    assert (line, column) == (1, 0)
    assert message.startswith(f"TRL003 trl-lint failed: {type(error).__name__}") and "\n" not in message
