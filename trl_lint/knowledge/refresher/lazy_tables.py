"""The lazy tables of packages (`_LazyModule`, `MODULE_ATTRS`): which names come from which submodule."""

from __future__ import annotations

import ast

from trl_lint.python.default_text import dotted, last_name, read_string
from trl_lint.records import NamedTuple

# Tables of stand-ins for missing optional packages: they name what the real modules name.
DUMMY = "dummy"


class LazyTable(NamedTuple):
    """Names by submodule. `open`: part of the table is made at run time. `everything`: the table is all there is."""

    names: dict[str, tuple[str, ...]]
    open: bool
    below: tuple[str, ...]


def has_lazy_table(source: bytes) -> bool:
    """Whether the source may hold a lazy table: a quick look before a tree is searched."""
    return any(
        word in source for word in (b"_import_structure", b"define_import_structure", b"MODULE_ATTRS", b"_LAZY_ATTRS")
    )


def read_lazy_table(tree: ast.Module, statements: list[ast.stmt]) -> LazyTable | None:
    """The lazy table of a package, None if it has none.

    Understands transformers' `_import_structure` in all its spellings (literal, `["x"] = […]`, `.append`, `.extend`,
    dotted keys) and vLLM's `MODULE_ATTRS`. `define_import_structure(…)` builds a table from files: the table is open,
    and `below` names the folders it is built from.
    """
    tables: dict[str, dict[str, list[str]]] = {}
    used = ""
    is_open = False
    below: list[str] = []
    for node in statements:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            _read_assignment(node, tables)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            _read_extension(node.value, tables)
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and last_name(call.func) == "_LazyModule" and len(call.args) > 2:
            used = dotted(call.args[2]) or "?"
        elif isinstance(call, ast.Call) and last_name(call.func) == "define_import_structure":
            is_open = True
            below += [read_string(k.value) for k in call.keywords if k.arg == "prefix"]
    name = next((name for name in (used, "_import_structure", "MODULE_ATTRS", "_LAZY_ATTRS") if name in tables), "")
    if not name and not is_open:
        return None
    if "_import_structure" in tables and name != "_import_structure":
        name = "_import_structure"  # `import_structure[frozenset({})].update(_import_structure)`
    names = {module: tuple(found) for module, found in tables.get(name, {}).items() if DUMMY not in module}
    return LazyTable(names, is_open, tuple(below))


def _read_assignment(node: ast.Assign | ast.AnnAssign, tables: dict[str, dict[str, list[str]]]) -> None:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        if isinstance(target, ast.Name) and isinstance(node.value, ast.Dict):
            table = _read_dict(node.value)
            if table is not None:
                tables[target.id] = table
        elif isinstance(target, ast.Subscript) and dotted(target.value) in tables and read_string(target.slice):
            found = _read_names(node.value)
            if found is not None:
                tables[dotted(target.value)].setdefault(read_string(target.slice), []).extend(found)


def _read_dict(node: ast.Dict) -> dict[str, list[str]] | None:
    """`{"sub": ["A", "B"]}`, or vLLM's `{"A": ".sub:A"}` turned round; None for other dicts."""
    table: dict[str, list[str]] = {}
    for key, value in zip(node.keys, node.values, strict=False):
        text = read_string(key)
        names = _read_names(value)
        if not text:
            return None
        if names is not None:
            table.setdefault(text, []).extend(names)
            continue
        module, colon, name = read_string(value).partition(":")
        if not colon:
            return None
        table.setdefault(module.lstrip("."), []).append(text if text == name else f"{text}={name}")
    return table


def _read_names(node: ast.expr | None) -> list[str] | None:
    if not isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return None
    return [read_string(item) for item in node.elts if read_string(item)]


def _read_extension(call: ast.Call, tables: dict[str, dict[str, list[str]]]) -> None:
    """`_import_structure["x"].append("Name")` and `.extend([…])`."""
    function = call.func
    if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Subscript) and call.args):
        return
    table, key = dotted(function.value.value), read_string(function.value.slice)
    if table not in tables or not key:
        return
    names = [read_string(call.args[0])] if function.attr == "append" else _read_names(call.args[0])
    tables[table].setdefault(key, []).extend(name for name in names or [] if name)
