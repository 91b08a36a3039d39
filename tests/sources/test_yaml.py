from __future__ import annotations

import pytest
import yaml

from trl_lint.sources import Source, SourceError, SourceFile
from trl_lint.sources.nodes import UNSETTLED, Mapping, Node, Scalar, Sequence, find, value_of, walk
from trl_lint.sources.yaml import read_yaml


def documents(text: str) -> list[Node]:
    return read_yaml(Source(SourceFile("/project/config.yaml", text.encode()), "yaml", text))


def root(text: str) -> Mapping:
    (node,) = documents(text)
    assert isinstance(node, Mapping)
    return node


def scalar(text: str, path: str) -> Scalar:
    node = find(root(text), path)
    assert isinstance(node, Scalar)
    assert text[node.start : node.end] == node.raw
    return node


def spot(text: str, path: str) -> str:
    node = find(root(text), path)
    assert node is not None
    return text[node.start : node.end]


WORDS = """
    1e-6 1.0e-6 1.5e3 1.5e+3 5e7 no No NO off yes on true false null ~ 017 0o17 0x1F 1_000 1:30 0,1 .inf -.5 +12 n y
    2024-10-01 10.0.0.1 "no" '12' adamw_8bit
"""


@pytest.mark.parametrize("written", WORDS.split())
def test_values_are_those_of_safe_load(written: str) -> None:
    expected = yaml.safe_load(f"key: {written}")["key"]
    value = scalar(f"key: {written}", "key").value
    if isinstance(expected, (str, int, float, bool, type(None))):
        assert (type(value), value) == (type(expected), expected)
    else:  # a date
        assert value == written


@pytest.mark.parametrize(
    ("text", "shown", "value", "tag"),
    [
        ("key: &rate 0.5  # half\n", "0.5", 0.5, ""),
        ("key: !!float 1e-6\n", "1e-6", 1e-6, "!!float"),
        ("key: &a !!str no\n", "no", "no", "!!str"),
        ("key: !!str &a no\n", "no", "no", "!!str"),
        ("key: !ENV ${HOME}\n", "${HOME}", "${HOME}", "!ENV"),
        ("key: !<tag:x,y> z\n", "z", "z", "tag:x,y"),
        ("key: !!int many\n", "many", "many", "!!int"),
        ("key: &a\n", "", None, ""),
        ("key:\nother: 1\n", "", None, ""),
        ("key: 'it''s'\n", "'it''s'", "it's", ""),
        ("key: two\n  lines\n\nother: 1\n", "two\n  lines", "two lines", ""),
        ("key: |\n  text\n\n\nother: 1\n", "|\n  text", "text\n", ""),
        ("key: &a >-\n  text\n# note\nother: 1\n", ">-\n  text", "text", ""),
        ("key:\r\n  1e-4\r\nother: 1\r\n", "1e-4", "1e-4", ""),
        ("first: \U0001f600\rkey: no\r", "no", False, ""),
    ],
)
def test_span_is_the_value_alone(text: str, shown: str, value: object, tag: str) -> None:
    node = scalar(text, "key")
    assert (node.raw, node.value, node.tag) == (shown, value, tag)


def test_collections_end_with_their_last_value() -> None:
    text = "a: &x\n  b:\n  - 1\n  - c: 2\n\n# comment\nd: &y [1, {e: 2}]\nf:\n- 3\n\ng: {}\n"
    assert spot(text, "a") == "b:\n  - 1\n  - c: 2"
    assert spot(text, "a.b") == "- 1\n  - c: 2"
    assert spot(text, "d") == "[1, {e: 2}]"
    assert spot(text, "f") == "- 3"
    assert spot(text, "g") == "{}"


def test_alias_has_its_own_place() -> None:
    text = "base: &rate 1e-5\ncritic: *rate\nlist: &l [1]\nagain: *l\n"
    node = scalar(text, "critic")
    assert (node.raw, node.value, node.alias) == ("*rate", "1e-5", True)
    assert spot(text, "again") == "*l"
    again = find(root(text), "again")
    assert isinstance(again, Sequence)
    assert [item.value for item in again.items if isinstance(item, Scalar)] == [1]


def test_merge_key_lends_what_is_not_there() -> None:
    text = "one: &one {lr: 1, seed: 1}\ntwo: &two {lr: 1, beta: 2}\nuse:\n  <<: [*one, *two]\n  seed: 3\n"
    values = {name: scalar(text, f"use.{name}").value for name in ("lr", "seed", "beta")}
    assert values == yaml.safe_load(text)["use"]
    assert find(root(text), "use.top_p") is None


