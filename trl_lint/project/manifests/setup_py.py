"""setup.py, read without running it: `install_requires`, `extras_require`, and tables of pins that feed them.

Only what plain data flow shows is followed: names, lists, `+`, `.append`, `.extend`, look-ups in a table built from a
list of requirements (`deps["trl"]`), and helper functions that look names up there (`deps_list("trl", "peft")`).
A requirement in such a table that nothing looks up is inert: it documents a version, and pip never sees it.
"""

from __future__ import annotations

import ast
import os

from trl_lint import budget
from trl_lint.project.manifests.collected import Collected
from trl_lint.project.manifests.own_version import find_version
from trl_lint.project.pins import Kind, Manifest
from trl_lint.python.module import PythonModule
from trl_lint.sources import Files, Source, SourceFile
from trl_lint.sources.requirements import RequirementError, normalised, read_requirement

_MAX_STEPS = 40  # names of names
_MOST_FOLLOWED = 20_000  # expressions of one file, each as often as others hold it


def read(file: SourceFile, files: Files) -> Manifest | None:
    setup = _Setup(PythonModule(Source(file, "python")))
    call = setup.find_call()
    if call is None:
        return None
    keywords = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    if "install_requires" in keywords:
        setup.collect(keywords["install_requires"], "requirement")
    if "extras_require" in keywords:
        for name, value in setup.mapping(keywords["extras_require"]):
            setup.collect(value, "extra", name)
    setup.collect_inert()
    name = setup.text_of(keywords.get("name"))
    version = setup.text_of(keywords.get("version"))
    project = normalised(name) if name else ""
    if not version and "version" in keywords:
        guess = project or setup.default_name(keywords.get("name"))
        version = find_version(os.path.dirname(file.path), guess, files) if guess else ""
        project = guess
    python = setup.text_of(keywords.get("python_requires")) or None
    pins, problems = setup.collected.pins, setup.collected.problems
    if not pins and not problems and not project:
        return None
    return Manifest(file.path, "setup.py", tuple(pins), python, tuple(problems), project, version)


