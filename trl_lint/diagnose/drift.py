"""A call, an import or an attribute that the installed release has not: whose it is, and which releases have it.

The frame that raised tells who called: code of the project, or an installed package. An installed package that calls
another one in vain says that the two releases do not fit, and nothing about the project. A package that calls its own
code in vain handed on what somebody else had passed to it: the frames before tell who.
"""

from __future__ import annotations

import re

from trl_lint.diagnose import members
from trl_lint.diagnose.answers import capital
from trl_lint.diagnose.dating import PACKAGES, Dated
from trl_lint.diagnose.failures import Failure
from trl_lint.diagnose.raiser import INSTALLED, MODEL_CODE, askers, package_of_frame
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_UNEXPECTED = regex(
    r"(?<!\w)(?:(?P<owner>\w+)\.)?(?P<method>\w+)\(\) got an unexpected keyword argument '(?P<key>\w+)'"
)
_MISSING = regex(
    r"TypeError: (?:(?P<owner>\w+)\.)?__init__\(\) missing \d+ required (?:positional|keyword-only) arguments?:"
    r" (?P<keys>.+)"
)
_CANNOT_IMPORT = regex(
    r"cannot import name '?(?P<name>\w+)'? from '(?P<module>[\w.]+)'(?: \((?P<place>[^()\n]{1,500})\))?"
)
_NO_MODULE = regex(r"No module named '(?P<module>[\w.]+)'")
_COMPILED = regex(r"_(?:op|cuda|cpp|ext|C|kernels?)$")  # modules that are built, or not, when a package is installed
_NO_ATTRIBUTE = regex(r"AttributeError: (?:type object )?'(?P<owner>\w+)' (?:object )?has no attribute '(?P<key>\w+)'")
_MODULE_WITHOUT = regex(r"AttributeError: module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'")
_POSITIONAL = regex(
    r"TypeError: (?:(?P<owner>\w+)\.)?(?P<method>\w+)\(\) takes (?:from \d+ to )?(?P<takes>\d+) positional arguments?"
    r" but (?P<given>\d+) were given"
)
_FAILED_IMPORT = regex(r"Failed to import (?P<package>\w+)(?:\.[\w.]*)? because of the following error")
# What these packages lack is told by the message alone; `_OFTEN_HIDDEN` are names that projects give their own folders.
_THIRD_PARTY = frozenset(
    {*PACKAGES, "torch", "torchvision", "torchao", "triton", "numpy", "pandas", "pyarrow", "datasets", "tokenizers",
     "huggingface_hub", "safetensors", "ray", "sglang", "xformers", "flash_attn", "bitsandbytes", "pydantic", "wandb",
     "omegaconf", "hydra", "unsloth", "unsloth_zoo", "liger_kernel", "evaluate", "diffusers", "mistral_common"}
)  # fmt: skip
_OFTEN_HIDDEN = frozenset({"datasets", "wandb", "evaluate", "tokenizers", "trl", "verl", "openrlhf"})
# Classes that others are derived from: without a frame nobody knows whose constructor called theirs.
_BASES = frozenset({"Trainer", "TrainingArguments", "PreTrainedModel", "PretrainedConfig"})
_CONSTRUCTED = regex(r"(?<![\w.])(?:\w+\.)*(?P<owner>[A-Z]\w*)\(")

# The rule of each kind, where the project asks.
RULES = {
    "argument": "TRL301", "missing": "TRL301", "name": "TRL302", "attribute": "TRL302", "positional": "TRL305",
    "override": "TRL305",
}  # fmt: skip
# What follows from the releases, where it is not that the installed one is none of them.
_WHY = {
    "override": "The class that has its own such method is written for another release",
    "missing": "The call is written for another release",
}


