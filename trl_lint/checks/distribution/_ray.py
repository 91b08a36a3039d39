"""What a module hands to Ray: its tasks and actors, the GPUs that they ask for, and those that there are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress

from trl_lint.memos import read_per_project
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.python.module import FUNCTIONS, PythonModule
from trl_lint.python.values import argument
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import SourceError

# With one of these somewhere in a project its workers see GPUs that they did not ask for.
_SHOWS_ALL = (b"RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES", b"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO")
_STARTED = regex(rb"\b(\w{1,200})\.(remote|options)\b")
# Options of a task or actor with which it may have a GPU that `num_gpus` does not ask for.
_GIVES_GPUS = ("num_gpus", "resources", "accelerator_type", "runtime_env", "label_selector", "fallback_strategy")


class Remote(NamedTuple):
    """A function or class that Ray runs, with what decorates it."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    decorator: ast.expr

    @property
    def gpus(self) -> object:
        """The literal `num_gpus`, ABSENT where it is not given; None where nobody can tell what it gets."""
        if not isinstance(self.decorator, ast.Call):
            return ABSENT
        if self.decorator.args or any(each.arg is None for each in self.decorator.keywords):
            return None
        given = [each.arg for each in self.decorator.keywords]
        said = argument(self.decorator, "num_gpus")
        if said is ABSENT:
            return None if any(name in given for name in _GIVES_GPUS) else ABSENT
        return said.value if isinstance(said, ast.Constant) else None


def remotes_of(module: PythonModule) -> Iterator[Remote]:
    """The tasks and actors of a module."""
    for node in (*module.functions, *module.classes):
        if len(node.decorator_list) == 1:
            decorator = node.decorator_list[0]
            name = decorator.func if isinstance(decorator, ast.Call) else decorator
            if "ray.remote" in module.names.origins(name):
                yield Remote(node, decorator)


def used_otherwise(module: PythonModule) -> frozenset[str]:
    """The names that a module uses for more than to start what they stand for as it is: `Worker.remote(…)`."""
    return frozenset(
        node.id
        for node in module.of(ast.Name)
        if not (isinstance(above := module.parents.get(node), ast.Attribute) and above.attr == "remote")
    )


class Starts(NamedTuple):
    """The names that a project starts with Ray, those for which it chooses options, and whether all see all GPUs."""

    started: frozenset[str]
    options: frozenset[str]
    shows_all: bool


@read_per_project
def starts_in(project: Project) -> Starts:
    """What the Python files of a project start with Ray, read once for all of them."""
    found: dict[bytes, set[str]] = {b"remote": set(), b"options": set()}
    shows_all = False
    for path in project.paths:
        with suppress(OSError, SourceError):
            shows_all = shows_all or project.files.holds(path, *_SHOWS_ALL)
            if path.endswith(".py") and project.files.holds(path, b".remote(", b".options("):
                for match in _STARTED.finditer(project.files.read(path)):
                    found[match[2]].add(match[1].decode(errors="replace"))
    return Starts(frozenset(found[b"remote"]), frozenset(found[b"options"]), shows_all)


def gpus_of_cluster(module: PythonModule) -> tuple[int, ast.Call] | None:
    """The GPUs of the cluster that the only `ray.init(num_gpus=N)` of a module starts; None where that is not sure."""
    calls = [call for call in module.calls if "ray.init" in module.names.origins(call.func)]
    if len(calls) != 1 or calls[0].args or any(each.arg is None for each in calls[0].keywords):
        return None
    if any(isinstance(above, (ast.If, ast.Try, ast.IfExp, ast.BoolOp)) for above in module.ancestors(calls[0])):
        return None
    said, address = argument(calls[0], "num_gpus"), argument(calls[0], "address")
    if address is not ABSENT and not (isinstance(address, ast.Constant) and address.value == "local"):
        return None
    if not isinstance(said, ast.Constant) or type(said.value) is not int:
        return None
    return said.value, calls[0]


def own_function(module: PythonModule, node: ast.AST, remote: Remote) -> ast.AST | None:
    """The task, or the method of the actor, that a node of its body stands in; None for what runs at another time."""
    around: list[ast.AST] = []
    for above in module.ancestors(node):
        if above is remote.node:
            break
        if isinstance(above, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            around.append(above)
    if isinstance(remote.node, ast.ClassDef):
        return around[0] if len(around) == 1 and isinstance(around[0], FUNCTIONS) else None
    return None if around else remote.node
