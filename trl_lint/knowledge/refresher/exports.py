"""Names a module offers, and the way from a name to its definition."""

from __future__ import annotations

from collections.abc import Mapping

from trl_lint.knowledge.refresher.extract import Module
from trl_lint.knowledge.refresher.lazy_tables import DUMMY
from trl_lint.records import NamedTuple


class Names(NamedTuple):
    """The names of one module: name -> definition (`module:Name`, `module:` for a module, `~` for a value).

    `open`: there may be more.
    """

    targets: dict[str, str]
    open: bool


class Resolver:
    """Follows names through the modules of one release."""

    def __init__(self, modules: Mapping[str, Module], existing: set[str]) -> None:
        self._modules = modules
        self._existing = existing  # all modules of the archive, read or not
        self._names: dict[str, Names] = {}

    def names(self, module: str) -> Names:
        """All names of a module that was read, with star imports and the lazy table."""
        known = self._names.get(module)
        if known is None:
            self._names[module] = Names({}, True)  # a module that imports itself in a circle
            known = self._names[module] = self._collect(self._modules[module])
        return known

    def _collect(self, module: Module) -> Names:
        targets: dict[str, str] = {}
        is_open = module.makes_names or (module.has_getattr and module.lazy is None)
        for star in module.stars:
            if star in self._modules:
                public = self._modules[star].public
                found = self.names(star)
                is_open = is_open or found.open
                targets.update(
                    (name, target)
                    for name, target in found.targets.items()
                    if (name in public if public is not None else not name.startswith("_"))
                )
            elif DUMMY not in star:
                is_open = True
        for name, reference in module.bound.items():
            targets[name] = self.definition(f"{module.name}:{name}") if reference != "~" else "~"
        if module.lazy is not None:
            is_open = is_open or module.lazy.open
            for part, names in module.lazy.names.items():
                for entry in names:
                    name, _, original = entry.partition("=")
                    targets[name] = self.definition(f"{module.name}.{part}:{original or name}")
            for folder in module.lazy.below:
                targets.update(self._below(f"{module.name}.{folder}", targets))
        return Names(targets, is_open)

    def _below(self, folder: str, known: dict[str, str]) -> dict[str, str]:
        """Names that `define_import_structure` takes from the modules of a folder that were read: their `__all__`."""
        found: dict[str, str] = {}
        for name, module in self._modules.items():
            if name.startswith(folder + ".") and module.public:
                found.update((public, self.definition(f"{name}:{public}")) for public in module.public)
        return {name: target for name, target in found.items() if name not in known}

    def definition(self, reference: str) -> str:
        """Where a name is really defined: `module:Name` of this package or another one, `~` where the way is lost."""
        seen: set[str] = set()
        while reference not in seen:
            seen.add(reference)
            module, _, name = reference.partition(":")
            facts = self._modules.get(module)
            if facts is None:
                if f"{module}.{name}" in self._existing:
                    return f"{module}.{name}:"
                # A module of this package that was not read: the name is taken at its word.
                return reference
            bound = facts.bound.get(name)
            if bound == "":
                return reference
            if bound == "~":
                return "~"
            if bound is not None:
                reference = f"{module}{bound}" if bound.startswith(":") else bound
                continue
            if f"{module}.{name}" in self._existing:
                return f"{module}.{name}:"
            lazy = self._from_lazy(facts, name)
            if not lazy:
                for star in facts.stars:
                    if star in self._modules and name in self.names(star).targets:
                        return self.names(star).targets[name]
                return "~"
            reference = lazy
        return "~"

    def _from_lazy(self, module: Module, name: str) -> str:
        if module.lazy is None:
            return ""
        for part, names in module.lazy.names.items():
            for entry in names:
                alias, _, original = entry.partition("=")
                if alias == name:
                    return f"{module.name}.{part}:{original or alias}"
        return ""
