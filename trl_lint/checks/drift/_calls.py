"""Calls of classes and functions whose releases are known, and what each release says about their keywords."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from trl_lint.checks.drift._classes import Argument, Callee, base_of, constructed, imported, may_name_known, own_class
from trl_lint.checks.drift._objects import builds_objects, may_hold_object, object_of, stored
from trl_lint.knowledge.api import resolve, signature
from trl_lint.knowledge.signatures import Parameter, Signature
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT, Missing
from trl_lint.project import Project
from trl_lint.project.modules import is_of_project
from trl_lint.project.stack import PACKAGES, Choices, choices_at
from trl_lint.python.guards import key_of
from trl_lint.python.module import PythonModule

# The old names of `rules/compat/loading.toml`, which is read for files alone that have one.
HANDED_ON = ("torch_dtype", "use_auth_token", "use_flash_attention_2")
_REWRITTEN = ("trl", "transformers", "peft")
# Read in unsloth 2024.8 to 2026.10.9 and in unsloth_zoo: no release puts anything in the place of these two.
_LEFT_AS_THEY_ARE = frozenset(("transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments"))
TRAINERS, CONFIGS = ("Trainer",), ("Config", "Arguments", "Args")


@per_module
def known_calls(module: PythonModule) -> list[tuple[ast.Call, Callee]]:
    """The calls of the module whose callee is certain and belongs to a package whose releases are recorded."""
    return list(_known_calls(module))


def judged_calls(module: PythonModule, project: Project) -> Iterator[tuple[ast.Call, Callee, Choices]]:
    """These calls, each with the releases whose API is known that it may run with, if there are any."""
    for call, callee in known_calls(module):
        known = choices_at(module, call, project, callee.package)
        if known is not None:
            yield call, callee, known


@per_module
def calls_of_others(module: PythonModule) -> list[ast.Call]:
    """The calls with keywords of what is called like a trainer or a config, and that `known_calls` does not know."""
    named = calls_like_known(module)
    if not named or is_patched(module) or is_unsloth(module):
        return []
    known = module.names.imported_from(PACKAGES)
    return [call for call in named if key_of(call.func).partition(".")[0] not in known and _may_derive(call, module)]


@per_module
def calls_like_known(module: PythonModule) -> list[ast.Call]:
    """The calls with keywords of what is called like a trainer or a config."""
    return [call for call in module.calls if call.keywords and is_called_like_known(call.func)]


def is_called_like_known(node: ast.expr) -> bool:
    """Whether what is called is named like a trainer or a config."""
    name = key_of(node).rpartition(".")[2]
    return name[:1].isupper() and name.endswith(TRAINERS + CONFIGS)


def _may_derive(call: ast.Call, module: PythonModule) -> bool:
    """Whether a call may reach a class that other modules or several bases derive from one of a package."""
    cls = own_class(call.func, module)
    if cls is not None and not any(key_of(base).endswith(TRAINERS + CONFIGS) for base in cls.bases):
        return False
    return callee_of(call, module) is None


def _known_calls(module: PythonModule) -> Iterator[tuple[ast.Call, Callee]]:
    if is_patched(module):
        return
    rewritten = ("trl", "transformers") if is_unsloth(module) else ()
    has_objects = builds_objects(module)
    for call in module.calls:
        if not may_name_known(call.func, module) and not (
            isinstance(call.func, ast.Attribute)
            and (_is_super(call.func.value) or (has_objects and may_hold_object(call.func.value, module)))
        ):
            continue
        callee = callee_of(call, module)
        if callee is not None and (callee.package not in rewritten or callee.dotted in _LEFT_AS_THEY_ARE):
            yield call, callee


@per_module
def is_unsloth(module: PythonModule) -> bool:
    """Whether Unsloth is imported, here, by a helper or by who imports this: it takes keywords of older releases."""
    packages = module.names.modules()
    project = module.project()
    if "unsloth" in packages or project is None or packages.isdisjoint(_REWRITTEN):
        return "unsloth" in packages
    if not any(path.endswith(".py") and path != module.path for path in project.paths):
        return False
    from trl_lint.project.brought import brings, is_imported_after_unsloth

    is_helped = any(is_of_project(name, module.path, project) for name in packages)
    return (is_helped and brings("unsloth", module, project)) or is_imported_after_unsloth(module.path, project)


def is_patched(module: PythonModule) -> bool:
    """Whether the file replaces a constructor (`SFTTrainer.__init__ = …`)."""
    return "__init__ =" in module.text and any(
        isinstance(node.ctx, ast.Store) and node.attr == "__init__" for node in module.of(ast.Attribute)
    )


def callee_of(call: ast.Call, module: PythonModule) -> Callee | None:
    func = call.func
    if isinstance(func, ast.Attribute) and _is_super(func.value):
        cls = module.class_of(call)
        base = base_of(cls, module) if cls is not None else None
        if base is None or (base.own and func.attr == "__init__"):
            return None
        return base if func.attr == "__init__" else Callee(f"{base.dotted}.{func.attr}", frozenset())
    cls = own_class(func, module)
    if cls is not None:
        return constructed(cls, module)
    return imported(func, module) or method_of(func, module)


def method_of(func: ast.expr, module: PythonModule) -> Callee | None:
    """The method that is called on an object which the file built, unless a class of the file has one of that name."""
    if not isinstance(func, ast.Attribute) or func.attr in stored(module):
        return None
    found = object_of(func.value, module)
    return Callee(f"{found.dotted}.{func.attr}", frozenset()) if found and func.attr not in found.own else None


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and key_of(node.func) == "super" and not node.args


def arguments(call: ast.Call) -> Iterator[Argument]:
    """The keywords that a call certainly passes, `**{"key": …}` and `**dict(key=…)` included."""
    for keyword in call.keywords:
        value = keyword.value
        if keyword.arg is not None:
            yield Argument(keyword.arg, keyword)
        elif isinstance(value, ast.Dict):
            for key in value.keys:
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield Argument(key.value, key)
        elif isinstance(value, ast.Call) and key_of(value.func) == "dict":
            for inner in value.keywords:
                if inner.arg is not None:
                    yield Argument(inner.arg, inner)


def all_arguments(call: ast.Call, module: PythonModule, project: Project) -> Iterator[Argument]:
    """These, and those that come out of dicts with a name or of functions, where all that is done with them is seen."""
    direct = list(arguments(call))
    yield from direct
    if any(keyword.arg is None for keyword in call.keywords):
        from trl_lint.checks.drift._held import held_arguments

        names = {one.name for one in direct}
        yield from (one for one in held_arguments(call, module, project) if one.name not in names)


def may_hand_on(module: PythonModule) -> bool:
    """Whether a file may pass a keyword that is handed on unread: see `_loading`."""
    return any(name in module.text for name in HANDED_ON)


def may_replace(module: PythonModule) -> bool:
    """Whether a file may construct an object anew with other values: see `_replaced`."""
    if "replace(" not in module.text:
        return False
    names = module.names.imported_from(("dataclasses", "copy"))
    return any(name == "replace" or f"{name}.replace(" in module.text for name in names)


def accepts(dotted: str, keyword: str, versions: dict[str, str]) -> bool | None:
    """Whether a callable takes a keyword with these versions; None if it is not known, or takes anything."""
    found = signature_of(dotted, versions)
    if found is None:
        return None
    return True if keyword in found.parameters else (None if found.open else False)


def is_absent(dotted: str, versions: dict[str, str]) -> bool:
    """Whether there certainly is no such thing with these versions."""
    return resolve(dotted, versions) is ABSENT


def parameter(dotted: str, keyword: str, versions: dict[str, str]) -> Parameter | None:
    found = signature_of(dotted, versions)
    return None if found is None else found.parameters.get(keyword)


def signature_of(dotted: str, versions: dict[str, str]) -> Signature | None:
    """What a dotted name takes when it is called; None if there is no such thing or nobody knows."""
    return _signature_of(dotted, tuple(sorted(versions.items())))


@lru_cache(maxsize=4096)
def _signature_of(dotted: str, versions: tuple[tuple[str, str], ...]) -> Signature | None:
    found = resolve(dotted, dict(versions))
    if isinstance(found, Missing) or found.endswith(":"):
        return None
    return signature(found, dict(versions))
