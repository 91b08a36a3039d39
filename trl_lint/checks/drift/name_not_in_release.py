"""TRL302: an import, or an attribute of an imported package, that the releases in use do not have."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from trl_lint.checks.drift._classes import Use, imported_names, root_of
from trl_lint.checks.drift._members import gone_members
from trl_lint.checks.drift._runnable import last_that_runs
from trl_lint.checks.drift._wording import did_you_mean, next_release, sentence
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, Verdict, judge
from trl_lint.finding import Finding, Location
from trl_lint.knowledge.api import deprecation, name_timeline, resolve
from trl_lint.knowledge.histories import is_word_of, positions
from trl_lint.knowledge.presence import homes, names_in, points_of_name, releases_with
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.project import Project
from trl_lint.project.stack import PACKAGES, Choices, choices_at
from trl_lint.python.module import PythonModule
from trl_lint.python.version_guards import is_guarded

if TYPE_CHECKING:
    from trl_lint.project.documents import Document
    from trl_lint.project.launches import Launch


# The newest release with which the whole file runs, "" if there is none; None for a file that is no Python.
LastRun = Callable[[], str] | None


class NameNotInRelease(Rule):
    code = "TRL302"
    imports = PACKAGES
    frameworks = True
    fences = True
    documents = ("any", "other")
    launches = True

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        if launch.module is not None and "." in launch.module:
            from trl_lint.checks.drift._started_modules import missing_modules

            yield from missing_modules(launch, self, project)

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        told: set[tuple[str, Location | None]] = set()
        for use in (*imported_names(module), *used_attributes(module)):
            package = use.dotted.partition(".")[0]
            known = choices_at(module, use.node, project, package)
            if known is not None and package in known:
                finding = self._judge(use, known, module, project, told)
                if finding is not None:
                    yield finding
        yield from self._check_members(module, project)
        from trl_lint.knowledge.needles import needles

        if not module.names.modules().isdisjoint(word.decode() for word in needles().imports):
            from trl_lint.checks.drift._started_modules import missing_imports

            yield from missing_imports(module, self, project)

    def check_document(self, document: Document, project: Project) -> Iterator[Finding]:
        if "_target_" not in document.source.text and "_component_" not in document.source.text:
            return
        from trl_lint.checks.drift._named_objects import edit_named, named_objects, node_of
        from trl_lint.project.own_copy import is_shadowed

        known = project.environment(document.path).choices
        for value in named_objects(document):
            node = node_of(value)
            dotted = str(node.value)
            package = dotted.partition(".")[0]
            level = Level(self, of_code=False)
            verdict = self._verdict(dotted, known, level) if package in known else None
            if verdict is None:
                continue
            chosen, gone = known[package], _missing_part(dotted, {package: verdict.version})
            if is_shadowed(chosen, document.path, project, gone[1]):
                continue
            if gone[1][:1].isupper():  # `trl.ORPOTrainer.from_pretrained`
                dotted = ".".join(gone)
            from trl_lint.checks.drift._imports import target_of

            home, _, last = dotted.rpartition(".")
            yield self.finding(
                document.source.location(value.start, value.end),
                word(gone, Use(dotted, node, node), verdict, target_of(home, last, chosen), None),
                severity=verdict.severity,
                related=verdict.related,
                fix=edit_named(value, dotted, chosen, document),
                pin=verdict.pin,
            )

    def _check_members(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        for found in gone_members(module, project, self):
            read, known, verdict = found.reads[0], found.known, found.verdict
            from trl_lint.project.own_copy import is_shadowed

            if not is_shadowed(known[read.owner.package], module.path, project, read.owner.name, read.node.attr):
                from trl_lint.checks.drift._member_fixes import edit_reads

                yield self.finding(
                    name_location(module, read.node),
                    found.message,
                    severity=verdict.severity,
                    related=verdict.related,
                    fix=edit_reads(found, module),
                    pin=verdict.pin,
                )

    def _judge(
        self,
        use: Use,
        known: Choices,
        module: PythonModule,
        project: Project,
        told: set[tuple[str, Location | None]],
    ) -> Finding | None:
        package = use.dotted.partition(".")[0]
        verdict = known.remembered((self.code, use.dotted), lambda: self._verdict(use.dotted, known))
        if verdict is None or is_guarded(module, use.node, is_narrowed=True):
            return None
        gone = _missing_part(use.dotted, {package: verdict.version})
        location = module.location(use.place)
        if isinstance(use.node, ast.ImportFrom) and f"{gone[0]}.{gone[1]}" != use.dotted:
            location = module_location(module, use.node)  # the same for all the names of the statement
        # What an import has been told about is not told again at its uses.
        missing = ".".join(gone)
        is_import = isinstance(use.node, (ast.Import, ast.ImportFrom))
        if (missing, location) in told or (not is_import and (missing, None) in told):
            return None
        told.update(((missing, location), (missing, None)))
        from trl_lint.project.own_copy import is_shadowed

        if is_assigned(module, use.dotted) or is_shadowed(known[package], module.path, project, gone[1]):
            return None
        from trl_lint.checks.drift._dropped_names import edit_dropped
        from trl_lint.checks.drift._imports import edit_attribute, edit_import, target_of
        from trl_lint.checks.drift._renamed_names import edit_renamed
        from trl_lint.checks.drift._written_names import edit_written

        home, _, last = use.dotted.rpartition(".")
        target = target_of(home, last, known[package])
        message = word(gone, use, verdict, target, partial(last_that_runs, module, known, project, package))
        chosen = known[package]
        fix = (
            edit_import(use.node, use.dotted, chosen, module, project)
            or edit_attribute(use.node, use.dotted, chosen, module)
            or edit_renamed(use.node, use.dotted, chosen, module, project)
            or edit_dropped(use.node, use.dotted, chosen, module, project)
            or edit_written(use.node, use.dotted, chosen, module, project)
        )
        return self.finding(
            location, message, severity=verdict.severity, related=verdict.related, fix=fix, pin=verdict.pin
        )

    def _verdict(self, dotted: str, known: Choices, level: Level | Rule | None = None) -> Verdict | None:
        package = dotted.partition(".")[0]
        # The bases of a class may be of another package, but whether its name is there is not their affair.
        points = {package: points_of_name(dotted).get(package, frozenset())}
        is_word = is_word_of(package, dotted.rpartition(".")[2])
        return judge(known, points, partial(_exists, dotted), level or self, package, may_be_forked=not is_word)


def _exists(dotted: str, versions: dict[str, str]) -> bool | None:
    found = resolve(dotted, versions)
    if found is ABSENT:
        return False
    return None if found is UNKNOWN else True


def _missing_part(dotted: str, versions: dict[str, str]) -> tuple[str, str]:
    """The module that lacks the next name, and that name: `trl.extras.best_of_n` without `extras` -> (trl, extras)."""
    parts = dotted.split(".")
    for count in range(1, len(parts)):
        if resolve(".".join(parts[: count + 1]), versions) is ABSENT:
            return ".".join(parts[:count]), parts[count]
    return dotted.rpartition(".")[0], parts[-1]


def module_location(module: PythonModule, node: ast.ImportFrom) -> Location:
    """Where an import statement names its module."""
    start, end = module.span(node)
    at = module.text.find(node.module or "", start, end)
    return module.source.location(at, at + len(node.module or "")) if at >= 0 else module.location(node)


def name_location(module: PythonModule, node: ast.Attribute) -> Location:
    """Where the name of an attribute stands, without the object before it."""
    _, end = module.span(node)
    return module.source.location(end - len(node.attr), end)


def used_attributes(module: PythonModule) -> Iterator[Use]:
    """Attributes that are read from an imported package or module: `trl.PPOConfig`, `getattr(trl, "PPOConfig")`."""
    modules = {
        alias.asname or alias.name.partition(".")[0]
        for node in module.imports
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.partition(".")[0] in PACKAGES
    }
    if not modules:
        return
    for node in module.of(ast.Attribute):
        if type(module.parents[node]) is not ast.Attribute and isinstance(node.ctx, ast.Load):
            first = root_of(node)
            if isinstance(first, ast.Name) and first.id in modules and module.names.is_certain(node):
                for dotted in module.names.origins(node):
                    yield Use(dotted, node, node)
    if "getattr(" in module.text:
        yield from _looked_up_names(modules, module)


def _looked_up_names(modules: set[str], module: PythonModule) -> Iterator[Use]:
    """What `getattr(trl, "name")` reads, which fails without the name; with a value for that case it does not."""
    from trl_lint.python.scopes import scopes

    for call in () if scopes(module).binds("getattr") else module.calls:
        match call:
            case ast.Call(ast.Name("getattr"), [ast.Name() | ast.Attribute() as owner, ast.Constant(str(name))], []):
                first = root_of(owner)
                is_ours = isinstance(first, ast.Name) and first.id in modules and module.names.is_certain(owner)
                for dotted in module.names.origins(owner) if is_ours and name.isidentifier() else ():
                    yield Use(f"{dotted}.{name}", call, call.args[1])


def is_assigned(module: PythonModule, dotted: str) -> bool:
    """Whether the file puts something into the package itself: `trl.X = …`, `setattr(trl, …)`, `sys.modules[…] = …`."""
    text = module.text
    package, last = dotted.partition(".")[0], dotted.rpartition(".")[2]
    if "sys.modules[" in text and (f'"{package}' in text or f"'{package}" in text):
        return True
    if "setattr(" in text and (f'"{last}"' in text or f"'{last}'" in text):
        return True
    return any(isinstance(node.ctx, ast.Store) and node.attr == last for node in module.of(ast.Attribute))


def word(gone: tuple[str, str], use: Use, verdict: Verdict, target: str, last_run: LastRun) -> str:
    """Say since when something is missing, and where it is now: in `target`, if the same object is known to be."""
    home, name = gone
    package = home.partition(".")[0]
    had = releases_with(f"{home}.{name}")
    is_module = any(resolve(f"{home}.{name}", {package: v}) == f"{home}.{name}:" for v in had)
    if verdict.only_old:
        came = next_release(package, verdict.version)
        what = f"there is no module `{home}.{name}`" if is_module else f"`{home}` has no `{name}`"
        old = homes(package, name, verdict.version)
        there = f"; older releases have it in `{old[0]}`" if old and old[0] != home else ""
        return sentence(f"{what} before {package} {came}", f"raise the lower bound to {came}{there}", verdict.basis)
    older = [v for v in had if positions(package)[v] < positions(package)[verdict.version]]
    remedy = _remedy(gone, use, verdict.version, target, last_run)
    if older:
        what = f"the module `{home}.{name}`" if is_module else f"`{name}` from `{home}`"
        return sentence(f"{package} {next_release(package, older[-1])} removed {what}", remedy, verdict.basis)
    since = f" before {package} {had[0]}" if had else ""
    if removed := "" if had else _listed_until(home, name, verdict.version):
        return sentence(f"{package} {removed} removed `{name}` from `{home}`", remedy, verdict.basis)
    what = f"there is no module `{home}.{name}`" if is_module else f"`{home}` has no `{name}`"
    return sentence(what + since, remedy, verdict.basis)


def _listed_until(home: str, name: str, version: str) -> str:
    """The release up to `version` that took a name from a list whose objects are not read, "" if there is none."""
    at = positions(home.partition(".")[0])
    changes = [change for change in name_timeline(home, name) if at[change.version] <= at[version]]
    return changes[-1].version if len(changes) > 1 and changes[-1].value is None else ""


def _remedy(gone: tuple[str, str], use: Use, version: str, target: str, last_run: LastRun) -> str:
    """What to do about a name that is not where it was: "" where nobody knows."""
    from trl_lint.knowledge.remedies import with_own_of_name

    home, name = gone
    said, versions = _recorded_remedy(gone, use, version, target, last_run), {home.partition(".")[0]: version}
    last = use.dotted.rpartition(".")[2]
    said = with_own_of_name(said, home, last, versions)
    return said if last == name else with_own_of_name(said, home, name, versions)


def _recorded_remedy(gone: tuple[str, str], use: Use, version: str, target: str, last_run: LastRun) -> str:
    home, name = gone
    package = home.partition(".")[0]
    last = use.dotted.rpartition(".")[2]
    moved = homes(package, name, version)
    from trl_lint.knowledge.remedies import remedy_in, remedy_of_name

    if target:
        return f"{'it' if last == name else f'`{last}`'} is in `{target}` now"
    versions = {package: version}
    if found := remedy_of_name(home, last, versions) or remedy_in("module", home, name, versions):
        return found
    if moved and moved[0] != home:
        return f"it is in `{moved[0]}` now"
    if successor := announced_successor(home, name, version, last_run):
        return successor
    return "" if releases_with(f"{home}.{name}") else did_you_mean(name, names_in(home, version))


def announced_successor(home: str, name: str, version: str, last_run: LastRun) -> str:
    """A clause about where a class or function said that it would go, and whether that is still there."""
    package = home.partition(".")[0]
    kept = [change.value for change in name_timeline(home, name) if change.value is not None]
    had = releases_with(f"{home}.{name}")
    announced = deprecation(kept[-1], had[-1]).replace(":", ".") if kept and had else ""
    if announced in ("", "?"):
        return ""
    dotted = announced if "." in announced else f"{home}.{announced}"
    if resolve(dotted, {package: version}):
        return f"use `{announced}`"
    between = releases_with(dotted) if dotted.partition(".")[0] == package else ()
    if not between:
        return ""
    moved = dotted.rpartition(".")[0] if dotted.rpartition(".")[2] == name else dotted
    if positions(package)[between[-1]] > positions(package)[version]:
        return f"it moves to `{moved}` in {package} {between[0]}"
    gone = next_release(package, between[-1])
    last = (
        between[-1] if last_run is None else last_run()
    )  # the new place may be of no use to what the file passes, or to what else it imports
    pin = f"; pin {package}<{next_release(package, last)}" if last else ""
    return f"it moved to `{moved}`, and {package} {gone} removed that as well{pin}"


rule = NameNotInRelease()