class _Setup:
    """Follows values through one setup.py."""

    def __init__(self, module: PythonModule) -> None:
        self.module = module
        self.collected = Collected(module.source)
        self.used: set[ast.Constant] = set()
        self.values: dict[str, list[ast.expr]] = {}
        self.additions: dict[str, list[ast.expr]] = {}
        self.items: dict[str, list[tuple[str, ast.expr]]] = {}
        self.functions = {function.name: function for function in module.functions}
        self._tables: dict[str, dict[str, ast.Constant]] | None = None
        self._followed = 0
        for node in ast.walk(module.tree):
            self._note(node)

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.values.setdefault(target.id, []).append(node.value)
                elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                    key = _constant(target.slice)
                    if key:
                        self.items.setdefault(target.value.id, []).append((key, node.value))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            self.values.setdefault(node.target.id, []).append(node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self.additions.setdefault(node.target.id, []).append(node.value)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "extend")
            and isinstance(node.func.value, ast.Name)
            and len(node.args) == 1
        ):
            self.additions.setdefault(node.func.value.id, []).append(node.args[0])

    # -- values ---------------------------------------------------------------------------------------------------

    def find_call(self) -> ast.Call | None:
        for call in self.module.calls:
            function = call.func
            name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
            if name == "setup":
                return call
        return None

    def text_of(self, node: ast.expr | None) -> str:
        """The string an expression is, "" if it is not one fixed string."""
        if isinstance(node, ast.Name):
            values = self.values.get(node.id, [])
            return _constant(values[0]) if len(values) == 1 else ""
        return _constant(node) if node is not None else ""

    def default_name(self, node: ast.expr | None) -> str:
        """The name a helper returns unless it is told otherwise (`return "x-nightly" if nightly() else "x"`)."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self.functions):
            return ""
        for inner in ast.walk(self.functions[node.func.id]):
            if isinstance(inner, ast.Return) and isinstance(inner.value, ast.IfExp):
                name = _constant(inner.value.orelse)
                return normalised(name) if name else ""
        return ""

    def strings(self, node: ast.expr, steps: int = 0) -> list[ast.Constant]:
        """The string literals an expression is made of; what cannot be followed contributes nothing."""
        self._followed += 1
        if steps > _MAX_STEPS or self._followed > _MOST_FOLLOWED:
            start, _ = self.module.span(node)
            budget.limit(
                _MAX_STEPS if steps > _MAX_STEPS else _MOST_FOLLOWED,
                "lists of requirements that are made of each other were followed for {} steps",
                self.module.path,
                start,
            )
            return []
        steps += 1
        if isinstance(node, ast.Constant):
            return [node] if isinstance(node.value, str) else []
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return [found for item in node.elts for found in self.strings(item, steps)]
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.BinOp) and self._is_text(node, steps)):
            text = self._folded(node, steps)
            return [ast.copy_location(ast.Constant(text), node)] if text is not None else []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self.strings(node.left, steps) + self.strings(node.right, steps)
        if isinstance(node, ast.Starred):
            return self.strings(node.value, steps)
        if isinstance(node, ast.IfExp):
            return self.strings(node.body, steps) + self.strings(node.orelse, steps)
        if isinstance(node, ast.Name):
            values = self.values.get(node.id, []) + self.additions.get(node.id, [])
            return [found for value in values for found in self.strings(value, steps)]
        if isinstance(node, ast.Subscript):
            return self._looked_up(node, steps)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and len(node.generators) == 1:
            return self.strings(node.generators[0].iter, steps)
        if isinstance(node, ast.Call):
            return self._called(node, steps)
        return []

    def _is_text(self, node: ast.expr, steps: int) -> bool:
        """Whether an expression is one string: half of it is no requirement, and one part that is unknown spoils it."""
        if steps > _MAX_STEPS:
            return False
        steps += 1
        if isinstance(node, ast.BinOp):
            sides = (node.left, node.right) if isinstance(node.op, ast.Add) else (node.left,)
            return any(self._is_text(side, steps) for side in sides)
        if isinstance(node, ast.Name):
            values = self.values.get(node.id, [])
            return bool(values) and all(_constant(value) != "" for value in values)
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Attribute) and self._is_text(node.func.value, steps)
        return isinstance(node, ast.JoinedStr) or _constant(node) != ""

    def _folded(self, node: ast.expr, steps: int) -> str | None:
        """The one string that an expression is, None if nobody knows."""
        if steps > _MAX_STEPS:
            return None
        steps += 1
        if isinstance(node, ast.BinOp):
            parts = [node.left, node.right] if isinstance(node.op, ast.Add) else []
        elif isinstance(node, ast.JoinedStr):
            parts = node.values
        elif isinstance(node, ast.FormattedValue):
            parts = [node.value] if node.conversion < 0 and node.format_spec is None else []
        else:
            found = self.strings(node, steps) if isinstance(node, (ast.Constant, ast.Name, ast.Subscript)) else []
            return str(found[0].value) if len(found) == 1 else None
        texts = [self._folded(part, steps) for part in parts]
        return "".join(map(str, texts)) if texts and None not in texts else None

    def _looked_up(self, node: ast.Subscript, steps: int) -> list[ast.Constant]:
        key = _constant(node.slice)
        if not isinstance(node.value, ast.Name) or not key:
            return []
        name = node.value.id
        table = self.tables.get(name)
        if table is not None:
            found = table.get(normalised(key))
            return [found] if found is not None else []
        for item, value in self._entries(name):
            if item == key:
                return self.strings(value, steps)
        return []

    def _called(self, node: ast.Call, steps: int) -> list[ast.Constant]:
        if isinstance(node.func, ast.Name) and node.func.id in ("list", "sorted", "set", "tuple") and node.args:
            return self.strings(node.args[0], steps)
        if isinstance(node.func, ast.Name) and node.func.id in self.functions:
            names = [_constant(argument) for argument in node.args]
            for table in self._tables_named_in(self.functions[node.func.id]):
                return [table[normalised(name)] for name in names if name and normalised(name) in table]
        return []

    def _tables_named_in(self, function: ast.AST) -> list[dict[str, ast.Constant]]:
        used = [node.id for node in ast.walk(function) if isinstance(node, ast.Name)]
        return [self.tables[name] for name in used if name in self.tables]

    @property
    def tables(self) -> dict[str, dict[str, ast.Constant]]:
        """Look-up tables (`deps = {name: requirement for … in _deps}`): table name -> package -> requirement."""
        if self._tables is None:
            self._tables = {}
            for name, values in self.values.items():
                for value in values:
                    if isinstance(value, ast.DictComp):
                        self._tables[name] = self._table(value)
        return self._tables

    def _table(self, comprehension: ast.DictComp) -> dict[str, ast.Constant]:
        table: dict[str, ast.Constant] = {}
        for node in ast.walk(comprehension):
            if isinstance(node, ast.Name) and node.id in self.values:
                for value in self.values[node.id]:
                    if isinstance(value, (ast.List, ast.Tuple)):
                        for constant in self.strings(value):
                            if package := _package(constant):
                                table.setdefault(package, constant)
        return table

    def _entries(self, name: str) -> list[tuple[str, ast.expr]]:
        found = []
        for value in self.values.get(name, []):
            if isinstance(value, ast.Dict):
                found += [(_constant(key), item) for key, item in zip(value.keys, value.values, strict=True) if key]
        return found + self.items.get(name, [])

    def mapping(self, node: ast.expr) -> list[tuple[str, ast.expr]]:
        """The entries of the dictionary an expression is."""
        if isinstance(node, ast.Name):
            return self._entries(node.id)
        if isinstance(node, ast.Dict):
            return [(_constant(key), value) for key, value in zip(node.keys, node.values, strict=True) if key]
        return []

    # -- pins -----------------------------------------------------------------------------------------------------

    def collect(self, node: ast.expr, kind: Kind, group: str = "") -> None:
        for constant in dict.fromkeys(self.strings(node)):
            self.used.add(constant)
            self._add(constant, kind, group)

    def collect_inert(self) -> None:
        for table in self.tables.values():
            for constant in table.values():
                if constant not in self.used:
                    self.used.add(constant)
                    self._add(constant, "inert")

    def _add(self, constant: ast.Constant, kind: Kind, group: str = "") -> None:
        text = str(constant.value)
        start, end = self.module.span(constant)
        raw = self.module.source.text[start:end]
        inner = raw.find(text)
        if inner > 0 and raw.count(text) == 1:
            self.collected.add(start + inner, start + inner + len(text), kind, group)
            return
        # The literal is spelled with escapes or in parts: its value counts, but no stretch of it can be edited.
        try:
            requirement = read_requirement(text)
        except RequirementError:
            return
        from trl_lint.project.manifests.collected import pin_of

        place = self.module.source.location(start, end)
        pin = pin_of(self.module.source, requirement._replace(start=start, end=end), kind, group, editable=False)
        self.collected.pins.append(pin._replace(location=place, text=text))


def _constant(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _package(constant: ast.Constant) -> str:
    try:
        return read_requirement(str(constant.value)).package
    except RequirementError:
        return ""
