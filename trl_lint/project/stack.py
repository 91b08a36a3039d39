"""Which recorded releases of the RL stack a file may run with, narrowed by what the packages require of each other.

`transformers>=4.33` beside `trl==0.18.0` never gives transformers 4.33: pip takes one that trl 0.18.0 accepts. So a
pin is only believed as far as the other pinned packages agree, and where nothing pins a package, it is the release that
pip takes beside them (`resolution.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar, cast

from trl_lint.memos import per_module, per_project
from trl_lint.missing import ABSENT
from trl_lint.records import NamedTuple

if TYPE_CHECKING:
    from packaging.version import Version

    from trl_lint.project import Project
    from trl_lint.project.demands import Demand
    from trl_lint.project.environment import Environment
    from trl_lint.project.packages import Package
    from trl_lint.python.module import PythonModule
    from trl_lint.python.trials import Trial

T = TypeVar("T")

PACKAGES = ("trl", "transformers", "accelerate", "peft", "deepspeed", "vllm", "openrlhf", "verl", "torchtune")


class Choice(NamedTuple):
    """The releases of a package whose API is recorded and that may be installed, oldest first; never none.

    `complete`: they are all that may be installed. `assumed`: nothing pins the package where the code runs, and the
    newest release stands for it, or those that are named elsewhere. `between`: they are the neighbours of a development
    version, and only what both agree on is known. `is_dated`: nothing pins the package, but another one is held at an
    older release, so the environment may be as old as that. `is_tip`: the package comes from the main branch of its
    repository, and the newest known release stands for it: what that has lost stays lost.
    """

    package: Package
    releases: tuple[str, ...]
    complete: bool
    assumed: bool
    between: bool
    is_dated: bool = False
    is_tip: bool = False

    @property
    def newest(self) -> str:
        return self.releases[-1]


class Choices:
    """The choices of an environment by package, each worked out when it is asked for."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._known: dict[str, Choice | None] = {}
        self._answers: dict[tuple[str, ...], object] = {}

    def get(self, name: str) -> Choice | None:
        """The recorded releases of a package, None if nothing is known about them."""
        try:
            return self._known[name]
        except KeyError:
            found = self._known[name] = _choose(self._environment, name)
            return found

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def __getitem__(self, name: str) -> Choice:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def releases(self, name: str) -> tuple[str, ...]:
        """The recorded releases of a package, oldest first; none if nothing is known about them."""
        found = self.get(name)
        return found.releases if found is not None else ()

    def newest(self, packages: Iterable[str]) -> dict[str, str]:
        """The newest release in use of each of the packages that are known."""
        found = {name: self.get(name) for name in packages}
        return {name: chosen.newest for name, chosen in found.items() if chosen is not None}

    def remembered(self, question: tuple[str, ...], answer: Callable[[], T]) -> T:
        """The answer to a question that only depends on the environment, worked out once for all files that share it.

        `question` begins with the code of the rule that asks.
        """
        if question not in self._answers:
            self._answers[question] = answer()
        return cast("T", self._answers[question])


def _choose(environment: Environment, name: str) -> Choice | None:
    from trl_lint.knowledge.releases import newest

    package = environment.package(name)
    if package.is_tip:
        return _choose_tip(package)
    versions = package.allowed or package.neighbours
    if not versions:
        return None
    if package.source != "assumed" and len(package.allowed or ()) > 1:
        from trl_lint.project.resolution import possible

        versions = possible(environment, package)
    recorded = _recorded(name, versions)
    between = package.allowed is None
    if not recorded or str(versions[-1]) != recorded[-1] or (between and len(recorded) != len(versions)):
        return None  # what runs most likely is a release nobody has read
    assumed = package.source in ("told", "assumed")
    is_dated = package.source == "assumed" and versions[-1] == newest(name) and has_old_neighbour(environment, name)
    return Choice(package, recorded, len(recorded) == len(versions), assumed, between, is_dated)


def _choose_tip(package: Package) -> Choice | None:
    from trl_lint.knowledge.releases import newest

    last = newest(package.name)
    recorded = _recorded(package.name, (last,)) if last is not None else ()
    return Choice(package, recorded, True, False, False, is_tip=True) if recorded else None


