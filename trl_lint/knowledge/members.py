"""Attributes of objects: what a class and its bases define in given releases.

That a class does not define an attribute proves little, because `__init__` may assign it: such assignments are not
recorded. A method or a dataclass field that another release declares is another matter: for those that trl,
transformers, accelerate and vllm ever removed, the archives of the removing releases were searched for `self.x = …` in
the modules of the class, and the few hits belong to other classes. peft does not count, whose models pass unknown names
on to the model they wrap.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from trl_lint.knowledge.api import facts, member, resolve, signature
from trl_lint.missing import ABSENT, Missing

_FORWARDING = frozenset({"peft"})
_FIELD_KINDS = ("dataclass", "pydantic", "struct", "namedtuple")


def has_member(dotted: str, name: str, versions: Mapping[str, str]) -> bool | None:
    """Whether objects of a class have an attribute that some release declares; None where nobody knows.

    False is only proof for a name that `declares` knows from another release.
    """
    return _has_member(dotted, name, tuple(sorted(versions.items())))


@lru_cache(maxsize=4096)
def _has_member(dotted: str, name: str, versions: tuple[tuple[str, str], ...]) -> bool | None:
    symbol = _class(dotted, dict(versions))
    if not symbol or dotted.partition(".")[0] in _FORWARDING:
        return None
    found = member(symbol, name, dict(versions))
    if found is ABSENT:
        return False
    return None if isinstance(found, Missing) else True


def declares(dotted: str, name: str, versions: Mapping[str, str]) -> bool:
    """Whether a class has a method or a field of that name, so that it is there without being assigned."""
    symbol = _class(dotted, dict(versions))
    found = member(symbol, name, versions) if symbol else ""
    if isinstance(found, Missing) or not found:
        return False
    return found.startswith("(") or (_has_fields(symbol, versions) and name in signature(symbol, versions).parameters)


def is_method(dotted: str, name: str, versions: Mapping[str, str]) -> bool:
    symbol = _class(dotted, dict(versions))
    found = member(symbol, name, versions) if symbol else ""
    return isinstance(found, str) and found.startswith("(")


def _class(dotted: str, versions: dict[str, str]) -> str:
    symbol = resolve(dotted, versions)
    return "" if isinstance(symbol, Missing) or "." in symbol.partition(":")[2] or symbol.endswith(":") else symbol


def _has_fields(symbol: str, versions: Mapping[str, str]) -> bool:
    return _kind(symbol, versions) in _FIELD_KINDS


def _kind(symbol: str, versions: Mapping[str, str]) -> str:
    package = symbol.partition(":")[0].partition(".")[0]
    found = facts(package, f"class {symbol}", versions.get(package))
    return "" if isinstance(found, Missing) else found.get("@kind", "")


def fills_its_fields(dotted: str, versions: Mapping[str, str]) -> bool:
    """Whether a class may get its required fields under other names or from its own code (pydantic)."""
    symbol = _class(dotted, dict(versions))
    return bool(symbol) and _kind(symbol, versions) == "pydantic"
