"""Templates of messages: what fills them, what does not fit, and that no message makes the search slow."""

from __future__ import annotations

import time

import pytest

from trl_lint.diagnose.dating import recorded_template, wording
from trl_lint.diagnose.failures import Failure, Frame, Part
from trl_lint.diagnose.templates import Template, plain


@pytest.mark.parametrize(
    ("template", "message", "expected"),
    [
        ("no holes", "no holes and more", ()),
        ("no holes", "There are no holes", None),
        ("`{}` is not {}", "`x` is not there", ("x", "there")),
        ("`{}` is not {}", "`x` is not ", None),
        ("`{}` is not there", "`x` is not there.", ("x",)),
        ("`{}` is not there…", "`x` is not\n  there, so", ("x",)),
        ("{} of {}", "one\nof two", ("one", "two")),
        ("{} of {}", " of two", None),
        ("{}{} of", "ab of", ("a", "b")),
        ("%s has %s", "a has b has c", ("a", "b has c")),
        ("a¦b {}", "a|b c", ("c",)),
        ("from {} to …", "from a to b", ("a",)),
        ("from {} to {}…", f"from a to {'b' * 399}{'c' * 9}", ("a", "b" * 399 + "c")),
        ("from {} to", f"from {'a' * 400} to", ("a" * 400,)),
        ("from {} to", f"from {'a' * 401} to", None),
        ("from {}", f"from {'a' * 401}", None),
    ],
)
def test_what_fills_a_recorded_template(template: str, message: str, expected: tuple[str, ...] | None):
    assert recorded_template(template).fillings(plain(message)) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [("a 1 b", ("1",)), ("a 1 b 2 b", ("1 b 2",)), ("a 1 b 2", None), ("a b", None), ("a 1", None), ("a  b", None)],
)
def test_the_end_of_a_whole_template_is_the_end_of_the_message(message: str, expected: tuple[str, ...] | None):
    assert Template.of(("a ", " b"), is_whole=True).fillings(message) == expected


def test_a_whole_template_without_holes_is_the_message():
    assert Template.of(("a\n  b",), is_whole=True).fillings("a b") == ()
    assert Template.of(("a b",), is_whole=True).fillings("a b c") is None


def test_letters_are_those_that_are_fixed():
    assert recorded_template("`{}` is 7 %s…").letters == 3


def _seconds(message: str) -> float:
    failure, part = Failure(1, None, "", 0), Part()
    part.exception, part.message = "ValueError", message
    part.add_frame(Frame("/opt/venv/lib/python3.11/site-packages/trl/a.py", 1, "f"))
    failure.parts.append(part)
    start = time.process_time()
    assert wording(failure) is None
    return time.process_time() - start


def test_a_message_made_to_look_like_many_costs_no_more():
    # All but the end of "{}, {}={}, {}={}, inexact division: {} / {} = {}": a pattern of it took 7 seconds for 24.
    _seconds("the templates are read once")
    for count in (24, 48, 1000, 2000):
        assert _seconds("a, b=c, d=e " * count + ", inexact division: " + "1 / 2 " * count) < 0.5


def test_a_template_that_almost_fits_again_and_again_is_given_up_once():
    template = Template.of(("", ", ", "=", ", ", "=", "!"), is_whole=False)
    for count in (1_000, 2_000, 200_000):
        start = time.process_time()
        assert template.fillings("a, b=c, d=e " * count) is None
        assert time.process_time() - start < 0.5
