from __future__ import annotations

import ast
import json
from typing import Any

import pytest

from trl_lint.sources import Position, SourceError
from trl_lint.sources.files import open_file
from trl_lint.sources.json import read_json_text
from trl_lint.sources.magics import magics
from trl_lint.sources.notebook import NotebookFile, python_source, shell_lines


def code(*lines: str, **more: Any) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "outputs": [], "source": list(lines), **more}


def text_of(*cells: dict[str, Any], ascii_only: bool = False, **metadata: Any) -> str:
    return json.dumps({"cells": list(cells), "metadata": metadata, "nbformat": 4}, indent=1, ensure_ascii=ascii_only)


def notebook(text: str) -> NotebookFile:
    file = open_file("/project/train.ipynb", text.encode())
    assert isinstance(file, NotebookFile)
    return file


def python(*cells: dict[str, Any], **metadata: Any) -> str:
    return python_source(notebook(text_of(*cells, **metadata))).text


def edited(file: NotebookFile, old: str, new: str) -> str:
    """The text of the file after replacing the first `old` of its Python text."""
    source = python_source(file)
    start = source.text.index(old)
    edit = source.edit(start, start + len(old), new)
    return file.text[: edit.start] + edit.content + file.text[edit.end :]


# -- text -------------------------------------------------------------------------------------------------------------


def test_code_cells_are_joined() -> None:
    assert python(code("import trl\n", "a = 1"), {"cell_type": "markdown", "source": "# a"}, code("b = 2\n")) == (
        "import trl\na = 1\nb = 2\n"
    )


def test_source_may_be_one_string() -> None:
    assert python(code(source="a = 1\nb = 2")) == "a = 1\nb = 2\n"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("!pip install trl\n", "pass\n"),
        ("%pip install trl", "pass\n"),
        ("if x:\n    !ls\n    %cd ..\n", "if x:\n    pass\n    pass\n"),
        ("files = !ls\n", "files = input()\n"),
        ("a, b = %who_ls\n", "a, b = input()\n"),
        ("!pip install \\\n  trl \\\n  vllm\nx = 1\n", "pass\nx = 1\n"),
        ("trainer?\n", "pass\n"),
        ("?trainer\n", "pass\n"),
        ("trainer.train??\n", "pass\n"),
        ("%%time\ntrain()\n", "pass\ntrain()\n"),
        ("\n%%capture out\ntrain()\n", "\npass\ntrain()\n"),
        ("!ls\r\nx = 1\r\n", "pass\r\nx = 1\r\n"),
        ("#!shebang\nx = 1 # !no\n", "#!shebang\nx = 1 # !no\n"),
    ],
)
def test_magics_become_python(written: str, read: str) -> None:
    assert python(code(source=written)) == read
    ast.parse(read)


@pytest.mark.parametrize(
    "written",
    [
        's = """\n!ls\n%s\n""" % a\n',
        "x = (a\n  % b)\n",
        "x = a \\\n  % b\n",
        "d = {\n  'k':\n  # ! ' unclosed\n  1,\n}\n",
        "x %= 3\n",
        "y != 3\n",
        "s = 'it\\'s' ; t = ''\n",
        "s = '''a'b''' # ?\n",
    ],
)
def test_python_stays_as_it_is(written: str) -> None:
    ast.parse(written)
    assert magics(written) == []
    assert python(code(source=written)) == written


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (" a = 1\n b = 2", "a = 1\nb = 2\n"),
        ("\n  \n    if a:\n        b\n    c", "\n  \nif a:\n    b\nc\n"),  # blank lines first
        ("  !pip install \\\n  trl\n  a", "pass\na\n"),
        ("\ta = 1\r\n\tb", "a = 1\r\nb\n"),
        ("   ", "   \n"),
    ],
)
def test_indentation_of_a_whole_cell_is_taken_away(written: str, read: str) -> None:
    """As IPython does it (checked with IPython 9.18.1)."""
    assert python(code(written)) == read


def test_edit_over_lines_whose_indentation_is_taken_away_is_refused() -> None:
    file = notebook(text_of(code("  a = 1\n", "  b = 2")))
    assert "a = 3" in edited(file, "a = 1", "a = 3")
    with pytest.raises(SourceError, match="indentation"):
        edited(file, "1\nb", "3\nb")


