"""What Ray refuses of a `runtime_env`: ray/runtime_env/runtime_env.py and _private/runtime_env/validation.py.

Read in 2.9.3, 2.35.0 and 2.60.0, and run with 2.46.0.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.rule import Rule, Site
from trl_lint.checks.verdict import Level
from trl_lint.finding import Finding
from trl_lint.missing import UNKNOWN
from trl_lint.project.modules import imported_name
from trl_lint.python.guards import is_expected_to_fail
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument, is_none, literal

KEYWORD = "runtime_env"
_INSTALLERS = ("pip", "uv", "conda")


def refused(site: Site, rule: Rule) -> Iterator[Finding]:
    """TRL403: two installers, and variables that are no texts."""
    given = argument(site.call, KEYWORD)
    found = _written(given, site) if isinstance(given, ast.expr) else None
    if found is None or is_expected_to_fail(site.module, site.call):
        return
    module, table = found
    used = (site.module.location(site.call, "used here"),)
    keys = {key.value: key for key in table.keys if isinstance(key, ast.Constant)}
    values = {
        key.value: value for key, value in zip(table.keys, table.values, strict=True) if isinstance(key, ast.Constant)
    }
    names = [name for name in _INSTALLERS if name in keys and not is_none(values[name])]
    # A name may hold None.
    if len(names) > 1 and not any(isinstance(values[name], ast.Name) for name in names):
        yield rule.finding(
            module.location(keys[names[-1]]),
            f"Ray takes one of `pip`, `uv` and `conda`, and this `runtime_env` has {' and '.join(names)} (ValueError)",
            severity=Level(rule).severity,
            related=used,
        )
    variables = values.get("env_vars")
    for key, value in zip(variables.keys, variables.values, strict=True) if isinstance(variables, ast.Dict) else ():
        said = literal(value)
        name = literal(key)
        if not isinstance(name, str) or said is UNKNOWN or isinstance(said, str):
            continue
        yield rule.finding(
            module.location(value),
            f'`{name}` of `env_vars` is no text, and Ray stops (TypeError): write `"{said!r}"`',
            severity=Level(rule).severity,
            related=used,
        )


def _written(node: ast.expr, site: Site) -> tuple[PythonModule, ast.Dict] | None:
    """Where the dict is written out: in the call, at the top of its module, or of another one of the project."""
    module: PythonModule = site.module
    if isinstance(node, ast.Name):
        name = node.id
        other = imported_name(module, node, site.project)
        if other is not None:
            module, name = other
        made = [
            one.value
            for one in module.of(ast.Assign)
            if any(isinstance(target, ast.Name) and target.id == name for target in one.targets)
        ]
        if len(made) != 1 or f"{name}[" in module.text or f"{name}." in module.text:
            return None
        node = made[0]
    return (module, node) if isinstance(node, ast.Dict) and None not in node.keys else None
