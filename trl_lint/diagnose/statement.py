"""What the statement that failed says: in words, from the line that the traceback quotes and the exception's message.

Python tells that a `str` has no `to`; the quoted line tells that it is `model`. Nothing is looked up anywhere: what the
log does not show is not said.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from trl_lint.diagnose.failures import Failure, Frame
from trl_lint.diagnose.raiser import Raised, askers, package_of_frame, raised_by, shown_place
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_LONGEST = 110
# What statements decide: a library refuses; the project's own code failed; an argument that is not taken.
REFUSED = "LOG429"
_OWN, _ARGUMENT = "LOG766", "TRL301"
_BUILTIN = frozenset(
    {"str", "bytes", "int", "float", "bool", "complex", "list", "tuple", "dict", "set", "frozenset", "range",
     "function", "method", "generator", "NoneType", "builtin_function_or_method", "dict_keys", "dict_values", "type"}
)  # fmt: skip
_OPENERS = {")": "(", "]": "[", "}": "{"}
_COLUMNS = regex(r"(?i)\b\w*(?:data|row|example|sample|batch|item|record|feature|df)\w*")
# A message that sends the reader to another place, or tells how another program ended, decides nothing.
_ELSEWHERE = regex(
    r"(?i)\b(?:see|check|look|refer|inspect|read)\b.{0,60}\b(?:above|logs?|trace\w*|stderr|output)\b|root cause"
    r"|gone wrong|\b(?:exit|return|status) ?(?:code|status)\b|\b(?:sub|child )?process(?:es)?\b"
    r"|\b(?:worker|actor|engine|server)\b"
    r"|failed to (?:run|execute|start|launch|initiali[sz]e|import)|\bcommand\b"
)
_RAISE = regex(r"raise\b")
_ARGUMENTS = regex(r"\S{1,160}\(\) (?:missing|takes|got)\b")
_NONE = regex(r"['\"`](?:[^'\"`\n]{0,80}[/:=])?None(?:[/:][^'\"`\n]{0,80})?['\"`]")


class Stated(NamedTuple):
    """`what` is a sentence without its end; `decides` the cause of which it is the whole story, whatever is installed.

    `is_quoted`: it says no more than the message.
    """

    what: str
    decides: str = ""
    is_quoted: bool = False


class _Told(NamedTuple):
    """What a reader of a message is given: the exception's match, the frame that asks, and who raised."""

    found: re.Match[str]
    code: str
    raised: Raised
    failure: Failure


def stated(failure: Failure) -> Stated | None:
    """What the statement that raised a failure says; None where neither it nor its message tells."""
    main = failure.main
    kind = re.split(r"[.(]", main.exception.rstrip(")"))[-1]
    raised = raised_by(failure)
    inner = failure.innermost
    if raised.frame is not None and inner is not None and kind not in ("KeyError", "AttributeError"):
        # Only a name or a key is looked up for others; whatever else fails in `__call__` or `__getitem__` fails there.
        raised = raised._replace(frame=next((one for one in askers(failure) if one.code), inner))
    code = raised.frame.code.strip() if raised.frame is not None else ""
    for exception, pattern, tell in _READERS:
        if exception in ("", kind) and (found := pattern.match(main.message.strip())):
            return tell(_Told(found, code, raised, failure))
    return None


# -- readers ----------------------------------------------------------------------------------------------------------


def _key(told: _Told) -> Stated | None:
    key = told.found["key"]
    if told.raised.frame is None:
        return None
    at = max(told.code.rfind(f"[{quote}{key}{quote}]") for quote in ("'", '"', ""))
    if at < 0:
        is_asked = "[" in told.code
        return Stated(f"{_quoted(told.code)} asks for {_quoted(key)}, which is not there") if is_asked else None
    owner = expression_before(told.code, at)
    is_of_splits = any(frame.path.endswith("dataset_dict.py") for frame in told.failure.main.frames)
    noun = "split" if is_of_splits else "column" if _COLUMNS.search(owner) else "key"
    where = _quoted(owner) if owner else "what is asked"
    return Stated(f"{where} has no {noun} {_quoted(key)}", _own(told))


def _attribute(told: _Told) -> Stated | None:
    kind, name = told.found["kind"], told.found["name"]
    places = [found.start() for found in re.finditer(rf"\.{re.escape(name)}\b", told.code)]
    owner = expression_before(told.code, places[0]) if len(places) == 1 else ""
    decides = _own(told) if kind in _BUILTIN and owner else ""
    if kind == "NoneType":
        return Stated(f"{_quoted(owner or 'what is asked')} is None there, and is asked for {_quoted(name)}", decides)
    if not owner:
        return None
    return Stated(f"{_quoted(owner)} is a {_quoted(kind)} there, which has no {_quoted(name)}", decides)


def _argument(told: _Told) -> Stated | None:
    """An argument that a function does not take, and where the project gave it, if others hand it on."""
    function, name = told.found["function"], told.found["name"]
    what = f"{_quoted(function + '()')} takes no argument {_quoted(name)}"
    given = [frame for frame in told.failure.frames if re.search(rf"\b{re.escape(name)}\s*=(?!=)", frame.code)]
    if not given:
        return Stated(what)
    is_handed_on = told.raised.who == "library" and not package_of_frame(given[-1])
    return Stated(f"{what}, which {_placed(given[-1])} gives", _ARGUMENT if is_handed_on else "")


def _unbound(told: _Told) -> Stated | None:
    is_shown = re.search(rf"\b{re.escape(told.found['name'])}\b", told.code) is not None
    return Stated(f"the name {_quoted(told.found['name'])} has no value there", _own(told) if is_shown else "")