def test_cells_of_other_languages_are_left_out() -> None:
    assert python(code("%%bash\n", "ls"), code("%%writefile train.py\n", "import x"), code("a = 1")) == "a = 1\n"
    assert python(code("a = 1"), code("SELECT 1", metadata={"vscode": {"languageId": "sql"}})) == "a = 1\n"
    assert python(code("x <- 1"), kernelspec={"language": "R", "name": "ir"}) == ""
    assert python(code("a = 1"), kernelspec={"name": "python3"}) == "a = 1\n"


def test_notebook_of_format_3() -> None:
    cells = [{"cell_type": "code", "language": "python", "input": ["a = 1\n", "b = 2"], "outputs": []}]
    text = json.dumps({"worksheets": [{"cells": cells}], "nbformat": 3})
    file = notebook(text)
    assert python_source(file).text == "a = 1\nb = 2\n"
    assert '"b = 3"' in edited(file, "b = 2", "b = 3")


def test_shell_commands_are_found() -> None:
    cells = [
        code("!pip install trl==0.15 \\\n", "   vllm\n", "if gpu:\n", "  %pip install -q flash-attn\n"),
        code("out = !nvidia-smi\n", "%system ls\n", "%matplotlib inline"),
        code("%%bash -e\n", "accelerate launch train.py\n"),
    ]
    file = notebook(text_of(*cells))
    lines = shell_lines(file)
    assert [(line.language, line.text) for line in lines] == [
        ("shell", "pip install trl==0.15 \\\n   vllm"),
        ("shell", "pip install -q flash-attn"),
        ("shell", "nvidia-smi"),
        ("shell", "ls"),
        ("shell", "accelerate launch train.py\n"),
    ]
    place = lines[0].location(lines[0].text.index("trl"), lines[0].text.index("trl") + 9)
    assert file.text[place.start : place.end] == "trl==0.15"
    assert file.position(place.start) == Position(1, 14, 1)


# -- places -----------------------------------------------------------------------------------------------------------

TRICKY = 'a = "é\U0001f600" # \t"quoted" \\ and / end\n'


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("as_list", [True, False])
def test_every_character_is_found_in_the_file(ascii_only: bool, as_list: bool) -> None:
    lines = ["!ls\n", TRICKY, "\n", "b = '\U0001f600'"]
    cell = code(*lines) if as_list else code(source="".join(lines))
    file = notebook(text_of(cell, code("c = 1"), ascii_only=ascii_only).replace("/", "\\/"))
    source = python_source(file)
    for offset in range(source.text.index("a ="), source.text.index("\nc = 1")):
        place = source.location(offset, offset + 1)
        assert json.loads(f'"{file.text[place.start : place.end]}"') == source.text[offset]


def test_positions_are_those_inside_the_cell() -> None:
    file = notebook(
        text_of({"cell_type": "markdown", "source": ["# a\n"]}, code("é = 1\n", "x = 'é'; y = 2"), ascii_only=True)
    )
    source = python_source(file)
    start = source.text.index("y = 2")
    place = source.location(start, start + 5)
    assert file.position(place.start) == Position(2, 10, 2)
    assert file.position(place.end) == Position(2, 15, 2)
    assert file.position(0) == Position(1, 1)


def test_magic_has_the_place_of_what_was_written() -> None:
    file = notebook(text_of(code("x = 1\n", "!pip install \\\n", "  trl")))
    source = python_source(file)
    start = source.text.index("pass")
    place = source.location(start, start + 4)
    assert file.text[place.start : place.end].startswith("!pip install")
    assert file.text[place.start : place.end].endswith("trl")


# -- edits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ascii_only", [True, False])
def test_edit_changes_one_string_and_nothing_else(ascii_only: bool) -> None:
    cells = [code("name = 'é'\n", "x = f(1)\n", "y = 2"), code("z = 3", outputs=[{"text": ["x = f(1)\\n"]}])]
    file = notebook(text_of(*cells, ascii_only=ascii_only).replace("\n", "\r\n"))
    new = edited(file, "f(1)", "f('ü\\n', \"q\")")
    cells[0]["source"][1] = "x = f('ü\\n', \"q\")\n"
    assert new == text_of(*cells, ascii_only=ascii_only).replace("\n", "\r\n")


