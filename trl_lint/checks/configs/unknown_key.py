"""TRL401: a key of a config file, or of a command, that nothing reads or at which the program stops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

from trl_lint.checks.configs import _accelerate_keys, _deepspeed
from trl_lint.checks.configs._problems import Problem, report
from trl_lint.checks.rule import Rule
from trl_lint.coverage import Answer
from trl_lint.finding import Edit, Finding, Fix
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.launches import Launch
from trl_lint.project.scripts import Script
from trl_lint.run.readers.hydra import Override

_READERS: dict[str, Callable[[Document], Iterator[Problem]]] = {
    "accelerate": _accelerate_keys.unknown_keys,
    "deepspeed": _deepspeed.unknown_keys,
}


class UnknownKey(Rule):
    code = "TRL401"
    documents: ClassVar[tuple[str, ...]] = (*_READERS, "command")
    launches = True
    scripts = True
    counts = True

    def check_document(self, document: Document, project: Project) -> Iterator[Finding]:
        if document.kind in _READERS:
            yield from report(self, document, project, _READERS[document.kind](document))
        else:
            from trl_lint.checks.configs import _command_keys

            yield from _command_keys.unknown_keys(document, self, project)

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.configs import (
            _command_keys,
            _launcher_options,
            _misread_config,
            _openrlhf,
            _own_flags,
            _structured_keys,
            _verl_keys,
        )

        yield from _misread_config.misread_config(launch, self, project)
        for key in _verl_keys.unknown_keys(launch, self, project):
            fix = edit_append(key.override, launch) if key.fault == "append" and key.override is not None else key.fix
            yield self.finding(key.location, key.message, severity=key.severity, related=key.related, fix=fix)
        for flag in _openrlhf.unknown_flags(launch, self, project):
            yield self.finding(flag.location, flag.message, severity=flag.severity, related=flag.related, fix=flag.fix)
        for word in (
            *_own_flags.unknown_flags(launch, self, project),
            *_launcher_options.unknown_options(_launcher_options.called_by(launch), self, project),
            *_launcher_options.stray_words(launch, self),
            *_launcher_options.behind_script(launch, self, project),
            *_structured_keys.unknown_keys(launch, self, project),
        ):
            yield self.finding(word.location, word.message, severity=word.severity, related=word.related)
        yield from _command_keys.unknown_flags(launch, self, project)
        yield from _command_keys.foreign_documents(launch, self, project)

    def check_script(self, script: Script, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.configs._launcher_options import called_in, unknown_options

        for word in unknown_options(called_in(script), self, project):
            yield self.finding(word.location, word.message, severity=word.severity, related=word.related)

    def knows_launch(self, launch: Launch, project: Project) -> Answer:
        from trl_lint.checks.configs._understood import knows_launch

        return knows_launch(launch, project)

    def knows_document(self, document: Document, project: Project) -> Answer:
        from trl_lint.checks.configs._understood import knows_document

        return knows_document(document, self, project)


def edit_append(override: Override, launch: Launch) -> Fix | None:
    """`+key=value` -> `++key=value`, which sets the key whether it is there or not.

    Withheld where the word is not written as it is (it comes out of a variable).
    """
    word = override.word
    quote = word.raw[:1] if word.raw[:1] in ("'", '"') else ""
    if not word.raw.startswith(f"{quote}+{override.key}="):
        return None
    at = word.start + len(quote)
    edit: Edit = launch.source.edit(at, at, "+")
    return Fix(f"Write `++{override.key}`", "safe", (edit,))


rule = UnknownKey()
