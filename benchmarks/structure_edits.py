"""Edits of what files hold, whose syntax stays whole: `python -m benchmarks.histories --structure`.

A value becomes one of another type, a key another key; branches of a config go, move, come twice, are wrapped and
nested; expressions of a script change places, statements are put into loops, classes and branches; commands into
functions, substitutions and loops. The notation of a config changes as well: block, flow, JSON. After each edit a kept
workspace and the cache on the disk have to say what a fresh run says, and no rule may fail.
"""

from __future__ import annotations

import ast
import json
import os
import random
import re
import sys
import time
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from benchmarks import kinds
from benchmarks.byte_edits import said
from benchmarks.histories import History, files_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 8, 0.5, 1e-6, 10**30, float("inf"), "", " ", "true", "None", "1e-6", "8", "${x}",
    "a.b", "trl==0.20.0", "é\n", "$(cat x)", "../x", [], {}, [[]], {"": {}}, [None], ["x", 1], {"x": [1, {"y": None}]},
)  # fmt: skip
KEYS = ("", "x", "0", "a.b", "_target_", "defaults", "model", "env", "args", "<<", "zero_optimization", "packages", "é")
_DATA = (".yaml", ".yml", ".json", ".ipynb", ".toml", ".lock")
_SHELL = (".sh", ".bash")
_KEPT = ("check", ".", "--isolated", "--select", "ALL", "--output-format", "json")
_LONGEST = 20_000  # bytes of a file: what long ones cost is another question (growth_laws.py)
_MOST_SECONDS = 4.0
_CACHED = 0.25  # the share of edits after which the cache is asked


class UnchangedError(Exception):
    """A file that cannot be edited so: it does not parse, or has nothing of the kind."""


# -- trees of configs -------------------------------------------------------------------------------------------------

Place = tuple[Any, Any]  # a mapping or list, and a key or index of it


def places(tree: Any) -> list[Place]:
    """Every place of a tree that holds a value."""
    found: list[Place] = []
    todo = [tree]
    while todo:
        node = todo.pop()
        keys = list(node) if isinstance(node, dict) else list(range(len(node))) if isinstance(node, list) else []
        found += [(node, key) for key in keys]
        todo += [node[key] for key in keys]
    return found


def change(tree: Any, chance: random.Random) -> None:
    """One edit of a tree in place."""
    found = places(tree)
    if not found:
        raise UnchangedError
    (node, key), (other, there) = chance.choice(found), chance.choice(found)
    edit = chance.randrange(11)
    if edit < 3:
        node[key] = _copy(chance.choice(ODD))
    elif edit == 3:
        del node[key]
    elif edit == 4:
        node[key], other[there] = _copy(other[there]), _copy(node[key])
    elif edit == 5:
        other[there] = _copy(node[key])
    elif edit == 6:
        node[key] = [_copy(node[key]) for _ in range(chance.choice((1, 2, 10)))]
    elif edit == 7:
        for _ in range(chance.choice((1, 2, 30))):
            node[key] = {chance.choice(KEYS): node[key]}
    elif edit == 8:
        _named(node, key, chance.choice((*KEYS, *(str(name) for _, name in found))))
    elif edit == 9:
        node[key] = str(node[key]) if not isinstance(node[key], str) else [*re.split(r"[ ,=]", node[key])]
    else:
        node[key] = {**node[key], **{str(name): 1 for _, name in found[:5]}} if isinstance(node[key], dict) else {}


def _named(node: Any, key: Any, name: str) -> None:
    """A key becomes another one, in its place; of a list, its item becomes a pair."""
    if isinstance(node, list):
        node[key] = {name: node[key]}
        return
    pairs = [(name if one == key else one, value) for one, value in node.items()]
    node.clear()
    node.update(pairs)


def _copy(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _copy(value) for key, value in tree.items()}
    return [_copy(value) for value in tree] if isinstance(tree, list) else tree


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool | str):
        return json.dumps(value)
    return "nan" if value is None else str(value)


