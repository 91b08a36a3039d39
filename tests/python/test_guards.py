"""Which branch a call stands in, and what a test means under an assumption."""

from __future__ import annotations

import ast
import textwrap

import pytest

from trl_lint.checks.distribution._fsdp import assume, atom_for
from trl_lint.python.guards import evaluate, exclusive, is_expected_to_fail, key_of
from trl_lint.python.module import PythonModule
from trl_lint.sources import Source, SourceFile


def module(text: str) -> PythonModule:
    return PythonModule(Source(SourceFile("/project/train.py", textwrap.dedent(text).encode()), "python"))


def call(found: PythonModule, name: str) -> ast.Call:
    """The call of the function with this name."""
    return next(c for c in found.calls if ast.unparse(c.func) == name)


def under_fsdp(text: str) -> str:
    """Whether `here()` can run under FSDP."""
    found = module(text)
    return assume(True, found).reach(call(found, "here"))


@pytest.mark.parametrize(
    ("test", "truth"),
    [
        ("self.is_fsdp_enabled", True),
        ("not trainer.is_fsdp_enabled", False),
        ("self.is_deepspeed_enabled", False),
        ("state.fsdp_plugin is not None", True),
        ("state.deepspeed_plugin is None", True),
        ("acc.distributed_type == DistributedType.FSDP", True),
        ("DistributedType.DEEPSPEED == acc.distributed_type", False),
        ("acc.distributed_type not in ['MULTI_GPU', 'NO']", True),
        ("acc.distributed_type != 'FSDP' and whatever", False),
        ("whatever or self.is_fsdp_enabled", True),
        ("bool(getattr(self, 'is_fsdp_enabled', False))", True),
        ("whatever", None),
        ("self.is_fsdp2", None),
        ("acc.distributed_type == wanted", None),
    ],
)
def test_what_a_test_means_under_fsdp(test: str, truth: bool | None):
    assert evaluate(ast.parse(test, mode="eval").body, atom_for(module(""), fsdp=True)) is truth


def test_without_fsdp_only_fsdp_is_known():
    atom = atom_for(module(""), fsdp=False)
    tests = ["is_fsdp_enabled", "x.distributed_type == 'FSDP'", "is_deepspeed_enabled", "x.distributed_type == 'NO'"]
    assert [evaluate(ast.parse(test, mode="eval").body, atom) for test in tests] == [False, False, None, None]


@pytest.mark.parametrize(
    "text",
    [
        "if is_fsdp: other()\nelse: here()",
        "other() if is_fsdp else here()",
        "is_fsdp or here()",
        "def f():\n    if is_fsdp:\n        return\n    here()",
        "for m in models:\n    if is_fsdp:\n        continue\n    here()",
        "assert not is_fsdp\nhere()",
        "sharded = state.fsdp_plugin is not None\nif not sharded:\n    here()",
        "def f():\n    here()\nif not is_fsdp:\n    f()",
        "[here() for m in models if not is_fsdp]",
        "def f():\n    if is_fsdp:\n        with lock:\n            raise Refused\n    here()",
    ],
)
def test_places_fsdp_does_not_get_to(text: str):
    assert under_fsdp(text) == "excluded"


@pytest.mark.parametrize(
    "text",
    [
        "here()",
        "if is_fsdp: here()",
        "if is_deepspeed_enabled: other()\nelse: here()",
        "if ready: here()",
        "def f():\n    if is_fsdp:\n        log()\n    here()",
        "def f():\n    here()\nif not is_fsdp:\n    f()\nf()",
    ],
)
def test_places_fsdp_gets_to(text: str):
    assert under_fsdp(text) == "reached"


def test_a_test_about_fsdp_that_is_not_understood_is_no_answer():
    assert under_fsdp("if wants_fsdp_wrapping(model): other()\nelse: here()") == "unsure"
    assert under_fsdp("def f():\n    if wants_fsdp_wrapping(model):\n        return\n    here()") == "unsure"


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("if fast: a()\nelse: b()", True),
        ("a() if fast else b()", True),
        ("def f():\n    if fast:\n        return a()\n    return b()", True),
        ("def f(): a()\ndef g(): b()\nif fast: f()\nelse: g()", True),
        ("a()\nb()", False),
        ("if fast:\n    a()\n    b()", False),
        ("def f(): a()\ndef g(): b()\nf()\ng()", False),
    ],
)
def test_calls_that_never_meet(text: str, apart: bool):
    found = module(text)
    assert exclusive(found, call(found, "a"), call(found, "b")) is apart


def test_key_of():
    keys = [key_of(ast.parse(text, mode="eval").body) for text in ("model", "self.models[0]", "f().model", "1")]
    assert keys == ["model", "self.models[]", "", ""]


@pytest.mark.parametrize(
    ("text", "is_expected"),
    [
        ("here()", False),
        ("with pytest.raises(ValueError):\n    here()", True),
        ("with self.assertRaisesRegex(ValueError, 'r'):\n    here()", True),
        ("with here(raises):\n    pass", False),
        ("with torch.no_grad():\n    here()", False),
        ("try:\n    here()\nexcept ValueError:\n    pass", True),
        ("try:\n    here()\nexcept:\n    print(1)", True),
        ("try:\n    here()\nexcept (KeyboardInterrupt, OSError):\n    print(1)", False),
        ("try:\n    here()\nexcept ValueError as error:\n    raise RuntimeError from error", False),
        ("try:\n    here()\nexcept Exception as error:\n    print(error)\n    sys.exit(1)", False),
        ("try:\n    x = here\nexcept ValueError:\n    pass\nelse:\n    here()", False),
        ("try:\n    x\nexcept TypeError:\n    here()\n    raise", True),
        ("try:\n    here()\nfinally:\n    stop()", False),
        ("try:\n    def f():\n        here()\nexcept ValueError:\n    pass", True),
        ("@pytest.mark.xfail(reason='not yet')\ndef test():\n    here()", True),
        ("@unittest.expectedFailure\nclass Test:\n    def test(self):\n        here()", True),
        ("@pytest.mark.parametrize('x', [pytest.param(2, marks=pytest.mark.xfail)])\ndef test(x):\n    here()", True),
        ("@require_liger_kernel\ndef test():\n    here()", False),
        ("@pytest.mark.xfail\ndef test():\n    other()\nhere()", False),
    ],
)
def test_where_the_program_goes_on_a_failure_is_expected(text, is_expected):
    found = module(text)
    assert is_expected_to_fail(found, call(found, "here")) is is_expected
