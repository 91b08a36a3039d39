"""Who raised: an installed package, the code that came with a model, or the project; and whom it was called by."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from trl_lint.diagnose.dating import PACKAGES
from trl_lint.diagnose.failures import Failure, Frame
from trl_lint.knowledge.families import families
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

MODEL_CODE = "the code that came with the model"
INSTALLED = regex(r"(?:site|dist)-packages[/\\](?P<package>\w+)")
_OF_A_MODEL = regex(r"[/\\]transformers_modules[/\\]")
_CHECKOUT = regex(
    rf"(?:^|[/\\])(?P<package>{'|'.join(PACKAGES)})[/\\](?!examples?\b|recipes?\b|tests?\b|docs\b|benchmark)"
)
_STANDARD = regex(
    r"[/\\](?:lib(?:64)?[/\\]python[\d.]+|Python3\d+[/\\][Ll]ib)[/\\](?!(?:site|dist)-packages)|^<(?!stdin>|ipython|module)"
    r"|[/\\]bin[/\\][\w.-]+$"  # what pip puts before a program is nobody's code
)
# Functions that hand a call, or a request for a name, on: the frame before them is the one that asked.
_FORWARDING = frozenset(
    {"wrapper", "wrapped", "wrapped_func", "wrapped_fn", "inner", "inner_f", "_inner_fn", "decorate_context",
     "_call_impl", "_wrapped_call_impl"}
)  # fmt: skip
_ASKED = frozenset({"__getattr__", "__getattribute__", "__delattr__", "__getitem__", "__call__"})
Raiser = Literal["library", "project", "unknown"]


class Raised(NamedTuple):
    """`who` raised in `frame`; `package` is the library's name; `caller` the frame of the project that led there."""

    who: Raiser
    package: str = ""
    frame: Frame | None = None
    caller: Frame | None = None

    @property
    def told(self) -> str:
        """Where it was raised, as a sentence without its end; "" if no frame tells."""
        if self.frame is None:
            return ""
        place = shown_place(self.frame)
        function = f"in `{self.frame.function}` " if self.frame.function not in ("", "<module>") else ""
        whose = f"by {self.package} " if self.who == "library" else ""
        found = f"Raised {whose}{function}({place})"
        return f"{found}, which {shown_place(self.caller)} led to" if self.caller is not None else found


def askers(failure: Failure) -> list[Frame]:
    """The frames that raised, innermost first, without those that only hand a call on."""
    frames = failure.main.frames or failure.frames
    return [frame for frame in reversed(frames) if frame.function.rpartition(".")[2] not in _FORWARDING]


def package_of_frame(frame: Frame) -> str:
    """The installed package of a frame, "" if it is of the project."""
    if _OF_A_MODEL.search(frame.path):
        return MODEL_CODE
    if "unsloth_compiled_cache" in frame.path:  # unsloth writes its patched trainers beside the project
        return "unsloth"
    found = INSTALLED.search(frame.path) or _CHECKOUT.search(frame.path)
    return found["package"] if found else ""


def raised_by(failure: Failure) -> Raised:
    """Who raised; functions of Python itself and those that look up a name for others are passed by."""
    mine = [frame for frame in askers(failure) if not _STANDARD.search(frame.path)]
    if not mine:
        return Raised("unknown")
    asked = next((frame for frame in mine if frame.function.rpartition(".")[2] not in _ASKED), mine[0])
    frame = asked if mine[0].function.rpartition(".")[2] in _ASKED else mine[0]
    package = _owner(frame)
    caller = next((one for one in mine if not _owner(one)), None) if package else None
    return Raised("library" if package else "project", package, frame, caller)


def _owner(frame: Frame) -> str:
    if package := package_of_frame(frame):
        return package
    found = _framework().search(frame.path)
    return next(filter(None, found.groups())) if found else ""


@cache
def _framework() -> re.Pattern[str]:
    """The folders of frameworks that people run from a checkout: below these it is their code."""
    own = sorted(name for family in families() if family.framework for name in family.modules if "." not in name)
    inside = "|".join((*own, "llmtuner", "transformers", "accelerate", "peft"))
    return regex(
        rf"(?:^|[/\\])(?:src[/\\](?P<inside>{inside})|(?:\w{{1,20}}-)?(?P<twice>{'|'.join(own)})(?=[/\\](?P=twice)\b)"
        r"|(?P<package>llamafactory|llmtuner|sglang(?=[/\\]python)|megatron|unsloth_compiled_cache))[/\\]"
    )


def shown_place(frame: Frame) -> str:
    """File and line of a frame, as people recognise them."""
    return f"{_short(frame)}:{frame.line}"


def _short(frame: Frame) -> str:
    """The end of a path that people recognise."""
    path = frame.path.replace("\\", "/")
    inside = path.rpartition("-packages/")[2] if "-packages/" in path else "/".join(path.split("/")[-2:])
    return inside.replace("`", "'")
