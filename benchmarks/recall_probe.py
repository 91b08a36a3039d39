"""What an interpreter really has: reads `{"names": […], "keywords": […]}` from stdin and answers on stdout.

Run by `benchmarks.recall` with the Python of an environment in which the releases are installed; it needs nothing but
the standard library. A name is `module:Name` or `module:`; a keyword is `[name, keyword]`. The answers are "yes", "no",
or why nobody can tell ("open": it takes any keyword; "gone": there is nothing to call; else the error of an import
that failed for another reason).
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import inspect
import io
import json
import sys
from typing import Any

PACKAGES = ("trl", "transformers", "accelerate", "peft", "torch")


class GoneError(Exception):
    """There is no such module or name."""


def load(name: str) -> Any:
    """The object behind a name. Raises GoneError, or whatever else an import may raise."""
    module_name, _, attribute = name.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and f"{module_name}.".startswith(f"{error.name}."):
            raise GoneError from error
        raise
    if not attribute:
        return module
    try:
        return getattr(module, attribute)
    except AttributeError:
        try:
            return importlib.import_module(f"{module_name}.{attribute}")
        except ModuleNotFoundError as error:
            if error.name == f"{module_name}.{attribute}" or error.name == module_name:
                raise GoneError from error
            raise


def has(name: str) -> str:
    try:
        load(name)
    except GoneError:
        return "no"
    except BaseException as error:  # the import of anything may do anything
        return f"{type(error).__name__}: {error}"[:200]
    return "yes"


def takes(name: str, keyword: str) -> str:
    try:
        parameters = inspect.signature(load(name)).parameters
    except GoneError:
        return "gone"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:200]
    found = parameters.get(keyword)
    if found is not None and found.kind in (found.POSITIONAL_OR_KEYWORD, found.KEYWORD_ONLY):
        return "yes"
    return "open" if any(p.kind == p.VAR_KEYWORD for p in parameters.values()) else "no"


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def main() -> None:
    asked = json.load(sys.stdin)
    with contextlib.redirect_stdout(io.StringIO()):
        answer = {
            "versions": {package: version(package) for package in PACKAGES},
            "names": {name: has(name) for name in asked["names"]},
            "keywords": [[name, keyword, takes(name, keyword)] for name, keyword in asked["keywords"]],
        }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
