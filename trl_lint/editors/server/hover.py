"""What is told about a place: the life of an argument, what a pin comes to, what a command starts."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence

from trl_lint.editors.server.keys import Key, keys_in, newest
from trl_lint.editors.server.subjects import STACK, Argument, Subject, signatures
from trl_lint.finding import Finding
from trl_lint.knowledge import api
from trl_lint.knowledge.ranges import in_words, spans
from trl_lint.knowledge.releases import installable
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.project import Project
from trl_lint.project.pins import Pin
from trl_lint.reports import visible
from trl_lint.reports.colors import Palette
from trl_lint.reports.runs import describe, write_text
from trl_lint.run.effective import Setting
from trl_lint.run.readers.hydra import MISSING
from trl_lint.run.runs import Run

_MOST_RUNS = 5
_CONFLICTS = ("TRL202", "TRL204")


def told_of(subject: Subject, path: str, project: Project, findings: Sequence[Finding]) -> str:
    """Markdown about a subject in a file; "" where nothing is known. `findings` are those of the file."""
    if isinstance(subject, Argument):
        return "\n".join(_argument(subject, path, project))
    if isinstance(subject, Pin):
        return "\n".join(_pin(subject, path, project, findings))
    if isinstance(subject, Key):
        return "\n".join(_key(subject, path, project))
    return run_in_words(subject)


def run_in_words(run: Run) -> str:
    """A run as `trl-lint runs` shows it."""
    stream = io.StringIO()
    write_text([describe(run, os.getcwd())], stream, Palette(False))
    return "```text\n" + stream.getvalue().replace("```", "'''") + "```"


def _code(text: object) -> str:
    return f"`{visible(str(text)).replace('`', chr(39))}`"


def _argument(argument: Argument, path: str, project: Project) -> Iterator[str]:
    versions = project.environment(path).choices.newest(STACK)
    for owner, symbol, signature in signatures(argument.owners, versions):
        changes = api.timeline(symbol, argument.name)
        parameter = signature.parameters.get(argument.name)
        if not changes and parameter is None:
            continue
        package = owner.partition(".")[0]
        yield f"**{_code(argument.name)}** of {_code(owner)}"
        yield ""
        if parameter is not None:
            usual = "required" if parameter.required else f"default {_code((parameter.default or '?').strip('`'))}"
            with_ = " beside ".join(f"{name} {version}" for name, version in versions.items())
            yield f"* with {with_}: {usual}" + (f", deprecated {parameter.successor}" if parameter.deprecated else "")
        elif not signature.open:
            yield f"* {package} {versions[package]} does not know it"
        yield from _life(changes, package)
        yield from _effective(argument)
        return
    yield from _option(argument)


def _option(argument: Argument) -> Iterator[str]:
    """An option of a framework that fills no class which is known: its default, and what the runs make of it."""
    if not argument.runs:
        return
    config = argument.runs[0].config
    usual, said = config.default(argument.name), config.given(argument.name)
    if not isinstance(usual, Setting) and not isinstance(said, Setting):
        return
    yield f"**{_code(argument.name)}** of {visible(config.package or config.framework)}"
    yield ""
    if isinstance(usual, Setting):
        yield f"* with {config.package} {config.release}: default {_code(usual.value)}"
    yield from _effective(argument)


def _key(key: Key, path: str, project: Project) -> Iterator[str]:
    version, own = newest(key.package, path, project) if key.package else "", key.own()
    keys = keys_in(key.package, key.config, version) if version else None
    changes = key.history()
    if own is UNKNOWN and not changes:
        return
    yield f"**{_code(key.name)}** of {_code(key.config)}" + (f" of {key.package}" if key.package else "")
    yield ""
    if own is not UNKNOWN:
        yield f"* in the project's own configuration: {'no such key' if own is ABSENT else _plain(own)}"
    else:
        if keys is not None and key.name in keys:
            yield f"* with {key.package} {version}: {_default(keys[key.name])}"
        elif keys is not None:
            yield f"* {key.package} {version} does not know it"
        yield from _life(changes, key.package)
    setting = key.setting(version)
    if key.run is not None and setting is not UNKNOWN:
        yield f"* {_code(key.run.module or key.config)} runs with {_plain(setting)}"


def _plain(value: object) -> str:
    """A value of a configuration as YAML writes it."""
    if isinstance(value, (dict, list)):
        return "a block" if isinstance(value, dict) else "a list"
    if value is MISSING:
        return "required"
    words = {None: "null", True: "true", False: "false"}
    return _code(words[value] if value is None or isinstance(value, bool) else value)


def _default(value: str) -> str:
    return "required" if value == "*" else f"default {_code(value.strip('`'))}"


def _life(changes: Sequence[api.Change], package: str) -> Iterator[str]:
    known = set(api.releases(package))
    said = package if all(change.version in known for change in changes) else "its base"
    for number, change in enumerate(changes):
        if change.value is None:
            yield f"* {said} {change.version}: removed"
        elif change.value == api.INHERITED:
            yield f"* {said} {change.version}: inherited"
        else:
            before = " or before" if not number and _is_first(change, said) else ""
            yield f"* {said} {change.version}{before}: {_default(change.value)}"


def _is_first(change: api.Change, package: str) -> bool:
    known = api.releases(package) if package != "its base" else ()
    return bool(known) and change.version == known[0]


def _effective(argument: Argument) -> Iterator[str]:
    """What the runs that read it make of it, and where that is written."""
    for run in argument.runs[:_MOST_RUNS]:
        said = run.config.final(argument.name)
        if not isinstance(said, Setting) or not said.is_known:
            continue
        where = f", {_place(run, said)}" if said.location is not None else ""
        yield f"* {_code(run.name)} runs with {_code(said.value)} (by {said.origin}{where})"


def _place(run: Run, setting: Setting) -> str:
    assert setting.location is not None
    position = run.project.files.own(setting.location.path).position(setting.location.start)
    return f"{visible(os.path.relpath(setting.location.path))}:{position.line}"


def _pin(pin: Pin, path: str, project: Project, findings: Sequence[Finding]) -> Iterator[str]:
    package = project.environment(path).package(pin.package)
    resolved = "an unknown release" if package.resolved is None else str(package.resolved)
    yield f"**{visible(pin.package)}**: {resolved} ({package.source})"
    yield ""
    if package.allowed is not None and len(package.allowed) > 1:
        allowed = in_words(spans(tuple(map(str, package.allowed)), tuple(map(str, installable(pin.package)))))
        yield f"* the pins allow {visible(allowed)}"
    for other in package.pins[:_MOST_RUNS]:
        if other.location != pin.location:
            position = project.files.own(other.location.path).position(other.location.start)
            where = f"{visible(os.path.relpath(other.location.path))}:{position.line}"
            yield f"* also pinned in {where}: {_code(other.text)}"
    for finding in findings:
        touches = finding.location.start <= pin.location.end and finding.location.end >= pin.location.start
        if touches and finding.code in _CONFLICTS:
            yield f"* {finding.code}: {visible(finding.message)}"
