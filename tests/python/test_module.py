import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument, evaluated, literal, literal_of
from trl_lint.sources import Source, SourceError, SourceFile


def module(text: str) -> PythonModule:
    return PythonModule(Source(SourceFile("/p/train.py", text.encode()), "python"))


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_spans_count_characters_under_every_line_end(newline):
    parsed = module(newline.join(["# größe", 'x = "中文𝄞"; f(a)', ""]))
    assert parsed.segment(parsed.calls[0]) == "f(a)"


def test_form_feeds_do_not_break_lines():
    parsed = module("x = 1\n\x0c\ny = '\x0b\x85'; f(a)\n")
    assert parsed.segment(parsed.calls[0]) == "f(a)"


@pytest.mark.parametrize(("text", "offset"), [("x = (\n", 4), ("a = 1\nb = = 2\n", 10), ("x = 1\0", 5)])
def test_what_cannot_be_parsed_says_where(text, offset):
    with pytest.raises(SourceError) as caught:
        module(text)
    assert abs(caught.value.offset - offset) <= 1


def test_deep_nesting_is_an_error_and_no_crash():
    with pytest.raises(SourceError):
        module("(" * 20_000 + ")" * 20_000)


def call(text: str) -> ast.Call:
    return ast.parse(text).body[0].value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(m, device_ids=[0])", [0]),
        ("f(m, [0])", [0]),
        ("f(m)", ABSENT),
        ("f(m, **kw)", UNKNOWN),
        ("f(*args)", UNKNOWN),
        ("f(m, *args)", UNKNOWN),
        ("f(m, device_ids=ids)", UNKNOWN),
    ],
)
def test_arguments_are_known_absent_or_unknown(text, expected):
    found = argument(call(text), "device_ids", 1)
    assert (literal(found) if isinstance(found, ast.expr) else found) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("N = 0\nf(N)", 0),
        ("N = 0\nN = 1\nf(N)", UNKNOWN),
        ("def g(N):\n    f(N)\nN = 0", UNKNOWN),
        ("N = 0\nN += 1\nf(N)", UNKNOWN),
        ("f(-0.5)", -0.5),
        ("f(g())", UNKNOWN),
    ],
)
def test_a_name_with_one_literal_is_known(text, expected):
    parsed = module(text)
    outer = next(c for c in parsed.calls if ast.unparse(c.func) == "f")
    assert parsed.value(outer.args[0]) == expected


_ATOMS = st.sampled_from(
    """1|-2|+3.5|2j|1 + 2j|-1 - 0j|1 + 2|- -1|~1|not 1|-True|'a' 'b'|b'x'|None|...|True|x|set()|set(1)|f()|1 if x else 2
    |f'a'|2j + 1|-'a'|*x|{**x}""".replace("\n    ", "").split("|")
)
_LITERALS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
        st.lists(inner, max_size=3).map(lambda parts: "(" + "".join(f"{part}, " for part in parts) + ")"),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: "{" + ", ".join(parts) + "}"),
        st.lists(st.tuples(inner, inner), max_size=2).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        ),
        inner.map(lambda part: f"-({part})"),
        inner.map(lambda part: f"({part}) + 1j"),
    ),
    max_leaves=6,
)


@given(_LITERALS)
def test_a_literal_is_what_python_evaluates(text):
    def outcome(evaluate, given):
        try:
            return repr(evaluate(given))
        except (ValueError, TypeError, SyntaxError) as error:
            return type(error)

    assert outcome(literal_of, text) == outcome(ast.literal_eval, text)
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return
    assert outcome(evaluated, node) == outcome(ast.literal_eval, node)


def test_surroundings():
    parsed = module("class A:\n    def f(self):\n        if x:\n            g()\n")
    g = parsed.calls[0]
    assert parsed.function(g).name == "f"
    assert parsed.class_of(g).name == "A"
    assert ast.unparse(parsed.statement(g)) == "g()"


def test_what_other_tools_hang_on_shared_nodes_is_not_followed():
    """Operators are one object for all trees; pyflakes hangs the parent in its own tree on them."""
    foreign = ast.parse("other() <= 1")
    operator = foreign.body[0].value.ops[0]
    operator.parent_of_another_tool = foreign
    try:
        assert [ast.unparse(call.func) for call in module("mine() <= 2").calls] == ["mine"]
    finally:
        del operator.parent_of_another_tool
