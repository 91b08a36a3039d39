"""Which argument classes the commands of a framework are parsed into, per release; the classes are facts of their own.

`command NAME`: `@classes` the references of the classes, in order. `plugins`: a module of plugins and the class whose
fields it adds. `templates`: the names of the chat templates. Sources: the lists `_TRAIN_ARGS`, `_INFER_ARGS` and
`_EVAL_ARGS` of LLaMA-Factory's parser; the routes of ms-swift's command line and what its `…_main` functions take;
axolotl's `get_input_args`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from trl_lint.knowledge.refresher.exports import Resolver
from trl_lint.knowledge.refresher.extract import Module
from trl_lint.knowledge.refresher.index import Contents
from trl_lint.knowledge.refresher.trees import tree_of
from trl_lint.python.default_text import last_name, read_string
from trl_lint.regexes import regex

Commands = dict[str, tuple[str, ...]]
"""The name of a command, or the module of a plugin -> references of classes."""

_LISTS = {"_TRAIN_ARGS": "train", "_INFER_ARGS": "infer", "_EVAL_ARGS": "eval"}
# What the names of the commands begin with in the history, and where they stand: `swift sft`, `megatron sft`.
_SWIFT_PROGRAMS = {"": "swift/cli/main.py", "megatron-": "swift/cli/_megatron/main.py"}
_MAIN = regex(r"(\w+)_main")


def read_commands(package: str, contents: Contents, modules: Mapping[str, Module], resolver: Resolver) -> Commands:
    """The commands of one release of a package, {} for packages without such commands."""
    if package == "llamafactory":
        return _llamafactory(contents, resolver)
    if package == "ms-swift":
        return _swift(contents, modules, resolver)
    if package == "axolotl":
        return _axolotl(modules)
    return {}


def read_plugins(package: str, contents: Contents, modules: Mapping[str, Module], resolver: Resolver) -> Commands:
    """The plugins of one release that bring fields of their own, by the module that a config names."""
    found: Commands = {}
    for path in sorted(contents.members) if package == "axolotl" else ():
        tree = tree_of(contents.members, path) if path.startswith("axolotl/integrations/") else None
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.FunctionDef) and node.name == "get_input_args":
                for text in _returned(node):
                    module, _, name = text.rpartition(".")
                    reference = resolver.definition(f"{module}:{name}")
                    # A plugin is named by the module that its class stands in, or by the package that serves it.
                    for plugin in {_module_of(path), ".".join(_module_of(path).split(".")[:3])}:
                        found[plugin] = (reference,)
    return found


def _module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _returned(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and read_string(node.value):
            yield read_string(node.value)


def _llamafactory(contents: Contents, resolver: Resolver) -> Commands:
    found: Commands = {}
    tree = tree_of(contents.members, "llamafactory/hparams/parser.py")
    for node in tree.body if tree is not None else ():
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        command = _LISTS.get(node.targets[0].id, "")
        if command and isinstance(node.value, ast.List):
            names = [item.id for item in node.value.elts if isinstance(item, ast.Name)]
            found[command] = tuple(resolver.definition(f"llamafactory.hparams.parser:{name}") for name in names)
    return found


def read_templates(package: str, contents: Contents) -> set[str]:
    """The chat templates that one release registers by name, `@open` where some name cannot be read."""
    tree = tree_of(contents.members, "llamafactory/data/template.py") if package == "llamafactory" else None
    found: set[str] = set()
    for node in tree.body if tree is not None else ():
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and last_name(call.func).lstrip("_") == "register_template":
            given = [*call.args[:1], *(each.value for each in call.keywords if each.arg == "name")]
            found.add((read_string(given[0]) if given else "") or "@open")
    return found


def _swift(contents: Contents, modules: Mapping[str, Module], resolver: Resolver) -> Commands:
    """`sft_main = get_main(SftArguments, …)`, or `def sft_main(args: Union[List[str], SftArguments, None])`."""
    mains: dict[str, str] = {}
    for name in sorted(modules):
        tree = tree_of(contents.members, f"{name.replace('.', '/')}.py")
        for node in tree.body if tree is not None else ():
            taken = _taken_by_main(node)
            if taken is not None:
                mains.setdefault(taken[0], resolver.definition(f"{name}:{taken[1]}"))
    found: Commands = {}
    for prefix, path in _SWIFT_PROGRAMS.items():
        for command, module in _routes(contents, path).items():
            names = _called_mains(tree_of(contents.members, f"{module.replace('.', '/')}.py"))
            called = next((name for name in names if name in mains), None)
            if called is not None:
                found[prefix + command.replace("_", "-")] = (mains[called],)
    return found


def _taken_by_main(node: ast.stmt) -> tuple[str, str] | None:
    """The name of a `…_main` and of the class it takes."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call):
        is_main = _MAIN.fullmatch(node.targets[0].id) and node.value.args
        name = node.value.args[0] if is_main else None
        return (node.targets[0].id, name.id) if isinstance(name, ast.Name) else None
    if isinstance(node, ast.FunctionDef) and _MAIN.fullmatch(node.name) and node.args.args:
        annotation = node.args.args[0].annotation
        names = [part.id for part in ast.walk(annotation) if isinstance(part, ast.Name)] if annotation else []
        classes = [name for name in names if name.endswith("Arguments")]
        return (node.name, classes[0]) if len(classes) == 1 else None
    return None


def _routes(contents: Contents, path: str) -> dict[str, str]:
    """`ROUTE_MAPPING` of a command line: command -> module."""
    tree = tree_of(contents.members, path)
    for node in tree.body if tree is not None else ():
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(value, ast.Dict) and any(isinstance(t, ast.Name) and t.id == "ROUTE_MAPPING" for t in targets):
            pairs = zip(value.keys, value.values, strict=True)
            return {read_string(key): _route(target) for key, target in pairs if read_string(key) and _route(target)}
    return {}


def _route(node: ast.expr) -> str:
    """A module as text, or out of `os.path.join(ROOT, 'cli/sft.py')` or `ROOT + …` as older releases write it."""
    return read_string(node) if read_string(node).startswith("swift.") else ""


def _called_mains(tree: ast.Module | None) -> Iterator[str]:
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call) and _MAIN.fullmatch(last_name(node.func)):
            yield last_name(node.func)


def _axolotl(modules: Mapping[str, Module]) -> Commands:
    """The root class; the oldest release that has it keeps it below `models.input`."""
    for name in sorted(modules):
        if "AxolotlInputConfig" in modules[name].classes and ".next" not in name:
            return {"train": (f"{name}:AxolotlInputConfig",)}
    return {}
