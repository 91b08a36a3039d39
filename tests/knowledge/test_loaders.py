"""What is said of loaders is what the real ones do: `tests/oracle/yaml_scalars.json`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, get_args

import pytest

from trl_lint.knowledge.loaders import STOPS, Filling, Kind, Library, as_filled, as_read
from trl_lint.sources import Source, SourceFile
from trl_lint.sources.nodes import Mapping, Scalar
from trl_lint.sources.yaml import read_yaml

ORACLE = json.loads((Path(__file__).parent.parent / "oracle" / "yaml_scalars.json").read_text("utf-8"))
LIBRARIES: dict[str, Library] = {"PyYAML": "PyYAML", "OmegaConf": "OmegaConf", "ruamel.yaml": "YAML 1.2"}
WAYS: dict[str, tuple[Library, Filling]] = {
    "TrlParser trl 1.16.0": ("PyYAML", "argparse"),
    "TrlParser trl 0.9.6": ("PyYAML", "argparse"),
    "TrlParser trl 0.8.6": ("PyYAML", "attributes"),
    "parse_yaml_file transformers 5.23.0": ("PyYAML", "fields"),
    "parse_yaml_file transformers 4.44.2": ("PyYAML", "fields"),
    "LLaMA-Factory 0.9.2": ("PyYAML", "fields"),
    "LLaMA-Factory 0.9.5": ("OmegaConf", "fields"),
    "ms-swift 4.6.0": ("PyYAML", "words"),
    "axolotl (pydantic)": ("PyYAML", "pydantic"),
}
# PyYAML reads `=` as a tag of its own that it cannot construct. For us a date is a text, for it an object.
DATES = {form for form, truth in ORACLE["loaders"]["PyYAML"]["any"].items() if truth[0] in ("date", "datetime")}
COMPARED = [form for form in ORACLE["forms"] if form not in {"=", *DATES}]


def scalar_of(form: str) -> Scalar:
    (root,) = read_yaml(Source(SourceFile("x.yaml", f"x: {form}\n".encode()), "yaml"))
    assert isinstance(root, Mapping)
    value = root.get("x")
    assert isinstance(value, Scalar)
    return value


def is_same(ours: Any, truth: list[str]) -> bool:
    if len(truth) == 1:
        return ours is STOPS
    if isinstance(ours, float) and math.isnan(ours):
        return truth == ["float", "nan"]
    return [type(ours).__name__, str(ours)] == truth


@pytest.mark.parametrize("name", LIBRARIES)
def test_libraries(name: str) -> None:
    truth = ORACLE["loaders"][name]["any"]
    ours = {form: as_read(scalar_of(form), LIBRARIES[name]) for form in COMPARED}
    assert not {form: (ours[form], truth[form]) for form in COMPARED if not is_same(ours[form], truth[form])}


@pytest.mark.parametrize("kind", get_args(Kind))
@pytest.mark.parametrize("name", WAYS)
def test_fields(name: str, kind: Kind) -> None:
    library, filling = WAYS[name]
    truth = ORACLE["loaders"][name][kind]
    ours = {form: as_filled(as_read(scalar_of(form), library), kind, filling) for form in COMPARED}
    assert not {form: (ours[form], truth[form]) for form in COMPARED if not is_same(ours[form], truth[form])}


def test_enough_is_compared() -> None:
    assert len(ORACLE["forms"]) >= 60
    assert len(ORACLE["loaders"]) >= 6
    assert set(get_args(Library)) == set(LIBRARIES.values())
    assert set(get_args(Filling)) == {"", *(filling for _, filling in WAYS.values())}
