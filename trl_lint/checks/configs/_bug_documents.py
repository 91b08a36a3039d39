"""A config document as what may meet a known fault of a release."""

from __future__ import annotations

from trl_lint.checks.configs._bug_subjects import Settings, typed
from trl_lint.finding import Location
from trl_lint.knowledge.bugs import Entry
from trl_lint.knowledge.condition_language import World
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.project.documents import Document
from trl_lint.run.effective import Setting, of_default, of_document


class OfDocument:
    """A config document that no command names, or one of DeepSpeed or accelerate."""

    is_certain = True

    def __init__(self, document: Document, places: tuple[str, ...]) -> None:
        root = document.mapping
        assert root is not None and root.entries
        self.document = document
        self.leaning: set[str] = set()
        self.places = places
        self.location = document.source.location(root.entries[0].key.start, root.entries[0].key.end)

    def world(self, entry: Entry, versions: dict[str, str]) -> World:
        return Settings(entry.condition, lambda name: self._value(name, versions))

    def _value(self, name: str, versions: dict[str, str]) -> object:
        from trl_lint.knowledge.command_keys import defaults_of
        from trl_lint.knowledge.families import arguments_of_kind

        said = of_document(self.document, name)
        arguments = arguments_of_kind(self.document.kind)
        if said is ABSENT and arguments is not None:
            command = self.document.definition.command
            known = defaults_of(arguments.package, command, versions.get(arguments.package, ""))
            said = of_default(known[name]) if name in known else UNKNOWN
            self.leaning.add(name)  # a command may give it
        elif said is ABSENT:
            return None
        return typed(said)

    def written(self, name: str, versions: dict[str, str]) -> Location | None:
        said = of_document(self.document, name)
        return said.location if isinstance(said, Setting) else None
