"""How much of what trainers are given is known: `python -m benchmarks.trainer_calls TREE…`.

Each tree is a checkout; its scripts and notebooks are read, tests are not. A line per role counts the calls that give
it, and for how many of them every possibility is known: with the module of the call alone, and with all the modules of
the project. "all" are the calls of which everything that they give is known. `--show ROLE` lists what was made of a
role, to be read beside the source; `--random N` shows N answers at random instead.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

from trl_lint.paths import is_test_file
from trl_lint.project import Project
from trl_lint.python.module import PythonModule
from trl_lint.run.trainer import ROLES, Made, TrainerCall, are_known, is_absent, trainer_calls
from trl_lint.settings import Settings
from trl_lint.sources import Files, Source, SourceError
from trl_lint.sources.notebook import NotebookFile, python_source


class _Alone(Project):
    """A project of which nothing but the module that is read can be found."""

    def module_in(self, path: str, by: str | None = None) -> PythonModule:
        if by is not None:
            raise SourceError("of another module")
        return super().module_in(path, by)


def main() -> None:
    parser = argparse.ArgumentParser(description="count what is known of trainer calls")
    parser.add_argument("trees", nargs="+", metavar="TREE")
    parser.add_argument("--show", choices=ROLES, help="list the possibilities of this role")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="list N answers at random")
    parser.add_argument("--unknown", action="store_true", help="list what is not known")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    given: Counter[str] = Counter()
    known: dict[str, Counter[str]] = {"module": Counter(), "project": Counter()}
    answers: list[str] = []
    for tree in options.trees:
        root = os.path.abspath(tree)
        for scope, kind in (("module", _Alone), ("project", Project)):
            for call in calls_of(kind(root, Files(), Settings(root))):
                given_here = [role for role in ROLES if not is_absent(call.given(role))]
                if scope == "project":
                    given.update(given_here)
                    given["all"] += 1
                    for role in given_here:
                        is_known = are_known(call.given(role))
                        if options.show == role or options.random or (options.unknown and not is_known):
                            answers.append(f"{place(call, root)} {call.trainer} {role}: {shown(call, role)}")
                known[scope].update(role for role in given_here if are_known(call.given(role)))
                if call.is_certain and all(are_known(call.given(role)) for role in given_here):
                    known[scope]["all"] += 1
    if options.random:
        answers = random.Random(options.seed).sample(answers, min(options.random, len(answers)))
    print(*answers, sep="\n")
    print(f"{'':20}{'given':>8}{'module':>8}{'':8}{'project':>8}")
    for role in ("all", *ROLES):
        if given[role]:
            shares = [known[scope][role] for scope in ("module", "project")]
            cells = "".join(f"{share:8}{share / given[role]:7.0%} " for share in shares)
            print(f"{role:20}{given[role]:8}{cells}")


def calls_of(project: Project) -> Iterator[TrainerCall]:
    """The trainer calls of a project's scripts and notebooks."""
    for path in project.paths:
        if is_test_file(os.path.relpath(path, project.root)) or not path.endswith((".py", ".ipynb")):
            continue
        with suppress(OSError, SourceError):
            if not project.files.holds(path, b"Trainer"):
                continue
            module = PythonModule(_notebook(path, project)) if path.endswith(".ipynb") else project.module_in(path)
            yield from trainer_calls(module, project)


def _notebook(path: str, project: Project) -> Source:
    file = project.files.get(path)
    assert isinstance(file, NotebookFile)
    return python_source(file)


def place(call: TrainerCall, root: str) -> str:
    return f"{os.path.relpath(call.module.path, root)}:{call.call.lineno}"


def shown(call: TrainerCall, role: str) -> str:
    """The possibilities of a role in short: how each was made, back to its beginning, and its tests."""
    found = []
    for line in call.lines(role):
        steps = " <- ".join(map(_step, line.steps))
        tests = " and ".join(f"{'' if one.truth else 'not '}({_test(one.test)})" for one in line.under)
        found.append(steps + (f" IF {tests}" if tests else ""))
    return " | ".join(found)


def _step(made: Made) -> str:
    file, line = made.frame.module.path.rpartition("/")[2], getattr(made.node, "lineno", 0)
    value = f"={made.value!r:.60}" if made.kind == "literal" else ""
    return f"{made.kind} {made.origin}{list(made.item) if made.item else ''}@{file}:{line}{value}"


def _test(test: ast.AST) -> str:
    return ast.unparse(test)[:50] if isinstance(test, ast.expr) else type(test).__name__


if __name__ == "__main__":
    main()
