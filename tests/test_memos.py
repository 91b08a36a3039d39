"""Memos: what is worked out once for a module or a project."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from types import SimpleNamespace

from rooms import modules

from trl_lint.memos import per_module, per_project

calls: list[tuple[object, ...]] = []


def owner() -> SimpleNamespace:
    calls.clear()
    return SimpleNamespace(memo={})


@per_module
def alone(module):
    calls.append(("alone",))
    return


@per_module
def beside_a_project(module, project):
    calls.append(("beside",))
    return project


@per_module
def by_one(node, module):
    calls.append(("by one", node))
    return node


@per_project
def by_two(path, name, project):
    """What it says."""
    calls.append(("by two", path, name))
    return path, name


def test_a_function_is_called_once_for_each_owner_and_arguments():
    module, other = owner(), owner()
    for _ in range(2):
        assert alone(module) is None
        assert alone(other) is None
        assert by_one("x", module) == "x"
        assert by_one("y", module) == "y"
        assert by_two("a", "b", module) == ("a", "b")
        assert by_two("b", "a", module) == ("b", "a")
    assert len(calls) == 6


def test_two_functions_with_the_same_arguments_share_nothing():
    module = owner()
    assert by_one("a", module) == "a"
    assert beside_a_project(module, "project") == "project"
    assert alone(module) is None


def test_the_project_of_a_module_is_not_compared():
    module = owner()
    assert beside_a_project(module, "one") == "one"
    assert beside_a_project(module, "other") == "one"
    assert calls == [("beside",)]


def test_what_raised_is_asked_again():
    module = owner()

    @per_module
    def fails(module, node):
        calls.append((node,))
        raise ValueError(node)

    for _ in range(2):
        try:
            fails(module, 1)
        except ValueError:
            continue
    assert calls == [(1,), (1,)]


def test_the_function_keeps_its_name_and_docstring():
    assert (by_two.__name__, by_two.__doc__) == ("by_two", "What it says.")


def test_what_is_kept_has_no_optional_arguments_and_no_self():
    """An argument that is left out would be another key, and an object may be gone while its memo lives on."""
    for path in modules().values():
        for name, arguments in _remembering(path):
            assert not arguments.defaults and not arguments.kwonlyargs, f"{path}: {name}"
            assert "self" not in [one.arg for one in arguments.args], f"{path}: {name}"


def _remembering(path: Path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            names = {one.id for one in node.decorator_list if isinstance(one, ast.Name)}
            if names & {"per_module", "per_project", "read_per_project"}:
                yield node.name, node.args


def test_memos_are_kept_in_one_module_alone():
    """A memo by hand needs a cast, and two of them may take the same key for different things."""
    home = inspect.getsourcefile(per_module)
    found = [path.as_posix() for path in modules().values() if ".memo[" in path.read_text("utf-8")]
    assert found == []
    assert home is not None and "memo[key]" in Path(home).read_text("utf-8")
