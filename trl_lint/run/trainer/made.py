"""Words for how an object was made: its possibilities, the tests that each of them stands under, and later changes."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any, Literal, Protocol

from trl_lint.finding import Location
from trl_lint.missing import UNKNOWN
from trl_lint.project import Project
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.reaching import Branches
from trl_lint.records import NamedTuple
from trl_lint.run.loaded_files import LOADING

Kind = Literal[
    "absent", "call", "class", "computed", "dict", "field", "function", "instance", "list", "literal", "module",
    "name", "parsed", "part", "self", "unknown",
]  # fmt: skip
ChangeKind = Literal["set", "item", "call", "other"]


class Resolver(Protocol):
    """Answers how expressions were made (`resolver.py`). `asked_callers`: for how many functions callers were asked."""

    project: Project
    asked_callers: int
    truths: dict[tuple[ast.AST, Frame, object], bool | None]

    def refill(self) -> None: ...
    def options(self, node: ast.expr, frame: Frame) -> Options: ...
    def argument(self, made: Made, name: str, position: int | None) -> Options: ...
    def entry(self, made: Made, key: str) -> Options: ...
    def items(self, made: Made) -> tuple[Options, ...] | None: ...
    def attribute(self, made: Made, name: str) -> Options: ...
    def limited(self, found: Options, node: ast.AST, frame: Frame) -> Options: ...
    def unknown(self, node: ast.AST, frame: Frame) -> Made: ...
    def absent(self, node: ast.AST, frame: Frame) -> Made: ...
    def frame(self, module: PythonModule, function: FunctionNode | ast.Lambda | None = None) -> Frame: ...
    def frame_at(self, node: ast.AST, frame: Frame) -> Frame: ...
    def bound(self, call: ast.Call, caller: Frame, function: FunctionNode | ast.Lambda, made: Frame) -> Frame: ...
    def conditions(self, branches: Branches, frame: Frame) -> Conditions: ...


# Functions and methods of libraries that never give None, nor does an item of what they give: those by which models and
# datasets are loaded, wrapped and changed.
_GIVING = frozenset(
    {
        "add_column", "bfloat16", "cast", "cast_column", "clone_chat_template", "concatenate_datasets",
        "create_reference_model", "cuda", "filter", "get_chat_template", "get_peft_model", "half",
        "interleave_datasets", "load_dataset", "load_from_disk", "map", "merge_and_unload",
        "prepare_model_for_int8_training", "prepare_model_for_kbit_training", "remove_columns", "rename_column",
        "rename_columns", "requires_grad_", "select", "select_columns", "setup_chat_format", "shuffle", "skip",
        "take", "to", "train_test_split",
    }
)  # fmt: skip
_GIVING_BUILTINS = frozenset(
    {"bool", "float", "int", "len", "list", "open", "range", "repr", "set", "sorted", "str", "tuple"}
)


class Frame:
    """Where an expression is read: its module, the function around it, and what that one was called with.

    `arguments` is None where the function is read for whoever calls it: then its parameters are what its callers pass.
    """

    __slots__ = ("arguments", "call", "caller", "depth", "function", "module", "resolver")

    def __init__(
        self,
        resolver: Resolver,
        module: PythonModule,
        function: FunctionNode | ast.Lambda | None = None,
        arguments: object = None,
        caller: Frame | None = None,
        call: ast.Call | None = None,
    ) -> None:
        self.resolver = resolver
        self.module = module
        self.function = function
        self.arguments = arguments
        self.caller = caller
        self.call = call
        self.depth: int = 0 if caller is None else caller.depth + 1


class Condition(NamedTuple):
    """A test that has to come out as `truth`. Its `test` may be an `except` or a `case`, which nobody can foresee."""

    test: ast.AST
    truth: bool
    frame: Frame

    @property
    def location(self) -> Location:
        return self.frame.module.location(self.test)


Conditions = tuple[Condition, ...]


class Change(NamedTuple):
    """A later statement that changes an object in place.

    `kind`: "set" for `x.a.b = value`, whose `path` is `a.b`; "item" for `x["a"] = value`, whose `path` is `a` ("" if it
    is not known which); "call" for `x.a.m(…)`, whose `path` is `a.m`, and whose `value` is the call; "other" for what
    sets or takes away something that is not written down, in the attribute `path` ("" if it is not known which).
    """

    kind: ChangeKind
    path: str
    value: ast.expr | None
    statement: ast.stmt
    frame: Frame
    under: Conditions = ()

    @property
    def location(self) -> Location:
        return self.frame.module.location(self.statement)


class Stay(NamedTuple):
    """That an object had a name, from `site`, which binds it, to a use. `site` is None for `self.x`, set anywhere."""

    owner: str
    site: ast.AST | None
    use: ast.expr
    frame: Frame


class Made(NamedTuple):
    """One way in which an object may have been made.

    `kind`      what made it:
                "call"      a function or class that is none of the project's, or a method of another object
                "instance"  a class of the project
                "literal"   a value that is written down, see `value` (UNKNOWN for text with unknown parts)
                "list", "dict"  a list (also one that a loop in brackets makes) or tuple, a dict: see `items`, `entry`
                "parsed"    what a parser of arguments gives: an object with one field for each argument
                "field"     one of these fields; `origin` is its name
                "name"      a name of a library that is not called; `origin` is its dotted name
                "function", "class", "module"  a definition of the project
                "part"      an attribute of another object: `origin` is its name, `base` the object
                "self"      the object that a method is called on
                "computed"  an operator
                "absent"    it is certainly not given
                "unknown"   nobody can tell
    `origin`    the dotted name of what is called, as imported: `transformers.AutoModelForCausalLM.from_pretrained`.
                A method of an object begins with a dot: `.map`; its `base` is the object. "" where that is not known.
    `node`      the expression, or the definition
    `frame`     where `node` is read
    `under`     the tests that have to hold for it, from the outside in; none: it holds always
    `base`      the object that a method was called on, or an attribute was taken of
    `item`      which part of the result it is: `(1,)` for `b` in `a, b = f()`, `("train",)` for `f()["train"]`
    `changes`   what was done to it in place between there and its use
    `value`     the value of a literal
    `stays`     the names that it had on its way: by them it may have been handed to functions (`handed.py`)
    """

    kind: Kind
    node: ast.AST
    frame: Frame
    origin: str = ""
    under: Conditions = ()
    base: Any = None  # Made | None: a record cannot name itself while it is made
    item: tuple[object, ...] = ()
    changes: tuple[Change, ...] = ()
    value: object = UNKNOWN
    stays: tuple[Stay, ...] = ()

    @property
    def location(self) -> Location:
        """Where it is made."""
        return self.frame.module.location(self.node)

    @property
    def is_known(self) -> bool:
        """Whether it is certain what made it, and, for a method, what made the object before it."""
        if self.kind in ("unknown", "computed", "part", "self"):
            return self.kind == "part" and isinstance(self.base, Made) and self.base.is_known
        return not isinstance(self.base, Made) or self.base.is_known

    @property
    def name(self) -> str:
        """The last part of the dotted name: `from_pretrained`, `map`, `LoraConfig`."""
        return self.origin.rpartition(".")[2]

    @property
    def is_none(self) -> bool:
        return self.kind == "literal" and self.value is None

    @property
    def is_nothing(self) -> bool:
        """Whether certainly nothing is given, or None."""
        return self.kind == "absent" or self.is_none

    @property
    def is_given(self) -> bool:
        """Whether it is certainly an object: neither absent, nor None, nor unknown."""
        if self.kind == "call":
            return self.is_known and _gives_object(self)
        return self.is_known and self.kind not in ("absent", "field", "part") and not self.is_none

    @property
    def is_loaded(self) -> bool:
        """Whether it is what a config file holds that the script loads, or a part of it (`loaded_files.py`)."""
        is_call = self.kind == "call" and self.origin in LOADING and isinstance(self.node, ast.Call)
        return is_call and all(isinstance(one, str) for one in self.item)

    def beneath(self, conditions: Conditions) -> Made:
        """The same where these tests have to hold as well."""
        return self._replace(under=(*conditions, *self.under)) if conditions else self

    def after(self, changes: tuple[Change, ...], stay: Stay) -> Made:
        """The same where it is used by a name, with what was changed in place before."""
        return self._replace(changes=(*self.changes, *changes), stays=(*self.stays, stay))

    def argument(self, name: str, position: int | None = None) -> Options:
        """What the call was given for a parameter (0-based `position` if it may be positional).

        It looks through `**kwargs` that were built in steps. "absent" where it is certain that nothing was given.
        """
        return self.frame.resolver.argument(self, name, position)

    def entry(self, key: str) -> Options:
        """What a dict holds under a key."""
        return self.frame.resolver.entry(self, key)

    def items(self) -> tuple[Options, ...] | None:
        """What a list or a tuple holds; None where that is not known."""
        return self.frame.resolver.items(self)

    def attribute(self, name: str) -> Options:
        """What an attribute of the object is."""
        return self.frame.resolver.attribute(self, name)


Options = tuple[Made, ...]
"""The possibilities for one object, at least one. They exclude each other, as far as their tests do."""


def is_absent(options: Options) -> bool:
    """Whether it is certain that nothing was given."""
    return all(made.kind == "absent" for made in options)


def are_known(options: Options) -> bool:
    """Whether all possibilities are known, and there is one that is given."""
    return bool(options) and all(made.is_known for made in options)


def literals(options: Options) -> list[object] | None:
    """The values that it may have; None where one is not known. What is absent counts as None."""
    found: list[object] = []
    for made in options:
        if made.kind == "absent":
            found.append(None)
        elif made.kind == "literal" and made.value is not UNKNOWN:
            found.append(made.value)
        else:
            return None
    return found


def _gives_object(made: Made) -> bool:
    """Whether a call of a library certainly gives no None. Others may: `os.environ.get`, `re.match`, a helper."""
    if made.item or made.name in _GIVING:
        return made.name in _GIVING
    return made.name[:1].isupper() or made.name.startswith("from_") or made.origin in _GIVING_BUILTINS


def beneath(options: Iterable[Made], conditions: Conditions) -> Options:
    return tuple(made.beneath(conditions) for made in options)
