"""Config files that a script loads itself: `TrainingArguments(**yaml.safe_load(open(sys.argv[1]))["training"])`.

The file is the one that the script names in a literal, or the only config that the command of a run names.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from trl_lint.missing import Missing
from trl_lint.paths import DOCUMENTS
from trl_lint.project import Project
from trl_lint.project.launch import Launch
from trl_lint.python.guards import bindings, key_of, last_name
from trl_lint.python.module import PythonModule
from trl_lint.run.effective import Setting, of_document
from trl_lint.sources import SourceError

# What gives all that a config file holds.
LOADING = frozenset(
    {
        "json.load", "json.loads", "omegaconf.OmegaConf.load", "toml.load", "tomli.load", "tomllib.load",
        "yaml.full_load", "yaml.load", "yaml.safe_load", "yaml.unsafe_load",
    }
)  # fmt: skip
_DEEP = 4  # names and keys between a file and its use


Reader = Callable[[str], Setting | Missing]


def spread_of(call: ast.Call, module: PythonModule, launch: Launch, project: Project) -> Reader | None:
    """What the one `**` of a call puts in by the name, where that is a part of a file; None where nobody can tell."""
    spreads = [keyword.value for keyword in call.keywords if keyword.arg is None]
    node: ast.expr = spreads[0] if len(spreads) == 1 else call
    keys: list[str] = []
    for _ in range(_DEEP):
        if isinstance(node, ast.Subscript):
            key = module.value(node.slice)
            if not isinstance(key, str):
                return None
            keys.insert(0, key)
            node = node.value
        elif isinstance(node, ast.Name):
            values = bindings(module).get(node.id, [])
            if len(values) != 1 or not module.names.is_literal_only(node.id):
                return None
            node = values[0]
    if node is call or not isinstance(node, ast.Call) or not module.names.origins(node.func) & LOADING:
        return None
    read = reader_of(node, module, launch, project)
    return (lambda name: read(".".join((*keys, name)))) if read is not None else None


def reader_of(load: ast.Call, module: PythonModule, launch: Launch, project: Project) -> Reader | None:
    """What the file that a call loads in a run says at a dotted key; None where it is not known which one it is."""
    name = _name_of(load, module)
    if name is None:
        words = [word.text for word in launch.args if (word.text or "").endswith(DOCUMENTS)]
        name = words[0].rpartition("=")[2] if len(words) == 1 and words[0] else ""
    path = launch.file_named(name) if name else None
    with suppress(OSError, SourceError):
        document = project.recipe_in(path) if path is not None else None
        return partial(of_document, document) if document is not None else None
    return None


def _name_of(load: ast.Call, module: PythonModule) -> str | None:
    """The name of the file where it is written down: in `open("x.yaml")`, or in the `with` around the call."""
    given: ast.expr | None = load.args[0] if load.args else None
    if isinstance(given, ast.Name):
        opened = [
            item.context_expr
            for parent in module.ancestors(load)
            if isinstance(parent, ast.With)
            for item in parent.items
            if key_of(item.optional_vars) == given.id
        ]
        given = opened[0] if opened else given
    if isinstance(given, ast.Call) and last_name(given.func) == "open" and given.args:
        given = given.args[0]
    value = module.value(given) if given is not None else None
    return value if isinstance(value, str) else None
