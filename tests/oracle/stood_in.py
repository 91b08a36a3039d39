"""Modules that stand in for packages as large as torch, for the probes beside this file; nothing of ours is asked for.

Every name of such a module that begins with a capital is a class, whose attributes are their own names; every other
one is a module again.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types


class Kind(type):
    """A class that has every attribute."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return name


class Empty(types.ModuleType):
    """A module that has every name."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        made: object = Kind(name, (), {}) if name[:1].isupper() else Empty(f"{self.__name__}.{name}")
        setattr(self, name, made)
        return made

    def __or__(self, other: object) -> type:
        return object

    def __call__(self, *given: object, **named: object) -> bool:
        return False


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, packages: tuple[str, ...]) -> None:
        self.packages = packages

    def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] in self.packages:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return Empty(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def stand_in(*packages: str) -> None:
    """Let nothing be behind some packages from here on."""
    sys.meta_path.append(Finder(packages))
    for name in packages:
        sys.modules[name] = Empty(name)


def package_at(name: str, folder: str) -> None:
    """Make a package of which no `__init__` runs."""
    package = types.ModuleType(name)
    package.__path__ = [folder]
    sys.modules[name] = package