def _tables(tree: dict[str, Any], above: str, chance: random.Random) -> str:
    """A TOML file, in tables or in pairs."""
    lines, below = [], []
    for key, value in tree.items():
        name = json.dumps(str(key))
        if isinstance(value, dict) and above.count(".") < 3 and chance.random() < 0.8:
            below.append(f"[{above}{name}]\n{_tables(value, f'{above}{name}.', chance)}")
        else:
            lines.append(f"{name} = {_toml(value)}\n")
    return "".join(lines + below)


def edit_data(text: str, path: str, chance: random.Random) -> str:
    """A config after some edits, in another notation."""
    try:
        if path.endswith((".json", ".ipynb")):
            tree = json.loads(text)
        elif path.endswith((".toml", ".lock")):
            tree = tomllib.loads(text)
        else:
            tree = yaml.safe_load(text)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise UnchangedError from error
    for _ in range(chance.choice((1, 1, 2, 3))):
        change(tree, chance)
    if path.endswith((".json", ".ipynb")):
        return json.dumps(tree, indent=chance.choice((None, 1, 2)), ensure_ascii=chance.random() < 0.5, default=str)
    if path.endswith((".toml", ".lock")):
        return _tables(tree, "", chance)
    if chance.random() < 0.15:
        return json.dumps(tree, default=str)
    flow = chance.choice((None, False, False, True))
    return yaml.safe_dump(tree, default_flow_style=flow, sort_keys=False, allow_unicode=chance.random() < 0.5)


# -- Python -----------------------------------------------------------------------------------------------------------

_WRAPS = (
    "if x:\n    pass\nelse:\n    pass", "for x in y:\n    pass", "while True:\n    pass",
    "def f(a, *b, **c):\n    pass",
    "class C(A):\n    pass", "with a as b:\n    pass", "try:\n    pass\nexcept E:\n    pass\nfinally:\n    pass",
    "async def f():\n    pass", "match x:\n    case {'a': [b, *c]}:\n        pass", "if not True:\n    pass",
    "@deco\ndef main(cfg):\n    pass", "if __name__ == '__main__':\n    pass",
)  # fmt: skip
_EXPRESSIONS = (
    "lambda *a, **k: {}", "({} if x else y)", "[{}][0]", "{{'a': {}}}['a']", "(x := {})", "dict(a={})", "f'{{{}}}'",
    "({}, *y)", "{} or None", "not {}", "getattr({}, 'x')", "partial({}, a=1)", "[{} for x in y]", "{}.x", "{}()",
    "await_({})", "{} + {}", "{}[1:]", "os.environ.get('A', {})", "int({})", "replace({}, a=1)", "{{**{}}}",
)  # fmt: skip


