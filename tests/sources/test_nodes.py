from __future__ import annotations

from trl_lint.sources.json import read_json_text
from trl_lint.sources.nodes import Mapping, find, value_of, walk


def read(text: str) -> Mapping:
    root = read_json_text(text)
    assert isinstance(root, Mapping)
    return root


def test_get_takes_the_last_of_a_repeated_key() -> None:
    root = read('{"lr": 1, "lr": 2}')
    assert value_of(root.get("lr")) == 2
    assert len(root.entries) == 2


def test_find_follows_a_dotted_path() -> None:
    root = read('{"zero_optimization": {"stage": 3}, "stage": 1}')
    assert value_of(find(root, "zero_optimization.stage")) == 3


def test_find_stops_where_there_is_nothing() -> None:
    root = read('{"zero_optimization": [{"stage": 3}]}')
    assert find(root, "zero_optimization.stage") is None
    assert find(root, "optimizer.lr") is None
    assert find(None, "optimizer") is None


def test_value_of_a_collection_is_none() -> None:
    assert value_of(read("{}")) is None


def test_walk_gives_scalars_with_the_path_of_their_keys() -> None:
    root = read('{"a": {"b": [1, {"c": 2}]}, "d": 3}')
    assert [(path, node.value) for path, node in walk(root)] == [(("a", "b"), 1), (("a", "b", "c"), 2), (("d",), 3)]
