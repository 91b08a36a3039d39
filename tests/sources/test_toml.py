from __future__ import annotations

import datetime

import pytest
import tomli

from trl_lint.sources import Source, SourceError, SourceFile
from trl_lint.sources.nodes import Mapping, Node, Scalar, Sequence, find, walk
from trl_lint.sources.toml import read_toml


def read(text: str) -> Mapping:
    return read_toml(Source(SourceFile("/project/pyproject.toml", text.encode()), "toml", text))


def plain(node: Node) -> object:
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Mapping):
        return {entry.key.value: plain(entry.value) for entry in node.entries}
    return [plain(item) for item in node.items]


def spot(text: str, path: str) -> str:
    node = find(read(text), path)
    assert node is not None
    return text[node.start : node.end]


@pytest.mark.parametrize(
    "text",
    [
        'name = "trl"\n[project]\ndependencies = [\n  "trl>=0.15", # why\n  "vllm",\n]\n',
        "a.b.c = 1\na.b.d = 2\n[a.e]\nf = 0x1F\n",
        "[tool.x]\n[tool]\ny = 1\n[tool.x.z]\nw = 2\n",
        '[[package]]\nname = "trl"\n[[package]]\nname = "vllm"\n[[package.files]]\nurl = "x"\n[package.a.b]\nv = []\n',
        'x = {a = 1, b.c = "}", "d e" = [1, {f = 2}], }\n'.replace(", }", "}"),
        's = \'it\\n\'\nt = "a\\"#\\u0041"\nu = """\na""b\\\n   c"""""\n',
        "v = '''\n'x''''\nw = ['', \"\", '''''']\n",
        "i = +1_000\nf = -0.5e-3\nn = -inf\nb = true\n",
        '"quoted key" = 1\n\'lit.eral\' = 2\n"caf\\u00e9".x = 3\n1.2 = 4\n',
        "\r\n[a]\r\nb = 1\r\n\r\n# end\r\n",
        "",
    ],
)
def test_values_are_those_of_tomli(text: str) -> None:
    root = read(text)
    assert plain(root) == tomli.loads(text)
    for _, node in walk(root):
        assert text[node.start : node.end] == node.raw


def test_dates_are_kept_as_text() -> None:
    text = "a = 1979-05-27 07:32:00Z\nb = [1979-05-27, 07:32:00]\n"
    assert isinstance(tomli.loads(text)["a"], datetime.datetime)
    assert plain(read(text)) == {"a": "1979-05-27 07:32:00Z", "b": ["1979-05-27", "07:32:00"]}


def test_spans_of_keys_and_values() -> None:
    text = '[tool."trl-lint"]\nselect = ["TRL1"] # é😀\nfix.unsafe = false\n'
    section = find(read(text), "tool.trl-lint")
    assert isinstance(section, Mapping)
    assert text[section.start : section.end] == text.rstrip()
    assert [text[key.start : key.end] for key, _ in section.entries] == ["select", "fix"]
    assert spot(text, "tool.trl-lint.select") == '["TRL1"]'
    assert spot(text, "tool.trl-lint.fix.unsafe") == "false"


def test_arrays_of_tables_are_sequences_of_mappings() -> None:
    text = '[[package]]\nname = "trl"\n\n[[package]]\nname = "vllm"\n'
    packages = read(text).get("package")
    assert isinstance(packages, Sequence)
    assert [text[item.start : item.end] for item in packages.items] == [
        '[[package]]\nname = "trl"',
        '[[package]]\nname = "vllm"',
    ]


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("a = \n", "invalid value", 4),
        ("# é\na = 1\na = 2\n", "overwrite a value", 15),
        ("[a\n", "at the end of a table", 2),
        ('a = "open', "unterminated string", 9),
        ("a = [1\n", "unclosed array", 7),
        ("a = 1 b = 2\n", "expected newline", 6),
    ],
)
def test_what_tomli_refuses_is_refused_with_a_place(text: str, message: str, place: int) -> None:
    with pytest.raises(SourceError) as error:
        read(text)
    assert message in error.value.message
    assert "line" not in error.value.message.replace("newline", "")
    assert error.value.offset == place


def test_deep_nesting_is_one_clear_error() -> None:
    with pytest.raises(SourceError, match="nested"):
        read("a = " + "[" * 20_000 + "]" * 20_000)
