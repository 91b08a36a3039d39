"""Small readings of code that may ask for releases: which calls are worth following, and what lets people out of it."""

from __future__ import annotations

import ast
import re

from trl_lint.memos import per_module
from trl_lint.python.guards import key_of
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.regexes import regex

# Calls whose name says that they look at what is installed; only those are followed into other modules.
_TELLING = regex(r"version|depend|requir|compat|environ|install|check|ensure|verify|valid|assert", re.IGNORECASE)
# A test that lets people switch the question off.
_OPT_OUT = regex(r"environ|getenv|_env\b|env_|DISABLE|SKIP|IGNORE")
_WORDS_OUT = ("environ", "getenv", "_env", "env_", "DISABLE", "SKIP", "IGNORE")
# Where releases are compared at all.
_VERSIONS = ("__version__", "version(", "_available(")


def compares(module: PythonModule) -> bool:
    """Whether a module may compare releases at all."""
    return _has(module, _VERSIONS)


@per_module
def _has(module: PythonModule, words: tuple[str, ...]) -> bool:
    """Whether one of some words stands in the text of a module, searched for once; no expression is as fast."""
    return any(word in module.text for word in words)


def is_telling(func: ast.expr, module: PythonModule) -> bool:
    """Whether the name of a function, here or where it comes from, says that it looks at what is installed."""
    names = {key_of(func), *module.names.origins(func)}
    return any(_TELLING.search(name.rpartition(".")[2]) for name in names)


def is_foreign(origin: str) -> bool:
    """Whether a name comes from a library that has `require_version`, and not from the project."""
    return origin.partition(".")[0] in ("transformers", "diffusers", "optimum", "adapters", "peft", "accelerate")


def is_of_an_object(function: FunctionNode) -> bool:
    """Whether a function of a class runs on an object that is there already."""
    marks = {key_of(decorator).rpartition(".")[2] for decorator in function.decorator_list}
    return function.name not in ("__init__", "__new__", "__init_subclass__") and not marks & {
        "staticmethod",
        "classmethod",
    }


def is_super_init(call: ast.Call) -> bool:
    """`super().__init__(…)`."""
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr != "__init__" or not isinstance(func.value, ast.Call):
        return False
    return key_of(func.value.func) == "super"


def is_script(module: PythonModule) -> bool:
    return _has(module, ("__main__",))


def may_be_switched_off(module: PythonModule) -> bool:
    """Whether a module has words of a test that lets people switch a question off."""
    return _has(module, _WORDS_OUT)


def is_way_out(test: ast.expr, module: PythonModule) -> bool:
    """Whether a test asks if people have switched the question off: `os.environ.get("DISABLE_VERSION_CHECK")`."""
    return _OPT_OUT.search(module.segment(test)) is not None