@lru_cache(maxsize=512)
def _recorded(name: str, versions: tuple[Version, ...]) -> tuple[str, ...]:
    from trl_lint.knowledge.histories import positions

    known = positions(name)
    return tuple(text for text in map(str, versions) if text in known)


def solved(environment: Environment, name: str) -> tuple[Package, bool]:
    """A package with the releases that the other pins leave of those which its own allow, and whether that is less."""
    from trl_lint.project.packages import Package as Known

    package = environment.package(name)
    allowed = package.allowed or ()
    if package.source == "assumed" or len(allowed) < 2:
        return package, False
    from trl_lint.project.resolution import possible

    left = possible(environment, package)
    if not left or len(left) == len(allowed):
        return package, False
    return Known(name, package.pins, left, package.source, package.specifier, is_own=package.is_own), True


def has_old_neighbour(environment: Environment, name: str) -> bool:
    """Whether another package of the stack is held at a release that is not its newest."""
    from trl_lint.knowledge.releases import newest

    others = (environment.package(other) for other in PACKAGES if other != name)
    return any(
        other.source in ("target", "lock", "pin", "told")
        and other.resolved is not None
        and other.resolved != newest(other.name)
        for other in others
    )


# -- one place of a file ----------------------------------------------------------------------------------------------

# Without one of these, and without a base of the project that may ask, a file asks for no releases.
_WORDS = (
    "version", "depend", "requir", "compat",
    "check_", "ensure_", "verify_", "valid_", "validate_", "assert_", "install_", "installed_",
)  # fmt: skip


def choices_at(module: PythonModule, node: ast.AST, project: Project, package: str) -> Choices | None:
    """The releases whose API is known that a place may run with; None as in `environment_at`."""
    environment = environment_at(module, node, project, package)
    return None if environment is None else environment.choices


def environment_at(module: PythonModule, node: ast.AST, project: Project, package: str) -> Environment | None:
    """The environment of a place of a module; None if it is never reached with any release that the pins allow.

    None, too, where code asks for releases of `package` that are not known: then nothing is certain of it; and where
    an import that was tried before has to have gone well, and does not with the newest releases.
    """
    around = project.environment(module.path)
    if module.of(ast.Try):
        from trl_lint.python.version_guards import trials_before

        if any(_fails(trial, around) for trial in trials_before(module, node)):
            return None
    demands = demands_at(module, node, project)
    if not demands:
        return around
    if any(demand.package == package and demand.specifier is None for demand in demands):
        return None
    # Kept with the project: an environment and its choices hold each other, and would outlive the module.
    known = _narrowed_environments(project)
    key = (module.path, *sorted({f"{demand.package}{demand.specifier}" for demand in demands}))
    if key not in known:
        from trl_lint.project.narrowed import Narrowed

        narrowed = Narrowed(around, demands)
        known[key] = narrowed if narrowed.is_possible else None
    return known[key]


@per_project
def _narrowed_environments(project: Project) -> dict[tuple[str, ...], Environment | None]:
    """By path and demands, the environments that code has narrowed."""
    return {}


def _fails(trial: Trial, environment: Environment) -> bool:
    """Whether something that is tried is missing in the newest releases that may be in use."""
    from trl_lint.knowledge.api import resolve

    for dotted in trial.imported:
        package = dotted.partition(".")[0]
        newest = environment.choices.newest([package]) if package in PACKAGES and package != dotted else {}
        if newest and resolve(dotted, newest) is ABSENT:
            return True
    return False


def demands_at(module: PythonModule, node: ast.AST, project: Project) -> tuple[Demand, ...]:
    """What the code before a place asks of the installed releases, where the text of the file may ask at all."""
    if not _may_ask(module, project):
        return ()
    from trl_lint.project.demands import demands_on

    return demands_on(module, node, project)


@per_module
def _may_ask(module: PythonModule, project: Project) -> bool:
    """Whether the text of a file has a word for releases, or one of its classes may inherit a demand."""
    text = module.text.lower()
    return any(word in text for word in _WORDS) or _has_own_base(module, project)


def _has_own_base(module: PythonModule, project: Project) -> bool:
    """Whether a class of a file has a base that is imported from the project."""
    from trl_lint.project.modules import is_of_project

    origins = {origin for cls in module.classes for base in cls.bases for origin in module.names.origins(base)}
    return any("." in origin and is_of_project(origin, module.path, project) for origin in origins)