def test_edit_over_several_lines_of_a_cell() -> None:
    file = notebook(text_of(code("a = [\n", "  1,\n", "]\n", "b = 2")))
    new = json.loads(edited(file, "[\n  1,\n]", "[1]"))
    assert "".join(new["cells"][0]["source"]) == "a = [1]\nb = 2"


def test_edit_of_the_last_line_with_its_end() -> None:
    file = notebook(text_of(code("a = 1\n", "b = 2"), code("c = 3")))
    new = json.loads(edited(file, "b = 2\n", ""))
    assert ["".join(cell["source"]) for cell in new["cells"]] == ["a = 1\n", "c = 3"]


def test_insertion_lands_where_it_was_asked_for() -> None:
    file = notebook(text_of(code("a = 1"), code("c = 3")))
    source = python_source(file)
    edit = source.edit(len("a = 1"), len("a = 1"), "\nb = 2")
    new = json.loads(file.text[: edit.start] + edit.content + file.text[edit.end :])
    assert ["".join(cell["source"]) for cell in new["cells"]] == ["a = 1\nb = 2", "c = 3"]


def test_edit_over_two_cells_is_refused() -> None:
    with pytest.raises(SourceError, match="two cells"):
        edited(notebook(text_of(code("a = 1"), code("b = 2"))), "a = 1\nb", "c")


def test_edit_of_a_magic_is_refused() -> None:
    with pytest.raises(SourceError, match="magic"):
        edited(notebook(text_of(code("!ls\n", "b = 2"))), "pass\nb", "c")


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ('{"cells": [', "ends where a value is expected", 11),
        ("[]", "not a notebook", 0),
        ('{"cells": 3}', "not a notebook", 0),
        ("", "ends where a value is expected", 0),
    ],
)
def test_what_is_no_notebook_is_refused_with_a_place(text: str, message: str, place: int) -> None:
    file = notebook(text)
    with pytest.raises(SourceError) as error:
        python_source(file)
    assert message in error.value.message
    assert error.value.offset == place
    assert file.position(place).cell is None


def test_empty_cells_and_odd_ones_do_no_harm() -> None:
    cells = [code(), code(""), {"cell_type": "code"}, {"cell_type": "raw", "source": ["x"]}, code("a = 1")]
    assert python(*cells).strip() == "a = 1"
    assert python() == ""


# -- what is passed over ----------------------------------------------------------------------------------------------

CELL = '{"cell_type": "code", "source": ["a = 1\\n", "b"], "outputs": %s, "metadata": {}}'


@pytest.mark.parametrize(
    "outputs",
    ["[]", "null", '[{"data": {"image/png": "iVBOR"}, "text": ["\\u00e4", 1e5, NaN]}]', "[[[[{}]]]]", '"x"'],
)
def test_outputs_are_passed_over(outputs: str):
    text = f'{{"cells": [{CELL % outputs}, {CELL % outputs}], "metadata": {{"widgets": {{"a": [1]}}}}, "nbformat": 4}}'
    first, second = NotebookFile("/p/a.ipynb", text.encode()).cells
    assert (first.text, second.text) == ("a = 1\nb", "a = 1\nb")
    assert [text[cell.start : cell.end] for cell in (first, second)] == [CELL % outputs] * 2
    assert text[second.raw_start(6)] == "b"


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ("[1,]", "not JSON: trailing comma"),
        ("[1 2]", "not JSON: expecting ',' delimiter"),
        ('["\\x"]', "not JSON: "),
        ("[tru]", "not JSON: expecting a value"), ("[" * 5000 + "]" * 5000, "nested more than"), ("", "not JSON: "),
    ],
)  # fmt: skip
def test_what_is_passed_over_is_checked_all_the_same(outputs: str, message: str):
    text = f'{{"cells": [{CELL % outputs}], "nbformat": 4}}'
    with pytest.raises(SourceError) as caught:
        _ = NotebookFile("/p/a.ipynb", text.encode()).cells
    with pytest.raises(SourceError) as whole:
        read_json_text(text)
    assert caught.value.message.startswith(message)
    assert (caught.value.message, caught.value.offset) == (whole.value.message, whole.value.offset)
