"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module
from importlib.util import module_from_spec

import pytest

import trl_lint
from trl_lint import regexes
from trl_lint.regexes import regex


def module_names() -> list[str]:
    found = pkgutil.walk_packages(trl_lint.__path__, "trl_lint.")
    return [one.name for one in found if not one.name.endswith("__main__")]


def test_every_expression_of_the_tool_can_be_compiled(monkeypatch: pytest.MonkeyPatch):
    given = []
    make = regexes._Regex.__init__

    def note(self: regexes._Regex, text: str | bytes, flags: int) -> None:
        make(self, text, flags)
        given.append(self)

    monkeypatch.setattr(regexes._Regex, "__init__", note)
    for name in module_names():
        if not name.startswith("trl_lint.review.github"):  # asks for a package that is not there on every machine
            spec = import_module(name).__spec__
            assert spec is not None and spec.loader is not None
            spec.loader.exec_module(module_from_spec(spec))  # once more, into a module that nobody uses
    assert len(given) > 250
    for one in given:
        re.compile(*one._given)


def test_nothing_is_compiled_before_the_first_use(monkeypatch: pytest.MonkeyPatch):
    asked = []
    compiled = re.compile

    def note(text: str, flags: int = 0) -> re.Pattern[str]:
        asked.append(text)
        return compiled(text, flags)

    monkeypatch.setattr(re, "compile", note)
    one = regex(r"(?P<word>\w+)", re.ASCII)
    assert asked == []
    assert one.search("- word é")["word"] == "word"
    assert one.search("é") is None
    assert asked == [r"(?P<word>\w+)"]


def test_it_is_used_like_a_compiled_expression():
    ours, theirs = regex(rb"(a)|b", re.I), re.compile(rb"(a)|b", re.I)
    assert (ours.pattern, ours.flags, ours.groups) == (theirs.pattern, theirs.flags, theirs.groups)
    assert ours.sub(b"x", b"aBc") == theirs.sub(b"x", b"aBc")
    assert [match.span() for match in ours.finditer(b"cAb", 1)] == [
        match.span() for match in theirs.finditer(b"cAb", 1)
    ]
    with pytest.raises(AttributeError):
        ours.no_such_method  # noqa: B018
    with pytest.raises(re.error):
        regex("(").match("")
