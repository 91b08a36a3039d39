"""What is done to an object in steps: entries of dicts, attributes, and callers, also where some are not looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
from trainer_scripts import call_of, told

from trl_lint.run.trainer import are_known

ENTRIES: dict[str, tuple[str, list[str]]] = {
    "an update by both ways": ("d = {}\nd.update({'model': 'a'}, model='b')", ["literal='b'"]),
    "an update by the first way": ("d = {}\nd.update({'model': 'a'}, other='b')", ["literal='a'"]),
    "an update by keyword": ("d = {'model': 'a'}\nd.update({'x': 1}, model='b')", ["literal='b'"]),
    "an update of another entry": ("d = {'model': 'a'}\nd.update({'x': 1}, y='b')", ["literal='a'"]),
    "an update under a test": (
        "d = {'model': 'a'}\nd.update({'model': 'b'} if c else {})", ["literal='a' if not c", "literal='b' if c"]
    ),
    "an update with what is under a test": (
        "d = {'model': 'a'}\nd.update(**({'model': 'b'} if c else {}))", ["literal='a' if not c", "literal='b' if c"]
    ),
    "a spread under a test": (
        "d = {'model': 'a', **({'model': 'b'} if c else {})}", ["literal='a' if not c", "literal='b' if c"]
    ),
    "a spread that comes first": ("d = {**({'model': 'b'} if c else {}), 'model': 'a'}", ["literal='a'"]),
    "two spreads under tests": (
        "d = {'model': 'a', **({'model': 'b'} if c else {}), **({'model': 'e'} if f else {})}",
        ["literal='a' if not f and not c", "literal='b' if not f and c", "literal='e' if f"],
    ),
    "a spread in a call": (
        "d = dict({'model': 'a'}, **({'model': 'b'} if c else {}))", ["literal='a' if not c", "literal='b' if c"]
    ),
    "a spread of nothing": ("d = {'model': 'a', **({'x': 1} if c else {})}", ["literal='a'"]),
    "a name that may be empty": (
        "more = {}\nif c:\n    more = {'model': 'b'}\nd = {'model': 'a', **more}",
        ["literal='a' if not c", "literal='b' if c"],
    ),
    "a spread that nobody knows": ("d = {'model': 'a', **more()}", ["unknown"]),
    "an entry that is taken away": ("d = {'model': 'a'}\nd.pop('model')", ["absent"]),
    "one that is taken away under a test": (
        "d = {'model': 'a'}\nif c:\n    d.pop('model')", ["absent if c", "literal='a' if not c"]
    ),
    "one that is deleted": ("d = {'model': 'a'}\ndel d['model']", ["unknown"]),
    "many under tests": (
        "d = {'model': 'a'}\n" + "".join(f"d.update({{'model': 'b'}} if c{i} else {{}})\n" for i in range(40)), []
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ENTRIES)
def test_entries_that_are_set_in_steps(name: str, tmp_path: Path) -> None:
    script, expected = ENTRIES[name]
    found = told(call_of(tmp_path, f"{script}\nSFTTrainer(**d)").given("model"))
    assert found == expected if expected else "unknown" in found


GIVEN: dict[str, tuple[str, list[str]]] = {
    "a parameter that may be left out": (
        "def train(model='a'):\n    SFTTrainer(model)\ntrain(**({'model': 'b'} if c else {}))",
        ["literal='a' if not c", "literal='b' if c"],
    ),
    "an argument that may be left out": (
        "def load(model='a'):\n    return model\nSFTTrainer(load(**({'model': 'b'} if c else {})))",
        ["literal='a' if not c", "literal='b' if c"],
    ),
    "a field that may be left out": (
        "from dataclasses import dataclass\n@dataclass\nclass Run:\n    model: str = 'a'\n"
        "SFTTrainer(Run(**({'model': 'b'} if c else {})).model)",
        ["literal='a' if not c", "literal='b' if c"],
    ),
    "a default of several": (
        "d = {}\nSFTTrainer(d.get('model', 'a' if c else 'b'))", ["literal='a' if c", "literal='b' if not c"]
    ),
    "the environment or a name": (
        "import os\nSFTTrainer(os.environ.get('A') or 'm')",
        ["literal='m' if not os.environ.get('A')", "os.environ.get if os.environ.get('A')"],
    ),
    "a helper of a library or a name": (
        "from tools import find\nSFTTrainer(find('m') or 'm')",
        ["literal='m' if not find('m')", "tools.find if find('m')"],
    ),
    "an object or a name": ("class Mine:\n    pass\nSFTTrainer(Mine() or 'm')", ["Mine"]),
    "an object that says when it is true": (
        "class Mine:\n    def __len__(self):\n        return 0\nSFTTrainer(Mine() or 'm')",
        ["Mine if Mine()", "literal='m' if not Mine()"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GIVEN)
def test_what_counts_where_nothing_is_given(name: str, tmp_path: Path) -> None:
    script, expected = GIVEN[name]
    assert told(call_of(tmp_path, script).given("model")) == expected


ATTRIBUTES: dict[str, tuple[str, list[str]]] = {
    "set": ("tok.pad = 'a'", ["literal='a'"]),
    "set twice": ("tok.pad = 'a'\ntok.pad = 'b'", ["literal='b'"]),
    "added to": ("tok.pad = 'a'\ntok.pad += 'b'", ["unknown"]),
    "another one added to": ("tok.pad = 'a'\ntok.side += 'b'", ["literal='a'"]),
    "in a tuple": ("tok.pad = 'a'\ntok.pad, tok.side = 'b', 'c'", ["literal='b'"]),
    "in a tuple, with others": ("tok.pad = 'a'\nmodel, tok.pad = 'b', 'c'", ["literal='c'"]),
    "in a tuple of a call": ("tok.pad = 'a'\ntok.pad, other = both()", ["unknown"]),
    "in a tuple with a star": ("tok.pad = 'a'\ntok.pad, *rest = 'b', 'c'", ["unknown"]),
    "two at once": ("tok.pad = 'a'\ntok.side = tok.pad = 'b'", ["literal='b'"]),
    "by its name": ("tok.pad = 'a'\nsetattr(tok, 'pad', 'b')", ["literal='b'"]),
    "another one by its name": ("tok.pad = 'a'\nsetattr(tok, 'side', 'b')", ["literal='a'"]),
    "by a name nobody knows": ("tok.pad = 'a'\nsetattr(tok, name, 'b')", ["unknown"]),
    "one of an attribute by its name": ("tok.pad = 'a'\nsetattr(tok.config, 'pad', 'b')", ["literal='a'"]),
    "deleted": ("tok.pad = 'a'\ndel tok.pad", ["unknown"]),
    "another one deleted": ("tok.pad = 'a'\ndel tok.side", ["literal='a'"]),
    "deleted by its name": ("tok.pad = 'a'\ndelattr(tok, 'pad')", ["unknown"]),
    "by a method": ("tok.pad = 'a'\ntok.add_special_tokens({'pad': 'b'})", ["unknown"]),
    "by a method that only looks": ("tok.pad = 'a'\ntok.encode('b')", ["literal='a'"]),
    "an entry of it": ("tok.pad = {}\ntok.pad['a'] = 1", ["unknown"]),
    "an entry of another one": ("tok.pad = 'a'\ntok.side['a'] = 1", ["literal='a'"]),
    "declared": ("tok.pad = 'a'\ntok.pad: str", ["literal='a'"]),
    "under a test": ("tok.pad = 'a'\nif c:\n    tok.pad += 'b'", ["literal='a' if not c", "unknown if c"]),
    "before very many changes": ("tok.pad = 'a'\n" + "tok.encode('b')\n" * 80, ["unknown"]),
    "after very many changes": ("tok.encode('b')\n" * 80 + "tok.pad = 'a'", ["literal='a'"]),
    "beside the changes of a namesake": (
        "tok.pad = 'a'\ndef f(tok):\n" + "    tok.encode('b')\n" * 80, ["literal='a'"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_that_are_changed(name: str, tmp_path: Path) -> None:
    lines, expected = ATTRIBUTES[name]
    script = f"tok = AutoTokenizer.from_pretrained('t')\n{lines}\nSFTTrainer(processing_class=tok)"
    (made,) = call_of(tmp_path, script).given("processing_class")
    assert told(made.attribute("pad")) == expected


def test_a_method_is_what_it_was_whatever_is_set(tmp_path: Path) -> None:
    script = "model = AutoModelForCausalLM.from_pretrained('m')\nsetattr(model, name, 1)\nSFTTrainer(model.to('cuda'))"
    assert told(call_of(tmp_path, script).given("model")) == [".to"]


def test_entries_before_very_many_changes(tmp_path: Path) -> None:
    script = "d = {'model': 'a'}\n" + "".join(f"d['k{i}'] = 1\n" for i in range(80)) + "SFTTrainer(**d)"
    assert not are_known(call_of(tmp_path, script).given("model"))


@pytest.mark.parametrize(("count", "is_known"), [(12, True), (13, False)])
def test_callers_in_very_many_files(count: int, is_known: bool, tmp_path: Path) -> None:
    files = {f"run{i:02}__py": "from train import main\nmain('m')\n" for i in range(count)}
    found = call_of(tmp_path, "def main(model):\n    SFTTrainer(model)\n", **files).given("model")
    assert are_known(found) is is_known


def test_a_caller_that_cannot_be_parsed(tmp_path: Path) -> None:
    files = {"one__py": "from train import main\nmain('m')\n", "two__py": "from train import main\nmain('m'\n"}
    assert not are_known(call_of(tmp_path, "def main(model):\n    SFTTrainer(model)\n", **files).given("model"))


def test_files_that_do_not_call_are_no_callers(tmp_path: Path) -> None:
    files = {f"run{i:02}__py": "def main():\n    pass\nmain()\n" for i in range(20)}
    files["two__py"] = "from train import main\nmain('m')\n"
    found = call_of(tmp_path, "def main(model):\n    SFTTrainer(model)\n", **files).given("model")
    assert told(found) == ["literal='m'"]
