import ast

import pytest

from trl_lint.checks.rule import Rule
from trl_lint.python.module import PythonModule
from trl_lint.python.names import is_from
from trl_lint.python.triage import Triage, read_trigger
from trl_lint.sources import Source, SourceFile


def module(text: str) -> PythonModule:
    return PythonModule(Source(SourceFile("/p/train.py", text.encode()), "python"))


def origins(text: str) -> frozenset[str]:
    """The origins of the function of the last call in the text."""
    parsed = module(text)
    return parsed.names.origins(parsed.calls[-1].func)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import trl\ntrl.GRPOConfig()", {"trl.GRPOConfig"}),
        ("import trl as t\nt.GRPOConfig()", {"trl.GRPOConfig"}),
        ("from trl import GRPOConfig as C\nC()", {"trl.GRPOConfig"}),
        ("import torch.nn.functional as F\nF.pad()", {"torch.nn.functional.pad"}),
        ("import torch.nn\ntorch.nn.Linear()", {"torch.nn.Linear"}),
        ("from . import grpo\ngrpo.run()", {"..grpo.run"}),
        ("acc = self.accelerator\nacc.prepare()", {"self.accelerator.prepare"}),
        ("f = torch.qr\nimport torch\nf(a)", {"torch.qr"}),
        ("unknown()", {"unknown"}),
        ("table[0]()", set()),
    ],
)
def test_origins(text, expected):
    assert origins(text) == expected


def test_two_origins_are_both_kept_whatever_their_order():
    first = "try:\n    from trl import load\nexcept ImportError:\n    from mylib import load\nload()"
    second = "try:\n    from mylib import load\nexcept ImportError:\n    from trl import load\nload()"
    assert origins(first) == origins(second) == {"trl.load", "mylib.load"}


def test_aliases_that_refer_to_each_other_end():
    assert origins("a = b\nb = a\na()") <= {"a", "b"}


@pytest.mark.parametrize(
    ("text", "certain"),
    [
        ("from trl import load\nload()", True),
        ("from trl import load\ndef f(load):\n    load()", False),
        ("from trl import load\nfor load in x:\n    load()", False),
        ("import trl\ntrl.load()", True),
        ("f()()", False),
    ],
)
def test_certainty(text, certain):
    parsed = module(text)
    assert parsed.names.is_certain(parsed.calls[-1].func) is certain


def test_a_public_name_is_found_where_the_package_defines_it():
    assert is_from("trl.trainer.grpo_config.GRPOConfig", "trl.GRPOConfig")
    assert not is_from("mytrl.GRPOConfig", "trl.GRPOConfig")
    assert not is_from("trl.MyGRPOConfig", "trl.GRPOConfig")


@pytest.mark.parametrize("text", ["", "()", "a b", ".x(y=1)"])
def test_malformed_triggers_are_refused(text):
    with pytest.raises(ValueError):
        read_trigger(None, text)


class FakeRule(Rule):
    def __init__(self, *triggers: str) -> None:
        self.triggers = triggers  # type: ignore[misc]


@pytest.mark.parametrize(
    ("trigger", "text", "matches"),
    [
        ("torch.nn.DataParallel", "from torch import nn\nnn.DataParallel(m)", 1),
        ("torch.nn.DataParallel", "from torch.nn import DataParallel as DP\nDP(m)", 1),
        ("torch.nn.DataParallel", "from mylib import DataParallel\nDataParallel(m)", 0),
        (".prepare_model(evaluation_mode=)", "acc.prepare_model(m, evaluation_mode=True)", 1),
        (".prepare_model(evaluation_mode=)", "acc.prepare_model(m)  # evaluation_mode", 0),
        (".prepare_model(evaluation_mode=)", "prepare_model(m, evaluation_mode=True)", 0),
        ("(fp16=)", "anything(fp16=True)", 1),
        (".backward", "loss.backward()", 1),
    ],
)
def test_triggers(trigger, text, matches):
    rule = FakeRule(trigger)
    triage = Triage([rule])
    active = triage.active(text.encode())
    assert len(list(triage.candidates(module(text), active))) == matches


def test_a_file_that_names_nothing_has_no_active_rule():
    assert not Triage([FakeRule("torch.nn.DataParallel")]).active(b"import torch\n")


def test_a_dotted_trigger_needs_its_package():
    triage = Triage([FakeRule("torch.load")])
    assert not triage.active(b"import json\njson.load(stream)\n")
    assert triage.active(b"from torch import load as read\nread(path)\n")
    assert Triage([FakeRule(".backward")]).active(b"loss.backward()\n")


def test_candidates_come_in_source_order():
    rule = FakeRule(".backward")
    parsed = module("a.backward(b.backward())\nc.backward()\n")
    found = [ast.unparse(c.call.func) for c in Triage([rule]).candidates(parsed, {rule})]
    assert found == ["a.backward", "b.backward", "c.backward"]


def test_names_that_are_assigned_to_each_other_are_no_riddle():
    """Every reading of such names was tried, which took minutes for `inspect.py` of the standard library."""
    walked = "".join(f"a = b.x{i}\nb = c.x{i}\nc = a.x{i}\na = a.y{i}\n" for i in range(30))
    parsed = module(f"import a\n{walked}\nd = a.z\nd()\n")
    assert 1 < len(parsed.names.origins(parsed.calls[-1].func)) < 100_000
    assert not parsed.names.is_certain(parsed.calls[-1].func)


def test_a_name_that_is_defined_through_itself():
    assert origins("import a\na = a.b\na.c()") == {"a.c", "a.b.c"}
    assert origins("node = node.parent\nnode()") == {"node.parent"}
    parsed = module("import a\na = a.b\na.c()")
    assert not parsed.names.is_certain(parsed.calls[-1].func)