def edit_python(text: str, path: str, chance: random.Random) -> str:
    """A script after some edits of its tree. Comments go, as the tree has none."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise UnchangedError from error
    for _ in range(chance.choice((1, 1, 2, 3))):
        _edit_tree(tree, chance)
    try:
        return ast.unparse(tree) + "\n"
    except (ValueError, TypeError, AttributeError, RecursionError) as error:  # of a tree that no text has
        raise UnchangedError from error


def _edit_tree(tree: ast.Module, chance: random.Random) -> None:
    bodies = [
        body for node in ast.walk(tree) for _, body in ast.iter_fields(node)
        if isinstance(body, list) and body and isinstance(body[0], ast.stmt)
    ]  # fmt: skip
    if not bodies:
        raise UnchangedError
    edit = chance.randrange(9)
    if edit < 4:
        _edit_statements(bodies, edit, chance)
    elif edit < 7:
        _edit_expression(tree, edit, chance)
    else:
        _edit_call(tree, chance)


def _edit_statements(bodies: list[list[ast.stmt]], edit: int, chance: random.Random) -> None:
    body = chance.choice(bodies)
    at = chance.randrange(len(body))
    if edit == 0:
        wrap = ast.parse(chance.choice(_WRAPS)).body[0]
        inner: Any = chance.choice([one for one in ast.walk(wrap) if getattr(one, "body", None)])
        inner.body = [*body[at:]] if isinstance(inner.body, list) else inner.body
        body[at:] = [wrap]
    elif edit == 1:
        body.insert(at, deepcopy(body[chance.randrange(len(body))]))
    elif edit == 2 and len(body) > 1:
        chance.choice(bodies).insert(0, deepcopy(body.pop(at)))
    else:
        other = chance.randrange(len(body))
        body[at], body[other] = body[other], body[at]


def _edit_expression(tree: ast.Module, edit: int, chance: random.Random) -> None:
    found = [
        (node, name, value, None) for node in ast.walk(tree) for name, value in ast.iter_fields(node)
        if isinstance(value, ast.expr)
    ] + [
        (node, name, one, at) for node in ast.walk(tree) for name, value in ast.iter_fields(node)
        if isinstance(value, list) for at, one in enumerate(value) if isinstance(one, ast.expr)
    ]  # fmt: skip
    found = [one for one in found if not isinstance(getattr(one[2], "ctx", ast.Load()), ast.Store | ast.Del)]
    if not found:
        raise UnchangedError
    node, name, value, at = chance.choice(found)
    if edit == 4:
        new = deepcopy(chance.choice(found)[2])
    elif edit == 5:
        new = ast.parse(repr(chance.choice(ODD)).replace("inf", "1e999"), mode="eval").body
    else:
        try:
            written = ast.unparse(value)
            new = ast.parse(chance.choice(_EXPRESSIONS).replace("{}", f"({written})"), mode="eval").body
        except (SyntaxError, ValueError, AttributeError) as error:
            raise UnchangedError from error
    if at is None:
        setattr(node, name, new)
    else:
        getattr(node, name)[at] = new


def _edit_call(tree: ast.Module, chance: random.Random) -> None:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if not calls:
        raise UnchangedError
    call, other = chance.choice(calls), chance.choice(calls)
    edit = chance.randrange(6)
    if edit == 0 and call.keywords:
        call.args.append(call.keywords.pop(chance.randrange(len(call.keywords))).value)
    elif edit == 1 and call.keywords:
        call.keywords = [
            ast.keyword(None, ast.Dict([ast.Constant(k.arg) for k in call.keywords], [k.value for k in call.keywords]))
        ]
    elif edit == 2:
        call.keywords = [*call.keywords, *deepcopy(other.keywords)]
    elif edit == 3:
        call.func = deepcopy(other.func)
    elif edit == 4:
        call.args.append(ast.Starred(ast.Name("args", ast.Load()), ast.Load()))
    else:
        call.keywords.append(
            ast.keyword(
                chance.choice(("fp16", "num_generations", "args", "model")),
                ast.Constant(chance.choice((0, "x", True, None))),
            )
        )


# -- commands, lists, documents ---------------------------------------------------------------------------------------

_AROUND = (
    ("if [ -n x ]; then", "fi"), ("for i in 1 2; do", "done"), ("f() {", "}\nf"), ("(", ")"), ("{", "}"), ("x=$(", ")"),
    ("while true; do", "done"), ("case $1 in a)", ";; esac"), ("cat > y.sh <<EOF", "EOF\nbash y.sh"),
    ("bash -c '", "'"),
    ("```bash", "```"), ("ifdef X", "endif"), ("RUN", ""), ("eval \"", "\""), ("", "&\nwait"), ("until x; do", "done"),
)  # fmt: skip
_WORDS = (
    "$A", "${A:-1}", "\"$@\"", "$((2 * 4))", "`nproc`", "$(cat f)", "--x", "--fp16", "'a b'", "a=b", "{1..3}", "*",
    "\\", "|", "&&", ";", ">", "<", "python", "-m", "trl", "sft", "accelerate", "launch", "==", "[extra]",
    ";python_version>'3'", "-r x.txt",
)  # fmt: skip


def edit_lines(text: str, path: str, chance: random.Random) -> str:
    """Commands, pins or a document after some edits of their lines and words."""
    lines = text.split("\n")
    for _ in range(chance.choice((1, 1, 2, 3))):
        at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        first, last = sorted((at, other))
        words = re.split(r"(\s+)", lines[at])
        word = chance.randrange(len(words))
        edit = chance.randrange(8)
        if edit == 0:
            opening, closing = chance.choice(_AROUND)
            lines[first : last + 1] = [opening, *lines[first : last + 1], closing]
        elif edit == 1:
            lines[first : last + 1] = lines[first : last + 1] * chance.choice((2, 2, 10))
        elif edit == 2:
            lines[at], lines[other] = lines[other], lines[at]
        elif edit == 3:
            lines[at] = lines[at].rstrip("\\") + (" " if chance.random() < 0.5 else " \\\n") + lines[other].lstrip()
        elif edit == 4:
            words[word] = chance.choice(_WORDS)
            lines[at] = "".join(words)
        elif edit == 5:
            words.insert(word, f" {chance.choice(_WORDS)} ")
            lines[at] = "".join(words)
        elif edit == 6:
            words[word] = re.sub(r"^(--[\w-]+)=?", chance.choice((r"\1=", r"\1 ", r"\1.x=", r"+\1")), words[word])
            lines[at] = "".join(words)
        else:
            del words[word]
            lines[at] = "".join(words)
    return "\n".join(lines)


def editor_of(path: str) -> Callable[[str, str, random.Random], str]:
    if path.endswith(".py"):
        return edit_python
    return edit_data if path.endswith(_DATA) else edit_lines


# -- histories --------------------------------------------------------------------------------------------------------


class Restructured(History):
    """A history of such edits."""

    def __init__(self, folder: str, chance: random.Random) -> None:
        super().__init__(folder, chance)
        self.clock, self.edited = 0, ""
        if chance.random() < 0.3:  # some of the project with a file of every kind beside them
            for name in chance.sample(sorted(kinds.PROJECT), 4):
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(kinds.PROJECT[name])

    def steps(self) -> tuple[Callable[[], None], ...]:
        return (self.restructure,)

    def restructure(self) -> None:
        """Edit one file on the disk or as it is open."""
        for _ in range(5):
            files = files_of(self.folder)
            editor = self.chance.choice(sorted({*map(editor_of, files)}, key=lambda one: one.__name__))
            path = self.chance.choice([path for path in files if editor_of(path) is editor])
            try:
                text = self._content(path).decode()
                data = editor(text, path, self.chance).encode()
                if len(data) > _LONGEST:
                    raise UnchangedError
            except (UnchangedError, UnicodeError):
                continue
            break
        else:
            raise IndexError
        self.edited = path
        if path in self.open and self.chance.random() < 0.5:
            self.overlays[path] = data
        else:
            self.overlays.pop(path, None)
            Path(path).write_bytes(data)
            self._settle(path)
        self._note("restructure", path)

    def _settle(self, path: str) -> None:
        """Let the file look as if it had been written some time ago, so that the cache believes its times."""
        self.clock += 1
        os.utime(path, ns=(self.clock * 10**10 + 7, self.clock * 10**10 + 7))

    def compare(self, asked: list[list[str]]) -> None:
        is_last, began = len(asked) > 2, time.process_time()
        super().compare(
            asked if is_last or not self.one else [[self.edited], *(one for one in asked if one == [self.folder])]
        )
        if (seconds := time.process_time() - began) > _MOST_SECONDS:
            self.wrong.append(f"{self.done[-1]}: {seconds:.1f} s")
        if not is_last and self.chance.random() > _CACHED:
            return
        here = os.getcwd()
        os.chdir(self.folder)
        try:
            kept = said((*_KEPT, "--cache-dir", f"{self.folder}.cache"))
            fresh = said((*_KEPT, "--no-cache"))
        finally:
            os.chdir(here)
        self.checks += 1
        if kept != fresh or fresh.status not in (0, 1) or '"TRL003"' in fresh.out:
            self.wrong.append(f"{self.done[-4:]}: the cache: {kept.status} {fresh.status} {fresh.err[:300]}")
