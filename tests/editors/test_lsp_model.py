"""The check of messages against the meta-model finds what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from lsp_model import Model

STRING, UINT = {"kind": "base", "name": "string"}, {"kind": "base", "name": "uinteger"}
MODEL = Model(
    {
        "structures": [
            {"name": "Named", "properties": [{"name": "name", "type": STRING}]},
            {
                "name": "Place",
                "extends": [{"kind": "reference", "name": "Named"}],
                "properties": [
                    {"name": "line", "type": UINT, "optional": True},
                    {"name": "kind", "type": {"kind": "reference", "name": "Kind"}, "optional": True},
                ],
            },
        ],
        "enumerations": [{"name": "Kind", "type": UINT, "values": [{"name": "One", "value": 1}]}],
        "typeAliases": [],
        "requests": [
            {
                "method": "ask",
                "result": {
                    "kind": "or",
                    "items": [
                        {"kind": "array", "element": {"kind": "reference", "name": "Place"}},
                        {"kind": "base", "name": "null"},
                    ],
                },
            }
        ],
        "notifications": [],
    }
)


@pytest.mark.parametrize("result", [None, [], [{"name": "x"}, {"name": "y", "line": 0, "kind": 1}]])
def test_what_is_right(result: Any):
    assert MODEL.wrong({"id": 1, "result": result}, "ask") == []


@pytest.mark.parametrize(
    "result", [3, {}, [{}], [{"name": 3}], [{"name": "x", "line": -1}], [{"name": "x", "line": True}],
               [{"name": "x", "kind": 2}], [{"name": "x", "odd": 1}], [{"name": "x", "line": None}]],
)  # fmt: skip
def test_what_is_wrong(result: Any):
    assert MODEL.wrong({"id": 1, "result": result}, "ask")