class Drift(NamedTuple):
    """What was missing. `dated` has no spans where no recorded release ever had it.

    `caller` is the installed package whose frame raised, "" for code of the project and "?" where no frame tells.
    `base`: the class is one that others are derived from; `is_guess`: only a name tells what was called. `is_told`: the
    message itself says that the installed release has it not, whatever the histories have.
    """

    kind: str
    dated: Dated
    caller: str
    base: bool = False
    is_guess: bool = False
    is_told: bool = False

    @property
    def is_of_a_pair(self) -> bool:
        """Whether one installed package asked another one in vain."""
        return self.caller not in ("", "?")

    @property
    def is_sure(self) -> bool:
        """Whether who asked is known, or can hardly be another than the project."""
        is_known = self.caller != "?" or (self.dated.package == "trl" and not self.base)
        is_own = self.caller == self.dated.package and self.kind != "positional"
        return (bool(self.dated.spans) or self.is_told) and is_known and not is_own and not self.is_guess

    @property
    def is_somebodys(self) -> bool:
        """Whether the installed release has the name not for certain, and only who asks is not known."""
        return (
            self.kind in ("name", "attribute")
            and self.caller == "?"
            and not self.is_sure
            and not self.is_guess
            and (bool(self.dated.spans) or self.is_told)
        )

    @property
    def told(self) -> tuple[str, ...]:
        """What is known, in sentences without their ends."""
        dated = self.dated
        first = f"The call is one of {self.caller}, not of the project"
        found = [first] if self.is_of_a_pair else []
        if self.is_told:
            found += [capital(dated.what), _WHY["missing"]]
        elif not dated.spans:
            found.append(f"{capital(dated.what).removesuffix(' in')} in no release of {dated.package} that was read")
        else:
            found.append(capital(dated.sentence))
            found.append(_WHY.get(self.kind, "The installed release is another one"))
        if self.caller == "?":
            found.append("No frame tells whether the project or a library asks for it")
        return tuple(found)

    @property
    def advice(self) -> str:
        """What to do now; "" where the page of the cause says it."""
        package = self.dated.package
        if self.caller == MODEL_CODE:
            return f"load the model without `trust_remote_code`, or install a {package} that its code is written for"
        if self.is_of_a_pair:
            return ""
        if not self.dated.spans:
            found = f"look for a misspelt name, or for a fork of {package} that the code is written for"
        elif self.kind == "override":
            found = f"let the method take what is passed, or install a {package} that the class is written for"
        elif self.kind == "missing":
            found = f"pass the argument, or install a {package} that does not need it"
        else:
            found = f"install one of those releases of {package}, or write the code for the installed one"
        return f"{found}: `trl-lint rule {RULES[self.kind]}`"


def caller_of(failure: Failure) -> str:
    """The installed package whose frame raised; "" if it was the project's, "?" if there is no frame."""
    if told := _FAILED_IMPORT.search(failure.text):
        return told["package"]
    asking = askers(failure)
    return package_of_frame(asking[0]) if asking else "?"


def drift_of(failure: Failure) -> Drift | None:
    """What the installed release has not, and the releases that have it; None if that is not what failed."""
    text = failure.text
    caller = caller_of(failure)
    if match := _UNEXPECTED.search(text):
        if match["method"] == "__init__":
            return _of_a_constructor(match["owner"], match["key"], failure)
        return _of_a_method(match["owner"], match["method"], match["key"], failure)
    if match := _MISSING.search(text):
        return _missing(match["owner"], re.findall(r"'(\w+)'", match["keys"]), failure)
    if match := _CANNOT_IMPORT.search(text):
        found = members.name_in(match["module"], match["name"])
        if found is None and match["place"]:
            return _told_by_the_message(match["module"], match["name"], match["place"], caller)
        return found and Drift("name", found, caller)
    if match := _NO_MODULE.search(text):
        found = members.module(match["module"])
        parent, _, name = match["module"].rpartition(".")
        return Drift("name", found, caller) if found else _told_by_the_message(parent, name, "", caller)
    if match := _MODULE_WITHOUT.search(text):
        found = members.name_in(match["module"], match["name"])
        if found is None and "partially initialized" not in text:
            return _told_by_the_message(match["module"], match["name"], "", caller)
        return found and Drift("name", found, caller)
    if match := _NO_ATTRIBUTE.search(text):
        found = members.attribute(match["owner"], match["key"])
        return found and Drift("attribute", found, caller)
    if match := _POSITIONAL.search(text):
        return _too_many(match["owner"] or "", match["method"], int(match["given"]), failure)
    return None


