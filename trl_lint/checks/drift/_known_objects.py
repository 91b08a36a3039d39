"""The argument objects of a module, and whether TRL301 would tell a keyword of them that nobody has ever heard of."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from trl_lint.checks.drift._calls import CONFIGS, TRAINERS, all_arguments, is_patched, is_unsloth, signature_of
from trl_lint.checks.drift._calls import known_calls as calls_of_known
from trl_lint.checks.drift._classes import Callee
from trl_lint.checks.verdict import judged_by
from trl_lint.coverage import COPY, GUARDED, MADE_UP, NO_RELEASE, OUTSIDE, PARSER, REWRITTEN, Answer, Judged, Reason
from trl_lint.finding import Severity
from trl_lint.knowledge.presence import points_of_parameter
from trl_lint.project import Project
from trl_lint.project.own_copy import is_shadowed
from trl_lint.project.stack import PACKAGES, Choices, choices_at
from trl_lint.python.guards import key_of
from trl_lint.python.module import PythonModule
from trl_lint.python.version_guards import is_guarded
from trl_lint.run.parsers import parser_in

_PARSERS = ("TrlParser", "HfArgumentParser")
_ENDS = (*TRAINERS, *CONFIGS)

Lack = Callable[[str, str, Choices, Severity], object]


def known_calls(module: PythonModule, project: Project, lack: Lack) -> Iterator[tuple[ast.Call, str, Judged | Reason]]:
    """The trainers, configs and parsers of known packages that a module makes.

    `lack`: what the rule has to say about an argument of a dotted name with some releases, None where it has nothing.
    """
    for call in module.calls:
        name = key_of(call.func).rpartition(".")[2]
        if name in _PARSERS and not module.path.endswith(".ipynb") and _is_of_known(call, module):
            yield call, name, PARSER if parser_in(module.path, project) is None else Judged()
    told = set()
    for call, callee in calls_of_known(module):
        told.add(call)
        answer = _knows_call(call, callee, module, project, lack) if callee.name.endswith(_ENDS) else None
        if answer in (NO_RELEASE, COPY):
            answer = _of_own(call, module, project, answer)
        if answer is not None:
            yield call, callee.name, answer
    if is_patched(module) or is_unsloth(module):
        for call in module.calls:
            name = key_of(call.func).rpartition(".")[2]
            if call not in told and name.endswith(_ENDS) and name not in _PARSERS and _is_of_known(call, module):
                yield call, name, REWRITTEN


def _of_own(call: ast.Call, module: PythonModule, project: Project, otherwise: Answer) -> Answer:
    """Of a package that the project has a copy of, that copy."""
    from trl_lint.checks.drift._own_classes import own_class_of

    own = own_class_of(call, module, project)
    if own is None:
        return otherwise
    return GUARDED if is_guarded(module, call, is_narrowed=True) else Judged() if own.takes is not None else None


def _is_of_known(call: ast.Call, module: PythonModule) -> bool:
    return any(origin.partition(".")[0] in PACKAGES for origin in module.names.origins(call.func))


def _knows_call(call: ast.Call, callee: Callee, module: PythonModule, project: Project, lack: Lack) -> Answer:
    """None for a class that takes any keyword: nothing can be wrong with one."""
    known = choices_at(module, call, project, callee.package)
    if known is None or callee.package not in known:
        return NO_RELEASE
    if (
        known.remembered(("TRL301", callee.dotted, MADE_UP), lambda: lack(callee.dotted, MADE_UP, known, "warning"))
        is None
    ):
        points = points_of_parameter(callee.dotted, MADE_UP)
        found = signature_of(callee.dotted, known.newest(points))
        # A class takes what its bases take, and of a base in a release that is not recorded nobody knows that.
        is_open = found is not None and found.open and all(package in known for package in points)
        return None if is_open else NO_RELEASE
    if is_shadowed(known[callee.package], module.path, project, callee.name, MADE_UP):
        return COPY
    if is_guarded(module, call, is_narrowed=True):
        return GUARDED
    if any(keyword.arg is None for keyword in call.keywords) and not any(all_arguments(call, module, project)):
        return OUTSIDE
    return judged_by(known, callee.package)
