from __future__ import annotations

import json
import math

import pytest

from trl_lint.sources import Source, SourceError, SourceFile
from trl_lint.sources.json import read_json, read_json_text, without_comments
from trl_lint.sources.nodes import Entry, Mapping, Node, Scalar, Sequence, find, walk


def read(text: str) -> Node:
    return read_json(Source(SourceFile("/project/ds.json", text.encode("utf-8", "surrogatepass")), "json", text))


def plain(node: Node) -> object:
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Mapping):
        return {entry.key.value: plain(entry.value) for entry in node.entries}
    return [plain(item) for item in node.items]


@pytest.mark.parametrize(
    "text",
    [
        '{"zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}, "bf16": {"enabled": "auto"}}',
        ' [ 1 , -2.5e-3, 0, 1E5, true, false, null, "", [], {} ]\n',
        '{"a": {"b": []}, "c": [[], [{}]]}',
        '"caf\\u00e9 \\ud83d\\ude00 \\/ \\n 😀"',
        '"\\ud83d alone"',
        "17",
        "[-0, -0.0, -Infinity, Infinity]",
        '{"a":1,"a":2}',
    ],
)
def test_values_are_those_of_json(text: str) -> None:
    root = read(text)
    assert plain(root) == json.loads(text)
    for _, node in walk(root):
        assert text[node.start : node.end] == node.raw


def test_nan_is_read_as_python_reads_it() -> None:
    node = read("NaN")
    assert isinstance(node, Scalar)
    assert isinstance(node.value, float)
    assert math.isnan(node.value)


def test_spans_count_characters_not_bytes() -> None:
    text = '{"é😀": "ü", "stage": 2}'
    stage = find(read(text), "stage")
    assert stage is not None
    assert text[stage.start : stage.end] == "2"


def test_collections_end_with_their_bracket() -> None:
    text = '{ "a" : [ 1 ] , "b":{ } } '
    root = read(text)
    assert text[root.start : root.end] == '{ "a" : [ 1 ] , "b":{ } }'
    a, b = find(root, "a"), find(root, "b")
    assert isinstance(a, Sequence)
    assert isinstance(b, Mapping)
    assert (text[a.start : a.end], text[b.start : b.end]) == ("[ 1 ]", "{ }")


def test_repeated_keys_are_kept() -> None:
    root = read('{"stage": 2, "stage": 3}')
    assert isinstance(root, Mapping)
    assert [(type(e), e.key.raw) for e in root.entries] == [(Entry, '"stage"')] * 2


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("", "ends where a value is expected", 0),
        ('{"stage": 3,}', "trailing comma", 11),
        ("[1,]", "trailing comma", 2),
        ('{"stage" 3}', "expecting ':' delimiter", 9),
        ("{'stage': 3}", "property name", 1),
        ('{"a": 1 "b": 2}', "expecting ',' delimiter", 8),
        ('{\n  // why\n  "a": 1}', "property name", 4),
        ('{"a": /* why */ 1}', "comments are not allowed", 6),
        ('{"a": tru}', "expecting a value", 6),
        ("[01]", "expecting ',' delimiter", 2),
        ("[1.]", "expecting ',' delimiter", 2),
        ('"open', "unterminated string", 0),
        ('"a\nb"', "invalid control character", 2),
        ('"\\x"', "invalid \\", 1),
        ("[1] [2]", "extra data", 4),
        ("[" * 100_000, "nested more than", 200),
    ],
)
def test_what_json_refuses_is_refused_with_a_place(text: str, message: str, place: int) -> None:
    with pytest.raises((ValueError, RecursionError)):
        json.loads(text)
    with pytest.raises(SourceError) as error:
        read(text)
    assert message in error.value.message
    assert error.value.offset == place


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, // one\n "b": [1, 2, /* two */ ], }',
        '{"a": "// no, \\" comment", "b": "x,]" /* , */ , // ]\n}',
        "/* a\n b */ [1,]",
        "[1] /* open",
        "[1] // end",
    ],
)
def test_comments_and_last_commas_of_editors_become_blanks(text: str):
    plain = without_comments(text)
    assert len(plain) == len(text) and plain.count("\n") == text.count("\n")
    read_json_text(plain)
    assert '"x,]"' in plain or '"x,]"' not in text