RIVALS = "one: &one {lr: 1, seed: 1}\ntwo: &two {lr: 2, beta: 2}\n"


@pytest.mark.parametrize(
    ("use", "values"),
    [
        ("{<<: [*one, *two]}", {"lr": UNSETTLED, "seed": 1, "beta": 2}),
        ("{<<: [*one, *two], lr: 3}", {"lr": 3, "seed": 1, "beta": 2}),
        ("{<<: [*one, *one]}", {"lr": 1, "seed": 1}),
        ("{<<: [*two]}", {"lr": 2, "beta": 2}),
        ("{<<: &both {<<: [*one, *two]}}", {"lr": UNSETTLED, "seed": 1, "beta": 2}),
        ("{<<: {<<: *one, lr: 4}}", {"lr": 4, "seed": 1}),
        ("{<<: [{<<: *one, lr: 4}, {lr: 4}]}", {"lr": 4, "seed": 1}),
    ],
)
def test_of_two_lenders_the_release_of_pyyaml_decides(use: str, values: dict[str, object]) -> None:
    node = root(f"{RIVALS}use: {use}\n")
    read = yaml.safe_load(f"{RIVALS}use: {use}\n")["use"]
    assert {name: value_of(find(node, f"use.{name}")) for name in values} == values
    assert {name: value for name, value in read.items() if values[name] != UNSETTLED} == {
        name: value for name, value in values.items() if value != UNSETTLED
    }


def test_repeated_keys_are_kept() -> None:
    node = root("lr: 1\nlr: 2\n")
    assert [entry.key.value for entry in node.entries] == ["lr", "lr"]
    assert scalar("lr: 1\nlr: 2\n", "lr").value == 2


def test_keys_have_their_types() -> None:
    node = root("on: push\n1: one\n? [a, b]\n: pair\n")
    assert [entry.key.value for entry in node.entries] == [True, 1, None]
    assert node.keys() == set()


def test_every_document_has_a_root() -> None:
    first, second = documents("a: &x 1\n---\n- &x 2\n")
    assert isinstance(first, Mapping)
    assert isinstance(second, Sequence)
    assert documents("") == []
    assert documents("# nothing\n") == []


def test_second_byte_order_mark_moves_nothing() -> None:
    text = "\ufeffa: 1\nb: {c: no}\n"
    assert spot(text, "b.c") == "no"


def test_a_hundred_nested_anchors_stay_small() -> None:
    lines = ["a0: &a0 [x, y]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 101)]
    node = root("\n".join(lines))
    assert [s.value for _, s in walk(node)] == ["x", "y"]


def test_recursive_anchors_do_not_loop() -> None:
    node = root("a: &a\n  <<: *a\n  self: *a\n  list: &l [*l, 1]\n")
    assert find(node, "a.self.self.self.list") is not None
    assert find(node, "a.self.missing") is None
    assert [s.value for _, s in walk(node)] == [1]


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("a: [1\n", "did not find expected ',' or ']'", None),
        ("\ta: 1\n", "cannot start any token", 0),
        ("a: \x00\n", "U+0000 is not allowed", 3),
        ("\U0001f600: \x07\n", "U+0007 is not allowed", 3),
        ("a: *b\n", "alias *b has no anchor", 3),
        ("a: &x 1\nb: &x 2\n", "&x is defined twice", 11),
        ("[" * 100_000, "nested more than", None),  # PyYAML itself refuses it since 6.0.4, after 1000
        ("[" * 300, "nested more than", 200),
        ("- " * 5_000, "nested more than", 400),
    ],
)
def test_what_safe_load_refuses_is_refused_with_a_place(text: str, message: str, place: int | None) -> None:
    with pytest.raises(SourceError) as error:
        documents(text)
    assert message in error.value.message
    assert "\n" not in error.value.message
    assert place is None or error.value.offset == place
    assert 0 <= error.value.offset <= len(text)


def test_pure_loader_gives_the_same_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: &x !!float 0.0\nb: *x\nc: |\n  hi\n\n\nd:\ne: [1, {f: '2'}]\r\ng: \U0001f600 z\n"
    with_c = [(path, s.value, s.start, s.end) for path, s in walk(root(text))]
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert [(path, s.value, s.start, s.end) for path, s in walk(root(text))] == with_c
