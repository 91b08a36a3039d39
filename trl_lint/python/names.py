"""What names mean: imports and simple aliases of one module, as sets of possible origins.

A name can have several origins (`try: from trl import X / except ImportError: from mylib import X`). They are kept as a
set, so the answer never depends on the order of statements or of a hash.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

_NONE: frozenset[str] = frozenset()
# Names that are assigned to each other in turn (lists that are walked, trees that are rotated) have more readings than
# can be counted. Such a name is certain of nothing: it gets two origins that are no names.
_TANGLED = frozenset(("?", "??"))
_MOST_STEPS = 200  # from name to name; then a name is certain of nothing


class Names:
    """The import and alias table of a module. All scopes are merged: a second meaning makes a name uncertain."""

    __slots__ = ("_aliases", "_bound", "_imports", "_known", "_other")

    def __init__(self) -> None:
        self._imports: dict[str, set[str]] = {}
        self._aliases: dict[str, list[ast.expr]] = {}
        self._other: set[str] = set()
        self._bound: set[str] = set()
        self._known: dict[str, frozenset[str]] = {}

    def add_import(self, node: ast.Import | ast.ImportFrom) -> None:
        self._known.clear()
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    self._imports.setdefault(alias.asname, set()).add(alias.name)
                else:
                    top = alias.name.partition(".")[0]
                    self._imports.setdefault(top, set()).add(top)
            return
        base = "." * node.level + (node.module or "")
        for alias in node.names:
            self._imports.setdefault(alias.asname or alias.name, set()).add(f"{base}.{alias.name}")

    def add_assignment(self, target: ast.expr, value: ast.expr | None) -> None:
        """Record `name = dotted.name` as an alias; any other value makes the name a local one.

        `None`, `Any` and the like are no second meaning of an imported name: they stand where the import failed, and
        nothing can be done with them. The imports are to be recorded before.
        """
        if not isinstance(target, ast.Name) or (target.id in self._imports and _stands_for_nothing(value)):
            return
        self._known.clear()
        if isinstance(value, (ast.Name, ast.Attribute)):
            self._aliases.setdefault(target.id, []).append(value)
        else:
            self._other.add(target.id)

    def add_binding(self, name: str) -> None:
        """Record that something else binds the name: a parameter, a loop variable, a definition."""
        self._other.add(name)
        self._bound.add(name)

    def is_literal_only(self, name: str) -> bool:
        """Whether plain assignments are all that binds the name (no parameter, loop or import of that name)."""
        return name not in self._imports and name not in self._bound

    def is_imported(self, name: str) -> bool:
        return name in self._imports

    def modules(self) -> set[str]:
        """Top-level packages that the module imports anything from."""
        return {origin.partition(".")[0] for origins in self._imports.values() for origin in origins}

    def imported_from(self, packages: Collection[str]) -> set[str]:
        """The names that an import from one of the packages may have bound."""
        return {
            name
            for name, origins in self._imports.items()
            if any(origin.partition(".")[0] in packages for origin in origins)
        }

    def origins(self, node: ast.expr) -> frozenset[str]:
        """Every dotted name the expression may stand for; empty where it is no name at all.

        A name that is neither imported nor an alias stands for itself: `self.accelerator.prepare` -> itself.
        """
        name, attributes = _split(node)
        if not name:
            return _NONE
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._expanded(name, (), [_MOST_STEPS])
        return frozenset(origin + attributes for origin in found) if attributes else found

    def _expanded(self, name: str, around: tuple[str, ...], steps: list[int]) -> frozenset[str]:
        """The origins of a name inside the definitions of those `around` it.

        `node = node.parent` defines a name through itself: there it stands for what it is without that.
        """
        if name in around:
            return frozenset(self._imports.get(name, (name,)))
        steps[0] -= 1
        if steps[0] < 0:
            return _TANGLED
        found = set(self._imports.get(name, ()))
        for value in self._aliases.get(name, ()):
            first, attributes = _split(value)
            if first and (first != name or attributes):
                bases = self._expanded(first, (*around, name), steps)
                found.update(base + attributes for base in bases)
        return frozenset(found) or frozenset((name,))

    def is_certain(self, node: ast.expr) -> bool:
        """Whether the expression has exactly one origin and no other binding of its first name exists."""
        while isinstance(node, ast.Attribute):
            node = node.value
        if not isinstance(node, ast.Name):
            return False
        return node.id not in self._other and len(self.origins(node)) == 1


def _split(node: ast.expr) -> tuple[str, str]:
    """`a.b.c` as ("a", ".b.c"); two empty strings for what is no dotted name."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return "", ""
    return node.id, "".join("." + attribute for attribute in reversed(attributes))


def _stands_for_nothing(value: ast.expr | None) -> bool:
    """Whether a value is none that a call could reach: `None`, `False`, `...`, `object`, `Any`."""
    if isinstance(value, ast.Constant):
        return value.value is None or value.value is False or value.value is ...
    if isinstance(value, ast.Attribute):
        return value.attr == "Any" and isinstance(value.value, ast.Name)
    return isinstance(value, ast.Name) and value.id in ("Any", "object")


def is_from(origin: str, dotted: str) -> bool:
    """Whether an origin is the public name `dotted`, wherever inside the package it is imported from.

    Libraries re-export (`trl.GRPOConfig` is `trl.trainer.grpo_config.GRPOConfig`): first and last part decide.
    """
    package, _, name = dotted.rpartition(".")
    return origin.endswith("." + name) and origin.startswith(package.partition(".")[0] + ".")