def _unparsed(told: _Told) -> Stated | None:
    frame = told.failure.innermost
    place = f"line {frame.line} of {_quoted(frame.path)}" if frame is not None else "a line of the file"
    return Stated(f"Python cannot parse {place}: {told.found[0] or 'it is no Python'}", _OWN)


def _missing_file(told: _Told) -> Stated | None:
    path = told.found["path"]
    is_program = any(frame.function in ("_execute_child", "Popen") for frame in told.failure.main.frames)
    return Stated(f"there is no {'program' if is_program else 'file or folder'} {_quoted(path)}")


def _failed(told: _Told) -> Stated | None:
    """A statement of the project that failed at its values: the line and the message are all there is to say."""
    if told.raised.frame is None or not told.code or _RAISE.match(told.code):
        return _refused(told)
    decides = "" if _ARGUMENTS.match(told.found[0]) else _own(told)  # the function may be a library's
    return Stated(f"{_quoted(told.code)} fails: {_first(told.found[0])}", decides)


def _refused(told: _Told) -> Stated | None:
    """A check that somebody wrote: what it says, and where a value was never set."""
    frame, message = told.raised.frame, _first(told.found[0])
    if frame is None or not _RAISE.match(told.code):
        return None
    who = told.raised.package or "the project"
    function = f" in {_quoted(frame.function)}" if frame.function not in ("", "<module>") else ""
    unset = "; None in it is a value that was never set" if _NONE.search(message) else ""
    is_check = told.raised.who == "library" and not _ELSEWHERE.search(told.found[0])
    return Stated(f"{who} refuses this{function}: {message}{unset}", REFUSED if is_check else "", True)


def _bare(told: _Told) -> Stated | None:
    """An exception without a message: the function that raised it has no branch for what it was given."""
    frame = told.raised.frame
    if frame is None or frame.function in ("", "<module>"):
        return None
    kind = "has no branch for what it was given" if "NotImplemented" in told.failure.exception else "gave up"
    code = f" at {_quoted(told.code)}" if told.code else ""
    return Stated(f"{_quoted(frame.function)} {kind}{code}")


def _own(told: _Told) -> str:
    """The cause that is decided where the script that was started, or a module beside or below it, failed and nothing
    but the project led there; "" elsewhere.

    A package in another place may be a framework that is run from its checkout, and what a library hands to a function
    of the project may be the library's fault.
    """
    frame, frames = told.raised.frame, told.failure.main.frames
    if told.raised.who != "project" or frame is None or frames[0].function != "<module>":
        return ""
    way = frames[: frames.index(frame)]
    if any(package_of_frame(one) for one in way):
        return ""
    folder = frames[0].path.replace("\\", "/").rpartition("/")[0]
    is_beside = not folder or frame.path.replace("\\", "/").startswith(f"{folder}/")
    return _OWN if is_beside else ""


_Reader = Callable[[_Told], "Stated | None"]
_READERS: tuple[tuple[str, re.Pattern[str], _Reader], ...] = (
    ("KeyError", regex(r"['\"]?(?P<key>[^'\"\n]{1,120})['\"]?$", re.MULTILINE), _key),
    ("AttributeError", regex(r"'(?P<kind>[\w.]{1,80})' object has no attribute '(?P<name>\w{1,80})'"), _attribute),
    (
        "TypeError",
        regex(
            r"(?P<function>[\w.<>]{1,160})\(\) got (?:an unexpected keyword argument|some .{0,80}) '(?P<name>\w{1,80})'"
        ),
        _argument,
    ),
    ("NameError", regex(r"name '(?P<name>\w{1,80})' is not defined"), _unbound),
    ("UnboundLocalError", regex(r".{0,60}variable '(?P<name>\w{1,80})'"), _unbound),
    ("SyntaxError", regex(r".{0,200}"), _unparsed),
    ("IndentationError", regex(r".{0,200}"), _unparsed),
    ("TabError", regex(r".{0,200}"), _unparsed),
    (
        "FileNotFoundError",
        regex(r"\[Errno 2\] No such file or directory: b?['\"](?P<path>[^'\"\n]{1,400})"),
        _missing_file,
    ),
    ("NotImplementedError", regex(r"$"), _bare),
    ("AssertionError", regex(r"$"), _bare),
    *(
        (kind, regex(r".{1,400}"), _failed)
        for kind in ("TypeError", "ValueError", "IndexError", "ZeroDivisionError", "AssertionError")
    ),
    ("", regex(r".{1,400}"), _refused),
)


# -- text -------------------------------------------------------------------------------------------------------------


def expression_before(code: str, at: int) -> str:
    """The name, attribute, call or item that ends at a place of a line: `a.b[0]` of `x = a.b[0].c` before `.c`.

    "" where it is cut off, or is no such expression.
    """
    start = at
    while start > 0:
        char = code[start - 1]
        if char in _OPENERS:
            opened = _opening(code, start - 1)
            if opened < 0:
                return ""
            start = opened
        elif char.isidentifier() or char.isdigit() or (char == "." and start > 1):
            start -= 1
        else:
            break
    found = code[start:at]
    return found if found[:1].isidentifier() else ""


def _opening(code: str, at: int) -> int:
    """Where the bracket opens that closes at a place, -1 if it does not; quotes are not looked at."""
    depth = 0
    for place in range(at, -1, -1):
        if code[place] in _OPENERS:
            depth += 1
        elif code[place] in "([{":
            depth -= 1
            if depth == 0:
                return place
    return -1


def _first(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 2 * _LONGEST else f"{line[: 2 * _LONGEST]}…"


def _quoted(text: str) -> str:
    text = text.replace("`", "'").strip()
    return f"`{text if len(text) <= _LONGEST else text[:_LONGEST] + '…'}`"


def _placed(frame: Frame) -> str:
    return f"{_quoted(frame.code)} ({shown_place(frame)})"
