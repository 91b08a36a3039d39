"""The cheap `NamedTuple` against that of `typing`."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import typing
from typing import Any

import pytest
from documents import ROOT

from trl_lint.records import NamedTuple


class Place(NamedTuple):
    """Where something stands."""

    path: str
    start: int = 0
    note: str = ""

    @property
    def line(self) -> str:
        return f"{self.path}:{self.start}"


class Standard(typing.NamedTuple):
    path: str
    start: int = 0
    note: str = ""


class Narrow(Place):
    """A record that another one is a base of."""

    __slots__ = ()


MAKINGS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("a",), {}),
    (("a", 1), {"note": "n"}),
    ((), {"note": "n", "path": "a"}),
]
FAULTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    (("a", 1, "n", 2), {}),
    (("a",), {"path": "b"}),
    (("a",), {"other": 1}),
]


@pytest.mark.parametrize(("values", "named"), MAKINGS)
def test_a_record_is_the_tuple_that_typing_makes(values: tuple[Any, ...], named: dict[str, Any]):
    ours, theirs = Place(*values, **named), Standard(*values, **named)
    assert ours == theirs and hash(ours) == hash(theirs) and isinstance(ours, tuple)
    assert (ours.path, ours.start, ours.note) == tuple(theirs)
    assert repr(ours) == repr(theirs).replace("Standard", "Place")
    assert ours._replace(start=9) == theirs._replace(start=9) and type(ours._replace(start=9)) is Place
    assert ours._asdict() == theirs._asdict()
    assert Place._fields == Standard._fields == Place.__match_args__


@pytest.mark.parametrize(("values", "named"), FAULTS)
def test_wrong_arguments_raise_as_with_typing(values: tuple[Any, ...], named: dict[str, Any]):
    class Fresh(NamedTuple):  # whose first object is this one
        path: str
        start: int = 0
        note: str = ""

    for kind in (Fresh, Place):
        with pytest.raises(TypeError):
            kind(*values, **named)
    with pytest.raises(TypeError):
        Standard(*values, **named)


def test_a_record_cannot_be_changed():
    place = Place("a")
    with pytest.raises(AttributeError):
        place.path = "b"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        place.other = "b"  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="no field 'other'"):
        place._replace(other=1)  # type: ignore[call-arg]


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_are_equal_and_of_the_same_type(make: typing.Callable[[Place], Place]):
    made = make(Place("a", 1))
    assert made == Place("a", 1) and type(made) is Place


def test_methods_docstrings_and_subclasses_are_kept():
    assert Place("a", 1).line == "a:1"
    assert Place.__doc__ == "Where something stands."
    assert type(Narrow("a")) is Narrow and Narrow("a").line == "a:0"


def test_a_pickle_of_another_process_is_read_by_one_that_made_no_such_object():
    """As the report of a worker is, whose parent may not have made a record of that class."""
    script = (
        "import pickle, sys; sys.path[:0] = sys.argv[1:]\n"
        "finding = pickle.load(sys.stdin.buffer)\n"
        "print(type(finding).__name__, finding.code, finding.location.start)"
    )
    from trl_lint.finding import Finding, Location

    data = pickle.dumps(Finding("TRL001", "m", Location("a", 3, 4), "error"), pickle.HIGHEST_PROTOCOL)
    done = subprocess.run([sys.executable, "-c", script, str(ROOT)], input=data, capture_output=True)
    assert done.stdout.split() == [b"Finding", b"TRL001", b"3"], done.stderr.decode()