def _told_by_the_message(module: str, name: str, place: str, caller: str) -> Drift | None:
    """A name that the message says an installed package has not. `place`: the file of the module, "" if unknown.

    Of a compiled part that is missing, and of a folder of the project that may hide the package, nothing is told.
    """
    package = module.partition(".")[0]
    is_installed = bool(INSTALLED.search(place)) if place else package in _THIRD_PARTY
    is_hidden = not place and package in _OFTEN_HIDDEN and caller in ("", "?")
    if not is_installed or is_hidden or name.startswith("_") or _COMPILED.search(name):
        return None
    what = f"the installed {package} has no `{name}` in {module}"
    return Drift("name", Dated(package, what, ()), caller, is_told=True)


def _of_a_constructor(owner: str | None, key: str, failure: Failure) -> Drift | None:
    """An argument that a class does not take. Before Python 3.10 only the line that called names the class."""
    named = owner or _constructed(failure)
    found = members.argument(named, key) if named else None
    return found and Drift("argument", found, _who_passed(failure, found), named in _BASES)


def _constructed(failure: Failure) -> str:
    """The class that the line which raised makes; "" if it names none, or several."""
    asking = askers(failure)
    names = set(_CONSTRUCTED.findall(asking[0].code)) if asking else set()
    return names.pop() if len(names) == 1 else ""


def _who_passed(failure: Failure, found: Dated) -> str:
    """Who called what is missing: a package that calls its own class hands on what it was given by another one."""
    caller = caller_of(failure)
    if caller != found.package:
        return caller
    others = (package for frame in askers(failure) if (package := package_of_frame(frame)) != caller)
    outer = next(others, caller)
    return outer if outer in PACKAGES else caller


def _of_a_method(owner: str | None, method: str, key: str, failure: Failure) -> Drift | None:
    """An argument that a method or a function does not take."""
    caller = caller_of(failure)
    if _is_of_another(owner, caller) and (found := members.own_argument(_calls_itself(failure, method), method, key)):
        return Drift("override", found, "")
    if owner:
        found = members.method_argument(owner, method, key)
        return found and Drift("argument", found, _who_passed(failure, found), owner in _BASES)
    found = members.function_argument(method, key)
    return found and Drift("argument", found, _who_passed(failure, found), is_guess=caller not in PACKAGES)


def _is_of_another(owner: str | None, caller: str) -> bool:
    """Whether a class is not recorded of another package than the one that called: it is derived from that one's."""
    packages = {symbol.partition(".")[0] for symbol in members.recorded_classes(owner)} if owner else set()
    return packages <= {caller}


def _calls_itself(failure: Failure, method: str) -> str:
    """The file of the frame that raised where it calls a method of its own object, which a subclass has overridden."""
    asking = askers(failure)
    calls = bool(asking) and re.search(rf"\bself\.{re.escape(method)}\(", asking[0].code)
    return asking[0].path if calls else ""


def _missing(owner: str | None, keys: list[str], failure: Failure) -> Drift | None:
    """An argument without which some releases of a class do not work, and others do."""
    named = owner or _constructed(failure)
    for key in keys if named else ():
        if found := members.required(named, key):
            return Drift("missing", found, caller_of(failure), named in _BASES)
    return None


def _too_many(owner: str, method: str, given: int, failure: Failure) -> Drift | None:
    """More arguments by position than a method takes, which the caller's own class of this release does."""
    caller = caller_of(failure)
    if _is_of_another(owner, caller) and _calls_itself(failure, method):
        found = members.positional(method, given, caller)
        return found and Drift("override", found, "")
    if owner and not members.recorded_classes(owner):
        return None
    found = members.positional(method, given, caller)
    return found and Drift("positional", found, caller)
