"""The flags of vLLM's server, per release: `flags vllm.serve`, as `--flag` or `--flag + choices=['a','b']`.

Read: the dashed texts of the files that declare them, and the fields of the classes that flags are made of. That is
rather too many than too few, so that what is not among them is certainly refused. A release whose files are not where
they were is left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.knowledge.refresher.index import Contents, Facts
from trl_lint.knowledge.refresher.trees import tree_of
from trl_lint.python.default_text import read_string
from trl_lint.regexes import regex

_ENGINE = "vllm/engine/arg_utils.py"
_FRONTENDS = tuple(f"vllm/entrypoints/{folder}/cli_args.py" for folder in ("openai", "launchers", "common"))
_OTHERS = (
    "vllm/scripts.py", "vllm/entrypoints/cli/serve.py", "vllm/entrypoints/openai/api_server.py",
    "vllm/utils/argparse_utils.py",
)  # fmt: skip
_CLASSES = ("EngineArgs", "AsyncEngineArgs", "BaseFrontendArgs", "FrontendArgs")
_FLAG = regex(r"--[a-zA-Z][\w-]*\Z")
_CHOICE = regex(r"[\w.-]+")
# Plugins of platforms add to the choices of these ("may add a new kind of quantization method", arg_utils.py).
_EXTENDED = ("--quantization", "--device")

_Choices = dict[str, tuple[str, ...]]


def serve_flags(contents: Contents) -> Facts:
    """The `flags` symbol of one release of vLLM; none where the files that declare them are not found."""
    trees = {path: tree_of(contents.members, path) for path in (_ENGINE, *_FRONTENDS, *_OTHERS)}
    engine, frontends = trees[_ENGINE], [tree for path in _FRONTENDS if (tree := trees[path]) is not None]
    if engine is None or len(frontends) != 1:
        return {}
    names: dict[str, str] = {}
    for tree in filter(None, trees.values()):
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _FLAG.match(node.value):
                names[_dashed(node.value)] = "+"
            elif isinstance(node, ast.ClassDef) and node.name in _CLASSES:
                names.update((_dashed(f"--{field}"), "+") for field in _annotations(node) if field[0] != "_")
    found = {**_written(frontends[0]), **_written(engine), **_typed(engine, contents)}
    for flag, choices in found.items():
        if flag in names and flag not in _EXTENDED:
            names[flag] = f"+ choices=[{','.join(map(repr, choices))}]"
    return {"flags vllm.serve": names}


def _dashed(flag: str) -> str:
    return flag.replace("_", "-")


def _annotations(found: ast.ClassDef) -> dict[str, ast.expr]:
    return {
        node.target.id: node.annotation
        for node in found.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def _added(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """The `add_argument` calls with the flag that each names first."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            flag = read_string(node.args[0]) if node.args else ""
            if flag.startswith("--"):
                yield _dashed(flag), node


def _written(tree: ast.Module) -> _Choices:
    """`choices=['auto', 'half']`; a flag that is declared twice may have others."""
    found: _Choices = {}
    seen: set[str] = set()
    for flag, call in _added(tree):
        for keyword in call.keywords:
            texts = _texts(keyword.value) if keyword.arg == "choices" else ()
            if texts:
                found[flag] = texts
        if flag in seen:
            found.pop(flag, None)
        seen.add(flag)
    return found


def _texts(node: ast.expr) -> tuple[str, ...]:
    """The texts of a list or tuple of nothing else, sorted; none for other expressions."""
    items = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]
    texts = [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    return tuple(sorted(texts)) if len(texts) == len(items) and all(map(_CHOICE.fullmatch, texts)) else ()


def _typed(engine: ast.Module, contents: Contents) -> _Choices:
    """`add_argument("--dtype", **model_kwargs["dtype"])`: the `Literal` of the field, as `get_kwargs` reads it."""
    owners: dict[str, str] = {}
    mentioned: dict[tuple[str, str], int] = {}
    for node in ast.walk(engine):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call):
            call = node.value
            if isinstance(call.func, ast.Name) and call.func.id == "get_kwargs" and isinstance(call.args[0], ast.Name):
                owners[node.targets[0].id] = call.args[0].id
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            key = (node.value.id, read_string(node.slice))
            mentioned[key] = mentioned.get(key, 0) + 1
    fields, aliases = _declared(contents)
    found: _Choices = {}
    for flag, call in _added(engine):
        given = call.keywords[0].value if len(call.keywords) == 1 and call.keywords[0].arg is None else None
        if not isinstance(given, ast.Subscript) or not isinstance(given.value, ast.Name):
            continue
        variable, name = given.value.id, read_string(given.slice)
        annotation = fields.get(owners.get(variable, ""), {}).get(name)
        # One that is mentioned elsewhere too is changed there.
        if annotation is not None and mentioned[variable, name] == 1 and (texts := _literal(annotation, aliases)):
            found[flag] = texts
    return found


def _declared(contents: Contents) -> tuple[dict[str, dict[str, ast.expr]], dict[str, ast.expr]]:
    """The fields of the config classes, and what stands for a type under a name, if only once in all of them."""
    fields: dict[str, dict[str, ast.expr]] = {}
    aliases: dict[str, list[ast.expr]] = {}
    for path in contents.members:
        tree = tree_of(contents.members, path) if path.startswith(("vllm/config/", "vllm/config.py")) else None
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.ClassDef):
                fields[node.name] = _annotations(node) if node.name not in fields else {}
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                aliases.setdefault(node.targets[0].id, []).append(node.value)
    return fields, {name: values[0] for name, values in aliases.items() if len(values) == 1}


def _literal(annotation: ast.expr, aliases: dict[str, ast.expr]) -> tuple[str, ...]:
    """The texts of the one `Literal` of a type that has beside it at most None and torch's own dtype; else none."""
    texts: list[tuple[str, ...]] = []
    for part in _parts(annotation, aliases, 0):
        if isinstance(part, ast.Subscript):
            texts.append(_texts(part.slice) if ast.unparse(part.value) == "Literal" else ())
        elif ast.unparse(part) not in ("None", "torch.dtype"):
            return ()
    return texts[0] if len(texts) == 1 else ()


def _parts(node: ast.expr, aliases: dict[str, ast.expr], depth: int) -> Iterator[ast.expr]:
    """`A | Optional[B]` as A, B and None; names that stand for a type as that type."""
    if isinstance(node, ast.BinOp):
        yield from _parts(node.left, aliases, depth)
        yield from _parts(node.right, aliases, depth)
    elif isinstance(node, ast.Subscript) and ast.unparse(node.value) in ("Optional", "Union"):
        for item in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            yield from _parts(item, aliases, depth)
    elif isinstance(node, ast.Name) and node.id in aliases and depth < 3:
        yield from _parts(aliases[node.id], aliases, depth + 1)
    else:
        yield node
